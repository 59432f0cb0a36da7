"""`Seen` gives the same answers as a set of integers, in a fraction of its memory."""

import tracemalloc

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from translate.corpus.cleaning import Seen

CHUNK_BYTES = 10_007 * 80  # working memory to add 10,007 keys, whatever the number of earlier keys

# Few distinct keys, so they repeat.
KEYS = st.one_of(st.integers(0, 7), st.integers(0, 7).map(lambda n: n << 32), st.integers(0, 2**64 - 1))


@given(chunks=st.lists(st.lists(KEYS, max_size=23), max_size=7))
@example(chunks=[[0, 0], [], [1], [2**64 - 1] * 3])
@example(chunks=[[2**64 - 1], [2**64 - 1, 0]])
def test_seen_answers_like_a_set(chunks):
    seen, known = Seen(), set()
    for chunk in chunks:
        answers = seen.add(np.array(chunk, dtype=np.uint64)).tolist()
        for key, answer in zip(chunk, answers, strict=True):
            assert answer == (key in known)
            known.add(key)


def test_a_key_takes_8_bytes_and_few_more_while_arrays_merge():
    """A set of integers takes 70 bytes a key. A table that doubles would briefly need three times its size."""
    rng = np.random.default_rng(0)
    seen, n, most, highest = Seen(), 0, 0.0, 0.0
    tracemalloc.start()
    for _ in range(71):
        tracemalloc.reset_peak()
        seen.add(rng.integers(0, 2**64, 10_007, dtype=np.uint64))
        n += 10_007
        held, peak = tracemalloc.get_traced_memory()
        if n > 300_000:
            most, highest = max(most, held / n), max(highest, (peak - CHUNK_BYTES) / n)
    tracemalloc.stop()
    assert most < 9
    assert highest < 11


def test_keys_that_differ_in_any_one_bit_are_different():
    keys = np.array([2**63 + 5, *((2**63 + 5) ^ (1 << bit) for bit in range(64))], dtype=np.uint64)
    seen = Seen()
    assert not seen.add(keys).any()
    assert seen.add(keys[::-1].copy()).all()
