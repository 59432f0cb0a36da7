"""TTML and EBU-TT-D: subtitles, whose lines are one text; times, regions and styles stay.

A line break is one in a text too. A style that goes on in the next line, which programs write as one <span> a line, is
one pair with the break in it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

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
    contents,
    divide,
    pairs,
    translated_language,
)
from translate.errors import UserError

_VERSIONS = ("ns/ttml", "2006/10/ttaf1", "2006/04/ttaf1", "2006/02/ttaf1")
_PREFIXES = {f"http://www.w3.org/{version}": "" for version in _VERSIONS}
_PREFIXES |= {f"http://www.w3.org/{version}#metadata": "ttm" for version in _VERSIONS}
_SPACE = re.compile(r"\s+")
_ID = re.compile(rb"""\s(?:xml:id|begin|end)\s*=\s*(?:"[^"]*"|'[^']*')""")  # differs between spans of one style
_NAME = re.compile(rb"<([^\s/>]+)")


class _Cue(Content):
    """A text with line breaks."""

    def escaped(self, text: str) -> bytes:
        """Return a text as the file writes it."""
        return self._line_break.join(super(_Cue, self).escaped(line) for line in text.split("\n"))

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


def read(data: bytes, reading: Reading) -> Subtitles:
    """Divide a file of subtitles; see `Format.read`."""
    language, is_root = translated_language(reading), True

    def role(token: Token) -> Role | None:
        nonlocal is_root
        if is_root and token.name != "tt":
            raise UserError(f"{reading.name}: is no TTML, as its first element is not <tt> in a namespace of TTML")
        is_root = False
        return None

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
        contents=_contents,
    )
    return Subtitles({"": divide(data, table, reading)})


def _contents(start: Token, atoms: Sequence[Atom], place: Place) -> list[Piece]:
    """Return the text of a cue, and the bytes around it."""
    where = start.attributes.get("begin") or start.attributes.get("xml:id")
    own = replace(place, part=f"cue {where}") if where else place
    pieces = contents(_with_breaks(_with_single_spaces(atoms)), own)
    return [_Cue(piece.atoms, piece.place) if isinstance(piece, Content) else piece for piece in pieces]


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
        last = atom.text[-1:] or last
    is_at_break = False
    for i in range(len(out) - 1, -1, -1):
        text = out[i].text
        if is_at_break and not _is_break(out[i]) and text.endswith(" "):
            text = text[:-1]
            out[i] = replace(out[i], text=text)
        is_at_break = _is_break(out[i]) or (is_at_break and not text)
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
