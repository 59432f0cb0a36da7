"""Office Open XML: documents of Word, PowerPoint and Excel, transitional and strict.

A package has parts, which are found by their content types. One table says what the elements of all of them are.

The text of a paragraph is in runs of equal format. Runs that differ in revisions, languages and marks of spelling are
one. The format that most of a paragraph has is that of its plain text, and another one is a pair; so is a link, a field
with its result, an insertion, and a range with a comment or a bookmark. A translation is written in new runs.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, islice, pairwise

from translate.documents import fields, printed
from translate.documents.archive import Archive
from translate.documents.bindings import Bindings
from translate.documents.cells import NamedCells
from translate.documents.document import ParsedDocument, Reading, Unit
from translate.documents.runs import (
    NO_BREAK_HYPHEN,
    HeldBytes,
    Holder,
    Item,
    TextRun,
    is_code_font,
    is_code_style,
    paragraph,
)
from translate.documents.xml import (
    Atom,
    AtomKind,
    Kind,
    Package,
    Part,
    Piece,
    Place,
    Role,
    Table,
    Token,
    as_read,
    contents,
    divide,
    is_complete,
    tokens,
    translated_language,
)
from translate.errors import UserError
from translate.text.placeholders import DOCUMENT_TAG

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
    "http://schemas.microsoft.com/office/drawing/2010/main": "a14",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "urn:schemas-microsoft-com:vml": "v",
    "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main": "x",
    "http://schemas.microsoft.com/office/drawing/2014/chartex": "cx",
    "http://schemas.openxmlformats.org/package/2006/metadata/core-properties": "cp",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://schemas.openxmlformats.org/package/2006/content-types": "",
}
_CELLS = {"x:si", "x:is", "x:v", "c:v", "cx:v", "cx:pt"}  # a chart shows texts of cells
_RUNS = {"w:r", "a:r", "x:r"}
_PROPERTIES = {"w:rPr", "a:rPr", "x:rPr"}
_HOLDERS = {"w:t", "a:t", "x:t"}  # of the text of a run
_DROPPED = {"w:proofErr", "w:lastRenderedPageBreak", "w:softHyphen"}  # they belong to the words of the source
_BEGUN, _BEGINNINGS = (  # elements, and those at their beginning that belong to their start tag
    {"w:sdt", "w:smartTag", "w:customXml"},
    {"w:sdtPr", "w:sdtEndPr", "w:sdtContent", "w:smartTagPr", "w:customXmlPr"},
)
_ELEMENTS = {
    Role.UNIT: "w:p a:p x:si x:is x:text c:v c:name cx:v cx:pt p:text x18tc:text dc:title dc:subject dc:description "
    + " ".join(printed.ELEMENTS),
    Role.PAIR: "w:r w:t w:hyperlink w:ins w:moveTo w:smartTag w:sdt w:sdtContent w:fldSimple w:customXml w:dir w:bdo "
    "a:r a:t x:r x:t",
    Role.SPACE: "w:tab w:br w:cr w:ptab a:br",
    Role.OBJECT: "m:oMath m:oMathPara a14:m a:fld w:ruby",
    Role.TEXT: "w:noBreakHyphen",
    Role.COPY: "w:del w:moveFrom w:delText w:delInstrText w:instrText x:rPh c:numCache c:numLit c:pivotSource "
    "cx:numDim m:sub m:sup",
    Role.LANGUAGE: "dc:language",
}
_TEXTS = {
    **dict.fromkeys(("wp:docPr", "pic:cNvPr", "p:cNvPr", "xdr:cNvPr", "wps:cNvPr", "wpg:cNvPr"), ("descr", "title")),
    "w:hyperlink": ("w:tooltip",),
    **dict.fromkeys(("a:hlinkClick", "a:hlinkMouseOver", "x:hyperlink"), ("tooltip",)),
    **dict.fromkeys(("w:tblCaption", "w:tblDescription"), ("w:val",)),
    **dict.fromkeys(("w:listEntry", "w:helpText", "w:statusText", "w:lvlText"), ("w:val",)),
    "w:listItem": ("w:displayText",),
    "x:dataValidation": ("promptTitle", "prompt", "errorTitle", "error"),
    "v:shape": ("alt",),
    "v:textpath": ("string",),
}
_LONGEST = {"promptTitle": 32, "prompt": 255, "errorTitle": 32, "error": 255, "tooltip": 255}  # for Excel
# Of 0 "pieces"; a mark behind a backslash, an underscore or an asterisk is one character of its own.
_QUOTED = {
    "formatCode": re.compile(
        rb"""[\\_*](?:&quot;|.)|(?:&quot;|")(?P<text>(?:(?!&quot;)[^"])*+)(?:&quot;|")""", re.DOTALL
    )
}
_FORMATS = ("x:numFmt", "c:numFmt")
_NO_CODE = re.compile(r'"[^"]*"|\\.|[_*].|\[[^\[\]]*\]')
_SHOWN_NAMES = ("name", "totalsRowLabel")  # of a column of a table: its header, and the label of its total
_LONGEST_NAME = 255  # characters
_WORD = re.compile(r"[^\W\d_]{2}")
_WORDS_IN_FORMULA = re.compile(r"[^\W\d_]{3}|\s[^\W\d_]{2}\s")  # not the kg of a unit, as in LaTeX
_NUMBER = re.compile(rb"%[1-9]")  # in the text of a numbering
# Content types of parts with texts or languages.
_PARTS = re.compile(
    r"(?:wordprocessingml\.(?:document\.main|template\.main|document\.glossary|header|footer|footnotes|endnotes"
    r"|comments|styles|settings|numbering)"
    r"|presentationml\.(?:presentation\.main|template\.main|slideshow\.main|slide|notesSlide|comments|slideMaster"
    r"|slideLayout)"
    r"|spreadsheetml\.(?:sharedStrings|worksheet|chartsheet|comments|table|styles)"
    r"|drawingml\.(?:chart|chartshapes|diagramData|diagramDrawing)|officedocument\.drawing|chartex|ms-powerpoint\.comments"
    r"|threadedcomments|core-properties)\+xml$"
)
# Of parts with formulas, filters, and names of columns.
_NAMING = re.compile(
    r"(?:spreadsheetml\.(?:worksheet|table|pivotCacheDefinition|sheet\.main|template\.main)|ms-excel\.slicerCache)\+xml$"
)
_WORKBOOK = re.compile(r"spreadsheetml\.(?:sheet|template)\.main\+xml$")
# Parts without texts, which name languages.
_LANGUAGES = re.compile(r"(?:wordprocessingml\.styles|\.settings|presentationml\.presentation\.main)\+xml$")
_CONTROLS = re.compile(
    r"wordprocessingml\.(?:document\.main|template\.main|header|footer|footnotes|endnotes|comments)\+xml$"
)
_IMPORTED = re.compile(rb"<(?:\w+:)?altChunk\s")
_BOUND = {"cp:category", "cp:keywords", "cp:contentStatus"}  # properties that content controls may show
_CUSTOM = re.compile("(?:application|text)/xml")  # of parts with custom XML
_EMBEDDED = re.compile(  # the suffix ".main+xml" is that of a part, not of a file
    r"application/vnd\.openxmlformats-officedocument\."
    r"(?:spreadsheetml\.sheet|wordprocessingml\.document|presentationml\.presentation)"
)
_DRAWN = {"w:drawing", "w:pict", "w:object", "mc:AlternateContent"}
# A drawing in a line; in VML an image, unless it has a place of its own.
_IN_LINE, _IMAGE = re.compile(rb"<(?:\w+:)?inline\b"), re.compile(rb"<(?:\w+:)?imagedata\b")
_PLACED = re.compile(rb"<(?:\w+:)?anchor\b|position:\s*absolute")
_MACROS = re.compile("macroEnabled|vbaProject", re.IGNORECASE)
_PROMPTS = re.compile(r"presentationml\.slide(?:Master|Layout)\+xml$")
# In the properties of a paragraph.
_DELETED_MARK = re.compile(rb"<(?:\w+:)?(?:del|moveFrom)\s")
_FONT = re.compile(rb"""<(?:\w+:)?rFonts\s(?:[^>]*?\s)?(?:\w+:)?ascii(?:Theme)?\s*=\s*["']([^"']*)""")  # of a run
_DROP_CAP = re.compile(rb"""<(?:\w+:)?framePr\s[^<>]*?dropCap\s*=\s*["'](?:drop|margin)""")
_ESCAPE = re.compile("(_x[0-9A-Fa-f]{4}_)")  # a control character, such as a line break of PowerPoint
# Fields that show nothing where they are, such as entries of an index.
_HIDDEN_FIELD = re.compile(rb">\s*(?:XE|TC|TA|RD|SET|ASK|PRIVATE)\b")


