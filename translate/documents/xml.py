"""XML: parts divided at byte offsets into texts to translate and bytes to copy.

A format says in a `Table` what its elements are, and `divide` does the rest; a format that must know more reads the
`tokens` itself and gives them to `Content`, which is a text with its tags, and writes a translation as the file writes
its texts. What is not translated is copied byte for byte, and so is a text whose translation is the text itself.

    table = Table(elements={"p": Role.UNIT, "b": Role.PAIR, "br": Role.SPACE, "code": Role.OBJECT})
    part = divide(data, table, reading)
    document = Parts({"": part})  # a `ParsedDocument`; an archive has several parts

Names are "p:local" for the prefixes that a table gives to its namespaces, whatever prefix the file has, "local"
without a namespace, and "{namespace}local" for other namespaces. Attributes are named in the same way.

All work is done on UTF-8, to which other encodings are converted; the file is written in its own encoding.
"""

import codecs
import enum
import gc
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from translate.documents.document import Reading, Unit
from translate.errors import UserError
from translate.text.languages import region, without_region

if TYPE_CHECKING:
    from translate.documents.archive import Archive

_CHUNK = 2**18  # bytes that are parsed at a time, so that tokens need little memory
_DEEPEST = 1000  # elements within each other; documents have fewer than 100
_DECLARED = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_NAMED = re.compile(rb"&(\w+);")
_ATTRIBUTE = re.compile(rb"""[\s](?P<name>[^\s=/>]+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')""")
_SPACE = re.compile(r"[ \t\r\n]+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|(\w+));")
_IMPOSSIBLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_OFTEN_ESCAPED = (">", '"', "'", "\u00a0")  # though they need not be
_PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
XML = "http://www.w3.org/XML/1998/namespace"


_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


# Tokens


class Kind(enum.Enum):
    """The kind of a token."""

    START = enum.auto()  # a start tag, or an empty element, whose END has no bytes
    END = enum.auto()
    TEXT = enum.auto()
    REFERENCE = enum.auto()  # to an entity that is not known here
    CDATA = enum.auto()  # either end of a section
    REST = enum.auto()  # a comment, an instruction, a declaration


class Token(NamedTuple):
    """A piece of XML; the bytes of all tokens are the file.

    Attributes:
        raw: its bytes.
        start: where they are in the file, converted to UTF-8.
        name: of an element.
        attributes: of a start tag.
        text: of TEXT, without escapes.
        cdata: whether TEXT is in a CDATA section.
    """

    kind: Kind
    raw: bytes
    start: int
    name: str = ""
    attributes: Mapping[str, str] = _NO_ATTRIBUTES
    text: str = ""
    cdata: bool = False


def tokens(
    data: bytes,
    name: str,
    prefixes: Mapping[str, str] = {},  # noqa: B006 (is not changed)
    *,
    declares_entities: bool = False,
    entities: Mapping[str, str] = {},  # noqa: B006
) -> Iterator[Token]:
    """Yield the tokens of XML in UTF-8; see `decoded` for other encodings.

    Args:
        name: of the file, for messages.
        prefixes: those of names, by namespace.
        declares_entities: whether the file may declare entities; references to them are tokens.
        entities: names that stand for characters without a declaration, such as those of HTML.

    Raises:
        UserError: if it is not well-formed, or nested more than 1,000 deep.
    """
    return _Tokens(data, name, prefixes, declares_entities, entities).all()


