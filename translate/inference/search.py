"""Search for the translations of sentences: each distinct sentence once, in batches of similar length.

A sentence that is longer than the model reads is translated in parts, never cut off. A model of the opposite direction
may rerank the hypotheses of the beam.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from transformer.search.hypothesis import Hypothesis, SearchConfig, length_penalty
from translate.errors import UserError
from translate.inference.engine import LIMIT, Engine, Scorer, divided
from translate.inference.formatting import Alignment
from translate.models.folder import TranslationSpec, not_finite
from translate.text import sentences
from translate.text.translation import DecodingConfig, Translation, join

BATCH_HYPOTHESES = 512  # sentences times beam size; bounds the matrix of scores, which is as wide as the vocabulary

_MIN_POSITIONS = 16
_BATCH_TOKENS = 8192  # padded source tokens of one batch; greedy search took 1.2 times as long with half of it
_LEAST_TOKENS = 256  # of a batch that is smaller than possible, so that another worker has one too
_UNTUNED_WEIGHT = 1.0  # of the reverse direction, if the model's translation.json has none: both count equally
# Every character that some program takes for the end of a line.
_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")

Ids = tuple[int, ...]


class SentenceSearch:
    """Translates sentences with an engine.

    Args:
        engine: the model.
        decoding: settings of the search.
        reranker: a model of the opposite direction that reranks the hypotheses of the beam; None does not. UserError if
            it is for other languages.

    Attributes:
        limit: tokens of the longest sentence that the model reads as a whole, eos excluded.
        best_limit: tokens of the longest sentence that it reads well as a whole, which may be fewer.
    """

    def __init__(self, engine: Engine, decoding: DecodingConfig, reranker: Scorer | None = None) -> None:
        self.engine, self.decoding, self.reranker = engine, decoding, reranker
        self.limit, self._max_extra = _limits(engine, decoding)
        known = (self.limit, engine.spec.max_source_tokens, engine.spec.best_source_tokens)
        self.best_limit = min(length for length in known if length)
        if reranker is not None:
            require_opposite(reranker.folder, reranker.spec, engine.spec)

    @property
    def reverse_weight(self) -> float:
        """The weight of the reverse direction in the score of reranking."""
        weight = self.engine.spec.reverse_weight
        return _UNTUNED_WEIGHT if weight is None else weight

    def max_length(self, n_source: int) -> int:
        """Return the longest translation, in tokens with eos, of a source of `n_source` tokens (section 6.1)."""
        return n_source + self._max_extra

    def translate(
        self, lines: Sequence[str], *, n_best: int = 1, no_repeat: int = 0, divides: bool = False
    ) -> dict[str, list[Translation]]:
        """Return the n best translations of each line, best first; those of several parts have no scores.

        Args:
            lines: sentences; white space around them stays.
            n_best: number of translations.
            no_repeat: no sequence of this many tokens may occur twice in a translation; 0 allows all.
            divides: whether a line that is longer than `best_limit` is translated in parts; one that is longer than
                `limit` always is.
        """
        limit = self.best_limit if divides else self.limit
        distinct = list(dict.fromkeys(sentence for line in lines if (sentence := line.strip())))
        encoded = self.engine.tokenizer.encode_batch(distinct)
        sources = {s: self.parts(s, ids, limit) for s, ids in zip(distinct, encoded, strict=True)}
        n = n_best if self.reranker is None else max(n_best, self.decoding.beam_size)
        hypotheses = self.hypotheses({ids for parts in sources.values() for ids in parts}, n, no_repeat)
        found = {
            line: self._joined(line, [(ids, hypotheses[ids]) for ids in sources.get(line.strip(), ())])
            for line in lines
        }
        if self.reranker is not None:
            found = rerank(self.reranker, found, self.reverse_weight)
        return {line: translations[:n_best] for line, translations in found.items()}

    def scored(self, translation: Translation) -> Translation:
        """Return the translation with its score; one that was searched as a whole has it already."""
        if translation.n_segments == 1 and translation.score:
            return translation
        n_tokens = len(translation.tokens) + translation.n_segments
        penalty = length_penalty(max(1, n_tokens), self.decoding.alpha, self.decoding.length_penalty)
        return replace(translation, score=translation.log_prob / penalty + translation.coverage)

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Alignment | None]:
        """Return the alignment of each source with its translation; None if one of them is too long for the model."""
        tokenizer, limit = self.engine.tokenizer, min(LIMIT, self.engine.max_positions or LIMIT)
        sides = [tokenizer.encode_batch(side) for side in zip(*pairs, strict=True)]
        fitting = [i for i, ids in enumerate(zip(*sides, strict=True)) if max(map(len, ids)) < limit]
        found = dict(zip(fitting, self.engine.align(*([ids[i] for i in fitting] for ids in sides)), strict=True))
        return [
            Alignment(tokenizer.spans(source), tokenizer.spans(target), found[i]) if i in found else None
            for i, (source, target) in enumerate(pairs)
        ]

    def hypotheses(self, sources: Iterable[Ids], n_best: int, no_repeat: int) -> dict[Ids, list[Hypothesis]]:
        """Return the n best hypotheses of each distinct source; UserError if probabilities are not finite."""
        config = SearchConfig(
            beam_size=max(self.decoding.beam_size, n_best),
            alpha=self.decoding.alpha,
            length_rule=self.decoding.length_penalty,
            n_best=n_best,
            no_repeat=no_repeat,
        )

        def search(batch: list[Ids]) -> list[list[Hypothesis]]:
            return self.engine.search(batch, [self.max_length(len(ids)) for ids in batch], config)

        # Ties are broken by content, so that batches, and with them all rounding, do not depend on the order of lines.
        ordered = sorted(sources, key=lambda ids: (len(ids), ids))
        batches = _batches(ordered, config.beam_size, self.engine.n_workers, self.engine.mixes_lengths)
        found: dict[Ids, list[Hypothesis]] = {}
        for batch, results in zip(batches, self.engine.each(search, batches), strict=True):
            found |= zip(batch, results, strict=True)
        if not all(found.values()):
            raise not_finite(self.engine.folder)
        return found

    def parts(self, sentence: str, ids: Sequence[int], limit: int) -> list[Ids]:
        """Return the token ids of a sentence, or of its parts if it is longer than `limit` tokens.

        The tokenizer of an imported model may drop characters, so a sentence or a part may have no tokens.
        """
        encode, found = self.engine.tokenizer.encode, [ids]
        if len(ids) > limit:
            found = [encode(part) for part in sentences.cut(sentence, lambda text: len(encode(text)) <= limit)]
        return [tuple(part) for part in found if part]

    def _joined(self, line: str, parts: Sequence[tuple[Ids, list[Hypothesis]]]) -> list[Translation]:
        """Return the translations of a line from the hypotheses of its parts; a blank line has none.

        The second translation joins the second best hypothesis of each part, and so on.
        """
        if not parts:
            return [Translation(line)]
        if len(parts) == 1 and line == line.strip():
            ((ids, hypotheses),) = parts
            return [self._translation(ids, hypothesis) for hypothesis in hypotheses]
        before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
        translations = []
        for rank in range(max(len(hypotheses) for _, hypotheses in parts)):
            found = [self._translation(ids, h[min(rank, len(h) - 1)]) for ids, h in parts]
            text = before + " ".join(part.text for part in found if part.text) + after
            whole = replace(join(found), text=text, score=found[0].score if len(found) == 1 else 0.0)
            translations.append(whole.flagged("split") if len(parts) > 1 else whole)
        return translations

    def _translation(self, source: Ids, hypothesis: Hypothesis) -> Translation:
        """Return a hypothesis as text, flagged if it was cut off at its maximum length."""
        tokenizer = self.engine.tokenizer
        found = Translation(
            _LINE_BREAKS.sub(" ", tokenizer.decode(hypothesis.tokens)).strip(),
            log_prob=hypothesis.log_prob,
            tokens=tuple(tokenizer.pieces(hypothesis.tokens)),
            n_segments=1,
            n_source_tokens=len(source),
            score=hypothesis.score,
            coverage=hypothesis.coverage,
        )
        return found.flagged("length") if len(hypothesis.tokens) + 1 >= self.max_length(len(source)) else found


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


def _batches(sources: Sequence[Ids], beam_size: int, n_workers: int, mixes_lengths: bool = True) -> list[list[Ids]]:
    """Divide sources, shortest first, into batches within the bounds on tokens and hypotheses.

    If possible, each worker gets equally many batches with equally many tokens, so that all finish at about the same
    time.
    """
    most = max(1, BATCH_HYPOTHESES // beam_size)
    n_batches = len(divided(sources, len, _BATCH_TOKENS, most=most))
    n_tokens = sum(len(ids) + 1 for ids in sources)
    share = max(_LEAST_TOKENS, n_tokens / max(1, -(-n_batches // n_workers) * n_workers))
    groups = [sources] if mixes_lengths else (list(group) for _, group in groupby(sources, len))
    return [batch for group in groups for batch in divided(group, len, _BATCH_TOKENS, most=most, share=share)]


def require_opposite(reranker: Path, other: TranslationSpec, spec: TranslationSpec) -> None:
    """Raise UserError if the model in the folder `reranker`, with languages `other`, is not the opposite of `spec`."""
    if (other.source, other.target) != (spec.target, spec.source):
        raise UserError(
            f"{reranker}: translates {other.source}-{other.target}, but reranking {spec.source}-{spec.target} "
            f"needs a model for {spec.target}-{spec.source}; name one"
        )


def rerank(reranker: Scorer, found: Mapping[str, Sequence[Translation]], weight: float) -> dict[str, list[Translation]]:
    """Return the translations of each source with `reverse_log_prob`, in descending order of `rerank_score`.

    A translation that lost or changed the meaning makes its source improbable, also where the model that wrote it was
    sure. So both probabilities together find better hypotheses in a beam than the model's own does (noisy channel
    reranking; Yee, Dauphin and Auli 2019). Pairs with a blank side and pairs longer than the reranker reads stay
    without these values, after the others in their order.

    Args:
        reranker: translates in the opposite direction.
        found: each source, one sentence, and its translations.
        weight: of `reverse_log_prob` in the score.
    """
    pairs = dict.fromkeys((one.text.strip(), source.strip()) for source, several in found.items() for one in several)
    known = _mean_log_probs(reranker, list(pairs))

    def scored(source: str, one: Translation) -> Translation:
        reverse = known.get((one.text.strip(), source.strip()))
        if reverse is None:
            return one
        return replace(one, reverse_log_prob=reverse, rerank_score=one.confidence + weight * reverse)

    return {
        source: sorted((scored(source, one) for one in several), key=_rerank_score, reverse=True)
        for source, several in found.items()
    }


def _rerank_score(translation: Translation) -> float:
    return -math.inf if translation.rerank_score is None else translation.rerank_score


def _mean_log_probs(scorer: Scorer, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return the mean log-probability of a token of the second text given the first, of pairs that the model reads."""
    limit = min(LIMIT, scorer.max_positions or LIMIT)
    encoded = zip(*(scorer.tokenizer.encode_batch(side) for side in zip(*pairs, strict=True)), strict=True)
    fitting = {
        pair: ids for pair, ids in zip(pairs, encoded, strict=True) if all(0 < len(side) < limit for side in ids)
    }
    if not fitting:
        return {}
    given, scored = zip(*fitting.values(), strict=True)
    log_probs = scorer.score(given, scored)
    return {pair: p / (len(ids) + 1) for pair, ids, p in zip(fitting, scored, log_probs, strict=True)}
