"""Subtitles of Sub Station Alpha (.ass, .ssa): the text of each dialogue, whose lines are one text.

A sentence that goes on in the next dialogues, of the same fields but for the times, is one text too. Override tags that
switch something on and off again are formatting; others are beside their word. Those before and after all words stay
there. Drawings and comments are no text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from translate.documents.cues import Cue, Sentences
from translate.documents.document import Reading
from translate.documents.edits import Plain, Span, Text, UnwritableError, Value, Values, tag_name
from translate.text.subtitles import seconds

_LINE = re.compile(r"[^\r\n]+")
_SECTION = re.compile(r"\s*\[(.*)\]\s*")
# Fields of a dialogue in a file without a line "Format".
_FIELDS = ["layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text"]
_BLOCK = re.compile(r"\{[^{}]*\}")
_TAG = re.compile(r"\\(\d?[a-zA-Z]+?)(\([^()]*\)|&H[0-9A-Fa-f]*&?|-?[\d.]*)(?=\\|\}|\s)")
_DRAWS, _DRAWS_NO_MORE = re.compile(r"\\p[1-9]"), re.compile(r"\\p0|\\r")
_TOKEN = re.compile(
    r"(?P<block>\{[^{}]*\})|(?P<break>\\[Nn])|(?P<blank>\\h)|(?P<brace>\\[{}])|(?P<words>[^\\{]+|.)", re.DOTALL
)
_SWITCHES = frozenset({"i", "b", "u", "s"})
_STYLES = frozenset(
    {"c", "1c", "2c", "3c", "4c", "alpha", "1a", "2a", "3a", "4a", "fn", "fs", "bord", "shad", "blur", "be"}
)


def read(data: bytes, reading: Reading) -> Sentences:
    """Divide a file; each dialogue, or sentence, is a text."""
    file = Text.read(data, reading)
    tag = tag_name(file.text)
    values, cues = list[Value](), list[Cue | None]()
    for start, stop, fields in _dialogues(file, reading):
        if value := _value(file, start, stop, tag):
            values.append(value)
            begin, end = fields.pop("start", ""), fields.pop("end", "")
            look = fields, file.text[start : value.start]  # with the tags that hold for all of it
            cues.append(Cue(seconds(begin), seconds(end), look) if begin and end else None)
    return Sentences(Values(file, reading, values), cues, reading)


def _dialogues(file: Text, reading: Reading) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Yield where the texts of dialogues are, and their other fields."""
    section, names = "", _FIELDS
    for line in _LINE.finditer(file.text):
        name, colon, rest = line[0].partition(":")
        if heading := _SECTION.fullmatch(line[0]):
            section = heading[1].strip().lower()
        elif section != "events" or not colon:
            continue
        elif name.strip().lower() == "format":
            names = [field.strip().lower() for field in rest.split(",")]
            if names[-1] != "text":
                raise file.damaged(reading, line.start(), "has a format whose last field is not Text; correct it")
        elif name.strip().lower() == "dialogue":
            *fields, text = rest.split(",", len(names) - 1)
            if len(fields) < len(names) - 1:
                raise file.damaged(reading, line.start(), f"has fewer than {len(names)} fields; complete it")
            yield line.end() - len(text), line.end(), dict(zip(names, fields, strict=False))


@dataclass
class _Token:
    """A part of a dialogue.

    Attributes:
        raw: as the file writes it.
        text: what it stands for; "" for tags and braces.
        partner: number of the other token of a pair.
    """

    raw: str
    text: str = ""
    partner: int | None = None

    @property
    def is_tag(self) -> bool:
        return self.raw.startswith("{") and not self.text


def _tokens(raw: str) -> list[_Token]:
    """Return the parts of a dialogue; a drawing belongs to the tags before it."""
    found, draws = list[_Token](), False
    for match in _TOKEN.finditer(raw):
        is_block = match.lastgroup == "block"
        if draws:
            found[-1].raw += match[0]
            draws = not (is_block and _DRAWS_NO_MORE.search(match[0]) and not _DRAWS.search(match[0]))
        elif is_block:
            found.append(_Token(match[0]))
            draws = _DRAWS.search(match[0]) is not None
        else:
            text = {"break": "\n", "blank": "\u00a0", "brace": ""}.get(match.lastgroup or "", match[0])
            found.append(_Token(match[0], text))
    _pair(found)
    return found


def _pair(tokens: Sequence[_Token]) -> None:
    """Set the partners of tags that are switched on and off again."""
    opened: list[tuple[int, frozenset[str]]] = []
    for n, token in enumerate(tokens):
        tags = _TAG.findall(token.raw) if token.is_tag and _BLOCK.fullmatch(token.raw) else []
        names = frozenset(name for name, _ in tags)
        if tags and all(value in ("", "0") for _, value in tags):
            if opened and (opened[-1][1] == names or names == {"r"}):
                token.partner, _ = opened.pop()
                tokens[token.partner].partner = n
        elif tags and (names <= _SWITCHES or names <= _STYLES):
            opened.append((n, names))


def _between_ends(tokens: Sequence[_Token]) -> tuple[int, int]:
    """Return the tokens between tags and white space at both ends; equal if there are no others."""
    first, last = 0, len(tokens)
    while first < last:
        start, stop = tokens[first], tokens[last - 1]
        if start.is_tag and start.partner == last - 1:
            first, last = first + 1, last - 1
        elif (start.is_tag and start.partner is None) or (start.text and not start.text.strip()):
            first += 1
        elif (stop.is_tag and stop.partner is None) or (stop.text and not stop.text.strip()):
            last -= 1
        else:
            break
    return first, last


def _value(file: Text, start: int, stop: int, tag: str) -> Value | None:
    """Return the value of a dialogue; None if it has no words."""
    tokens = _tokens(file.text[start:stop])
    first, last = _between_ends(tokens)
    inner = tokens[first:last]
    if not "".join(token.text for token in inner).strip():
        return None
    start += sum(len(token.raw) for token in tokens[:first])
    stop -= sum(len(token.raw) for token in tokens[last:])
    names = [_name(token, n, first, tag) for n, token in enumerate(inner)]
    held = {name: token.raw for name, token in zip(names, inner, strict=True) if not token.text}
    shown = "".join(token.text or name for name, token in zip(names, inner, strict=True))
    source = "".join(token.text or token.raw for token in inner)
    body = Plain(source, shown, held, _codes)
    own = {token.text: token.raw for token in inner if token.text in ("\n", "\u00a0")}
    return Value(start, stop, body, partial(_encoded, own={"\n": "\\N"} | own), file.line_of(start), wrapped=True)


def _name(token: _Token, n: int, first: int, tag: str) -> str:
    """Return the tag in the text for token `n` of those from `first`."""
    if not token.is_tag:
        return f"<{tag}{n}/>"
    if token.partner is None:
        return f"<{tag}{n}></{tag}{n}>"
    partner = token.partner - first
    return f"<{tag}{n}>" if partner > n else f"</{tag}{partner}>"


def _codes(text: str) -> list[Span]:
    return [match.span() for match in re.finditer(rf"{_BLOCK.pattern}|\\[{{}}]", text)]


def _encoded(text: str, own: Mapping[str, str]) -> str:
    """Return a text with its tags as the text of a dialogue."""
    parts, end = list[str](), 0
    for start, stop in [*_codes(text), (len(text), len(text))]:
        words = text[end:start]
        if re.search(r"[{}]|\\[Nnh]", words):
            raise UnwritableError("has a brace or a backslash that would be a tag")
        parts += ["".join(own.get(c, c) for c in words), text[start:stop]]
        end = stop
    return "".join(parts)
