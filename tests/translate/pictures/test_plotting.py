"""Figures of matplotlib."""

import re
from xml.etree import ElementTree

import pytest

from translate.pictures import plotting
from translate.pictures.plotting import PALETTE


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


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("text", ["a\x01b\x1b", "\x0b\x0c", "\ufffe\uffff", "a --> <b> & ]]>"])
def test_a_drawing_with_any_text_is_well_formed(text: str) -> None:
    pytest.importorskip("matplotlib")
    figure = plotting.new_figure(3, 2)
    figure.suptitle(text)
    (axes,) = plotting.new_axes(figure)
    plotting.label_cells(axes, [text], [text])
    ElementTree.fromstring(plotting.rendered(figure, "svg"))


def test_a_figure_is_transparent_and_every_colour_has_one_for_a_dark_page() -> None:
    pytest.importorskip("matplotlib")
    figure = plotting.new_figure(4, 2)
    chart, matrix = plotting.new_axes(figure, 1, 2)
    for i, colour in enumerate(plotting.COLOURS):
        chart.plot([0, 1], [i, 1], color=colour, label="line")
    chart.legend(frameon=False)
    chart.set(xlabel="step", yscale="log", ylim=(0.1, 9))
    plotting.colour_bar(figure, plotting.heat_map(matrix, [[0.0, 1.0], [-1.0, 0.5]], low=-1.0))
    figure.suptitle("title")
    svg = plotting.rendered(figure, "svg").decode()
    drawing, style = svg.split("</style>", 1)[1], svg.split("</style>", 1)[0]
    light = set(re.findall(r"(?:fill|stroke): (#\w+)", drawing))
    assert {*plotting.COLOURS, plotting.INK, plotting.QUIET, plotting.LINE} == light
    for colour in light:
        for kind in ("fill", "stroke"):
            (dark,) = re.findall(rf'\[style\*="{kind}: {colour}"\] {{ {kind}: (#\w+) !important }}', style)
            assert (colour, dark) in PALETTE.values()
