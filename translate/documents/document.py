"""A document: its texts to translate, and its bytes with translations in their places.

A format is one module with a function `read`, named in `MODULES`. It divides the bytes of a file into texts to
translate and bytes to copy, so that `write` with the texts themselves gives the same bytes. What the file says stays;
what a translation may not touch, such as markup, identifiers and formulas, is never in a text.

A text is plain: escapes of the format are resolved, and written again with the translation. Within it, formatting and
objects are tags whose names occur nowhere else in the file:

    <g1>words</g1>    formatting: a pair around words, which stands around their translation afterwards
    <g2></g2>         something without width beside a word: a note, a bookmark, the end of a comment's range
    <g3/>             an object in the place of a word: a variable, an image, code

The translation has each tag exactly once, pairs nested; see `translate.inference.formatting`.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from translate.errors import UserError


@dataclass(frozen=True)
class Unit:
    """A text to translate, such as a paragraph, a cell or a message.

    Attributes:
        text: with tags for formatting and objects; line breaks that belong to it are "\\n".
        place: where it is in the document, for messages, such as "line 12" or "word/footnotes.xml".
        done: a translation that the file has already, which stays unless all are replaced; None if it has none.
    """

    text: str
    place: str = ""
    done: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How documents are read and written.

    Attributes:
        name: of the file, for messages.
        source, target: languages of the model, such as "de".
        final: whether machine translations are not marked as such (PO fuzzy, XLIFF state, TS unfinished).
        replace: whether translations that the file has already are replaced.
        force: whether a signed document is changed, which makes its signature invalid.
    """

    name: str
    source: str
    target: str
    final: bool = False
    replace: bool = False
    force: bool = False


class Document(Protocol):
    """A document that was read."""

    @property
    def units(self) -> Sequence[Unit]:
        """The texts to translate, in the order of the document."""

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the document with a translation in the place of each unit; None leaves the unit as it is."""


class Format(Protocol):
    """A module of a format."""

    def read(self, data: bytes, reading: Reading) -> Document:
        """Divide a file; UserError if it is damaged, or if it is not translated for another reason."""


# The module of each suffix.
MODULES: dict[str, str] = {}


def has_format(path: Path) -> bool:
    """Return whether the name of a file is that of a document with a module."""
    return path.suffix.lower() in MODULES


def read(data: bytes, reading: Reading) -> Document:
    """Divide a file by the format of its name; see `Format.read`."""
    suffix = Path(reading.name).suffix.lower()
    if suffix not in MODULES:
        raise UserError(f"{reading.name}: {suffix or 'a file without a suffix'} is no format of documents")
    module: Format = importlib.import_module(f"translate.documents.{MODULES[suffix]}")
    return module.read(data, reading)


def refuse_signed(reading: Reading) -> None:
    """Raise UserError for a document with a signature, unless it may be changed; formats call this."""
    if not reading.force:
        raise UserError(
            f"{reading.name}: is signed, and a translation loses the signature; add --force to translate it"
        )
