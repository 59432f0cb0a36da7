"""What is for no model is known, and so is a translation that runs in circles; ordinary text is left in peace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.corpus.grammar import generate
from translate.text.guards import (
    FUNCTION_WORDS,
    begun_alike,
    echoes,
    has_words,
    is_foreign,
    is_shouted,
    language_of,
    longest_output,
    loops,
    unshouted,
)

GRAMMAR = generate("train", 300, 3)


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "3,50", "12.5.2024", "- 7 -", "🙂🙃", "§ 3", "→", "\0", "1️⃣"])
def test_what_has_no_letter_has_no_words(text: str) -> None:
    assert not has_words(text)


@pytest.mark.parametrize("text", ["a", "3 km", "漢字", "ß", "🙂 ja"])
def test_a_letter_of_any_script_is_a_word(text: str) -> None:
    assert has_words(text)


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("no no no", "nein"),
        ("No, no, no, no.", "Nein, nein."),
        ("the man and the man and the man and the man", "der Mann und die Frau"),
        ("Hahahahahahahahaha", "Ha"),
        ("in the house of the cat, in the house of the dog, in the house of the cow", "im Haus der Katze"),
        ("Good morning. Good morning. Good morning.", "Guten Morgen."),
    ],
)
def test_repetition_that_the_source_has_not_is_a_loop(output: str, source: str) -> None:
    assert loops(output, source)


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("", ""),
        ("Hello", "Hallo"),
        ("very, very good", "sehr gut"),
        ("No, no, no!", "Nein, nein, nein!"),
        ("no no no no no", "nein nein nein nein nein"),
        ("Hahahahahahahahaha", "Hahahahahahahahaha"),
        ("1000000000000", "1000000000000"),
        ("He ran and ran.", "Er lief und lief."),
        ("A rose is a rose is a rose.", "Eine Rose ist eine Rose ist eine Rose."),
    ],
)
def test_repetition_that_a_sentence_may_have_is_none(output: str, source: str) -> None:
    assert not loops(output, source)


@given(st.lists(st.sampled_from(["ja", "nein", "der Hund", "3", "-"]), max_size=30).map(" ".join))
def test_a_text_never_loops_beside_itself(text: str) -> None:
    assert not loops(text, text)


@given(st.text(min_size=1, max_size=9).filter(has_words), st.integers(5, 30))
def test_the_same_words_again_and_again_are_a_loop(text: str, n: int) -> None:
    if any(character.isalnum() for character in text):
        assert loops(" ".join([f"a{text}"] * n), "etwas anderes")


def test_true_translations_are_no_loops_no_echoes_and_within_their_length() -> None:
    for german, english in GRAMMAR:
        assert not echoes(english, german)
        assert not loops(english, german)
        assert len(english.split()) < longest_output(len(german.split()))


def test_what_says_the_same_words_is_an_echo() -> None:
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


def test_no_sentence_of_a_language_is_foreign_to_it() -> None:
    assert [german for german, _ in GRAMMAR if is_foreign(german, "de")] == []
    assert [english for _, english in GRAMMAR if is_foreign(english, "en")] == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The dog that you have seen is not from here.", "de"),
        ("Der Hund, den du gesehen hast, ist nicht von hier und auch nicht für dich.", "en"),
        ("Le chien que vous avez vu n'est pas dans la maison avec nous.", "de"),
        ("漢字かな交じり文", "de"),
        ("Это предложение по-русски", "en"),
        ("هذه جملة", "de"),
    ],
)
def test_another_language_or_script_is_foreign(text: str, language: str) -> None:
    assert is_foreign(text, language)


@pytest.mark.parametrize(
    "text",
    [
        "Guten Morgen",
        "OK, cool!",
        "Er sagte: \u201eThe show must go on.\u201c Und das ist nicht von ihm.",
        "Das Lied heißt Let It Be",
        "Ein Film mit dem Titel \u201eThe Good, the Bad and the Ugly\u201c",
        "Tokio (東京)",
        "Die Farbe des Hauses, des Daches, des Zaunes.",
        "Komm her, was will Tom?",
        "Was will sie? Wir will er was, her damit!",
        "",
    ],
)
def test_what_may_be_german_is_not_foreign(text: str) -> None:
    assert not is_foreign(text, "de")


def test_no_function_word_belongs_to_two_languages() -> None:
    words = [word for own in FUNCTION_WORDS.values() for word in own]
    assert sorted(words) == sorted(set(words))


def test_an_unknown_language_is_never_missed() -> None:
    assert not is_foreign("漢字", "ja")
    assert not is_foreign("The dog and the cat and the cow.", "la")


def test_a_language_is_guessed_among_those_asked_for_or_not_at_all() -> None:
    text = ["Der Hund ist nicht hier.", "The dog is not here, and that is that."]
    assert language_of(text[:1], ["de", "en"]) == "de"
    assert language_of(text[1:], ["de", "en"]) == "en"
    assert language_of(text, ["de"]) == "de"
    assert language_of(["12345"], ["de", "en"]) is None
    assert language_of(text, []) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("HALLO!", True), ("Hallo", False), ("A", False), ("STRAßE", True), ("3 KM", True), ("", False)],
)
def test_capitals_are_noticed(text: str, expected: bool) -> None:
    assert is_shouted(text) == expected


def test_small_letters_begin_with_a_capital() -> None:
    assert unshouted("\u201eHALLO, DU!\u201c") == "\u201eHallo, du!\u201c"
    assert unshouted("3 ÄPFEL") == "3 Äpfel"
    assert unshouted("") == ""


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Ende.", "end.", "End."),
        ("Noch eine", "one more", "One more"),
        ("Haus", "house", "house"),
        ("hallo du", "hello you", "hello you"),
        ("Hans Müller", "hans Müller", "Hans Müller"),
        ("NATO", "nato", "NATO"),
        ("Ein Haus", "House", "House"),
        ("Ein Haus", "", ""),
        ("", "", ""),
        ("2 Häuser", "two houses", "two houses"),
    ],
)
def test_a_phrase_begins_as_its_source_does(source: str, output: str, expected: str) -> None:
    assert begun_alike(output, source) == expected
