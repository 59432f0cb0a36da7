"""A translation that begins like a list, such as `3. Oktober`, stays a paragraph of Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.growth import grows_linearly
from translate.text import blocks
from translate.text.formats import Paragraph, content, reader

SOURCE = "On October 3 they came"
FIRST = ["3.", "1.", "10)", "123456789.", "-", "+", "*", "#", "######", "%", "3", "-1", "A.", "(a)", "#5"]


def paragraphs(page: str) -> list[Paragraph]:
    lines = page.splitlines(keepends=True)
    return [Paragraph(piece, "markdown") for piece in reader("markdown")(lines)]


def written(page: str, said: str) -> str:
    """Return a page with a translation of its text about October."""
    return "".join(
        str(one.laid_out(said)) if one.piece.translate and "October" in one.plain else one.piece.text
        for one in paragraphs(page)
    )


def seen(page: str) -> tuple[list[str], str]:
    """Return the elements and the words that a page has by CommonMark."""
    tokens = MarkdownIt("commonmark").parse(page)
    words = " ".join("".join(inner.content or " " for inner in token.children or ()) for token in tokens)
    return [token.type for token in tokens], f" {' '.join(words.split())} "


@pytest.mark.parametrize(
    "place",
    [
        "{}\n",
        "{}\nand more\n",
        "- {}\n",
        "> {}\n> and more\n",
        "1. - {}\n\n  next\n",
        "{}\n=====\n",
        "# {}\n",
        "before  \n{}\n",
    ],
)
@given(st.sampled_from(FIRST), st.lists(st.sampled_from(["Oktober", "-", "1.", "so"]), min_size=2, max_size=5))
def test_what_a_translation_begins_with_is_no_mark(place: str, first: str, others: list[str]) -> None:
    said = " ".join([first, *others, "war"])
    elements, words = seen(written(place.format(SOURCE), said))
    assert elements == seen(place.format(SOURCE))[0]
    assert f" {said} " in words


@pytest.mark.parametrize("text", ["3\\. October", "1\\) October\nwas", "\\- October", "\\# October", "\\% October"])
def test_an_escaped_mark_is_read_as_text_and_stays(text: str) -> None:
    (one,) = paragraphs(text)
    assert content(one.piece) == text.replace("\\", "")
    assert one.laid_out(one.plain) == text
    assert "\\" not in written(text, "They came")


@pytest.mark.parametrize("first", ["*so*", "**3.**", "3.5", "1234567890.", "[3.](a)", "1990", "-5", "#5", "~~so~~"])
def test_what_is_no_mark_has_no_backslash(first: str) -> None:
    assert written(SOURCE, f"{first} Oktober") == f"{first} Oktober"


def test_cells_of_tables_with_bars_and_headings_have_no_lists() -> None:
    for page in (f"# {SOURCE}\n", f"| {SOURCE} | a |\n|---|---|\n"):
        assert written(page, "3. Oktober") == page.replace(SOURCE, "3. Oktober")


def test_a_cell_of_a_grid_has_the_translation_as_text() -> None:
    rule = f"+{'-' * 26}+\n"
    table = f"{rule}| {SOURCE:24} |\n{rule}"
    lines = written(table, "3. Oktober").splitlines()
    assert lines[1].strip("| ") == "3\\. Oktober"
    assert len({*map(len, lines)}) == 1


def test_lines_that_are_translated_one_by_one_begin_with_no_marks() -> None:
    (one,) = paragraphs("so\nOctober\nwas\n")[:1]
    translations = ["- so" if part.translate else part.text for part in one.lines()]
    assert seen(one.joined(one.lines(), translations))[0] == ["paragraph_open", "inline", "paragraph_close"]


@pytest.mark.parametrize("unit", ["1", "#", "\\", "1.", "- ", " ", "\n1."])
def test_any_text_takes_linear_time(unit: str) -> None:
    assert grows_linearly(lambda n: blocks.escaped(unit * n, unit * n), 2_000, 16_000)
    assert grows_linearly(lambda n: blocks.unescaped(unit * n), 2_000, 16_000)
