"""Strings of Apple (.strings): the value of each key, in UTF-8 or UTF-16, with its escapes."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from translate.documents.document import Reading
from translate.documents.earlier import Entry
from translate.documents.edits import Text, Value, Values, is_icu, plain, tag_name
from translate.documents.xcstrings import find_codes

_TOKEN = re.compile(
    r"(?P<space>(?:\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)+)"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|[\w.$/:-]+)|(?P<mark>[=;])",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:U([0-9A-Fa-f]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = {character: f"\\{name}" for name, character in _NAMED.items()} | {"\\": "\\\\"}
_NEXTSTEP = 0xE100  # a letter of private use for each byte of the charset of NeXTSTEP


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file; each value is a text."""
    is_wide = data[1:2] == b"\0" or data[:1] == b"\0"  # the first character is of ASCII, and no mark is before it
    encoding = ("utf-16-be" if data[:1] == b"\0" else "utf-16-le") if is_wide else "utf-8"
    file = Text.read(data, reading, encoding)
    entries = list(_entries(file, reading))
    return Values(file, reading, list(_values(file, entries)), is_icu=is_icu(file.text), found=entries)


def _values(file: Text, entries: Sequence[Entry]) -> Iterator[Value]:
    tag = tag_name(file.text)
    for entry in entries:
        start, stop, raw = entry.start, entry.stop, entry.text
        text = _said(raw) if raw[0] in "\"'" else ""  # a bare value is a name
        if text.strip():
            place = file.line_of(start)
            yield Value(start, stop, plain(text, find_codes, tag), partial(_encoded, like=raw), place, key=entry.key)


def _entries(file: Text, reading: Reading) -> Iterator[Entry]:
    """Yield the values with their keys; UserError if the file is not of keys and values."""
    place, expected, key = 0, "key", ""
    while place < len(file.text):
        match = _TOKEN.match(file.text, place)
        kind = match.lastgroup if match else None
        token = "string" if kind == "string" else match[0] if match else ""
        if kind == "space" and match:
            place = match.end()
            continue
        if match is None or token not in _NEXT[expected]:
            raise file.damaged(reading, place, 'is not "key" = "value"; of the strings of Apple; correct it')
        if expected == "key":
            key = _said(match[0])
        elif expected == "value":
            yield Entry((key,), *match.span(), match[0], is_empty=not _said(match[0]).strip())
        expected, place = _NEXT[expected][token], match.end()
    if expected != "key":
        raise file.damaged(reading, place, "ends within a string; complete it")


# What may follow what; a key alone is its own value.
_NEXT = {
    "key": {"string": "sign"},
    "sign": {"=": "value", ";": "key"},
    "value": {"string": "end"},
    "end": {";": "key"},
}


def _said(token: str) -> str:
    """Return the text of a string, with quotation marks or without."""
    return _decoded(token[1:-1]) if token[0] in "\"'" else token


def _decoded(raw: str) -> str:
    """Return the text of a string without its quotation marks."""

    def character(match: re.Match[str]) -> str:
        code, octal, other = match.groups()
        if code:
            return chr(int(code, 16))
        if octal:
            return chr(int(octal, 8)) if int(octal, 8) < 0x80 else chr(_NEXTSTEP + int(octal, 8))
        return _NAMED.get(other, other)

    text = _ESCAPE.sub(character, raw) if "\\" in raw else raw
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _encoded(text: str, like: str) -> str:
    """Return a text as a string, with the quotation marks and the escapes that the string `like` has."""
    # A backslash before a letter that needs none is no way to write the letter.
    own = {_decoded(match[0]): match[0] for match in _ESCAPE.finditer(like) if not (match[3] or "").isalnum()}
    own[like[0]] = f"\\{like[0]}"
    if "\n" in like:
        own["\n"] = "\r\n" if "\r\n" in like else "\n"
    if "\t" in like:
        own["\t"] = "\t"
    return like[0] + "".join(own.get(c) or _ESCAPES.get(c, c) for c in text.replace("\r\n", "\n")) + like[0]
