"""Files as pieces of language and layout, read as they come, a paragraph, a cue or a line at a time.

A piece of language may span lines, where they make one paragraph; its translation has as many.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from translate.text import html, markdown
from translate.text.pieces import Piece
from translate.text.placeholders import PLACEHOLDER
from translate.text.wrapping import paragraph

FORMATS = ("text", "lines", "markdown", "html", "srt", "vtt", "tsv")

_BY_SUFFIX = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".srt": "srt",
    ".vtt": "vtt",
    ".tsv": "tsv",
}
_LONGEST = 256  # lines of a subtitle; what goes on for longer is none
_TIMES = re.compile(r"\s*[\d:.,]+\s*-->\s*[\d:.,]+")
_SPEAKER = re.compile(r"\s*[-\u2013\u2014]")
_END_OF_SENTENCE = re.compile(r"[.!?\u2026:][\"'\u201c\u201d\u2019\u00bb\u00ab)\]]*(</\w+>)*\s*\Z")


def guess(path: Path) -> str:
    """The format that the name of a file suggests; "text" where it suggests none."""
    return _BY_SUFFIX.get(path.suffix.lower(), "text")


def markup(layout: str) -> re.Pattern[str]:
    """What is kept unchanged within the sentences of a format."""
    return markdown.MARKUP if layout == "markdown" else PLACEHOLDER


def reader(layout: str, *, column: int = 1) -> Callable[[Iterable[str]], Iterator[Piece]]:
    """What reads lines, each with its "\\n", as pieces that are the same text when they are joined.

    Args:
        layout: one of FORMATS. "text" and "lines" are alike: every line is a piece, and so is its end.
        column: of a "tsv" file, counted from 1; lines that have no such column are layout.

    ValueError for an unknown format.
    """
    readers: dict[str, Callable[[Iterable[str]], Iterator[Piece]]] = {
        "text": _lines,
        "lines": _lines,
        "markdown": markdown.read,
        "html": html.read,
        "srt": _subtitles,
        "vtt": _subtitles,
        "tsv": partial(_column, column=column),
    }
    if layout not in readers:
        raise ValueError(f"{layout!r} is none of {', '.join(FORMATS)}")
    return readers[layout]


def _lines(lines: Iterable[str]) -> Iterator[Piece]:
    for line in lines:
        body = line.removesuffix("\n")
        yield Piece(body, translate=True)
        if len(body) < len(line):
            yield Piece("\n", translate=False)


def _column(lines: Iterable[str], column: int) -> Iterator[Piece]:
    for line in lines:
        cells = line.removesuffix("\n").split("\t")
        if len(cells) < column:
            yield Piece(line, translate=False)
            continue
        before = "\t".join([*cells[: column - 1], ""])
        after = line[len(before) + len(cells[column - 1]) :]
        if before:
            yield Piece(before, translate=False)
        yield Piece(cells[column - 1], translate=True)
        if after:
            yield Piece(after, translate=False)


def _subtitles(lines: Iterable[str]) -> Iterator[Piece]:
    """SubRip and WebVTT: in a block of lines, what follows the one with the times is the text of its cue."""
    block: list[str] = []
    for line in lines:
        if _TIMES.match(line) and any(map(_TIMES.match, block)):  # no blank line between two cues
            number = [block.pop()] if block[-1].strip().isdecimal() else []
            yield from _cue(block)
            block = [*number, line]
        elif line.strip() and len(block) < _LONGEST:
            block.append(line)
        else:
            yield from _cue(block)
            yield Piece(line, translate=False)
            block = []
    yield from _cue(block)


def _cue(block: list[str]) -> Iterator[Piece]:
    times = next((i for i, line in enumerate(block) if "-->" in line), len(block))
    yield from (Piece(line, translate=False) for line in block[: times + 1])
    sentence: list[str] = []
    for line in block[times + 1 :]:
        if sentence and (_SPEAKER.match(line) or _END_OF_SENTENCE.search(sentence[-1])):
            yield from paragraph("".join(sentence))
            sentence = []
        sentence.append(line)
    yield from paragraph("".join(sentence))