@dataclass(frozen=True)
class _Document:
    """A package, and those embedded in it, such as the workbook of a chart; see `ParsedDocument`."""

    archive: Archive
    own: "_Package"
    embedded: Mapping[str, ParsedDocument]

    @cached_property
    def units(self) -> list[Unit]:
        """The texts of the package, and after them those of the embedded ones."""
        inner = [
            replace(unit, place=f"{part}: {unit.place}") for part, file in self.embedded.items() for unit in file.units
        ]
        return [*self.own.units, *inner]

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the archive; members without texts are copied."""
        rest = iter(translations)
        members = self.own.write_parts([*islice(rest, len(self.own.units))])
        for part, file in self.embedded.items():
            members[part] = file.write([*islice(rest, len(file.units))])
        return self.archive.write(members)


class _Package(Package):
    """A package in which the name of a column of a table of Excel is the text of its header.

    Args:
        tables: the names of the columns of each table.
        names: those of them that are translated.
    """

    def __init__(
        self, archive: Archive, parts: Mapping[str, Part], tables: Sequence[Sequence[str]], names: Collection[str]
    ) -> None:
        super().__init__(archive, parts)
        self._tables, self._names = tables, names

    def write_parts(self, translations: Sequence[str | None]) -> dict[str, bytes]:
        """Return the file of each part."""
        return super().write_parts(self._with_headers(translations) if self._names else translations)

    def _with_headers(self, translations: Sequence[str | None]) -> list[str | None]:
        """Return the translations with one for each name of a column; names that would be equal in a table stay.

        Excel repairs a file in which a name is not the text of its header, or in which two columns have one name.
        """
        plain = [DOCUMENT_TAG.sub("", unit.text).strip() for unit in self.units]
        new_names = self._new_names(plain, translations)
        found, reported = list[str | None](), set[str]()
        for text, content, unit, translation in zip(plain, self._contents, self.units, translations, strict=True):
            stays = text in self._names and text not in new_names
            if stays and translation not in (None, unit.text) and text not in reported:
                reported.add(text)
                content.place.report(
                    f"{content.place.name}, {content.place.part}: {text!r} is not translated, as the columns of a "
                    "table have different names, which are the texts of their headers"
                )
            found.append(None if stays else translation)
        return found

    def _new_names(self, plain: Sequence[str], translations: Sequence[str | None]) -> dict[str, str]:
        """Return the names that columns get by the translations of their headers, without those that stay.

        Args:
            plain: the texts of the package without tags.
        """
        said = dict[str, set[str]]()
        for text, translation in zip(plain, translations, strict=True):
            if text in self._names:
                said.setdefault(text, set()).add(
                    DOCUMENT_TAG.sub("", text if translation is None else translation).strip()
                )
        names = {name: new for name, several in said.items() for new in several if len(several) == 1 and _is_name(new)}
        while twice := {name for table in self._tables for name in _repeated(table, names)}:
            names = {name: new for name, new in names.items() if name not in twice}
        return names


def _is_translated_name(name: str, kept: NamedCells) -> bool:
    """Return whether a name is translated as its cell; one with an escape, such as that of a line break, is not."""
    return name not in kept and not _ESCAPE.search(name)


def _is_of_dates(format: str) -> bool:
    """Return whether a format is of dates or times. A word in it, as in h:mm "Uhr", is no text: it would be "clock"."""
    return re.search("[dmyhs]", _NO_CODE.sub("", format), re.IGNORECASE) is not None


def _is_name(text: str) -> bool:
    """Return whether a text may be the name of a column."""
    return 0 < len(text) <= _LONGEST_NAME and "\n" not in text


def _repeated(table: Sequence[str], new_names: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of a table's columns that have a new name which another column has too."""
    found = [new_names.get(name.strip(), name).strip().casefold() for name in table]
    counts = Counter(found)
    yield from (
        name.strip() for name, new in zip(table, found, strict=True) if counts[new] > 1 and name.strip() in new_names
    )


