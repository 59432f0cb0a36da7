"""Tables keep every cell as it is, and columns are aligned."""

import re

from hypothesis import given
from hypothesis import strategies as st

from translate.tables import columns, rendered

CELL = st.text("ab1.0-|", min_size=1, max_size=9)
USER_TEXT = st.text("a1 |\\\n\r\u2028", max_size=9)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5))
def test_columns_keep_the_cells_and_align_them(rows: list[tuple[str, str]]) -> None:
    lines = columns(rows, "<>").split("\n")
    assert [tuple(line.split()) for line in lines] == rows
    assert len({len(line) for line in lines}) == 1


@given(st.lists(st.tuples(USER_TEXT, USER_TEXT), min_size=1, max_size=5))
def test_a_row_of_markdown_is_one_line_that_reads_as_its_cells(rows: list[tuple[str, str]]) -> None:
    head, _, *lines = rendered([{"a|b": f"x{a}", "c\nd": f"{b}x"} for a, b in rows], "github").split("\n")
    assert markdown_cells(head) == ("a|b", "c d")
    assert [markdown_cells(line) for line in lines] == [(words(f"x{a}"), words(f"{b}x")) for a, b in rows]


def words(text: str) -> str:
    return " ".join(text.split())


def markdown_cells(line: str) -> tuple[str, ...]:
    """Return the cells of a row: a backslash makes the next character plain, and other bars separate cells."""
    assert re.fullmatch(r"\|((\\.|[^|\\])*\|)*", line)
    cells = re.findall(r"((?:\\.|[^|\\])*)\|", line.removeprefix("|"))
    return tuple(words(re.sub(r"\\(.)", r"\1", cell)) for cell in cells)


def test_columns_without_a_value_are_left_out() -> None:
    assert "b" not in rendered([{"a": "1", "b": ""}, {"a": "2", "b": ""}], "simple")