class _Names(dict[str, str]):
    """The name of an element or attribute as tables have it, of each name that expat gives."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        super().__init__()
        self._prefixes = prefixes

    def __missing__(self, name: str) -> str:
        space, is_qualified, local = name.rpartition("}")
        prefix = self._prefixes.get(space, "xml" if space == XML else f"{{{space}}}")
        found = local if not is_qualified else prefix + (":" if prefix[-1:] not in ("}", "") else "") + local
        self[name] = found
        return found


_Event = tuple[Kind, int, str, Sequence[str]]  # its start, the text or name, and attributes


class _Tokens:
    """The events of expat, each with the bytes up to the next one.

    Expat says where an event begins. Its `buffer_text` must stay off: it would report the end of a text as its start.
    """

    def __init__(
        self, data: bytes, name: str, prefixes: Mapping[str, str], declares_entities: bool, entities: Mapping[str, str]
    ) -> None:
        self._data, self._name, self._entities = data, name, entities
        self._names = _Names(prefixes)
        self._events = list[_Event]()
        self._depth, self._is_cdata = 0, False
        self._parser = parser = expat.ParserCreate("utf-8", "}")

        def add(kind: Kind, text: str = "", attributes: Sequence[str] = ()) -> None:
            self._events.append((kind, parser.CurrentByteIndex, text, attributes))

        parser.ordered_attributes = parser.specified_attributes = True
        parser.StartElementHandler = lambda name, attributes: add(Kind.START, name, attributes)
        parser.EndElementHandler = lambda name: add(Kind.END, name)
        parser.CharacterDataHandler = lambda text: add(Kind.TEXT, text)
        parser.StartCdataSectionHandler = lambda: add(Kind.CDATA)
        parser.EndCdataSectionHandler = lambda: add(Kind.CDATA)
        parser.DefaultHandler = lambda _: add(Kind.REST)  # references to entities are not expanded then
        if not declares_entities:
            parser.EntityDeclHandler = self._entity

    def _entity(self, *_: object) -> None:
        raise UserError(f"{self._name}: declares entities of XML, which such documents do not need; remove them")

    def all(self) -> Iterator[Token]:
        data, last = self._parsed(), list[_Event]()
        for at in range(0, len(data) + 1, _CHUNK):
            try:
                self._parser.Parse(data[at : at + _CHUNK], at + _CHUNK > len(data))
            except expat.ExpatError as error:
                what = f"{expat.ErrorString(error.code)} in line {error.lineno}, column {error.offset + 1}"
                raise UserError(f"{self._name}: the XML is damaged: {what}") from None
            events, self._events = last + self._events, []
            if events and not last:  # a byte order mark is in the first token
                events[0] = (events[0][0], 0, *events[0][2:])
            last = events[-1:]
            for event, following in pairwise(events):
                yield self._token(event, following[1])
        for event in last:
            yield self._token(event, len(data))

    def _parsed(self) -> bytes:
        """Return the file with references to a tab, of the same length, for those to known entities."""
        if not self._entities:
            return self._data

        def same_length(found: re.Match[bytes]) -> bytes:
            name = found[1].decode()
            is_known = name in self._entities and name not in _PREDEFINED
            return b"&#" + b"9;".rjust(len(found[0]) - 2, b"0") if is_known and len(name) > 1 else found[0]

        return _NAMED.sub(same_length, self._data)

    def _token(self, event: _Event, stop: int) -> Token:
        kind, start, text, attributes = event
        raw = self._data[start:stop]
        if kind is Kind.TEXT:
            if self._entities and (self._is_cdata or raw.startswith(b"&")):
                text = raw.decode() if self._is_cdata else self._unescaped(raw)
            return Token(kind, raw, start, "", _NO_ATTRIBUTES, text, self._is_cdata)
        if kind is Kind.END:
            self._depth -= 1
            return Token(kind, raw, start, self._names[text])
        if kind is Kind.START:
            self._depth += 1
            if self._depth > _DEEPEST:
                raise UserError(f"{self._name}: has elements nested more than {_DEEPEST:,} deep; simplify it")
            if not attributes:
                return Token(kind, raw, start, self._names[text])
            values = attributes[1::2]
            if self._entities and b"&" in raw:
                values = [self._unescaped(value) for value in _values(raw).values()]
            named = dict(zip(map(self._names.__getitem__, attributes[::2]), values, strict=True))
            return Token(kind, raw, start, self._names[text], named)
        if kind is Kind.CDATA:
            self._is_cdata = not self._is_cdata
        return Token(Kind.REFERENCE if raw.startswith(b"&") else kind, raw, start)

    def _unescaped(self, raw: bytes) -> str:
        return unescaped(raw.decode(), self._entities)


def _values(raw: bytes) -> dict[str, bytes]:
    """Return the attributes of a start tag, named as in the file, without declarations of namespaces."""
    found = {match["name"].decode(): match["double"] or match["single"] or b"" for match in _ATTRIBUTE.finditer(raw)}
    return {name: value for name, value in found.items() if name != "xmlns" and not name.startswith("xmlns:")}


def with_attributes(raw: bytes, changes: Mapping[str, str | None]) -> bytes:
    """Return a start tag with other values of attributes, named as in the file; None takes one out."""
    for name, value in changes.items():
        new = None if value is None else value.encode().replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        found = next((match for match in _ATTRIBUTE.finditer(raw) if match["name"] == name.encode()), None)
        if found and new is None:
            raw = raw[: found.start()].rstrip() + raw[found.end() :]
        elif found and new is not None:
            start, stop = found.span("single" if found["double"] is None else "double")
            quote = raw[stop : stop + 1]
            raw = raw[:start] + new.replace(quote, b"&quot;" if quote == b'"' else b"&apos;") + raw[stop:]
        elif new is not None:
            end = len(raw.removesuffix(b">").removesuffix(b"/").rstrip())
            raw = raw[:end] + b" " + name.encode() + b'="' + new.replace(b'"', b"&quot;") + b'"' + raw[end:]
    return raw


def unescaped(text: str, entities: Mapping[str, str] = {}) -> str:  # noqa: B006
    """Return a text with characters for references."""

    def character(found: re.Match[str]) -> str:
        if found[3]:
            return _PREDEFINED.get(found[3]) or entities.get(found[3]) or found[0]
        return chr(int(found[1], 16) if found[1] else int(found[2]))

    return _REFERENCE.sub(character, text)


def decoded(data: bytes, name: str) -> tuple[bytes, str]:
    """Return XML in UTF-8, and its encoding; a byte order mark stays.

    Raises:
        UserError: if it is not in the encoding that it declares.
    """
    if data.startswith((codecs.BOM_UTF16_LE, b"<\0")):
        encoding = "utf-16-le"
    elif data.startswith((codecs.BOM_UTF16_BE, b"\0<")):
        encoding = "utf-16-be"
    else:
        declared = _DECLARED.match(data.removeprefix(codecs.BOM_UTF8)[:200])
        encoding = declared[1].decode().lower() if declared and not data.startswith(codecs.BOM_UTF8) else "utf-8"
    if encoding in ("utf-8", "us-ascii", "ascii"):
        return data, encoding
    try:
        text = data.decode(encoding)
        if text.encode(encoding) == data:
            return text.encode(), encoding
    except (LookupError, ValueError):
        pass
    raise UserError(f"{name}: is not in the encoding {encoding} that it declares; correct that")


def encoded(data: bytes, encoding: str) -> bytes:
    """Return XML in UTF-8 in another encoding; a character that this has not is written as a reference."""
    return data if encoding == "utf-8" else data.decode().encode(encoding, "xmlcharrefreplace")


# Tables


class Role(enum.Enum):
    """The part that an element has in a translation."""

    BLOCK = enum.auto()  # its content is looked at; text directly in it is copied; the default outside of units
    UNIT = enum.auto()  # a text, such as a paragraph; another UNIT within it divides it
    PAIR = enum.auto()  # formatting: <g1>words</g1>
    POINT = enum.auto()  # without width: <g1></g1>; text in it is copied, and a UNIT in it is a unit of its own
    SPACE = enum.auto()  # as POINT, in the place of white space: a tab, a line break; "\n" is before it
    OBJECT = enum.auto()  # as POINT, in the place of a word: <g1/>
    ASIDE = enum.auto()  # as POINT, and its content is a text of its own, such as a note
    TEXT = enum.auto()  # an empty element that stands for characters; see `Table.characters`
    COPY = enum.auto()  # copied with its attributes, but for a BLOCK in it that is named; in a unit, without width
    LANGUAGE = enum.auto()  # outside of units: its text is the language of the document


@dataclass(frozen=True, kw_only=True)
class Table:
    """The roles of the elements and attributes of a format.

    Attributes:
        elements: the role of each element.
        prefixes: of names, by namespace; several namespaces may have the same.
        inside: the role of other elements in a unit.
        texts: attributes that are units if they have letters, by the element that has them; "" stands for all elements.
        more_texts: returns others of an element, which depend on its attributes.
        longest: the characters that attributes may have.
        quoted: matches the texts in an attribute, between quotation marks, by its name; units if one has a word.
        codes: matches what stays in attributes, in the bytes of the file.
        role: the role of an element where it depends on more than the name; None leaves it to `elements`.
        translates: whether an element is translated, attributes and content, within which others may say otherwise;
            None for what holds around it.
        characters: the characters that a TEXT element stands for.
        changes: the new values of some attributes of an element, if the document is translated; those that it has not
            are added. It is called for elements with attributes.
        language: the language of the target in place of one that the file names, or None for one that stays.
        collapses: whether white space is as one space.
        contents: makes units of the atoms of a UNIT, whose start tag is given; see `contents`.
        goes_on: whether a UNIT with some atoms goes on in the next one, if that follows at once; the tags between them
            are atoms then.
        declares_entities, entities: as for `tokens`.
    """

    elements: Mapping[str, Role]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    inside: Role = Role.POINT
    texts: Mapping[str, Collection[str]] = field(default_factory=dict)
    more_texts: Callable[[Token], Collection[str]] | None = None
    longest: Mapping[str, int] = field(default_factory=dict)
    quoted: Mapping[str, re.Pattern[bytes]] = field(default_factory=dict)
    codes: re.Pattern[bytes] | None = None
    role: Callable[[Token], Role | None] | None = None
    translates: Callable[[Token], bool | None] = lambda _: None
    characters: Callable[[Token], str] = lambda _: ""
    changes: Callable[[Token], Mapping[str, str]] | None = None
    language: Callable[[str], str | None] = lambda _: None
    collapses: bool = False
    contents: "Callable[[Token, Sequence[Atom], Place], list[Piece]] | None" = None
    goes_on: "Callable[[Sequence[Atom]], bool]" = lambda _: False
    declares_entities: bool = False
    entities: Mapping[str, str] = field(default_factory=dict)


def translated_language(reading: Reading, *, with_territory: bool = False) -> Callable[[str], str | None]:
    """Return a function that gives the target language for the source language, and None for others.

    The region of the source is left out, as it says nothing about the target.

    Args:
        with_territory: whether the target has a region, as programs of offices ask for.
    """
    adds = with_territory and not region(reading.target)
    new = f"{reading.target}-{territory(reading.target)}" if adds else reading.target
    return lambda value: new if without_region(value.lower()) == without_region(reading.source) else None


def territory(language: str) -> str:
    """Return the region that a code names, or where most speakers of the language are, such as "US" for "en"."""
    from babel.core import get_global  # slow to import

    likely = get_global("likely_subtags")
    known = likely.get(language.replace("-", "_")) or likely.get(without_region(language), "")
    return region(language) or region(str(known))


# Units


class Change(NamedTuple):
    """Bytes that are other ones if the document is translated."""

    old: bytes
    new: bytes


class AtomKind(enum.Enum):
    """The kind of an atom."""

    TEXT = enum.auto()
    OPEN = enum.auto()
    CLOSE = enum.auto()
    POINT = enum.auto()
    SPACE = enum.auto()
    OBJECT = enum.auto()
    NOTHING = enum.auto()  # bytes that a translation has no need of, such as the ends of a CDATA section


@dataclass(slots=True)
class Atom:
    """A piece of the content of a unit.

    Attributes:
        token: of its start.
        raw: its bytes.
        text: of TEXT.
    """

    kind: AtomKind
    token: Token
    raw: "Sequence[Piece]"
    text: str = ""


_ATOMS = {
    Role.POINT: AtomKind.POINT,
    Role.ASIDE: AtomKind.POINT,
    Role.SPACE: AtomKind.SPACE,
    Role.OBJECT: AtomKind.OBJECT,
    Role.COPY: AtomKind.POINT,
}


class Mark(NamedTuple):
    """A tag in a text: the number of an element, and whether it opens, closes or is alone."""

    number: int
    kind: AtomKind


@dataclass(frozen=True)
class Place:
    """The place of units, for messages, and the way in which the file writes text.

    Attributes:
        name: of the file, for messages.
        part: the place of units.
        encoding: of the file.
        newline: of the file.
        references: how it writes some characters.
        report: called with a sentence for each text whose translation is not written.
    """

    name: str
    part: str
    encoding: str = "utf-8"
    newline: str = "\n"
    references: dict[str, bytes] = field(default_factory=dict)
    report: Callable[[str], None] = lambda _: None


class Tagged(NamedTuple):
    """A text with tags.

    Attributes:
        text: with tags.
        elements: the atoms of each number: of a pair, both.
        breaks: numbers of a tab or line break, which has a line break before it, and the white space that the file has
            before and after it.
        apart: numbers that have white space on both sides in the file, and on one side in the text.
    """

    text: str
    elements: Mapping[int, Sequence[Atom]]
    breaks: Mapping[int, tuple[str, str]]
    apart: Collection[int]


@dataclass(eq=False)
class Content:
    """A text with tags, and how it is written.

    Attributes:
        atoms: its pieces; pairs are complete and nested.
        quote: the quotation mark around the value of an attribute; "" for other texts.
        longest: characters that its translation may have.
    """

    atoms: Sequence[Atom]
    place: Place
    collapses: bool = False
    quote: str = ""
    longest: int | None = None

    @property
    def start(self) -> int:
        """The byte at which it begins in the part, in UTF-8."""
        return self.atoms[0].token.start

    @cached_property
    def raw(self) -> "list[Piece]":
        """The pieces of the content as the file has them."""
        return [piece for atom in self.atoms for piece in atom.raw]

    def may_contain(self, tag: str) -> bool:
        """Return whether the text has what looks like a tag."""
        text = "".join(atom.text for atom in self.atoms)  # expat gives "<" alone
        return f"<{tag}" in text or f"</{tag}" in text

    def text(self, tag: str) -> str:
        """Return the text; its tags are numbered, and their names begin with `tag`."""
        return self.tagged(tag).text

    def tagged(self, tag: str) -> "Tagged":
        """Return the text with its tags, and what they stand for."""
        out, elements = list[str](), dict[int, list[Atom]]()
        breaks, apart = dict[int, tuple[str, str]](), set[int]()
        opened, text_at, last = list[int](), 0, ""  # the last text, and its last character
        is_beside = False  # whether an element without width is between that and what follows
        before, after = (self._white_space(is_before) for is_before in (True, False))
        last_word = max((i for i, atom in enumerate(self.atoms) if atom.text.strip()), default=0)
        for i, atom in enumerate(self.atoms):
            if atom.kind is AtomKind.TEXT:
                text = _SPACE.sub(" ", atom.text) if self.collapses else atom.text
                text = text[1:] if (self.collapses or is_beside) and last.isspace() and text.startswith(" ") else text
                text_at = len(out) if text else text_at
                out.append(text)
                last, is_beside = text[-1:] or last, is_beside and not text
            elif atom.kind is AtomKind.CLOSE:
                number = opened.pop()
                elements[number].append(atom)
                out.append(f"</{tag}{number}>")
            elif atom.kind is not AtomKind.NOTHING:
                number = len(elements) + 1
                elements[number] = [atom]
                if atom.kind is AtomKind.OPEN:
                    opened.append(number)
                    out.append(f"<{tag}{number}>")
                elif atom.kind is AtomKind.OBJECT:
                    out.append(f"<{tag}{number}/>")
                    last, is_beside = "/", False
                else:
                    if atom.kind is AtomKind.SPACE and last and i < last_word:
                        breaks[number] = before[i], after[i]
                        out[text_at] = out[text_at].removesuffix(" ") if last == " " else out[text_at]
                        out.append("\n")
                        last = "\n"
                    elif last == " " and after[i]:
                        apart.add(number)
                    is_beside = True
                    out.append(f"<{tag}{number}></{tag}{number}>")
        return Tagged("".join(out), elements, breaks, apart)

    def _white_space(self, is_before: bool) -> list[str]:
        """Return the white space at the end of the text before each atom, or at the beginning of the text after it."""
        found, space = list[str](), ""
        for atom in self.atoms if is_before else reversed(self.atoms):
            found.append(space)
            text = _SPACE.sub(" ", atom.text) if self.collapses else atom.text
            if text.isspace():
                space = space + text if is_before else text + space
            elif text:
                space = text[len(text.rstrip()) :] if is_before else text[: len(text) - len(text.lstrip())]
            elif atom.kind is AtomKind.OBJECT:
                space = ""
        return found if is_before else found[::-1]

    def write(self, translation: str, tag: str) -> "list[Piece]":
        """Return a translation as the file writes texts.

        Raises:
            UserError: if its tags are not those of the text, or if it is too long.
        """
        found = self.tagged(tag)
        if translation == found.text:
            return self.raw
        if self.longest is not None and len(translation) > self.longest:
            raise self._wrong(f"has more than {self.longest} characters, which programs do not accept here")
        out = list[Piece]()
        for mark in with_spaces(self.marks(translation, found.text, tag), found):
            if isinstance(mark, str):
                out.append(self.escaped(mark))
            elif mark.kind is AtomKind.CLOSE:
                out += [piece for atom in found.elements[mark.number][1:] for piece in atom.raw]
            else:
                out += found.elements[mark.number][0].raw
        return out

    def marks(self, translation: str, text: str, tag: str) -> list[str | Mark]:
        """Return the texts and the tags of a translation; UserError if the tags are not those of the text."""
        found, opened = list[str | Mark](), list[int]()
        pattern = re.compile(rf"<(/?){tag}([1-9]\d*)(/?)>")
        end = 0
        for match in pattern.finditer(translation):
            kind = AtomKind.CLOSE if match[1] else AtomKind.OBJECT if match[3] else AtomKind.OPEN
            if end < match.start():
                found.append(translation[end : match.start()])
            found.append(Mark(int(match[2]), kind))
            end = match.end()
            if kind is AtomKind.OPEN:
                opened.append(int(match[2]))
            elif kind is AtomKind.CLOSE and (not opened or opened.pop() != int(match[2])):
                raise self._wrong(f"has {match[0]} where that is not open")
        wanted, given = ([match[0] for match in pattern.finditer(side)] for side in (text, translation))
        if sorted(wanted) != sorted(given):
            missing = [mark for mark in wanted if mark not in given]
            raise self._wrong(f"does not have {missing[0]}" if missing else "has a tag more often than its source")
        return found + [translation[end:]] * (end < len(translation))

    def _wrong(self, what: str) -> UserError:
        where = ", ".join(part for part in (self.place.name, self.place.part) if part)
        return UserError(f"{where}: is not translated, as the translation {what}")

    def escaped(self, text: str) -> bytes:
        """Return a text as the file writes it: in CDATA if all of the source is, with the same references."""
        if found := _IMPOSSIBLE.search(text):
            raise self._wrong(f"has the character U+{ord(found[0]):04X}, which XML has not")
        text = text.replace("\n", self.place.newline)
        if self._is_cdata and self._has_characters(text):
            data = text.replace("]]>", "]]]]><![CDATA[>").encode()
            return b"<![CDATA[" + data + b"]]>" if self._has_sections else data
        known = self._references
        data = text.encode().replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", known.get(">", b"&gt;"))
        if self.quote:
            data = data.replace(self.quote.encode(), b"&quot;" if self.quote == '"' else b"&apos;")
            data = data.replace(b"\n", b"&#10;")
        for character, reference in known.items():
            if character not in "&<>;#" and not character.isalnum():
                data = data.replace(character.encode(), reference)
        return data if not self._is_cdata or self._has_sections else b"]]>" + data + b"<![CDATA["

    @cached_property
    def _is_cdata(self) -> bool:
        """Whether all words are in CDATA sections."""
        own = [atom.token.cdata for atom in self.atoms if atom.kind is AtomKind.TEXT and atom.text.strip()]
        return bool(own) and all(own)

    @cached_property
    def _has_sections(self) -> bool:
        """Whether the ends of CDATA sections are within it; otherwise, they are around it."""
        return any(atom.kind is AtomKind.NOTHING for atom in self.atoms)

    def _has_characters(self, text: str) -> bool:
        try:
            text.encode(self.place.encoding)
        except UnicodeEncodeError:
            return False
        return True

    @cached_property
    def _references(self) -> dict[str, bytes]:
        """Return how this text, or else the file, writes characters; one that occurs plainly too is written so."""
        found = dict[str, bytes]()
        plain = "".join(atom.text for atom in self.atoms if atom.text and not atom.token.raw.startswith(b"&"))
        for atom in self.atoms:
            if atom.text and atom.token.raw.startswith(b"&"):
                found.setdefault(atom.text, atom.token.raw)
        known = self.place.references | found
        return known | {character: character.encode() for character in known if character in plain}


Piece = bytes | Change | Content


def as_read(pieces: Sequence[Piece]) -> bytes:
    """Return the bytes of pieces as the file has them, without the texts in them."""
    return b"".join(
        piece if isinstance(piece, bytes) else piece.old for piece in pieces if not isinstance(piece, Content)
    )


def with_spaces(marks: Sequence[str | Mark], source: Tagged) -> list[str | Mark]:
    """Return a translation with the white space beside elements without width that the file has in the source."""
    out = list(marks)
    texts = [i for i, mark in enumerate(marks) if isinstance(mark, str)]
    n_texts = 0  # before the mark
    for mark in marks:
        if isinstance(mark, str):
            n_texts += 1
        elif mark.kind is AtomKind.OPEN and (mark.number in source.breaks or mark.number in source.apart):
            before = texts[n_texts - 1] if n_texts else None
            after = texts[n_texts] if n_texts < len(texts) else None
            left, right = (str(out[n]) if n is not None else "" for n in (before, after))
            if mark.number in source.apart:
                left = left if left.endswith(" ") else left + " "
                right = " " + right if right[:1].isalnum() else right
            else:
                space_before, space_after = source.breaks[mark.number]
                left, right = left.rstrip() + space_before, space_after + right.lstrip()
            if before is not None:
                out[before] = left
            if after is not None:
                out[after] = right
    return out


@dataclass(eq=False)
class Quoted(Content):
    """A text between quotation marks within a value or an instruction."""

    def escaped(self, text: str) -> bytes:
        """Return a text as the file writes it, without the mark that would end it."""
        return super().escaped(text.replace('"', "\u201d"))


def contents(atoms: Sequence[Atom], place: Place, collapses: bool = False) -> list[Piece]:
    """Return the units of the content of a UNIT, and the bytes around them.

    A pair that is open at either end divides the content. White space and elements without width at the ends of a
    unit are outside of it, and so is a pair around all of it.
    """
    out, segment = list[Piece](), list[Atom]()
    partners = pairs(atoms)
    for i, atom in enumerate(atoms):
        if atom.kind in (AtomKind.OPEN, AtomKind.CLOSE) and i not in partners:
            out += _content(segment, place, collapses)
            out += atom.raw
            segment = []
        else:
            segment.append(atom)
    return out + _content(segment, place, collapses)


def pairs(atoms: Sequence[Atom]) -> dict[int, int]:
    """Return the place of the other tag of each complete pair."""
    opened, partners = list[int](), dict[int, int]()
    for i, atom in enumerate(atoms):
        if atom.kind is AtomKind.OPEN:
            opened.append(i)
        elif atom.kind is AtomKind.CLOSE and opened:
            partners[i] = opened.pop()
            partners[partners[i]] = i
    return partners


def is_complete(atoms: Sequence[Atom]) -> bool:
    """Return whether all pairs are complete; they are not where a UNIT within a pair divides another."""
    return len(pairs(atoms)) == sum(atom.kind in (AtomKind.OPEN, AtomKind.CLOSE) for atom in atoms)


def _content(atoms: Sequence[Atom], place: Place, collapses: bool) -> list[Piece]:
    """Return a unit, and the bytes around it; bytes alone if it has no text."""
    atoms = with_divided_ends(_merged(atoms))
    start, stop = core(atoms)
    if start == stop:
        return [piece for atom in atoms for piece in atom.raw]
    before = [piece for atom in atoms[:start] for piece in atom.raw]
    after = [piece for atom in atoms[stop:] for piece in atom.raw]
    return [*before, Content(atoms[start:stop], place, collapses), *after]


def _merged(atoms: Sequence[Atom]) -> list[Atom]:
    """Return the atoms with neighbours without width as one."""
    out = list[Atom]()
    for is_widthless, group in groupby(atoms, lambda atom: atom.kind in (AtomKind.POINT, AtomKind.SPACE)):
        same = list(group)
        if is_widthless and len(same) > 1:
            kind = AtomKind.SPACE if any(atom.kind is AtomKind.SPACE for atom in same) else AtomKind.POINT
            same = [replace(same[0], kind=kind, raw=[piece for atom in same for piece in atom.raw])]
        out += same
    return out


def core(atoms: Sequence[Atom]) -> tuple[int, int]:
    """Return the atoms from the first to the last word, in complete pairs; nothing if there is no text."""
    if not any(atom.text.strip() for atom in atoms):
        return 0, 0
    partners, start, stop = pairs(atoms) | _sections(atoms), 0, len(atoms)
    outside = (AtomKind.POINT, AtomKind.SPACE)
    is_outside = [atom.kind in outside or (atom.kind is AtomKind.TEXT and not atom.text.strip()) for atom in atoms]
    while True:
        if is_outside[start]:
            start += 1
        elif is_outside[stop - 1]:
            stop -= 1
        elif partners.get(start) == stop - 1:
            start, stop = start + 1, stop - 1
        elif atoms[start].kind is AtomKind.OPEN and all(is_outside[start + 1 : partners[start]]):
            start = partners[start] + 1
        elif atoms[stop - 1].kind is AtomKind.CLOSE and all(is_outside[partners[stop - 1] + 1 : stop - 1]):
            stop = partners[stop - 1]
        else:
            return start, stop


def with_divided_ends(atoms: Sequence[Atom]) -> list[Atom]:
    """Return the atoms with white space before the first word and after the last one as atoms of their own."""
    out = list(atoms)
    words = [i for i, atom in enumerate(out) if atom.text.strip()]
    if words:
        out[words[-1] : words[-1] + 1] = _divided(out[words[-1]], at_end=True)
        out[words[0] : words[0] + 1] = _divided(out[words[0]], at_end=False)
    return out


def _divided(atom: Atom, *, at_end: bool) -> list[Atom]:
    """Return the two atoms of a text and the white space at one end of it."""
    raw = atom.token.raw
    at = len(raw.rstrip()) if at_end else len(raw) - len(raw.lstrip())
    if at in (0, len(raw)) or list(atom.raw) != [raw]:
        return [atom]
    return [
        replace(atom, raw=[part], text=part.decode().replace("\r\n", "\n"), token=atom.token._replace(raw=part))
        for part in (raw[:at], raw[at:])
    ]


def _sections(atoms: Sequence[Atom]) -> dict[int, int]:
    """Return the place of the other end of each CDATA section."""
    ends = [i for i, atom in enumerate(atoms) if atom.token.kind is Kind.CDATA]
    return dict(zip(ends[::2], ends[1::2], strict=False)) | dict(zip(ends[1::2], ends[::2], strict=False))


# Parts


@dataclass
class Part:
    """XML that is divided into the texts to translate and the bytes around them.

    Attributes:
        pieces: those of the file; within texts are others.
        contents: its texts in the order of the file.
        encoding: of the file.
    """

    pieces: list[Piece]
    contents: list[Content]
    encoding: str

    def write(self, written: Mapping[Content, Sequence[Piece]], *, is_translated: bool = False) -> bytes:
        """Return the file with other pieces for some texts; without any, the file that was read.

        Args:
            is_translated: whether the file is a translation without them, too.
        """
        out, waiting = list[bytes](), [iter(self.pieces)]
        while waiting:
            piece = next(waiting[-1], None)
            if piece is None:
                waiting.pop()
            elif isinstance(piece, bytes):
                out.append(piece)
            elif isinstance(piece, Change):
                out.append(piece.new if written or is_translated else piece.old)
            else:
                waiting.append(iter(written.get(piece, piece.raw)))
        return encoded(b"".join(out), self.encoding)


class Parts:
    """A document of one or more files of XML; see `translate.documents.document.ParsedDocument`.

    Args:
        parts: by the names of their files.
    """

    is_translated = False  # before any text is

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._parts = parts
        self._contents = [content for part in parts.values() for content in part.contents]
        self._tag = "g"
        while any(content.may_contain(self._tag) for content in self._contents):
            self._tag += "g"

    @cached_property
    def units(self) -> list[Unit]:
        """The texts to translate, in the order of the parts."""
        return [Unit(content.text(self._tag), content.place.part) for content in self._contents]

    def write_parts(self, translations: Sequence[str | None]) -> dict[str, bytes]:
        """Return the file of each part; the files that were read if no translation differs from its text.

        A text whose translation has not its tags stays, and is reported.
        """
        written = dict[Content, Sequence[Piece]]()
        for content, unit, text in zip(self._contents, self.units, translations, strict=True):
            if text is not None and text != unit.text:
                try:
                    written[content] = content.write(text, self._tag)
                except UserError as error:
                    content.place.report(str(error))
        return {name: part.write(written, is_translated=self.is_translated) for name, part in self._parts.items()}

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file of a document with one part."""
        (data,) = self.write_parts(translations).values()
        return data


