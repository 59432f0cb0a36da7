"""Resources of .NET (.resx, .resw): the values of strings are translated in place.

Values of other types, such as sizes and pictures, stay, and so do names that a designer of forms wrote, and values
whose comment begins with {Locked}. With {Locked="Azure"} in the comment, these words stay in the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from translate.documents.document import Reading
from translate.documents.earlier import Entry
from translate.documents.edits import (
    Span,
    Text,
    Value,
    Values,
    is_icu,
    plain,
    tag_name,
    variables,
    with_mnemonic,
    without_mnemonic,
)
from translate.documents.xml import Kind, Token, decoded, tokens
from translate.errors import UserError

_LOCKED = re.compile(r"\{Locked(?:=([^{}]*))?\}", re.IGNORECASE)
_STRING = "System.String"  # the type of a value that states none
_WORDS = re.compile(r'"([^"]*)"')


@dataclass
class _Data:
    """An entry: its name, where its value is in the file, in characters, and the text of that and of its comment."""

    name: str
    is_text: bool
    start: int = 0
    stop: int = 0
    has_place: bool = True
    value: list[Token] = field(default_factory=list)
    comment: str = ""


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file of resources; see `Format.read`."""
    converted, encoding = decoded(data, reading.name)
    everything = list(_entries(converted, reading))
    entries = [one for one in everything if _is_translated(one)]
    file, newline = Text(converted.decode(), encoding), "\r\n" if b"\r\n" in converted else "\n"
    texts = "\n".join(_text(one) for one in entries)
    tag = tag_name(texts)
    values = [_value(one, tag, file, newline) for one in entries]
    return Values(
        file,
        reading,
        values,
        is_icu=is_icu(texts),
        found=[_entry(one, file) for one in everything if _may_be_kept(one)],
    )


def _may_be_kept(entry: _Data) -> bool:
    """Return whether an earlier translation may have its own value of an entry, unlike names of a designer of forms."""
    return entry.has_place and not entry.name.startswith(">>") and not _is_locked(entry)


def _entry(data: _Data, file: Text) -> Entry:
    text = file.text[data.start : data.stop]
    return Entry((data.name,), data.start, data.stop, text, is_empty=not _text(data).strip())


def _entries(data: bytes, reading: Reading) -> Iterator[_Data]:
    """Yield the entries with a value."""
    path, entry, shift = list[str](), _Data("", is_text=False), 0
    for token in tokens(data, reading.name):
        start = token.start - shift  # in characters
        stop = start + len(token.raw.decode())
        shift += len(token.raw) - (stop - start)
        if token.kind is Kind.START:
            path.append(token.name)
            if path[0] != "root":
                raise UserError(f"{reading.name}: is no file of resources of .NET, as its first element is not <root>")
            if path == ["root", "data"]:
                is_string = token.attributes.get("type", _STRING).partition(",")[0].strip() == _STRING
                name = token.attributes.get("name", "")
                entry = _Data(
                    name, is_text=is_string and "mimetype" not in token.attributes and not name.startswith(">>")
                )
            elif path == ["root", "data", "value"]:
                entry.start = entry.stop = stop
                entry.has_place = not token.raw.endswith(b"/>")
        elif token.kind is Kind.END:
            if path == ["root", "data", "value"]:
                entry.stop = max(start, entry.start)
            elif path == ["root", "data"] and entry.stop:
                yield entry
            path.pop()
        elif path == ["root", "data", "value"]:
            entry.value.append(token)
        elif path == ["root", "data", "comment"]:
            entry.comment += token.text


def _text(entry: _Data) -> str:
    return "".join(token.text for token in entry.value)


def _is_translated(entry: _Data) -> bool:
    """Return whether the value of an entry is text in sight, and no comment of XML is in it."""
    has_rest = any(token.kind not in (Kind.TEXT, Kind.CDATA) for token in entry.value)
    return entry.is_text and not _is_locked(entry) and not has_rest and bool(_text(entry).strip())


def _is_locked(entry: _Data) -> bool:
    locked = _LOCKED.match(entry.comment.strip())
    return locked is not None and not locked[1]


def _value(entry: _Data, tag: str, file: Text, newline: str) -> Value:
    text = _text(entry)
    locked = [word for match in _LOCKED.finditer(entry.comment) for word in _WORDS.findall(match[1] or "") if word]
    pattern = re.compile("|".join(map(re.escape, locked))) if locked else None

    def codes(text: str) -> list[Span]:
        return variables(text, pattern)

    bare, mark = without_mnemonic(text, codes)
    is_cdata = all(token.cdata or token.kind is Kind.CDATA for token in entry.value)

    def encode(translation: str) -> str:
        written = (with_mnemonic(translation, mark, codes) if mark else translation).replace("\n", newline)
        if is_cdata and file.holds(written):
            return f"<![CDATA[{written.replace(']]>', ']]]]><![CDATA[>')}]]>"
        return escape(written).encode(file.encoding, "xmlcharrefreplace").decode(file.encoding)

    body, place = plain(bare, codes, tag), f"entry {entry.name!r}"
    return Value(entry.start, entry.stop, body, encode, place, key=(entry.name,))
