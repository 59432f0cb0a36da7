"""Files as pieces to translate and pieces to copy, read a paragraph, a cue or a line at a time, and their layout.

A paragraph of several lines is one piece; its translation has as many lines. Joined, the pieces are the file, byte for
byte. The libraries srt and pysubs2 do not promise that, and need the whole file.
"""

import bisect
import csv
import itertools
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from io import StringIO
from itertools import chain
from pathlib import Path
from string import capwords
from typing import Literal, get_args

from translate.errors import UserError
from translate.text import blocks
from translate.text.placeholders import PLACEHOLDER, may_match
from translate.text.sentences import Piece, pieces
from translate.text.translation import Format, one_line

FORMATS: tuple[Format, ...] = get_args(Format)
LINE_FORMATS = ("text", "lines")  # line n of the output is the translation of line n

# Pieces translated together: enough to find sentences of equal lengths. A line is two, its text and its end.
WINDOW, FIRST_WINDOW = 2048, 128
WINDOW_CHARACTERS = 2**18

_MARK = "\ufeff"  # of the byte order
_LONGEST = 256  # lines of a row; a longer block is divided
_LONGEST_OF_CSV = 10_000  # where only quotation marks say where a row ends
_AMBIGUOUS = re.compile(r'"(?:[^"]|"")*+"?\Z')  # a quoted cell, or one whose quotation does not end
_QUOTED_CELL = re.compile(r'"((?:[^"]|"")*)"\r?')
# A quoted cell may hold tabs; a quotation mark without a partner is text.
_CELL = re.compile(r'(?<![^\t])(?:"(?:[^"]|"")*+"\r?(?![^\t])|[^\t]*)')
_OPEN_CELL = re.compile(r'(?:\A|\t)"(?:[^"\t]|"")*\Z')
_WITHIN_CELL = re.compile(r'(?:[^"\t]|"")*\Z')
_CLOSES_CELL = re.compile(r'(?:[^"\t]|"")*"\r?(?:\t.*)?\n?\Z')

# Of CSV, where a tab stands for its separator: a quoted cell, which may have spaces around it, any cell, and cells
# whose quotations all end.
_QUOTED_CELL_OF_CSV = re.compile(r' *"((?:[^"]|"")*)" *\r?')
_CELL_OF_CSV = r'(?<![^\t])(?: *"(?:[^"]|"")*+" *\r?(?![^\t])|[^\t]*)'
_SPACED = r' +"(?:[^"]|"")*+" *\r?\n?(?=\t|\Z)'
_CELLS_TO_END = rf'(?:(?:{_SPACED}|"(?:[^"]|"")*+"[^\t]*|(?!")(?! +"(?:[^"]|"")*+\Z)[^\t]*)(?:\t|\Z))*+'
_SPACED_MARK = ' "'
_QUOTATION = re.compile(r'"[^"]*"?')
_NAMED_SEPARATOR = re.compile(r"(?i)sep=([,;\t])\s*\Z")  # as Excel does
_NEEDS_MARKS = re.compile(r'[,;\t"\r\n]')
_RETURN = re.compile(r"(?<=\r)(?!\n)")  # the end of a line without "\n"
_BREAK = re.compile(r"(\r?\n|\r)")


def _lines(lines: Iterable[str]) -> Iterator[Piece]:
    for line in lines:
        yield from _part(line, 0, len(line.removesuffix("\n")))


def _column(lines: Iterable[str], column: int = 1) -> Iterator[Piece]:
    is_quoted = False  # whether a cell until now had to be quoted, as spreadsheets do
    lines = iter(lines)
    first = next(lines, "")
    for row in _rows(_with_returns(first, chain([first] if first else [], lines))):
        cells = [match.span() for match in _CELL.finditer(row.removesuffix("\n"))]
        quoted = (_QUOTED_CELL.fullmatch(row, *cell) for cell in cells) if '"' in row and not is_quoted else ()
        is_quoted = is_quoted or any(cell and re.search('""|[\t\n]', cell[1]) for cell in quoted)
        if len(cells) < column:
            yield Piece(row, translate=False)
        else:
            yield from _cell(row, *cells[column - 1], "unquoted" if is_quoted else "plain")


