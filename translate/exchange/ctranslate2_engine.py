"""CTranslate2 as the engine of a translator, on a folder that `ctranslate2_folder` wrote; needs no torch.

The beam is searched as in this project: a sentence ends when as many hypotheses have finished as the beam has
places. CTranslate2 is asked for all of them with their log-probabilities, and the length penalty of the paper (6.1) is
applied here. One thing differs: what has its longest length without an end is taken as it is, not made to end.
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
from translate.errors import UserError
from translate.exchange.optional import optional_package
from translate.inference.engine import Batch, Found, Search, side_by_side
from translate.models import registry
from translate.models.folder import TranslationSpec, check_tokenizer

FILE = "model.bin"  # what shows that a folder is CTranslate2's


def package() -> Any:
    """Import the package `ctranslate2`; UserError if it is not installed."""
    return optional_package("ctranslate2", "ctranslate2")


def locate(name: Path | None, say: registry.Say) -> Path:
    """Return the CTranslate2 folder of a path or name; None takes $TRANSLATE_MODEL. UserError if there is none."""
    chosen = name or os.environ.get("TRANSLATE_MODEL")
    if not chosen:
        raise UserError("--engine ctranslate2 needs --model FOLDER, which translate export --format ctranslate2 makes")
    folder = registry.find_folder(Path(chosen), say)
    if not (folder / FILE).is_file():
        raise UserError(
            f"{folder}: is no CTranslate2 folder; make one with translate export MODEL --to FOLDER --format ctranslate2"
        )
    return folder


@dataclass(frozen=True)
class CTranslate2Engine:
    """A CTranslate2 folder that can be searched; a `translate.inference.engine.Engine`.

    Attributes:
        folder: where it is.
        tokenizer: text to ids and back.
        spec: languages and decoding.
        max_positions: tokens, ends included, that either side may have.
        translator: `ctranslate2.Translator`.
        n_workers: batches that it translates at a time.
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int
    translator: Any
    n_workers: int

    @classmethod
    def open(cls, folder: Path, threads: int | None = None) -> "CTranslate2Engine":
        """Load a folder; `threads` is None for one a core. UserError if it is damaged or comes from elsewhere."""
        engine = package()
        spec = TranslationSpec.load(folder / "translation.json")
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
        check_tokenizer(folder, tokenizer, spec)
        try:
            max_positions = json.loads((folder / "config.json").read_text(encoding="utf-8"))["max_positions"]
            # A batch for each thread: on two cores that is two to six times as fast as a batch for both.
            n_workers = threads or os.cpu_count() or 1
            translator = engine.Translator(str(folder), device="auto", inter_threads=n_workers, intra_threads=1)
        except (OSError, ValueError, KeyError) as error:
            raise UserError(
                f"{folder}: its config.json is damaged or from an older version; export it again"
            ) from error
        except RuntimeError as error:
            raise UserError(f"{folder}: CTranslate2 cannot load it ({error}); export it again") from error
        return cls(folder, tokenizer, spec, max_positions, translator, n_workers)

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """The results of a search for each batch, as many at a time as there are workers."""
        return side_by_side(search, batches, self.n_workers)

    def search(
        self, sources: Sequence[Sequence[int]], max_lengths: Sequence[int], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """The n_best hypotheses of each source, best first; none where probabilities are not finite."""
        found = self._search(sources, max(max_lengths), config)
        for i, limit in enumerate(max_lengths):  # a batch has one limit there, so what went beyond its own goes again
            if any(len(hypothesis.tokens) >= limit for hypothesis in found[i]):
                found[i] = self._search([sources[i]], limit, config)[0]
        return [hypotheses[: config.n_best] for hypotheses in found]

    def _search(self, sources: Sequence[Sequence[int]], limit: int, config: SearchConfig) -> list[list[Hypothesis]]:
        """All finished hypotheses of each source, best first, of at most limit - 1 tokens."""
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
