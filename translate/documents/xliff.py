"""XLIFF 1.0 to 1.2 and 2.0 to 2.2: empty targets are filled from their sources.

Sources, locked units, existing targets, notes and other translations of a unit stay. A target is written after the
source, with the segments of `seg-source`, and with each inline code of the source as it is there. Unless translations
are final, they are marked as made by a machine: in XLIFF 1 by state="needs-review-translation" and
state-qualifier="mt-suggestion", in XLIFF 2 by state="translated" and subState="translate:mt".

Codes that open and close formatting are a pair in a text, however the file writes them: as one element (g, pc), as two
(bx and ex, bpt and ept, sc and ec), as two placeholders whose native codes are tags, such as <b> and </b>, or whose
names are START_LINK and CLOSE_LINK, or as text, as Phrase does: {b>words<b}.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import NamedTuple

from translate.documents.document import Reading, Unit
from translate.documents.edits import (
    half,
    is_icu,
    other_codes,
    variables,
    with_mnemonic,
    without_key,
    without_quotations,
)
from translate.documents.xml import (
    Atom,
    AtomKind,
    Content,
    Kind,
    Piece,
    Place,
    Token,
    contents,
    decoded,
    encoded,
    tokens,
    with_attributes,
)
from translate.errors import UserError
from translate.text.placeholders import DOCUMENT_TAG

_NAMESPACES = {f"urn:oasis:names:tc:xliff:document:{version}": "" for version in ("1.1", "1.2", "2.0", "2.2")}
_NATIVE = {"ph", "bpt", "ept", "it", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp"}  # elements whose text is no prose
_OPENING = {"bx": "rid", "bpt": "rid", "sc": "id", "sm": "id"}  # and the attribute that names them to the closing one
_CLOSING = {"ex": "rid", "ept": "rid", "ec": "startRef", "em": "startRef"}
_TAG = re.compile(r"<(/?)(\w[\w:.-]*)(?:\s[^<>]*)?(?<!/)>")  # a native code that is one half of a pair
_SIZES = "{urn:oasis:names:tc:xliff:sizerestriction:2.0}"
_PHRASE = "{http://www.memsource.com/mxlf/"
_CODE_AS_TEXT = re.compile(r"\{(?P<opens>\w{1,9})>|<(?P<closes>\w{1,9})\}")  # of Phrase
_ITS = "{http://www.w3.org/2005/11/its}translate"
_DELETED = "x-sdl-deleted"  # of Trados, by a tracked change
_LINE_BREAKS = ("lb", "xlf:lb")
_NAME = re.compile(rb"<([^\s/>]+)")
_variables = partial(variables, has_marks=False)
_LANGUAGE = re.compile(rb"""\sxml:lang\s*=\s*["']([\w-]*)""")


def read(data: bytes, reading: Reading) -> "Xliff":
    """Divide a file of XLIFF; see `Format.read`."""
    data, encoding = decoded(data, reading.name)
    return _Reader(reading, encoding).read(data)


# Segments


@dataclass(eq=False)
class _Text:
    """A text to translate, and the bytes around it.

    Attributes:
        pieces: of the source.
        old: its target in the file; "" if it has none.
        done: that target, or None if it is empty.
    """

    pieces: Sequence[Piece]
    old: bytes = b""
    done: "Content | None" = None

    @property
    def is_code(self) -> bool:
        """Whether it has codes and nothing to translate."""
        return any(isinstance(piece, bytes) and piece.strip() for piece in self.pieces) and not any(self.contents)

    @property
    def contents(self) -> Iterator[Content]:
        """The text, and those within its codes."""
        for piece in self.pieces:
            if isinstance(piece, Content):
                yield piece
                yield from (inner for atom in piece.atoms for inner in atom.raw if isinstance(inner, Content))


