"""The interface of a picture, and its file formats."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from translate.errors import UserError
from translate.files import write_bytes
from translate.pictures.page import svg_page
from translate.pictures.plotting import rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".html")


class Picture(Protocol):
    """A drawing in several forms."""

    @property
    def title(self) -> str:
        """Describe the picture in one line."""

    def text(self) -> str:
        """Return the drawing as lines of text."""

    def figure(self) -> "Figure":
        """Return the drawing as a matplotlib figure."""


@runtime_checkable
class Interactive(Picture, Protocol):
    """A picture that has a page of its own in HTML."""

    def page(self) -> str:
        """Return a self-contained HTML page."""


def check_place(place: Path, *, force: bool) -> None:
    """Raise UserError unless a picture can be written to `place`; an existing file needs `force`."""
    if place.suffix.lower() not in SUFFIXES:
        raise UserError(f"{place}: pictures are {', '.join(SUFFIXES)} files; choose a name with one of these endings")
    if place.exists() and not force:
        raise UserError(f"{place}: exists already; name another file, or add --force to overwrite it")
    if not place.parent.is_dir():
        raise UserError(f"{place}: its folder does not exist; make {place.parent} first")


def save(picture: Picture, place: Path) -> None:
    """Write a picture in the format of the file's ending; OSError if that fails."""
    suffix = place.suffix.lower()
    if suffix != ".html":
        content = rendered(picture.figure(), suffix.removeprefix("."))
    elif isinstance(picture, Interactive):
        content = picture.page().encode()
    else:
        svg = rendered(picture.figure(), "svg").decode()
        content = svg_page(picture.title, svg[svg.index("<svg") :]).encode()
    write_bytes(place, content)
