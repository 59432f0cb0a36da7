"""Words are counted in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.corpus.cleaning import n_words


@given(st.text(alphabet="aßÄ .!é–„“я 한א\u00a0"))
def test_with_spaces_words_are_what_stands_between_them(text):
    assert n_words(text) == len(text.split())


@pytest.mark.parametrize("text", ["今天天气很好", "きょうはいい", "ကခဂဃငစ", "កខគឃងច", "ກຂຄງຈສ", "กขคงจฉ"])
def test_two_characters_of_a_script_without_spaces_are_a_word(text):
    assert n_words(text) == 3
    assert n_words(f"{text}。 {text}") == 6
