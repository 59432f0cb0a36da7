"""Text without words, loops and copied sources are detected; ordinary text passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.corpus.grammar import generate
from translate.text.guards import (
    echoes,
    has_words,
    longest_output,
    loops,
)

GRAMMAR = generate("train", 300, 3)


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "3,50", "12.5.2024", "- 7 -", "🙂🙃", "§ 3", "→", "\0", "1️⃣"])
def test_text_without_letters_has_no_words(text: str) -> None:
    assert not has_words(text)


@pytest.mark.parametrize("text", ["a", "3 km", "漢字", "ß", "🙂 ja"])
def test_a_letter_of_any_script_is_a_word(text: str) -> None:
    assert has_words(text)


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("no no no", "nein"),
        ("No, no, no, no, no.", "Nein, nein."),
        ("the man and the man and the man and the man", "der Mann und die Frau"),
        ("Hahahahahahahahaha", "Ha"),
        ("in the house of the cat, in the house of the dog, in the house of the cow", "im Haus der Katze"),
        ("Good morning. Good morning. Good morning.", "Guten Morgen."),
    ],
)
def test_repetition_that_is_not_in_the_source_is_a_loop(output: str, source: str) -> None:
    assert loops(output, source)


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("", ""),
        ("Hello", "Hallo"),
        ("very, very good", "sehr gut"),
        ("No, no, no!", "Nein, nein, nein!"),
        ("Nein, nein, nein, nein.", "No, no, no."),
        ("no no no no no", "nein nein nein nein nein"),
        ("Hahahahahahahahaha", "Hahahahahahahahaha"),
        ("1000000000000", "1000000000000"),
        ("He ran and ran.", "Er lief und lief."),
        ("A rose is a rose is a rose.", "Eine Rose ist eine Rose ist eine Rose."),
    ],
)
def test_legitimate_repetition_is_not_a_loop(output: str, source: str) -> None:
    assert not loops(output, source)


@given(st.lists(st.sampled_from(["ja", "nein", "der Hund", "3", "-"]), max_size=30).map(" ".join))
def test_a_text_is_never_a_loop_compared_with_itself(text: str) -> None:
    assert not loops(text, text)


@given(st.text(min_size=1, max_size=9).filter(has_words), st.integers(5, 30))
def test_repeated_words_are_a_loop(text: str, n: int) -> None:
    if any(character.isalnum() for character in text):
        assert loops(" ".join([f"a{text}"] * n), "etwas anderes")


def test_correct_translations_are_neither_loops_nor_echoes_nor_too_long() -> None:
    for german, english in GRAMMAR:
        assert not echoes(english, german)
        assert not loops(english, german)
        assert len(english.split()) < longest_output(len(german.split()))


def test_an_output_with_the_words_of_its_source_is_an_echo() -> None:
    for text in ("This is English", "qwe rtz uio pas", "Das ist Das hier"):
        assert echoes(text.upper(), text)
    assert echoes("The Hund schläft im Garten", "Der Hund schläft im Garten.")
    for output, source in (
        ("I love New York City.", "Ich liebe New York City."),
        ("Mr Smith is in New York.", "Herr Smith ist in New York."),
        ("Tom Miller", "Tom Miller"),
        ("1 2 3 4", "1 2 3 4"),
        ("", ""),
        ("⟦1⟧ ⟦2⟧ ⟦3⟧", "⟦1⟧ ⟦2⟧ ⟦3⟧"),
    ):
        assert not echoes(output, source)