@dataclass(eq=False)
class _Segment:
    """A unit of XLIFF 1 or a segment of XLIFF 2.

    Attributes:
        head: the start tag of a segment, which has its state; "" in XLIFF 1.
        before, old, after: what is before the target, the target, and what is after it; all of it together is the file.
        start: the start tag of the target.
        end: its end tag.
        target: the texts, and the bytes between them.
        longest: characters that the target may have.
    """

    head: bytes
    before: bytes
    old: bytes
    after: bytes
    start: bytes
    end: bytes
    target: Sequence[bytes | _Text]
    longest: int | None = None

    @property
    def texts(self) -> list[_Text]:
        return [part for part in self.target if isinstance(part, _Text)]

    @property
    def raw(self) -> bytes:
        return b"".join([self.head, self.before, self.old, self.after])


@dataclass
class _Languages:
    """A start tag that states the language of targets.

    Attributes:
        stated: that language; "" if none is stated.
        is_used: whether targets in it have text.
    """

    raw: bytes
    attribute: str
    stated: str
    is_used: bool = False


@dataclass
class Xliff:
    """A file of XLIFF; see `ParsedDocument`."""

    reading: Reading
    encoding: str
    version: str
    pieces: "Sequence[bytes | _Languages | _Segment]"
    tag: str = field(init=False)

    def __post_init__(self) -> None:
        texts = [content for text in self._texts() for content in text.contents]
        self.tag = "g"
        while any(content.may_contain(self.tag) for content in texts):
            self.tag += "x"

    def _texts(self) -> Iterator[_Text]:
        for piece in self.pieces:
            if isinstance(piece, _Segment):
                yield from piece.texts

    @property
    def units(self) -> list[Unit]:
        """The texts of all segments that are not locked; see `ParsedDocument`."""
        found = list[Unit]()
        for text in self._texts():
            done = self._done(text)
            for content in text.contents:
                shown, _ = without_key(content.text(self.tag), _variables)
                found.append(Unit(shown, content.place.part, done))
        return found

    def _done(self, text: _Text) -> str | None:
        """Return the target that a text has, with the numbers of the source's tags for the same codes."""
        if text.done is None:
            return None
        content, target = next(text.contents, None), text.done.tagged(self.tag)
        own, free = dict[tuple[str, str | None], list[int]](), 0
        for free, atoms in content.tagged(self.tag).elements.items() if content else ():
            own.setdefault(_key(atoms[0]), []).append(free)
        numbers = dict[int, int]()
        for number, atoms in target.elements.items():
            same = own.get(_key(atoms[0]))
            free += not same
            numbers[number] = same.pop(0) if same else free
        tags = re.compile(rf"(</?{self.tag})(\d+)(/?>)")
        return tags.sub(lambda match: f"{match[1]}{numbers[int(match[2])]}{match[3]}", target.text)

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file with targets; see `ParsedDocument`."""
        given, places = dict[Content, str](), [(text, content) for text in self._texts() for content in text.contents]
        has_icu = is_icu("\n".join(content.text(self.tag) for _, content in places))
        for (text, content), translation in zip(places, translations, strict=True):
            if translation is None or translation == self._done(text):
                continue
            source, mark = without_key(content.text(self.tag), _variables)
            if wrong := other_codes(source, translation, _variables):
                where = f"{self.reading.name}, {content.place.part}"
                self.reading.report(f"{where}: is not translated, as the translation {wrong}")
            else:
                whole = with_mnemonic(translation, mark, _variables) if mark else translation
                given[content] = without_quotations(whole, source) if has_icu else whole
        if not given:
            return encoded(b"".join(map(self._unchanged, self.pieces)), self.encoding)
        return encoded(b"".join(self._written(piece, given) for piece in self.pieces), self.encoding)

    def _unchanged(self, piece: "bytes | _Languages | _Segment") -> bytes:
        return piece if isinstance(piece, bytes) else piece.raw

    def _written(self, piece: "bytes | _Languages | _Segment", given: Mapping[Content, str]) -> bytes:
        """Return a piece of a file that is translated."""
        if isinstance(piece, bytes):
            return piece
        if isinstance(piece, _Languages):
            is_stated = self.reading.is_stated(piece.stated)
            return piece.raw if is_stated else with_attributes(piece.raw, {piece.attribute: self.reading.target})
        translated = [text for text in piece.texts if any(content in given for content in text.contents)]
        is_code = bool(piece.texts) and all(text.is_code and not text.old for text in piece.texts)
        if not translated and not is_code:
            return piece.raw
        if piece.longest is not None and self._length(piece, given) > piece.longest:
            place = next(content.place for text in piece.texts for content in text.contents)
            what = f"has more than {piece.longest} characters, which the file does not allow here"
            self.reading.report(f"{self.reading.name}, {place.part}: is not translated, as the translation {what}")
            return piece.raw
        marks = self._marks(by_machine=bool(translated))
        start, head = piece.start, piece.head
        if head:
            head = with_attributes(head, marks)
        else:
            start = with_attributes(start, marks)
        if (stated := _LANGUAGE.search(start)) and not self.reading.is_stated(stated[1].decode()):
            start = with_attributes(start, {"xml:lang": self.reading.target})
        parts = (
            part if isinstance(part, bytes) else self._target(part, given, part in translated) for part in piece.target
        )
        return b"".join([head, piece.before, start, *parts, piece.end, piece.after])

    def _length(self, segment: _Segment, given: Mapping[Content, str]) -> int:
        """Return the number of characters of a target, without codes."""
        contents = (content for text in segment.texts for content in text.contents)
        return sum(len(DOCUMENT_TAG.sub("", given.get(content, ""))) for content in contents)

    def _marks(self, by_machine: bool) -> dict[str, str | None]:
        """Return the attributes that say what a target is."""
        is_marked = by_machine and not self.reading.final
        if self.version.startswith("2"):
            return {"state": "translated", "subState": "translate:mt" if is_marked else None}
        marks: dict[str, str | None] = {"state": "needs-review-translation" if is_marked else "translated"}
        return marks if self.version == "1.0" else marks | {"state-qualifier": "mt-suggestion" if is_marked else None}

    def _target(self, text: _Text, given: Mapping[Content, str], is_translated: bool) -> bytes:
        """Return the target of a text: its translation, the one in the file, or the codes of a source without text."""
        if not is_translated and (text.old or not text.is_code):
            return text.old
        return b"".join(self._rendered(piece, given) for piece in text.pieces)

    def _rendered(self, piece: Piece, given: Mapping[Content, str]) -> bytes:
        """Return a piece of a source in its target."""
        if not isinstance(piece, Content):
            return piece if isinstance(piece, bytes) else piece.old
        translation = given.get(piece)
        if translation is None:
            return b"".join(self._rendered(inner, given) for inner in piece.raw)
        ordered = _in_order(translation, piece, self.tag)
        return b"".join(self._rendered(inner, given) for inner in piece.write(ordered, self.tag))


def _key(atom: Atom) -> tuple[str, str | None]:
    """Return what a code has in a source and in its target."""
    attributes = atom.token.attributes
    return atom.token.name, attributes.get("id") or attributes.get("startRef") or attributes.get("mid")


# Reading


class _Context(NamedTuple):
    """Settings of units: whether they may be translated, whether their white space stays, whether they are new.

    `longest` is the number of characters that a target may have, or None.
    """

    is_open: bool = True
    preserves: bool = False
    is_new: bool = False
    longest: int | None = None

    def inside(self, token: Token) -> "_Context":
        """Return the context in an element."""
        translate, space = token.attributes.get("translate"), token.attributes.get("xml:space")
        is_open = self.is_open if translate is None else translate != "no"
        if any(name.rpartition("}")[2] == "locked" and value in _LOCKED for name, value in token.attributes.items()):
            is_open = False
        preserves = self.preserves if space is None else space == "preserve"
        return _Context(is_open, preserves, self.is_new, _longest(token, self.longest))


def _longest(token: Token, around: int | None) -> int | None:
    """Return the number of characters that an element allows in targets; None if it counts otherwise.

    Args:
        around: what holds around it.
    """
    width = token.attributes.get("maxwidth")
    size = token.attributes.get(f"{_SIZES}sizeRestriction", "").rpartition(",")[2] if width is None else width
    if not size:
        return around
    is_counted = size.isascii() and size.isdecimal() and (width is None or token.attributes.get("size-unit") == "char")
    return int(size) if is_counted else None


_NEW = {"new", "needs-translation", "initial"}  # states in which a target that equals its source is a copy of it

_LOCKED = {"true", "yes", "1", "locked"}  # values of attributes of SDL, memoQ and Phrase


class _Child(NamedTuple):
    """A child of a unit: its tokens, and where they are among those of the unit."""

    name: str
    start: int
    stop: int
    tokens: Sequence[Token]

    @property
    def inside(self) -> Sequence[Token]:
        """The tokens between its tags."""
        return self.tokens[1:-1]


class _Reader:
    """Divides a file, one unit of XLIFF 1 or segment of XLIFF 2 at a time."""

    def __init__(self, reading: Reading, encoding: str) -> None:
        self._reading, self._encoding = reading, encoding
        self._pieces: list[bytes | _Languages | _Segment] = []
        self._context = [_Context()]
        self._unit = ""  # id of the unit of a segment
        self._version = ""
        self._has_codes_as_text = False
        self._languages: _Languages | None = None
        self._counts_characters = True  # in sizes of XLIFF 2, whose unit each file may say

    def read(self, data: bytes) -> Xliff:
        self._newline = "\r\n" if b"\r\n" in data else "\n"
        held, depth = list[Token](), 0
        for token in tokens(data, self._reading.name, _NAMESPACES):
            if not self._version and token.kind is Kind.START:
                self._root(token)
            if held:
                held.append(token)
                depth += (token.kind is Kind.START) - (token.kind is Kind.END)
                if not depth:
                    self._pieces.append(self._segment(held))
                    held = []
            elif token.kind is Kind.START and token.name == ("segment" if self._is_2 else "trans-unit"):
                held, depth = [token], 1
            else:
                self._outside(token)
        for languages in (piece for piece in self._pieces if isinstance(piece, _Languages)):
            has_other = languages.stated and not self._reading.is_target(languages.stated)
            if languages.is_used and not self._reading.replace and has_other:
                raise UserError(
                    f"{self._reading.name}: has translations into {languages.stated}, and the model translates into "
                    f"{self._reading.target}; choose another model, or add --all to replace them"
                )
        return Xliff(self._reading, self._encoding, self._version, self._pieces)

    @property
    def _is_2(self) -> bool:
        return self._version.startswith("2")

    def _root(self, token: Token) -> None:
        self._version = token.attributes.get("version", "")
        if token.name != "xliff" or self._version not in ("1.0", "1.1", "1.2", "2.0", "2.1", "2.2"):
            raise UserError(f"{self._reading.name}: is no XLIFF 1.0 to 1.2 or 2.0 to 2.2; export it in one of these")
        self._has_codes_as_text = any(name.startswith(_PHRASE) for name in token.attributes)

    def _outside(self, token: Token) -> None:
        """Copy a token outside of units."""
        if token.kind is Kind.END:
            self._context.pop()
        elif token.kind is Kind.START:
            self._context.append(self._context[-1].inside(token))
            self._unit = token.attributes.get("id", "") if token.name == "unit" else self._unit
            if token.name in ("file", f"{_SIZES}profiles"):
                profile = token.attributes.get("generalProfile")
                self._counts_characters = not self._is_2 or profile == "xliff:codepoints"
            if token.name == ("xliff" if self._is_2 else "file"):
                attribute = "trgLang" if self._is_2 else "target-language"
                self._languages = _Languages(token.raw, attribute, token.attributes.get(attribute, ""))
                self._pieces.append(self._languages)
                return
        self._pieces.append(token.raw)

    def _segment(self, held: Sequence[Token]) -> "bytes | _Segment":
        """Divide a unit of XLIFF 1 or a segment of XLIFF 2; its bytes if it is locked or has no source."""
        head, raw = held[0], [token.raw for token in held]
        children = {child.name: child for child in reversed(_children(held))}
        source, target = children.get("source"), children.get("target")
        context = self._context[-1].inside(head)
        is_locked = head.attributes.get("approved") == "yes" or head.attributes.get("state") == "final"
        if target and target.tokens[0].attributes.get("state") in ("final", "signed-off"):
            is_locked = True
        if target and self._languages and any(token.text.strip() for token in target.inside):
            self._languages.is_used = True
        if source is None or not context.is_open or is_locked:
            return b"".join(raw)
        after_source = children.get("seg-source", source)
        at = (target.start, target.stop) if target else (after_source.stop, after_source.stop)
        state = (
            head.attributes.get("state", "initial")
            if self._is_2
            else target and target.tokens[0].attributes.get("state")
        )
        context = context._replace(is_new=state in _NEW)
        texts = self._texts(source, children.get("seg-source"), target, context, held)
        start, end, space = _target_tags(source, target)
        if not target:
            space = b"".join(raw[_space_before(held, source.start) : source.start])
        return _Segment(
            raw[0] if self._is_2 else b"",
            b"".join(raw[1 if self._is_2 else 0 : at[0]]),
            b"".join(raw[slice(*at)]),
            b"".join(raw[at[1] :]),
            space + start,
            end,
            texts,
            context.longest if self._counts_characters else None,
        )

    def _texts(
        self, source: _Child, segmented: _Child | None, target: _Child | None, context: _Context, held: Sequence[Token]
    ) -> list[bytes | _Text]:
        """Return the texts of a target, and the bytes between them."""
        name = held[0].attributes.get("id", "")
        label = f"unit {self._unit or name}" + (f", segment {name}" if self._unit and name else "")
        place = Place(self._reading.name, label, self._encoding, self._newline)
        locked = {
            token.attributes.get("id")
            for token in held
            if token.name.endswith("}seg") and token.attributes.get("locked") == "true"  # of SDL
        }
        old = list(_parts(target.inside)) if target else []
        segments = {part.mid: part for part in old if part.is_segment}
        is_whole = not segments and any(token.text.strip() for part in old for token in part.tokens)
        if not segmented or is_whole:
            return [self._text(source.inside, target.inside if target else [], context.inside(source.tokens[0]), place)]
        out, inner = list[bytes | _Text](), context.inside(segmented.tokens[0])
        for part in _parts(segmented.inside):
            if not part.is_segment:
                out.append(part.raw)
                continue
            before = segments.get(part.mid)
            start, end = _open_tags(part.tokens[0], part.tokens[-1])
            if part.mid in locked:
                out.append(before.raw if before else start + end)
                continue
            own = Place(place.name, f"{place.part}, segment {part.mid}", place.encoding, place.newline)
            out += [start, self._text(part.tokens[1:-1], before.tokens[1:-1] if before else [], inner, own), end]
        return out

    def _text(self, source: Sequence[Token], target: Sequence[Token], context: _Context, place: Place) -> _Text:
        """Return the text of a source, with its target in the file."""
        if self._has_codes_as_text:
            source, target = _with_elements(source), _with_elements(target)
        # Lines in CDATA are paragraphs, as of WordPress, and no programs indent them.
        collapses = not context.preserves and not any(token.kind is Kind.CDATA for token in source)
        pieces = contents(_atoms(source, place), place, collapses)
        old = b"".join(token.raw for token in target)
        if not old.strip():
            return _Text(pieces)
        if all(token.kind is Kind.CDATA or token.text.isspace() for token in target):
            return _Text(pieces, old)
        found = contents(_atoms(target, place), place, collapses)
        if context.is_new and _shown(found) == _shown(pieces):
            return _Text(pieces, old)
        whole = Content(_atoms(target, place), place, collapses)
        return _Text(pieces, old, next((piece for piece in found if isinstance(piece, Content)), whole))


def _with_elements(inside: Sequence[Token]) -> list[Token]:
    """Return the content of a source with elements for codes that are written as text."""
    out = list[Token]()
    for is_text, group in groupby(inside, lambda token: token.kind is Kind.TEXT):
        same = list(group)
        out += _with_codes(same) if is_text else same
    return out


def _with_codes(texts: Sequence[Token]) -> Iterator[Token]:
    """Yield texts beside each other with elements for the codes in them."""
    text, end = "".join(token.text for token in texts), 0
    codes = list(_CODE_AS_TEXT.finditer(text))
    if any(token.text.encode() != token.raw and not token.raw.startswith(b"&") for token in texts) or not codes:
        yield from texts
        return
    for code in codes:
        yield from _sliced(texts, end, code.start())
        own, end = list(_sliced(texts, *code.span())), code.end()
        name, number = ("bpt", code["opens"]) if code["opens"] else ("ept", code["closes"])
        raw = b"".join(token.raw for token in own)
        yield Token(Kind.START, raw, own[0].start, name, {"id": number, "rid": number})
        yield Token(Kind.END, b"", own[0].start + len(raw), name)
    yield from _sliced(texts, end, len(text))


def _sliced(texts: Sequence[Token], start: int, stop: int) -> Iterator[Token]:
    """Yield the part of texts from one character to another; a reference is one character."""
    place = 0
    for token in texts:
        a, b = max(start - place, 0), min(stop - place, len(token.text))
        if a < b and token.raw.startswith(b"&"):
            yield token
        elif a < b:
            raw = token.text[a:b].encode()
            yield token._replace(raw=raw, text=token.text[a:b], start=token.start + len(token.text[:a].encode()))
        place += len(token.text)


def _shown(pieces: Sequence[Piece]) -> list[object]:
    """Return what a reader sees of a source or a target, with its codes, however the file writes them."""
    no_codes = (AtomKind.TEXT, AtomKind.NOTHING)
    return [
        (piece.text("g"), [_key(atom) for atom in piece.atoms if atom.kind not in no_codes])
        for piece in pieces
        if isinstance(piece, Content)
    ]


def _children(held: Sequence[Token]) -> list[_Child]:
    """Return the children of a unit."""
    found, depth, start = list[_Child](), 0, 0
    for i, token in enumerate(held):
        if token.kind is Kind.START:
            depth += 1
            start = i if depth == 2 else start
        elif token.kind is Kind.END:
            if depth == 2:
                found.append(_Child(held[start].name, start, i + 1, held[start : i + 1]))
            depth -= 1
    return found


class _Part(NamedTuple):
    """A segment of a `seg-source` or a target, or the tokens between two."""

    tokens: Sequence[Token]
    is_segment: bool

    @property
    def raw(self) -> bytes:
        return b"".join(token.raw for token in self.tokens)

    @property
    def mid(self) -> str | None:
        return self.tokens[0].attributes.get("mid")


def _parts(inside: Sequence[Token]) -> Iterator[_Part]:
    """Divide the content of a `seg-source` or a target into segments and what is between them."""
    depth, start, segment = 0, 0, -1
    for i, token in enumerate(inside):
        if token.kind is Kind.START:
            depth += 1
            if segment < 0 and token.name == "mrk" and token.attributes.get("mtype") == "seg":
                if start < i:
                    yield _Part(inside[start:i], is_segment=False)
                start, segment = i, depth
        elif token.kind is Kind.END:
            if depth == segment:
                yield _Part(inside[start : i + 1], is_segment=True)
                start, segment = i + 1, -1
            depth -= 1
    if start < len(inside):
        yield _Part(inside[start:], is_segment=False)


def _space_before(held: Sequence[Token], at: int) -> int:
    """Return where the white space before a child of a unit begins."""
    while held[at - 1].kind is Kind.TEXT and not held[at - 1].text.strip():
        at -= 1
    return at


def _open_tags(start: Token, end: Token) -> tuple[bytes, bytes]:
    """Return the tags of an element that will not be empty."""
    if end.raw:
        return start.raw, end.raw
    return re.sub(rb"\s*/>\Z", b">", start.raw), b"</" + _name(start) + b">"


def _target_tags(source: _Child, target: _Child | None) -> tuple[bytes, bytes, bytes]:
    """Return the tags of a target that will not be empty, with the language and the prefix that the file uses."""
    if target:
        start, end = _open_tags(target.tokens[0], target.tokens[-1])
        return start, end, b""
    name = _name(source.tokens[0]).removesuffix(b"source") + b"target"
    declared = b"".join(
        match[0] for match in re.finditer(rb"""\sxmlns(?::[\w.-]+)?\s*=\s*(?:"[^"]*"|'[^']*')""", source.tokens[0].raw)
    )
    return b"<" + name + declared + b">", b"</" + name + b">", b""


