"""Files as pieces to translate and pieces to copy, read a paragraph, a cue or a line at a time.

A paragraph of several lines is one piece; its translation has as many lines. Joined, the pieces are the file, byte for
byte. The libraries srt and pysubs2 do not promise that, and need the whole file.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from translate.text import html, markdown
from translate.text.pieces import Piece
from translate.text.placeholders import PLACEHOLDER
from translate.text.wrapping import INDENT, paragraph

_LONGEST = 256  # lines of a cue; a longer block is divided
_TIMES = re.compile(r"\s*[\d:.,]+\s*-->\s*[\d:.,]+")
_NO_CUE = re.compile(r"(?:NOTE|STYLE|REGION)\b")
_SPEAKER = re.compile(r"\s*[-\u2013\u2014]")
_END_OF_SENTENCE = re.compile(r"[.!?\u2026:][\"'\u201c\u201d\u2019\u00bb\u00ab)\]]*(</\w+>)*\s*\Z")


def _lines(lines: Iterable[str]) -> Iterator[Piece]:
    for line in lines:
        yield from _part(line, 0, len(line.removesuffix("\n")))


def _column(lines: Iterable[str], column: int = 1) -> Iterator[Piece]:
    for line in lines:
        cells = line.removesuffix("\n").split("\t")
        if len(cells) < column:
            yield Piece(line, translate=False)
        else:
            start = len("\t".join([*cells[: column - 1], ""]))
            yield from _part(line, start, start + len(cells[column - 1]))


def _part(line: str, start: int, stop: int) -> list[Piece]:
    """Return the pieces of a line in which one part, which may be empty, is translated."""
    cut = (line[:start], False), (line[start:stop], True), (line[stop:], False)
    return [Piece(text, translate) for text, translate in cut if text or translate]


def _subtitles(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of SubRip or WebVTT: in a block of lines, the text of a cue follows its line of times."""
    block: list[str] = []
    is_begun = False  # whether a cue has begun, whose text may have blank lines
    for line in lines:
        if _TIMES.match(line) and any(map(_TIMES.match, block)):  # no blank line between two cues
            number = [block.pop()] if block[-1].strip().isdecimal() else []
            yield from _cue(block, is_begun)
            block = [*number, line]
            continue
        if not line.strip() or len(block) >= _LONGEST:
            yield from _cue(block, is_begun)
            is_begun = is_begun or any(map(_TIMES.match, block))
            block = []
        if line.strip():
            block.append(line)
        else:
            yield Piece(line, translate=False)
    yield from _cue(block, is_begun)


def _cue(block: list[str], goes_on: bool) -> Iterator[Piece]:
    """Yield the pieces of a block; without a line of times it may go on with the text of the cue before."""
    is_number = len(block) == 1 and block[0].strip().isdecimal()
    is_text = goes_on and block and not is_number and not _NO_CUE.match(block[0])
    times = next((i for i, line in enumerate(block) if "-->" in line), -1 if is_text else len(block))
    yield from (Piece(line, translate=False) for line in block[: times + 1])
    sentence: list[str] = []
    for line in block[times + 1 :]:
        if sentence and (_SPEAKER.match(line) or _END_OF_SENTENCE.search(sentence[-1])):
            yield from paragraph("".join(sentence))
            sentence = []
        sentence.append(line)
    yield from paragraph("".join(sentence))


_READERS: dict[str, Callable[[Iterable[str]], Iterator[Piece]]] = {
    "text": _lines,
    "lines": _lines,
    "markdown": markdown.read,
    "html": html.read,
    "srt": _subtitles,
    "vtt": _subtitles,
    "tsv": _column,
}
_SUFFIXES = {".md": "markdown", ".htm": "html", ".xhtml": "html"}

FORMATS = tuple(_READERS)


def guess(path: Path) -> str:
    """Return the format that the name of a file suggests, "text" if it suggests none."""
    suffix = path.suffix.lower()
    name = _SUFFIXES.get(suffix, suffix[1:])
    return name if name in FORMATS else "text"


def markup(layout: str) -> re.Pattern[str]:
    """Return the pattern of placeholders in a format."""
    return markdown.MARKUP if layout == "markdown" else PLACEHOLDER


def indent(layout: str) -> re.Pattern[str]:
    """Return the pattern of what precedes the text of a line of a paragraph in a format."""
    return markdown.QUOTE if layout == "markdown" else INDENT


def reader(layout: str, *, column: int = 1) -> Callable[[Iterable[str]], Iterator[Piece]]:
    """Return the function that divides lines, each with its "\\n", into pieces; joined they are the same text.

    Args:
        layout: one of FORMATS. In "text" and "lines" every line is a piece, and so is its end.
        column: of a "tsv" file, counted from 1; lines without it are copied.
    """
    return partial(_column, column=column) if layout == "tsv" else _READERS[layout]
