"""Text in, text out: line n in is line n out, and nothing is lost.

A line is one sentence. White space around it is kept, a blank line comes back as it is, and no output holds a "\\n".
A line beyond the model's limit is never cut off: it is translated in parts.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from pydantic import ValidationError

from transformer.decoding import translate_ids
from transformer.search import Hypothesis, length_penalty
from translate.config import DecodingConfig
from translate.errors import UserError
from translate.installed import locate
from translate.model_folder import ModelFolder
from translate.training.machine import choose_device

LIMIT = 1024  # tokens of a source sentence, eos included, where the model has no lower limit
WINDOW = 1024  # lines read ahead: enough to find sentences of equal lengths

_BATCH_TOKENS = 4096  # padded source tokens of one batch
_BATCH_HYPOTHESES = 256  # sentences times beam size; bounds the matrix of scores, which is as wide as the vocabulary
# All that some program takes for the end of a line; the model must not break one in two.
_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Translation:
    """One line, translated.

    Attributes:
        text: the translation, within the white space of its source.
        score: log-probability over the length penalty of section 6.1; 0 for a blank line.
        log_prob: natural logarithm of the probability of all tokens, ends included; 0 for a blank line.
        tokens: the pieces of the translation, without the end.
        split: whether the line was longer than the model's limit and was translated in parts.
    """

    text: str
    score: float
    log_prob: float
    tokens: list[str]
    split: bool = False


class Translator:
    """A model folder that translates text.

    Args:
        parts: the open model folder.
        beam_size, alpha: of the search (6.1); None takes what the folder says. UserError if out of range.
    """

    def __init__(self, parts: ModelFolder, *, beam_size: int | None = None, alpha: float | None = None) -> None:
        chosen = {"beam_size": beam_size, "alpha": alpha}
        changes = {name: value for name, value in chosen.items() if value is not None}
        try:
            self.decoding = DecodingConfig(**{**parts.task.decoding.model_dump(), **changes})
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise UserError(f"{problem['loc'][0]} = {problem['input']}: {problem['msg']}") from error
        self.parts = parts
        self.limit, self.max_extra = _limits(parts, self.decoding)

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        beam_size: int | None = None,
        alpha: float | None = None,
        device: torch.device | str | None = None,
        say: Callable[[str], None] | None = None,
    ) -> "Translator":
        """Open an installed model, a model folder or the model of a run directory.

        Args:
            path: the name or the folder.
            beam_size, alpha: as for the class.
            device: where to compute; None chooses CUDA where there is any.
            say: takes a note on which model of a run is used; None writes it to stderr.

        Raises UserError or CheckpointError, one sentence, if the folder cannot be used.
        """
        folder = locate(Path(path), say or (lambda message: print(message, file=sys.stderr)))
        parts = ModelFolder.open(folder, choose_device() if device is None else device)
        return cls(parts, beam_size=beam_size, alpha=alpha)

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """The translation of each line, in order; a "\\n" within a line counts as a space."""
        return list(self.stream(lines))

    def stream(self, lines: Iterable[str]) -> Iterator[Translation]:
        """The translation of each line, in order, reading at most WINDOW lines ahead.

        The lines may end with "\\n", as those of a file do. UserError for text that is not Unicode.
        """
        lines = iter(lines)
        n_done = 0
        while window := [line.removesuffix("\n").replace("\n", " ") for line in islice(lines, WINDOW)]:
            for n, line in enumerate(window, start=n_done + 1):
                _check_unicode(line, n)
            n_done += len(window)
            yield from self._window(window)

    def _window(self, lines: Sequence[str]) -> Iterator[Translation]:
        """Translate each distinct sentence once."""
        sentences = list(dict.fromkeys(sentence for line in lines if (sentence := line.strip())))
        encoded = self.parts.tokenizer.encode_batch(sentences)
        sources = {s: self._fitting(s, ids) for s, ids in zip(sentences, encoded, strict=True)}
        hypotheses = self._search({ids for parts in sources.values() for ids in parts})
        for line in lines:
            yield self._assemble(line, [hypotheses[ids] for ids in sources.get(line.strip(), ())])

    def _fitting(self, sentence: str, ids: Sequence[int]) -> list[Ids]:
        """The token ids of a sentence, or of its parts where it is too long as a whole."""
        if len(ids) <= self.limit:
            return [tuple(ids)]
        encode = self.parts.tokenizer.encode
        return [tuple(encode(part)) for part in split(sentence, lambda text: len(encode(text)) <= self.limit)]

    def _search(self, sources: Iterable[Ids]) -> dict[Ids, Hypothesis]:
        """The best hypothesis of each source; sentences of similar length share a batch."""
        found: dict[Ids, Hypothesis] = {}
        # Ties are broken by content, so that batches, and with them all rounding, do not depend on the order of lines.
        for batch in _batches(sorted(sources, key=lambda ids: (len(ids), ids)), self.decoding.beam_size):
            results = translate_ids(
                self.parts.model,
                batch,
                beam_size=self.decoding.beam_size,
                alpha=self.decoding.alpha,
                max_extra=self.max_extra,
            )
            for ids, hypotheses in zip(batch, results, strict=True):
                if not hypotheses:
                    raise UserError(
                        f"{self.parts.folder}: the model's probabilities are not finite, so its training went "
                        "astray; use an earlier checkpoint"
                    )
                found[ids] = hypotheses[0]
        return found

    def _assemble(self, line: str, parts: Sequence[Hypothesis]) -> Translation:
        """One translation from those of a line's parts; none means that the line is blank."""
        if not parts:
            return Translation(line, 0.0, 0.0, [])
        tokenizer = self.parts.tokenizer
        texts = (_LINE_BREAKS.sub(" ", tokenizer.decode(part.tokens)).strip() for part in parts)
        before = line[: len(line) - len(line.lstrip())]
        after = line[len(line.rstrip()) :]
        log_prob = sum(part.log_prob for part in parts)
        n_tokens = sum(len(part.tokens) + 1 for part in parts)  # each part has an end of its own
        return Translation(
            text=before + " ".join(text for text in texts if text) + after,
            score=log_prob / length_penalty(n_tokens, self.decoding.alpha),
            log_prob=log_prob,
            tokens=[piece for part in parts for piece in tokenizer.pieces(part.tokens)],
            split=len(parts) > 1,
        )


