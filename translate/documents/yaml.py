"""YAML: the texts of a file of messages, edited in place, so that comments, order, quotes and anchors stay.

Rails       the language that is the only key at the top changes; a plural gets the forms that the target language has
go-i18n     only the "translation" beside an "id", and the forms of a plural without its "description"
others      all strings but those of keys that begin with "@", "$" or "//"

No text is a number, a date, true, false or null, a value with a tag of a program, an identifier such as user_name, a
symbol of Ruby (`:year`), or a pattern of dates (`%d.%m.%Y`).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import yaml

from translate.documents.document import Reading
from translate.documents.earlier import Entry, Key, below, items
from translate.documents.edits import Edit, Text, UnwritableError, Value, Values, is_icu, plain, tag_name
from translate.documents.json import IDENTIFIER, find_codes
from translate.errors import UserError
from translate.text.languages import without_region
from translate.text.plurals import common_categories, plural_categories
from translate.text.scalars import STRING, scalar_of

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")  # anchor and tag, before the value that they belong to
_HEADER = re.compile(r"[|>][^\r\n]*(?:\r\n|\r|\n|\Z)")
_INDENTATION = re.compile(r"[|>][-+]?[1-9]")  # stated by the header of a block
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_SYMBOL, _WORD = re.compile(r":\w+"), re.compile(r"\w")
_DATE_PART = re.compile(r"%[-^#_0]?[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")
_NULL = "tag:yaml.org,2002:null"
_CATEGORIES = frozenset(("zero", "one", "two", "few", "many", "other"))
_ABOUT = frozenset(("description", "id", "hash", "leftDelim", "rightDelim"))


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """A loader that reads symbols of Ruby in brackets, [ :year, :month ], which YAML 1.2 allows and PyYAML does not."""

    def check_value(self) -> bool:
        return not self._is_symbol() and bool(super().check_value())

    def check_plain(self) -> bool:
        return self._is_symbol() or bool(super().check_plain())

    def _is_symbol(self) -> bool:
        """Return whether a colon in brackets begins a text, and does not end a key."""
        is_after_key = self.flow_level in self.possible_simple_keys
        return bool(self.flow_level and self.peek() == ":" and not is_after_key and _WORD.match(self.peek(1)))


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file; each string of a message is a text."""
    file = Text.read(data, reading)
    try:
        roots = [root for root in yaml.compose_all(file.text, _Loader) if root is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise file.damaged(reading, mark.index if mark else 0, f"is not YAML: {error.problem}; correct it") from error
    except yaml.reader.ReaderError as error:
        raise file.damaged(reading, error.position, "has a character that YAML does not have; correct it") from error
    except RecursionError as error:
        raise UserError(f"{reading.name}: is nested too deeply; divide it") from error
    tag = tag_name(file.text)
    keys = items([""] * len(roots)) if len(roots) > 1 else []  # of files in a file
    starts = [_Place(root, (*keys[n : n + 1],)) for n, root in enumerate(roots)]
    places = [place for start in starts for place in _places(_messages(start, reading))]
    scalars = [place for place in places if isinstance(place.node, yaml.ScalarNode)]
    values = [value for place in scalars for value in _value(file, place.node, place, tag)]
    values += [value for place in places if place.is_plural for value in _new_forms(file, place, reading, tag)]
    return Values(
        file,
        reading,
        sorted(values, key=lambda value: (value.start, value.stop)),
        [edit for root in roots for edit in _stated(root, reading)],
        is_icu=is_icu(file.text),
        found=[entry for place in scalars for entry in _entry(file, place.node, place)],
    )


def _language(root: yaml.Node, reading: Reading) -> yaml.ScalarNode | None:
    """Return the key that is the language of a file, if that is its only one."""
    if not isinstance(root, yaml.MappingNode) or len(root.value) != 1:
        return None
    key, messages = root.value[0]
    if not isinstance(messages, yaml.MappingNode) or not _LANGUAGE.fullmatch(key.value):
        return None
    is_source = not reading.source or without_region(key.value) == without_region(reading.source)
    return key if is_source or reading.is_target(key.value) else None


def _stated(root: yaml.Node, reading: Reading) -> Iterator[Edit]:
    """Yield the edit of the language of a file."""
    key = _language(root, reading)
    if key and not reading.is_stated(key.value):
        start = key.end_mark.index - len(key.value) - (key.style is not None)
        yield Edit(start, start + len(key.value), reading.target)


# Texts


@dataclass(frozen=True)
class _Place:
    """A node of a file.

    Attributes:
        indent: columns before the key or the item that it is; within brackets and braces, before that in lines.
        is_plural: whether it is a mapping of the forms of a plural, in lines of its own.
    """

    node: yaml.Node
    key: Key
    indent: int = 0
    in_flow: bool = False
    is_plural: bool = False


def _messages(root: _Place, reading: Reading) -> _Place:
    """Return where the messages of a file are, whose keys do not begin with its language."""
    key = _language(root.node, reading)
    return replace(root, node=root.node.value[0][1], indent=key.start_mark.column) if key else root


def _places(root: _Place) -> Iterator[_Place]:
    """Yield the messages of a file and its plurals. A node with an anchor is visited once, whatever aliases it has."""
    waiting, visited = [root], set[int]()
    while waiting:
        place = waiting.pop()
        node = place.node
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield place
            continue
        in_flow = place.in_flow or bool(node.flow_style)
        if isinstance(node, yaml.SequenceNode):
            indent = place.indent if in_flow else node.start_mark.column
            names = items(_id(part) for part in node.value)
            pairs = zip(names, node.value, strict=True)
            waiting += [_Place(part, below(place.key, name), indent, in_flow) for name, part in pairs]
            continue
        columns = {id(part): place.indent if in_flow else key.start_mark.column for key, part in node.value}
        members = [(key.value if isinstance(key, yaml.ScalarNode) else "", part) for key, part in node.value]
        keys = {key for key, _ in members}
        is_plural = "other" in keys <= _CATEGORIES | _ABOUT
        if keys >= {"id", "translation"}:
            members = [(key, part) for key, part in members if key == "translation"]
        elif is_plural:
            members = [(key, part) for key, part in members if key in _CATEGORIES]
        waiting += [
            _Place(part, below(place.key, key), columns[id(part)], in_flow)
            for key, part in members
            if not key.startswith(("@", "$", "//"))
        ]
        if is_plural and not in_flow:
            yield replace(place, is_plural=True)


def _id(node: yaml.Node) -> str:
    """Return the name of a message in a list; "" if it has none."""
    members = node.value if isinstance(node, yaml.MappingNode) else []
    return next((str(part.value) for key, part in members if key.value == "id" and part.tag == STRING), "")


def _entry(file: Text, node: yaml.ScalarNode, place: _Place) -> Iterator[Entry]:
    """Yield what a file has for a key, if it has anything."""
    start, stop = _span(file, node)
    raw = file.text[start:stop].rstrip()
    if raw and not raw.startswith("#"):
        columns = [len(spaces) for spaces in re.findall(r"\n( *)(?=[^ \r\n])", raw)]
        indent = min([place.indent, *columns])
        text = re.sub(rf"\n {{0,{indent}}}", "\n", raw)
        is_empty = not node.value.strip() or node.tag == _NULL
        yield Entry(place.key, start, start + len(raw), text, is_empty, " " * indent)


def _value(file: Text, node: yaml.ScalarNode, place: _Place, tag: str) -> Iterator[Value]:
    """Yield the value of a string, unless it is no text."""
    text = node.value.rstrip("\n") if node.style in ("|", ">") else node.value
    if node.tag != STRING or not text.strip() or IDENTIFIER.fullmatch(text) or _SYMBOL.fullmatch(text):
        return
    if not _LETTER.search(_DATE_PART.sub("", text)):
        return
    start, stop = _span(file, node)
    written = file.text[start:stop]
    if written.startswith("#"):  # a comment between a tag and its value
        return
    if node.style in ("|", ">"):
        if not (header := _HEADER.match(written)) or not (body := written[header.end() :]).strip():
            return
        indent = _indent(body) - _indent(text)
        start, stop = start + (header.end() if node.style == "|" else 0), stop - len(body) + len(body.rstrip())
        encode: Callable[[str], str] = partial(_block, header[0], node.style == ">", indent)
    else:
        encode = partial(_scalar, written, place.in_flow)
    yield Value(start, stop, plain(text, find_codes, tag), encode, file.line_of(start), key=place.key)


def _span(file: Text, node: yaml.ScalarNode) -> tuple[int, int]:
    """Return where a scalar is written, without its anchor and tag."""
    match = _PROPERTIES.match(file.text, node.start_mark.index)
    assert match
    return match.end(), node.end_mark.index


def _new_forms(file: Text, place: _Place, reading: Reading, tag: str) -> Iterator[Value]:
    """Yield the plural forms that the target language has, and a mapping in lines of its own has not."""
    members = {key.value: (key, part) for key, part in place.node.value}
    key, other = members["other"]
    if not isinstance(other, yaml.ScalarNode) or other.style in ("|", ">") or not other.value.strip():
        return
    if not common_categories(reading.source) <= members.keys():
        return
    start, stop = _span(file, other)
    line_break = _LINE_BREAK.search(file.text, stop)
    end = line_break.start() if line_break else len(file.text)
    indent = (line_break[0] if line_break else "\n") + " " * key.start_mark.column
    body = plain(other.value, find_codes, tag)
    for category in plural_categories(reading.target):
        if category not in members:
            encode = partial(_scalar, file.text[start:stop], False)
            around = (f"{indent}{category}: ", "")
            own = below(place.key, category)
            yield Value(end, end, body, encode, file.line_of(start), is_new=True, key=own, around=around)


# How texts are written


def _scalar(like: str, in_flow: bool, text: str) -> str:
    """Return a text as a scalar in one line, with the quotes of the scalar `like`."""
    scalar = scalar_of(text, like, "yaml", in_flow=in_flow)
    if scalar is None:
        raise UnwritableError("has a character that YAML does not have")
    return scalar


def _indent(text: str) -> int:
    """Return the number of spaces before the first line with other characters."""
    line = next(line for line in text.splitlines() if line.strip())
    return len(line) - len(line.lstrip(" "))


def _block(header: str, is_folded: bool, indent: int, text: str) -> str:
    """Return a text in the lines of a block; a folded one becomes literal, where line breaks count.

    Args:
        header: the line before them, which a literal block keeps.
        indent: spaces before each line.
    """
    if (text.startswith(" ") and not _INDENTATION.match(header)) or re.search(r"[\x00-\x08\x0b-\x1f]", text):
        raise UnwritableError("has characters that a block of YAML cannot hold")
    match = _LINE_BREAK.search(header)
    line_break = match[0] if match else "\n"
    lines = line_break.join(" " * indent + line if line else "" for line in text.split("\n"))
    return header.replace(">", "|", 1) + lines if is_folded else lines
