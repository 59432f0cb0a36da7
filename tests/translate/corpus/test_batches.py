"""Batches hold every sentence once, stay within the budget, and can resume from any position."""

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from translate.corpus.batches import Position, Sampler, batches_by_length, collate, largest, longest_source, width
from translate.corpus.prepare import Component, EncodedPairs, Mixture
from translate.errors import UserError

SIZES = sorted({m << k for m in range(1, 17) for k in range(8)})  # allowed numbers of rows and columns of a batch
LENGTHS = st.lists(st.tuples(st.integers(0, 17), st.integers(0, 17)), min_size=1, max_size=60)


def pairs_of(lengths: list[tuple[int, int]]) -> EncodedPairs:
    """Pairs of the given lengths, in which every token identifies its sentence."""
    src = [[4 + i] * n for i, (n, _) in enumerate(lengths)]
    tgt = [[4 + i] * n for i, (_, n) in enumerate(lengths)]
    return EncodedPairs.of(src, tgt)


@given(LENGTHS, st.integers(20, 90), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_holds_every_sentence_exactly_once(lengths, budget, seed, epoch):
    sampler = Sampler(pairs_of(lengths), budget, 20, seed)
    seen = np.concatenate(sampler.batches(epoch))
    assert sorted(seen) == list(range(len(lengths)))


@given(LENGTHS, st.integers(20, 90))
def test_no_batch_exceeds_the_budget_on_either_side(lengths, budget):
    pairs = pairs_of(lengths)
    for index in Sampler(pairs, budget, 20, 3).batches(0):
        batch = collate(pairs, index, pad=0, bos=1, eos=2)
        assert max(batch.src.numel(), batch.tgt_in.numel(), batch.tgt_out.numel()) <= budget


@given(LENGTHS, st.integers(0, 40), st.integers(1, 25), st.sampled_from([0.0, 0.3, 0.7]))
def test_a_stream_continued_from_a_saved_position_is_the_same_stream(lengths, n_before, n_after, replay_share):
    components = [Component(1), Component(len(lengths), replayed=True)]
    sampler = Sampler(pairs_of([(3, 5), *lengths]), 40, 20, 7, Mixture(components, replay_share))
    stream, position = sampler.stream(Position()), Position()
    for _ in range(n_before):
        _, position = next(stream)
    resumed = sampler.stream(Position(*position))
    for _ in range(n_after):
        (expected, next_position), (index, resumed_position) = next(stream), next(resumed)
        assert expected.tolist() == index.tolist()
        assert next_position == resumed_position


@given(LENGTHS, st.data(), st.floats(0.05, 0.95), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_holds_new_pairs_once_and_old_ones_evenly_up_to_their_share(lengths, data, share, seed, epoch):
    lengths = [*lengths, (3, 5)]
    n_replayed = data.draw(st.integers(1, len(lengths) - 1))
    n_new = len(lengths) - n_replayed
    mixture = Mixture([Component(n_new), Component(n_replayed, replayed=True)], share)
    sampler = Sampler(pairs_of(lengths), 40, 20, seed, mixture)
    times = np.bincount(np.concatenate(sampler.batches(epoch)), minlength=len(lengths))
    new, old = times[:n_new], times[n_new:]
    assert (new == 1).all()
    assert old.max() - old.min() <= 1
    assert abs(old.sum() - share * times.sum()) <= 0.5  # the nearest whole number
    again = Sampler(pairs_of(lengths), 40, 20, seed, mixture).batches(epoch)
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in sampler.batches(epoch)]


def test_epochs_draw_different_old_pairs_and_eventually_all_of_them():
    mixture = Mixture([Component(7), Component(53, replayed=True)], 0.5)
    sampler = Sampler(pairs_of([(3, 4)] * 60), 40, 20, 3, mixture)
    drawn = [frozenset(np.concatenate(sampler.batches(epoch))) - set(range(7)) for epoch in range(70)]
    assert {len(old) for old in drawn} == {7}
    assert len(set(drawn)) > 60
    assert frozenset.union(*drawn) == set(range(7, 60))


def test_without_replay_batches_are_those_of_one_corpus():
    pairs = pairs_of([(n % 7 + 1, n % 5 + 1) for n in range(53)])
    parts = Mixture([Component(5), Component(37), Component(11, replayed=True)])
    plain, parted = Sampler(pairs, 30, 20, 1).batches(2), Sampler(pairs, 30, 20, 1, parts).batches(2)
    assert [batch.tolist() for batch in plain] == [batch.tolist() for batch in parted]
    rng = np.random.default_rng([1, 2])
    expected = batches_by_length(pairs, rng.permutation(53), 30)
    assert [batch.tolist() for batch in plain] == [expected[i].tolist() for i in rng.permutation(len(expected))]


def test_a_corpus_without_pairs_that_fit_cannot_be_mixed():
    for lengths, name in (([(3, 4), (11, 2)], "replay"), ([(11, 2), (3, 4)], "train")):
        with pytest.raises(UserError, match=rf"no sentence pair of data.{name} has at most training.max_tokens = 11"):
            Sampler(pairs_of(lengths), 30, 11, 0, Mixture([Component(1), Component(1, replayed=True)], 0.5))


WEIGHTS = st.floats(0.01, 7) | st.sampled_from([0.3, 1.0, 2.5, 3.0])


@given(st.lists(st.tuples(st.integers(0, 23), WEIGHTS), min_size=1, max_size=7), st.integers(0, 5))
def test_an_epoch_has_each_source_by_its_weight(sizes, epoch):
    components = [Component(3), *(Component(n, weight) for n, weight in sizes)]
    pairs = pairs_of([(3, 5)] * sum(part.n_pairs for part in components))
    times = np.bincount(
        np.concatenate(Sampler(pairs, 40, 20, 3, Mixture(components)).batches(epoch)), minlength=pairs.n_pairs
    )
    assert abs(times.sum() - sum(part.n_pairs * part.weight for part in components)) <= 0.5001
    for part, own in zip(
        components, np.split(times, np.cumsum([part.n_pairs for part in components])[:-1]), strict=True
    ):
        assert abs(own.sum() - part.n_pairs * part.weight) <= 1
        assert np.ptp(own) <= 1 if len(own) else True


@given(st.lists(st.tuples(LENGTHS, WEIGHTS), min_size=1, max_size=3), st.sampled_from([0.0, 0.3, 0.7]))
def test_the_number_of_batches_is_that_of_the_epochs(parts, replay_share):
    """Epochs differ in it if they draw samples, by a fractional weight or by replay."""
    components = [Component(3), *(Component(len(lengths), weight) for lengths, weight in parts)]
    components.append(Component(5, replayed=True))
    lengths = [(17, 1), (3, 5), (7, 3), *(pair for part, _ in parts for pair in part), *[(2, 9)] * 5]
    sampler = Sampler(pairs_of(lengths), 40, 20, 3, Mixture(components, replay_share))
    assert sampler.n_batches(5) == sum(len(sampler.batches(epoch)) for epoch in range(5))


def test_a_source_with_a_small_weight_is_used_evenly_over_the_epochs():
    sampler = Sampler(pairs_of([(3, 4)] * 47), 40, 20, 3, Mixture([Component(7), Component(40, 0.25)]))
    times = sum(np.bincount(np.concatenate(sampler.batches(epoch)), minlength=47) for epoch in range(60))
    assert (times[:7] == 60).all()
    assert times[7:].sum() == 60 * 10
    assert times[7:].min() > 0


def test_weights_that_leave_an_epoch_empty_are_refused():
    pairs = pairs_of([(3, 4)] * 40)
    with pytest.raises(UserError, match="so small that an epoch has no pair"):
        Sampler(pairs, 40, 20, 3, Mixture([Component(40, 0.01)]))
    assert len(Sampler(pairs, 40, 20, 3, Mixture([Component(40, 0.02)])).batches(0)) == 1


def test_weights_of_an_older_corpus_are_relative():
    components = [Component(30, 2.0), Component(50, 3.0, replayed=True), Component(50, 1.0, replayed=True)]
    times = np.bincount(
        np.concatenate(Sampler(pairs_of([(3, 4)] * 130), 40, 20, 3, Mixture(components, 0.4)).batches(0))
    )
    assert [part.sum() for part in np.split(times, [30, 80])] == [60, 30, 10]


def test_each_epoch_and_seed_has_its_own_order():
    pairs = pairs_of([(n % 7 + 1, n % 5 + 1) for n in range(53)])

    def order(seed: int, epoch: int) -> list[int]:
        return np.concatenate(Sampler(pairs, 30, 20, seed).batches(epoch)).tolist()

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_sentences_longer_than_max_tokens_are_left_out_and_counted():
    sampler = Sampler(pairs_of([(3, 4), (11, 2), (2, 11), (10, 10)]), 30, 11, 0)
    assert sampler.n_too_long == 2  # with eos, 11 tokens are 12, too many; 10 tokens are 11
    assert sorted(np.concatenate(sampler.batches(0))) == [0, 3]


def test_a_corpus_of_sentences_that_are_all_too_long_is_refused():
    with pytest.raises(UserError, match="raise it"):
        Sampler(pairs_of([(13, 14)]), 30, 5, 0)


def test_similar_lengths_share_a_batch():
    """Padding is under 5 % for log-normal lengths like those of captions."""
    rng = np.random.default_rng(5)
    src = np.clip(rng.lognormal(2.5, 0.35, 25_000), 3, 60).astype(int)
    tgt = np.clip(src * rng.normal(1.05, 0.13, 25_000), 3, 60).astype(int)
    pairs = pairs_of(list(zip(src.tolist(), tgt.tolist(), strict=True)))
    padded = tokens = 0
    for index in Sampler(pairs, 4096, 100, 1).batches(0):
        batch = collate(pairs, index, pad=0, bos=1, eos=2)
        padded += batch.src.numel() + batch.tgt_out.numel()
        tokens += batch.n_src_tokens + batch.n_tgt_tokens
    assert 1 - tokens / padded < 0.05


@given(st.integers(1, 2048))
def test_a_width_is_rounded_up_to_the_next_size(n_tokens):
    assert width(n_tokens) == min(size for size in SIZES if size >= n_tokens)


@given(st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), min_size=1, max_size=60), st.integers(80, 1000))
def test_batches_have_few_distinct_shapes(lengths, budget):
    """Batches have the largest allowed number of rows, except at the end of a group of equal widths."""
    pairs = pairs_of(lengths)
    batches = batches_by_length(pairs, np.arange(pairs.n_pairs), budget)
    shapes = [collate(pairs, index, pad=0, bos=1, eos=2).src.shape for index in batches]
    assert all(columns in SIZES for _, columns in shapes)
    assert all(rows in SIZES for rows, _ in shapes[:-1])
    longest = [max(max(lengths[i]) for i in index) + 1 for index in batches]
    for here, (i, after) in enumerate(zip(longest[:-1], longest[1:], strict=True)):
        if width(i) == width(after):
            assert shapes[here][0] == max(size for size in SIZES if size * width(i) <= budget)


