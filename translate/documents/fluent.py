"""Fluent (.ftl): values, attributes and the variants of selectors, each as a text; placeables stay.

Messages of several lines are dedented and indented again. Braces of a translation, and a sign of the syntax at the
beginning of a line, are written as placeables. Attributes of terms, and keys of menus, are no text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from translate.documents.document import Reading
from translate.documents.earlier import Entry, Key
from translate.documents.edits import Plain, Span, Text, Value, Values, outermost, plain, tag_name, variables
from translate.text.plurals import ordinal_number, with_number

_ENTRY = re.compile(r"(?P<name>-?[a-zA-Z][\w-]*) *(?P<sign>=) *", re.ASCII)
_ATTRIBUTE = re.compile(r"(?:\r?\n *)+\.(?P<name>[a-zA-Z][\w-]*) *(?P<sign>=) *", re.ASCII)
_SKIPPED = re.compile(r"(?:#[^\n]*| *)(?:\n|\Z)| *\r\n")
_REST = re.compile(r" *(?:\r?\n|\Z)")
_WORDS = re.compile(r"(?:[^{}\r\n]|\r(?!\n))*+")
_NEXT_LINE = re.compile(r"(?:\r?\n *+(?=\r?\n))*+\r?\n( *+)(?=[^ \r\n])")
_EXPRESSION = re.compile(r'(?:[^{}"\n>-]|"(?:[^"\\\n]|\\.)*+"|-(?!>)|>|\r?\n)*+')
_VARIANT = re.compile(r"\s*(?:\*\s*)?\[\s*([\w.+-]+(?: [\w.+-]+)*)\s*\] *")
_NUMBER = re.compile(r"\s*NUMBER\(\s*\$([\w-]+)\s*,([^()]*+)\)\s*")
_ORDINAL = re.compile(r'\btype\s*:\s*"ordinal"')
_BLANK = re.compile(r"\s*+")
_BRACE = re.compile(r'[{}"]')
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
_KEYS = ("accesskey", "commandkey", "key", "keycode", "style", "href", "src")  # attributes that are no text
_DEEPEST = 50


@dataclass
class _Pattern:
    """A text with placeables.

    Attributes:
        start, stop: without white space at either end.
        placeables: where they are; `inner` has the patterns of their variants.
        indents: spaces before each of its lines but a first one beside its name.
        ordinal: of a variant for an ordinal, the variable with that number, and the plural category.
        key: the name of the message, and that of the attribute.
        is_text: whether it is one that people read.
    """

    start: int
    stop: int
    placeables: list[Span] = field(default_factory=list)
    inner: "list[_Pattern]" = field(default_factory=list)
    indents: list[int] = field(default_factory=list)
    is_block: bool = False
    ordinal: tuple[str, str] | None = None
    key: Key = ()
    is_text: bool = True


class _Parser:
    """Finds the patterns of a file."""

    def __init__(self, file: Text, reading: Reading) -> None:
        self._file, self._reading, self._text = file, reading, file.text

    def patterns(self) -> Iterator[tuple[_Pattern, Entry]]:
        """Yield the patterns of messages, terms and their attributes."""
        place = 0
        while place < len(self._text):
            if skipped := _SKIPPED.match(self._text, place):
                place = skipped.end()
                continue
            entry = _ENTRY.match(self._text, place)
            if not entry:
                raise self._file.damaged(self._reading, place, "is not Fluent; correct it")
            name = entry["name"]
            pattern, place = self._pattern(entry.end(), 0)
            yield pattern, self._entry((name,), entry.end("sign"), pattern)
            while attribute := _ATTRIBUTE.match(self._text, place):
                pattern, place = self._pattern(attribute.end(), 0)
                pattern.is_text = not name.startswith("-") and attribute["name"] not in _KEYS
                yield pattern, self._entry((name, attribute["name"]), attribute.end("sign"), pattern)
            rest = _REST.match(self._text, place)
            if not rest:
                raise self._file.damaged(self._reading, place, "is not Fluent; correct it")
            place = rest.end()

    def _entry(self, key: Key, start: int, pattern: _Pattern) -> Entry:
        """Return what the file has for a key, with the variants in it and the line break before a block."""
        pattern.key = key
        text = self._text[start : pattern.stop]
        return Entry(key, start, pattern.stop, text, is_empty=not text.strip())

    def _pattern(self, place: int, depth: int) -> tuple[_Pattern, int]:
        """Return the pattern that begins here, and where its last line ends."""
        if depth > _DEEPEST:
            raise self._file.damaged(self._reading, place, "has selectors within too many others; divide the message")
        pattern = _Pattern(-1, place)
        while True:
            words = _WORDS.match(self._text, place)
            assert words  # of any length
            if words[0].strip(" "):
                first = place + len(words[0]) - len(words[0].lstrip(" "))
                pattern.start = first if pattern.start < 0 else pattern.start
                pattern.stop = place + len(words[0].rstrip(" "))
            place = words.end()
            if self._text.startswith("{", place):
                pattern.start = place if pattern.start < 0 else pattern.start
                stop = self._placeable(place, pattern, depth)
                pattern.placeables.append((place, stop))
                place = pattern.stop = stop
                continue
            line = _NEXT_LINE.match(self._text, place)
            sign = self._text[line.end()] if line else "}"
            if line is None or sign in "}[*." or (sign != "{" and not line[1]):
                return (pattern if pattern.start >= 0 else _Pattern(place, place)), place
            pattern.is_block = pattern.is_block or pattern.start < 0
            pattern.indents.append(len(line[1]))
            place = line.end()

    def _placeable(self, start: int, pattern: _Pattern, depth: int) -> int:
        """Return where a placeable ends; the patterns of its variants become those within the pattern."""
        place = start + 1
        while True:
            expression = _EXPRESSION.match(self._text, place)
            assert expression  # of any length
            place = expression.end()
            if self._text.startswith("->", place):
                place = self._variants(place + 2, pattern, depth, _ordinal(expression[0]))
            if self._text.startswith("}", place):
                return place + 1
            if not self._text.startswith("{", place) or depth > _DEEPEST:
                raise self._file.damaged(self._reading, start, "has a brace that is not closed; correct it")
            place = self._placeable(place, pattern, depth + 1)

    def _variants(self, place: int, pattern: _Pattern, depth: int, ordinal: str) -> int:
        """Read the variants of a selector, and return where the last one ends.

        Args:
            ordinal: the variable whose ordinal they are for; "" if they are for others.
        """
        while variant := _VARIANT.match(self._text, place):
            found, place = self._pattern(variant.end(), depth + 1)
            found.ordinal = (ordinal, variant[1]) if ordinal else None
            pattern.inner.append(found)
        blank = _BLANK.match(self._text, place)
        return blank.end() if blank else place


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file; each value, attribute and variant is a text."""
    file = Text.read(data, reading)
    tag, newline = tag_name(file.text), "\r\n" if "\r\n" in file.text else "\n"
    patterns = list(_Parser(file, reading).patterns())
    texts = [pattern for pattern, _ in patterns if pattern.is_text]
    values = [value for one in texts for value in _values(file, one, one.key, reading, tag, newline)]
    return Values(file, reading, values, found=[entry for _, entry in patterns])


