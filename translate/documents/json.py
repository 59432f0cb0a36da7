"""JSON and ARB: the strings of a file, edited in place, so that indentation, order, escapes and doubled keys stay.

ARB         the messages; what begins with "@" is about them, and "@@locale" changes
i18next     all strings; a plural gets the forms that the target language has and the source language has not
others      all strings but those of keys that begin with "@", "$" or "//"; of an object that describes a message, as
            Chrome, FormatJS and services of translation write it, only that; of one with a "locale" and "translations"
            (Angular) only these

A string that is an identifier, such as user_name, is no text: programs compare it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from translate.documents.document import Reading
from translate.documents.earlier import Entry, Item, Key, below, items
from translate.documents.edits import (
    NUMBERED,
    Edit,
    FindCodes,
    Plain,
    Span,
    Text,
    Value,
    Values,
    is_icu,
    plain,
    tag_name,
    variables,
    with_mnemonic,
    without_key,
)
from translate.errors import UserError
from translate.text.plurals import common_categories, ordinal_number, plural_categories, with_number

_TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+")|(?P<mark>[\[\]{},:])'
    r"|(?P<other>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))"
)
_ESCAPE = re.compile(r'\\(?:u[0-9A-Fa-f]{4}|["\\/bfnrt])')
_SURROGATE = re.compile("[\ud800-\udfff]")
# The header of a PO file, in which other programs than those of gettext look up the translations of sources.
_GETTEXT = re.compile(r'"[Pp]lural[-_][Ff]orms"\s*:\s*"\s*nplurals\s*=')
IDENTIFIER = re.compile(r"(?a)[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+|[a-z][a-z0-9]+(?:\.[a-z]\w+)+|[a-z]+(?:[A-Z][a-z0-9]+)+")


@dataclass(slots=True)
class Node:
    """A value of JSON.

    Attributes:
        start, stop: where it is in the text.
        kind: "object", "array", "string" or "other".
        key: of a member of an object, and where that starts.
        parts: the members of an object or an array.
        before: where the white space before it or its key starts.
    """

    start: int
    kind: str
    key: str = ""
    key_start: int = 0
    before: int = 0
    stop: int = 0
    parts: "list[Node]" = field(default_factory=list)

    def member(self, key: str) -> "Node | None":
        """Return the last member with a key, as readers of JSON do."""
        return next((part for part in reversed(self.parts) if part.key == key), None) if self.kind == "object" else None


def parse(file: Text, reading: Reading) -> Node:
    """Return the value of a file, however deep it is; UserError if it is not JSON."""
    text, place = file.text, 0
    root = Node(0, "array")
    open_nodes, expected = [root], "value"
    key, key_start, before = "", 0, 0
    while len(open_nodes) > 1 or not root.parts:
        match = _TOKEN.match(text, place)
        if match is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            raise file.damaged(reading, min(place, len(text)), "is not JSON; correct it")
        start, token, kind = match.start(match.lastgroup or 0), match[match.lastgroup or 0], match.lastgroup
        node = open_nodes[-1]
        if expected in ("key", "first key"):
            before = place
        place = match.end()
        if expected in ("key", "first key") and kind == "string":
            key, key_start, expected = json.loads(token), start, "colon"
        elif expected == "colon" and token == ":":
            expected = "value"
        elif expected in ("value", "first value") and (kind in ("string", "other") or token in "[{"):
            is_member = node.kind == "object"
            new = Node(start, {"[": "array", "{": "object"}.get(token, kind or ""), key if is_member else "")
            new.key_start, new.before, new.stop = key_start if is_member else start, before, place
            node.parts.append(new)
            if token in ("[", "{"):
                open_nodes.append(new)
                expected = "first value" if token == "[" else "first key"
            else:
                expected = "next"
        elif expected in ("next", "first key", "first value") and token == ("}" if node.kind == "object" else "]"):
            node.stop = place
            open_nodes.pop()
            expected = "next"
        elif expected == "next" and token == ",":
            expected = "key" if node.kind == "object" else "value"
        else:
            raise file.damaged(reading, start, f"has {token[:20]!r} where JSON has none; correct it")
    if text[place:].strip(" \t\r\n"):
        raise file.damaged(reading, place, "has text after the end of JSON; correct it")
    return root.parts[0]


@dataclass(frozen=True)
class Writer:
    """How a file writes its strings, and what their codes are."""

    is_ascii: bool
    form: str
    codes: FindCodes

    @classmethod
    def of(cls, file: Text) -> "Writer":
        """Return the way of a file: letters that are not ASCII are escaped if it has only escaped ones."""
        is_ascii = file.text.isascii() and re.search(r"\\u(?!00[0-7])", file.text) is not None
        form = "04X" if re.search(r"\\u[0-9a-f]*[A-F]", file.text) else "04x"
        is_numbered = any(match[0] == "$1" for match in NUMBERED.finditer(file.text))
        return cls(is_ascii, form, _find_numbered if is_numbered else find_codes)

    def string(self, text: str, like: str = "") -> str:
        """Return a text as a string, with the escapes that the string `like` has."""
        own = {json.loads(f'"{match[0]}"'): match[0] for match in _ESCAPE.finditer(like)}
        return '"' + "".join(own.get(c) or self._character(c) for c in text) + '"'

    def _character(self, character: str) -> str:
        if character in '"\\' or character < " ":
            escaped = json.dumps(character)[1:-1]
            return f"\\u{ord(character):{self.form}}" if escaped.startswith("\\u") else escaped
        if character < "\x7f" or not self.is_ascii:
            return character
        units = character.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{int.from_bytes(units[i : i + 2], 'big'):{self.form}}" for i in range(0, len(units), 2))


def decoded(file: Text, node: Node) -> str:
    """Return the text of a string; "" if it is not text, as half of a character is missing."""
    text: str = json.loads(file.text[node.start : node.stop])
    return "" if _SURROGATE.search(text) else text


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file; each string of a message is a text."""
    file = Text.read(data, reading)
    everything = root = parse(file, reading)
    if reading.name.lower().endswith(".arb"):
        if root.kind != "object":
            raise UserError(f"{reading.name}: is not ARB, which is an object; correct it")
        scalars = [part for part in root.parts if part.kind in _SCALARS]
        messages: list[tuple[Key, Node]] = [((part.key,), part) for part in scalars if not part.key.startswith("@")]
        stated = root.member("@@locale")
    elif _GETTEXT.search(file.text):
        raise UserError(f"{reading.name}: is made of a PO file; translate that file, and make this one of it again")
    else:
        stated, translations = root.member("locale"), root.member("translations")
        if stated and translations:
            everything = translations
        else:
            stated = None
        messages = list(_messages(file, everything))
    writer, tag = Writer.of(file), tag_name(file.text)
    values = [value for key, node in messages for value in _values(file, key, node, reading, writer, tag)]
    if not reading.name.lower().endswith(".arb"):
        _report_old_plural(file, everything, reading)
        values = sorted(
            [*values, *_new_forms(file, everything, reading, writer, tag)], key=lambda value: (value.start, value.stop)
        )
    return Values(
        file,
        reading,
        values,
        list(_stated(file, stated, reading)),
        is_icu=_is_icu(file, reading),
        found=[_entry(file, key, node) for key, node in messages],
    )


