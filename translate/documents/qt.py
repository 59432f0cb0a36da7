"""Qt Linguist (.ts): empty translations are filled, in each plural form; "file(s)" is read as the form has it.

Contexts, comments and locations stay, as do obsolete and vanished messages. A translation is unfinished unless it is
final; `lrelease` puts unfinished ones into programs too. Texts are escaped as `lupdate` does it, so that its next run
changes no other line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from translate.documents.document import Reading, Unit
from translate.documents.edits import (
    Plain,
    Span,
    UnwritableError,
    plain,
    tag_name,
    variables,
    with_mnemonic,
    without_mnemonic,
)
from translate.documents.xml import Kind, Token, decoded, encoded, tokens, with_attributes
from translate.errors import UserError
from translate.text.languages import without_region

_CODES = re.compile(r"%L?(?:\d{1,2}|n)|[\0-\x08\x0b\x0c\x0e-\x1f]")  # arguments, and characters that XML does not have
_ENDING = re.compile(r"(?<=[^\W\d_])\((s|es|e|n|en|er|nen)\)")  # of several, as programmers write both forms
_KEPT = ("vanished", "obsolete")
_WITHOUT_PLURALS = ("id", "ja", "ka", "ko", "ms", "my", "th", "vi", "zh")  # other languages have two forms or more
_ESCAPED = re.compile(r"[&<>\"'\0-\x08\x0b\x0c\x0e-\x1f]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


def read(data: bytes, reading: Reading) -> "Qt":
    """Divide a file of Qt Linguist; see `Format.read`."""
    converted, encoding = decoded(data, reading.name)
    held, depth, pieces, name = list[Token](), 0, list[bytes | _Message | _Root](), ""
    for token in tokens(converted, reading.name):
        if held:
            held.append(token)
            depth += (token.kind is Kind.START) - (token.kind is Kind.END)
            if not depth:
                pieces.append(_Message(held, 1 if without_region(reading.target) in _WITHOUT_PLURALS else 2))
                held = []
        elif token.kind is Kind.START and token.name == "message":
            held, depth = [token], 1
        elif token.kind is Kind.START and token.name == "TS":
            name = "TS"
            pieces.append(_Root(token.raw, token.attributes.get("language", "")))
        elif not name and token.kind is Kind.START:
            break
        else:
            pieces.append(token.raw)
    if not name:
        raise UserError(
            f"{reading.name}: is no file of Qt Linguist; files of TypeScript and films have the same suffix"
        )
    document = Qt(reading, encoding, "\r\n" if b"\r\n" in converted else "\n", pieces)
    stated = next(piece.language for piece in pieces if isinstance(piece, _Root))
    has_other = bool(stated) and not reading.is_target(stated) and any(unit.done for unit in document.units)
    if has_other and not reading.replace:
        raise UserError(
            f"{reading.name}: has translations into {stated}, and the model translates into {reading.target}; "
            "choose another model, or add --all to replace them"
        )
    return document


def _codes(text: str) -> list[Span]:
    return variables(text, _CODES)


@dataclass(frozen=True)
class _Root:
    """The start tag of the file, which states the language."""

    raw: bytes
    language: str


class _Element(NamedTuple):
    """An element of a message: its name, its tokens, its depth, and its text."""

    name: str
    start: int
    stop: int
    depth: int
    text: str


class _Message:
    """A message.

    Args:
        held: its tokens.
        n_forms: the least number of forms of a plural.
    """

    def __init__(self, held: Sequence[Token], n_forms: int) -> None:
        self.tokens, self._n_forms = held, n_forms
        elements = sorted(_elements(held), key=lambda element: element.start)
        children = {element.name: element for element in elements if element.depth == 2}
        self._source = children.get("source", _Element("source", 0, 1, 2, ""))
        self.source = self._source.text
        self._translation = children.get("translation")
        kind = held[self._translation.start].attributes.get("type") if self._translation else None
        self.is_open = kind not in _KEPT and bool(self.source.strip())
        self._is_plural = held[0].attributes.get("numerus") == "yes"
        # The forms of a plural, and the lengths of a text; those of a form are in it.
        inner = [one for one in elements if one.name in ("numerusform", "lengthvariant") and self._is_translated(one)]
        last = len(inner) - 1
        self._forms = [one for i, one in enumerate(inner) if i == last or inner[i + 1].start >= one.stop]
        if self._translation and not self._forms and not self._is_plural:
            self._forms = [self._translation]
        line = next((token.attributes.get("line") for token in held if token.name == "location"), None)
        self.place = f"message {held[0].attributes.get('id') or self.source[:40]!r}" + (
            f", line {line}" if line else ""
        )

    def _is_translated(self, element: _Element) -> bool:
        return self._translation is not None and self._translation.start < element.start < self._translation.stop

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the translation, "" for those that are missing."""
        found = [form.text for form in self._forms]
        return found + [""] * ((self._n_forms if self._is_plural else 1) - len(found))

    def in_form(self, source: str, n: int) -> str:
        """Return the source as it is for form `n` of a plural, which has "file" or "files" for "file(s)"."""
        if not self._is_plural:
            return source
        # The first form is that of one; languages with more than four, such as Arabic, begin with none.
        is_for_one = n == 0 and 1 < len(self.texts) <= 4
        spans = _codes(source)

        def ending(match: re.Match[str]) -> str:
            is_in_code = any(start <= match.start() < stop for start, stop in spans)
            return match[0] if is_in_code else "" if is_for_one else match[1]

        return _ENDING.sub(ending, source)

    @property
    def raw(self) -> bytes:
        return b"".join(token.raw for token in self.tokens)

    def written(self, texts: Sequence[bytes | None], newline: str, *, is_final: bool) -> bytes:
        """Return the message with new texts of the translation; None leaves one as it is."""
        raw, forms = [token.raw for token in self.tokens], self._forms
        if not forms and self._is_plural:
            texts = [_numerusforms(raw, self._source, newline, texts)]
        if self._translation is None:
            kind = b"" if is_final else b' type="unfinished"'
            new = b"<translation%b>%b</translation>" % (kind, texts[0] or b"")
            raw[self._source.stop - 1] += _space_before(raw, self._source.start) + new
            return b"".join(raw)
        start = self._translation.start
        raw[start] = with_attributes(raw[start], {"type": None if is_final else "unfinished"})
        for form, text in zip(forms or [self._translation], texts, strict=False):
            if text is not None:
                raw[form.start] = re.sub(rb"\s*/>\Z", b">", raw[form.start]) + text
                raw[form.start + 1 : form.stop - 1] = [b""] * (form.stop - form.start - 2)
                raw[form.stop - 1] = b"</%b>" % form.name.encode()
        if forms:
            space = _space_before(raw, forms[-1].start)
            raw[forms[-1].stop - 1] += b"".join(space + _numerusform(text) for text in texts[len(forms) :])
        return b"".join(raw)