def read(data: bytes, reading: Reading) -> ParsedDocument:
    """Divide a document; UserError if it is damaged, encrypted, signed or has macros."""
    archive = Archive(data, reading)
    types = _content_types(archive, reading)
    own, embedded = _package(archive, types, reading), dict[str, ParsedDocument]()
    limit = reading.limit - archive.size
    for part, kind in types.items():
        if _EMBEDDED.fullmatch(kind):
            inner = replace(reading, name=f"{reading.name}: {part}", limit=limit)
            try:
                package = Archive(archive.read(part), inner)
                limit -= package.size
                embedded[part] = _package(package, _content_types(package, inner), inner)
            except UserError as error:
                reading.report(f"{error}; it stays as it is")
    return _Document(archive, own, embedded)


def _package(archive: Archive, types: Mapping[str, str], reading: Reading) -> _Package:
    """Divide a package; UserError if it has no texts, or macros."""
    if any(_MACROS.search(kind) for kind in types.values()):
        raise UserError(f"{reading.name}: has macros, which may depend on its texts; save it without macros")
    kept, tables = NamedCells(), list[list[str]]()
    naming = [archive.read(part) for part, kind in types.items() if _NAMING.search(kind)]
    used = {_unescaped(match[1] or match[2]).casefold() for data in naming for match in _REFERENCED.finditer(data)}
    for data in naming:
        columns = _read_names(data, kept, used)
        tables += [columns] if columns else []
    names = {name.strip() for name in chain.from_iterable(tables) if _is_translated_name(name, kept)}
    return _Package(archive, _parts(archive, types, reading, kept), tables, names)


