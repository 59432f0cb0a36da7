"""Characters that look the same are normalised, and no visible character is lost."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from translate.text.characters import capitalised, lowered, readable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der\u00a0Hund\u202fschläft", "Der Hund schläft"),
        ("Mu\u0308nchen", "München"),
        ("Donau\u00addampf\u200bschiff", "Donaudampfschiff"),
        ("\u22125 °C", "-5 °C"),
        ("a  b\tc \u00a0d\u2003 e", "a b c d e"),
        ("  a\u00a0 ", "  a\u00a0 "),
        ("Auf\u200clage\u200d", "Auflage"),
        ("Oﬃziere ﬁelen ﬂach, ſtark", "Offiziere fielen flach, stark"),
        ("\u203aNein\u2039, \u201aJa\u2018", "'Nein', 'Ja'"),
        ("It\u00b4s \u2018here\u2019, isn`t it?", "It's 'here', isn't it?"),
        ("isn\u2019t, a \u00b4 b", "isn\u2019t, a \u00b4 b"),
        ("M&auml;dchen &amp; &lt;b&gt;", "Mädchen &amp; &lt;b&gt;"),
    ],
)
def test_characters_that_look_the_same_are_normalised(text, expected):
    assert readable(text) == expected


@given(st.text(max_size=20) | st.text("a \t\u00a0\u2003", max_size=9))
def test_normalising_twice_changes_nothing(text):
    assert readable(readable(text)) == readable(text)


def is_spelled(character: str) -> bool:
    """Whether a character is a ligature or of a font of mathematics."""
    name = unicodedata.name(character, "")
    return character in "ſﬀﬁﬂﬃﬄﬅﬆ" or (name.startswith("MATHEMATICAL") and character >= "\U0001d400")


@example("𝗪𝐢𝑐𝟑")
@given(st.text(st.characters(categories=["L", "N"]), max_size=20))
def test_no_letter_is_lost(text):
    spelled = "".join(unicodedata.normalize("NFKC", c) if is_spelled(c) else c for c in text)
    assert readable(text) == unicodedata.normalize("NFC", spelled)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HALLO!", "Hallo!"),
        ("STRAßE", "Straße"),
        ("GROẞER", "Großer"),
        ("30 ÄPFEL", "30 Äpfel"),
        ("\u201eHALLO, DU!\u201c", "\u201eHallo, du!\u201c"),
        ("IBAN: DE89 3704", "Iban: DE89 3704"),
        ("PASSWORT: QWERTZ7", "Passwort: QWERTZ7"),
        ("NACH COVID-19 UND A-7", "Nach COVID-19 und A-7"),
        ("DIE 20-JÄHRIGE", "Die 20-jährige"),
        *((text, text) for text in ("Hallo", "USA", "NATO", "3 KM", "A", "")),
    ],
)
def test_text_in_capitals_is_lowered_and_abbreviations_are_not(text: str, expected: str) -> None:
    assert lowered(text) == expected


def test_a_few_words_in_lower_case_are_capitalised() -> None:
    assert capitalised("guten morgen") == "Guten Morgen"
    for text in ("Guten morgen", "es war einmal ein kleiner hund im", "", "3"):
        assert capitalised(text) == text