def _entry(file: Text, key: Key, node: Node) -> Entry:
    """Return what a file has for a key; a string that is blank, and null, say nothing."""
    text = file.text[node.start : node.stop]
    return Entry(key, node.start, node.stop, text, is_empty=text == "null" or not str(json.loads(text)).strip())


def _stated(file: Text, node: Node | None, reading: Reading) -> Iterator[Edit]:
    """Yield the edit of the language that a file states."""
    if node and node.kind == "string" and not reading.is_stated(decoded(file, node)):
        is_arb = reading.name.lower().endswith(".arb")  # whose codes are as in Dart
        new = reading.target.replace("-", "_") if is_arb else reading.target
        yield Edit(node.start, node.stop, json.dumps(new))


def _is_icu(file: Text, reading: Reading) -> bool:
    """Return whether the messages of a file are read as those of ICU; in ARB, whether apostrophes have a meaning."""
    if reading.name.lower().endswith(".arb"):
        return "''" in file.text or "'{" in file.text
    return '"defaultMessage"' in file.text or is_icu(file.text)


_SCALARS = ("string", "other")  # the kinds of values without parts


def _messages(file: Text, root: Node) -> Iterator[tuple[Key, Node]]:
    """Yield the messages with their keys, in the order of the file: strings that are texts, numbers and the like."""
    waiting: list[tuple[Key, Node]] = [((), root)]
    while waiting:
        key, node = waiting.pop()
        if node.kind in _SCALARS:
            yield key, node
        elif only := _only(node):
            waiting.append((below(key, only.key), only))
        else:
            parts = [part for part in _parts(file, node) if node is not root or part[0] != _SETTINGS]
            waiting += [(below(key, own), part) for own, part in reversed(parts) if not _is_about(own)]