@given(LENGTHS)
def test_sentences_are_sorted_by_longest_width_then_by_difference_in_alternating_order(lengths):
    """Neighbours are similar on both sides. Sorting by one number takes a third of the memory of sorting by two."""
    pairs = pairs_of(lengths)
    sides = (pairs.src_lengths.tolist(), pairs.tgt_lengths.tolist())
    src, tgt = (np.array([SIZES.index(width(n + 1)) for n in side]) for side in sides)
    longest = np.maximum(src, tgt)
    lean = (tgt - src) * np.where(longest % 2, -1, 1)
    order = np.concatenate(batches_by_length(pairs, np.arange(pairs.n_pairs), 1))
    assert order.tolist() == np.lexsort((lean, longest)).tolist()


def pairs_of_random_lengths(n: int, longest: int) -> EncodedPairs:
    """Pairs whose lengths are drawn; they have no tokens."""
    pairs = EncodedPairs.of([[5]], [[5]])
    pairs.n_pairs = n
    pairs.src_lengths, pairs.tgt_lengths = np.random.default_rng(3).integers(1, longest + 1, (2, n), dtype=np.int32)
    return pairs


@pytest.mark.parametrize("longest", [60, 3_000_000])
def test_a_large_corpus_is_sorted_like_a_small_one(longest):
    """The sort takes parts of the corpus in turn. Sentences of millions of tokens need larger keys."""
    pairs = pairs_of_random_lengths(600_011, longest)
    order = np.random.default_rng(1).permutation(pairs.n_pairs)
    steps = np.array(sorted({m << k for m in range(1, 17) for k in range(20)}))
    src, tgt = (np.searchsorted(steps, side[order] + 1) for side in (pairs.src_lengths, pairs.tgt_lengths))
    longer = np.maximum(src, tgt)
    expected = order[np.lexsort(((tgt - src) * np.where(longer % 2, -1, 1), longer))]
    assert np.array_equal(np.concatenate(batches_by_length(pairs, order, 4096)), expected)