def _values(file: Text, pattern: _Pattern, key: Key, reading: Reading, tag: str, newline: str) -> Iterator[Value]:
    """Yield the value of a pattern, if it has words, and those within it."""
    source = _dedented(file, pattern)
    rest, end = list[str](), 0
    for start, stop in _placeables(source):
        rest.append(source[end:start])
        end = stop
    if "".join([*rest, source[end:]]).strip():
        inner = [one for one in pattern.inner if one.stop > one.start]
        holds = [(a, b) for a, b in pattern.placeables if any(a < one.start < b for one in inner)]
        body = _with_number(plain(source, _codes, tag), pattern.ordinal, reading)
        place = file.line_of(pattern.start)
        indent = " " * min(pattern.indents, default=4)
        encode = partial(_encoded, line=newline + indent, is_block=pattern.is_block)
        yield Value(pattern.start, pattern.stop, body, encode, place, holds, wrapped=True, key=key)
    for one in pattern.inner:
        yield from _values(file, one, key, reading, tag, newline)


def _ordinal(expression: str) -> str:
    """Return the variable whose ordinal an expression is; "" for another expression."""
    number = _NUMBER.fullmatch(expression)
    return number[1] if number and _ORDINAL.search(number[2]) else ""


def _with_number(body: Plain, ordinal: tuple[str, str] | None, reading: Reading) -> Plain:
    """Return a text with a number for the variable whose ordinal is in it, or that of the variant that it is."""
    if ordinal is None:
        found = (_ordinal(body.source[start + 1 : stop - 1]) for start, stop in _placeables(body.source))
        ordinal = next(filter(None, found), ""), "other"  # without a selector, the words are for most numbers
    variable, category = ordinal
    if not variable:
        return body
    held = [tag for tag, code in body.held.items() if re.search(rf"\${re.escape(variable)}(?![\w-])", code)]
    codes = "|".join([rf"\{{\s*\${re.escape(variable)}\s*\}}", *map(re.escape, held)])
    number = ordinal_number(category, reading.source, reading.target)
    shown, code = with_number(body.text, re.compile(codes), number)
    rest = {tag: own for tag, own in body.held.items() if tag != code}
    return replace(body, text=shown, held=rest | {number: body.held.get(code, code)}) if code else body


