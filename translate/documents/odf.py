"""OpenDocument: texts, presentations, spreadsheets and drawings of LibreOffice and others.

A package has a manifest, which names its parts: content.xml, styles.xml with headers and footers, meta.xml with the
title, and the same files of charts and documents in it. A paragraph is one text; footnotes, comments and text boxes in
it are texts of their own. A span is a run of text, and so are spans within each other, but one around a link is a pair.
A cell with a number or a formula is data.
"""

import html
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from dataclasses import replace

from translate.documents.archive import Archive
from translate.documents.cells import NamedCells
from translate.documents.document import Reading
from translate.documents.runs import Holder, Item, TextRun, is_code_font, is_code_style, paragraph
from translate.documents.xml import (
    Atom,
    AtomKind,
    Kind,
    Package,
    Parts,
    Piece,
    Place,
    Role,
    Table,
    Token,
    as_read,
    contents,
    divide,
    has_word,
    is_complete,
    pairs,
    territory,
    tokens,
    translated_language,
)
from translate.documents.xml import read as read_xml
from translate.errors import UserError
from translate.text.languages import without_region

_MANIFEST = "META-INF/manifest.xml"
_TYPE = "application/vnd.oasis.opendocument"
_EMBEDDED = re.compile(rf"{re.escape(_TYPE)}\.(?:chart|graphics|presentation|spreadsheet|text)")
_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
_OBJECT, _IMAGE = re.compile(rb"<(?:\w+:)?object\s"), re.compile(rb"<(?:\w+:)?image\s")  # in a frame
# Either end of a range; a field of Word has an instruction before its result, as in Word.
_RANGE = re.compile(
    r"(text:(?:bookmark|reference-mark|toc-mark|user-index-mark|alphabetical-index-mark)|field:fieldmark)-(start|end)"
)
_SEPARATOR = "field:fieldmark-separator"
_CELL = r"(?:\$?(?:'(?:[^']|'')*'|[^\s.':]+))?\.\$?[A-Z]{1,3}\$?\d+"
_CELLS = re.compile(rf"\s*{_CELL}(?::{_CELL})?(?:\s+{_CELL}(?::{_CELL})?)*\s*")  # 'Blatt 1'.$B$1:.$B$4
_COUNT = re.compile(rb"""(:c\s*=\s*["'])\d+""")  # of spaces
_MANIFEST_XML = f"{_OASIS}:manifest:1.0".encode()
_PREFIXES = {
    **{
        f"{_OASIS}:{name}:1.0": name
        for name in ("text", "office", "style", "table", "presentation", "manifest", "meta", "form")
    },
    f"{_OASIS}:datastyle:1.0": "number",
    f"{_OASIS}:drawing:1.0": "draw",
    f"{_OASIS}:svg-compatible:1.0": "svg",
    f"{_OASIS}:xsl-fo-compatible:1.0": "fo",
    "http://purl.org/dc/elements/1.1/": "dc",
    "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
    "urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0": "field",
}
_ELEMENTS = {
    Role.UNIT: "text:p text:h text:index-title-template svg:title svg:desc table:title table:desc dc:title dc:subject "
    "dc:description presentation:header-decl presentation:footer-decl presentation:date-time-decl "
    "number:text text:index-entry-span text:note-continuation-notice-forward text:note-continuation-notice-backward",
    Role.PAIR: "text:span text:a text:meta text:meta-field text:bookmark-ref "
    "text:reference-ref text:note-ref text:sequence text:sequence-ref text:title text:subject text:placeholder "
    "text:text-input text:description text:drop-down text:execute-macro text:conditional-text loext:content-control",
    Role.SPACE: "text:tab text:line-break",
    # Words with ruby, and fields whose texts the program makes.
    Role.OBJECT: "text:ruby text:author-initials text:author-name text:chapter text:character-count text:creation-date "
    "text:creation-time text:creator text:database-display text:database-name text:database-row-number text:date "
    "text:dde-connection text:editing-cycles text:editing-duration text:expression text:file-name text:hidden-text "
    "text:image-count text:initial-creator text:keywords text:measure text:modification-date text:modification-time "
    "text:object-count text:page-continuation text:page-count text:page-number text:page-variable-get "
    "text:paragraph-count text:print-date text:print-time text:printed-by text:script text:sender-city "
    "text:sender-company text:sender-country text:sender-email text:sender-fax text:sender-firstname "
    "text:sender-initials text:sender-lastname text:sender-phone-private text:sender-phone-work text:sender-position "
    "text:sender-postal-code text:sender-state-or-province text:sender-street text:sender-title text:sheet-name "
    "text:table-count text:table-formula text:template-name text:time text:user-defined text:user-field-get "
    "text:user-field-input text:variable-get text:variable-input text:variable-set text:word-count "
    "text:bibliography-mark field:fieldmark",
    # Words between the parts of a date or time are no texts: "Uhr" would be "clock".
    Role.COPY: "text:deletion table:tracked-changes number:date-style number:time-style",
    Role.BLOCK: "office:annotation",
    Role.LANGUAGE: "dc:language",
}
_LIST_FORMAT = ("loext:num-list-format", "style:num-list-format")  # LibreOffice reads it in the place of the prefix
_LEVEL = re.compile(rb"%\d+%")  # a number in a list format
_HINT = ("text:description",)
_INDEX = ("text:string-value", "text:key1", "text:key2")
_TEXTS = {
    "": ("style:num-prefix", "style:num-suffix", *_LIST_FORMAT, "form:label", "form:title"),
    "table:table-cell": ("office:string-value",),  # read instead of the paragraphs of the cell
    **dict.fromkeys(("table:help-message", "table:error-message"), ("table:title",)),
    **dict.fromkeys(("text:alphabetical-index-mark", "text:alphabetical-index-mark-start"), _INDEX),
    **dict.fromkeys(("text:toc-mark", "text:user-index-mark", "text:hidden-text"), ("text:string-value",)),
    "text:conditional-text": ("text:string-value-if-true", "text:string-value-if-false"),
    "text:label": ("text:value",),  # of a list
    **dict.fromkeys(("text:placeholder", "text:text-input", "text:variable-input", "text:user-field-input"), _HINT),
    "text:a": ("office:title",),
    "loext:list-item": ("loext:display-text",),
}
# The texts of elements that hold a setting, by its name.
_SETTINGS = {
    "form:property": ("form:property-name", ("HelpText", "PlaceholderText"), "office:string-value"),
    "field:param": ("field:name", ("Dropdown_ListEntry",), "field:value"),
}
_MOST_SPANS = 8  # that are one run
_SHOWN = ("header", "footer", "date-time", "page-number")  # placeholders of a master that slides show