def _parts(archive: Archive, types: Mapping[str, str], reading: Reading, kept: NamedCells) -> dict[str, Part]:
    """Return the parts of a package with texts.

    Args:
        kept: the texts of cells that stay.
    """
    code = _Code()
    for part in (part for part, kind in types.items() if kind.endswith("wordprocessingml.styles+xml")):
        code.read(archive.read(part), reading, part)
    controls = Bindings()
    for part in (part for part, kind in types.items() if _CONTROLS.search(kind)):
        data = archive.read(part)
        controls.read(data, f"{reading.name}: {part}", _PREFIXES)
        if _IMPORTED.search(data):
            reading.report(
                f"{reading.name}, {part}: a page of HTML or another file that Word imports when it opens the document "
                "is not translated; save the document in Word to have its text in it"
            )
    sheets = (part for part, kind in types.items() if kind.endswith("spreadsheetml.worksheet+xml"))
    has_results = any(_TEXT_RESULT.search(archive.read(part)) for part in sheets)
    names_source = re.compile(rb"""["']%s\b""" % re.escape(reading.source.encode()), re.IGNORECASE)
    parts = dict[str, Part]()
    for part, kind in types.items():
        if has_results and _WORKBOOK.search(kind):
            parts[part] = divide(archive.read(part), _COMPUTED_AGAIN, reading, part)
        elif _PARTS.search(kind) and not (_LANGUAGES.search(kind) and not names_source.search(archive.read(part))):
            data = archive.read(part)
            inside = (
                fields.texts(data, f"{reading.name}: {part}", _PREFIXES, reading.report)
                if _CONTROLS.search(kind)
                else {}
            )
            table = _table(reading, kept, code, inside, has_prompts=bool(_PROMPTS.search(kind)))
            if kind.endswith("core-properties+xml"):
                table = _with_bound_properties(table, controls.starts(data, f"{reading.name}: {part}"))
            parts[part] = divide(data, table, reading, part)
        elif _CUSTOM.fullmatch(kind) and (starts := controls.starts(archive.read(part), f"{reading.name}: {part}")):
            parts[part] = divide(archive.read(part), _bound(starts), reading, part)
    if not parts:
        raise archive.is_no("document of Word, PowerPoint or Excel")
    return parts


def _content_types(archive: Archive, reading: Reading) -> dict[str, str]:
    """Return the content type of each part, in the order of the archive."""
    if _TYPES not in archive.names:
        raise archive.is_no("document of Word, PowerPoint or Excel", f": it has no {_TYPES}")
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


class _Code:
    """The styles of Word that are for code."""

    _PARAGRAPH = re.compile(rb"""<(?:\w+:)?pStyle\s[^>]*?val\s*=\s*["']([^"']*)""")
    _RUN = re.compile(rb"""<(?:\w+:)?rStyle\s[^>]*?val\s*=\s*["']([^"']*)""")

    def __init__(self) -> None:
        self._ids = set[bytes]()

    def read(self, data: bytes, reading: Reading, part: str) -> None:
        """Read the part with styles; those based on a style of code are for code too."""
        bases, style = dict[str, list[str]](), ""
        waiting = list[str]()
        for token in tokens(data, f"{reading.name}: {part}", _PREFIXES):
            value = token.attributes.get("w:val", "")
            if token.name == "w:style" and token.kind is Kind.START:
                style = token.attributes.get("w:styleId", "")
            elif token.name == "w:name" and is_code_style(value):
                waiting.append(style)
            elif token.name == "w:basedOn" and token.kind is Kind.START:
                bases.setdefault(value, []).append(style)
        while waiting:
            found = waiting.pop()
            if found.encode() not in self._ids:
                self._ids.add(found.encode())
                waiting += bases.get(found, [])

    def is_paragraph(self, properties: Atom) -> bool:
        """Return whether the first element of a paragraph gives it a style of code."""
        if not self._ids or properties.token.name != "w:pPr":
            return False
        found = self._PARAGRAPH.search(as_read(properties.raw))
        return found is not None and found[1] in self._ids

    def is_run(self, run: TextRun) -> bool:
        """Return whether a run has a style of code."""
        found = self._RUN.search(run.key) if self._ids and run.key else None
        return found is not None and found[1] in self._ids


