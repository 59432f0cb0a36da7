"""Source and translation side by side, for a person to edit: XLIFF 2.1 or a table with tabs (TSV).

`write` gives a file of all texts of a document, `read` the translations of an edited one. In XLIFF, tags are inline
elements: <pc> for a pair, <ph> for an object. In a table they stay as they are; a row begins with the number of its
text, so rows may be moved and left out. Editors write tables in UTF-8 or UTF-16, with and without a byte order mark.
"""

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from translate.errors import UserError

SUFFIXES = (".xlf", ".xliff", ".tsv")

_NAMESPACE = "urn:oasis:names:tc:xliff:document:2.0"
_TAG = re.compile(r"<(/?)(g+x*\d+)(/?)>")
_PART = re.compile(rf"({_TAG.pattern})|([\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff])")  # characters that XML does not have
_FIRST_COLUMNS, _LAST_COLUMN = ("number", "place"), "notes"


@dataclass(frozen=True)
class Row:
    """A text and its translation.

    Attributes:
        n: number of the text in the document, from 1.
        place: where it is.
        target: None if it has no translation.
        flags: what was noticed; they are not read back.
    """

    n: int
    source: str
    target: str | None
    place: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edited:
    """An edited file: the languages, and the rows."""

    source: str
    target: str
    rows: Sequence[Row]


def check_name(path: Path) -> None:
    """Raise UserError unless the suffix of a path is known."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: source and translation are written side by side as .xlf or .tsv; name such a file")


def write(path: Path, rows: Sequence[Row], source: str, target: str, name: str) -> bytes:
    """Return the content of a file with this path.

    Args:
        source, target: language codes.
        name: of the document.
    """
    check_name(path)
    if path.suffix.lower() == ".tsv":
        return _table(rows, source, target).encode("utf-8-sig")  # Excel takes it for another encoding without the mark
    return "".join(_xliff(rows, source, target, name)).encode()


def read(data: bytes, path: Path) -> Edited:
    """Return the content of an edited file; UserError if it is damaged."""
    check_name(path)
    return _read_table(data, path) if path.suffix.lower() == ".tsv" else _read_xliff(data, path)


# Tables


def _table(rows: Sequence[Row], source: str, target: str) -> str:
    file = StringIO()
    table = csv.writer(file, csv.excel_tab)  # its line ends are both quoted within a cell
    table.writerow([*_FIRST_COLUMNS, source, target, _LAST_COLUMN])
    for row in rows:
        table.writerow([row.n, row.place, row.source, row.target or "", ", ".join(row.flags)])
    return file.getvalue()


def _read_table(data: bytes, path: Path) -> Edited:
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is no text in UTF-8; save it as UTF-8") from error
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    rows, table = list[Row](), csv.reader(StringIO(text, newline=""), csv.excel_tab)
    header = next(table, [])
    if len(header) < 4 or tuple(header[:2]) != _FIRST_COLUMNS:
        raise UserError(f"{path}, line 1: has not the columns that --bilingual writes, number, place and two languages")
    for cells in filter(any, table):
        if len(cells) < 4 or not cells[0].isdecimal():
            raise UserError(
                f"{path}, line {table.line_num}: is no row with a number, a place and two texts; correct it"
            )
        rows.append(Row(int(cells[0]), cells[2], cells[3] or None, cells[1]))
    return Edited(header[2], header[3], rows)


# XLIFF


def _xliff(rows: Sequence[Row], source: str, target: str, name: str) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<xliff xmlns="{_NAMESPACE}" version="2.1" srcLang={quoteattr(source)} trgLang={quoteattr(target)}>\n'
    yield f'  <file id="f1" original={quoteattr(_visible(name))}>\n'
    for row in rows:
        yield f'    <unit id="u{row.n}"' + (f" name={quoteattr(_visible(row.place))}" if row.place else "") + ">\n"
        if row.flags:
            yield f'      <notes><note category="flags">{escape(", ".join(row.flags))}</note></notes>\n'
        yield f'      <segment state="{"initial" if row.target is None else "translated"}">\n'
        yield f'        <source xml:space="preserve">{_inline(row.source)}</source>\n'
        if row.target is not None:
            yield f'        <target xml:space="preserve">{_inline(row.target)}</target>\n'
        yield "      </segment>\n    </unit>\n"
    yield "  </file>\n</xliff>\n"


def _visible(text: str) -> str:
    """Return a text without the characters that XML does not have."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


