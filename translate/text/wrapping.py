"""Paragraphs of several lines: translated as one text and divided into as many lines again."""

import bisect
import itertools
import re

from translate.text.pieces import Piece, pieces
from translate.text.placeholders import PLACEHOLDER

INDENT = re.compile(r"\s*")

_WORD = re.compile(rf"(?:{PLACEHOLDER.pattern}|\S)+", re.DOTALL)
# Would be a mark of Markdown, of a subtitle or of a list at the beginning of a line.
_MARK = re.compile(r"[-+*#>|=~`_:]|\d+[.)]?\Z")


def paragraph(text: str) -> list[Piece]:
    """Return the text as one piece to translate; white space around it is copied."""
    return pieces(text, [(0, len(text))])


def wrapped(text: str, like: str, indent: re.Pattern[str] = INDENT) -> str | None:
    """Divide the words of `text` into lines with the number, proportions and indentation of the lines of `like`.

    None if there are too few words. Only the first line may begin with a character that could be a mark of the layout.

    Args:
        text: the words.
        like: lines of other words.
        indent: matches the indentation of a line, which may contain marks of the layout.
    """
    lines = like.split("\n")
    words = [match[0] for match in _WORD.finditer(text)]
    breaks = _breaks(words, [len(line.strip()) for line in lines])
    if breaks is None:
        return None
    parts = [words[i:j] for i, j in zip([0, *breaks], [*breaks, len(words)], strict=True)]
    indents = [match[0] if (match := indent.match(line)) else "" for line in lines]
    ends = [line[len(line.rstrip()) :] if line.strip() else "" for line in lines]
    return "\n".join(a + " ".join(part) + b for a, part, b in zip(indents, parts, ends, strict=True))


def _breaks(words: list[str], lengths: list[int]) -> list[int] | None:
    """Return the indices of the words that begin new lines; None if there are too few words."""
    starts = [i for i in range(1, len(words)) if not _MARK.match(words[i])]
    ends = list(itertools.accumulate(len(word) + 1 for word in words))
    places = [ends[i - 1] for i in starts]  # characters before each
    n_breaks, scale = len(lengths) - 1, (ends[-1] if ends else 0) / max(1, sum(lengths))
    if len(starts) < n_breaks:
        return None
    chosen: list[int] = []
    for n, wanted in enumerate(itertools.islice(itertools.accumulate(lengths), n_breaks)):
        lowest, highest = chosen[-1] + 1 if chosen else 0, len(starts) - n_breaks + n
        nearest = bisect.bisect(places, wanted * scale, lowest, highest)
        if nearest > lowest and wanted * scale - places[nearest - 1] < places[min(nearest, highest)] - wanted * scale:
            nearest -= 1
        chosen.append(min(nearest, highest))
    return [starts[i] for i in chosen]
