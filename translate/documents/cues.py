"""Sentences of subtitles that go on in the next cues: one text, of whose translation each cue gets its lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from translate.documents.document import ParsedDocument, Reading, Unit
from translate.text.placeholders import DOCUMENT_TAG
from translate.text.subtitles import MOST_CUES, goes_on


@dataclass(frozen=True)
class Cue:
    """When a text is seen, and how.

    Attributes:
        start, end: in seconds.
        look: equal for cues of the same place and format.
    """

    start: float
    end: float
    look: object


class Sentences:
    """Subtitles whose cues are texts of their own, with a sentence in several cues as one; see `ParsedDocument`.

    Args:
        cues: those of the units of the file; None for a unit that is no cue.
    """

    def __init__(self, file: ParsedDocument, cues: Sequence[Cue | None], reading: Reading) -> None:
        self._file, self._report, self._name = file, reading.report, reading.name
        units = [replace(unit, spoken=cue is not None) for unit, cue in zip(file.units, cues, strict=True)]
        self._sentences = list(_sentences(units, cues))

    @cached_property
    def units(self) -> list[Unit]:
        """The texts, whose lines are those of the cues."""
        return [
            units[0]
            if len(units) == 1
            else replace(units[0], text="\n".join(unit.text for unit in units), wrapped=True)
            for units in self._sentences
        ]

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file; each cue has as many lines of the translation as it had."""
        texts = list[str | None]()
        for units, text in zip(self._sentences, translations, strict=True):
            texts += [text] if len(units) == 1 else self._divided(units, text)
        return self._file.write(texts)

    def _divided(self, units: Sequence[Unit], text: str | None) -> list[str | None]:
        n_lines = [unit.text.count("\n") + 1 for unit in units]
        lines = text.split("\n") if text is not None else []
        if len(lines) != sum(n_lines):
            if text is not None:
                what = f"has {len(lines)} lines, not {sum(n_lines)}, those of its cues together"
                self._report(f"{self._name}, {units[0].place}: is not translated, as the translation {what}")
            return [None] * len(units)
        rest = iter(lines)
        return ["\n".join(next(rest) for _ in range(n)) for n in n_lines]


def _sentences(units: Sequence[Unit], cues: Sequence[Cue | None]) -> Iterator[list[Unit]]:
    """Yield the units of each sentence; a cue with tags stands alone, as each cue counts its tags from 1."""
    sentence, last = list[Unit](), None
    for unit, cue in zip(units, cues, strict=True):
        if sentence and len(sentence) < MOST_CUES and _goes_on(sentence[-1], last, unit, cue):
            sentence.append(unit)
        else:
            yield from [sentence] if sentence else []
            sentence = [unit]
        last = cue
    yield from [sentence] if sentence else []


def _goes_on(unit: Unit, cue: Cue | None, following: Unit, next_cue: Cue | None) -> bool:
    if cue is None or next_cue is None or cue.look != next_cue.look:
        return False
    if DOCUMENT_TAG.search(unit.text) or DOCUMENT_TAG.search(following.text):
        return False
    return goes_on(unit.text, following.text, next_cue.start - cue.end)
