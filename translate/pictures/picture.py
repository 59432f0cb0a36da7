"""The interface of a picture, its file formats, and the HTML pages of pictures and reports.

Pages are self-contained: no script, font or style is loaded from elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from translate.errors import UserError
from translate.files import write_bytes
from translate.pictures.plotting import rendered

if TYPE_CHECKING:
    import jinja2
    from matplotlib.figure import Figure

    from translate.evaluation.comparison import Comparison

SUFFIXES = (".svg", ".png", ".html")


@dataclass(frozen=True)
class Chapter:
    """One subject of a report.

    Attributes:
        bars: a histogram, by heading and range; shares of the largest count are drawn.
        note: a sentence below.
    """

    title: str
    rows: list[dict[str, str]] = field(default_factory=list)
    bars: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    note: str = ""


class Picture(Protocol):
    """A drawing in several forms. One with a method `page` has an HTML page of its own."""

    @property
    def title(self) -> str:
        """Describe the picture in one line."""

    def text(self) -> str:
        """Return the drawing as lines of text."""

    def figure(self) -> "Figure":
        """Return the drawing as a matplotlib figure."""


def check_format(place: Path) -> None:
    """Raise UserError unless the name of a picture's file has an ending that is known."""
    if place.suffix.lower() not in SUFFIXES:
        raise UserError(f"{place}: pictures are {', '.join(SUFFIXES)} files; choose a name with one of these endings")


def save(picture: Picture, place: Path) -> None:
    """Write a picture in the format of the file's ending; OSError if that fails."""
    suffix = place.suffix.lower()
    if suffix != ".html":
        content = rendered(picture.figure(), suffix.removeprefix("."))
    elif hasattr(picture, "page"):
        content = picture.page().encode()
    else:
        svg = rendered(picture.figure(), "svg").decode()
        content = svg_page(picture.title, svg[svg.index("<svg") :]).encode()
    write_bytes(place, content)


def svg_page(title: str, svg: str) -> str:
    """Return a page with a heading and a drawing."""
    return _template("page").render(title=title, svg=svg)


def attention_page(title: str, data: Mapping[str, object]) -> str:
    """Return a page on which pointing at a target token lights the source tokens that it reads.

    Args:
        title: the heading.
        data: "source" and "target", the tokens, with spaces where words begin; "weights" by layer, head, target token
            and source token; "layers" and "heads", their names; "layer" and "head", the indices shown first.
    """
    return _template("attention").render(title=title, data=data)


def data_page(title: str, chapters: Sequence[Chapter]) -> str:
    """Return a report in chapters as a page."""
    return _template("data").render(title=title, chapters=chapters)


def comparison_page(comparison: "Comparison") -> str:
    """Return a page with charts, tables and sentences that show where two systems differ."""
    from translate.evaluation.scores import TESTS

    first, second = comparison.systems
    return _template("comparison").render(
        title=f"{first.name} and {second.name} on {comparison.test_set}",
        it=comparison,
        first=first,
        second=second,
        names=[first.name, second.name],
        tests=TESTS,
    )


def _template(name: str) -> "jinja2.Template":
    import jinja2

    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(f"{name}.html.jinja")
