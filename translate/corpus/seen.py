"""A set of 64-bit keys in 11 to 16 bytes each, which asks for many at a time.

A Python set of integers takes some 70 bytes for each. This is open addressing: a key stands in the first free place
from its own on. Sixteen tables share the keys by their high bits and grow one after another, so that growing needs
little beside what is kept.
"""

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_FULLEST = 0.75  # beyond it, the way to a free place grows long
_GROWTH = 1.4
_EMPTY = np.uint64(0)
_TABLE_BITS = 4
_HALF = np.uint64(32)


class Seen:
    """The keys that came before.

    Args:
        capacity: places that each table begins with.
    """

    def __init__(self, capacity: int = 2**12) -> None:
        self._tables = [_Table(capacity) for _ in range(2**_TABLE_BITS)]

    def __len__(self) -> int:
        return sum(table.n for table in self._tables)

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Remember keys (n,) that are spread evenly, such as hashes; True where one came before, here or earlier."""
        keys = np.where(keys == _EMPTY, np.uint64(1), keys)
        distinct, first = np.unique(keys, return_index=True)
        # Sorted keys are sorted by their high bits too, so each table's are a span.
        starts = np.searchsorted(distinct >> np.uint64(64 - _TABLE_BITS), np.arange(1, len(self._tables)))
        repeated = np.ones(len(keys), dtype=bool)
        known = [table.add(part) for table, part in zip(self._tables, np.split(distinct, starts), strict=True)]
        repeated[first] = np.concatenate(known)
        return repeated


class _Table:
    """One array of places, of which a free one holds 0."""

    def __init__(self, capacity: int) -> None:
        self._places = np.zeros(capacity, dtype=np.uint64)
        self.n = 0

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Remember distinct keys (n,), none of them 0; True where one came before."""
        if self.n + len(keys) > _FULLEST * len(self._places):
            self._grow(self.n + len(keys))
        known = self._insert(keys)
        self.n += int(len(keys) - known.sum())
        return known

    def _insert(self, keys: Keys) -> NDArray[np.bool_]:
        """Put distinct keys in their places; True where one stood there before."""
        known = np.zeros(len(keys), dtype=bool)
        pending, place = np.arange(len(keys)), self._own_places(keys)
        while len(pending):
            found = self._places[place]
            known[pending] = found == keys[pending]
            free = found == _EMPTY
            # Of several keys that want the same free place one wins; the others see its key there and go on.
            self._places[place[free]] = keys[pending[free]]
            on = ~known[pending] & (self._places[place] != keys[pending])
            pending, place = pending[on], (place[on] + 1) % len(self._places)
        return known

    def _own_places(self, keys: Keys) -> NDArray[np.int64]:
        """Where the way of each key begins: 32 of its bits as a fraction of the table, of fewer than 2^32 places."""
        low = keys & np.uint64(2**32 - 1)
        return (low * np.uint64(len(self._places)) >> _HALF).astype(np.int64)

    def _grow(self, n: int) -> None:
        """Make room for `n` keys."""
        keys = self._places[self._places != _EMPTY]
        capacity = max(int(_GROWTH * len(self._places)), int(n / _FULLEST) + 1)
        self._places = np.zeros(capacity, dtype=np.uint64)
        for part in np.array_split(keys, 1 + len(keys) // 2**16):  # bounds what `_insert` needs beside the table
            self._insert(part)