@given(LENGTHS, st.integers(1, 90))
def test_a_batch_has_as_many_sentences_as_fit(lengths, budget):
    """What is left at the end, and sentences that are only ends, are not divided into sizes for kernels."""
    pairs = pairs_of(lengths)
    batches = batches_by_length(pairs, np.arange(len(lengths)), budget)
    columns = [width(max(lengths[i]) + 1) for i in np.concatenate(batches)]
    start = 0
    for batch in batches:
        left = columns[start:]
        n = max((i for i in range(1, len(left) + 1) if i * left[i - 1] <= budget), default=1)
        assert len(batch) == (n if n in (budget, len(left)) else max(size for size in SIZES if size <= n))
        start += len(batch)


def test_an_epoch_costs_no_more_than_14_bytes_a_sentence():
    """Sorting 100 million sentences then needs 1.4 GB, beside 0.8 for their lengths."""
    n = 2_000_003
    pairs = pairs_of_random_lengths(n, 59)
    tracemalloc.start()
    batches = Sampler(pairs, 4096, 100, 1).batches(0)
    held, peak = tracemalloc.get_traced_memory()
    largest(pairs, batches)
    assert longest_source(pairs, 100) == 59
    _, later = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(map(len, batches)) == n
    assert max(peak, later) < 14 * n + 2**24
    assert held < 6 * n