def _name(token: Token) -> bytes:
    """Return the name of an element as it is in the file."""
    match = _NAME.match(token.raw)
    return match[1] if match else b""


# Inline codes


@dataclass
class _Code:
    """An inline element, or the tags of one with words in it.

    Attributes:
        key: what is the same for both halves of a pair; None for an element that is none.
        is_start, is_end: which half it is.
        kind: what it is in a text if the other half is not there, or crosses other pairs.
    """

    token: Token
    raw: list[Piece]
    kind: AtomKind
    key: object = None
    is_start: bool = False
    is_end: bool = False
    text: str = ""


def _atoms(inside: Sequence[Token], place: Place, is_sub: bool = False) -> list[Atom]:
    """Return the content of a source; pairs are complete and nested."""
    codes = list(_codes(inside, place, is_sub))
    for start, end in _pairs(codes):
        start.kind, end.kind = AtomKind.OPEN, AtomKind.CLOSE
    return [Atom(code.kind, code.token, code.raw, code.text) for code in codes]


def _pairs(codes: Sequence[_Code]) -> Iterator[tuple[_Code, _Code]]:
    """Yield the halves of pairs; of two that cross, an element with words in it is one, or that which opens last."""
    waiting, starts = dict[object, list[_Code]](), dict[int, _Code]()
    for i, code in enumerate(codes):
        if code.is_start:
            waiting.setdefault(code.key, []).append(code)
        elif code.is_end and waiting.get(code.key):
            starts[i] = waiting[code.key].pop()
    wanted, crossing = {id(start) for start in starts.values()}, set[int]()
    opened = list[_Code]()
    for i, code in enumerate(codes):
        if id(code) in wanted:
            opened.append(code)
        elif start := starts.get(i):
            is_element = code.token.kind is Kind.END
            while opened and (id(opened[-1]) in crossing or (is_element and opened[-1] is not start)):
                crossing.add(id(opened.pop()))
            if id(start) not in crossing and opened[-1] is start:
                opened.pop()
                yield start, code
            crossing.add(id(start))


