"""What looks the same is read as the same, and nothing that can be seen is lost."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.characters import readable, recased


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der\u00a0Hund\u202fschläft", "Der Hund schläft"),
        ("Mu\u0308nchen", "München"),
        ("Donau\u00addampf\u200bschiff", "Donaudampfschiff"),
        ("\u22125 °C", "-5 °C"),
        ("a  b\tc", "a b c"),
        ("  a\u00a0 ", "  a\u00a0 "),
        ("M&auml;dchen &amp; &lt;b&gt;", "Mädchen &amp; &lt;b&gt;"),
    ],
)
def test_what_looks_alike_is_alike(text, expected):
    assert readable(text) == expected


@given(st.text(max_size=20))
def test_it_is_read_once_and_for_all(text):
    assert readable(readable(text)) == readable(text)


@given(st.text(st.characters(categories=["L", "N"]), max_size=20))
def test_no_letter_is_lost(text):
    assert readable(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HALLO!", "Hallo!"),
        ("STRAßE", "Straße"),
        ("3 KM", "3 Km"),
        ("\u201eHALLO, DU!\u201c", "\u201eHallo, du!\u201c"),
        ("Hallo", None),
        ("A", None),
        ("", None),
        ("guten morgen", "Guten Morgen"),
        ("es war einmal ein kleiner hund im", None),
    ],
)
def test_capitals_that_a_model_may_know_better(text: str, expected: str | None) -> None:
    assert recased(text, capitalises_nouns=True) == expected
    assert recased(text, capitalises_nouns=False) == (None if text.islower() else expected)
