"""TTML and EBU-TT-D: subtitles, whose lines are one text; times, regions and styles stay.

A line break is one in a text too, and so is the end of a cue in whose next one the sentence goes on. A style that goes
on in the next line, which programs write as one <span> a line, is one pair with the break in it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from translate.documents.cues import Cue, Sentences
from translate.documents.document import Reading, Unit
from translate.documents.xml import (
    Atom,
    AtomKind,
    Content,
    Parts,
    Piece,
    Place,
    Role,
    Table,
    Token,
    as_read,
    contents,
    divide,
    pairs,
    translated_language,
)
from translate.errors import UserError
from translate.text.subtitles import seconds

_VERSIONS = ("ns/ttml", "2006/10/ttaf1", "2006/04/ttaf1", "2006/02/ttaf1")
_PREFIXES = {f"http://www.w3.org/{version}": "" for version in _VERSIONS}
_PREFIXES |= {
    f"http://www.w3.org/{version}#{space}": prefix
    for version in _VERSIONS
    for space, prefix in (("metadata", "ttm"), ("parameter", "ttp"), ("styling", "tts"))
}
_SPACE = re.compile(r"\s+")
_ID = re.compile(rb"""\s(?:xml:id|begin|end|dur)\s*=\s*(?:"[^"]*"|'[^']*')""")  # differs between spans of one style
_NAME = re.compile(rb"<([^\s/>]+)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}  # of times, in seconds
_RATES = {"frame": 30, "tick": 1}  # frames and ticks of a second, unless the file says others
_OFFSET = re.compile(r"(\d+(?:\.\d+)?)(h|ms?|s|f|t)")  # such as 1.5s
_CLOCK = re.compile(r"(\d+:\d\d:\d\d(?:\.\d+)?)(?::(\d+))?")  # with frames as its last part


@dataclass(eq=False)
class _Text(Content):
    """A text with line breaks.

    Attributes:
        cue: its times and look, if it has times.
    """

    cue: Cue | None = None

    def escaped(self, text: str) -> bytes:
        """Return a text as the file writes it."""
        return self._line_break.join(super(_Text, self).escaped(line) for line in text.split("\n"))

    @cached_property
    def _line_break(self) -> bytes:
        """A line break as the file writes it, with the ends of a <span> around it if no other style is in the text."""
        first = next((atom for atom in self.atoms if atom.text == "\n"), None)
        if first is None:
            return b" "
        if any(atom.kind is AtomKind.OPEN for atom in self.atoms):
            name = _NAME.match(first.token.raw)
            return b"<%b/>" % (name[1] if name else b"br")
        return b"".join(piece for piece in first.raw if isinstance(piece, bytes))


class Subtitles(Parts):
    """A file of subtitles; see `ParsedDocument`."""

    @cached_property
    def units(self) -> list[Unit]:
        """The texts of the cues."""
        return [replace(unit, wrapped="\n" in unit.text) for unit in super().units]


def read(data: bytes, reading: Reading) -> Sentences:
    """Divide a file of subtitles; see `Format.read`."""
    language, is_root, units = translated_language(reading), True, dict(_UNITS)
    rubies = set[str]()  # styles of words with ruby

    def role(token: Token) -> Role | None:
        nonlocal is_root
        if is_root and token.name != "tt":
            raise UserError(f"{reading.name}: is no TTML, as its first element is not <tt> in a namespace of TTML")
        if is_root:
            units.update(_rates(token))
        is_root = False
        attributes = token.attributes
        if attributes.get("tts:ruby") != "container" and rubies.isdisjoint(attributes.get("style", "").split()):
            return None
        if token.name == "style":
            rubies.add(attributes.get("xml:id", ""))
        return Role.OBJECT if token.name == "span" else None

    def changes(token: Token) -> dict[str, str]:
        stated = token.attributes.get("xml:lang")
        new = reading.target if stated and token.name == "tt" else language(stated or "")
        return {"xml:lang": new} if new and stated else {}

    table = Table(
        elements={"p": Role.UNIT, "span": Role.PAIR, "br": Role.TEXT, "ttm:title": Role.UNIT, "ttm:desc": Role.UNIT},
        prefixes=_PREFIXES,
        role=role,
        characters=lambda _: "\n",
        changes=changes,
        contents=lambda start, atoms, place: _contents(start, atoms, place, units),
    )
    part = divide(data, table, reading)
    cues = [content.cue if isinstance(content, _Text) else None for content in part.contents]
    return Sentences(Subtitles({"": part}), cues, reading)


def _rates(root: Token) -> dict[str, float]:
    """Return the length of a frame and of a tick in seconds, as the first element says."""
    stated = {name: root.attributes.get(f"ttp:{name}Rate", "") for name in ("frame", "tick")}
    rates = {name[0]: int(rate) if rate.isdecimal() and int(rate) else _RATES[name] for name, rate in stated.items()}
    return {unit: 1 / rate for unit, rate in rates.items()}


def _contents(start: Token, atoms: Sequence[Atom], place: Place, units: Mapping[str, float]) -> list[Piece]:
    """Return the text of a cue, and the bytes around it."""
    where = start.attributes.get("begin") or start.attributes.get("xml:id")
    own = replace(place, part=f"cue {where}") if where else place
    inner = {piece for atom in atoms for piece in atom.raw if isinstance(piece, Content)}  # descriptions in the cue
    pieces = contents(_with_breaks(_with_single_spaces(atoms)), own)
    before = as_read([*takewhile(lambda piece: not isinstance(piece, Content) or piece in inner, pieces)])
    cue = _cue(start, _ID.sub(b"", before), units)
    return [
        _Text(piece.atoms, piece.place, cue=cue) if isinstance(piece, Content) and piece not in inner else piece
        for piece in pieces
    ]


def _cue(start: Token, before: bytes, units: Mapping[str, float]) -> Cue | None:
    """Return the times and the look of a cue; None if it has no times of its own.

    Args:
        before: tags before its text, without times.
    """
    begin, end, duration = (_seconds(start.attributes.get(name, ""), units) for name in ("begin", "end", "dur"))
    if begin is not None and duration is not None:
        end = begin + duration
    return None if begin is None or end is None else Cue(begin, end, (_ID.sub(b"", start.raw), before))


def _seconds(time: str, units: Mapping[str, float]) -> float | None:
    """Return a time as a number; None for what is none."""
    if offset := _OFFSET.fullmatch(time):
        return float(offset[1]) * units[offset[2]]
    if clock := _CLOCK.fullmatch(time):
        return seconds(clock[1]) + int(clock[2] or 0) * units["f"]
    return None


def _is_break(atom: Atom) -> bool:
    return atom.kind is AtomKind.TEXT and atom.token.name == "br"


def _with_single_spaces(atoms: Sequence[Atom]) -> list[Atom]:
    """Return the atoms with one space for white space, and none beside a line break."""
    out, last = list[Atom](), "\n"
    for atom in atoms:
        if atom.kind is AtomKind.TEXT and not _is_break(atom):
            text = _SPACE.sub(" ", atom.text)
            atom = replace(atom, text=text[1:] if text.startswith(" ") and last in (" ", "\n") else text)
        out.append(atom)
        last = "" if atom.kind is AtomKind.OBJECT else atom.text[-1:] or last
    is_at_break = False
    for i in range(len(out) - 1, -1, -1):
        text = out[i].text
        if is_at_break and not _is_break(out[i]) and text.endswith(" "):
            text = text[:-1]
            out[i] = replace(out[i], text=text)
        is_object = out[i].kind is AtomKind.OBJECT
        is_at_break = _is_break(out[i]) or (is_at_break and not text and not is_object)
    return out


def _with_breaks(atoms: Sequence[Atom]) -> list[Atom]:
    """Return the atoms with one line break for the end of a style, a line break and the start of the same style."""
    out, partners = list[Atom](), pairs(atoms)
    i = 0
    while i < len(atoms):
        stop, lines = i + 1, list[Token]()
        while stop < len(atoms) and atoms[stop].kind is AtomKind.TEXT and not atoms[stop].text.strip():
            lines += [atoms[stop].token] * _is_break(atoms[stop])
            stop += 1
        is_end = atoms[i].kind is AtomKind.CLOSE and stop < len(atoms) and atoms[stop].kind is AtomKind.OPEN
        if is_end and len(lines) == 1 and i in partners and stop in partners:
            style, following = (_ID.sub(b"", atoms[at].token.raw) for at in (partners[i], stop))
            if style == following:
                raw = [piece for atom in atoms[i : stop + 1] for piece in atom.raw]
                out.append(Atom(AtomKind.TEXT, lines[0], raw, "\n"))
                i = stop + 1
                continue
        out.append(atoms[i])
        i += 1
    return out
