"""Office Open XML: documents of Word, PowerPoint and Excel, transitional and strict.

A package has parts, which are found by their content types. One table says what the elements of all of them are.

The text of a paragraph is in runs of equal format. Runs that differ in revisions, languages and marks of spelling are
one. The format that most of a paragraph has is that of its plain text, and another one is a pair; so is a link, a field
with its result, an insertion, and a range with a comment or a bookmark. A translation is written in new runs.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from translate.documents.archive import Archive
from translate.documents.document import Reading
from translate.documents.xml import (
    Atom,
    AtomKind,
    Change,
    Content,
    Kind,
    Mark,
    Package,
    Piece,
    Place,
    Role,
    Table,
    Token,
    contents,
    core,
    divide,
    territory,
    tokens,
    with_divided_ends,
    without_spaces,
)
from translate.errors import UserError

_TYPES = "[Content_Types].xml"
_TRANSITIONAL, _STRICT = "http://schemas.openxmlformats.org", "http://purl.oclc.org/ooxml"
_PREFIXES = {
    f"{base}/{path}": prefix
    for prefix, old, new in (
        ("w", "wordprocessingml/2006/main", "wordprocessingml/main"),
        ("a", "drawingml/2006/main", "drawingml/main"),
        ("c", "drawingml/2006/chart", "drawingml/chart"),
        ("dgm", "drawingml/2006/diagram", "drawingml/diagram"),
        ("pic", "drawingml/2006/picture", "drawingml/picture"),
        ("wp", "drawingml/2006/wordprocessingDrawing", "drawingml/wordprocessingDrawing"),
        ("xdr", "drawingml/2006/spreadsheetDrawing", "drawingml/spreadsheetDrawing"),
        ("m", "officeDocument/2006/math", "officeDocument/math"),
        ("p", "presentationml/2006/main", "presentationml/main"),
        ("x", "spreadsheetml/2006/main", "spreadsheetml/main"),
    )
    for base, path in ((_TRANSITIONAL, old), (_STRICT, new))
} | {
    "http://schemas.microsoft.com/office/word/2010/wordprocessingShape": "wps",
    "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup": "wpg",
    "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments": "x18tc",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "urn:schemas-microsoft-com:vml": "v",
    "http://schemas.openxmlformats.org/package/2006/metadata/core-properties": "cp",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://schemas.openxmlformats.org/package/2006/content-types": "",
}
_RUNS = {"w:r", "a:r", "x:r"}
_PROPERTIES = {"w:rPr", "a:rPr", "x:rPr"}
_HOLDERS = {"w:t", "a:t", "x:t"}  # of the text of a run
_DROPPED = {"w:proofErr", "w:lastRenderedPageBreak", "w:softHyphen"}  # they belong to the words of the source
_BEGUN, _BEGINNINGS = (  # elements, and those at their beginning that belong to their start tag
    {"w:sdt", "w:smartTag", "w:customXml"},
    {"w:sdtPr", "w:sdtEndPr", "w:sdtContent", "w:smartTagPr", "w:customXmlPr"},
)
_NO_BREAK_HYPHEN = "\u2011"
_ELEMENTS = {
    Role.UNIT: "w:p a:p x:si x:is x:text c:v p:text x18tc:text dc:title dc:subject dc:description",
    Role.PAIR: "w:r w:t w:hyperlink w:ins w:moveTo w:smartTag w:sdt w:sdtContent w:fldSimple w:customXml w:dir w:bdo "
    "a:r a:t x:r x:t",
    Role.SPACE: "w:tab w:br w:cr w:ptab a:br",
    Role.OBJECT: "m:oMath m:oMathPara a:fld",
    Role.TEXT: "w:noBreakHyphen",
    Role.COPY: "w:del w:moveFrom w:delText w:delInstrText w:instrText w:ruby x:rPh c:numCache c:numLit",
    Role.LANGUAGE: "dc:language",
}
_TEXTS = {
    **dict.fromkeys(("wp:docPr", "pic:cNvPr", "p:cNvPr", "xdr:cNvPr", "wps:cNvPr", "wpg:cNvPr"), ("descr", "title")),
    "w:hyperlink": ("w:tooltip",),
    "a:hlinkClick": ("tooltip",),
    "w:tblCaption": ("w:val",),
    "w:tblDescription": ("w:val",),
    "v:shape": ("alt",),
    "v:textpath": ("string",),
}
# Content types of parts with texts or languages.
_PARTS = re.compile(
    r"(?:wordprocessingml\.(?:document\.main|template\.main|header|footer|footnotes|endnotes|comments|styles|settings)"
    r"|presentationml\.(?:presentation\.main|template\.main|slideshow\.main|slide|notesSlide|comments|slideMaster"
    r"|slideLayout)"
    r"|spreadsheetml\.(?:sharedStrings|worksheet|comments)|drawingml\.(?:chart|diagramData|diagramDrawing|drawing)"
    r"|threadedcomments|core-properties)\+xml$"
)
_TABLE_TYPE = "spreadsheetml.table+xml"
_MACROS = re.compile("macroEnabled|vbaProject", re.IGNORECASE)
_PROMPTS = re.compile(r"presentationml\.slide(?:Master|Layout)\+xml$")
# Fields that show nothing where they are, such as entries of an index.
_HIDDEN_FIELD = re.compile(rb">\s*(?:XE|TC|TA|RD|SET|ASK|PRIVATE)\b")


def read(data: bytes, reading: Reading) -> Package:
    """Divide a document; UserError if it is damaged, encrypted, signed or has macros."""
    archive = Archive(data, reading)
    types = _content_types(archive, reading)
    if any(_MACROS.search(kind) for kind in types.values()):
        raise UserError(f"{reading.name}: has macros, which may depend on its texts; save it without macros")
    kept = {
        name
        for part, kind in types.items()
        if kind.endswith(_TABLE_TYPE)
        for name in _column_names(archive.read(part), reading, part)
    }
    parts = {
        part: divide(archive.read(part), _table(reading, kept, has_prompts=bool(_PROMPTS.search(kind))), reading, part)
        for part, kind in types.items()
        if _PARTS.search(kind)
    }
    if not parts:
        raise UserError(f"{reading.name}: is no document of Word, PowerPoint or Excel")
    return Package(archive, parts)


def _content_types(archive: Archive, reading: Reading) -> dict[str, str]:
    """Return the content type of each part, in the order of the archive."""
    if _TYPES not in archive.names:
        raise UserError(f"{reading.name}: is no document of Word, PowerPoint or Excel: it has no {_TYPES}")
    defaults, own = dict[str, str](), dict[str, str]()
    for token in tokens(archive.read(_TYPES), f"{reading.name}: {_TYPES}", _PREFIXES):
        kind = token.attributes.get("ContentType", "")
        if token.name == "Default" and token.kind is Kind.START:
            defaults[token.attributes.get("Extension", "").lower()] = kind
        elif token.name == "Override" and token.kind is Kind.START:
            own[token.attributes.get("PartName", "").lstrip("/").lower()] = kind
    return {
        name: own.get(name.lower(), defaults.get(name.rpartition(".")[2].lower(), ""))
        for name in archive.names
        if name != _TYPES
    }


def _column_names(data: bytes, reading: Reading, part: str) -> list[str]:
    """Return the names of the columns of a table, which formulas use; the cells of its header must be the same."""
    found = tokens(data, f"{reading.name}: {part}", _PREFIXES)
    return [token.attributes["name"] for token in found if token.name == "x:tableColumn" and "name" in token.attributes]


def _table(reading: Reading, kept: Collection[str], *, has_prompts: bool) -> Table:
    """Return the table of a part.

    Args:
        kept: texts of cells that stay.
        has_prompts: whether the text of placeholders is not shown.
    """

    def language(value: str) -> str | None:
        is_source = value.lower().replace("_", "-").split("-")[0] == reading.source
        return f"{reading.target}-{territory(reading.target)}" if is_source else None

    def changes(token: Token) -> dict[str, str]:
        name = "w:val" if token.name in ("w:lang", "w:themeFontLang") else "lang" if token.name[:2] == "a:" else ""
        new = language(token.attributes[name]) if name in token.attributes else None
        return {} if new is None else {name: new}

    return Table(
        elements={name: role for role, names in _ELEMENTS.items() for name in names.split()},
        prefixes=_PREFIXES,
        texts=_TEXTS,
        role=_prompts() if has_prompts else None,
        characters=lambda _: _NO_BREAK_HYPHEN,
        changes=changes,
        language=language,
        contents=lambda start, atoms, place: _contents(start, atoms, place, kept),
    )


def _prompts() -> Callable[[Token], Role | None]:
    """Return a function that gives the role of paragraphs of placeholders, which are in a master or layout."""
    is_placeholder = False

    def role(token: Token) -> Role | None:
        nonlocal is_placeholder
        if token.name in ("p:sp", "p:ph"):
            is_placeholder = token.name == "p:ph"
        return Role.COPY if is_placeholder and token.name == "a:p" else None

    return role


# Paragraphs


@dataclass(slots=True)
class _Run:
    """The format of a text.

    Attributes:
        opening: the start tag of the run.
        properties: the element that says the format, if there is one.
        key: equal for equal formats.
    """

    opening: bytes
    properties: Sequence[Piece] = ()
    key: bytes = b""


@dataclass(slots=True)
class _Item(Atom):
    """A piece of a paragraph.

    Attributes:
        run: the format of TEXT; of OPEN, that of plain text within the pair.
        parts: the bytes, each with the run that it is in, if any; a pair that is formatting alone has none.
        range: of OPEN and CLOSE that are no element: equal for the same range; "" for elements.
        is_field: of OPEN, whether it begins a field.
    """

    run: _Run | None = None
    parts: list[tuple[_Run | None, Sequence[Piece]]] = field(default_factory=list)
    range: str = ""
    is_field: bool = False


def _contents(start: Token, atoms: Sequence[Atom], place: Place, kept: Collection[str]) -> list[Piece]:
    """Return the unit of a paragraph or cell, or its bytes."""
    holder = next((atom.token for atom in atoms if atom.token.name in _HOLDERS and atom.kind is AtomKind.OPEN), None)
    if holder is None:
        return contents(atoms, place)
    original = [piece for atom in atoms for piece in atom.raw]
    items = _with_pairs(_Reader().items(atoms))
    if items is None or "".join(item.text for item in items) in kept:
        return original
    root = _set_base(items)
    divided = [item for item in with_divided_ends(_with_formats(items, root)) if isinstance(item, _Item)]
    first, stop = core(divided)
    if first == stop:
        return original
    around = divided[:first], divided[stop:]
    hyphen = next((atom.raw for atom in atoms if atom.text and atom.token.kind is Kind.START), [])
    inner = divided[first:stop]
    return [_Paragraph(inner, place, original=original, around=around, root=root, holder=holder, hyphen=hyphen)]


class _Reader:
    """Reads a paragraph.

    A field is a run with its beginning, runs with its instruction, a run that separates, runs with its result, and a
    run with its end. All before the result opens a pair, and the end closes it.
    """

    def __init__(self) -> None:
        self._out = list[_Item]()
        self._run: _Run | None = None
        self._code: _Item | None = None  # a field whose result has not begun
        self._depth = 0  # of fields within the instruction of a field
        self._holder = b""  # the start tag of the text that has begun; white space elsewhere is none
        self._content_end = list[Piece]()  # of a content control

    def items(self, atoms: Sequence[Atom]) -> list[_Item]:
        """Return the items."""
        for atom in atoms:
            if atom.token.name in _HOLDERS:
                self._holder = atom.token.raw if atom.kind is AtomKind.OPEN else b""
            elif atom.token.name in _RUNS:
                self._run = _Run(atom.token.raw) if atom.kind is AtomKind.OPEN else None
            elif atom.token.name in _PROPERTIES and self._run is not None:
                old = b"".join(piece.old if isinstance(piece, Change) else _bytes(piece) for piece in atom.raw)
                self._run = _Run(self._run.opening, atom.raw, _key(old))
            elif atom.kind is AtomKind.TEXT:
                if self._holder or atom.token.kind is Kind.START:
                    token = atom.token._replace(cdata=False)
                    self._add(_Item(atom.kind, token, atom.raw, atom.text, run=self._run))
            elif atom.kind is not AtomKind.NOTHING and atom.token.name not in _DROPPED:
                self._element(atom)
        if self._code is not None:
            self._out.append(self._code)
        return self._out

    def _element(self, atom: Atom) -> None:
        item = _Item(atom.kind, atom.token, atom.raw, parts=[(self._run, atom.raw)])
        name, last = atom.token.name, self._out[-1] if self._out else None
        if name == "w:fldChar":
            self._field(item, atom.token.attributes.get("w:fldCharType", ""))
        elif last and last.kind is AtomKind.OPEN and last.token.name in _BEGUN and name in _BEGINNINGS:
            last.parts += item.parts
        elif name == "w:sdtContent" and atom.kind is AtomKind.CLOSE:
            self._content_end = [*atom.raw]
        elif name == "w:sdt" and atom.kind is AtomKind.CLOSE:
            item.parts = [(None, [*self._content_end, *atom.raw])]
            self._content_end = []
            self._add(item)
        elif name in ("w:commentRangeStart", "w:bookmarkStart", "w:commentRangeEnd", "w:bookmarkEnd"):
            item.kind = AtomKind.OPEN if name.endswith("Start") else AtomKind.CLOSE
            item.range = f"{name.removesuffix('Start').removesuffix('End')} {atom.token.attributes.get('w:id')}"
            self._add(item)
        else:
            item.is_field = name == "w:fldSimple"
            item.kind = AtomKind.OBJECT if item.is_field and item.kind is AtomKind.POINT else item.kind
            self._add(item)

    def _field(self, item: _Item, kind: str) -> None:
        code = self._code
        if kind == "begin":
            self._depth += code is not None
            if code is None:
                self._code = item
            else:
                code.parts += item.parts
        elif code is None:
            item.kind, item.range = (AtomKind.CLOSE, "field") if kind == "end" else (AtomKind.POINT, "")
            self._out.append(item)
        else:
            code.parts += item.parts
            if kind == "separate" and not self._depth:
                code.kind, code.range, code.is_field, self._code = AtomKind.OPEN, "field", True, None
                self._out.append(code)
            elif kind == "end" and not self._depth:
                code.kind, self._code = _kind_without_result(code), None
                self._out.append(code)
            elif kind == "end":
                self._depth -= 1

    def _add(self, item: _Item) -> None:
        if self._code is None:
            self._out.append(item)
        elif item.kind is AtomKind.TEXT and self._holder:
            self._code.parts.append((item.run, [self._holder, *item.raw, b"</" + _name(self._holder) + b">"]))
        else:
            self._code.parts += item.parts or [(item.run, item.raw)]


def _bytes(piece: Piece) -> bytes:
    return piece if isinstance(piece, bytes) else b""


def _name(tag: bytes) -> bytes:
    """Return the name in a start tag as the file has it."""
    found = re.match(rb"<([^\s/>]+)", tag)
    return found[1] if found else b""


def _kind_without_result(item: _Item) -> AtomKind:
    """Return what a field without a result is: without width if it shows nothing, or in the place of a word."""
    code = b"".join(_bytes(piece) for _, raw in item.parts for piece in raw)
    return AtomKind.POINT if _HIDDEN_FIELD.search(code) else AtomKind.OBJECT


_NOISE = re.compile(
    rb"<(?:\w+:)?(?:lang|noProof)\b[^>]*?(?:/>|>\s*</(?:\w+:)?(?:lang|noProof)\s*>)"
    rb"|\s(?:lang|altLang|dirty|err|noProof|smtClean|smtId|bmk|\w+:rsid\w*)\s*=\s*(?:\"[^\"]*\"|'[^']*')"
    rb"|(?<=>)\s+(?=<)"
)
_NO_PROPERTIES = re.compile(rb"<([^\s/>]+)\s*(?:/>|>\s*</\1\s*>)")


@lru_cache(maxsize=1000)
def _key(properties: bytes) -> bytes:
    """Return the format that properties say, without languages and marks of revisions and spelling."""
    found = _NOISE.sub(b"", properties)
    return b"" if _NO_PROPERTIES.fullmatch(found) else found


def _with_pairs(items: Sequence[_Item]) -> list[_Item] | None:
    """Return the items with ranges that are complete and nested as pairs, others as points; None if elements are not.

    A field without text is in the place of a word.
    """
    out, partners = list(items), dict[int, int]()
    opened = list[int]()
    for i, item in enumerate(out):
        if item.kind is AtomKind.OPEN:
            opened.append(i)
        elif item.kind is AtomKind.CLOSE and not item.range:
            while opened and out[opened[-1]].range:
                opened.pop()
            if not opened:
                return None
            partners[opened.pop()] = i
        elif item.kind is AtomKind.CLOSE:
            n = len(opened)
            while n and out[opened[n - 1]].range not in ("", item.range):
                n -= 1
            if n and out[opened[n - 1]].range:
                partners[opened[n - 1]] = i
                del opened[n - 1 :]
    if any(not out[i].range for i in opened):
        return None
    complete = {*partners, *partners.values()}
    for i, item in enumerate(out):
        if item.kind in (AtomKind.OPEN, AtomKind.CLOSE) and i not in complete:
            item.kind = AtomKind.POINT
    return _with_objects(out, partners)


def _with_objects(items: Sequence[_Item], partners: dict[int, int]) -> list[_Item]:
    """Return the items with a field that has no text as one object, and neighbours without width as one."""
    out, i = list[_Item](), 0
    while i < len(items):
        item, stop = items[i], partners.get(i, 0) + 1
        if item.is_field and stop > 1 and not _has_text(items[i:stop]):
            inside = [part for other in items[i:stop] for part in other.parts]
            item, i = replace(item, kind=AtomKind.OBJECT, parts=inside), stop - 1
        width = AtomKind.POINT, AtomKind.SPACE
        if item.kind in width and out and out[-1].kind in width:
            out[-1].parts += item.parts
            out[-1].kind = AtomKind.SPACE if AtomKind.SPACE in (item.kind, out[-1].kind) else AtomKind.POINT
        else:
            out.append(item)
        i += 1
    return out


def _set_base(items: Sequence[_Item]) -> _Run:
    """Set the format of plain text within each pair, which most of it has, and return that of the paragraph."""
    first = next((item.run for item in items if item.kind is AtomKind.TEXT), None)
    plain = _Run(first.opening if first else b"")
    counts: list[dict[bytes, int]] = [{}]
    runs, opened = dict[bytes, _Run](), list[_Item]()
    for item in items:
        if item.kind is AtomKind.TEXT:
            run = item.run or _Run(b"")
            runs.setdefault(run.key, run)
            counts[-1][run.key] = counts[-1].get(run.key, 0) + len(item.text.strip())
        elif item.kind is AtomKind.OPEN:
            opened.append(item)
            counts.append({})
        elif item.kind is AtomKind.CLOSE:
            own = counts.pop()
            opened.pop().run = runs[max(own, key=lambda key: own[key])] if own else None
    return runs[max(counts[0], key=lambda key: counts[0][key])] if counts[0] else plain


def _has_text(items: Sequence[_Item]) -> bool:
    return any(item.kind is AtomKind.TEXT for item in items)


def _with_formats(items: Sequence[_Item], root: _Run) -> list[_Item]:
    """Return the items with a pair around each text whose format is not that of plain text around it."""
    out, bases = list[_Item](), [root]
    inside: _Run | None = None  # the format of the open pair
    after = 0  # items since the last text in it

    def close() -> None:
        nonlocal inside, after
        if inside is not None:
            out.insert(len(out) - after, _Item(AtomKind.CLOSE, Token(Kind.END, b"", 0), []))
        inside, after = None, 0

    for item in items:
        if item.kind is AtomKind.TEXT:
            run = item.run or _Run(b"")
            if inside is None or inside.key != run.key:
                close()
                if run.key != bases[-1].key and item.text.strip():
                    out.append(_Item(AtomKind.OPEN, item.token._replace(name=""), [], run=run))
                    inside = run
            out.append(item)
            after = 0
        elif item.kind in (AtomKind.OPEN, AtomKind.CLOSE):
            close()
            if item.kind is AtomKind.OPEN:
                item.run = item.run or bases[-1]
                bases.append(item.run)
            else:
                bases.pop()
            out.append(item)
        else:
            out.append(item)
            after += inside is not None
    close()
    return out


@dataclass(eq=False)
class _Paragraph(Content):
    """The text of a paragraph.

    Attributes:
        original: all pieces of the paragraph.
        around: the items before the first word and after the last.
        root: the format of plain text.
        holder: the start tag of a text.
        hyphen: the element for a hyphen without a break, if the paragraph has it.
    """

    original: list[Piece] = field(kw_only=True)
    around: tuple[Sequence[_Item], Sequence[_Item]] = field(kw_only=True)
    root: _Run = field(kw_only=True)
    holder: Token = field(kw_only=True)
    hyphen: Sequence[Piece] = field(kw_only=True)

    @property
    def raw(self) -> list[Piece]:
        """Its bytes."""
        return self.original

    def write(self, translation: str, tag: str) -> list[Piece]:
        """Return a translation in new runs; UserError if its tags are not those of the text."""
        found = self.tagged(tag)
        if translation == found.text:
            return self.original
        marks = without_spaces(self.marks(translation, found.text, tag), found.spaced)
        writer = _Writer(self)
        for item in self.around[0]:
            writer.item(item)
        for mark in marks:
            if isinstance(mark, str):
                writer.text(mark)
            else:
                self._element(writer, mark, found.elements[mark.number])
        for item in self.around[1]:
            writer.item(item)
        writer.leave()
        return writer.out

    @staticmethod
    def _element(writer: "_Writer", mark: Mark, atoms: Sequence[Atom]) -> None:
        item = atoms[-1] if mark.kind is AtomKind.CLOSE else atoms[0]
        if isinstance(item, _Item) and (mark.kind is not AtomKind.CLOSE or item.kind is AtomKind.CLOSE):
            writer.item(item)


class _Writer:
    """Writes runs: one for neighbours of equal format."""

    def __init__(self, paragraph: _Paragraph) -> None:
        self.out = list[Piece]()
        self._paragraph = paragraph
        self._run: _Run | None = None
        self._bases = [paragraph.root]

    def item(self, item: _Item) -> None:
        """Write an item as it was."""
        if item.kind is AtomKind.TEXT:
            self.text(item.text)
            return
        if item.kind is AtomKind.CLOSE and len(self._bases) > 1:
            self._bases.pop()
        for run, raw in item.parts:
            self._enter(run)
            self.out += raw
        if item.kind is AtomKind.OPEN:
            self._bases.append(item.run or self._bases[-1])

    def text(self, text: str) -> None:
        """Write a text in the format of plain text of the innermost pair."""
        run = self._bases[-1]
        self._enter(run if run.opening else None)
        holder, hyphen = self._paragraph.holder, self._paragraph.hyphen
        name = _name(holder.raw)
        for n, part in enumerate(text.split(_NO_BREAK_HYPHEN) if hyphen else [text]):
            self.out += hyphen if n else []
            space = b' xml:space="preserve"' if part != part.strip() and holder.name != "a:t" else b""
            if part:
                self.out += [b"<" + name + space + b">", self._paragraph.escaped(part), b"</" + name + b">"]

    def _enter(self, run: _Run | None) -> None:
        if run is None or self._run is None or run.key != self._run.key:
            self.leave()
            if run is not None:
                self.out += [run.opening, *run.properties]
            self._run = run

    def leave(self) -> None:
        """End the run that is open."""
        if self._run is not None:
            self.out.append(b"</" + _name(self._run.opening) + b">")
        self._run = None
