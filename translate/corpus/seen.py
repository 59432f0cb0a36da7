"""A set of 64-bit keys in 12 to 23 bytes each, which asks for many at a time.

A Python set of integers takes some 70 bytes for each. This is one array with open addressing: a key stands in the
first free place from its own on, and the array doubles before it is more than two thirds full.
"""

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_FULLEST = 2 / 3  # beyond it, the way to a free place grows long
_EMPTY = np.uint64(0)


class Seen:
    """The keys that came before.

    Args:
        capacity: places to begin with, a power of two.
    """

    def __init__(self, capacity: int = 2**16) -> None:
        self._places = np.zeros(capacity, dtype=np.uint64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Remember keys (n,) that are spread evenly, such as hashes; True where one came before, here or earlier."""
        keys = np.where(keys == _EMPTY, np.uint64(1), keys)
        distinct, first = np.unique(keys, return_index=True)
        while self._n + len(distinct) > _FULLEST * len(self._places):
            self._grow()
        repeated = np.ones(len(keys), dtype=bool)
        repeated[first] = self._insert(distinct)
        self._n += int(len(keys) - repeated.sum())
        return repeated

    def _insert(self, keys: Keys) -> NDArray[np.bool_]:
        """Put distinct keys in their places; True where one stood there before."""
        known = np.zeros(len(keys), dtype=bool)
        mask = np.uint64(len(self._places) - 1)
        pending, place = np.arange(len(keys)), keys & mask
        while len(pending):
            found = self._places[place]
            known[pending] = found == keys[pending]
            free = found == _EMPTY
            # Of several keys that want the same free place one wins; the others see its key there and go on.
            self._places[place[free]] = keys[pending[free]]
            on = ~known[pending] & (self._places[place] != keys[pending])
            pending, place = pending[on], (place[on] + np.uint64(1)) & mask
        return known

    def _grow(self) -> None:
        keys = self._places[self._places != _EMPTY]
        self._places = np.zeros(2 * len(self._places), dtype=np.uint64)
        for part in np.array_split(keys, 1 + len(keys) // 2**16):  # bounds what `_insert` needs beside the table
            self._insert(part)