_FORMULA = re.compile(rb"<(?:\w+:)?(?:f|formula[12]?)(?:\s[^<>]*)?>([^<]+)<")
# What may refer to a column: a formula as Table[Name] or Table[@Name], where ' is before signs, and a slicer.
_REFERENCED = re.compile(rb"""\[@?((?:[^\[\]<>']|'.)++)\]|\ssourceName\s*=\s*["']([^"'<>]*)""")
_FILLED = re.compile(rb"""<(?:\w+:)?table\s[^<>]*?\btableType\s*=\s*["'](?!worksheet)""")
# The names of columns of tables and pivot tables, and what filters and rules look for.
_NAME_IN = re.compile(
    rb"""<(?:\w+:)?(?:(?P<column>tableColumn)|(?P<field>cacheField)|(?P<filter>filter|customFilter)|(?P<rule>cfRule))"""
    rb"""\s(?:[^<>]*?\s)?(?(column)name|(?(field)name|(?(filter)val|text)))\s*=\s*(?:"([^"<]*)"|'([^'<]*)')"""
)


# A formula whose result is text. Excel shows the results in the file until it computes them again.
_TEXT_RESULT = re.compile(rb"""<(?:\w+:)?c\s[^<>]*?\bt\s*=\s*["']str["']""")
_COMPUTED_AGAIN = Table(
    elements={},
    prefixes=_PREFIXES,
    changes=lambda token: {"fullCalcOnLoad": "1"} if token.name == "x:calcPr" else {},
)


def _read_names(data: bytes, named: NamedCells, used: Collection[str]) -> list[str]:
    """Read the texts of cells that a part names, and return the names of the columns of a table.

    A name that formulas use stays, and so do those of a table that is filled from elsewhere.

    Args:
        used: what formulas have in brackets, in small letters.
    """
    columns, is_filled = list[str](), _FILLED.search(data) is not None
    for formula in {match[1] for match in _FORMULA.finditer(data) if b'"' in match[1] or b"&" in match[1]}:
        named.add_formula(html.unescape(formula.decode("utf-8", "replace")))
    for match in _NAME_IN.finditer(data):
        text = _unescaped(match[5] or match[6] or b"")
        if match["column"]:
            columns.append(text)
            if is_filled or text.casefold() in used or _ESCAPE.search(text):
                named.add([_ESCAPE.sub(lambda code: chr(int(code[0][2:6], 16)), text)])
        elif match["field"]:
            named.add([text])
        elif match["filter"]:
            named.add_criterion(text)
        else:
            named.add_part(text)
    return columns


def _unescaped(raw: bytes) -> str:
    return html.unescape(raw.decode("utf-8", "replace"))


def _table(
    reading: Reading,
    kept: NamedCells,
    code: "_Code",
    instructions: Mapping[int, Sequence[fields.Span]],
    *,
    has_prompts: bool,
) -> Table:
    """Return the table of a part.

    Args:
        kept: the texts of cells that stay.
        code: the styles of code.
        instructions: of fields that have texts; see `fields.texts`.
        has_prompts: whether the text of placeholders is not shown.
    """

    language = translated_language(reading, with_territory=True)

    def changes(token: Token) -> dict[str, str]:
        name = "w:val" if token.name in ("w:lang", "w:themeFontLang") else "lang" if token.name[:2] == "a:" else ""
        new = language(token.attributes[name]) if name in token.attributes else None
        return {} if new is None else {name: new}

    def shown(token: Token) -> Collection[str]:
        if token.name in _FORMATS:
            return () if _is_of_dates(token.attributes.get("formatCode", "")) else ("formatCode",)
        if token.name != "x:tableColumn":
            return ()
        return [name for name in _SHOWN_NAMES if _is_translated_name(token.attributes.get(name, ""), kept)]

    others = _with_formulas(_with_cells(_prompts() if has_prompts else _numbering))

    def role(token: Token) -> Role | None:
        return Role.ASIDE if token.name == "w:instrText" and token.start in instructions else others(token)

    def inside(start: Token, atoms: Sequence[Atom], place: Place) -> list[Piece]:
        if start.name == "w:instrText":
            return fields.units(atoms, place, instructions[start.start])
        return _contents(start, atoms, place, kept, code)

    return Table(
        elements={name: role for role, names in _ELEMENTS.items() for name in names.split()},
        prefixes=_PREFIXES,
        texts=_TEXTS,
        longest=_LONGEST,
        quoted=_QUOTED,
        codes=_NUMBER,
        role=role,
        more_texts=shown,
        characters=lambda _: NO_BREAK_HYPHEN,
        changes=changes,
        language=language,
        contents=inside,
        goes_on=_goes_on,
    )