def _codes(inside: Sequence[Token], place: Place, is_sub: bool) -> Iterator[_Code]:
    """Yield texts and inline codes."""
    i, depth = 0, 0
    elements = list[Token]()
    while i < len(inside):
        token, i = inside[i], i + 1
        if token.kind is Kind.TEXT:
            yield _Code(token, [token.raw], AtomKind.TEXT, text=token.text)
        elif token.kind is Kind.END:
            yield _Code(token, [token.raw], AtomKind.POINT, key=depth, is_end=True)
            elements.pop()
            depth -= 1
        elif token.kind is not Kind.START:
            is_point = token.kind in (Kind.REFERENCE, Kind.REST)
            yield _Code(token, [token.raw], AtomKind.POINT if is_point else AtomKind.NOTHING)
        elif (
            token.name in _NATIVE or _translates(token) is False or inside[i].raw == b"" and inside[i].kind is Kind.END
        ):
            stop = _end(inside, i)
            code = _native(inside[i - 1 : stop], place, is_sub)
            if token.name in ("g", "pc") and _divides(inside, i - 1, stop):
                code.kind = AtomKind.OBJECT
            elif token.name in ("x", "ph") and code.key is None and (named := _half(inside, i - 1, stop)):
                code.key, code.is_start, code.is_end = named[0], named[1], not named[1]
            yield code
            i = stop
        else:
            depth += 1
            elements.append(token)
            yield _Code(token, [token.raw], AtomKind.POINT, key=depth, is_start=True)


