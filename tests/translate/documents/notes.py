"""A tiny format for tests of the doors, .notes: each line is a text, with *formatting* and {objects}.

Lines that begin with "#" are copied, lines with "=>" have a translation after it. A machine's translation begins with
"?" unless it is final; a document that begins with "#signed" is signed, one that begins with "#damaged" is refused.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from translate.documents.document import Reading, Unit, refuse_signed
from translate.errors import UserError

_MARK = re.compile(r"\*([^*{}]*)\*|\{([^*{}]*)\}")


@dataclass
class Notes:
    """A file of notes: `parts` are the lines, with the tags of each text."""

    reading: Reading
    lines: list[str]
    units: Sequence[Unit]
    tags: list[dict[str, str]]
    places: list[int]

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file with translations."""
        lines = list(self.lines)
        for translation, unit, tags, place in zip(translations, self.units, self.tags, self.places, strict=True):
            if translation is None or (unit.done is not None and translation == unit.done):
                continue
            for tag, mark in tags.items():
                translation = translation.replace(tag, mark)
            source, arrow, _ = lines[place].partition("=>")
            is_same = translation == source and not arrow
            mark = "" if self.reading.final or is_same else "?"
            lines[place] = (source + arrow if arrow else "") + mark + translation
        return "\n".join(lines).encode()


def read(data: bytes, reading: Reading) -> Notes:
    """Divide a file."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{reading.name}: is not UTF-8; save it as UTF-8") from error
    if lines[0] == "#signed":
        refuse_signed(reading)
    if lines[0] == "#damaged":
        raise UserError(f"{reading.name}: is damaged; save it again")
    units, all_tags, places = list[Unit](), list[dict[str, str]](), list[int]()
    for n, line in enumerate(lines):
        if line.startswith("#") or not line.strip():
            continue
        source, arrow, done = line.partition("=>")
        text, tags = _tagged(source)
        units.append(Unit(text, f"line {n + 1}", _tagged(done)[0] if arrow and done else None))
        all_tags.append(tags)
        places.append(n)
    return Notes(reading, lines, units, all_tags, places)


def _tagged(text: str) -> tuple[str, dict[str, str]]:
    """Return a text with tags, and what each tag stands for."""
    tags, names = dict[str, str](), (f"g{n}" for n in itertools.count(1))

    def tag(mark: re.Match[str]) -> str:
        name = next(names)
        if mark[2] is not None:
            tags[f"<{name}/>"] = mark[0]
            return f"<{name}/>"
        tags[f"<{name}>"], tags[f"</{name}>"] = "*", "*"
        return f"<{name}>{mark[1]}</{name}>"

    return _MARK.sub(tag, text), tags