def _inline(text: str) -> str:
    """Return a text with inline elements; a tag that is not one of a pair stays as text."""
    pairs, opened = set[int](), list[re.Match[str]]()
    for tag in _TAG.finditer(text):
        if not tag[1] and not tag[3]:
            opened.append(tag)
        elif tag[1] and opened and opened[-1][2] == tag[2]:
            pairs |= {opened.pop().start(), tag.start()}
    parts, end = list[str](), 0
    for part in _PART.finditer(text):
        parts.append(_escaped(text[end : part.start()]))
        end = part.end()
        if part[5]:
            parts.append(f'<cp hex="{ord(part[5]):04X}"/>')
        elif part[4]:
            parts.append(f'<ph id="{part[3]}"/>')
        elif part.start() in pairs:
            parts.append("</pc>" if part[2] else f'<pc id="{part[3]}">')
        else:
            parts.append(_escaped(part[0]))
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return escape(text, {"\r": "&#13;"})


def _read_xliff(data: bytes, path: Path) -> Edited:
    if b"<!DOCTYPE" in data:
        raise UserError(f"{path}: has a document type, which XLIFF has not; write it again with --bilingual")
    try:
        root = ElementTree.fromstring(data)
        if root.tag != f"{{{_NAMESPACE}}}xliff":
            raise ValueError("no XLIFF 2")
        rows = [
            Row(
                int(unit.get("id", "").removeprefix("u")),
                _content(unit, "source") or "",
                _content(unit, "target"),
                unit.get("name", ""),
            )
            for unit in root.iter(f"{{{_NAMESPACE}}}unit")
        ]
    except (ElementTree.ParseError, ValueError, OverflowError, LookupError) as error:
        raise UserError(f"{path}: is not such XLIFF as --bilingual writes: {error}; write it again") from error
    return Edited(root.get("srcLang", ""), root.get("trgLang", ""), rows)


def _content(unit: ElementTree.Element, name: str) -> str | None:
    """Return the text of the sources or the targets of a unit, of which an editor may have made several segments."""
    found, has_some = list[str](), False
    for part in unit:
        if part.tag not in (f"{{{_NAMESPACE}}}segment", f"{{{_NAMESPACE}}}ignorable"):
            continue
        side = part.find(f"{{{_NAMESPACE}}}{name}")
        if side is None and part.tag.endswith("ignorable"):  # white space between sentences has often no target
            side = part.find(f"{{{_NAMESPACE}}}source")
        elif side is not None:
            has_some = True
        found += [] if side is None else _text(side)
    return "".join(found) if has_some else None


def _text(side: ElementTree.Element) -> list[str]:
    """Return the parts of a text with tags; without recursion, as elements may be deep."""
    parts, waiting = list[str](), list[str | ElementTree.Element]([side])
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            parts.append(part)
            continue
        opening, closing = ("", "") if part is side else _tags(part)
        inside: list[str | ElementTree.Element] = [opening, part.text or ""]
        for child in part:
            inside += [child, child.tail or ""]
        waiting += reversed([*inside, closing])
    return parts


def _tags(part: ElementTree.Element) -> tuple[str, str]:
    """Return the tags that an inline element stands for."""
    kind, name = part.tag.rpartition("}")[2], part.get("id", "")
    if kind == "pc":
        return f"<{name}>", f"</{name}>"
    if kind == "ph":
        return f"<{name}/>", ""
    if kind == "sc":
        return f"<{name}>", ""
    if kind == "ec":
        return f"</{part.get('startRef', name)}>", ""
    return (chr(int(part.get("hex", "FFFD"), 16)) if kind == "cp" else ""), ""