class Package(Parts):
    """A document of parts in an archive."""

    def __init__(self, archive: "Archive", parts: Mapping[str, Part]) -> None:
        super().__init__(parts)
        self._archive = archive

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the archive; members without texts are copied."""
        return self._archive.write(self.write_parts(translations))


def read(data: bytes, table: Table, reading: Reading) -> Parts:
    """Return a document of one file."""
    return Parts({"": divide(data, table, reading)})


def divide(data: bytes, table: Table, reading: Reading, part: str = "") -> Part:
    """Divide a file.

    Args:
        part: the name of the file in an archive.

    Raises:
        UserError: if it is damaged.
    """
    division = _Division(data, table, reading, part)
    is_collecting = gc.isenabled()
    gc.disable()  # hundreds of thousands of objects are kept, and looking for garbage among them takes a third more
    try:
        return division.result()
    finally:
        if is_collecting:
            gc.enable()


@dataclass(slots=True)
class _Frame:
    """An element whose content is handled in a way of its own.

    Attributes:
        depth: its depth; its end is that of an element as deep.
        role: BLOCK if text in it is copied and units in it are found, UNIT, COPY or LANGUAGE.
        pieces: receives its bytes, and those of units in it.
        atoms: of a UNIT, those since its start or the last unit in it.
        atom: the kind of atom that it is in a unit around it, and its start.
        start: the start tag of a UNIT.
    """

    depth: int
    role: Role
    pieces: list[Piece]
    atoms: list[Atom] = field(default_factory=list)
    atom: tuple[AtomKind, Token] | None = None
    start: Token = Token(Kind.START, b"", 0)


class _Division:
    """Frames of elements, the innermost last; the token is handled by the role of that one."""

    def __init__(self, data: bytes, table: Table, reading: Reading, part: str) -> None:
        self._data, encoding = decoded(data, f"{reading.name}: {part}" if part else reading.name)
        self._table, self._reading = table, reading
        self._texts = table.texts.get("", ())
        newline = "\r\n" if b"\r\n" in self._data else "\n"
        self._place = Place(reading.name, part, encoding, newline, report=reading.report)
        self._pieces = list[Piece]()
        self._frames = [_Frame(0, Role.BLOCK, self._pieces)]
        self._waiting: _Frame | None = None  # a UNIT that may go on in the next one
        self._contents = list[Content]()
        self._depth = 0

    def result(self) -> Part:
        """Return the part."""
        name = ": ".join(part for part in (self._place.name, self._place.part) if part)
        table = self._table
        all_tokens = tokens(
            self._data, name, table.prefixes, declares_entities=table.declares_entities, entities=table.entities
        )
        for token in all_tokens:
            if token.kind is Kind.START:
                self._depth += 1
                self._start(token)
            elif token.kind is Kind.END:
                self._end(token)
                self._depth -= 1
            else:
                self._other(token)
        return Part(self._pieces, sorted(self._contents, key=lambda content: content.start), self._place.encoding)

    def _start(self, token: Token) -> None:
        frame, table = self._frames[-1], self._table
        translates = table.translates(token) if token.attributes else None
        if frame.role is Role.COPY and not translates and table.elements.get(token.name) is not Role.BLOCK:
            self._copy(token.raw)
            return
        role = (table.role(token) if table.role else None) or table.elements.get(token.name)
        if self._waiting and (role is not Role.UNIT or translates is False):
            self._stop_waiting()
        if translates is False:
            self._keep(token, role)
            return
        role = Role.UNIT if translates and frame.role is Role.COPY else role
        raw = self._tag(token) if role is not Role.COPY else list[Piece]([token.raw])
        if self._waiting:
            self._waiting.depth = self._depth
            self._waiting.atoms.append(Atom(AtomKind.POINT, token, raw))
            self._frames.append(self._waiting)
            self._waiting = None
            return
        if frame.role is not Role.UNIT:
            frame.pieces += raw
            role = Role.UNIT if role is Role.ASIDE else role
            if role in (Role.UNIT, Role.COPY, Role.LANGUAGE) or frame.role is Role.COPY:
                self._frames.append(_Frame(self._depth, role or Role.BLOCK, frame.pieces, start=token))
            return
        role = table.inside if role in (None, Role.BLOCK, Role.LANGUAGE) else role
        role = Role.POINT if role is Role.PAIR and token.raw.endswith(b"/>") else role
        if role is Role.UNIT:
            self._finish(frame)
            frame.pieces += raw
            self._frames.append(_Frame(self._depth, Role.UNIT, frame.pieces, start=token))
        elif role is Role.PAIR:
            frame.atoms.append(Atom(AtomKind.OPEN, token, raw))
        elif role is Role.TEXT:
            text = table.characters(token)
            self._frames.append(_Frame(self._depth, Role.COPY, raw, atom=(AtomKind.TEXT, token._replace(text=text))))
        elif role is Role.BLOCK:  # as if its tags were not there
            frame.atoms.append(Atom(AtomKind.NOTHING, token, raw))
        else:
            inner = {Role.COPY: Role.COPY, Role.ASIDE: Role.UNIT}.get(role, Role.BLOCK)
            self._frames.append(_Frame(self._depth, inner, raw, atom=(_ATOMS[role], token), start=token))

    def _keep(self, token: Token, role: Role | None) -> None:
        """Copy an element; in a text it stands for a word, or divides the text, as it would if it was translated."""
        frame, raw = self._frames[-1], list[Piece]([token.raw])
        role = self._table.inside if role is None else role
        if frame.role is Role.UNIT and role is Role.UNIT:
            self._finish(frame)
        elif frame.role is Role.UNIT:
            kind = AtomKind.OBJECT if role is Role.PAIR else _ATOMS.get(role, AtomKind.POINT)
            self._frames.append(_Frame(self._depth, Role.COPY, raw, atom=(kind, token)))
            return
        frame.pieces += raw
        self._frames.append(_Frame(self._depth, Role.COPY, frame.pieces))

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._finish(self._waiting)
            self._waiting = None

    def _end(self, token: Token) -> None:
        self._stop_waiting()
        frame = self._frames[-1]
        if frame.depth < self._depth:
            if frame.role is Role.UNIT:
                frame.atoms.append(Atom(AtomKind.CLOSE, token, [token.raw]))
            else:
                self._copy(token.raw)
            return
        if frame.role is Role.UNIT and not frame.atom and self._table.goes_on(frame.atoms):
            frame.atoms.append(Atom(AtomKind.POINT, token, [token.raw]))
            self._waiting = self._frames.pop()
            return
        if frame.role is Role.UNIT:
            self._finish(frame)
        self._frames.pop()
        self._add(frame.pieces, token.raw)
        if frame.atom:
            kind, first = frame.atom
            self._frames[-1].atoms.append(Atom(kind, first, _joined(frame.pieces), first.text))

    def _other(self, token: Token) -> None:
        self._stop_waiting()
        frame = self._frames[-1]
        if frame.role is Role.UNIT:
            kind = {
                Kind.TEXT: AtomKind.TEXT,
                Kind.CDATA: AtomKind.NOTHING,
                Kind.REFERENCE: AtomKind.OBJECT,
            }.get(token.kind, AtomKind.POINT)
            frame.atoms.append(Atom(kind, token, [token.raw], token.text))
        elif frame.role is Role.LANGUAGE and token.kind is Kind.TEXT:
            new = self._table.language(token.text.strip())
            frame.pieces.append(token.raw if new is None else Change(token.raw, new.encode()))
        else:
            self._copy(token.raw)
        if token.kind is Kind.TEXT and token.raw.startswith(b"&") and token.text in _OFTEN_ESCAPED:
            self._place.references.setdefault(token.text, token.raw)

    def _copy(self, raw: bytes) -> None:
        self._add(self._frames[-1].pieces, raw)

    def _add(self, pieces: list[Piece], raw: bytes) -> None:
        if raw:
            pieces.append(raw)

    def _finish(self, frame: _Frame) -> None:
        """Make units of the atoms of a frame."""
        atoms, frame.atoms = frame.atoms, []
        if self._table.contents is not None:
            found = self._table.contents(frame.start, atoms, self._place)
        else:
            found = contents(atoms, self._place, self._table.collapses)
        inner = {piece for atom in atoms for piece in atom.raw if isinstance(piece, Content)}
        self._contents += [piece for piece in found if isinstance(piece, Content) and piece not in inner]
        frame.pieces += found

    def _tag(self, token: Token) -> list[Piece]:
        """Return the pieces of a start tag: attributes may be units, and others may change."""
        table = self._table
        if not token.attributes:
            return [token.raw]
        texts = [*table.texts.get(token.name, ()), *self._texts]
        texts += table.more_texts(token) if table.more_texts else ()
        changes = table.changes(token) if table.changes else {}
        if not changes.keys() <= token.attributes.keys():
            return [Change(token.raw, with_attributes(token.raw, changes))]
        if not changes and not any(name in token.attributes for name in texts):
            return [token.raw]
        out, end = list[Piece](), 0
        for name, (start, stop) in zip(token.attributes, _value_spans(token.raw), strict=True):
            raw, quote = token.raw[start:stop], token.raw[start - 1 : start].decode()
            piece: Piece | None = None
            if name in texts and name in table.quoted:
                out += [token.raw[end:start], *self._quoted(raw, token.start + start, table.quoted[name], quote)]
                end = stop
            elif name in changes:
                piece = Change(raw, changes[name].encode())
            elif name in texts and any(map(str.isalpha, token.attributes[name])):
                atoms = self._value(raw, token.start + start, token.attributes[name])
                piece = Content(atoms, self._place, quote=quote, longest=table.longest.get(name))
                self._contents.append(piece)
            if piece is not None:
                out += [token.raw[end:start], piece]
                end = stop
        return [*out, token.raw[end:]]

    def _quoted(self, raw: bytes, start: int, pattern: re.Pattern[bytes], quote: str) -> list[Piece]:
        """Return the pieces of the value of an attribute with texts between quotation marks."""
        out, end = list[Piece](), 0
        spans = [match.span("text") for match in pattern.finditer(raw) if match["text"] is not None]
        texts = [unescaped(raw[a:b].decode()) for a, b in spans]
        for (a, b), text in zip(spans, texts, strict=True) if any(map(has_word, texts)) else ():
            if sum(map(str.isalpha, text)) > 1:  # "Ja" beside "Nein"
                atom = Atom(AtomKind.TEXT, Token(Kind.TEXT, raw[a:b], start + a, text=text), [raw[a:b]], text)
                content = Quoted([atom], self._place, quote=quote)
                self._contents.append(content)
                out += [raw[end:a], content]
                end = b
        return [*out, raw[end:]]

    def _value(self, raw: bytes, start: int, text: str) -> list[Atom]:
        """Return the atoms of the value of an attribute."""
        if self._table.codes is None or not self._table.codes.search(raw):
            return [Atom(AtomKind.TEXT, Token(Kind.TEXT, raw, start, text=text), [raw], text)]
        atoms, end = list[Atom](), 0
        for match in [*self._table.codes.finditer(raw), None]:
            stop = match.start() if match else len(raw)
            if words := raw[end:stop]:
                own = Token(Kind.TEXT, words, start + end, text=unescaped(words.decode()))
                atoms.append(Atom(AtomKind.TEXT, own, [words], own.text))
            if match:
                code = Token(Kind.REST, match[0], start + stop)
                atoms.append(Atom(AtomKind.OBJECT, code, [code.raw]))
                end = match.end()
        return atoms


def has_word(text: str) -> bool:
    """Return whether a text has a word, and not only units such as kg, kWh and EUR."""
    return any(word[1:].islower() for word in _WORD.findall(text))


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Return pieces of bytes as one; others stay apart, as texts and bytes that may change."""
    try:
        return [b"".join(pieces)]  # type: ignore[arg-type]
    except TypeError:
        return pieces


def _value_spans(raw: bytes) -> list[tuple[int, int]]:
    """Return where the values of the attributes of a start tag are, without declarations of namespaces."""
    return [
        match.span("double") if match["double"] is not None else match.span("single")
        for match in _ATTRIBUTE.finditer(raw)
        if match["name"] != b"xmlns" and not match["name"].startswith(b"xmlns:")
    ]
