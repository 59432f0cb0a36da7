"""Translators in the place of a model, and what a file holds after them."""

import re
from collections.abc import Callable, Sequence

from translate.documents.document import Reading, read
from translate.text.placeholders import branches, placeholder_spans, with_branches

Translate = Callable[[str], str]


def same(text: str) -> str:
    return text


def upper(text: str) -> str:
    """Return a text in capitals but for its placeholders; those of the branches of messages of ICU are text."""
    parts, end = list[str](), 0
    for start, stop in placeholder_spans(text):
        code = text[start:stop]
        if spans := branches(code):
            code = with_branches(code, [upper(code[a:b]) for a, b in spans])
        parts += [re.sub("\u00df", "SS", text[end:start]).upper(), code]
        end = stop
    return "".join([*parts, text[end:].upper()])


def marked(text: str) -> str:
    """Return a text with a mark at its end: where the mark is, a call of the model ended."""
    return f"{text}\u00b6"


class Reports(list[str]):
    """What a document reported."""


def translated(
    name: str,
    data: bytes,
    translate: Translate = same,
    *,
    source: str = "en",
    target: str = "de",
    final: bool = False,
    replace: bool = False,
    reports: list[str] | None = None,
) -> bytes:
    """Return a document in which each unit without a translation is translated."""
    report = reports.append if reports is not None else _unexpected
    reading = Reading(name=name, source=source, target=target, final=final, replace=replace, report=report)
    document = read(data, reading)
    wanted = [None if unit.done is not None and not replace else translate(unit.text) for unit in document.units]
    return document.write(wanted)


def texts(name: str, data: bytes, source: str = "en", target: str = "de") -> list[str]:
    return [unit.text for unit in read(data, Reading(name=name, source=source, target=target)).units]


def _unexpected(message: str) -> None:
    raise AssertionError(f"reported: {message}")


def unchanged(name: str, data: bytes) -> Sequence[bytes]:
    """Return a document without translations, and with its own texts, in the language that it has."""
    document = read(data, Reading(name=name, source="en", target="en"))
    return document.write([None] * len(document.units)), document.write([unit.text for unit in document.units])
