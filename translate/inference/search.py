"""Search for the translations of sentences: each distinct request once.

A sentence that is longer than the model reads is translated in parts, never cut off. A model of the opposite direction
may rerank the hypotheses of the beam.

`SentenceSearch` turns sentences into requests and hypotheses into translations. It knows a model only as an `Engine`,
whose searches divide their requests into batches by the functions at the end of this file.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from transformer.config import Attention, Hypotheses, Hypothesis, Ids, Request, SearchConfig, TokenIds
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.models.folder import ModelFolder, TranslationSpec, has_forms_of_address, not_finite
from translate.text.translation import FormOfAddress, Translation, join

if TYPE_CHECKING:
    from translate.inference.formatting import Alignment

LIMIT = 1024  # tokens of a source, eos included, if the model has no lower limit
BATCH_HYPOTHESES = 512  # requests times hypotheses; bounds the matrix of scores, which is as wide as the vocabulary

_BATCH_TOKENS = 8192  # padded source tokens of one batch; greedy search took 1.2 times as long with half of it
_LEAST_TOKENS = 256  # of a batch that is smaller than possible, so that another worker has one too
_MIN_POSITIONS = 16
_UNTUNED_WEIGHT = 1.0  # of the reverse direction, if the model's translation.json has none: both count equally
# Every character that some program takes for the end of a line.
_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """A model folder and a search.

    Attributes:
        folder: path of the model folder.
        tokenizer: text to ids and back.
        spec: languages and decoding.
        max_positions: maximum number of tokens of a source or a translation, ends included; None if there is no limit.
        mixes_lengths: whether sources of unequal lengths are searched together; if not, a batch has one length.
    """

    folder: Path
    tokenizer: Tokenizer
    spec: TranslationSpec
    max_positions: int | None
    mixes_lengths: bool

    @property
    def can_align(self) -> bool:
        """Whether `align` works: not with a CTranslate2 folder that was exported without a layer for it."""

    @property
    def precision(self) -> str:
        """Type of the matrix products: int8, bf16, fp16 or fp32."""

    def search(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the n best hypotheses of each request, best first; none if probabilities are not finite.

        The requests are divided into batches, several of which are searched at a time where that is faster.

        Args:
            requests: in any order; equal ones are searched once.
            config: the settings of the search; bos and eos are those of the model.
        """

    def search_batch(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the result of `search` for requests of one batch, in this thread."""

    def align(self, sources: TokenIds, targets: TokenIds) -> list[Attention]:
        """Return the cross-attention of each target token to each source token, for each pair.

        The weight of the source's eos is left out, so rows sum to less than 1.

        Args:
            sources, targets: token ids of each pair, without eos, at most `max_positions` - 1.

        Raises UserError if the model cannot align.
        """

    def score(self, sources: TokenIds, targets: TokenIds) -> list[float]:
        """Return the natural log-probability of each target and of eos, given its source; the ids are without eos."""


class SentenceSearch:
    """Translates sentences with an engine.

    Args:
        engine: the model.
        config: settings of the search.
        reranker: a model of the opposite direction that reranks the hypotheses of the beam; None does not. UserError if
            it is for other languages.
        phrases: returns the token ids of the phrases that the translation of a source must contain; None has none.
        formality: form of address of the translations; None leaves it to the model. UserError if it cannot choose.

    Attributes:
        tag: token ids that each source begins with for the target language and the form of address; may be empty.
        limit: tokens of the longest sentence that the model reads as a whole, tag and eos excluded.
        best_limit: tokens of the longest sentence that it reads well as a whole, which may be fewer.
    """

    def __init__(
        self,
        engine: Engine,
        config: SearchConfig,
        reranker: Engine | None = None,
        phrases: Callable[[Ids], tuple[Ids, ...]] | None = None,
        formality: FormOfAddress | None = None,
    ) -> None:
        self.engine, self.config, self.reranker, self._phrases = engine, config, reranker, phrases
        self.tag = tag_of(engine, formality)
        limit, self._max_extra = _limits(engine, config)
        known = (limit, engine.spec.max_source_tokens, engine.spec.best_source_tokens)
        self.limit = limit - len(self.tag)
        self.best_limit = min(length for length in known if length) - len(self.tag)
        if reranker is not None:
            require_opposite(reranker.folder, reranker.spec, engine.spec)

    def translate(
        self,
        lines: Sequence[str],
        *,
        n_best: int = 1,
        no_repeat: int = 0,
        divides: bool = False,
        prefixes: Sequence[Ids] | None = None,
    ) -> list[list[Translation]]:
        """Return the n best translations of each line, best first; those of several parts have no scores.

        Args:
            lines: sentences; white space around them stays.
            n_best: number of translations.
            no_repeat: no sequence of this many tokens may occur twice in a translation; 0 allows all.
            divides: whether a line that is longer than `best_limit` is translated in parts; one that is longer than
                `limit` always is.
            prefixes: token ids that the translation of each line starts with; None has none. UserError for a line with
                a prefix that is longer than `limit`.
        """
        requests = self.requests(lines, prefixes, self.best_limit if divides else self.limit)
        n = n_best if self.reranker is None else max(n_best, self.config.beam_size)
        hypotheses = self.hypotheses({request for parts in requests for request in parts}, n, no_repeat)
        translations = [
            self._translations(line, [(request, hypotheses[request]) for request in parts])
            for line, parts in zip(lines, requests, strict=True)
        ]
        if self.reranker is not None:
            translations = rerank(self.reranker, list(zip(lines, translations, strict=True)), self.reverse_weight)
        return [ranked[:n_best] for ranked in translations]

    def requests(
        self, lines: Sequence[str], prefixes: Sequence[Ids] | None = None, limit: int | None = None
    ) -> list[list[Request]]:
        """Return the requests of each line: one, none for a blank line, or one for each part of a long one."""
        stripped, limit = [line.strip() for line in lines], limit or self.limit
        distinct = list(dict.fromkeys(filter(None, stripped)))
        encoded = self.engine.tokenizer.encode_batch(distinct)
        parts_of = {
            sentence: self._parts(sentence, ids, limit) for sentence, ids in zip(distinct, encoded, strict=True)
        }
        requests = []
        for sentence, prefix in zip(stripped, prefixes or [()] * len(lines), strict=True):
            parts = parts_of.get(sentence, [])
            if prefix and len(parts) > 1:
                raise UserError(
                    f"{sentence[:30]!r}...: is longer than the model's limit, so it cannot have a prefix; shorten the "
                    "line"
                )
            requests.append([self._request(ids, prefix) for ids in parts])
        return requests

    def _parts(self, sentence: str, ids: Sequence[int], limit: int) -> list[Ids]:
        """Return the token ids of a sentence, or of its parts if it is longer than `limit` tokens.

        The tokenizer of an imported model may drop characters, so a sentence or a part may have no tokens.
        """
        encode, found = self.engine.tokenizer.encode, [ids]
        if len(ids) > limit:
            from translate.text import sentences  # few sentences are that long

            found = [encode(part) for part in sentences.cut(sentence, lambda text: len(encode(text)) <= limit)]
        return [tuple(part) for part in found if part]

    def _request(self, ids: Ids, prefix: Ids) -> Request:
        phrases = self._phrases(ids) if self._phrases else ()
        request = Request(self.tag + ids, self.max_length(len(ids)), prefix, phrases)
        if (needed := len(prefix) + request.n_phrase_tokens + 1) > request.max_length:
            raise self._refused(
                request, f"forced words need {needed} tokens, but it may have {request.max_length}; force less"
            )
        return request

    def max_length(self, n_source: int) -> int:
        """Return the longest translation, in tokens with eos, of a source of `n_source` tokens without tag (6.1)."""
        return n_source + self._max_extra

    def hypotheses(self, requests: Iterable[Request], n_best: int, no_repeat: int) -> dict[Request, list[Hypothesis]]:
        """Return the n best hypotheses of each distinct request.

        UserError if probabilities are not finite, or if no translation has the prefix and the phrases of its request.
        """
        config = replace(
            self.config,
            beam_size=max(self.config.beam_size, n_best),
            n_best=n_best,
            no_repeat=no_repeat or self.config.no_repeat,
        )
        asked = list(requests)
        found = dict(zip(asked, self.engine.search(asked, config), strict=True))
        for request, own in found.items():
            if not own and (request.prefix or request.phrases):
                raise self._refused(request, "no translation obeys all rules; ask for less")
            if not own:
                raise not_finite(self.engine.folder)
        return found

    def _refused(self, request: Request, reason: str) -> UserError:
        source = self.engine.tokenizer.decode(request.ids[len(self.tag) :])
        return UserError(f"the translation of {source!r}: {reason}")

    def _translations(self, line: str, parts: Sequence[tuple[Request, list[Hypothesis]]]) -> list[Translation]:
        """Return the translations of a line from the hypotheses of its parts; a blank line has no parts.

        The second translation joins the second best hypothesis of each part, and so on.
        """
        if not parts:
            return [Translation(line)]
        if len(parts) == 1 and line == line.strip():
            ((request, hypotheses),) = parts
            return [self._translation(request, hypothesis) for hypothesis in hypotheses]
        before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
        translations = []
        for rank in range(max(len(hypotheses) for _, hypotheses in parts)):
            found = [self._translation(request, h[min(rank, len(h) - 1)]) for request, h in parts]
            text = before + " ".join(part.text for part in found if part.text) + after
            whole = replace(join(found), text=text, score=found[0].score if len(found) == 1 else 0.0)
            translations.append(whole.flagged("split") if len(parts) > 1 else whole)
        return translations

    def _translation(self, request: Request, hypothesis: Hypothesis) -> Translation:
        """Return a hypothesis as text, flagged if it was cut off at its maximum length."""
        tokenizer = self.engine.tokenizer
        found = Translation(
            _LINE_BREAKS.sub(" ", tokenizer.decode(hypothesis.tokens)).strip(),
            log_prob=hypothesis.log_prob,
            tokens=tuple(tokenizer.tokens(hypothesis.tokens)),
            n_segments=1,
            n_source_tokens=len(request.ids) - len(self.tag),
            score=hypothesis.score,
            coverage=hypothesis.coverage,
        )
        return found.flagged("length") if len(hypothesis.tokens) + 1 >= request.max_length else found

    def scored(self, translation: Translation) -> Translation:
        """Return the translation with its score; one that was searched as a whole has it already."""
        if translation.n_segments == 1 and translation.score:
            return translation
        penalty = self.config.penalty(max(1, len(translation.tokens) + translation.n_segments))
        return replace(translation, score=translation.log_prob / penalty + translation.coverage)

    def align(self, pairs: Sequence[tuple[str, str]]) -> "list[Alignment | None]":
        """Return the alignment of each source with its translation; None if one of them is too long for the model.

        Two symbols fit too, so that `score` takes the same pairs with symbols.
        """
        from translate.inference.formatting import Alignment

        tokenizer, limit = self.engine.tokenizer, min(LIMIT, self.engine.max_positions or LIMIT)
        sides = pair_ids(tokenizer, self.tag, pairs)
        fitting = [i for i, ids in enumerate(zip(*sides, strict=True)) if max(map(len, ids)) + 2 < limit]
        found = dict(zip(fitting, self.engine.align(*([ids[i] for i in fitting] for ids in sides)), strict=True))
        return [
            Alignment(tokenizer.spans(source), tokenizer.target.spans(target), without_tag(found[i], self.tag))
            if i in found
            else None
            for i, (source, target) in enumerate(pairs)
        ]

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the log-probability of each translation given its source."""
        return self.engine.score(*pair_ids(self.engine.tokenizer, self.tag, pairs))

    @property
    def reverse_weight(self) -> float:
        """The weight of the reverse direction in the score of reranking."""
        weight = self.engine.spec.reverse_weight
        return _UNTUNED_WEIGHT if weight is None else weight


def tag_of(model: Engine | ModelFolder, formality: FormOfAddress | None) -> Ids:
    """Return the token ids that begin a source.

    UserError if the model cannot choose the form of address, or if its target language is not chosen.
    """
    tag = model.spec.tag if model.spec.tags else ""
    language = tuple(model.tokenizer.ids([tag])) if tag else ()
    if formality is None:
        return language
    if not has_forms_of_address(model.tokenizer, model.spec):
        raise UserError(
            f"{model.folder}: the model cannot choose the form of address; leave formality out or choose a model into "
            "German that was trained with it"
        )
    from translate.text.formality import TAGS

    return (*language, *model.tokenizer.encode(TAGS[formality]))


def pair_ids(tokenizer: Tokenizer, tag: Ids, pairs: Sequence[tuple[str, str]]) -> tuple[list[Ids], list[Ids]]:
    """Return the token ids of sources, each after the tag, and of their translations; there must be a pair."""
    given, made = zip(*pairs, strict=True)
    sources, targets = tokenizer.encode_batch(given), tokenizer.target.encode_batch(made)
    return [(*tag, *ids) for ids in sources], list(map(tuple, targets))


def without_tag(attention: Attention, tag: Ids) -> Attention:
    """Return the attention of each target token to the source, whose first tokens are a tag."""
    return [row[len(tag) :] for row in attention] if tag else attention


def _limits(engine: Engine, config: SearchConfig) -> tuple[int, int]:
    """Return the longest source in tokens, eos excluded, and how many tokens longer its translation may be.

    Learned positions bound both sides: eos takes one position of the source, and the translation has at most
    source + extra tokens.
    """
    if engine.max_positions is None:
        return LIMIT - 1, config.max_extra
    length = min(engine.max_positions, LIMIT)
    if length < _MIN_POSITIONS:
        raise UserError(
            f"{engine.folder}: model.max_length = {length} is too short to translate with; train with at least "
            f"{_MIN_POSITIONS}"
        )
    max_extra = min(config.max_extra, length // 2)
    return length - max_extra, max_extra


def require_opposite(reranker: Path, other: TranslationSpec, spec: TranslationSpec) -> None:
    """Raise UserError if the model in the folder `reranker`, with languages `other`, is not the opposite of `spec`."""
    if (other.source, other.target) != (spec.target, spec.source):
        raise UserError(
            f"{reranker}: translates {other.source}-{other.target}, but reranking {spec.source}-{spec.target} "
            f"needs a model for {spec.target}-{spec.source}; name one"
        )


def rerank(
    reranker: Engine, found: Sequence[tuple[str, Sequence[Translation]]], weight: float
) -> list[list[Translation]]:
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
    pairs = dict.fromkeys(
        (translation.text.strip(), source.strip()) for source, several in found for translation in several
    )
    known = _mean_log_probs(reranker, list(pairs))

    def scored(source: str, translation: Translation) -> Translation:
        reverse = known.get((translation.text.strip(), source.strip()))
        if reverse is None:
            return translation
        return replace(translation, reverse_log_prob=reverse, rerank_score=translation.confidence + weight * reverse)

    return [
        sorted((scored(source, translation) for translation in several), key=_rerank_score, reverse=True)
        for source, several in found
    ]


def _rerank_score(translation: Translation) -> float:
    return -math.inf if translation.rerank_score is None else translation.rerank_score


def _mean_log_probs(scorer: Engine, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return the mean log-probability of a token of the second text given the first, of pairs that the model reads."""
    if not pairs:
        return {}
    limit, tag = min(LIMIT, scorer.max_positions or LIMIT), tag_of(scorer, None)
    fitting = {
        pair: (source, target)
        for pair, source, target in zip(pairs, *pair_ids(scorer.tokenizer, tag, pairs), strict=True)
        if len(tag) < len(source) < limit and 0 < len(target) < limit
    }
    if not fitting:
        return {}
    given, scored = zip(*fitting.values(), strict=True)
    log_probs = scorer.score(given, scored)
    return {pair: p / (len(ids) + 1) for pair, ids, p in zip(fitting, scored, log_probs, strict=True)}


# Batches


def in_order(requests: Iterable[Request]) -> list[Request]:
    """Return the distinct requests, shortest first.

    Ties are broken by content, so that batches, and with them all rounding, do not depend on the order of lines.
    """
    return sorted(set(requests), key=lambda request: (len(request.ids), request))


def batches(
    requests: Iterable[Request], config: SearchConfig, n_workers: int, *, mixes_lengths: bool = True
) -> list[list[Request]]:
    """Divide the distinct requests into batches within the bounds on tokens and hypotheses.

    If possible, each worker gets equally many batches with equally many tokens, so that all finish at about the same
    time. Requests with phrases have a grid of beams each.
    """
    found: list[list[Request]] = []
    ordered = in_order(requests)
    for n_phrase_tokens in sorted({request.n_phrase_tokens for request in ordered}):
        alike = [request for request in ordered if request.n_phrase_tokens == n_phrase_tokens]
        most = max(1, BATCH_HYPOTHESES // (config.beam_size * (n_phrase_tokens + 1)))
        n_batches = len(into_batches(alike, _length, _BATCH_TOKENS, most=most))
        n_tokens = sum(_length(request) + 1 for request in alike)
        share = max(_LEAST_TOKENS, n_tokens / max(1, -(-n_batches // n_workers) * n_workers))
        groups = [alike] if mixes_lengths else [list(group) for _, group in groupby(alike, _length)]
        found += [
            batch for group in groups for batch in into_batches(group, _length, _BATCH_TOKENS, most=most, share=share)
        ]
    return found


def _length(request: Request) -> int:
    return len(request.ids)


def answers(
    requests: Iterable[Request], batches: Iterable[Sequence[Request]], found: Iterable[Hypotheses]
) -> Hypotheses:
    """Return the hypotheses of each request, given those of each batch."""
    known = {
        request: hypotheses
        for batch, results in zip(batches, found, strict=True)
        for request, hypotheses in zip(batch, results, strict=True)
    }
    return [known[request] for request in requests]


def side_by_side(
    compute: Callable[[list[T]], R],
    batches: Sequence[list[T]],
    n_tokens: Callable[[T], int],
    n_workers: int,
    initializer: Callable[[], None] | None = None,
) -> list[R]:
    """Return `compute(batch)` for each batch, computed in `n_workers` threads; each first calls `initializer`.

    The batches with the most tokens start first, so that all threads end at about the same time.

    Args:
        n_tokens: returns the number of tokens of an item of a batch.
    """
    from concurrent.futures import ThreadPoolExecutor  # imports logging, which the help of a command need not wait for

    order = sorted(range(len(batches)), key=lambda i: -sum(map(n_tokens, batches[i])))
    pool = ThreadPoolExecutor(n_workers, initializer=initializer)
    try:
        found = dict(zip(order, pool.map(compute, [batches[i] for i in order]), strict=True))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, do not wait for the batches in progress
    return [found[i] for i in range(len(batches))]


def into_batches(
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