def _is_about(key: str | Item) -> bool:
    """Return whether a part of an object is no message, but about the others."""
    return isinstance(key, str) and key.startswith(("@", "$", "//"))


def _parts(file: Text, node: Node) -> list[tuple[str | Item, Node]]:
    """Return the parts of a node with their keys."""
    if node.kind == "object":
        return [(part.key, part) for part in node.parts]
    ids = [part.member("id") for part in node.parts]
    names = items(decoded(file, one) if one and one.kind == "string" else "" for one in ids)
    return list(zip(names, node.parts, strict=True))


def _only(node: Node) -> Node | None:
    """Return the text of an object that describes a message."""
    keys = {part.key for part in node.parts}
    for key, others in _DESCRIBED.items():
        message = node.member(key)
        if message and message.kind == "string" and keys <= {key, *others}:
            return message
    return None


# The keys of messages, and what may be beside them: of Chrome and Crowdin, FormatJS, Transifex, Lokalise, and Signal.
_DESCRIBED = {
    "message": ("description", "placeholders", "hash"),
    "defaultMessage": ("description", "id", "file", "start", "end", "line", "col"),
    "string": ("developer_comment", "context", "character_limit"),
    "translation": ("notes", "context", "limit"),
    "messageformat": ("description", "ignoreUnused"),
}
_SETTINGS = "smartling"  # a member of a file that is about it


# A message of vue-i18n in another one: @:key @.lower:key @:{'key'} @:(key), and one of Lokalise: [%key:a::b%];
# variables of Chrome: $USER$, and of Laravel: :name; the rule for plurals of Nextcloud: nplurals=2; plural=(n != 1);
_CODES = re.compile(  # each begins with a sign, which is found faster than what is before it
    r"@(?<![\w@]@)(?:\.[A-Za-z]\w*)?:(?:\w+(?:[.-]\w+)*|\{[^{}\n]*\}|\([^()\n]*\))|\[%key:[^\[\]%\n]{1,500}%\]"
    r"|nplurals(?<=\Anplurals)\s?=[^\n]*+\Z|\$[A-Z][A-Z\d_@]*+\$|:(?<![\w:@})]:)[A-Za-z]\w++(?!:)"
)


def find_codes(text: str) -> list[Span]:
    """Return the codes of a message in JSON or YAML."""
    return variables(text, _CODES)


_NUMBERED_OR_CODES = re.compile(rf"{NUMBERED.pattern}|{_CODES.pattern}")


def _find_numbered(text: str) -> list[Span]:
    """Return the codes of a message in JSON of which another one has the variable $1, so that $5 is no amount."""
    return variables(text, _NUMBERED_OR_CODES)