def _bound(starts: Mapping[int, Collection[str]]) -> Table:
    """Return the table of a part with custom XML, whose texts are those that `Bindings.starts` found."""
    return Table(
        elements={},
        role=lambda token: Role.UNIT if "" in starts.get(token.start, ()) else None,
        more_texts=lambda token: starts.get(token.start, ()),
    )


def _with_bound_properties(table: Table, starts: Collection[int]) -> Table:
    """Return a table whose texts are also the properties of a document that a content control shows.

    Args:
        starts: of the elements whose text is that of a control.
    """
    return replace(table, role=lambda token: Role.UNIT if token.name in _BOUND and token.start in starts else None)


def _numbering(token: Token) -> Role | None:
    """Return the role of the text of a numbering, which may be a letter as a bullet."""
    is_bullet = token.name == "w:lvlText" and not _WORD.search(token.attributes.get("w:val", ""))
    return Role.COPY if is_bullet else None


def _with_formulas(others: Callable[[Token], Role | None]) -> Callable[[Token], Role | None]:
    """Return a function that gives the role of text in formulas, such as "falls" in a list of cases.

    Args:
        others: gives the role of other elements.
    """
    is_text = False

    def role(token: Token) -> Role | None:
        nonlocal is_text
        if token.name in ("m:r", "m:nor"):
            is_text = token.name == "m:nor" and token.attributes.get("m:val") not in ("0", "off", "false")
        return Role.UNIT if is_text and token.name == "m:t" else others(token)

    return role


def _with_cells(others: Callable[[Token], Role | None]) -> Callable[[Token], Role | None]:
    """Return a function that gives the role of texts that are in their cells, as SheetJS and others write them.

    Such a cell is like one with the result of a formula. Results of an array formula are in cells without a formula,
    in its rows and below the first of these; texts there stay.

    Args:
        others: gives the role of other elements.
    """
    is_text, last_row = False, -1  # of array formulas

    def role(token: Token) -> Role | None:
        nonlocal is_text, last_row
        attributes = token.attributes
        if token.name == "x:c":
            is_text = attributes.get("t") == "str" and _row(attributes.get("r", "")) > last_row
        elif token.name == "x:f":
            is_text = False
            if attributes.get("t") in ("array", "dataTable"):
                last_row = max(last_row, _row(attributes.get("ref", "")))
        return Role.UNIT if is_text and token.name == "x:v" else others(token)

    return role


def _row(reference: str) -> int:
    """Return the last row of a cell or an area, such as A1:B3; 0 if it is missing."""
    found = re.search(r"\d{1,7}\Z", reference)
    return int(found[0]) if found else 0


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


def _starts(atoms: Sequence[Atom]) -> list[int]:
    """Return the place after the start tag of each paragraph within the atoms of joined ones, and 0 for the first."""
    tags = (n for n, atom in enumerate(atoms, start=1) if atom.token.name == "w:p" and atom.token.kind is Kind.START)
    return [0, *tags]


def _goes_on(atoms: Sequence[Atom]) -> bool:
    """Return whether a paragraph goes on in the next one, as it is a drop cap or a tracked change deletes its mark."""
    *before, start = _starts(atoms)
    if start >= len(atoms) or atoms[start].token.name != "w:pPr":
        return False
    return (not before and _is_drop_cap(atoms[0])) or _DELETED_MARK.search(as_read(atoms[start].raw)) is not None


def _is_drop_cap(properties: Atom) -> bool:
    """Return whether the first element of a paragraph makes it the first letter, or the first word, of the next one."""
    return _DROP_CAP.search(as_read(properties.raw)) is not None


