"""Marked sentences keep every character; n-grams belong to the system that matches them more often."""

from hypothesis import given
from hypothesis import strategies as st

from translate.evaluation.comparison import Span, marked, ngram_differences

TEXT = st.text(st.sampled_from("ab .,\u00df\u4e2d\u56fd'"), max_size=30)


@given(TEXT, TEXT, TEXT)
def test_no_character_is_lost(first: str, second: str, reference: str) -> None:
    rows = marked(first, second, reference)
    assert ["".join(span.text for span in row) for row in rows] == [first, second, reference]


@given(TEXT, TEXT)
def test_identical_translations_have_no_marks(text: str, reference: str) -> None:
    assert {span.mark for row in marked(text, text, reference) for span in row} <= {""}


@given(TEXT, TEXT)
def test_a_perfect_translation_has_no_wrong_word(other: str, reference: str) -> None:
    _, perfect, expected = marked(other, reference, reference)
    assert "wrong" not in {span.mark for span in perfect}
    assert "first" not in {span.mark for span in expected}


def test_differences_are_marked_word_by_word() -> None:
    first, second, reference = marked("the old dog runs", "the cold dog runs", "an old dog runs")
    assert first == [Span("the ", ""), Span("old", "right"), Span(" dog runs", "")]
    assert second == [Span("the ", ""), Span("cold", "wrong"), Span(" dog runs", "")]
    assert reference == [Span("an ", ""), Span("old", "first"), Span(" dog runs", "")]


def test_an_n_gram_belongs_to_the_system_that_matches_it_more_often() -> None:
    references = [line.split() for line in ("a b c", "a b d", "e", "e f", "g")]
    texts = ("a b x", "a b d", "y", "z", "g"), ("x c", "a d", "e", "e x", "y")
    first, second = ngram_differences([[line.split() for line in lines] for lines in texts], references, 7)
    assert [(item.text, item.matches, item.expected) for item in first] == [("a b", (2, 0), 2)]
    assert [(item.text, item.matches, item.expected) for item in second] == [("e", (0, 2), 2)]


def test_a_word_counts_no_more_often_than_the_reference_has_it() -> None:
    first, second = ngram_differences([[["a", "a", "a", "a"]], [["a"]]], [["a", "b"]], 3)
    assert (first, second) == ([], [])
