"""Grid tables of pandoc, whose columns are places in the lines: cells are translated, and the lines drawn anew.

    +--------+-----------+
    | Fruit  | Price     |
    +========+===========+
    | Apples | - 2 euros |
    |        | - 1 pound |
    +--------+-----------+

A cell is Markdown, with paragraphs and lists. A column keeps its width unless a word of a translation is wider. A table
with cells over several columns or rows has no columns here, and is copied.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

from translate.text import blocks
from translate.text.sentences import Piece

Read = Callable[[Iterable[str]], Iterator[Piece]]  # divides the lines of a cell

RULE = re.compile(r"[ \t>]*\+(?:[:-]-+[:-]\+|[:=]=+[:=]\+)+\s*\Z")  # a line between rows
_LAYOUT = re.compile(r"[-+*#>|=~`_:]|\d+[.)]?\Z")  # would be a mark at the beginning of a line
_BETWEEN = "\t"  # of two texts: they are translated one by one


def text_of(table: str, read: Read) -> str:
    """Return the texts of the cells of a table, apart from each other."""
    cells = (cell for _, row in _parts(table) for cell in row)
    texts = (_content(piece) for cell in cells for piece in read(_lines(cell)) if piece.translate)
    return _BETWEEN.join(" ".join(text.split()) for text in texts)


def with_texts(table: str, texts: str, read: Read) -> str:
    """Return a table with other texts in its cells; the same table if they are not as many."""
    source, said = text_of(table, read), texts.split(_BETWEEN)
    if texts == source or len(said) != source.count(_BETWEEN) + 1:
        return table
    lines, translations = table.splitlines(), iter(said)
    widths = [len(rule) - 2 for rule in _columns(lines[0])]  # a space is at either side of a text
    parts = [
        (rule, [_written(cell, translations, width, read) for cell, width in zip(row, widths, strict=bool(row))])
        for rule, row in _parts(table)
    ]
    rows = [row for _, row in parts if row]
    widths = [max(width, *(_width(line) for row in rows for line in row[n])) for n, width in enumerate(widths)]
    start, newline = lines[0][: lines[0].index("+")], "\r\n" if "\r\n" in table else "\n"
    drawn = (start + line for rule, row in parts for line in _drawn(rule, row, widths))
    return newline.join(drawn) + table[len(table.rstrip("\r\n")) :]


def is_grid(table: str) -> bool:
    """Return whether all lines have their bars in the columns of the first one."""
    lines = table.splitlines()
    start, width = lines[0].index("+"), len(lines[0].rstrip())
    ends = _ends(lines[0])
    return RULE.match(lines[-1]) is not None and all(
        line[:start] == lines[0][:start]
        and len(line.rstrip()) == width == _width(line.rstrip())
        and [line[end] for end in ends] == [("+" if RULE.match(line) else "|")] * len(ends)
        and (not RULE.match(line) or line.count("+") == len(ends))
        for line in lines
    )


def _columns(rule: str) -> list[str]:
    return rule.strip(" \t>\r\n").strip("+").split("+")


def _ends(rule: str) -> list[int]:
    """Return the places of the bars."""
    return [*itertools.accumulate((len(column) + 1 for column in _columns(rule)), initial=rule.index("+"))]


def _parts(table: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each line between rows, and each row as cells, which are their lines."""
    lines = table.splitlines()
    ends = _ends(lines[0])
    for is_rule, group in itertools.groupby(lines, lambda line: RULE.match(line) is not None):
        if is_rule:
            yield from ((line, []) for line in group)
        else:
            own = list(group)
            yield "", [_cell([line[a + 1 : b] for line in own]) for a, b in itertools.pairwise(ends)]


def _cell(lines: Sequence[str]) -> list[str]:
    """Return the lines of a cell without the space that is before each of them, and blank lines at their end."""
    own = [line.removeprefix(" ").rstrip() for line in lines]
    while len(own) > 1 and not own[-1]:
        own.pop()
    return own


def _lines(cell: Sequence[str]) -> Iterator[str]:
    return (f"{line}\n" for line in cell)


def _content(piece: Piece) -> str:
    return blocks.unescaped(piece.text) if piece.form == "block" else piece.text


def _written(cell: Sequence[str], translations: Iterator[str], width: int, read: Read) -> list[str]:
    """Return the lines of a cell with translations, no wider than it was if no word is."""
    lines = [""]
    for piece in read(_lines(cell)):
        indent = lines[-1] and " " * len(lines[-1])
        new = piece.text.split("\n")
        if piece.translate:
            text = next(translations)
            text = blocks.escaped(text, piece.text) if piece.form == "block" else text
            new = _wrapped(text, width, len(indent))
        lines[-1] += new[0]
        lines += [indent + line if piece.translate else line for line in new[1:]]
    return _cell(lines)


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    """Return a text in lines after an indentation; no line begins with a mark of Markdown."""
    lines = [""]
    for word in text.split():
        if lines[-1] and indent + _width(lines[-1]) + 1 + _width(word) > width and not _LAYOUT.match(word):
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _drawn(rule: str, row: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """Yield the line between two rows, or the lines of a row, in columns of some widths."""
    if not row:
        columns = zip(_columns(rule), widths, strict=True)
        yield f"+{'+'.join(column[0] + column[1] * width + column[-1] for column, width in columns)}+"
    for line in itertools.zip_longest(*row, fillvalue=""):
        cells = (text + " " * (width - _width(text)) for text, width in zip(line, widths, strict=True))
        yield f"| {' | '.join(cells)} |"


def _width(text: str) -> int:
    """Return how many columns a text takes."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )
