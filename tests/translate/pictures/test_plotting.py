"""Figures of matplotlib."""

import pytest

from translate.pictures import plotting


@pytest.mark.parametrize("text", [r"a $\foo$ b", "5$ % und 3^^ $", "$$", "$5 und $6"])
def test_dollars_in_text_begin_no_formula(text: str) -> None:
    pytest.importorskip("matplotlib")
    figure = plotting.new_figure(3, 2)
    figure.suptitle(text)
    (axes,) = plotting.new_axes(figure)
    axes.text(0.5, 0.5, text)
    plotting.label_cells(axes, [text], [text])
    assert plotting.rendered(figure, "svg")
    shown = [found.get_text() for found in (*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels())]
    assert shown == [text] * 3
    assert not any(found.get_parse_math() for found in (*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()))
