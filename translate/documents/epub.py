"""EPUB 2 and 3: chapters, tables of contents, drawings with text, and the title and description of the book.

Translated are the texts of XHTML and SVG, in NCX the labels, and the attributes that readers see or hear, such as the
alternative texts of pictures. Where the book states its language, it is changed. All other members of the archive, and
all other bytes of these, stay. A book that is encrypted is refused; fonts may be obfuscated.
"""

import html.entities
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import unquote

from translate.documents.archive import Archive
from translate.documents.document import Reading
from translate.documents.xml import (
    Atom,
    AtomKind,
    Kind,
    Package,
    Piece,
    Place,
    Role,
    Table,
    Token,
    contents,
    decoded,
    divide,
    pairs,
    tokens,
    translated_language,
)
from translate.errors import UserError
from translate.text.markup import LINKS, are_apart
from translate.text.placeholders import KEPT_CLASSES, shown_attributes

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")  # obfuscation, which is no encryption
_PAGES = ("application/xhtml+xml", "image/svg+xml", "text/html", "text/x-oeb1-document")
_NCX = "application/x-dtbncx+xml"
_PREFIXES = {
    "http://www.w3.org/1999/xhtml": "",
    "http://www.w3.org/2000/svg": "svg",
    "http://www.w3.org/1998/Math/MathML": "math",
    "http://www.idpf.org/2007/ops": "epub",
    "http://www.daisy.org/z3986/2005/ncx/": "",
    "http://www.idpf.org/2007/opf": "",
    "http://openebook.org/namespaces/oeb-package/1.0/": "",
    "http://purl.org/dc/elements/1.0/": "dc",
    "http://purl.org/dc/elements/1.1/": "dc",
    "urn:oasis:names:tc:opendocument:xmlns:container": "",
    "http://www.w3.org/2001/04/xmlenc#": "",
}

# Elements

_BLOCKS = """address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol optgroup option p section summary table tbody
td tfoot th thead title tr ul svg:text svg:title svg:desc"""
_OBJECTS = (
    """audio canvas code embed iframe img input kbd math:math object ruby samp select svg:svg textarea var video"""
)
_COPIED = "script style pre template svg:script svg:style"
_ELEMENTS = {
    **dict.fromkeys(_BLOCKS.split(), Role.UNIT),
    **dict.fromkeys(_OBJECTS.split(), Role.OBJECT),
    **dict.fromkeys(_COPIED.split(), Role.COPY),
    "br": Role.SPACE,
    "wbr": Role.POINT,
}
_PLACES = {"x", "y", "dx", "dy"}  # of a line of a drawing
_CONTROLS = {"input", "select", "textarea"}  # of a form, between labels and buttons
_NUMBERS = {"noteref", "doc-noteref", "footnote-ref", "pagebreak", "doc-pagebreak"}  # what their elements hold
_FORMULAS = (["math", "inline"], ["math", "display"])  # classes that pandoc writes
_SUMMARY = "schema:accessibilitySummary"  # metadata that people read
_ENTITIES = {name: chr(code) for name, code in html.entities.name2codepoint.items()}


def _role(token: Token) -> Role | None:
    """Return the role of an element that depends on its attributes."""
    attributes = token.attributes
    if not attributes:
        return None
    if token.name == "svg:tspan" and not _PLACES.isdisjoint(attributes):
        return Role.UNIT
    kinds = " ".join(attributes.get(name, "") for name in ("epub:type", "role", "class"))
    return Role.POINT if not _NUMBERS.isdisjoint(kinds.split()) and token.name in ("a", "span", "sup") else None


def _translates(token: Token) -> bool | None:
    """Return whether an element says that it is translated, or that it is not."""
    attributes = token.attributes
    classes = attributes.get("class", "").split()
    is_formula = classes in _FORMULAS and token.name == "span"
    if is_formula or any(name in KEPT_CLASSES for name in classes):
        return False
    return {"no": False, "yes": True, "": True}.get(attributes.get("translate", "inherited").lower())


