r"""Resources of Android (strings.xml): strings, plurals and arrays are translated in place.

Escapes such as \' and \n are characters in a text, and are written again; white space counts as `aapt` counts it, with
quotation marks that keep it. References, translatable="false" and <xliff:g> stay.
"""

import itertools
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from translate.documents.document import Reading, Unit
from translate.documents.earlier import Entry, Item, Key
from translate.documents.edits import is_icu, other_codes, variables, without_quotations
from translate.documents.xml import (
    Atom,
    AtomKind,
    Content,
    Kind,
    Parts,
    Piece,
    Place,
    Role,
    Table,
    Token,
    decoded,
    divide,
    encoded,
    tokens,
    translated_language,
    unescaped,
)
from translate.documents.xml import contents as plain_contents
from translate.errors import UserError
from translate.text.placeholders import branches

_PREFIXES = {"urn:oasis:names:tc:xliff:document:1.2": "xliff", "http://schemas.android.com/tools": "tools"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t"}
_WRITTEN = re.compile(r"""[\\'"\n\t]|\A[@?]|(?<= ) """)
_ESCAPES = {"\n": r"\n", "\t": r"\t", " ": r"\u0020"}
_REFERENCE = re.compile(r"\s*(?:@(?:\+?[\w.]+:)?\w+/[\w./]+|@null|@empty|\?[\w.:/]+)\s*")
_QUOTE = re.compile(r"""(?:[^\\"]|\\.)*+\"""", re.DOTALL)  # the first one that is not escaped
_SPACES = (" ", "\t", "\n", "\r", "\f", "\v")  # others stay as they are
_SURROGATE = re.compile("[\ud800-\udfff]")
# What aapt2 takes for an argument of a format: each percent sign but %%, %n and the last character of a text; two of
# them need numbers. Before some letters it takes the sign for a part of a time, and counts no arguments.
_ARGUMENT = re.compile(r"%(?!\Z)(?:([%n])|(\d+\$)|[-#+ ,(\d<$]*([DFKMWZkmwyz])?)")
_ELEMENT = re.compile("<[^>]*>")


@dataclass(eq=False)
class _String(Content):
    """A text whose characters are escaped as in a string of Android.

    Attributes:
        is_format: whether aapt2 looks for arguments in it.
    """

    is_format: bool = False

    @cached_property
    def _own(self) -> str:
        """Its characters as they are written."""
        return "".join(unescaped(atom.token.raw.decode()) for atom in self.atoms if atom.kind is AtomKind.TEXT)

    @cached_property
    def _has_quotes(self) -> bool:
        """Whether quotation marks are in it for its white space, which a reader never sees."""
        return _QUOTE.match(self._own) is not None

    @cached_property
    def _codes(self) -> dict[str, str]:
        """The characters that are written by their numbers."""
        numbers = [match[1] for match in _ESCAPE.finditer(self._own) if match[1]]
        return {chr(int(number, 16)): f"\\u{number}" for number in numbers if int(number, 16) > 0x7F}

    def escaped(self, text: str) -> bytes:
        """Return a text as the file writes it."""
        has_quotes = self._has_quotes and text.count('"') % 2 == 0

        def written(match: re.Match[str]) -> str:
            if match[0] == '"' and has_quotes:
                return '"'
            return _ESCAPES.get(match[0]) or f"\\{match[0]}"

        text = _WRITTEN.sub(written, text)
        for character, code in self._codes.items():
            text = text.replace(character, code)
        return super().escaped(text)

    def write(self, translation: str, tag: str) -> list[Piece]:
        """Return a translation as the file writes texts; see `Content.write`. UserError if aapt2 would not build it."""
        pieces = super().write(translation, tag)
        if self.is_format and _is_refused(pieces) and not _is_refused(self.raw):
            raise self._wrong('has percent signs that aapt2 takes for arguments; set formatted="false" for it')
        return pieces


def _is_refused(pieces: Sequence[Piece]) -> bool:
    """Return whether aapt2 refuses a text, which has arguments that are not all numbered."""
    written = b"".join(piece for piece in pieces if isinstance(piece, bytes)).decode()
    found = [match for match in _ARGUMENT.finditer(unescaped(_ELEMENT.sub("", written))) if not match[1]]
    return len(found) > 1 and not all(match[2] for match in found) and not any(match[3] for match in found)


class Strings(Parts):
    """A file of resources; see `ParsedDocument`, and `Keyed`.

    Args:
        kept: keys whose resources are those of an earlier file.
    """

    has_keys = True

    def __init__(self, data: bytes, reading: Reading, kept: Collection[Key] = ()) -> None:
        super().__init__({"": divide(data, _table(reading), reading)})
        self._data, self._reading, self._kept = data, reading, kept
        self.is_translated = bool(kept)

    @cached_property
    def units(self) -> list[Unit]:
        """The texts of the resources; see `Keyed`."""
        starts = [content.start for content in self._contents]
        spans = [(entry.start, entry.stop) for entry in self._found if entry.key in self._kept]
        kept = {i for a, b in spans for i in range(bisect_left(starts, a), bisect_left(starts, b))}
        return [replace(unit, done=unit.text) if i in kept else unit for i, unit in enumerate(super().units)]

    @cached_property
    def _found(self) -> list[Entry]:
        return list(_entries(decoded(self._data, self._reading.name)[0], self._reading.name))

    @property
    def entries(self) -> Mapping[Key, Entry]:
        """The resources; see `Keyed`."""
        return {entry.key: entry for entry in self._found}

    def wants(self, key: Key) -> bool:
        """Return whether the file has a resource; see `Keyed`."""
        return key in self.entries

    def keeping(self, kept: Mapping[Key, Entry]) -> "Strings":
        """Return the document with resources of another file; see `Keyed`."""
        data, encoding = decoded(self._data, self._reading.name)
        parts, end = list[bytes](), 0
        for entry in self._found:
            if entry.key in kept:
                parts += [data[end : entry.start], kept[entry.key].text.encode()]
                end = entry.stop
        return Strings(encoded(b"".join([*parts, data[end:]]), encoding), self._reading, kept)

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file with translations; one that has other variables than its text is reported and left out."""
        kept, has_icu = list(translations), is_icu("\n".join(unit.text for unit in self.units))
        for n, (unit, translation) in enumerate(zip(self.units, translations, strict=True)):
            if unit.done is not None:
                kept[n] = None
            if kept[n] is None or translation is None or translation == unit.text:
                continue
            kept[n] = without_quotations(translation, unit.text) if has_icu else translation
            if wrong := other_codes(unit.text, translation, variables):
                kept[n] = None
                where = f"{self._reading.name}, {unit.place}"
                self._reading.report(f"{where}: is not translated, as the translation {wrong}")
        return super().write(kept)


def read(data: bytes, reading: Reading) -> Strings:
    """Divide a file of resources; see `Format.read`."""
    return Strings(data, reading)


_LISTS = ("string-array", "array")
_COPIED = ("style", "integer-array", "declare-styleable")


def _entries(data: bytes, name: str) -> Iterator[Entry]:
    """Yield the resources that may be translated, with places in bytes: all of a plural, and each item of a list."""
    path, items, start, is_empty = list[Token](), list[tuple[int, int, bool]](), 0, True
    for token in tokens(data, name, _PREFIXES, declares_entities=True):
        if token.kind is Kind.START:
            path.append(token)
            if len(path) == 2:
                items = []
            if len(path) == 2 or (len(path) == 3 and path[1].name in _LISTS):
                start, is_empty = token.start + len(token.raw), True
        elif token.kind is Kind.END:
            depth, resource = len(path), path[min(len(path), 2) - 1]
            path.pop()
            if depth == 3 and resource.name in _LISTS:
                items.append((start, token.start if token.raw else start, is_empty))
            elif depth == 2 and token.raw and _has_key(resource):
                key: Key = tuple(filter(None, (resource.name, *map(resource.attributes.get, ("name", "product")))))
                found = [(key, (start, token.start, is_empty))]
                if resource.name in _LISTS:
                    found = [((*key, Item(n, len(items))), item) for n, item in enumerate(items, start=1)]
                for own, (a, b, says_nothing) in found:
                    yield Entry(own, a, b, data[a:b].decode(), says_nothing)
        elif token.text.strip() or token.kind is Kind.REFERENCE:
            is_empty = False


def _has_key(resource: Token) -> bool:
    attributes = resource.attributes
    return "name" in attributes and attributes.get("translatable") != "false" and resource.name not in _COPIED


def _table(reading: Reading) -> Table:
    language, is_root = translated_language(reading), True

    def role(token: Token) -> Role | None:
        nonlocal is_root
        if is_root and token.name != "resources":
            raise UserError(
                f"{reading.name}: is no file of resources of Android, as its first element is not <resources>"
            )
        is_root = False
        is_kept = token.attributes.get("translatable") == "false" or (
            token.name == "item" and token.attributes.get("type", "string") != "string"
        )
        return Role.COPY if is_kept else None

    def changes(token: Token) -> dict[str, str]:
        new = language(token.attributes.get("tools:locale", ""))
        return {"tools:locale": new} if new else {}

    return Table(
        elements={
            "string": Role.UNIT,
            "item": Role.UNIT,
            "xliff:g": Role.OBJECT,
            "br": Role.SPACE,
            **dict.fromkeys(_COPIED, Role.COPY),
        },
        prefixes=_PREFIXES,
        inside=Role.PAIR,
        role=role,
        changes=changes,
        contents=_contents,
        declares_entities=True,
    )


def _contents(start: Token, atoms: Sequence[Atom], place: Place) -> list[Piece]:
    """Return the text of a string, and the bytes around it; bytes alone for a reference to a resource, or a code."""
    text = "".join(atom.text for atom in atoms)
    is_code = variables(text) == [(0, len(text))] and not branches(text)
    if is_code or _REFERENCE.fullmatch(text):
        return [piece for atom in atoms for piece in atom.raw]
    own = replace(place, part=f"string {start.attributes['name']!r}" if "name" in start.attributes else "item")
    pieces = plain_contents(_resolved(atoms), own)
    is_format = start.name == "string" and start.attributes.get("formatted") != "false"
    is_format = is_format and not any(atom.kind is AtomKind.OPEN for atom in atoms)  # aapt2 looks into no formatting
    return [
        _String(piece.atoms, piece.place, is_format=is_format)
        if isinstance(piece, Content) and not piece.quote
        else piece
        for piece in pieces
    ]


class _Character(NamedTuple):
    """A character of a string as the reader sees it, and as it is written."""

    text: str
    raw: str
    is_escaped: bool = False

    @property
    def is_space(self) -> bool:
        return not self.is_escaped and self.text in _SPACES

    @property
    def is_quote(self) -> bool:
        return not self.is_escaped and self.text == '"'


def _resolved(atoms: Sequence[Atom]) -> list[Atom]:
    """Return the atoms with the characters of each text as a reader sees them.

    White space at the ends of a text is an atom of its own, with the quotation marks around all of a string.
    """
    runs = [
        (is_text, list(run)) for is_text, run in itertools.groupby(atoms, key=lambda atom: atom.kind is AtomKind.TEXT)
    ]
    characters = [_characters(run) if is_text else [] for is_text, run in runs]
    visible = [character for run in characters for character in run if not character.is_space]
    has_frame = len(visible) > 1 and visible[0].is_quote and visible[-1].is_quote
    has_frame = has_frame and sum(character.is_quote for character in visible) == 2
    found, keeps = list[Atom](), False
    for (is_text, run), own in zip(runs, characters, strict=True):
        if not is_text:
            found += run
            continue
        shown = list[_Character]()
        for character in own:
            keeps ^= character.is_quote
            if character.is_space and not keeps and shown and shown[-1].is_space:
                shown[-1] = shown[-1]._replace(raw=shown[-1].raw + character.raw)
            elif character.is_space and not keeps:
                shown.append(character._replace(text=" "))
            else:
                shown.append(character._replace(text="") if character.is_quote and has_frame else character)
        found += [_text(part, run[0].token) for part in _with_ends(shown) if part]
    return found


def _characters(run: Sequence[Atom]) -> list[_Character]:
    """Return the characters of adjacent texts; a backslash may stand before a reference of XML."""
    written = list[tuple[str, str]]()
    for atom in run:
        raw = atom.token.raw.decode()
        written += [(atom.text, raw)] if raw.startswith("&") and not atom.token.cdata else [(one, one) for one in raw]
    text, out, i = "".join(one for one, _ in written), list[_Character](), 0
    while i < len(written):
        match = _ESCAPE.match(text, i) if len(written[i][0]) == 1 else None
        if match is None:
            out.append(_Character("" if written[i][0] == "\\" else written[i][0], written[i][1]))
            i += 1
            continue
        character = chr(int(match[1], 16)) if match[1] else _NAMED.get(match[2], match[2])
        raw = "".join(raw for _, raw in written[i : match.end()])
        i = match.end()
        out.append(_Character(character, raw, is_escaped=True))
    return out


def _with_ends(characters: list[_Character]) -> tuple[list[_Character], ...]:
    """Divide characters into white space, words and white space."""
    words = [i for i, character in enumerate(characters) if character.text.strip()]
    if not words:
        return (characters,)
    return characters[: words[0]], characters[words[0] : words[-1] + 1], characters[words[-1] + 1 :]


def _text(characters: Sequence[_Character], first: Token) -> Atom:
    raw = "".join(character.raw for character in characters).encode()
    text = "".join(character.text for character in characters)
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Atom(AtomKind.TEXT, first._replace(raw=raw, text=text), [raw], text)
