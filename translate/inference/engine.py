"""The interface of a search engine, which answers requests, and how they are divided into batches.

A translator handles the text and knows models only through `Engine`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Protocol, TypeVar

from transformer.search.hypothesis import Hypothesis, Request, SearchConfig
from translate.corpus.tokenizer import Tokenizer
from translate.models.folder import TranslationSpec

LIMIT = 1024  # tokens of a source sentence, eos included, if the model has no lower limit
BATCH_HYPOTHESES = 512  # requests times hypotheses; bounds the matrix of scores, which is as wide as the vocabulary

_BATCH_TOKENS = 8192  # padded source tokens of one batch; greedy search took 1.2 times as long with half of it
_LEAST_TOKENS = 256  # of a batch that is smaller than possible, so that another worker has one too

T = TypeVar("T")
R = TypeVar("R")
Ids = tuple[int, ...]
TokenIds = Sequence[Sequence[int]]  # of each sentence, without eos
Hypotheses = list[list[Hypothesis]]  # of each request, best first
Attention = list[list[float]]  # of a pair: a row for each target token, with a weight for each source token


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


def without_tag(attention: Attention, tag: Ids) -> Attention:
    """Return the attention of each target token to the source, whose first tokens are a tag."""
    return [row[len(tag) :] for row in attention] if tag else attention


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
        n_batches = len(divided(alike, _length, _BATCH_TOKENS, most=most))
        n_tokens = sum(_length(request) + 1 for request in alike)
        share = max(_LEAST_TOKENS, n_tokens / max(1, -(-n_batches // n_workers) * n_workers))
        groups = [alike] if mixes_lengths else [list(group) for _, group in groupby(alike, _length)]
        found += [batch for group in groups for batch in divided(group, _length, _BATCH_TOKENS, most=most, share=share)]
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
    order = sorted(range(len(batches)), key=lambda i: -sum(map(n_tokens, batches[i])))
    pool = ThreadPoolExecutor(n_workers, initializer=initializer)
    try:
        found = dict(zip(order, pool.map(compute, [batches[i] for i in order]), strict=True))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, do not wait for the batches in progress
    return [found[i] for i in range(len(batches))]


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
