"""Division of sentences that are too long for a model: at clause marks, else at spaces, else anywhere."""

import re
from collections.abc import Callable

from translate.text.pieces import Piece, pieces

# In order of preference; a match ends where the next part may begin.
_CUTS = (
    # No full stop after one or two letters, which may be an abbreviation.
    re.compile(r"(?:(?<=\w\w\w)\.|[!?;:\u2026])[\"'\u201c\u201d\u00bb\u00ab)\]]*\s+|\s[\u2013\u2014]\s"),
    re.compile(r",\s+"),
    re.compile(r"\s+"),
)
_REACH = 0.25  # share of the text at either end in which it is not divided


def cut(text: str, fits: Callable[[str], bool]) -> list[Piece]:
    """Divide `text` near the middle, again and again, until every part fits or is a single character."""
    return pieces(text, _spans(text, 0, fits))


def _spans(text: str, offset: int, fits: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return the spans of the parts of a text that begins at `offset`."""
    if len(text) <= 1 or fits(text.strip()):
        return [(offset, offset + len(text))]
    here = _cut_near_middle(text)
    return [*_spans(text[:here], offset, fits), *_spans(text[here:], offset + here, fits)]


def _cut_near_middle(text: str) -> int:
    """Return the position nearest to the middle after the best kind of mark."""
    middle = len(text) // 2
    low, high = int(len(text) * _REACH), len(text) - int(len(text) * _REACH)
    for marks in _CUTS:
        ends = [match.end() for match in marks.finditer(text, low, high) if 0 < match.end() < len(text)]
        if ends:
            return min(ends, key=lambda end: abs(end - middle))
    return middle
