"""Drawings as text characters."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.pictures import terminal


@given(st.lists(st.floats(0, 1), min_size=2, max_size=7))
def test_a_larger_value_never_gets_a_lighter_character(values: list[float]) -> None:
    shades = [terminal._BLOCKS.index(terminal.shade(value)) for value in sorted(values)]
    assert shades == sorted(shades)


def test_the_extremes_are_drawn_empty_and_full() -> None:
    assert (terminal.shade(-3.0, -3.0, 5.0), terminal.shade(5.0, -3.0, 5.0)) == (" ", "\u2588")


def test_a_terminal_without_unicode_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    drawn = terminal.grid(["a", "b"], ["x", "y"], [[1.0, 0.0], [0.5, 0.9]], None) + terminal.bar(1.0, 3)
    assert drawn.isascii()
    assert "#" in drawn


def test_columns_are_aligned_with_their_words() -> None:
    assert terminal.grid(["a", "bc"], ["x", "long"], [[1, 0], [0, 1]], None).splitlines() == [
        "   x long",
        " a \u2588",
        "bc   \u2588\u2588\u2588\u2588",
    ]


def test_cells_are_as_wide_as_wide_characters_and_combined_ones() -> None:
    assert terminal.grid(
        ["a", "\u4f60"], ["\u6211\u5011", "e\u0301", "x"], [[1, 0, 1], [0, 1, 1]], 11
    ).splitlines() == [
        "   \u6211\u5011 e\u0301 x",
        " a \u2588\u2588\u2588\u2588   \u2588",
        "\u4f60      \u2588 \u2588",
    ]
