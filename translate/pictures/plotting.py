"""Figures by matplotlib, drawn without a display, in the colours of `colours.css`."""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translate.errors import optional_package, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours by their names in colours.css: on light pages, and on dark ones.
PALETTE = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--([\w-]+): light-dark\((#\w+), (#\w+)\)",
        (Path(__file__).parent / "colours.css").read_text(encoding="utf-8"),
    )
}
INK, QUIET, LINE = (PALETTE[name][0] for name in ("ink", "quiet", "line"))
COLOURS = tuple(PALETTE[name][0] for name in ("accent", "second", "third", "fourth"))
# The colours of a drawing on a light page, each with its counterpart on a dark one.
_DARK = dict(PALETTE[name] for name in ("ink", "quiet", "line", "accent", "second", "third", "fourth"))
_HEAT, _COLD = "#4a86e0", "#c96a24"  # light enough for a dark page and dark enough for a light one
_DPI = 150
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # the characters that XML forbids
# A fixed salt and no date: the same picture is the same file.
_SETTINGS = {
    "svg.hashsalt": "translate",
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.edgecolor": QUIET,
}


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches; UserError if matplotlib is missing.

    Nothing opens a window: `pyplot`, which would look for a display, is not used.
    """
    optional_package("matplotlib", "plots")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_SETTINGS):
        return Figure(figsize=(width, height), layout="constrained")


def new_axes(figure: "Figure", n_rows: int = 1, n_columns: int = 1) -> "list[Axes]":
    """Return the axes of a grid, row by row."""
    from matplotlib import rc_context

    with rc_context(_SETTINGS):
        return list(figure.subplots(n_rows, n_columns, squeeze=False).flat)


def heat_map(axes: "Axes", rows: Any, *, low: float = 0.0, high: float = 1.0) -> Any:
    """Draw a matrix as cells, the larger a value the more opaque, and return the image.

    Args:
        axes: where to draw.
        rows: numbers by row and column.
        low: 0, which is drawn transparent, or the opposite of `high`; negative numbers have another colour.
        high: the number that is drawn opaque.
    """
    from matplotlib.colors import LinearSegmentedColormap

    colours = [(_HEAT, 0.0), (_HEAT, 1.0)] if low >= 0 else [(_COLD, 1.0), (_COLD, 0.0), (_HEAT, 0.0), (_HEAT, 1.0)]
    places = [0.0, 1.0] if low >= 0 else [0.0, 0.5, 0.5, 1.0]
    cmap = LinearSegmentedColormap.from_list("heat", list(zip(places, colours, strict=True)))
    for spine in axes.spines.values():
        spine.set(visible=True, color=LINE)
    return axes.imshow(rows, cmap=cmap, vmin=low, vmax=high, aspect="auto", interpolation="nearest")


def colour_bar(figure: "Figure", image: Any) -> None:
    """Draw the scale of a heat map beside it."""
    from matplotlib import rc_context

    with rc_context(_SETTINGS):
        figure.colorbar(image)


def label_cells(axes: "Axes", rows: Sequence[str], columns: Sequence[str]) -> None:
    """Write a word beside each row and above each column of a heat map."""
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)


def rendered(figure: "Figure", format: str) -> bytes:
    """Return a figure as the bytes of a file; the same figure gives the same bytes.

    Args:
        figure: the drawing.
        format: "svg", which is transparent and has the colours of a light or dark page; or "png", on white.
    """
    from matplotlib import rc_context
    from matplotlib.text import Text

    file = io.BytesIO()
    scales = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) if axis.get_scale() == "log"]
    powers = {label for axis in scales for label in axis.get_ticklabels(which="both")}
    with rc_context(_SETTINGS):
        for axes in figure.axes:
            axes.tick_params(which="both", color=QUIET, labelcolor=INK)
        for text in figure.findobj(Text):
            text.set_parse_math(text in powers)  # "$" in a sentence begins no formula
            if text.get_color() == "black":
                text.set_color(INK)
        if format != "svg":
            figure.savefig(file, format=format, dpi=_DPI)
            return file.getvalue()
        figure.savefig(file, format=format, dpi=_DPI, facecolor="none", metadata={"Date": None})
    drawing = _NOT_XML.sub("\ufffd", file.getvalue().decode())  # matplotlib copies each text into a comment
    return drawing.replace("</style>", f"\n{_dark_style()}</style>", 1).encode()


@contextmanager
def glyphs_checked(place: object) -> Iterator[None]:
    """Say in one sentence if the font lacks characters of a drawing, for which matplotlib warns one by one.

    Args:
        place: the file that the drawing is written to.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    others = [warning for warning in caught if "missing from font" not in str(warning.message)]
    if len(others) < len(caught):
        say(f"{place}: the font lacks some characters, which are drawn as boxes")
    for warning in others:
        warnings.warn(warning.message, stacklevel=1)


def _dark_style() -> str:
    """Return the rules of CSS for a dark page; a program that ignores them shows the colours of a light one."""
    rules = (
        f'[style*="{kind}: {light}"] {{ {kind}: {dark} !important }}\n'
        for light, dark in _DARK.items()
        for kind in ("fill", "stroke")
    )
    return f":root {{ color-scheme: light dark }}\n@media (prefers-color-scheme: dark) {{\n{''.join(rules)}}}\n"
