"""The interface of a search engine, which translates token ids, and how batches are divided and searched at once.

A translator handles the text and knows models only through `Engine`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, TypeVar

from transformer.search.hypothesis import Hypothesis, SearchConfig
from translate.corpus.tokenizer import Tokenizer
from translate.models.folder import TranslationSpec

LIMIT = 1024  # tokens of a source sentence, eos included, if the model has no lower limit

T = TypeVar("T")
R = TypeVar("R")
Sources = Sequence[Sequence[int]]  # token ids of each source, without eos
Batch = list[tuple[int, ...]]  # sources that are searched together
Found = list[list[Hypothesis]]  # of each source, best first
Search = Callable[[Batch], Found]
Attention = list[list[float]]  # of a pair: a row for each target token, with a weight for each source token


class Engine(Protocol):
    """A model folder and a search.

    Attributes:
        folder: path of the model folder.
        tokenizer: text to ids and back.
        spec: languages and decoding.
        max_positions: maximum number of tokens of a source or a translation, ends included; None if there is no limit.
        mixes_lengths: whether sources of unequal lengths are searched together; if not, a batch should have one length.
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

    @property
    def n_workers(self) -> int:
        """Number of batches that are searched at a time."""

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """Return `search(batch)` for each batch, several at a time where that is faster."""

    def search(self, sources: Sources, max_lengths: Sequence[int], config: SearchConfig) -> Found:
        """Return the n best hypotheses of each source of one batch, best first; none if probabilities are not finite.

        Args:
            sources: token ids of each source, without eos.
            max_lengths: maximum number of tokens of each translation, eos included.
            config: the settings of the search; bos and eos are those of the model.
        """

    def align(self, sources: Sources, targets: Sources) -> list[Attention]:
        """Return the cross-attention of each target token to each source token, for each pair.

        The weight of the source's eos is left out, so rows sum to less than 1.

        Args:
            sources, targets: token ids of each pair, without eos, at most `max_positions` - 1.

        Raises UserError if the model cannot align.
        """


class Scorer(Engine, Protocol):
    """An engine that also scores given translations."""

    def score(self, sources: Sources, targets: Sources) -> list[float]:
        """Return the natural log-probability of each target and of eos, given its source; the ids are without eos."""


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