def _divides(inside: Sequence[Token], start: int, stop: int) -> bool:
    """Return whether an element stands between two words without white space, as one for a tab or line break does."""
    before = inside[start - 1].text[-1:] if start else ""
    after = inside[stop].text[:1] if stop < len(inside) else ""
    return after.isalnum() and (before in (*".,:;!?",) or (before.islower() and after.isupper()))


def _half(inside: Sequence[Token], start: int, stop: int) -> tuple[str, bool] | None:
    """Return the name of the pair that a placeholder is half of by its own name, and whether it opens it.

    A placeholder for a date, as in "from START_DATE to END_DATE", has white space beside it.
    """
    attributes = inside[start].attributes
    tags = {Kind.START: "<", Kind.END: "</>"}
    before = tags.get(inside[start - 1].kind, inside[start - 1].text)[-1:] if start else ""
    after = tags.get(inside[stop].kind, inside[stop].text)[:2] if stop < len(inside) else ""
    return half(attributes.get("equiv") or attributes.get("id", ""), before, after)


def _translates(token: Token) -> bool | None:
    """Return whether an element says that the text in it is translated, or that it is not."""
    kind, stated = token.attributes.get("mtype"), token.attributes.get("translate", token.attributes.get(_ITS))
    if kind in ("protected", "x-protected", "x-its-translate-no", _DELETED) or stated == "no":
        return False
    return True if stated == "yes" or kind == "x-its-translate-yes" else None


