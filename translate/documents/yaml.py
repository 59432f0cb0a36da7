"""YAML: the texts of a file of messages, edited in place, so that comments, order, quotes and anchors stay.

Rails       the language that is the only key at the top changes; a plural gets the forms that the target language has
go-i18n     only the "translation" beside an "id", and the forms of a plural without its "description"
others      all strings but those of keys that begin with "@", "$" or "//"

No text is a number, a date, true, false or null, a value with a tag of a program, an identifier such as user_name, a
symbol of Ruby (`:year`), or a pattern of dates (`%d.%m.%Y`).
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

import yaml

from translate.documents.document import Reading
from translate.documents.edits import Edit, Text, UnwritableError, Value, Values, is_icu, plain, tag_name
from translate.documents.json import IDENTIFIER, find_codes
from translate.errors import UserError
from translate.text.languages import without_region
from translate.text.plurals import plural_categories
from translate.text.scalars import STRING, scalar_of

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")  # anchor and tag, before the value that they belong to
_HEADER = re.compile(r"[|>][^\r\n]*(?:\r\n|\r|\n|\Z)")
_INDENTATION = re.compile(r"[|>][-+]?[1-9]")  # stated by the header of a block
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_SYMBOL = re.compile(r":\w+")
_DATE_PART = re.compile(r"%[-^#_0]?[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")
_CATEGORIES = frozenset(("zero", "one", "two", "few", "many", "other"))
_ABOUT = frozenset(("description", "id", "hash", "leftDelim", "rightDelim"))


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file; each string of a message is a text."""
    file = Text.read(data, reading)
    try:
        roots = [root for root in yaml.compose_all(file.text, yaml.SafeLoader) if root is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise file.damaged(reading, mark.index if mark else 0, f"is not YAML: {error.problem}; correct it") from error
    except yaml.reader.ReaderError as error:
        raise file.damaged(reading, error.position, "has a character that YAML does not have; correct it") from error
    except RecursionError as error:
        raise UserError(f"{reading.name}: is nested too deeply; divide it") from error
    tag = tag_name(file.text)
    values = [value for root in roots for value in _values(file, root, reading, tag)]
    stated = [edit for root in roots for edit in _stated(root, reading)]
    return Values(
        file, reading, sorted(values, key=lambda value: (value.start, value.stop)), stated, is_icu=is_icu(file.text)
    )


def _stated(root: yaml.Node, reading: Reading) -> Iterator[Edit]:
    """Yield the edit of the language that is the only key of a file."""
    if not isinstance(root, yaml.MappingNode) or len(root.value) != 1:
        return
    key, messages = root.value[0]
    if not isinstance(messages, yaml.MappingNode) or not _LANGUAGE.fullmatch(key.value):
        return
    is_source = not reading.source or without_region(key.value) == without_region(reading.source)
    if (is_source or reading.is_target(key.value)) and not reading.is_stated(key.value):
        start = key.end_mark.index - len(key.value) - (key.style is not None)
        yield Edit(start, start + len(key.value), reading.target)


# Texts


def _values(file: Text, root: yaml.Node, reading: Reading, tag: str) -> Iterator[Value]:
    """Yield the texts of a file. A node with an anchor is visited once, however many aliases it has."""
    waiting, visited = [(root, False)], set[int]()
    while waiting:
        node, in_flow = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield from _value(file, node, in_flow, tag)
            continue
        in_flow = in_flow or node.flow_style
        if isinstance(node, yaml.SequenceNode):
            waiting += [(part, in_flow) for part in node.value]
            continue
        members = [(key.value if isinstance(key, yaml.ScalarNode) else "", part) for key, part in node.value]
        keys = {key for key, _ in members}
        is_plural = "other" in keys <= _CATEGORIES | _ABOUT
        if keys >= {"id", "translation"}:
            members = [(key, part) for key, part in members if key == "translation"]
        elif is_plural:
            members = [(key, part) for key, part in members if key in _CATEGORIES]
        waiting += [(part, in_flow) for key, part in members if not key.startswith(("@", "$", "//"))]
        if is_plural and not in_flow:
            yield from _new_forms(file, node, reading, tag)


def _value(file: Text, node: yaml.ScalarNode, in_flow: bool, tag: str) -> Iterator[Value]:
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
        encode = partial(_scalar, written, in_flow)
    yield Value(start, stop, plain(text, find_codes, tag), encode, file.line_of(start))


def _span(file: Text, node: yaml.ScalarNode) -> tuple[int, int]:
    """Return where a scalar is written, without its anchor and tag."""
    match = _PROPERTIES.match(file.text, node.start_mark.index)
    assert match
    return match.end(), node.end_mark.index


def _new_forms(file: Text, node: yaml.MappingNode, reading: Reading, tag: str) -> Iterator[Value]:
    """Yield the plural forms that the target language has, and a mapping in lines of its own has not."""
    members = {key.value: (key, part) for key, part in node.value}
    key, other = members["other"]
    if not isinstance(other, yaml.ScalarNode) or other.style in ("|", ">") or not other.value.strip():
        return
    if not set(plural_categories(reading.source)) <= members.keys():
        return
    start, stop = _span(file, other)
    line_break = _LINE_BREAK.search(file.text, stop)
    end = line_break.start() if line_break else len(file.text)
    indent = (line_break[0] if line_break else "\n") + " " * key.start_mark.column
    body = plain(other.value, find_codes, tag)
    for category in plural_categories(reading.target):
        if category not in members:

            def encode(text: str, before: str = f"{indent}{category}: ") -> str:
                return before + _scalar(file.text[start:stop], False, text)

            yield Value(end, end, body, encode, file.line_of(start), is_new=True)


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
