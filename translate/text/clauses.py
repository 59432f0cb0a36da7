"""Sentences that are too long for a model, cut where it costs least: at clause marks, else at spaces, else anywhere."""

import re
from collections.abc import Callable

from translate.text.pieces import Piece, pieces

# In order of preference; each ends where the next part may begin.
_CUTS = (
    re.compile(r"[.!?;:\u2026][\"'\u201c\u201d\u00bb\u00ab)\]]*\s+|\s[\u2013\u2014]\s"),
    re.compile(r",\s+"),
    re.compile(r"\s+"),
)
_REACH = 0.25  # of the text's length at either end, where a cut would not help


def cut(text: str, fits: Callable[[str], bool]) -> list[Piece]:
    """`text` in parts that each fit, as long as a single character does; halved as near the middle as can be."""
    return pieces(text, _spans(text, 0, fits))


def _spans(text: str, offset: int, fits: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Where the parts of a text that begins at `offset` stand."""
    if len(text) <= 1 or fits(text.strip()):
        return [(offset, offset + len(text))]
    here = _cut_near_middle(text)
    return [*_spans(text[:here], offset, fits), *_spans(text[here:], offset + here, fits)]


def _cut_near_middle(text: str) -> int:
    """A position within the text, at the best kind of mark that there is away from the ends."""
    middle = len(text) // 2
    low, high = int(len(text) * _REACH), len(text) - int(len(text) * _REACH)
    for marks in _CUTS:
        ends = [match.end() for match in marks.finditer(text, low, high) if 0 < match.end() < len(text)]
        if ends:
            return min(ends, key=lambda end: abs(end - middle))
    return middle
