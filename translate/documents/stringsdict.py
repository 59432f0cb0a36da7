"""Plural rules of Apple (.stringsdict): the texts of each rule are translated in place.

A text stands for a plural category, a device or a width. A plural gets the forms that the target language has and the
source language has not. Names of rules, and the types and formats of their numbers, stay.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from xml.sax.saxutils import escape

from translate.documents.document import Reading
from translate.documents.earlier import Entry, Key, below
from translate.documents.edits import Text, Value, Values, plain, tag_name
from translate.documents.xcstrings import find_codes
from translate.documents.xml import Kind, decoded, tokens
from translate.errors import UserError
from translate.text.plurals import common_categories, plural_categories

_NO_TEXTS = ("NSStringFormatSpecTypeKey", "NSStringFormatValueTypeKey")
_PLURAL = "NSStringPluralRuleType"


@dataclass
class _String:
    """A string of a dictionary: its key, where its text is in the file, and where its elements start and stop.

    Attributes:
        path: its key after those of the dictionaries around it.
        has_place: whether it has two tags, with a text between them.
    """

    key: str
    path: Key
    text: str
    start: int
    stop: int
    first: int
    last: int
    is_plain: bool = True
    has_place: bool = True


@dataclass
class _Dictionary:
    """A dictionary: the key that comes next, where that starts, and its strings."""

    key: str = ""
    first: int = 0
    strings: list[_String] = field(default_factory=list)


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file; see `Format.read`."""
    if data.startswith(b"bplist"):
        raise UserError(f"{reading.name}: is binary; convert it with plutil -convert xml1")
    converted, encoding = decoded(data, reading.name)
    rules = list(_rules(converted, reading))
    file = Text(converted.decode(), encoding)
    tag = tag_name(file.text)
    found = [value for strings in rules for value in _values(file, strings, reading, tag)]
    entries = [
        Entry(one.path, one.start, one.stop, file.text[one.start : one.stop], is_empty=not one.text.strip())
        for strings in rules
        for one in strings
        if one.key not in _NO_TEXTS and one.has_place
    ]
    return Values(file, reading, sorted(found, key=lambda value: (value.start, value.stop)), found=entries)


def _rules(data: bytes, reading: Reading) -> Iterator[Sequence[_String]]:
    """Yield the strings of each dictionary, with places in characters."""
    path, opened = list[str](), list[_Dictionary]()
    text, start, inside, is_plain, shift = "", 0, 0, True, 0
    for token in tokens(data, reading.name):
        at = token.start - shift
        stop = at + len(token.raw.decode())
        shift += len(token.raw) - (stop - at)
        if token.kind is Kind.START:
            path.append(token.name)
            if path[0] != "plist":
                raise UserError(f"{reading.name}: is no property list, as its first element is not <plist>")
            if token.name == "dict":
                opened.append(_Dictionary())
            text, start, inside, is_plain = "", at, stop, True
        elif token.kind is Kind.END:
            path.pop()
            if token.name == "dict":
                yield opened.pop().strings
            elif token.name == "key" and opened:
                opened[-1].key, opened[-1].first = text, start
            elif token.name == "string" and path[-1:] == ["dict"]:
                key, first = opened[-1].key, opened[-1].first
                own: Key = ()
                for one in opened:
                    own = below(own, one.key)
                found = _String(key, own, text, inside, max(at, inside), first, stop, is_plain, has_place=at < stop)
                opened[-1].strings.append(found)
        elif token.kind is Kind.TEXT:
            text += token.text
        else:
            is_plain = False  # such as a comment


def _values(file: Text, strings: Sequence[_String], reading: Reading, tag: str) -> Iterator[Value]:
    """Yield the texts of a dictionary, and the forms of a plural that it has not."""
    texts = {one.key: one for one in strings if one.key not in _NO_TEXTS and one.text.strip() and one.is_plain}
    for one in texts.values():
        body = plain(one.text, find_codes, tag)
        yield Value(one.start, one.stop, body, partial(_encoded, file), file.line_of(one.start), key=one.path)
    is_plural = any(one.key == _NO_TEXTS[0] and one.text.strip() == _PLURAL for one in strings)
    if not is_plural or not common_categories(reading.source) <= {*texts}:
        return
    other = texts["other"]
    line = file.text[file.text.rfind("\n", 0, other.first) + 1 : other.first]
    space = "\n" + line if line.isspace() else ""
    between = file.text[other.first : other.start].replace("other", "{}", 1)
    for category in plural_categories(reading.target):
        if category not in texts:
            yield Value(
                other.last,
                other.last,
                plain(other.text, find_codes, tag),
                partial(_encoded, file),
                file.line_of(other.start),
                is_new=True,
                key=below(other.path[:-1], category),
                around=(space + between.replace("{}", category), "</string>"),
            )


def _encoded(file: Text, text: str) -> str:
    """Return a text as the file writes it."""
    return escape(text).encode(file.encoding, "xmlcharrefreplace").decode(file.encoding)
