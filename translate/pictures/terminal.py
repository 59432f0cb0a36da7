"""Drawings made of characters."""

import sys
import unicodedata
from collections.abc import Sequence

from translate.errors import UserError

_BLOCKS = " \u2591\u2592\u2593\u2588"  # light to full
_ASCII = " .:*#"
_BARS = "\u2588", "#"


def _drawable(characters: str) -> bool:
    """True if stdout can show these characters."""
    try:
        characters.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def shade(value: float, low: float = 0.0, high: float = 1.0) -> str:
    """Return a character that is the darker, the nearer `value` is to `high`."""
    shades = _BLOCKS if _drawable(_BLOCKS) else _ASCII
    share = (value - low) / (high - low)
    return shades[max(0, min(len(shades) - 1, int(share * len(shades))))]


def bar(share: float, width: int) -> str:
    """Return a horizontal bar; a `share` of 1 fills the width."""
    full, plain = _BARS
    return (full if _drawable(full) else plain) * round(share * width)


def grid(rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], width: int | None) -> str:
    """Return a matrix as shaded cells, each as wide as the word above it.

    Args:
        rows: a word beside each row.
        columns: a word above each column.
        values: from 0 to 1.
        width: columns of the terminal; None is unlimited. UserError if the grid is wider.
    """
    side, widths = max(map(_width, rows)), [_width(column) for column in columns]
    needed = side + sum(widths) + len(widths)
    if width is not None and needed > width:
        raise UserError(
            f"the grid needs {needed} columns, but the terminal has {width}; widen it, or draw a file with --out"
        )
    lines = [" " * side + "".join(f" {column}" for column in columns)]
    for row, cells in zip(rows, values, strict=True):
        shaded = (" " + shade(cell) * n for cell, n in zip(cells, widths, strict=True))
        lines.append(" " * (side - _width(row)) + row + "".join(shaded))
    return "\n".join(line.rstrip() for line in lines)


def _width(word: str) -> int:
    """Return the columns of a word: a Chinese character has two, and an accent that is drawn over a letter none."""
    return sum((not unicodedata.combining(c)) + (unicodedata.east_asian_width(c) in "WF") for c in word)


def plot(curves: Sequence[tuple[str, Sequence[float]]], *, height: int, top: str, left: str, right: str) -> str:
    """Return curves over a common axis, each with its own letter.

    Args:
        curves: name and values of each curve, all of one length, at least 0.
        height: number of lines.
        top: label of the largest value.
        left, right: labels of the first and the last position.
    """
    highest = max(max(values) for _, values in curves)
    n = len(curves[0][1])
    canvas = [[" "] * n for _ in range(height)]
    for letter, (_, values) in zip("abcdefgh", curves, strict=False):
        for x, value in enumerate(values):
            canvas[height - 1 - round(value / highest * (height - 1))][x] = letter
    labels = [top, *[""] * (height - 2), "0"]
    side = max(map(len, labels))
    lines = [f"{label:>{side}} |{''.join(row)}".rstrip() for label, row in zip(labels, canvas, strict=True)]
    names = [f"{letter}: {name}" for letter, (name, _) in zip("abcdefgh", curves, strict=False)]
    return "\n".join([*lines, f"{'':{side}}  {left}{right:>{n - len(left)}}", *names])
