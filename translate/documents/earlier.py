"""Files of strings in one language: the translations that an earlier file has are kept, and only new texts translated.

Such a file has no place for its source, so a translation belongs to a text by its key: the name of a string, or the
path to it. A format gives the keys of its file as `entries`, and a document that keeps what the file of a translation
has for some of them. What is an entry does not depend on its text: one that needs no translation, such as a pattern of
a date, may have been changed for a language, and stays as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

from translate.documents.document import MODULES, ParsedDocument, Reading, Unit, read, suffix_of
from translate.errors import UserError


class Item(NamedTuple):
    """A part of a key: the place in a list, from 1, and the length of that, as places say nothing in one of another."""

    n: int
    of: int

    def __str__(self) -> str:
        return str(self.n)


Key = tuple[str | Item, ...]
_DEEPEST = 64  # parts of a key


def below(key: Key, part: str | Item) -> Key:
    """Return the key of a part of what a key names; in a file nested too deeply for updates, that stops to grow."""
    return (*key, part) if len(key) <= _DEEPEST else key


_NAMED = 3  # keys in a message
_REMEDY = "leave out --update, which is `earlier` in Python and on a server"
# Modules of formats with keys; a file with the suffix .xml may have another format.
_MODULES = ("dialects", "fluent", "json", "properties", "resx", "strings", "stringsdict", "yaml")


def may_have_keys(name: str) -> bool:
    """Return whether a file with a name may be one whose translation can be updated."""
    return MODULES.get(suffix_of(name)) in _MODULES


def items(names: Iterable[str]) -> list[str | Item]:
    """Return the parts of keys for the items of a list: names of theirs if each has its own, or else their places."""
    named = list(names)
    is_named = all(named) and len({*named}) == len(named)
    return [name if is_named else Item(n, len(named)) for n, name in enumerate(named, start=1)]


@dataclass(frozen=True)
class Entry:
    """What a file has for a key.

    Attributes:
        start, stop: where it is written in the file.
        text: how it is written; its lines after the first one without their indentation.
        is_empty: whether it says nothing, and so is no translation.
        indent: that indentation.
    """

    key: Key
    start: int
    stop: int
    text: str
    is_empty: bool = False
    indent: str = ""


@runtime_checkable
class Keyed(Protocol):
    """A `ParsedDocument` that may be in one language with keys for its texts."""

    @property
    def has_keys(self) -> bool:
        """Whether it is so."""

    @property
    def units(self) -> Sequence[Unit]:
        """The texts; those of an entry that is kept have a translation."""

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the document with translations; an entry that is kept has no other."""

    @property
    def entries(self) -> Mapping[Key, Entry]:
        """The entries of the file; of several with a key the last one, as programs read it."""

    def keeping(self, kept: Mapping[Key, Entry]) -> ParsedDocument:
        """Return the document with entries of another file in the place of its own; or new forms of plurals."""

    def wants(self, key: Key) -> bool:
        """Return whether the document has a place for a key: an entry, or a new form of a plural."""


@dataclass(frozen=True)
class Update:
    """A document with the translations of an earlier file.

    Attributes:
        dropped: keys of the earlier file that the document does not have any more.
    """

    document: ParsedDocument
    dropped: Sequence[str]

    @property
    def n_kept(self) -> int:
        """Number of texts that keep their translation."""
        return sum(unit.done is not None for unit in self.document.units)

    def said(self, name: str) -> str:
        """Return a sentence about what becomes of the texts of the earlier file.

        Args:
            name: of that file.
        """
        n_new, n_dropped = len(self.document.units) - self.n_kept, len(self.dropped)
        named = ", ".join(self.dropped[:_NAMED]) + (f" and {n_dropped - _NAMED:,} more" if n_dropped > _NAMED else "")
        dropped = f"dropped {n_dropped:,} that the source does not have: {named}" if n_dropped else "dropped none"
        return f"{name}: kept {self.n_kept:,} translations, new {n_new:,}, {dropped}"


def update(data: bytes, reading: Reading, earlier: bytes, name: str) -> Update:
    """Divide a file, and give its texts the translations of an earlier file.

    Args:
        earlier, name: a translation of an earlier version of the file.

    UserError if the format has no keys, or if it is unknown which translation belongs to which text.
    """
    document, old = read_keyed(data, reading), read_keyed(earlier, replace(reading, name=name))
    given = {key: entry for key, entry in old.entries.items() if not entry.is_empty}
    kept = {key: entry for key, entry in given.items() if document.wants(key)}
    _check_lists(document.entries, reading.name, given, name)
    if given and not kept:
        raise UserError(f"{name}: has none of the keys of {reading.name}; name its translation")
    return Update(_keeping(document, reading, kept, name), [said(key) for key in given if key not in kept])


def read_keyed(data: bytes, reading: Reading) -> Keyed:
    """Divide a file whose translation can be updated; UserError if it has another format."""
    document = read(data, reading)
    if not isinstance(document, Keyed) or not document.has_keys:
        raise UserError(
            f"{reading.name}: is no file of strings in one language, such as strings.xml or de.json, whose translation "
            f"can be updated; {_REMEDY}"
        )
    if any(len(key) > _DEEPEST for key in document.entries):
        raise UserError(f"{reading.name}: has texts more than {_DEEPEST} levels deep; {_REMEDY}")
    return document


def said(key: Key) -> str:
    """Return a key for messages."""
    return ".".join(map(str, key))


def _check_lists(entries: Mapping[Key, Entry], name: str, given: Mapping[Key, Entry], earlier: str) -> None:
    """Raise UserError if a list has another length than its translation, as any of its items may be the new one."""
    lengths, given_lengths = _lengths(entries), _lengths(given)
    for key, length in given_lengths.items():
        if lengths.get(key, length) != length:
            raise UserError(
                f"{earlier}: the list {said(key)} has {length} items, and {lengths[key]} in {name}; give it as many, "
                "with an empty one in the place of each new one"
            )


def _lengths(entries: Mapping[Key, Entry]) -> dict[Key, int]:
    return {key[:i]: part.of for key in entries for i, part in enumerate(key) if isinstance(part, Item)}


def _keeping(document: Keyed, reading: Reading, kept: Mapping[Key, Entry], name: str) -> ParsedDocument:
    """Return a document with kept entries; UserError unless its file has them as the earlier file has."""
    try:
        found = document.keeping(kept)
        written = read_keyed(found.write([None] * len(found.units)), reading).entries
    except UserError as error:
        raise UserError(f"{name}: its texts cannot be kept: {error}") from error
    for key, entry in kept.items():
        if key not in written or written[key].text != entry.text:
            raise UserError(
                f"{name}: its text {said(key)} cannot be kept in {reading.name} as it is written; rewrite it"
            )
    return found