def read(data: bytes, reading: Reading) -> Parts:
    """Divide a document, a package or a single file; UserError if it is damaged, encrypted or signed."""
    if data.removeprefix(BOM_UTF8).lstrip().startswith(b"<"):
        return read_xml(data, _table(reading, _named_cells([data])), reading)
    archive = Archive(data, reading)
    names = _parts(archive, reading)
    named = _named_cells(archive.read(name) for name in names)
    return Package(archive, {name: divide(archive.read(name), _table(reading, named), reading, name) for name in names})


_NAME_IN = re.compile(
    rb"""\s(?:table:(?P<formula>formula|condition)|(?P<rule>style:condition|calcext:value)|table:(?P<filter>value)"""
    rb"""|table:source-field-name)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')"""
)


def _named_cells(parts: Iterable[bytes]) -> NamedCells:
    """Return the texts of cells that formulas, validations, rules, filters and pivot tables name."""
    named = NamedCells()
    for match in (match for data in parts for match in _NAME_IN.finditer(data)):
        text = html.unescape((match[4] or match[5] or b"").decode("utf-8", "replace"))
        if match["formula"] or match["rule"]:
            named.add_formula(text)
        elif match["filter"]:
            named.add_criterion(text)
        else:
            named.add([text])
    return named


def _parts(archive: Archive, reading: Reading) -> list[str]:
    """Return the names of the parts with text, as the manifest has them."""
    if _MANIFEST not in archive.names:
        raise archive.is_no("OpenDocument", f": it has no {_MANIFEST}")
    kinds = dict[str, str]()
    data = archive.read(_MANIFEST)
    if b"xmlns:manifest" not in data:  # early versions declare it in a DTD, which is not read
        data = data.replace(b"<manifest:manifest", b'<manifest:manifest xmlns:manifest="%s"' % _MANIFEST_XML, 1)
    for token in tokens(data, f"{reading.name}: {_MANIFEST}", _PREFIXES):
        path, kind = (token.attributes.get(f"manifest:{name}", "") for name in ("full-path", "media-type"))
        if token.kind is Kind.START and token.name == "manifest:encryption-data":
            raise UserError(f"{reading.name}: is encrypted; save it without a password")
        kinds |= {path: kind} if path else {}
    folders = {"", *(path for path, kind in kinds.items() if _EMBEDDED.fullmatch(kind) and path.endswith("/"))}
    ends = re.compile("(?:content|styles|meta)[.]xml")
    parts = [
        path for path in kinds if path in archive.names and path.rpartition("/")[0] + "/" * ("/" in path) in folders
    ]
    parts = [path for path in parts if ends.fullmatch(path.rpartition("/")[2])]
    if "content.xml" not in parts and "styles.xml" not in parts:
        raise archive.is_no("OpenDocument", ": its manifest names no content.xml")
    return parts


