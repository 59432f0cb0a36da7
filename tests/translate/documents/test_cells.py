"""A workbook's formulas name cells by their texts; however many do, each is found."""

import fnmatch
import time

from hypothesis import given
from hypothesis import strategies as st

from translate.documents.cells import NamedCells

WORDS = st.text("abS\u00dfx ", min_size=1, max_size=9)


@given(st.lists(st.text("abS\u00df?*", min_size=4, max_size=9), max_size=99), st.lists(WORDS, min_size=1, max_size=9))
def test_a_text_is_named_if_one_of_any_number_of_patterns_matches_it(patterns: list[str], texts: list[str]) -> None:
    cells, letters = NamedCells(), "abS\u00df"
    for pattern in patterns:
        cells.add_criterion(pattern)
    wild = [p for p in patterns if {*p} & {*"?*"} and any(p[i : i + 3].strip(letters) == "" for i in range(len(p) - 2))]
    plain = {p.casefold() for p in patterns if not {*p} & {*"?*"}}
    for text in map(str.strip, texts):
        matches = any(fnmatch.fnmatchcase(text.lower(), pattern.lower()) for pattern in wild)
        assert (text in cells) == bool(text and (matches or text.casefold() in plain))


def test_no_pattern_is_left_out_and_many_take_little_time() -> None:
    n, cells = 1_000, NamedCells()
    for i in range(n):
        cells.add_formula(f'IF(ISNUMBER(SEARCH("{name(i)}",A{i})),1,0)')
    start = time.process_time()
    assert all(f"Status: {name(i)} seit 2020" in cells for i in range(n))
    assert not any(f"Status: {name(i)} seit 2020" in cells for i in range(n, 2 * n))
    assert time.process_time() - start < 3


def name(i: int) -> str:
    """A distinct word, in which the order of letters counts the numbers."""
    return "".join("abcdefghij"[int(digit)] for digit in f"{i:05d}")
