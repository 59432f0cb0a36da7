"""Search for the translations of sentences: each distinct sentence once, in batches of similar length.

A sentence that is longer than the model reads is translated in parts, never cut off.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from transformer.search.hypothesis import Hypothesis, SearchConfig, length_penalty
from translate.config.decoding import DecodingConfig
from translate.errors import UserError
from translate.inference.engine import Engine
from translate.models.folder import not_finite
from translate.text import clauses, guards
from translate.text.translation import Translation, join

LIMIT = 1024  # tokens of a source sentence, eos included, if the model has no lower limit
BATCH_HYPOTHESES = 512  # sentences times beam size; bounds the matrix of scores, which is as wide as the vocabulary

_MIN_POSITIONS = 16
_BATCH_TOKENS = 8192  # padded source tokens of one batch; greedy search took 1.2 times as long with half of it
_LEAST_TOKENS = 256  # of a batch that is smaller than possible, so that another worker has one too
# Every character that some program takes for the end of a line.
_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")

T = TypeVar("T")
Ids = tuple[int, ...]


class SentenceSearch:
    """Translates sentences with an engine.

    Args:
        engine: the model.
        decoding: settings of the search.

    Attributes:
        limit: tokens of the longest sentence that the model reads as a whole, eos excluded.
        best_limit: tokens of the longest sentence that it should read as a whole, which may be fewer.
    """

    def __init__(self, engine: Engine, decoding: DecodingConfig) -> None:
        self.engine = engine
        self.decoding = decoding
        self.limit, self._max_extra = _limits(engine, decoding)
        known = (self.limit, engine.spec.max_source_tokens, engine.spec.best_source_tokens)
        self.best_limit = min(length for length in known if length)

    def max_length(self, n_source: int) -> int:
        """Return the longest translation, in tokens with eos, of a source of `n_source` tokens (section 6.1)."""
        return n_source + self._max_extra

    def guarded_length(self, n_source: int) -> int:
        """Return the longest translation, in tokens with eos, that the guards accept."""
        return min(self.max_length(n_source), guards.longest_output(n_source))

    def translate(
        self, lines: Sequence[str], limit: int, max_length: Callable[[int], int], *, n_best: int = 1, no_repeat: int = 0
    ) -> dict[str, list[Translation]]:
        """Return the n best translations of each line, best first; those of several parts have no scores.

        Args:
            lines: sentences; white space around them stays.
            limit: tokens of a source; a longer line is translated in parts.
            max_length: longest translation for a number of source tokens, both in tokens.
            n_best: number of translations.
            no_repeat: no sequence of this many tokens may occur twice in a translation; 0 allows all.
        """
        sentences = list(dict.fromkeys(sentence for line in lines if (sentence := line.strip())))
        encoded = self.engine.tokenizer.encode_batch(sentences)
        sources = {s: self._parts(s, ids, limit) for s, ids in zip(sentences, encoded, strict=True)}
        found = self.hypotheses({ids for parts in sources.values() for ids in parts}, max_length, n_best, no_repeat)
        return {
            line: self._joined(line, [(found[ids], max_length(len(ids))) for ids in sources.get(line.strip(), ())])
            for line in lines
        }

    def scored(self, translation: Translation) -> Translation:
        """Return the translation with its score; one that was searched as a whole has it already."""
        if translation.n_searches == 1 and translation.score:
            return translation
        n_tokens = len(translation.tokens) + translation.n_searches
        penalty = length_penalty(max(1, n_tokens), self.decoding.alpha, self.decoding.length_penalty)
        return replace(translation, score=translation.log_prob / penalty + translation.coverage)

    def hypotheses(
        self, sources: Iterable[Ids], max_length: Callable[[int], int], n_best: int, no_repeat: int
    ) -> dict[Ids, list[Hypothesis]]:
        """Return the n best hypotheses of each source.

        Args:
            sources: distinct sentences, as token ids.
            max_length, n_best, no_repeat: as for `translate`.

        UserError if the model's probabilities are not finite.
        """
        config = SearchConfig(
            beam_size=max(self.decoding.beam_size, n_best),
            alpha=self.decoding.alpha,
            length_rule=self.decoding.length_penalty,
            n_best=n_best,
            no_repeat=no_repeat,
        )

        def search(batch: list[Ids]) -> list[list[Hypothesis]]:
            return self.engine.search(batch, [max_length(len(ids)) for ids in batch], config)

        # Ties are broken by content, so that batches, and with them all rounding, do not depend on the order of lines.
        ordered = sorted(sources, key=lambda ids: (len(ids), ids))
        batches = _batches(ordered, config.beam_size, self.engine.n_workers)
        found: dict[Ids, list[Hypothesis]] = {}
        for batch, results in zip(batches, self.engine.each(search, batches), strict=True):
            found |= zip(batch, results, strict=True)
        if not all(found.values()):
            raise not_finite(self.engine.folder)
        return found

    def _parts(self, sentence: str, ids: Sequence[int], limit: int) -> list[Ids]:
        """Return the token ids of a sentence, or of its parts if it is longer than `limit` tokens.

        The tokenizer of an imported model may drop characters; a sentence without tokens has no parts.
        """
        if len(ids) <= limit:
            return [tuple(ids)] if ids else []
        encode = self.engine.tokenizer.encode
        parts = clauses.cut(sentence, lambda text: len(encode(text)) <= limit)
        return [tuple(encode(part.text)) for part in parts if part.text.strip()]

    def _joined(self, line: str, parts: Sequence[tuple[list[Hypothesis], int]]) -> list[Translation]:
        """Return the translations of a line from the hypotheses and length limits of its parts; a blank line has none.

        The second translation joins the second best hypothesis of each part, and so on.
        """
        if not parts:
            return [Translation(line)]
        before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
        translations = []
        for rank in range(max(len(hypotheses) for hypotheses, _ in parts)):
            found = [self._translation(h[min(rank, len(h) - 1)], length) for h, length in parts]
            text = before + " ".join(part.text for part in found if part.text) + after
            whole = replace(join(found), text=text, score=found[0].score if len(found) == 1 else 0.0)
            translations.append(whole.flagged("split") if len(parts) > 1 else whole)
        return translations

    def _translation(self, hypothesis: Hypothesis, max_length: int) -> Translation:
        """Return a hypothesis as text, flagged if it was cut off at its maximum length."""
        tokenizer = self.engine.tokenizer
        found = Translation(
            _LINE_BREAKS.sub(" ", tokenizer.decode(hypothesis.tokens)).strip(),
            log_prob=hypothesis.log_prob,
            tokens=tuple(tokenizer.pieces(hypothesis.tokens)),
            n_searches=1,
            score=hypothesis.score,
            coverage=hypothesis.coverage,
        )
        return found.flagged("length") if len(hypothesis.tokens) + 1 >= max_length else found


def _limits(engine: Engine, decoding: DecodingConfig) -> tuple[int, int]:
    """Return the longest source in tokens, eos excluded, and how many tokens longer its translation may be.

    Learned positions bound both sides: eos takes one position of the source, and the translation has at most
    source + extra tokens.
    """
    if engine.max_positions is None:
        return LIMIT - 1, decoding.max_extra
    length = min(engine.max_positions, LIMIT)
    if length < _MIN_POSITIONS:
        raise UserError(
            f"{engine.folder}: model.max_length = {length} is too short to translate with; train with at least "
            f"{_MIN_POSITIONS}"
        )
    max_extra = min(decoding.max_extra, length // 2)
    return length - max_extra, max_extra


def _batches(sources: Sequence[Ids], beam_size: int, n_workers: int) -> list[list[Ids]]:
    """Divide sources, shortest first, into batches within the bounds on tokens and hypotheses.

    If possible, each worker gets equally many batches with equally many tokens, so that all finish at about the same
    time.
    """
    most = max(1, BATCH_HYPOTHESES // beam_size)
    n_batches = len(divided(sources, len, _BATCH_TOKENS, most=most))
    n_tokens = sum(len(ids) + 1 for ids in sources)
    share = max(_LEAST_TOKENS, n_tokens / max(1, -(-n_batches // n_workers) * n_workers))
    return divided(sources, len, _BATCH_TOKENS, most=most, share=share)


def divided(
    items: Iterable[T], length: Callable[[T], int], padded: int, *, most: float = math.inf, share: float = math.inf
) -> list[list[T]]:
    """Divide items, shortest first, into batches.

    Args:
        items: in ascending order of length.
        length: number of tokens of an item, eos excluded.
        padded: maximum number of tokens of a batch, padding included, unless one item alone has more.
        most: maximum number of items of a batch.
        share: a batch with this many tokens is complete.
    """
    batches: list[list[T]] = []
    n_tokens = 0
    for item in items:
        width = length(item) + 1
        full = batches and (len(batches[-1]) == most or (len(batches[-1]) + 1) * width > padded)
        if not batches or full or n_tokens >= share:
            batches.append([])
            n_tokens = 0
        batches[-1].append(item)
        n_tokens += width
    return batches
