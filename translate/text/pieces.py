"""What a text is taken apart into. Joined again, the pieces are the text: nothing is lost, whatever the rules do."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """A stretch of a text.

    Attributes:
        text: the stretch.
        translate: whether it is translated; if not, it is copied as it is.
    """

    text: str
    translate: bool


def pieces(text: str, spans: list[tuple[int, int]]) -> list[Piece]:
    """`text` taken apart so that the spans, in ascending order, are translated and all between them is copied.

    White space at either end of a span is copied too, and a span without letters or digits altogether.
    """
    found: list[Piece] = []
    done = 0
    for start, stop in spans:
        part = text[start:stop]
        if not re.search(r"\w", part):
            continue
        start, stop = start + len(part) - len(part.lstrip()), stop - len(part) + len(part.rstrip())
        if done < start:
            found.append(Piece(text[done:start], translate=False))
        found.append(Piece(text[start:stop], translate=True))
        done = stop
    if done < len(text):
        found.append(Piece(text[done:], translate=False))
    return found
