"""A set of 64-bit keys in 8 bytes each, 16 while it grows, with vectorised insertion.

A Python set takes about 70 bytes per integer. This one keeps its keys in sorted arrays, each at least twice as long as
the next. So there are at most log2(n) + 1 arrays for n keys, and a key is merged with others at most as often.
"""

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


class Seen:
    """A set of 64-bit keys."""

    def __init__(self) -> None:
        self._runs: list[Keys] = []

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add keys (n,); return True for those that occurred before, in `keys` or in an earlier call."""
        distinct, first = np.unique(keys, return_index=True)
        known = np.zeros(len(distinct), dtype=bool)
        for run in self._runs:
            known |= run.take(np.searchsorted(run, distinct), mode="clip") == distinct
        repeated = np.ones(len(keys), dtype=bool)
        repeated[first] = known
        if not known.all():
            self._append(distinct[~known])
        return repeated

    def _append(self, run: Keys) -> None:
        """Add a sorted array; while the last but one is less than twice as long as the last, merge both."""
        self._runs.append(run)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            merged = np.concatenate(self._runs[-2:])
            del self._runs[-2:]
            merged.sort(kind="stable")  # linear for two sorted arrays
            self._runs.append(merged)
