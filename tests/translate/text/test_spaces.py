"""A no-break space of a sentence is in its translation where the two words stand side by side, and nowhere else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.spaces import with_special_spaces

SPACES = ["\u00a0", "\u202f", "\u2009", "&nbsp;", "&#160;", "&#xA0;", "&thinsp;"]
WORDS = st.sampled_from(["5", "10.", "Dr.", "Meier,", "%", "\u2013", "der", "km", '<a href="a b">3</a>', "{n}"])


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Es sind 1.000~km bis Rom.", "It is 1,000~km to Rome."),
        ("5~Äpfel und 3 Birnen", "5~apples and 3 pears"),
        ("Dr.~Meier und Frau~Müller", "Dr~Meier and Mrs~Müller"),
        ("Siehe (Abb.~3).", "See (fig.~3)."),
        ("Das Haus~\u2013 ein altes \u2013 steht.", "The house~\u2013 an old one \u2013 stands."),
        ("Von 5~bis 5 Uhr", "From 5~to 5 o'clock"),
        ("<b>5</b>~km und <a title='5 km'>6~km</a>", "<b>5</b>~km and <a title='5 km'>6~km</a>"),
        ("{n}~Dateien, siehe~<g7/>", "{n}~files, see~<g7/>"),
    ],
)
def test_a_special_space_returns_beside_a_number_a_name_or_a_mark(source: str, translation: str, space: str) -> None:
    said = with_special_spaces(translation.replace("~", " "), source.replace("~", space))
    assert said == translation.replace("~", space)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Es kostet 10~% mehr.", "It costs 10% more."),
        ("Das kostet 50~€.", "It costs €50 now."),
        ("Er war~die ganze Zeit da.", "He saw die cast and was there."),  # small words, the same by chance
        ("Am 5.~Januar 2020", "On January 5, 2020"),
        ("100~EUR davon", "EUR 100 of it"),
        ("um 5~Uhr und um 5 Uhr", "at 5 o'clock"),
        ("z.~B. ein Haus", "e.g. a house"),
    ],
)
def test_words_that_are_no_longer_side_by_side_have_plain_spaces(source: str, translation: str) -> None:
    assert with_special_spaces(translation, source.replace("~", "\u00a0")) == translation


@given(words=st.lists(WORDS, min_size=1, max_size=6), spaces=st.lists(st.sampled_from([" ", *SPACES]), min_size=6))
def test_a_copy_has_the_spaces_of_its_source_and_nothing_else_changes(words: list[str], spaces: list[str]) -> None:
    source = "".join(part for pair in zip(words, spaces, strict=False) for part in pair).strip()
    plain = re.sub("|".join(SPACES), " ", source)
    said = with_special_spaces(plain, source)
    assert re.sub("|".join(SPACES), " ", said) == plain
    if {"der", "km", "Meier,"}.isdisjoint(words):
        assert said == source
