"""A set of 64-bit keys in 11 to 16 bytes each, with vectorised insertion.

A Python set of integers takes about 70 bytes each. This is a hash table with open addressing and linear probing. The
high bits of a key select one of sixteen tables, which grow one at a time, so that growing needs little extra memory.
"""

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_FULLEST = 0.75  # largest load factor; above it, probing gets slow
_GROWTH = 1.4
_EMPTY = np.uint64(0)
_TABLE_BITS = 4
_HALF = np.uint64(32)


class Seen:
    """A set of 64-bit keys.

    Args:
        capacity: initial slots per table.
    """

    def __init__(self, capacity: int = 2**12) -> None:
        self._tables = [_Table(capacity) for _ in range(2**_TABLE_BITS)]

    def __len__(self) -> int:
        return sum(table.n for table in self._tables)

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add keys (n,), which must be evenly distributed hashes; return True for those that occurred before."""
        keys = np.where(keys == _EMPTY, np.uint64(1), keys)
        distinct, first = np.unique(keys, return_index=True)
        # Keys are sorted, so those of each table are contiguous.
        starts = np.searchsorted(distinct >> np.uint64(64 - _TABLE_BITS), np.arange(1, len(self._tables)))
        repeated = np.ones(len(keys), dtype=bool)
        known = [table.add(part) for table, part in zip(self._tables, np.split(distinct, starts), strict=True)]
        repeated[first] = np.concatenate(known)
        return repeated


class _Table:
    """One array of slots; 0 marks a free slot."""

    def __init__(self, capacity: int) -> None:
        self._slots = np.zeros(capacity, dtype=np.uint64)
        self.n = 0

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add distinct, non-zero keys (n,); return True for those that occurred before."""
        if self.n + len(keys) > _FULLEST * len(self._slots):
            self._grow(self.n + len(keys))
        known = self._insert(keys)
        self.n += int(len(keys) - known.sum())
        return known

    def _insert(self, keys: Keys) -> NDArray[np.bool_]:
        """Put distinct keys into slots; return True for those already there."""
        known = np.zeros(len(keys), dtype=bool)
        pending, slot = np.arange(len(keys)), self._first_slots(keys)
        while len(pending):
            found = self._slots[slot]
            known[pending] = found == keys[pending]
            free = found == _EMPTY
            # If several keys probe the same free slot, one wins; the others see its key and go on.
            self._slots[slot[free]] = keys[pending[free]]
            on = ~known[pending] & (self._slots[slot] != keys[pending])
            pending, slot = pending[on], (slot[on] + 1) % len(self._slots)
        return known

    def _first_slots(self, keys: Keys) -> NDArray[np.int64]:
        """Return the first slot to probe for each key: 32 of its bits, scaled to the table of fewer than 2^32 slots."""
        low = keys & np.uint64(2**32 - 1)
        return (low * np.uint64(len(self._slots)) >> _HALF).astype(np.int64)

    def _grow(self, n: int) -> None:
        """Enlarge the table for `n` keys."""
        keys = self._slots[self._slots != _EMPTY]
        capacity = max(int(_GROWTH * len(self._slots)), int(n / _FULLEST) + 1)
        self._slots = np.zeros(capacity, dtype=np.uint64)
        for part in np.array_split(keys, 1 + len(keys) // 2**16):  # bounds the extra memory of `_insert`
            self._insert(part)
