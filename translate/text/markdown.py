"""Markdown line by line: code, front matter, tables' rules and marks of blocks are layout, paragraphs are language."""

import re
from collections.abc import Iterable, Iterator

from translate.text.pieces import Piece
from translate.text.placeholders import PLACEHOLDER
from translate.text.wrapping import paragraph

# Within a sentence: code, mathematics, the two halves of a link or picture, a reference whose text is its name, and the
# marks of emphasis.
MARKUP = re.compile(
    r"(?<!`)(?P<fence>`{2,3})(?!`)[^\n]{1,200}?(?<!`)(?P=fence)(?!`)|"
    + r"(?<![\w$])\${1,2}(?=[^\s$])[^$\n]{1,500}(?<=\S)\${1,2}(?![\w$])|"
    + r"!?\[[^\[\]\n]{1,200}\]\[\]|"
    + PLACEHOLDER.pattern
    + r"|!?\[(?=[^\[\]\n]{0,1000}\][(\[])|\](?:\((?:[^()\n]|\([^()\n]{0,200}\)){0,2000}\)|\[[^\[\]\n]{0,200}\])"
    + r"|\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~|\\[!-/:-@\[-`{-~]",
    re.DOTALL,
)

_LONGEST = 256  # lines of a paragraph; the rest is another one
_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)*(`{3,}|~{3,})")
_RAW = re.compile(r"\s*<(script|style|pre|textarea)\b|\s*(<!--)", re.IGNORECASE)
# Marks that begin a block, and the check box of a list's item.
_MARKS = re.compile(r"(?:\s*(?:>|(?:#{1,6}|[-*+]|\d{1,9}[.)]|:|\[[ xX]\]|\[\^[^\]\s]{1,100}\]:)(?=\s)))*\s*")
_BEGINS = re.compile(r"\s*(?:>|#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\||\[[^\]]+\]:|:\s|<|:::|\{:|\$\$\s*$)")
_RULE = re.compile(r"[\s>]*(?:[-*_=|:+]\s*){2,}\Z|[\s>]*=+\s*\Z|\s*-+\s*\Z")
# Attributes, the targets of links, and tags alone.
_ATTRIBUTES = re.compile(r"\s*(?:\[(?!\^)[^\]]+\]:\s*\S|:::|\{:[^{}]*\}\s*\Z|(?:<[^<>\n]{1,1000}>\s*)+\Z)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+|\[\^[^\]\s]{1,100}\]:\s")
_HARD_BREAK = re.compile(r"(?: {2,}|\\)\n?\Z")
_CELL = re.compile(r"((?:\\.|`[^`]*`|[^|\\`]|[\\`])+)|(\|)", re.DOTALL)


def read(lines: Iterable[str]) -> Iterator[Piece]:
    """The pieces of a page; a paragraph is one piece, with its line breaks, unless they are hard ones."""
    open_lines: list[str] = []
    end: re.Pattern[str] | None = None  # of the block of code or raw text that we are in
    previous_blank = True
    indent = 0  # of the text of the list's item that we are in
    for n, line in enumerate(lines):
        if n == 1 and end is not None and not line.strip():
            end = None  # a rule, and no front matter
        if end is not None:
            yield Piece(line, translate=False)
            end = None if end.search(line) else end
            continue
        if open_lines and (not line.strip() or _BEGINS.match(line) or _FENCE.match(line) or _RULE.match(line)):
            yield from paragraph("".join(open_lines))
            open_lines = []
        indent = _indent(line, indent)
        if end := _opening(line, n):
            yield Piece(line, translate=False)
            end = None if _closes_at_once(end, line) else end
        elif _is_layout(line, indent if previous_blank and not open_lines else None):
            yield Piece(line, translate=False)
        elif line.lstrip().startswith("|"):
            yield from _row(line)
        elif open_lines:
            open_lines.append(line)
        else:
            marks = _MARKS.match(line)
            start = marks.end() if marks else 0
            if start:
                yield Piece(line[:start], translate=False)
            open_lines = [line[start:]]
        ends = _HARD_BREAK.search(line) or line.lstrip().startswith("#") or len(open_lines) >= _LONGEST
        if open_lines and ends:
            yield from paragraph("".join(open_lines))
            open_lines = []
        previous_blank = not line.strip()
    yield from paragraph("".join(open_lines))


def _indent(line: str, indent: int) -> int:
    """Where the text of an item begins in this line and those that belong to it."""
    if item := _ITEM.match(line):
        return item.end()
    return indent if not line.strip() or line[0].isspace() else 0


def _opening(line: str, n: int) -> re.Pattern[str] | None:
    """What will end the code or raw text that begins in this line; None if none does."""
    if n == 0 and line.rstrip() in ("---", "+++"):
        return re.compile(r"\A(?:---|\.\.\.|\+\+\+)\s*\Z")
    if line.strip() == "$$":
        return re.compile(r"\A\s*\$\$\s*\Z")
    if fence := _FENCE.match(line):
        mark = fence[1]
        return re.compile(rf"\A[\s>]*{re.escape(mark[0])}{{{len(mark)},}}\s*\Z")
    if raw := _RAW.match(line):
        return re.compile("-->" if raw[2] else rf"</{raw[1]}\s*>", re.IGNORECASE)
    return None


def _closes_at_once(end: re.Pattern[str], line: str) -> bool:
    return not end.pattern.startswith(r"\A") and end.search(line) is not None


def _is_layout(line: str, indent: int | None) -> bool:
    """Whether a line has no language: it is blank, a rule, attributes, the target of a link, or indented code.

    Code stands four spaces further in than the text of the item round it, `indent`; there is none where that is None.
    """
    if not line.strip() or _RULE.match(line) or _ATTRIBUTES.match(line):
        return True
    if indent is None or _BEGINS.match(line):
        return False
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip()) >= indent + 4


def _row(line: str) -> Iterator[Piece]:
    """The cells of a table's row."""
    for cell, bar in _CELL.findall(line):
        if bar:
            yield Piece(bar, translate=False)
        else:
            yield from paragraph(cell)
