"""Translators of tagged texts without a model, for tests of formats and of the doors to them.

identity         the text: the document stays the same file
upper            capitals: what is not in capitals was not translated
marked           a mark at the end of each text: a mark within a sentence shows that it was cut
reversed_words   the words of each line from the last to the first, tags with them: formatting follows its words
"""

import re
from collections.abc import Callable

from translate.documents.document import Reading, Unit, read

Stub = Callable[[str], str]

MARK = "\u00b6"

_TAG = re.compile(r"<(/?)(gx*\d+)(/?)>")
_WORD = re.compile(r"\S+")


def identity(text: str) -> str:
    """Return the text."""
    return text


def upper(text: str) -> str:
    """Return the text in capitals; tags stay."""
    return "".join(part if _TAG.fullmatch(part) else part.upper() for part in re.split(r"(</?gx*\d+/?>)", text))


def marked(text: str) -> str:
    """Return the text with a mark at its end."""
    return text + MARK


def reversed_words(text: str) -> str:
    """Return the text with the words of each line in the other order, each within the pairs of tags that it was in."""
    return "\n".join(map(_reversed, text.split("\n")))


def _reversed(line: str) -> str:
    """Return a line turned around: its words and tags from the last to the first, opening tags for closing ones."""
    parts = re.split(r"(</?gx*\d+/?>|\s+)", line)
    return "".join(_turned(part) for part in reversed(parts))


def _turned(part: str) -> str:
    tag = _TAG.fullmatch(part)
    if tag is None or tag[3]:
        return part
    return f"<{tag[2]}>" if tag[1] else f"</{tag[2]}>"


STUBS: tuple[Stub, ...] = (identity, upper, marked, reversed_words)


def translated(data: bytes, stub: Stub, reading: Reading) -> bytes:
    """Return a document in which a stub has translated each text."""
    document = read(data, reading)
    return document.write([stub(unit.text) if wanted(unit, reading) else None for unit in document.units])


def wanted(unit: Unit, reading: Reading) -> bool:
    """Return whether a text is translated."""
    return unit.done is None or reading.replace
