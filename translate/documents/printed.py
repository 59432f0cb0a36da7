"""Headers and footers of the sheets of Excel: texts in three sections, with codes for formats, numbers and names."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from translate.documents.xml import Atom, AtomKind, Content, Kind, Piece, Place, Token, as_read, contents, unescaped

ELEMENTS = frozenset(f"x:{which}{part}" for which in ("odd", "even", "first") for part in ("Header", "Footer"))
_LONGEST = 255  # characters that Excel reads in one
_QUOTE = rb'(?:"|&quot;)'
_CODE = re.compile(
    rb"&amp;(?:(?P<section>[LCR])|(?P<ampersand>&amp;)|(?P<value>[PNDTAFZG](?:[+-]\d+)?)"
    rb"|[BIUESXYOH]|\d{1,3}|K(?:[\dA-Fa-f]{6}|\d\d[+-]\d{3})|" + _QUOTE + rb".*?" + _QUOTE + rb")"
)


@dataclass(eq=False)
class _Printed(Content):
    """A text in which an ampersand is written twice."""

    def escaped(self, text: str) -> bytes:
        """Return a text as the file writes it."""
        return super().escaped(text.replace("&", "&&"))


def sections(atoms: Sequence[Atom], place: Place) -> list[Piece]:
    """Return the units of a header or footer, and the bytes around them."""
    raw = as_read([piece for atom in atoms for piece in atom.raw])
    found, section = list[Piece](), list[Atom]()
    for atom in _atoms(raw, atoms[0].token.start if atoms else 0):
        if atom.kind is AtomKind.NOTHING:
            found += [*contents(section, place), *atom.raw]
            section = []
        else:
            section.append(atom)
    found += contents(section, place)
    texts = [piece for piece in found if isinstance(piece, Content)]
    room = (_LONGEST - len(unescaped(raw.decode()))) // max(1, len(texts))
    printed = {text: _Printed(text.atoms, place, longest=len(text.text("g")) + room) for text in texts}
    return [printed[piece] if isinstance(piece, Content) else piece for piece in found]


def _atoms(raw: bytes, start: int) -> Iterator[Atom]:
    """Yield the texts and codes; one that begins a section is NOTHING."""
    end = 0
    for code in [*_CODE.finditer(raw), None]:
        stop = code.start() if code else len(raw)
        if end < stop:
            yield _text(raw[end:stop], unescaped(raw[end:stop].decode()), start + end)
        if code and code["ampersand"]:
            yield _text(code[0], "&", start + stop)
        elif code:
            kind = {"section": AtomKind.NOTHING, "value": AtomKind.OBJECT}.get(code.lastgroup or "", AtomKind.POINT)
            yield Atom(kind, Token(Kind.REST, code[0], start + stop), [code[0]])
        end = code.end() if code else stop


def _text(raw: bytes, text: str, start: int) -> Atom:
    return Atom(AtomKind.TEXT, Token(Kind.TEXT, raw, start, text=text), [raw], text)
