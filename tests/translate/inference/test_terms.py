"""Terms: whole words, and their file."""

from pathlib import Path

import pytest

from translate.errors import UserError
from translate.inference.constraints import Term, read_terms


def test_a_term_is_a_whole_word() -> None:
    assert Term("Hund", "").occurs_in("Hunde und Hund.")
    assert not Term("Hund", "").occurs_in("Hunde und Schweinehund")
    assert Term("", "").occurs_in("x")


def test_a_terms_file_has_one_or_two_columns() -> None:
    assert list(read_terms(["a\tb c", "", "d"], Path("terms"))) == [Term("a", "b c"), Term("", "d")]
    assert list(read_terms(["u\u0308\to\u0308"], Path("terms"))) == [Term("\xfc", "\xf6")]
    for line in ("a\tb\tc", "a\t"):
        with pytest.raises(UserError, match="line 1: not a term"):
            list(read_terms([line], Path("terms")))
