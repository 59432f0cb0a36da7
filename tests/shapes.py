"""Check the names that state shapes: `x_BTD` has three axes, and B, T and D each have one size.

Names are checked only when a function returns; tracing every line would make the suite several times slower.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from torch import Tensor

SUFFIX = re.compile(r"_([A-Z1]+)$")

# A search drops finished sentences, so B and N = B K change within one function.
SHRINKING = {("beam_search", "B"), ("greedy_search", "B")}


@contextmanager
def checked_shapes(package: str) -> Iterator[list[str]]:
    """Collect the false names in functions of `package`: a wrong rank, or one letter with two sizes.

    A 1 in a name is an axis of size 1. A function is checked when it returns.
    """
    lies: list[str] = []

    def on_event(frame: FrameType, event: str, _arg: object) -> None:
        # Called for every event of every Python function, so the cheapest condition comes first.
        if event == "return" and frame.f_globals.get("__name__", "").partition(".")[0] == package:
            lies.extend(lie for lie in lies_of(frame) if lie not in lies)

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        yield lies
    finally:
        sys.setprofile(before)


def lies_of(frame: FrameType) -> Iterator[str]:
    """Yield a message for each shape name of one function that is false."""
    where = frame.f_code.co_qualname
    sizes: dict[str, int] = {"1": 1}
    for name, value in frame.f_locals.items():
        match = SUFFIX.search(name)
        if match is None or not isinstance(value, Tensor):
            continue
        letters = match[1]
        if value.ndim != len(letters):
            yield f"{where}: {name} has {value.ndim} axes"
            continue
        for letter, n in zip(letters, value.shape, strict=True):
            if sizes.setdefault(letter, n) != n and (where, letter) not in SHRINKING:
                yield f"{where}: {letter} is {sizes[letter]} and {n} ({name})"
