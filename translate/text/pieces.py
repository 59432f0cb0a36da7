"""Pieces of a text, to translate or to copy. Joined, they are the text again, so no rule can lose anything."""

import re
from dataclasses import dataclass

from translate.text.characters import readable


@dataclass(frozen=True)
class Piece:
    """Part of a text.

    Attributes:
        text: the part.
        translate: whether it is translated or copied.
    """

    text: str
    translate: bool


def pieces(text: str, spans: list[tuple[int, int]]) -> list[Piece]:
    """Divide `text` so that the spans, in ascending order, are translated and the text between them is copied.

    White space at the ends of a span and spans without letters and digits are copied too.
    """
    found: list[Piece] = []
    done = 0
    for start, stop in spans:
        part = text[start:stop]
        if not re.search(r"\w", readable(part)):  # the letters of &nbsp; are no word
            continue
        start, stop = start + len(part) - len(part.lstrip()), stop - len(part) + len(part.rstrip())
        if done < start:
            found.append(Piece(text[done:start], translate=False))
        found.append(Piece(text[start:stop], translate=True))
        done = stop
    if done < len(text):
        found.append(Piece(text[done:], translate=False))
    return found