def _comma_column(lines: Iterable[str], column: int = 1) -> Iterator[Piece]:
    """Yield the pieces of CSV, with the separator that the first row has or names: a comma, a semicolon or a tab."""
    first, lines = _first_row(iter(lines))
    named = _NAMED_SEPARATOR.match(first)
    unquoted = _QUOTATION.sub("", first)
    separator = named[1] if named else max(",;\t", key=lambda sign: _counts(unquoted, sign))
    patterns = (_CELL_OF_CSV, _CELLS_TO_END, _SPACED + _CELLS_TO_END)
    cell, complete, spaced = (re.compile(pattern.replace("\\t", separator)) for pattern in patterns)
    for row in _rows_with_breaks(_with_returns(unquoted, lines), complete, spaced):
        cells = [match.span() for match in cell.finditer(row.removesuffix("\n"))]
        if len(cells) < column or (named and row == first):
            yield Piece(row, translate=False)
        else:
            yield from _cell(row, *cells[column - 1], "comma")


def _first_row(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the first row that is not blank, of several lines if a quotation goes on, and all lines."""
    read: list[str] = []
    is_open = False
    for line in lines:
        read.append(line)
        is_open ^= line.count('"') % 2 == 1
        if (line.strip() and not is_open) or len(read) >= _LONGEST:
            break
    return "".join(read).lstrip("\r\n"), chain(read, lines)


def _counts(text: str, sign: str) -> tuple[int, int]:
    """Return how often a text has a sign without a space after it, as prose has none, and how often in all."""
    return text.count(sign) - text.count(f"{sign} "), text.count(sign)


def _with_returns(first: str, lines: Iterable[str]) -> Iterable[str]:
    """Return the lines of a table; where "\\r" alone ends its rows, as on old Macs, that ends its lines too.

    Args:
        first: its first row, without quotations.
    """
    if first.endswith("\n") or not _RETURN.search(first.removesuffix("\r")):
        return lines
    return (part for line in lines for part in _RETURN.split(line) if part)


def _rows_with_breaks(lines: Iterable[str], complete: re.Pattern[str], spaced: re.Pattern[str]) -> Iterator[str]:
    """Yield rows, any quoted cell of which may have line breaks; a quotation without an end is on one line.

    Args:
        complete: matches cells whose quotations end.
        spaced: the same where the first cell has spaces around its quotation, which nothing else follows.
    """
    rest, waiting = iter(lines), deque[str]()
    while line := waiting.popleft() if waiting else next(rest, ""):
        row, opened = [line], _opened(line, complete)
        while opened and len(row) < (_LONGEST if opened == _SPACED_MARK else _LONGEST_OF_CSV):
            if not (line := waiting.popleft() if waiting else next(rest, "")):
                break
            row.append(line)
            # A line within a quoted cell is one that begins with its quotation mark.
            opened = _opened(opened + line, spaced if opened == _SPACED_MARK else complete)
        if not opened:
            yield "".join(row)
        elif opened == _SPACED_MARK:  # may be text, so that other lines may be rows
            yield row[0]
            waiting.extendleft(reversed(row[1:]))
        else:
            yield from row


def _opened(line: str, complete: re.Pattern[str]) -> str:
    """Return the mark that begins the cell of a line whose quotation does not end in it; "" if there is none."""
    cells = complete.match(line)
    rest = line[cells.end() :] if cells else line
    return "" if not rest else '"' if rest.startswith('"') else _SPACED_MARK


def _rows(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rows of a table: lines, or several lines if the last cell of one opens a quotation that goes on.

    Spreadsheets write cells with line breaks so. A quotation mark in other tables may have no partner, so lines with
    more cells than the quoted one do not belong to it.
    """
    row: list[str] = []
    for line in lines:
        if row and _CLOSES_CELL.match(line):
            yield "".join([*row, line])
            row = []
        elif row and _WITHIN_CELL.match(line) and len(row) < _LONGEST:
            row.append(line)
        else:
            yield from row
            row = [line]
            if not _OPEN_CELL.search(line):
                yield row.pop()
    yield from row


def _cell(row: str, start: int, stop: int, form: Literal["plain", "unquoted", "comma"]) -> Iterator[Piece]:
    """Yield the pieces of a row in which one cell is translated; the marks of a quoted cell and its lines stay."""
    quoted = (_QUOTED_CELL_OF_CSV if form == "comma" else _QUOTED_CELL).fullmatch(row, start, stop)
    if quoted is None:
        end = start + len(row[start:stop].removesuffix("\r"))  # the line end stays outside of new marks of the cell
        yield from _part(row, start, end, form)
        return
    inside = [line for line in _BREAK.split(quoted[1]) if line]
    yield Piece(row[: quoted.start(1)], translate=False)
    yield from (Piece(line, False) if _BREAK.fullmatch(line) else Piece(line, True, "quoted") for line in inside)
    yield Piece(row[quoted.end(1) :], translate=False)


def _part(line: str, start: int, stop: int, form: Literal["", "plain", "unquoted", "comma"] = "") -> list[Piece]:
    """Return the pieces of a line in which one part, which may be empty, is translated."""
    around = Piece(line[:start], translate=False), Piece(line[stop:], translate=False)
    before, after = ([piece] if piece.text else [] for piece in around)
    return [*before, Piece(line[start:stop], True, form), *after]


def content(piece: Piece) -> str:
    """Return the text that a piece stands for.

    In a quoted cell each quotation mark is written twice, and the names of speakers and sounds are written in capitals.
    """
    if piece.form in ("yaml", "toml"):
        from translate.text.scalars import text_of  # imports PyYAML, which few texts need

        return text_of(piece.text, piece.form) or ""
    if piece.form == "cues":
        from translate.text.subtitles import text_of_cues

        return text_of_cues(piece.text)
    if piece.form == "grid":
        from translate.text import grids
        from translate.text.markup import read_markdown

        return grids.text_of(piece.text, read_markdown)
    if piece.form == "code":  # nothing to translate
        return ""
    if piece.form == "capitals":
        return capwords(piece.text, " ")
    if piece.form == "block":
        return blocks.unescaped(piece.text)
    return piece.text.replace('""', '"') if piece.form == "quoted" else piece.text


def written(text: str, piece: Piece) -> str:
    """Return another content of a piece as its format writes it; a quoted cell by the rules of `csv.excel_tab`.

    A cell that begins with a quotation mark is quoted only if it could be read otherwise, or if other cells are.
    """
    if piece.form in ("yaml", "toml"):
        from translate.text.scalars import scalar_of

        new = None if text == content(piece) else scalar_of(text, piece.text, piece.form)
        if new is None or piece.form == "toml":  # whose strings in quotation marks have one line
            return new or piece.text
        return wrapped(new, piece.text) or new
    if piece.form == "grid":
        from translate.text import grids
        from translate.text.markup import read_markdown

        return grids.with_texts(piece.text, text, read_markdown)
    if piece.form == "code":
        return piece.text
    if piece.form == "cues":
        from translate.text.subtitles import in_cues

        return in_cues(text, piece.text)
    if piece.form == "capitals":
        return text.upper()
    if piece.form == "block":
        return blocks.escaped(text, piece.text)
    if piece.form == "title":
        return re.sub(r'(?<!\\)"', r"\"", text)
    if piece.form == "single":
        return re.sub(r"(?<!\\)'", r"\'", text)
    if piece.form == "quoted":
        return text.replace('"', '""')
    if piece.form == "comma":
        has_spaces = (text[:1].isspace(), text[-1:].isspace()) != (piece.text[:1].isspace(), piece.text[-1:].isspace())
        needs_marks = text != piece.text and (has_spaces or _NEEDS_MARKS.search(text.strip()))
        return '"' + text.replace('"', '""') + '"' if needs_marks else text
    is_cell = piece.form in ("plain", "unquoted") and not piece.text.startswith('"')
    if is_cell and ("\t" in text or (text.startswith('"') and (piece.form == "unquoted" or _AMBIGUOUS.match(text)))):
        cell = StringIO()
        csv.writer(cell, csv.excel_tab, lineterminator="").writerow([text])
        return cell.getvalue()
    return text


def unquoted(cell: str) -> str:
    """Return the content of a cell that is certainly quoted, as it has doubled marks inside; other cells unchanged."""
    quoted = _QUOTED_CELL.fullmatch(cell)
    return quoted[1].replace('""', '"') if quoted and '""' in quoted[1] else cell


# Each other format has a module, whose patterns take milliseconds to compile: a sentence should not wait for them.


def _markdown(lines: Iterable[str]) -> Iterator[Piece]:
    from translate.text.markup import read_markdown

    return read_markdown(lines)


def _mdx(lines: Iterable[str]) -> Iterator[Piece]:
    from translate.text.markup import read_mdx

    return read_mdx(lines)


def _html(lines: Iterable[str]) -> Iterator[Piece]:
    from translate.text.markup import read_html

    return read_html(lines)


def _subtitles(lines: Iterable[str], has_names: bool) -> Iterator[Piece]:
    from translate.text.subtitles import read_subtitles

    return read_subtitles(lines, has_names)


_READERS: dict[Format, Callable[[Iterable[str]], Iterator[Piece]]] = {
    "text": _lines,
    "lines": _lines,
    "markdown": _markdown,
    "mdx": _mdx,
    "html": _html,
    "srt": partial(_subtitles, has_names=False),
    "vtt": partial(_subtitles, has_names=True),
}
_OF_LINES = ("markdown", "mdx", "srt", "vtt")  # formats that are divided by their lines
TABLES = {"tsv": _column, "csv": _comma_column}  # of which one column is translated
_SUFFIXES = {
    **dict.fromkeys((".md", ".mkd", ".mkdn", ".mdown", ".qmd", ".rmd"), "markdown"),  # also of Quarto and R
    **dict.fromkeys((".htm", ".xhtml", ".shtml", ".mjml"), "html"),
}
SUFFIXES = (".txt", *_SUFFIXES, *(f".{name}" for name in FORMATS if name not in LINE_FORMATS))  # of files of text


def guess_format(path: Path) -> Format:
    """Return the format that the name of a file suggests, "text" if it suggests none."""
    suffix = path.suffix.lower()
    name = _SUFFIXES.get(suffix, suffix[1:])
    return name if name in FORMATS else "text"


def markup(format: Format | None) -> re.Pattern[str]:
    """Return the pattern of placeholders in a format."""
    if format not in ("markdown", "mdx"):
        return PLACEHOLDER
    from translate.text.markup import markdown, mdx

    return mdx() if format == "mdx" else markdown()


def prose(texts: Sequence[str], format: Format | None, column: int = 1) -> Iterator[str]:
    """Yield the parts of texts that are translated, without markup; the texts themselves if there are none.

    Args:
        texts: whole texts, or their beginnings.
        format, column: as for `reader`.
    """
    lines = (line for text in texts for line in text.splitlines(keepends=True))
    found = (content(piece) for piece in reader(format, column=column)(lines) if piece.translate)
    first = next(found, None)
    yield from texts if first is None else (markup(format).sub(" ", text) for text in chain([first], found))


def reader(format: Format | None, *, column: int = 1) -> Callable[[Iterable[str]], Iterator[Piece]]:
    """Return the function that divides lines, each with its "\\n", into pieces; joined they are the same text.

    Args:
        format: one of FORMATS; None is "text". In "text" and "lines" every line is a piece, and so is its end.
        column: of a "tsv" or "csv" file, counted from 1; lines without it are copied.

    The pieces of Markdown and subtitles raise UserError if "\\r" alone ends their lines.
    """
    table = TABLES.get(format or "text")
    read = partial(table, column=column) if table else _READERS[format or "text"]
    return partial(_after_mark, partial(_with_ends, read) if format in _OF_LINES else read)


def _with_ends(read: Callable[[Iterable[str]], Iterator[Piece]], lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of lines; UserError if "\\r" alone ends them, so that the text seems to be one line."""
    rest = iter(lines)
    first = next(rest, "")
    if not first.endswith("\n") and _RETURN.search(first.removesuffix("\r")):
        raise UserError(
            "the lines end in CR alone, as on old Macs; save the file with the line ends of Unix or Windows"
        )
    yield from read(chain([first] if first else [], rest))


def _after_mark(read: Callable[[Iterable[str]], Iterator[Piece]], lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of lines; a byte order mark before them, which would hide front matter, is copied."""
    rest = iter(lines)
    first = next(rest, "")
    if first.startswith(_MARK):
        yield Piece(_MARK, translate=False)
        first = first.removeprefix(_MARK)
    yield from read(chain([first] if first else [], rest))


_WORD = re.compile(r"\S+")
_INDENT, _QUOTE = re.compile(r"\s*"), re.compile(r"[ \t>]*")  # of a line; in Markdown it may be within a quotation
# Would be a mark of Markdown, of a subtitle or of a list at the beginning of a line.
_LAYOUT = re.compile(r"[-+*#>|=~`_:]|\d+[.)]?\Z")
_CUT = "\v"  # stands for a line break: white space that patterns of markup may contain, unlike "\n"


class Paragraph:
    """A piece, which may have several lines, and how its translation is laid out.

    Attributes:
        piece: as the format has it.
        plain: its text on one line, which is translated.
    """

    def __init__(self, piece: Piece, format: Format | None) -> None:
        self.piece, self._markup = piece, markup(format)
        self._indent = _QUOTE if format in ("markdown", "mdx") else _INDENT
        text = content(piece)  # a line break between cues is in no markup
        text = text if piece.references is None else piece.references.written_out(text)
        self._has_lines = "\n" in text
        self._source = text if piece.form == "cues" else _with_held_breaks(text, self._markup)
        text = self._source
        self.plain = one_line(re.sub(rf"\n{self._indent.pattern}", "\n", text)) if "\n" in text else text

    def laid_out(self, translation: str) -> str | None:
        """Return a translation of `plain` as the format writes it; None if it has too few words for the lines."""
        text = self._with_lines(translation)
        return None if text is None else self._shortened(text)

    def _with_lines(self, translation: str) -> str | None:
        if not self._has_lines or self.piece.form in ("yaml", "toml", "grid"):
            return written(translation, self.piece)
        if translation == self.plain:
            return self._released(self._source)
        lines = wrapped(translation, self._source, self._indent, self._markup)
        return None if lines is None else self._released(lines)

    def lines(self) -> list[Piece]:
        """Return the lines, to translate one by one, and the text between them."""
        return pieces(self._source, [match.span() for match in re.finditer(r"[^\n]+", self._source)])

    def joined(self, parts: Sequence[Piece], translations: Sequence[str]) -> str:
        """Return the translations of `lines` together."""
        # A line that is not blank must not become blank, which would begin a new paragraph.
        found = (
            self._line(text.strip(), part.text) if part.translate and text.strip() else part.text
            for part, text in zip(parts, translations, strict=True)
        )
        return self._shortened(self._released("".join(found)))

    def _shortened(self, text: str) -> str:
        if self.piece.references is None:
            return text
        from translate.text.references import shortened  # which only Markdown needs

        return shortened(text)

    def _line(self, text: str, like: str) -> str:
        return blocks.escaped(text, like) if self.piece.form == "block" else text

    def _released(self, text: str) -> str:
        if self.piece.form == "cues":
            return written(text, self.piece)
        text = text if _CUT in self.piece.text else text.replace(_CUT, "\n")
        return written(text, self.piece) if self.piece.form == "block" else text


def _with_held_breaks(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text with _CUT for each line break within markup, which is copied and needs no other place.

    A text that has _CUT of its own stays as it is.
    """
    if "\n" not in text or _CUT in text or not may_match(text, pattern):
        return text
    return re.sub(
        f"{pattern.pattern}|{_CUT}",
        lambda match: "\n" if match[0] == _CUT else match[0],
        text.replace("\n", _CUT),
        flags=pattern.flags,
    )


def wrapped(
    text: str, like: str, indent: re.Pattern[str] = _INDENT, markup: re.Pattern[str] = PLACEHOLDER
) -> str | None:
    """Divide `text` into lines with the number, proportions and indentation of the lines of `like`.

    None if there are too few words. Only the first line may begin with a character that could be a mark of the layout.
    White space stays where no line ends.

    Args:
        indent: matches the indentation of a line, which may contain marks of the layout.
        markup: matches text in which no line ends.
    """
    lines = like.split("\n")
    word = re.compile(rf"(?:{markup.pattern}|\S)+", markup.flags) if may_match(text, markup) else _WORD
    words = [match.span() for match in word.finditer(text)]
    breaks = _breaks([text[start:stop] for start, stop in words], [len(line.strip()) for line in lines if line.strip()])
    if breaks is None:
        return None
    places = [0, *(words[i][0] for i in breaks), len(text)]
    filled = (text[start:stop].strip() for start, stop in itertools.pairwise(places))
    parts = [next(filled) if line.strip() else "" for line in lines]
    indents = [match[0] if (match := indent.match(line)) else "" for line in lines]
    ends = [line[len(line.rstrip()) :] if line.strip() else "" for line in lines]
    return "\n".join(a + part + b for a, part, b in zip(indents, parts, ends, strict=True))


def _breaks(words: list[str], lengths: list[int]) -> list[int] | None:
    """Return the indices of the words that begin new lines; None if there are too few words."""
    starts = [i for i in range(1, len(words)) if not _LAYOUT.match(words[i])]
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


def windows(
    pieces: Iterable[Piece], is_ready: Callable[[], bool] = lambda: True, first: int = FIRST_WINDOW
) -> Iterator[list[Piece]]:
    """Divide pieces into windows of at most WINDOW pieces and about WINDOW_CHARACTERS characters.

    The first windows are smaller, so that the first translations come soon; each has four times as many pieces as the
    last.

    Args:
        is_ready: whether the next line can be read without waiting; if not, a window ends at the end of its line.
        first: number of pieces of the first window.
    """
    window, n_characters, size = list[Piece](), 0, min(first, WINDOW)
    for piece in pieces:
        window.append(piece)
        n_characters += len(piece.text)
        full = len(window) >= size or n_characters >= WINDOW_CHARACTERS
        if full or (piece.text.endswith("\n") and not is_ready()):
            yield window
            window, n_characters, size = [], 0, min(4 * size, WINDOW)
    if window:
        yield window