def _values(file: Text, key: Key, node: Node, reading: Reading, writer: Writer, tag: str) -> Iterator[Value]:
    """Yield the value of a string, unless it is blank or an identifier."""
    text = decoded(file, node) if node.kind == "string" else ""
    if text.strip() and not IDENTIFIER.fullmatch(text):
        bare, mark = without_key(text, writer.codes)
        like = file.text[node.start : node.stop]
        form = _FORM.fullmatch(node.key)
        body = _form(bare, form[3], reading, tag) if form and form[2] else plain(bare, writer.codes, tag)

        def encode(translation: str) -> str:
            return writer.string(with_mnemonic(translation, mark, writer.codes) if mark else translation, like)

        yield Value(node.start, node.stop, body, encode, file.line_of(node.start), key=key)


# Plurals of i18next

_FORM = re.compile(r"(.+?)(_ordinal)?_(zero|one|two|few|many|other)", re.DOTALL)

_COUNT = re.compile(r"\{\{-?\s*count\b[^{}]*\}\}")


def _form(text: str, category: str, reading: Reading, tag: str) -> Plain:
    """Return a form of an ordinal with a number of its category for its count."""
    body, number = plain(text, find_codes, tag), ordinal_number(category, reading.source, reading.target)
    shown, count = with_number(body.text, _COUNT, number)
    return replace(body, text=shown, held=body.held | {number: count}) if count else body


def _new_forms(file: Text, root: Node, reading: Reading, writer: Writer, tag: str) -> Iterator[Value]:
    """Yield the plural forms that the target language has, and an object with plural forms has not."""
    cardinal, ordinal = plural_categories(reading.target), plural_categories(reading.target, ordinal=True)
    source = common_categories(reading.source), common_categories(reading.source, ordinal=True)
    waiting: list[tuple[Key, Node]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        waiting += [(below(path, key), part) for key, part in _parts(file, node)]
        forms: dict[tuple[str, bool], dict[str, Node]] = {}
        for part in node.parts:
            if part.kind == "string" and (match := _FORM.fullmatch(part.key)):
                forms.setdefault((match[1], bool(match[2])), {})[match[3]] = part
        for (name, is_ordinal), found in forms.items():
            other = found.get("other")
            if other is None or not source[is_ordinal] <= set(found):
                continue
            text = decoded(file, other)
            before = file.text[other.before : other.key_start]
            between = re.sub(r'^"(?:[^"\\]|\\.)*"', "", file.text[other.key_start : other.start])
            for category in ordinal if is_ordinal else cardinal:
                if category not in found and text.strip():
                    key = f"{name}{'_ordinal' if is_ordinal else ''}_{category}"
                    encode = partial(writer.string, like=file.text[other.start : other.stop])
                    body = _form(text, category, reading, tag) if is_ordinal else plain(text, writer.codes, tag)
                    yield Value(
                        other.stop,
                        other.stop,
                        body,
                        encode,
                        file.line_of(other.start),
                        is_new=True,
                        key=below(path, key),
                        around=(f",{before}{writer.string(key)}{between}", ""),
                    )


def _report_old_plural(file: Text, root: Node, reading: Reading) -> None:
    """Report the first plural of i18next 3, `key` and `key_plural`, if the target language has other forms."""
    if common_categories(reading.target) == {"one", "other"}:
        return
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.parts)
        names = {part.key for part in node.parts if part.kind == "string"} if node.kind == "object" else ()
        for part in node.parts:
            if part.key in names and part.key.endswith("_plural") and part.key.removesuffix("_plural") in names:
                reading.report(
                    f"{reading.name}, {file.line_of(part.start)}: {part.key!r} is a plural of i18next 3 with two forms,"
                    f" and {reading.target!r} has others; convert the file with i18next-v4-format-converter first"
                )
                return
