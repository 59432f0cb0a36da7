"""Figures by matplotlib, drawn without a display."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from translate.errors import optional_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#3366aa", "#cc6633", "#338855", "#884488")
_DPI = 150
# A fixed salt and no date: the same picture is the same file.
_SETTINGS = {
    "svg.hashsalt": "translate",
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
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


def heat_map(axes: "Axes", rows: Any, *, low: float = 0.0, high: float = 1.0, colours: str = "Blues") -> Any:
    """Draw a matrix as coloured cells and return the image.

    Args:
        axes: where to draw.
        rows: numbers by row and column.
        low, high: values of the first and the last colour.
        colours: name of a colour map of matplotlib.
    """
    return axes.imshow(rows, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="nearest")


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
        format: "svg" or "png".
    """
    from matplotlib import rc_context
    from matplotlib.text import Text

    file = io.BytesIO()
    scales = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) if axis.get_scale() == "log"]
    powers = {label for axis in scales for label in axis.get_ticklabels(which="both")}
    with rc_context(_SETTINGS):
        for text in figure.findobj(Text):
            text.set_parse_math(text in powers)  # "$" in a sentence begins no formula
        figure.savefig(file, format=format, dpi=_DPI, metadata={"Date": None} if format == "svg" else {})
    return file.getvalue()
