"""Pieces of Markdown: paragraphs are translated; code, front matter, rules of tables and marks of blocks are copied."""

import re
from collections.abc import Iterable, Iterator

from translate.text.pieces import Piece
from translate.text.placeholders import PLACEHOLDER
from translate.text.wrapping import paragraph

# Within a sentence: code, mathematics, both halves of a link or picture, references whose text is their name, emphasis.
MARKUP = re.compile(
    r"(?<!`)(?P<fence>`{2,3})(?!`)[^\n]{1,200}?(?<!`)(?P=fence)(?!`)|"
    + r"(?<![\w$])\${1,2}(?=[^\s$])[^$\n]{1,500}(?<=\S)\${1,2}(?![\w$])|"
    + r"!?\[[^\[\]\n]{1,200}\]\[\]|"
    + PLACEHOLDER.pattern
    + r"|!?\[(?=[^\[\]\n]{0,1000}\][(\[])|\](?:\((?:[^()\n]++|\([^()\n]{0,200}\))*\)|\[[^\[\]\n]{0,200}\])"
    + r"|\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~|\\[!-/:-@\[-`{-~]",
    re.DOTALL,
)

QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)*")  # at the beginning of a line

_FRONT_MATTER = ("---", "+++")  # first lines of YAML and TOML; the former may also be a rule
_METADATA = re.compile(r"""\s*(?:["']?[\w.-]+["']?\s*[:=]|[#\[]|---|\.\.\.|\+\+\+)""")  # the line after that
_LONGEST = 256  # lines of a paragraph; a longer one is divided
_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)*(`{3,}(?=[^`]*\Z)|~{3,})")
_RAW = re.compile(r"<(script|style|pre|textarea)\b|(<!--)", re.IGNORECASE)
# Marks that begin a block, and the check box of a list item.
_MARKS = re.compile(r"(?:\s*(?:>|(?:#{1,6}|[-*+]|\d{1,9}[.)]|:|\[[ xX]\]|\[\^[^\]\s]{1,100}\]:)(?=\s)))*\s*")
_BEGINS = re.compile(r"\s*(?:>|#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\||\[[^\]]+\]:|:\s|<|:::|\{:|\$\$\s*$)")
_RULE = re.compile(r"[\s>]*(?:[-*_=|:+]\s*){2,}\Z|[\s>]*=+\s*\Z|\s*-+\s*\Z")
# Attributes, targets of links, and lines of tags.
_TITLE = r"""(?:"[^"]*"|'[^']*'|\([^()]*\))"""
_ATTRIBUTES = re.compile(
    rf"\s*(?:\[(?!\^)[^\]]+\]:\s*(?:<[^<>]+>|[^\s<]\S*+)(?:\s+{_TITLE})?\s*\Z"
    r"|:::|\{:[^{}]*\}\s*\Z|(?:<[^<>\n]{1,1000}>\s*)+\Z)"
)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+|\[\^[^\]\s]{1,100}\]:\s")
_HARD_BREAK = re.compile(r"(?:(?<! ) {2,}|\\)\r?\n?\Z")
# The line below the names of the columns; a bar at the beginning or end of a row may be missing.
_DELIMITER = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?\s*\Z")
_CELL = re.compile(r"((?:\\.|`[^`]*`|[^|\\`]|[\\`])+)|(\|)", re.DOTALL)


def read(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of a page; a paragraph is one piece with its line breaks, except hard ones."""
    open_lines: list[str] = []
    end: re.Pattern[str] | None = None  # of the current block of code or raw text
    previous = ""  # line
    in_table = False
    is_marked = False  # whether the first line may begin front matter
    indent = 0  # of the text of the current list item
    quote = 0  # number of marks of quotation before each line of the open paragraph
    for n, line in enumerate(lines):
        if n == 0:
            is_marked = line.rstrip() in _FRONT_MATTER
        if n == 1 and is_marked and not _METADATA.match(line):
            end = None  # a rule, not front matter
        if end is not None:
            found = end.search(line)
            yield from _raw(line, found)
            end = None if found else end
            continue
        marks = QUOTE.match(line)
        depth, text = (marks[0].count(">"), line[marks.end() :]) if marks else (0, line)
        begins = not text.strip() or _BEGINS.match(text) or _FENCE.match(line) or _RULE.match(line)
        if "|" in previous and _DELIMITER.match(text):
            in_table = True
            yield from paragraph("".join(open_lines[:-1]))
            yield from _row("".join(open_lines[-1:]))
            open_lines = []
        elif begins or depth not in (0, quote):
            yield from paragraph("".join(open_lines))
            open_lines = []
            in_table = in_table and text.startswith("|")
        indent = _indent(line, indent)
        if end := _opening(line, n):
            found = None if end.pattern.startswith(r"\A") else end.search(line)  # in the same line
            yield from _raw(line, found)
            end = None if found else end
        elif _is_layout(line, indent if not previous.strip() and not open_lines else None):
            yield Piece(line, translate=False)
        elif in_table or text.startswith("|"):
            yield from _row(line)
        elif open_lines:
            open_lines.append(line)
        else:
            marks = _MARKS.match(line)
            start = marks.end() if marks else 0
            if start:
                yield Piece(line[:start], translate=False)
            open_lines, quote = [line[start:]] if line[start:] else [], depth
        if _HARD_BREAK.search(line) or text.lstrip().startswith("#") or len(open_lines) >= _LONGEST:
            yield from paragraph("".join(open_lines))
            open_lines = []
        previous = line
    yield from paragraph("".join(open_lines))


def _indent(line: str, indent: int) -> int:
    """Return the column in which the text of a list item begins, for this line and the lines of the same item."""
    if item := _ITEM.match(line):
        return item.end()
    return indent if not line.strip() or line[0].isspace() else 0


def _opening(line: str, n: int) -> re.Pattern[str] | None:
    """Return the pattern of the end of the code or raw text that begins in this line, if any."""
    if n == 0 and line.rstrip() in _FRONT_MATTER:
        return re.compile(r"\A(?:---|\.\.\.|\+\+\+)\s*\Z")
    if line.strip() == "$$":
        return re.compile(r"\A\s*\$\$\s*\Z")
    if fence := _FENCE.match(line):
        mark = fence[1]
        return re.compile(rf"\A[\s>]*{re.escape(mark[0])}{{{len(mark)},}}\s*\Z")
    if raw := _RAW.match(line.lstrip()):
        return re.compile("-->" if raw[2] else rf"</{raw[1]}\s*>", re.IGNORECASE)
    return None


def _raw(line: str, end: re.Match[str] | None) -> list[Piece]:
    """Return the pieces of a line of code or raw text: what follows its end is translated."""
    stop = end.end() if end and not _RAW.search(line, end.end()) else len(line)
    return [Piece(line[:stop], translate=False), *paragraph(line[stop:])]


def _is_layout(line: str, indent: int | None) -> bool:
    """Return whether a line is copied: blank, a rule, attributes, the target of a link, or indented code.

    Code is indented by four spaces more than `indent`, the text of its list item; None excludes code.
    """
    if not line.strip() or _RULE.match(line) or _ATTRIBUTES.match(line):
        return True
    if indent is None or _BEGINS.match(line):
        return False
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip()) >= indent + 4


def _row(line: str) -> Iterator[Piece]:
    """Yield the cells and bars of a row of a table, which may stand in a quotation."""
    marks = QUOTE.match(line)
    start = marks.end() if marks else 0
    if start:
        yield Piece(line[:start], translate=False)
    for cell, bar in _CELL.findall(line[start:]):
        if bar:
            yield Piece(bar, translate=False)
        else:
            yield from paragraph(cell)
