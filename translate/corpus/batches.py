"""Batches within a token budget; the position in the data is a plain value that a checkpoint stores.

Dimension key: B sentences, S source tokens, T target tokens.

The batches of an epoch are a pure function of the lengths, the budget, the seed and the epoch. So a position is two
integers, and a resumed run continues with exactly the sentences that it has not used.
"""

import itertools
from collections import deque
from collections.abc import Generator, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.config import ModelConfig
from translate.config.schema import TrainingConfig
from translate.corpus.prepare import Component, EncodedPairs, Mixture, Prepared, Side
from translate.corpus.tokenizer import SubwordDropout
from translate.errors import UserError

Index = NDArray[np.integer]  # sentence numbers, int32 if they fit
Lengths = NDArray[np.int32]
T = TypeVar("T")

AHEAD = 2  # updates whose batches are made while one is computed
_PART = 2**18  # pairs that are looked at together: the arrays of all pairs are few, and the others small


class Position(NamedTuple):
    """The position of the sampler: the next batch."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Batch:
    """Padded token ids: src (B, S) ends with eos, tgt_in (B, T) begins with bos, tgt_out (B, T) ends with eos.

    S and T are rounded up by `width`. tgt_index (N,) has the places of the N tokens of tgt_out, without padding, in its
    B * T places. src_lengths and tgt_lengths (B,) count tokens with eos. They stay in main memory, as reading them from
    a GPU would wait for it, and are int64, as counts of operations are computed from them.
    """

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    tgt_index: Tensor
    src_lengths: NDArray[np.int64]
    tgt_lengths: NDArray[np.int64]

    @property
    def n_src_tokens(self) -> int:
        """Source tokens without padding."""
        return int(self.src_lengths.sum())

    @property
    def n_tgt_tokens(self) -> int:
        """Target tokens without padding."""
        return int(self.tgt_lengths.sum())

    @property
    def n_positions(self) -> int:
        """Source and target positions, padding included."""
        return self.src.numel() + self.tgt_in.numel()

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on another device; to a GPU it is copied asynchronously, from pinned memory."""

        def moved(tensor: Tensor) -> Tensor:
            if device.type == "cuda" and tensor.device.type == "cpu":
                tensor = tensor.pin_memory()
            return tensor.to(device, non_blocking=True)

        src, tgt_in, tgt_out, tgt_index = map(moved, (self.src, self.tgt_in, self.tgt_out, self.tgt_index))
        return replace(self, src=src, tgt_in=tgt_in, tgt_out=tgt_out, tgt_index=tgt_index)