def _end(inside: Sequence[Token], i: int) -> int:
    """Return the place after the end of the element whose start tag is before `i`."""
    depth = 1
    while depth:
        depth += (inside[i].kind is Kind.START) - (inside[i].kind is Kind.END)
        i += 1
    return i


def _native(element: Sequence[Token], place: Place, is_sub: bool) -> _Code:
    """Return the code of an element without words of its own."""
    token = element[0]
    name, attributes = token.name, token.attributes
    raw: list[Piece] = [one.raw for one in element] if is_sub else _with_subs(element, place)
    if name in _OPENING:
        number = attributes.get(_OPENING[name]) or attributes.get("id")
        return _Code(token, raw, AtomKind.POINT, key=(name[-1] == "m", number), is_start=True)
    if name in _CLOSING:
        number = attributes.get(_CLOSING[name]) or attributes.get("id")
        return _Code(token, raw, AtomKind.POINT, key=(name[-1] == "m", number), is_end=True)
    if name in ("it", "cp") or attributes.get("mtype") == _DELETED:
        return _Code(token, raw, AtomKind.POINT)
    if attributes.get("ctype", attributes.get("subType")) in _LINE_BREAKS:
        return _Code(token, raw, AtomKind.SPACE)
    shown = attributes.get("equiv-text") or attributes.get("disp") or "".join(one.text for one in element)
    if name in ("x", "ph") and (tag := _TAG.fullmatch(shown.strip())):
        return _Code(token, raw, AtomKind.OBJECT, key=tag[2], is_start=not tag[1], is_end=bool(tag[1]))
    is_empty_pair = name not in _NATIVE and _translates(token) is not False
    return _Code(token, raw, AtomKind.POINT if is_empty_pair else AtomKind.OBJECT)