def _texts(_: Token, atoms: Sequence[Atom], place: Place) -> list[Piece]:
    """Return the texts of a block; raised numbers and signs of notes have no width."""
    out, partners, i = list[Atom](), pairs(atoms), 0
    while i < len(atoms):
        atom, stop = atoms[i], partners.get(i, i)
        if atom.token.name == "sup" and stop > i and not _has_letters(inside := atoms[i : stop + 1]):
            out.append(Atom(AtomKind.POINT, atom.token, [piece for one in inside for piece in one.raw]))
            i = stop
        else:
            out.append(atom)
        i += 1
    places = [0, *sorted({*_ends_of_links(out), *_ends_of_words(out)}), len(out)]
    parts = [out[a:b] for a, b in pairwise(places)]
    if len(parts) == 1:
        return contents(out, place, collapses=True)
    return [piece for part in parts for piece in _part(part, place)]


def _part(atoms: Sequence[Atom], place: Place) -> list[Piece]:
    """Return the text of a part of a block; what stands between links alone is copied."""
    if any(map(str.isalnum, _text(atoms))):
        return contents(atoms, place, collapses=True)
    return [piece for atom in atoms for piece in atom.raw]


def _ends_of_links(atoms: Sequence[Atom]) -> Iterator[int]:
    """Yield where links and controls of a form end and begin, if all words of a block are in links, as in menus."""
    partners, links, controls, i = pairs(atoms), list[tuple[int, int]](), list[int](), 0
    while i < len(atoms):
        if atoms[i].token.name in LINKS and i in partners:
            links.append((i, partners[i] + 1))
            i = partners[i]
        elif atoms[i].token.name in _CONTROLS:
            controls.append(i)
        elif atoms[i].kind is AtomKind.OBJECT or any(map(str.isalnum, atoms[i].text)):
            return
        i += 1
    for (_, stop), (start, end) in pairwise(links):
        if are_apart(_text(atoms[stop:start]), _text(atoms[start:end])):
            yield from (stop, start)
    for place in controls:
        yield from (place, place + 1)


def _ends_of_words(atoms: Sequence[Atom]) -> Iterator[int]:
    """Yield where an element ends and another begins without white space between two words.

    A page sets links beside each other apart, and elements where a capital letter follows a word.
    """
    places, before = list[int](), ""  # since the last word, and the last letter of that
    for i, (atom, following) in enumerate(pairwise(atoms), start=1):
        if atom.text:
            after = atom.text[0].strip()
            for place in places if before and after else ():
                are_links = atoms[place - 1].token.name in LINKS and atoms[place].token.name in LINKS
                if are_links or (not before.isupper() and after.isupper()):
                    yield place
            places, before = [], atom.text[-1].strip()
        elif atom.kind is AtomKind.CLOSE and following.kind is AtomKind.OPEN:
            places.append(i)


def _text(atoms: Sequence[Atom]) -> str:
    return "".join(atom.text for atom in atoms)


def _has_letters(atoms: Sequence[Atom]) -> bool:
    return any(atom.kind is AtomKind.OBJECT or any(map(str.isalpha, atom.text)) for atom in atoms)


# The book


@dataclass(frozen=True)
class _Item:
    """A member of the archive that the package lists, and its media type."""

    name: str
    kind: str


def read(data: bytes, reading: Reading) -> Package:
    """Divide a book; see `Format.read`."""
    archive = Archive(data, reading)
    if _CONTAINER not in archive.names:
        raise archive.is_no("EPUB", f": it has no {_CONTAINER}")
    _refuse_encrypted(archive, reading)
    tables = dict[str, Table]()
    for package in _packages(archive, reading):
        languages, items = _package(archive, package, reading)
        tables[package] = _table_of_package(reading, languages)
        for item in items:
            if item.name in archive.names and item.name not in tables:
                tables[item.name] = _table_of_labels(reading) if item.kind == _NCX else _table_of_pages(reading)
    parts = {name: divide(archive.read(name), table, reading, name) for name, table in tables.items()}
    return Package(archive, parts)


def _tokens(archive: Archive, name: str, reading: Reading) -> Iterator[Token]:
    data, _ = decoded(archive.read(name), f"{reading.name}: {name}")
    return tokens(data, f"{reading.name}: {name}", _PREFIXES, declares_entities=True)


