"""A `Seen` answers as a set of integers does, in a fraction of its memory."""

import tracemalloc

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from translate.corpus.seen import Seen

# Few distinct keys, so that they repeat; and keys that share their low bits, so that they want the same places.
KEYS = st.one_of(st.integers(0, 7), st.integers(0, 7).map(lambda n: n << 61), st.integers(0, 2**64 - 1))


@given(chunks=st.lists(st.lists(KEYS, max_size=23), max_size=7), capacity=st.sampled_from([1, 2, 8, 64]))
@example(chunks=[[0, 0], [1], [2**64 - 1] * 3], capacity=1)
@example(chunks=[[n << 61 for n in range(8)] * 2, [n << 61 for n in range(7, -1, -1)]], capacity=16)
def test_a_key_came_before_or_it_did_not(chunks, capacity):
    seen, known = Seen(capacity), set()
    for chunk in chunks:
        answers = seen.add(np.array(chunk, dtype=np.uint64)).tolist()
        for key, answer in zip(chunk, answers, strict=True):
            key = key or 1  # 0 marks a free place, so it shares the lot of 1: one chance in 2^64
            assert answer == (key in known)
            known.add(key)
        assert len(seen) == len(known)


def test_a_key_costs_no_more_than_24_bytes_while_it_is_kept():
    """And at most twice that while the array doubles; a set of integers takes 70."""
    rng = np.random.default_rng(0)
    tracemalloc.start()
    seen, n = Seen(), 0
    for _ in range(70):
        seen.add(rng.integers(0, 2**64, 10_007, dtype=np.uint64))
        n += 10_007
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(seen) == n
    assert held < 24 * n
    assert peak < 48 * n
