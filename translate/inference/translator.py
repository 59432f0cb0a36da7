"""Text in, text out, and nothing is lost.

`stream` takes a line for a sentence and adds nothing to the paper's search: line n in is line n out, white space around
it is kept, a blank line comes back as it is, and no output holds a "\n". `passages` takes a line for a passage of
sentences, keeps placeholders, and watches over the model; a call of the translator does so with whole texts. What is
beyond the model's limit is never cut off: it is translated in parts.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, overload

from pydantic import ValidationError

from transformer.search.hypothesis import Hypothesis, LengthRule, SearchConfig, length_penalty
from translate.config.schema import DecodingConfig
from translate.errors import UserError
from translate.inference.engine import Engine, Precision, TorchEngine
from translate.machine import choose_device
from translate.models.folder import ModelFolder
from translate.models.registry import locate
from translate.text import clauses, guards, placeholders
from translate.text.passages import SUSPICIOUS, Passages, Sentence, join

if TYPE_CHECKING:
    import torch

LIMIT = 1024  # tokens of a source sentence, eos included, where the model has no lower limit
WINDOW = 1024  # lines read ahead: enough to find sentences of equal lengths

_WINDOW_CHARACTERS = 2**18  # what a window of passages holds at most, unless one alone is longer
_BATCH_TOKENS = 8192  # padded source tokens of one batch; greedy search took 1.2 times as long with half of it
_LEAST_TOKENS = 256  # of a batch that is smaller than it might be, so that another worker has one too
_BATCH_HYPOTHESES = 512  # sentences times beam size; bounds the matrix of scores, which is as wide as the vocabulary
# All that some program takes for the end of a line; the model must not break one in two.
_BREAK = re.compile(r"[ \t]*\n[ \t]*")  # with the indentation of the next line
_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Translation:
    """One line, translated.

    Attributes:
        text: the translation, within the white space of its source.
        score: log-probability over the length penalty, of section 6.1 unless told otherwise, plus any coverage
            penalty; 0 for a blank line.
        log_prob: natural logarithm of the probability of all tokens, ends included; 0 for a blank line.
        tokens: the pieces of the translation, without the end.
        split: whether the line was longer than the model's limit and was translated in parts.
        confidence: mean natural logarithm of the probability of a token, ends included; 0 where no model was asked.
        suspicious: whether a flag says that the translation may not be one.
        flags: what happened on the way, in alphabetical order; `translate.text.passages` explains them.
    """

    text: str
    score: float
    log_prob: float
    tokens: list[str]
    split: bool = False
    confidence: float = 0.0
    suspicious: bool = False
    flags: tuple[str, ...] = ()


class Translator:
    """A model that translates text.

    Args:
        parts: the open model folder, or another engine.
        beam_size, alpha: of the search (6.1); None takes what the folder says. UserError if out of range.
        length_penalty: "gnmt" is that of section 6.1, the only one with an alpha, "average" divides by the length,
            "none" by nothing; None takes what the folder says.
    """

    def __init__(
        self,
        parts: ModelFolder | Engine,
        *,
        beam_size: int | None = None,
        alpha: float | None = None,
        length_penalty: LengthRule | None = None,
    ) -> None:
        chosen = {"beam_size": beam_size, "alpha": alpha, "length_penalty": length_penalty}
        changes = {name: value for name, value in chosen.items() if value is not None}
        try:
            self.decoding = DecodingConfig(**{**parts.spec.decoding.model_dump(), **changes})
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise UserError(f"{problem['loc'][0]} = {problem['input']}: {problem['msg']}") from error
        if alpha is not None and self.decoding.length_penalty != "gnmt":
            raise UserError(
                f"alpha = {alpha}: belongs to the length penalty gnmt, and here it is {self.decoding.length_penalty}; "
                "leave one of them out"
            )
        self.parts: Engine = TorchEngine(parts) if isinstance(parts, ModelFolder) else parts
        self.limit, self.max_extra = _limits(self.parts, self.decoding)
        known = (self.limit, parts.spec.max_source_tokens, parts.spec.best_source_tokens)
        self.reading_limit = min(length for length in known if length)

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        beam_size: int | None = None,
        alpha: float | None = None,
        length_penalty: LengthRule | None = None,
        device: "torch.device | str | None" = None,
        precision: Precision = "fp32",
        say: Callable[[str], None] | None = None,
    ) -> "Translator":
        """Open an installed model, a model folder or the model of a run directory.

        Args:
            path: the name or the folder.
            beam_size, alpha, length_penalty: as for the class.
            device: where to compute; None chooses CUDA where there is any.
            precision: of the computation; "bf16" is faster where the processor multiplies in it, and rounds more.
            say: takes a note on which model of a run is used; None writes it to stderr.

        Raises UserError or CheckpointError, one sentence, if the folder cannot be used.
        """
        folder = locate(Path(path), say or (lambda message: print(message, file=sys.stderr)))
        parts = ModelFolder.open(folder, choose_device() if device is None else device)
        return cls(TorchEngine(parts, precision), beam_size=beam_size, alpha=alpha, length_penalty=length_penalty)

    @overload
    def __call__(self, text: str) -> str: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, text: list[str] | tuple[str, ...]) -> list[str]: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, text: Iterable[str]) -> Iterator[str]: ...

    def __call__(self, text: str | Iterable[str]) -> str | list[str] | Iterator[str]:
        """The translation of a text of any number of lines, of each text of a list, or lazily of an iterable.

        As `passages`; line n of a text is line n of its translation.
        """
        if isinstance(text, str):
            return next(self._texts([text]))
        return list(self._texts(text)) if isinstance(text, list | tuple) else self._texts(text)

    def _texts(self, texts: Iterable[str]) -> Iterator[str]:
        for window in _windows(texts):
            parted = [text.split("\n") for text in window]
            lines = self.passages([line for lines in parted for line in lines])
            for own in parted:
                yield "\n".join(next(lines).text for _ in own)

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """The translation of each line, in order, as one sentence; a "\\n" within a line counts as a space."""
        return list(self.stream(lines))

    def stream(self, lines: Iterable[str]) -> Iterator[Translation]:
        """The translation of each line, in order, as one sentence, reading at most WINDOW lines ahead.

        The lines may end with "\\n", as those of a file do. UserError for text that is not Unicode.
        """
        for window in _windows(_clean(lines)):
            rendered = self._render(window, 1, self.limit, self._free_length)
            for line in window:
                yield self._translation(rendered[line][0])

    def n_best(self, lines: Iterable[str], n: int) -> Iterator[list[Translation]]:
        """Up to n translations of each line as one sentence, best first, by a beam of at least n.

        A line that is translated in parts has its parts' second best in its second translation, and so on.
        """
        for window in _windows(_clean(lines)):
            rendered = self._render(window, n, self.limit, self._free_length)
            for line in window:
                yield [self._translation(sentence) for sentence in rendered[line]]

    def passages(
        self,
        texts: Iterable[str],
        *,
        guarded: bool = True,
        splits: bool = True,
        markup: re.Pattern[str] = placeholders.PLACEHOLDER,
    ) -> Iterator[Translation]:
        """The translation of each text, in order: a passage of sentences in which placeholders stay as they are.

        Reads at most WINDOW texts ahead. A "\\n" within a text counts as a space. UserError for text that is not
        Unicode.

        Args:
            texts: the passages.
            guarded: leave what the model could only spoil as it is, and flag what it seems to have spoilt, as
                `translate.text.passages` says.
            splits: whether a text may hold several sentences.
            markup: what the placeholders are.
        """

        def render(sentences: Sequence[str], no_repeat: int) -> dict[str, Sentence]:
            allowed = self._guarded_length if guarded else self._free_length
            found = self._render(sentences, 1, self.reading_limit, allowed, no_repeat)
            best = {sentence: translations[0] for sentence, translations in found.items()}
            return {s: replace(b, text=guards.begun_alike(b.text, s)) for s, b in best.items()} if guarded else best

        n_symbols = self.parts.tokenizer.n_placeholders
        spec = self.parts.spec
        passages = Passages(render, spec.source, spec.target, n_symbols, guarded, splits, markup)
        for window in _windows(_clean(texts)):
            for sentence in passages.translate(window):
                doubtful = guarded and sentence.n_parts and sentence.confidence < guards.LOW_CONFIDENCE
                yield self._translation(sentence.flagged("confidence") if doubtful else sentence)

    def _free_length(self, n_source: int) -> int:
        """Tokens, eos included, that a translation may have in the paper."""
        return n_source + self.max_extra

    def _guarded_length(self, n_source: int) -> int:
        return min(self._free_length(n_source), guards.longest_output(n_source))

    def _render(
        self,
        lines: Sequence[str],
        n_best: int,
        limit: int,
        max_length: Callable[[int], int],
        no_repeat: int = 0,
    ) -> dict[str, list[Sentence]]:
        """The n best translations of each line, best first; each distinct sentence is searched once.

        A line is read in parts of at most `limit` tokens; a translation has at most max_length(tokens of its source)
        tokens and, with `no_repeat`, no sequence of that many tokens twice.
        """
        sentences = list(dict.fromkeys(sentence for line in lines if (sentence := line.strip())))
        encoded = self.parts.tokenizer.encode_batch(sentences)
        sources = {s: self._fitting(s, ids, limit) for s, ids in zip(sentences, encoded, strict=True)}
        found = self._search({ids for parts in sources.values() for ids in parts}, n_best, max_length, no_repeat)
        return {
            line: self._assembled(line, [(found[ids], max_length(len(ids))) for ids in sources.get(line.strip(), ())])
            for line in lines
        }

    def _fitting(self, sentence: str, ids: Sequence[int], limit: int) -> list[Ids]:
        """The token ids of a sentence, or of its parts where it is too long as a whole."""
        if len(ids) <= limit:
            return [tuple(ids)]
        encode = self.parts.tokenizer.encode
        parts = clauses.cut(sentence, lambda text: len(encode(text)) <= limit)
        return [tuple(encode(part.text)) for part in parts if part.text.strip()]

    def _search(
        self, sources: Iterable[Ids], n_best: int, max_length: Callable[[int], int], no_repeat: int
    ) -> dict[Ids, list[Hypothesis]]:
        """The best hypotheses of each source; sentences of similar length share a batch."""
        config = SearchConfig(
            beam_size=max(self.decoding.beam_size, n_best),
            alpha=self.decoding.alpha,
            length_rule=self.decoding.length_penalty,
            n_best=n_best,
            no_repeat=no_repeat,
        )

        def search(batch: list[Ids]) -> list[list[Hypothesis]]:
            return self.parts.search(batch, [max_length(len(ids)) for ids in batch], config)

        # Ties are broken by content, so that batches, and with them all rounding, do not depend on the order of lines.
        batches = list(
            _batches(sorted(sources, key=lambda ids: (len(ids), ids)), config.beam_size, self.parts.n_workers)
        )
        found: dict[Ids, list[Hypothesis]] = {}
        for batch, results in zip(batches, self.parts.each(search, batches), strict=True):
            found |= zip(batch, results, strict=True)
        if not all(found.values()):
            raise UserError(
                f"{self.parts.folder}: the model's probabilities are not finite, so its training went astray; use an "
                "earlier checkpoint"
            )
        return found

    def _assembled(self, line: str, parts: Sequence[tuple[list[Hypothesis], int]]) -> list[Sentence]:
        """The translations of a line from those of its parts, each with its longest length; no parts: a blank line."""
        if not parts:
            return [Sentence(line)]
        before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
        translations = []
        for rank in range(max(len(hypotheses) for hypotheses, _ in parts)):
            sentences = [self._sentence(h[min(rank, len(h) - 1)], length) for h, length in parts]
            text = before + " ".join(sentence.text for sentence in sentences if sentence.text) + after
            whole = replace(join(sentences), text=text)
            translations.append(whole.flagged("split") if len(parts) > 1 else whole)
        return translations

    def _sentence(self, hypothesis: Hypothesis, max_length: int) -> Sentence:
        """A hypothesis as text; its end was not free where it has all the tokens that it may have."""
        tokenizer = self.parts.tokenizer
        return Sentence(
            _LINE_BREAKS.sub(" ", tokenizer.decode(hypothesis.tokens)).strip(),
            hypothesis.log_prob,
            tuple(tokenizer.pieces(hypothesis.tokens)),
            1,
            frozenset({"length"} if len(hypothesis.tokens) + 1 >= max_length else ()),
            hypothesis.coverage,
        )

    def _translation(self, sentence: Sentence) -> Translation:
        n_tokens = len(sentence.tokens) + sentence.n_parts
        penalty = length_penalty(max(1, n_tokens), self.decoding.alpha, self.decoding.length_penalty)
        return Translation(
            text=sentence.text,
            score=sentence.log_prob / penalty + sentence.coverage,
            log_prob=sentence.log_prob,
            tokens=list(sentence.tokens),
            split="split" in sentence.flags,
            confidence=sentence.confidence,
            suspicious=bool(sentence.flags & SUSPICIOUS),
            flags=tuple(sorted(sentence.flags)),
        )


def _clean(lines: Iterable[str]) -> Iterator[str]:
    """Lines without breaks; UserError for the first that is no Unicode text, TypeError for a text in place of many."""
    if isinstance(lines, str):
        raise TypeError("a list of texts is expected; one text is translated by calling the translator itself")
    for n, line in enumerate(lines, start=1):
        _check_unicode(line, n)
        yield _BREAK.sub(" ", line.removesuffix("\n"))


def _windows(texts: Iterable[str]) -> Iterator[list[str]]:
    """Portions of at most WINDOW texts and about _WINDOW_CHARACTERS characters."""
    texts = iter(texts)
    while window := list(islice(texts, 1)):
        n_characters = len(window[0])
        for text in islice(texts, WINDOW - 1):
            window.append(text)
            n_characters += len(text)
            if n_characters >= _WINDOW_CHARACTERS:
                break
        yield window


def _limits(engine: Engine, decoding: DecodingConfig) -> tuple[int, int]:
    """Source tokens without eos that a sentence may have, and how many more its translation may have.

    A model with so many positions and no more bounds both sides: eos has one in the source, and the translation has at
    most source + extra tokens.
    """
    if engine.max_positions is None:
        return LIMIT - 1, decoding.max_extra
    length = min(engine.max_positions, LIMIT)
    if length < 16:
        raise UserError(f"{engine.folder}: model.max_length = {length} is too short to translate with; train with more")
    max_extra = min(decoding.max_extra, length // 2)
    return length - max_extra, max_extra


def _batches(sources: Sequence[Ids], beam_size: int, n_workers: int) -> Iterator[list[Ids]]:
    """Runs of sources, shortest first, that stay below the bounds on tokens and hypotheses.

    As many for each worker, and with as many tokens, where that goes: then all of them end at about the same time.
    """
    most = max(1, _BATCH_HYPOTHESES // beam_size)
    n_runs = len(list(_runs(sources, most, _BATCH_TOKENS)))
    n_tokens = sum(len(ids) + 1 for ids in sources)
    share = n_tokens / max(1, -(-n_runs // n_workers) * n_workers)
    return _runs(sources, most, max(share, _LEAST_TOKENS))


def _runs(sources: Sequence[Ids], most: int, share: float) -> Iterator[list[Ids]]:
    """Runs of at most `most` sources, until each has its share of tokens."""
    batch: list[Ids] = []
    n_tokens = 0
    for ids in sources:
        full = len(batch) == most or (len(batch) + 1) * (len(ids) + 1) > _BATCH_TOKENS or n_tokens >= share
        if batch and full:
            yield batch
            batch, n_tokens = [], 0
        batch.append(ids)
        n_tokens += len(ids) + 1
    if batch:
        yield batch


def _check_unicode(line: str, n: int) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"line {n}: not UTF-8 text (at character {error.start + 1}); save it as UTF-8") from error
