"""How the processor time of some work grows with its size."""

import time
from collections.abc import Callable


def grows_linearly(work: Callable[[int], object], short: int, long: int, most: float = 2) -> bool:
    """Return whether each unit of a long work takes at most `most` times as long as one of a short work.

    A quadratic part takes `long / short` times as long. One of three tries must do, as a busy machine adds time.
    """
    return any(_seconds(work, long) < most * long / short * _seconds(work, short) for _ in range(3))


def _seconds(work: Callable[[int], object], size: int) -> float:
    begin = time.process_time()
    work(size)
    return time.process_time() - begin