def test_a_held_out_sentence_beyond_the_budget_is_a_separate_batch():
    batches = batches_by_length(pairs_of([(50, 3), (2, 2), (3, 60)]), np.arange(3), 10)
    assert sorted(map(list, batches)) == [[0], [1], [2]]


def test_collation_frames_and_shifts_the_target():
    pairs = EncodedPairs.of([[5, 6, 7], [8]], [[9], [10, 11, 12, 13]])
    batch = collate(pairs, np.array([0, 1]), pad=0, bos=1, eos=2)
    assert batch.src.tolist() == [[5, 6, 7, 2], [8, 2, 0, 0]]
    assert batch.tgt_in.tolist() == [[1, 9, 0, 0, 0], [1, 10, 11, 12, 13]]
    assert batch.tgt_out.tolist() == [[9, 2, 0, 0, 0], [10, 11, 12, 13, 2]]
    assert (batch.n_src_tokens, batch.n_tgt_tokens) == (6, 7)
    assert batch.to(torch.device("cpu")).src.equal(batch.src)


@given(LENGTHS, st.integers(2, 25))
def test_the_longest_source_is_the_longest_that_an_epoch_holds(lengths, max_tokens):
    pairs = pairs_of([(1, 1), *lengths])
    sampler = Sampler(pairs, 40, max_tokens, 3)
    seen = np.concatenate(sampler.batches(0))
    assert longest_source(pairs, max_tokens) == pairs.src_lengths[seen].max()


@pytest.mark.parametrize(("n", "m"), [(1, 3), (3, 1), (0, 3)])
def test_sides_of_unequal_number_are_no_pairs(n, m):
    with pytest.raises(ValueError, match=f"{n} source sentences but {m} target sentences"):
        EncodedPairs.of([[5]] * n, [[7]] * m)