def _dedented(file: Text, pattern: _Pattern) -> str:
    """Return the text of a pattern without the indentation that all of its lines have."""
    indent = min(pattern.indents, default=0)
    parts, end = list[str](), pattern.start

    def words(text: str) -> str:
        text = re.sub(r"\n +(?=\n)", "\n", text.replace("\r\n", "\n"))
        return re.sub(rf"\n {{0,{indent}}}", "\n", text)

    for start, stop in pattern.placeables:
        parts += [words(file.text[end:start]), file.text[start:stop]]
        end = stop
    return "".join([*parts, words(file.text[end : pattern.stop])])


def _placeables(text: str) -> list[Span]:
    """Return where the placeables of a text are; a brace that is not closed begins none."""
    found, depth, start, place = list[Span](), 0, 0, 0
    while match := _BRACE.search(text, place):
        place = match.end()
        if match[0] == '"':
            string = _STRING.match(text, match.start()) if depth else None
            place = string.end() if string else place
        elif match[0] == "{":
            start = match.start() if not depth else start
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                found.append((start, place))
    return found


def _codes(text: str) -> list[Span]:
    return outermost([*_placeables(text), *variables(text)])


def _encoded(text: str, line: str, is_block: bool) -> str:
    """Return a text as a pattern.

    Args:
        line: line end and indentation of its lines.
        is_block: whether the first line has these too.
    """
    parts, end = list[str](), 0
    for start, stop in _placeables(text):
        parts += [_escaped(text[end:start], line, is_block and not end), text[start:stop]]
        end = stop
    return "".join([*parts, _escaped(text[end:], line, is_block and not end)])


def _escaped(words: str, line: str, begins_line: bool) -> str:
    """Return words with placeables for braces, and for a sign of the syntax at the beginning of a line."""
    braced = re.sub(r"[{}]", lambda match: f'{{"{match[0]}"}}', words)
    first, *others = braced.split("\n")
    guarded = [_guarded(one) for one in others]
    return "".join(
        [
            _guarded(first) if begins_line else first,
            *((line + one).rstrip(" ") if not one else line + one for one in guarded),
        ]
    )


def _guarded(words: str) -> str:
    return re.sub(r"^( *)([\[*.])", r'\1{"\2"}', words)