class BatchFeed:
    """The micro-batches of the updates of one process, on its device.

    Args:
        model: gives the special tokens and the size of the vocabulary.
        rank, n_ranks: number of this process among those that train together, from 0, and how many they are.

    Attributes:
        sampler: the order of all batches, the same in all processes.
        batches_per_update: micro-batches in an update, over all processes.
    """

    def __init__(
        self,
        prepared: Prepared,
        config: TrainingConfig,
        model: ModelConfig,
        device: torch.device,
        mixture: Mixture,
        rank: int = 0,
        n_ranks: int = 1,
    ) -> None:
        self._prepared, self._model, self._rank, self._n_ranks = prepared, model, rank, n_ranks
        # With its number: in the thread that makes batches, "cuda" is the first GPU, even if this process uses another.
        self._device = torch.empty(0, device=device).device
        self.batches_per_update = config.accumulate * n_ranks
        self.sampler = Sampler(prepared.train, config.batch_tokens, config.max_tokens, config.seed, mixture)
        rate = config.subword_dropout
        self._dropout = SubwordDropout(prepared.tokenizer, rate, config.max_tokens) if rate else None

    def updates(self, position: Position) -> Iterator[tuple[list[Batch], Position]]:
        """Yield the micro-batches of each update, and the position after it; batches go to the ranks in turn."""
        stream = self.sampler.stream(position)
        while True:
            group = []
            for i in range(self.batches_per_update):
                index, position = next(stream)
                if i % self._n_ranks == self._rank:
                    group.append(self._training_batch(index, position))
            yield group, position

    def _training_batch(self, index: Index, position: Position) -> Batch:
        """Return the training pairs in `index` as a batch, with subword dropout if it is on.

        Args:
            position: the sampler's, which together with the seed determines the dropout.
        """
        pairs = self._prepared.train
        if self._dropout is not None:
            rng = np.random.default_rng([self.sampler.seed, *position])
            sides = [[self._dropout(side(int(i)), rng).tolist() for i in index] for side in (pairs.src, pairs.tgt)]
            pairs, index = EncodedPairs.of(*sides), np.arange(len(index))
        return self.collate(pairs, index)

    def largest(self, epoch: int) -> Batch:
        """Return the batch of an epoch that needs the most memory."""
        return self.collate(self._prepared.train, largest(self._prepared.train, self.sampler.batches(epoch)))

    def collate(self, pairs: EncodedPairs, index: Index) -> Batch:
        """Return the pairs in `index` as a batch on the device; UserError if a token id is beyond the vocabulary."""
        model = self._model
        batch = collate(pairs, index, pad=model.pad, bos=model.bos, eos=model.eos)
        highest = max(int(batch.src.max()), int(batch.tgt_out.max()))
        if highest >= model.vocab_size:
            raise UserError(
                f"{self._prepared.folder}: holds the token id {highest}, but the model has {model.vocab_size} tokens; "
                "the corpus is damaged or of another tokenizer: run `translate prepare` again"
            )
        return batch.to(self._device)