def _elements(held: Sequence[Token]) -> Iterator[_Element]:
    """Yield the elements of a message."""
    opened = list[tuple[int, list[str]]]()
    for i, token in enumerate(held):
        if token.kind is Kind.START:
            opened.append((i, []))
            if token.name == "byte" and len(opened) > 1:
                opened[-2][1].append(_character(token.attributes.get("value", "")))
        elif token.kind is Kind.TEXT:
            opened[-1][1].append(token.text)
        elif token.kind is Kind.END:
            depth = len(opened)
            start, texts = opened.pop()
            yield _Element(token.name, start, i + 1, depth, "".join(texts))


def _character(value: str) -> str:
    """Return the character of a <byte>, such as "x1b"."""
    try:
        return chr(int(value[1:], 16) if value.startswith("x") else int(value))
    except (ValueError, OverflowError):
        return ""


def _space_before(raw: Sequence[bytes], at: int) -> bytes:
    """Return the white space before a token."""
    first = at
    while first and not raw[first - 1].strip():
        first -= 1
    return b"".join(raw[first:at])


def _numerusform(text: bytes | None) -> bytes:
    return b"<numerusform>%b</numerusform>" % (text or b"")


def _numerusforms(raw: Sequence[bytes], source: _Element, newline: str, texts: Sequence[bytes | None]) -> bytes:
    """Return the forms of a plural that has none, as `lupdate` indents them."""
    line = newline.encode() + _space_before(raw, source.start).rpartition(b"\n")[2]
    return b"".join(line + b"    " + _numerusform(text) for text in texts) + line


# The document


@dataclass(frozen=True)
class _Slot:
    """A text of a translation: its message, which of the texts it is, what is translated, and the key of a menu."""

    message: _Message
    n: int
    plain: Plain
    mnemonic: str
    unit: Unit


class Qt:
    """A file of Qt Linguist; see `ParsedDocument`."""

    def __init__(
        self, reading: Reading, encoding: str, newline: str, pieces: Sequence[bytes | _Root | _Message]
    ) -> None:
        self._reading, self._encoding, self._newline, self._pieces = reading, encoding, newline, pieces
        messages = [piece for piece in pieces if isinstance(piece, _Message) and piece.is_open]
        tag = tag_name("\n".join(message.source for message in messages))
        self._slots = list[_Slot]()
        for message in messages:
            bare, mark = without_mnemonic(message.source, _codes)
            for n, text in enumerate(message.texts):
                body = plain(message.in_form(bare, n), _codes, tag)
                self._slots.append(_Slot(message, n, body, mark, Unit(body.text, message.place, text or None)))

    @property
    def units(self) -> list[Unit]:
        """The sources of messages in use, one for each plural form; see `ParsedDocument`."""
        return [slot.unit for slot in self._slots]

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file with translations; see `ParsedDocument`."""
        new = dict[_Message, list[bytes | None]]()
        for slot, translation in zip(self._slots, translations, strict=True):
            text = self._text(slot, translation)
            if text is not None:
                new.setdefault(slot.message, [None] * len(slot.message.texts))[slot.n] = text
        return encoded(b"".join(self._written(piece, new) for piece in self._pieces), self._encoding)

    def _text(self, slot: _Slot, translation: str | None) -> bytes | None:
        """Return a translation as the file writes it; None if the text stays."""
        if translation is None or translation == slot.unit.done:
            return None
        try:
            restored = slot.plain.restored(translation)
        except UnwritableError as error:
            where = f"{self._reading.name}, {slot.unit.place}"
            self._reading.report(f"{where}: is not translated, as the translation {error}")
            return None
        text = with_mnemonic(restored, slot.mnemonic, _codes) if slot.mnemonic else restored
        text = text.replace("\n", self._newline)
        return _ESCAPED.sub(
            lambda match: _ESCAPES.get(match[0]) or f'<byte value="x{ord(match[0]):x}"/>', text
        ).encode()

    def _written(self, piece: bytes | _Root | _Message, new: Mapping[_Message, Sequence[bytes | None]]) -> bytes:
        if isinstance(piece, bytes):
            return piece
        if isinstance(piece, _Message):
            is_new = piece in new
            return piece.written(new[piece], self._newline, is_final=self._reading.final) if is_new else piece.raw
        if not new or self._reading.is_stated(piece.language):
            return piece.raw
        return with_attributes(piece.raw, {"language": self._reading.target.replace("-", "_")})
