"""Java properties: the value of each key, with its escapes, continued lines and the quotes of MessageFormat.

The file is in UTF-8, or in ISO-8859-1 if it is not valid UTF-8, as Java reads it since version 9. A letter that the
encoding does not have is escaped; in a file that has only letters of ASCII, so are all others.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from translate.documents import message_format
from translate.documents.document import Reading
from translate.documents.earlier import Entry
from translate.documents.edits import (
    Span,
    Text,
    Value,
    Values,
    plain,
    tag_name,
    variables,
    with_mnemonic,
    without_key,
)
from translate.errors import UserError

_LINE = re.compile(
    r"[ \t\f]*(?:(?P<blank>[#!][^\r\n]*|)(?:\r\n|\r|\n|\Z)"
    r"|(?P<key>(?:[^\\\s=:]|\\(?:\r\n|[\s\S]|\Z))*+)[ \t\f]*[=:]?[ \t\f]*"
    r"(?P<value>(?:[^\\\r\n]|\\(?:\r\n|[\s\S]|\Z))*+)"
    r"(?:\r\n|\r|\n|\Z))"
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(\r\n|\r|\n)[ \t\f]*|([\s\S]?))")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPES = {character: f"\\{name}" for name, character in _NAMED.items()} | {"\\": "\\\\"}
_LETTER = re.compile(r"\\?([^\x00-\x7f])|\\[\s\S]")  # that is not of ASCII
_SURROGATE = re.compile("[\ud800-\udfff]")


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file; each value is a text."""
    try:
        file = Text.read(data, reading)
    except UserError:
        file = Text.read(data, reading, "iso-8859-1")
    entries = list(_entries(file, reading))
    return Values(file, reading, list(_values(file, entries, reading)), found=entries)


def _entries(file: Text, reading: Reading) -> Iterator[Entry]:
    """Yield the values with their keys; a key alone has no place for one."""
    place = 0
    while place < len(file.text):
        match = _LINE.match(file.text, place)
        assert match  # each line is a comment, or has a key
        place = match.end()
        if match["key"] is not None and (match["value"] or match.start("value") > match.end("key")):
            key, value = _decoded(match["key"], file, match.start("key"), reading), match["value"]
            is_empty = not _decoded(value, file, match.start("value"), reading).strip()
            # Escaped letters are the same in a file of another encoding, too.
            text = (
                value if file.encoding != "iso-8859-1" else _LETTER.sub(lambda m: _code(m[1]) if m[1] else m[0], value)
            )
            yield Entry((key,), *match.span("value"), text, is_empty=is_empty)


def _values(file: Text, entries: Sequence[Entry], reading: Reading) -> Iterator[Value]:
    found = [(entry.start, file.text[entry.start : entry.stop]) for entry in entries]
    texts = [_decoded(raw, file, start, reading) for start, raw in found]
    plain_texts = [text for text in texts if "'" in text and not re.search(r"\{\d", text)]
    always = bool(plain_texts) and all(message_format.doubles_apostrophes(text, always=False) for text in plain_texts)
    letters = _Letters.of(file)
    tag = tag_name(file.text)
    for entry, (_, raw), text in zip(entries, found, texts, strict=True):
        if text.strip() and not _SURROGATE.search(text):
            is_format = message_format.doubles_apostrophes(text, always=always)
            yield _value(file, entry, raw, text, is_format, letters, tag)


def _value(file: Text, entry: Entry, raw: str, text: str, is_format: bool, letters: "_Letters", tag: str) -> Value:
    """Return the value of a key."""
    source = message_format.read(text) if is_format else text

    def codes(text: str) -> list[Span]:
        return variables(text, message_format.QUOTED)

    bare, mark = without_key(source, codes)

    def encode(translation: str) -> str:
        marked = with_mnemonic(translation, mark, codes) if mark else translation
        return letters.wrapped(message_format.written(marked) if is_format else marked, raw)

    return Value(entry.start, entry.stop, plain(bare, codes, tag), encode, file.line_of(entry.start), key=entry.key)


# Letters


def _decoded(raw: str, file: Text, start: int, reading: Reading) -> str:
    """Return the text of a value."""
    if "\\" not in raw:
        return raw

    def character(match: re.Match[str]) -> str:
        code, line_end, other = match.groups()
        if code:
            return chr(int(code, 16))
        if other == "u":
            raise file.damaged(reading, start + match.start(), "has \\u without four digits after it; correct it")
        return "" if line_end else _NAMED.get(other, other)

    text = _ESCAPE.sub(character, raw)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _SURROGATE.search(text) else text


@dataclass(frozen=True)
class _Letters:
    """How a file writes letters.

    Attributes:
        last: the last one that is written as it is.
        form: of the digits of another one.
    """

    last: str
    form: str

    @classmethod
    def of(cls, file: Text) -> "_Letters":
        if file.text.isascii() and not file.mark:
            last = "\x7f"
        else:
            last = "\xff" if file.encoding == "iso-8859-1" else "\U0010ffff"
        return cls(last, "04X" if re.search(r"\\u[0-9a-f]*[A-F]", file.text) else "04x")

    def encoded(self, text: str, like: str) -> str:
        """Return a text as a value; characters are escaped as in the value `like`."""
        own = {_NAMED.get(match[3], match[3]): match[0] for match in _ESCAPE.finditer(like) if match[3]}
        written = "".join(
            own.get(c) or _ESCAPES.get(c) or (c if " " <= c <= self.last else self._code(c)) for c in text
        )
        return "\\" + written if written.startswith(" ") else written

    def wrapped(self, text: str, like: str) -> str:
        """Return a text as a value, in lines as long and as indented as those of the value `like`."""
        written = self.encoded(text, like)
        ends = list(re.finditer(r"(?<!\\)((?:\\\\)*)\\(\r\n|\r|\n)([ \t\f]*)", like))
        if not ends:
            return written
        starts = [0, *(end.end() for end in ends)]
        stops = [*(end.end(1) for end in ends), len(like)]
        widest = max(stop - start for start, stop in zip(starts, stops, strict=True))
        at_breaks = all(like[: end.end(1)].endswith("\\n") or not end.start() for end in ends)
        parts = re.findall(r"(?:(?!\\n).)*(?:\\n|\Z)", written, re.DOTALL) if at_breaks else _filled(written, widest)
        lines = [*([""] if not like[: ends[0].start()] else []), *filter(None, parts)]
        between = [f"\\{end[2]}{end[3]}" for end in ends]
        joined = [lines[0]]
        for n, line in enumerate(lines[1:]):
            guarded = "\\" + line if line.startswith(" ") else line  # white space before a continued line is none
            joined += [between[min(n, len(between) - 1)], guarded]
        return "".join(joined)

    def _code(self, character: str) -> str:
        return _code(character, self.form)


def _code(character: str, form: str = "04x") -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(units[i : i + 2], 'big'):{form}}" for i in range(0, len(units), 2))


def _filled(text: str, width: int) -> Iterator[str]:
    """Yield the parts of a text, each divided after a space and as long as it may be."""
    part = ""
    for word in re.findall(r"[^ ]*(?: +|\Z)", text):
        if part and len(part + word.rstrip()) > width:
            yield part
            part = ""
        part += word
    if part:
        yield part