def split(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Parts of a text that each fit, cut at white space as near the middle as can be, or between characters.

    Nothing but white space around the parts is lost. A single character counts as fitting.
    """
    text = text.strip()
    if not text:
        return []
    if len(text) == 1 or fits(text):
        return [text]
    middle = len(text) // 2
    low, high = len(text) // 4, len(text) - len(text) // 4  # a cut near an end would not help
    spaces = [low + match.start() for match in re.finditer(r"\s", text[low:high])]
    cut = min(spaces, key=lambda i: abs(i - middle), default=middle)
    return [*split(text[:cut], fits), *split(text[cut:], fits)]


def _limits(parts: ModelFolder, decoding: DecodingConfig) -> tuple[int, int]:
    """Source tokens without eos that a sentence may have, and how many more its translation may have.

    Learned positions (table 3, row E) bound both sides: eos has a position in the source, and the translation has at
    most source + extra tokens.
    """
    config = parts.model.config
    if config.positions != "learned":
        return LIMIT - 1, decoding.max_extra
    length = min(config.max_length, LIMIT)
    if length < 16:
        raise UserError(f"{parts.folder}: model.max_length = {length} is too short to translate with; train with more")
    max_extra = min(decoding.max_extra, length // 2)
    return length - max_extra, max_extra


def _batches(sources: Sequence[Ids], beam_size: int) -> Iterator[list[Ids]]:
    """Runs of sources, shortest first, that stay below the bounds on tokens and hypotheses."""
    most = max(1, _BATCH_HYPOTHESES // beam_size)
    batch: list[Ids] = []
    for ids in sources:
        if len(batch) == most or (batch and (len(batch) + 1) * (len(ids) + 1) > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(ids)
    if batch:
        yield batch


def _check_unicode(line: str, n: int) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"line {n}: not UTF-8 text (at character {error.start + 1}); save it as UTF-8") from error