def _refuse_encrypted(archive: Archive, reading: Reading) -> None:
    """Raise UserError for a book with content that only some readers may open."""
    if _ENCRYPTION not in archive.names:
        return
    for token in _tokens(archive, _ENCRYPTION, reading):
        is_method = token.name == "EncryptionMethod" and token.kind is Kind.START
        if is_method and token.attributes.get("Algorithm") not in _FONTS:
            raise UserError(f"{reading.name}: is encrypted (DRM); only a book without protection is translated")


def _packages(archive: Archive, reading: Reading) -> list[str]:
    """Return the package documents of a book: one for each rendition."""
    found = [
        token.attributes["full-path"]
        for token in _tokens(archive, _CONTAINER, reading)
        if token.name == "rootfile" and token.attributes.get("full-path") in archive.names
    ]
    if not found:
        raise UserError(
            f"{reading.name}: is damaged, as its {_CONTAINER} names no package in it; save it again as EPUB"
        )
    return found


def _package(archive: Archive, package: str, reading: Reading) -> tuple[list[str], list[_Item]]:
    """Return the languages that a package states, and the items with text, those in the order of reading first."""
    languages, items, spine = list[str](), dict[str, _Item](), list[str]()
    is_language = False
    for token in _tokens(archive, package, reading):
        if token.name == "dc:language":
            is_language = token.kind is Kind.START
            languages += [""] * is_language
        elif token.kind is Kind.TEXT and is_language:
            languages[-1] += token.text.strip()
        elif token.name == "item" and token.attributes.get("media-type") in (*_PAGES, _NCX):
            path = posixpath.join(posixpath.dirname(package), unquote(token.attributes.get("href", "")))
            item = _Item(posixpath.normpath(path), token.attributes["media-type"])
            items[token.attributes.get("id", item.name)] = item
        elif token.name == "itemref" and token.kind is Kind.START:
            spine.append(token.attributes.get("idref", ""))
    return languages, [items[id] for id in dict.fromkeys([*spine, *items]) if id in items]


# Tables of its members


def _changes(reading: Reading, *roots: str) -> Callable[[Token], Mapping[str, str]]:
    """Return a function that gives the new language of an element; that of a root is always the target's."""
    language = translated_language(reading)

    def changes(token: Token) -> dict[str, str]:
        stated = {name: token.attributes[name] for name in ("lang", "xml:lang") if token.attributes.get(name)}
        new = {name: reading.target if token.name in roots else language(value) for name, value in stated.items()}
        return {name: value for name, value in new.items() if value is not None}

    return changes


def _table_of_pages(reading: Reading) -> Table:
    return Table(
        elements=_ELEMENTS,
        prefixes=_PREFIXES,
        inside=Role.PAIR,
        more_texts=lambda token: shown_attributes(token.name.rpartition(":")[2], token.attributes),
        role=_role,
        translates=_translates,
        changes=_changes(reading, "html"),
        contents=_texts,
        declares_entities=True,
        entities=_ENTITIES,
    )


def _table_of_labels(reading: Reading) -> Table:
    return Table(
        elements={"text": Role.UNIT, "docAuthor": Role.COPY},
        prefixes=_PREFIXES,
        changes=_changes(reading, "ncx"),
        collapses=True,
        declares_entities=True,
    )


def _table_of_package(reading: Reading, languages: Sequence[str]) -> Table:
    """Return the table of a package; where it states several languages, that of the source is changed."""
    language = translated_language(reading)
    has_source = any(language(value) for value in languages)
    return Table(
        elements={"dc:title": Role.UNIT, "dc:description": Role.UNIT, "dc:language": Role.LANGUAGE},
        prefixes=_PREFIXES,
        texts={"reference": ("title",)},
        role=lambda token: Role.UNIT if token.attributes.get("property") == _SUMMARY else None,
        more_texts=lambda token: ("content",) if token.attributes.get("name") == _SUMMARY else (),
        changes=_changes(reading),
        language=lambda value: language(value) if has_source or value != languages[0] else reading.target,
        collapses=True,
        declares_entities=True,
    )