def prefetched(items: Iterator[T], n: int = AHEAD) -> Generator[T]:
    """Yield the items in their order, while a thread makes up to `n` of them ahead.

    What `items` raises is raised at its place. Closing the generator ends the thread.
    """
    pool, end = ThreadPoolExecutor(1, thread_name_prefix="batches"), object()
    ahead = deque(pool.submit(next, items, end) for _ in range(n))
    try:
        while True:
            ahead.append(pool.submit(next, items, end))
            item = ahead.popleft().result()
            if item is end:
                return
            yield cast(T, item)
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class Sampler:
    """Shuffled batches of sentences of similar length; without weights, every sentence is in an epoch exactly once.

    Args:
        batch_tokens: largest number of padded tokens on either side (5.1: about 25,000).
        max_tokens: longest sentence in tokens; longer ones are left out.
        seed: determines the order, together with the epoch.
        mixture: the weights of the sources. The pairs of a source occur equally often in an epoch, up to a difference
            of one; which occur once more is drawn anew for every epoch.

    Raises UserError if no pair is short enough, or if the weights are too small for a single pair.
    """

    pairs: EncodedPairs
    batch_tokens: int
    max_tokens: int
    seed: int
    mixture: Mixture = Mixture()
    # Cache of the latest epoch: a start needs it three times, and 20 million pairs take 3 seconds each time.
    _latest: dict[int, list[Index]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        components = self._components()
        n_eligible = [sum(len(index) for index, part in components if part.replayed == old) for old in (False, True)]
        if not n_eligible[0] or (self.mixture.replay_share and not n_eligible[1]):
            raise UserError(
                f"no sentence pair of data.{'replay' if n_eligible[0] else 'train'} has at most training.max_tokens = "
                f"{self.max_tokens} tokens on either side; raise it"
            )
        if not any(self._numbers(components)):
            raise UserError("the weights of the sources are so small that an epoch has no pair; raise them")

    def stream(self, position: Position) -> Iterator[tuple[Index, Position]]:
        """Yield batches endlessly from `position` on, each with the position after it."""
        epoch, first = position
        while True:
            batches = self.batches(epoch)
            for i in range(first, len(batches)):
                is_last = i + 1 == len(batches)
                yield batches[i], Position(epoch + 1, 0) if is_last else Position(epoch, i + 1)
            epoch, first = epoch + 1, 0

    def batches(self, epoch: int) -> Sequence[Index]:
        """Return the sentence indices of every batch of an epoch, in the order of training."""
        if (batches := self._latest.get(epoch)) is None:
            self._latest.clear()
            rng = np.random.default_rng([self.seed, epoch])
            members = self._members(rng)
            # Sorting is stable, so shuffling first gives sentences of equal length a new order in every epoch.
            rng.shuffle(members)
            ordered = batches_by_length(self.pairs, members, self.batch_tokens)
            batches = [ordered[i] for i in rng.permutation(len(ordered))]
            self._latest[epoch] = batches
        return batches

    def n_batches(self, n_epochs: int) -> int:
        """Return the number of batches in the first `n_epochs` epochs, which differ in it if they draw samples."""
        if not self.mixture.replay_share and all(part.weight % 1 == 0 for part in self.mixture.components):
            return n_epochs * len(self.batches(0))
        return sum(map(self._n_batches_of, range(n_epochs)))

    def _n_batches_of(self, epoch: int) -> int:
        members = self._members(np.random.default_rng([self.seed, epoch]))
        return sum(1 for _ in _Keys(self.pairs, members).cuts(self.batch_tokens))

    @property
    def n_too_long(self) -> int:
        """Number of pairs that training leaves out because a side is longer than max_tokens."""
        return self.pairs.n_pairs - int(np.count_nonzero(_are_short(self.pairs, self.max_tokens)))

    def _members(self, rng: np.random.Generator) -> Index:
        """Return the pairs of one epoch, with repeats."""
        components = self._components()
        samples = (_sample(index, n, rng) for (index, _), n in zip(components, self._numbers(components), strict=True))
        return np.concatenate([*itertools.chain.from_iterable(samples)])

    def _components(self) -> list[tuple[Index, Component]]:
        """Return the eligible pairs of each source."""
        short = eligible(self.pairs, self.max_tokens)
        components = self.mixture.components or [Component(self.pairs.n_pairs)]
        ends = np.searchsorted(short, np.cumsum([part.n_pairs for part in components]))
        return list(zip(np.split(short, ends[:-1]), components, strict=True))

    def _numbers(self, components: list[tuple[Index, Component]]) -> list[int]:
        """Return the number of pairs of each source in an epoch, with repeats."""
        share = self.mixture.replay_share
        if not share:
            components = [(index, part._replace(replayed=False)) for index, part in components]
        new, old = (
            sum(len(i) * s.weight for i, s in components if s.replayed == replayed) for replayed in (False, True)
        )
        scale = share / (1 - share) * new / old if old else 0.0
        wanted = [len(index) * part.weight * (scale if part.replayed else 1.0) for index, part in components]
        # Rounded sums, not parts: sources that are too small for one pair of their own add up.
        numbers: list[int] = np.diff(np.round(np.cumsum([0.0, *wanted]), 6).round().astype(int)).tolist()
        return numbers


def _sample(index: Index, n: int, rng: np.random.Generator) -> list[Index]:
    """Return n of the pairs, each equally often up to a difference of one, in several arrays."""
    if not len(index):
        return [index]
    times, rest = divmod(n, len(index))
    return [*[index] * times, rng.choice(index, rest, replace=False) if rest else index[:0]]


def longest_source(pairs: EncodedPairs, max_tokens: int) -> int:
    """Return the length of the longest source sentence that a Sampler of these pairs uses, without eos; at least 1."""
    return int(pairs.src_lengths.max(where=_are_short(pairs, max_tokens), initial=1))


def eligible(pairs: EncodedPairs, max_tokens: int) -> Index:
    """Return the numbers of the pairs whose sides have at most `max_tokens` tokens, eos or bos included."""
    numbers: Index = np.arange(pairs.n_pairs, dtype=np.int32 if pairs.n_pairs < 2**31 else np.int64)
    return numbers[_are_short(pairs, max_tokens)]


def _are_short(pairs: EncodedPairs, max_tokens: int) -> NDArray[np.bool_]:
    """Return which pairs are `eligible`."""
    short = pairs.src_lengths < max_tokens
    short &= pairs.tgt_lengths < max_tokens
    return short


def batches_by_length(pairs: EncodedPairs, index: Index, batch_tokens: int) -> list[Index]:
    """Sort sentences by the width of their rows and cut them into batches within the budget.

    Pairs with the same width of the longer side are sorted from wide source to wide target, in the next group the
    other way round. So the shorter sides of neighbours are similar too, which halves the padding. Sorting is stable.

    Args:
        batch_tokens: largest number of padded tokens on either side; a longer sentence is a batch of one.
    """
    keys = _Keys(pairs, index)
    index = keys.sorted(index)
    return [index[start:stop] for start, stop in keys.cuts(batch_tokens)]


class _Keys:
    """The sort keys of `batches_by_length`, 2 bytes a sentence: there are few widths.

    Args:
        index: the sentences.
    """

    def __init__(self, pairs: EncodedPairs, index: Index) -> None:
        sides = pairs.src_lengths, pairs.tgt_lengths
        groups = _groups(np.arange(max(int(side.max(initial=0)) for side in sides) + 2))
        n_widths = int(groups[-1]) + 1
        self._widths = _SIZES[:n_widths].tolist()
        self._keys = np.empty(len(index), dtype=np.min_scalar_type(2 * n_widths**2))
        self._counts = np.zeros(2 * n_widths**2, dtype=np.int64)  # of each key
        for part in _parts(index):
            src, tgt = (groups[side[index[part]] + 1] for side in sides)
            longest, lean = np.maximum(src, tgt), tgt - src
            keys = (2 * longest + 1) * n_widths + np.where(longest % 2, lean, -lean)
            self._keys[part] = keys
            self._counts += np.bincount(keys, minlength=len(self._counts))

    def sorted(self, index: Index) -> Index:
        """Return the sentences in the order of their keys. The sort is stable, and takes linear time."""
        places = np.cumsum(self._counts) - self._counts  # of the next sentence with each key
        found = np.empty_like(index)
        for part in _parts(index):
            keys = self._keys[part]
            n = np.bincount(keys, minlength=len(places))
            shift = places - (np.cumsum(n) - n)
            found[np.arange(len(keys)) + np.repeat(shift, n)] = index[part][np.argsort(keys, kind="stable")]
            places += n
        return found

    def cuts(self, batch_tokens: int) -> Iterator[tuple[int, int]]:
        """Yield spans of sorted sentences in which n * (longest width) is within the budget; `_rows` rounds n."""
        ends = np.cumsum(self._counts.reshape(len(self._widths), -1).sum(axis=1)).tolist()
        start, n_all, first = 0, len(self._keys), 0
        while start < n_all:
            while ends[first] <= start:
                first += 1
            n = 0
            for end, columns in zip(ends[first:], self._widths[first:], strict=True):
                n = min(end - start, max(n, batch_tokens // columns))
                if n < end - start:
                    break
            if n < min(batch_tokens, n_all - start):
                n = _rows(max(n, 1))
            yield start, start + n
            start += n


def _parts(items: Sized) -> Iterator[slice]:
    """Yield slices of all items, in order."""
    return (slice(start, start + _PART) for start in range(0, len(items), _PART))


# Batches have m * 2^k rows and columns, with m up to 16. oneDNN compiles kernels for every shape of a product, see
# `machine.KERNELS`, and a CUDA graph serves one shape. Without rounding, the batches of 670,000 pairs had 1,391 shapes
# and needed 12,000 kernels; with it they have 397 shapes and need 2,800 kernels, for less than 2 % of padding.


def width(n_tokens: int) -> int:
    """Return the number of columns for a row of `n_tokens`: the next m * 2^k with m up to 16."""
    shift = max(0, (n_tokens - 1).bit_length() - 4)
    return -(-n_tokens >> shift) << shift


def _rows(n: int) -> int:
    """Return the largest m * 2^k up to n, with m up to 16."""
    shift = max(0, n.bit_length() - 4)
    return n >> shift << shift


_SIZES = np.array(sorted({m << k for m in range(17) for k in range(28)}))


def _groups(n_tokens: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the place of each `width` in _SIZES."""
    return np.searchsorted(_SIZES, n_tokens)


def collate(pairs: EncodedPairs, index: Index, *, pad: int, bos: int, eos: int) -> Batch:
    """Return the sentences of one batch as padded tensors."""
    src_BS, src_lengths = _padded(pairs.src_side, index, pad, end=eos)
    tgt_out, tgt_lengths = _padded(pairs.tgt_side, index, pad, end=eos)
    tgt_in = torch.full_like(tgt_out, pad)
    tgt_in[:, 0] = bos
    # Shifted right by one (3.1); eos becomes padding.
    tgt_in[:, 1:] = tgt_out[:, :-1].masked_fill(tgt_out[:, :-1] == eos, pad)
    return Batch(src_BS, tgt_in, tgt_out, _places(tgt_lengths, tgt_out.size(1)), src_lengths, tgt_lengths)


def _padded(side: Side, index: Index, pad: int, end: int) -> tuple[Tensor, NDArray[np.int64]]:
    """Return sentences, each followed by `end`, padded on the right to a `width`; and their lengths with `end`."""
    ids, offsets, _ = side
    starts, stops = offsets[index], offsets[index + 1]
    lengths = (stops - starts + 1).astype(np.int64)
    rows = np.full((len(index), width(int(lengths.max()))), pad, dtype=np.int64)
    for row, start, stop in zip(rows, starts, stops, strict=True):
        row[: stop - start] = ids[start:stop]
        row[stop - start] = end
    return torch.from_numpy(rows), lengths


def _places(lengths: NDArray[np.int64], n_columns: int) -> Tensor:
    """Return the places of tokens in rows of these lengths, one row after the other."""
    return torch.from_numpy(np.flatnonzero(np.arange(n_columns) < lengths[:, None]))


def halves(batch: Batch) -> tuple[Batch, Batch]:
    """Return both halves of a batch of two or more sentences, each cut to its own `width`."""
    n = batch.src.size(0) // 2

    def part(rows: slice) -> Batch:
        src, tgt = batch.src_lengths[rows], batch.tgt_lengths[rows]
        s, t = width(int(src.max())), width(int(tgt.max()))
        sides = batch.src[rows, :s], batch.tgt_in[rows, :t], batch.tgt_out[rows, :t]
        return Batch(*sides, _places(tgt, t).to(batch.src.device), src, tgt)

    return part(slice(None, n)), part(slice(n, None))


def largest(pairs: EncodedPairs, batches: Sequence[Index]) -> Index:
    """Return the batch with the most positions on both sides, padding included; among equals, the longest rows."""
    src, tgt = (np.concatenate(side) for side in zip(*_longest(pairs, batches), strict=True))
    columns = _SIZES[_groups(src)] + _SIZES[_groups(tgt)]
    positions = columns * np.array([len(batch) for batch in batches])
    return batches[int(np.lexsort((columns, positions))[-1])]


def _longest(pairs: EncodedPairs, batches: Sequence[Index]) -> Iterator[tuple[Lengths, Lengths]]:
    """Yield the largest lengths of both sides in each of some batches, with eos."""
    for i in range(0, len(batches), 1000):
        some = batches[i : i + 1000]
        index = np.concatenate(some)
        starts = np.cumsum([0, *map(len, some[:-1])])
        src, tgt = (np.maximum.reduceat(side[index] + 1, starts) for side in (pairs.src_lengths, pairs.tgt_lengths))
        yield src, tgt