def _contents(start: Token, atoms: Sequence[Atom], place: Place, kept: NamedCells, code: "_Code") -> list[Piece]:
    """Return the unit of a paragraph or cell, or its bytes."""
    if start.name in printed.ELEMENTS:
        return printed.sections(atoms, place)
    holder = next((atom.token for atom in atoms if atom.token.name in _HOLDERS and atom.kind is AtomKind.OPEN), None)
    original = [piece for atom in atoms for piece in atom.raw]
    if start.name in _CELLS and "".join(atom.text for atom in atoms) in kept:
        return original
    if start.name == "m:t" and not _WORDS_IN_FORMULA.search("".join(atom.text for atom in atoms)):
        return original
    if holder is None or not is_complete(atoms):
        return contents([part for atom in atoms for part in _without_escapes(atom)], place)
    starts = _starts(atoms)
    is_code = any(code.is_paragraph(atom) for start in starts for atom in atoms[start : start + 1])
    if is_code and not _is_in_other_fonts(atoms):
        return original
    hyphen = next((atom.raw for atom in atoms if atom.text and atom.token.kind is Kind.START), ())
    held = Holder(
        name=_name(holder.raw), has_lines=holder.name == "x:t", says_space=holder.name != "a:t", hyphen=hyphen
    )
    start_of_text = starts[1] if len(starts) > 1 and _is_drop_cap(atoms[0]) else 0
    initial = _Reader(code).items(atoms[:start_of_text])
    return paragraph(_joined(atoms[start_of_text:], code), original, place, held, initial=initial)


def _is_in_other_fonts(atoms: Sequence[Atom]) -> bool:
    """Return whether each run of a paragraph names a font that is not for code.

    Text that is pasted from a page may have the style for code of HTML, and the font of the text around it.
    """
    fonts, font = set[str](), ""
    for atom in atoms:
        if atom.token.name == "w:r":
            font = ""
        elif atom.token.name == "w:rPr":
            found = _FONT.search(as_read(atom.raw))
            font = found[1].decode() if found else ""
        elif atom.text.strip():
            fonts.add(font)
    return all(font and not is_code_font(font) for font in fonts)


def _joined(atoms: Sequence[Atom], code: "_Code") -> list[Item]:
    """Return the items of a paragraph, and of those joined with it, whose text is written in the last one."""
    ends = [start - 2 for start in _starts(atoms)[1:]]  # of the paragraphs, before their end tags
    items = list[Item]()
    for start, stop in pairwise([0, *ends, len(atoms)]):
        own = _Reader(code).items(atoms[start:stop])
        n_tags = next((n for n, item in enumerate(own) if item.token.name not in ("w:p", "w:pPr")), len(own))
        place = next((n for n, item in enumerate(items) if item.kind is not AtomKind.POINT), len(items))
        items[place:place] = own[:n_tags]
        items += own[n_tags:]
    return items


