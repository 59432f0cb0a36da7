"""Stand-ins for a model: the translation of a text is its words in capitals, in reverse order, or with a mark."""

import re
from collections.abc import Callable

from translate.documents.document import ParsedDocument, Reading, read

MARK = "\u00b6"
TAG = re.compile(r"</?(?:g+x*)[1-9]\d*/?>")  # of a text to translate
Stub = Callable[[str], str]
_WORD = re.compile(rf"{TAG.pattern}|[^\s<]+|<")


def upper(text: str) -> str:
    """Return a text in capitals."""
    end, out = 0, ""
    for tag in TAG.finditer(text):
        out += text[end : tag.start()].upper() + tag[0]
        end = tag.end()
    return out + text[end:].upper()


def marked(text: str) -> str:
    """Return a text in capitals with a mark at its end."""
    return upper(text) + MARK


def reverse(text: str) -> str:
    """Return a text with its words and its pairs in reverse order; words in a pair stay in it."""
    levels: list[list[str]] = [[]]
    for match in _WORD.finditer(text):
        word = match[0]
        if TAG.fullmatch(word) and not word.endswith("/>"):
            if word.startswith("</"):
                inner = levels.pop()
                opening = levels[-1].pop()
                levels[-1].append(opening + " ".join(reversed(inner)) + word)
            else:
                levels[-1].append(word)
                levels.append([])
        else:
            levels[-1].append(word if TAG.fullmatch(word) else word.upper())
    return " ".join(reversed(levels[0]))


def translated(data: bytes, reading: Reading, stub: Stub, document: ParsedDocument | None = None) -> bytes:
    """Return a file with a stub's translations of all units that have none."""
    document = document or read(data, reading)
    return document.write(
        [stub(unit.text) if unit.done is None or reading.replace else None for unit in document.units]
    )
