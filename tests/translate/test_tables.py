"""Tables keep every cell as it is, and columns are aligned."""

from hypothesis import given
from hypothesis import strategies as st

from translate.tables import columns, rendered

CELL = st.text("ab1.0-|", min_size=1, max_size=9)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5))
def test_columns_keep_the_cells_and_align_them(rows: list[tuple[str, str]]) -> None:
    lines = columns(rows, "<>").split("\n")
    assert [tuple(line.split()) for line in lines] == rows
    assert len({len(line) for line in lines}) == 1


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5))
def test_a_cell_never_ends_a_column_of_markdown(rows: list[tuple[str, str]]) -> None:
    table = rendered([{"a": a, "b": b} for a, b in rows], "github").split("\n")
    assert all(line.replace(r"\|", "").count("|") == 3 for line in table)


def test_columns_without_a_value_are_left_out() -> None:
    assert "b" not in rendered([{"a": "1", "b": ""}, {"a": "2", "b": ""}], "simple")