def _with_subs(element: Sequence[Token], place: Place) -> list[Piece]:
    """Return the pieces of a code, in which texts may be."""
    out, i = list[Piece](), 0
    while i < len(element):
        token, i = element[i], i + 1
        out.append(token.raw)
        is_text = token.kind is Kind.START and (token.name == "sub" or (i > 1 and _translates(token)))
        if is_text and element[i].raw:
            stop = _end(element, i)
            out += contents(_atoms(element[i : stop - 1], place, is_sub=True), place, False)
            i = stop - 1
    return out


def _in_order(translation: str, content: Content, tag: str) -> str:
    """Return a translation in which no code that closes a pair stands before the one that opens it.

    These are codes that cross others, which the text has as points.
    """
    points, pairs = dict[object, int](), list[tuple[int, int]]()
    for number, (atom, *_) in content.tagged(tag).elements.items():
        name, attributes = atom.token.name, atom.token.attributes
        if atom.kind is AtomKind.POINT and name in _OPENING:
            points[attributes.get(_OPENING[name]) or attributes.get("id")] = number
        elif atom.kind is AtomKind.POINT and name in _CLOSING:
            start = points.pop(attributes.get(_CLOSING[name]) or attributes.get("id"), None)
            pairs += [(start, number)] if start else []
    if not pairs:
        return translation
    tags = re.compile(rf"(<{tag})(\d+)(></{tag})\2>")
    places = {int(match[2]): match.start() for match in tags.finditer(translation)}
    others = dict[int, int]()
    for start, end in pairs:
        if places.get(end, -1) < places.get(start, -1):
            others |= {start: end, end: start}

    def swapped(match: re.Match[str]) -> str:
        number = others.get(int(match[2]), int(match[2]))
        return f"{match[1]}{number}{match[3]}{number}>"

    return tags.sub(swapped, translation) if others else translation
