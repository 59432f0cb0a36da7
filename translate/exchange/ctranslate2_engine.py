"""CTranslate2 as the engine of a translator, on a folder that `ctranslate2_folder` wrote; needs no torch.

Beam search stops as in this project: when as many hypotheses have finished as the beam is wide. CTranslate2 returns all
of them with their log-probabilities, and the length penalty of the paper (6.1) is applied here. One thing differs: a
hypothesis of maximal length without eos is returned unchanged instead of being ended by eos.
"""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.search.hypothesis import Hypothesis, SearchConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import Say, UserError
from translate.inference.engine import Batch, Found, Search, side_by_side
from translate.models import registry
from translate.models.folder import TranslationSpec, check_tokenizer
from translate.optional import optional_package

FILE = "model.bin"  # its presence identifies a CTranslate2 folder


def package() -> Any:
    """Import the package `ctranslate2`; UserError if it is not installed."""
    return optional_package("ctranslate2", "ctranslate2")


def locate(name: Path | None, say: Say) -> Path:
    """Return the CTranslate2 folder of a path or name; None takes $TRANSLATE_MODEL. UserError if there is none."""
    chosen = name or os.environ.get("TRANSLATE_MODEL")
    if not chosen:
        raise UserError("--engine ctranslate2 needs --model FOLDER, which translate export --format ctranslate2 makes")
    folder = registry.find_folder(Path(chosen), say)
    if not (folder / FILE).is_file():
        raise UserError(
            f"{folder}: is not a CTranslate2 folder; make one with "
            "translate export MODEL --out FOLDER --format ctranslate2"
        )
    return folder


@dataclass
class CTranslate2Engine:
    """A CTranslate2 folder that can be searched; a `translate.inference.engine.Engine`.

    Attributes:
        folder: its path.
        tokenizer: text to ids and back.
        spec: languages and decoding.
        max_positions: maximal number of tokens of either side, eos included.
        translator: `ctranslate2.Translator`.
        n_workers: number of batches that are translated at the same time.
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int | None
    translator: Any
    n_workers: int

    @classmethod
    def open(cls, folder: Path, threads: int | None = None) -> "CTranslate2Engine":
        """Load a folder; `threads` of None is one for each core. UserError if it is damaged or foreign."""
        engine = package()
        spec = TranslationSpec.load(folder / "translation.json")
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
        check_tokenizer(folder, tokenizer, spec)
        try:
            max_positions = json.loads((folder / "config.json").read_text(encoding="utf-8"))["max_positions"]
            # One batch for each thread is two to six times as fast on two cores as one batch for both.
            n_workers = threads or os.cpu_count() or 1
            translator = engine.Translator(str(folder), device="auto", inter_threads=n_workers, intra_threads=1)
        except (OSError, ValueError, KeyError) as error:
            raise UserError(
                f"{folder}: its config.json is damaged or was written by another program; export it again"
            ) from error
        except RuntimeError as error:
            raise UserError(f"{folder}: CTranslate2 cannot load it ({error}); export it again") from error
        return cls(folder, tokenizer, spec, max_positions, translator, n_workers)

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """Return the results of a search for each batch; `n_workers` batches run at the same time."""
        return side_by_side(search, batches, self.n_workers)

    def search(
        self, sources: Sequence[Sequence[int]], max_lengths: Sequence[int], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """Return the n_best hypotheses of each source, best first; none if its probabilities are not finite.

        Args:
            sources: token ids without eos.
            max_lengths: maximal number of tokens of each output, eos included.
            config: beam size, length penalty and number of hypotheses.
        """
        found = self._search(sources, max(max_lengths), config)
        for i, limit in enumerate(max_lengths):  # CTranslate2 has one limit for a batch: search again with the own one
            if any(len(hypothesis.tokens) >= limit for hypothesis in found[i]):
                found[i] = self._search([sources[i]], limit, config)[0]
        return [hypotheses[: config.n_best] for hypotheses in found]

    def _search(self, sources: Sequence[Sequence[int]], limit: int, config: SearchConfig) -> list[list[Hypothesis]]:
        """Return all finished hypotheses of each source, best first, of at most limit - 1 tokens."""
        results = self.translator.translate_batch(
            [self.tokenizer.pieces(ids) for ids in sources],
            beam_size=config.beam_size,
            num_hypotheses=config.beam_size,
            length_penalty=0,
            no_repeat_ngram_size=config.no_repeat,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(1, limit - 1),
            return_scores=True,
        )
        return [
            sorted(
                (
                    config.hypothesis(self.tokenizer.ids(pieces), log_prob)
                    for pieces, log_prob in zip(result.hypotheses, result.scores, strict=True)
                    if math.isfinite(log_prob)
                ),
                key=lambda hypothesis: -hypothesis.score,
            )
            for result in results
        ]