class _Reader:
    """Reads a paragraph.

    A field is a run with its beginning, runs with its instruction, a run that separates, runs with its result, and a
    run with its end. All before the result opens a pair, and the end closes it.
    """

    def __init__(self, code: "_Code") -> None:
        self._styles = code
        self._out = list[Item]()
        self._run = TextRun()
        self._start = 0  # of the run, in the part
        self._code: Item | None = None  # a field whose result has not begun
        self._depth = 0  # of fields within the instruction of a field
        self._holder = b""  # the start tag of the text that has begun; white space elsewhere is none
        self._inner_end = list[Piece]()  # of a content control

    def items(self, atoms: Sequence[Atom]) -> list[Item]:
        """Return the items."""
        for atom in atoms:
            if atom.token.name in _HOLDERS:
                self._holder = atom.token.raw if atom.kind is AtomKind.OPEN else b""
            elif atom.token.name in _RUNS:
                opening, self._start = (atom.token.raw if atom.kind is AtomKind.OPEN else b""), atom.token.start
                self._run = TextRun(opening, b"</" + _name(opening) + b">") if opening else TextRun()
            elif atom.token.name in _PROPERTIES and self._run.opening:
                self._run = TextRun(self._run.opening, self._run.closing, atom.raw, _key(as_read(atom.raw)))
            elif atom.kind is AtomKind.TEXT:
                for part in _without_escapes(atom) if self._holder or atom.token.kind is Kind.START else ():
                    self._text(part)
            elif atom.kind is not AtomKind.NOTHING and atom.token.name not in _DROPPED:
                self._element(atom)
        if self._code is not None:
            self._out.append(self._code)
        return self._out

    def _text(self, atom: Atom) -> None:
        raw = [HeldBytes(as_read(atom.raw))] if self._holder else atom.raw
        item = Item(atom.kind, atom.token._replace(cdata=False), atom.raw, run=self._run, parts=[(self._run, raw)])
        if self._styles.is_run(self._run):
            item.kind = AtomKind.OBJECT
        else:
            item.text = atom.text
        self._add(item)

    def _element(self, atom: Atom) -> None:
        name, last = atom.token.name, self._out[-1] if self._out else None
        run = self._run
        if run.opening and atom.kind is not AtomKind.SPACE:  # without text: some programs do not read text beside it
            run = replace(run, key=b"%s %d" % (run.key, self._start))
        item = Item(atom.kind, atom.token, atom.raw, parts=[(run, atom.raw)])
        if name == "w:fldChar":
            self._field(item, atom.token.attributes.get("w:fldCharType", ""))
        elif last and last.kind is AtomKind.OPEN and last.token.name in _BEGUN and name in _BEGINNINGS:
            last.parts += item.parts
        elif name == "w:sdtContent" and atom.kind is AtomKind.CLOSE:  # both end tags are one
            self._inner_end = [*atom.raw]
        elif name == "w:sdt" and atom.kind is AtomKind.CLOSE:
            item.parts, self._inner_end = [(TextRun(), [*self._inner_end, *atom.raw])], []
            self._add(item)
        elif name in ("w:commentRangeStart", "w:bookmarkStart", "w:commentRangeEnd", "w:bookmarkEnd"):
            item.kind = AtomKind.OPEN if name.endswith("Start") else AtomKind.CLOSE
            item.range = f"{name.removesuffix('Start').removesuffix('End')} {atom.token.attributes.get('w:id')}"
            self._add(item)
        else:
            item.is_field = name == "w:fldSimple"
            is_formula = name == "mc:AlternateContent" and not self._run.opening  # of PowerPoint
            item.is_picture = name in _DRAWN and _is_in_line(atom)
            item.kind = AtomKind.OBJECT if item.kind is AtomKind.POINT and (item.is_field or is_formula) else item.kind
            self._add(item)

    def _field(self, item: Item, kind: str) -> None:
        code = self._code
        if kind == "begin":
            self._depth += code is not None
            self._code = code or item
            if code is not None:
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

    def _add(self, item: Item) -> None:
        if self._code is None:
            self._out.append(item)
        else:
            self._code.parts += item.parts


def _without_escapes(atom: Atom) -> Iterator[Atom]:
    """Yield the parts of a text; an escape in it, such as that of a line break, has no width."""
    if atom.kind is not AtomKind.TEXT or "_x" not in atom.text or atom.text != atom.token.raw.decode():
        yield atom
        return
    for part in filter(None, _ESCAPE.split(atom.text)):
        raw, is_escape = part.encode(), _ESCAPE.fullmatch(part) is not None
        kind, text = (AtomKind.POINT, "") if is_escape else (AtomKind.TEXT, part)
        yield replace(atom, kind=kind, raw=[raw], text=text, token=atom.token._replace(raw=raw))


def _is_in_line(drawing: Atom) -> bool:
    """Return whether a picture or embedded object stands in the line as a character, such as the icon of a button."""
    raw = as_read(drawing.raw)
    return _IN_LINE.search(raw) is not None or (_IMAGE.search(raw) is not None and not _PLACED.search(raw))


def _name(tag: bytes) -> bytes:
    """Return the name in a start tag as the file has it."""
    found = re.match(rb"<([^\s/>]+)", tag)
    return found[1] if found else b""


def _kind_without_result(item: Item) -> AtomKind:
    """Return what a field without a result is: without width if it shows nothing, or in the place of a word."""
    code = b"".join(as_read(raw) for _, raw in item.parts)
    return AtomKind.POINT if _HIDDEN_FIELD.search(code) else AtomKind.OBJECT


_NOISE = re.compile(
    rb"<(?:\w+:)?(?:lang|noProof)\b[^>]*?(?:/>|>\s*</(?:\w+:)?(?:lang|noProof)\s*>)"
    rb"|\s(?:lang|altLang|dirty|err|noProof|smtClean|smtId|bmk|\w+:rsid\w*)\s*=\s*(?:\"[^\"]*\"|'[^']*')"
    rb"|(?<=>)\s+(?=<)"
)
_NO_PROPERTIES = re.compile(rb"<([^\s/>]+)\s*(?:/>|>\s*</\1\s*>)")


@lru_cache(maxsize=256)
def _key(properties: bytes) -> bytes:
    """Return the format that properties say, without languages and marks of revisions and spelling."""
    found = _NOISE.sub(b"", properties)
    return b"" if _NO_PROPERTIES.fullmatch(found) else found