def _table(reading: Reading, named: NamedCells) -> Table:
    """Return the table of all parts; cells with a text that is named stay."""

    def changes(token: Token) -> dict[str, str]:
        attributes = token.attributes
        if attributes.get("fo:language") != without_region(reading.source):
            return {}
        new = {"fo:language": without_region(reading.target), "fo:country": territory(reading.target)}
        return {name: value for name, value in new.items() if name in attributes}

    styles = _Styles(named)
    return Table(
        elements={name: role for role, names in _ELEMENTS.items() for name in names.split()},
        prefixes=_PREFIXES,
        texts=_TEXTS,
        more_texts=_setting,
        codes=_LEVEL,
        role=styles.role,
        changes=changes,
        language=translated_language(reading, with_territory=True),
        contents=lambda start, atoms, place: _contents(start, atoms, place, styles),
    )


def _setting(token: Token) -> Sequence[str]:
    """Return the attribute of a setting that people read."""
    attribute, names, value = _SETTINGS.get(token.name, ("", (), ""))
    return [value] if token.attributes.get(attribute) in names else []


class _Styles:
    """Reads the styles of a part before its text, and gives the role of elements that depend on more than the name."""

    def __init__(self, named: NamedCells) -> None:
        self.named = named
        self._code = set[str]()
        self._style = ""  # that is described, if it is based on one for code
        self._is_master = False
        self._region, self._deletions = "", set[str]()  # the change that is described, and those that delete
        self._open = set[str]()  # the deletions that have begun in the text

    def role(self, token: Token) -> Role | None:
        """Return the role of an element: a cell with a number is data; a placeholder without content is not shown."""
        attributes = token.attributes
        if token.name == "style:default-style" or not token.name.startswith("style:"):
            self._style = ""
        if token.name == "style:style":
            names = attributes.get("style:name", ""), attributes.get("style:parent-style-name", "")
            is_code = any(is_code_style(name) or name in self._code for name in names)
            self._style = names[0] if is_code and not is_code_style(names[0]) else ""
            self._code |= {names[0]} if is_code else set()
        elif token.name == "style:text-properties" and self._style:
            font = attributes.get("style:font-name") or attributes.get("fo:font-family", "")
            if font and not is_code_font(font):  # of text that is pasted from a page
                self._code.discard(self._style)
        elif token.name == "text:changed-region":
            self._region = attributes.get("text:id", "")
        elif token.name == "text:deletion":
            self._deletions.add(self._region)
        elif token.name == "style:master-page":
            self._is_master = True
        elif token.name in ("table:table-cell", "table:covered-table-cell"):
            is_text = attributes.get("office:value-type", "string") == "string" and "table:formula" not in attributes
            return None if is_text and attributes.get("office:string-value", "") not in self.named else Role.COPY
        elif (
            (token.name in ("text:p", "text:h") and self.is_code(token))
            or attributes.get("presentation:placeholder") == "true"
            or (self._is_master and attributes.get("presentation:class", "header") not in _SHOWN)
        ):
            return Role.COPY
        return None

    def is_code(self, token: Token) -> bool:
        """Return whether the style of an element is one for code."""
        name = token.attributes.get("text:style-name", "")
        return name in self._code or is_code_style(name)

    def is_deleted(self, token: Token) -> bool:
        """Return whether an element or text is deleted: LibreOffice may leave deleted text where it was."""
        change = token.attributes.get("text:change-id", "")
        if token.name == "text:change-start" and change in self._deletions:
            self._open.add(change)
        elif token.name == "text:change-end":
            self._open.discard(change)
        return bool(self._open)


# Paragraphs


def _contents(start: Token, atoms: Sequence[Atom], place: Place, styles: _Styles) -> list[Piece]:
    """Return the unit of a paragraph or another text; the description of a chart's data names their cells."""
    if start.name == "svg:desc" and _CELLS.fullmatch("".join(atom.text for atom in atoms)):
        return [piece for atom in atoms for piece in atom.raw]
    if start.name == "number:text" and not has_word("".join(atom.text for atom in atoms)):  # such as kg
        return [piece for atom in atoms for piece in atom.raw]
    if start.name not in ("text:p", "text:h") or not is_complete(atoms):
        return contents(atoms, place, collapses=True)
    original = [piece for atom in atoms for piece in atom.raw]
    if "".join(atom.text for atom in atoms) in styles.named:
        return original
    return paragraph(_items(atoms, pairs(atoms), styles), original, place, Holder(), collapses=True)


