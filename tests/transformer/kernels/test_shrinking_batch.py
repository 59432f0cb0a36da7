"""Finished sentences leave a batch in groups."""

import random

from hypothesis import given
from hypothesis import strategies as st

from transformer.kernels.shrinking_batch import ShrinkingBatch


@given(st.integers(1, 90), st.integers(0, 999))
def test_finished_rows_leave_in_groups(n_sentences: int, seed: int) -> None:
    """Sizes are m * 2^k with m <= 8, or the first size; no active sentence is lost."""
    batch, draw = ShrinkingBatch(n_sentences), random.Random(seed)
    active = draw.sample(range(n_sentences), n_sentences)
    sizes = [m << k for k in range(5) for m in range(1, 9)]
    while len(active) > 1:
        for _ in range(draw.randint(0, min(7, len(active) - 1))):
            batch.active.remove(batch.sentences.index(active.pop()))
        before = list(batch.sentences)
        kept = batch.shrink()
        assert batch.sentences == [before[row] for row in kept]
        assert {batch.sentences[row] for row in batch.active} == set(active)
        assert len(batch.sentences) == min(min(size for size in sizes if size >= len(active)), len(before))


def test_a_finished_batch_stays_as_it_is() -> None:
    batch = ShrinkingBatch(3)
    batch.active.clear()
    assert batch.shrink() == [0, 1, 2]