def _items(atoms: Sequence[Atom], partners: dict[int, int], styles: _Styles) -> list[Item]:
    """Return the texts, elements and ranges of a paragraph; spans of code are objects."""
    out, runs, around, instructions = list[Item](), [TextRun()], _around_elements(atoms), _instructions(atoms)
    i = 0
    while i < len(atoms):
        atom = atoms[i]
        span = atom.token.name == "text:span" and (i not in around and partners.get(i) not in around)
        if span and atom.kind is AtomKind.OPEN and styles.is_code(atom.token):
            code = [piece for other in atoms[i : partners[i] + 1] for piece in other.raw]
            out.append(Item(AtomKind.OBJECT, atom.token, code, parts=[(runs[-1], code)]))
            i = partners[i]
        elif span and atom.kind is AtomKind.OPEN:
            opening = runs[-1].opening + atom.token.raw
            runs.append(TextRun(opening, atoms[partners[i]].token.raw + runs[-1].closing, key=opening))
        elif span and atom.kind is AtomKind.CLOSE:
            runs.pop()
        elif i in instructions:
            out[-1].parts.append((runs[-1], atom.raw))
        elif atom.token.name != "text:soft-page-break":  # it belongs to the words of the source
            out.append(_item(atom, runs[-1]))
            if styles.is_deleted(atom.token) and atom.kind is AtomKind.TEXT:
                out[-1].kind, out[-1].text = AtomKind.POINT, ""
        i += 1
    return _with_spaces(out)


def _instructions(atoms: Sequence[Atom]) -> set[int]:
    """Return the numbers of the atoms between the start of a field of Word and its result."""
    found, starts = set[int](), list[int]()
    for i, atom in enumerate(atoms):
        if atom.token.name == "field:fieldmark-start":
            starts.append(i)
        elif atom.token.name == _SEPARATOR and starts:
            found.update(range(starts[-1] + 1, i + 1))
        elif atom.token.name == "field:fieldmark-end" and starts:
            starts.pop()
    return found


def _with_spaces(items: Sequence[Item]) -> list[Item]:
    """Return the items with a space as text for an element that stands for spaces, if no other is beside it."""
    out = list[Item]()
    has_text = False
    for n, item in enumerate(items):
        has_text = has_text or bool(item.text.strip())
        before, after = (items[i].text if 0 <= i < len(items) else "" for i in (n - 1, n + 1))
        if item.token.name != "text:s" or not has_text or before[-1:].isspace() or after[:1].isspace():
            out.append(item)
            continue
        count = item.token.attributes.get("text:c", "1")
        out.append(replace(item, kind=AtomKind.TEXT, text=" ", parts=[(item.run, [b" "])]))
        if count.isdecimal() and count != "1":
            raw = [_COUNT.sub(b"\\g<1>%d" % (int(count[:6]) - 1), item.token.raw)]
            out.append(replace(item, raw=raw, parts=[(item.run, raw)]))
    return out


def _around_elements(atoms: Sequence[Atom]) -> set[int]:
    """Return the numbers of the spans that have other elements with text in them, or very many spans."""
    found, opened = set[int](), list[int]()
    for i, atom in enumerate(atoms):
        if atom.kind is AtomKind.OPEN:
            if atom.token.name != "text:span" or len(opened) >= _MOST_SPANS:
                for other in reversed(opened):
                    if other in found:
                        break
                    found.add(other)
            opened.append(i)
        elif atom.kind is AtomKind.CLOSE:
            opened.pop()
    return found


def _item(atom: Atom, run: TextRun) -> Item:
    item = Item(atom.kind, atom.token, atom.raw, atom.text, run=run, parts=[(run, atom.raw)])
    name = atom.token.name
    if found := _RANGE.fullmatch(name):
        names = atom.token.attributes
        item.kind = AtomKind.OPEN if found[2] == "start" else AtomKind.CLOSE
        item.range = f"{found[1]} {names.get('text:id') or names.get('text:name')}"
        if found[1] == "field:fieldmark":  # its end has no name
            item.range, item.is_field = found[1], True
    elif name in ("office:annotation", "office:annotation-end") and "office:name" in atom.token.attributes:
        item.kind = AtomKind.OPEN if name == "office:annotation" else AtomKind.CLOSE
        item.range = f"annotation {atom.token.attributes['office:name']}"
    elif name == "draw:frame" and atom.token.attributes.get("text:anchor-type") == "as-char":
        is_formula, item.is_picture = (re.search(kind, as_read(atom.raw)) is not None for kind in (_OBJECT, _IMAGE))
        item.kind = AtomKind.OBJECT if is_formula else item.kind
    return item
