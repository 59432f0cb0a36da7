"""Months and weekdays are those of the source, by the names of CLDR; words that look like them are none."""

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st

from translate.inference.pipeline import missing
from translate.text.calendar import exchanged

LANGUAGES = ["de", "en", "fr", "nl"]


def names(language: str, kind: str, width: str) -> list[str]:
    """The names from January or Monday, as CLDR has them."""
    locale = Locale.parse(language)
    by_number = locale.months["format"][width] if kind == "months" else locale.days["format"][width]
    return [name for _, name in sorted(by_number.items())]


@given(
    st.lists(st.sampled_from(LANGUAGES), min_size=2, max_size=2, unique=True),
    st.sampled_from(["months", "weekdays"]),
    st.booleans(),
    st.data(),
)
def test_another_name_is_found_and_the_same_is_not(
    pair: list[str], kind: str, is_short: bool, data: st.DataObject
) -> None:
    own, other = pair
    width = "abbreviated" if is_short and not (kind == "weekdays" and "nl" in pair) else "wide"
    n = 12 if kind == "months" else 7
    one, two = (data.draw(st.integers(0, n - 1)) for _ in range(2))
    source, output = f"x {names(own, kind, width)[one]} y", f"z {names(other, kind, width)[two]}, w"
    found = exchanged(output, source, other, own)
    assert [held for *_, held in found] == ([] if one == two else [names(other, kind, "wide")[one]])
    assert all(source[start:stop].strip(".") in names(own, kind, width)[one] for start, stop, _ in found)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Im Mai darf er kommen.", "He may come this spring."),
        ("Im Juni kann er kommen.", "He can come in early summer."),
        ("Möge er im Juni kommen!", "May he come in June!"),
        ("Sie ist im Mai geboren und heißt April.", "Her name is April, and she was born in May."),
        ("In der Nacht zum Dienstag brannte es.", "There was a fire on Monday night."),
        ("Die Sonne schien am Montag.", "On Monday, the Sun shone."),
        ("Immer montags, nie Sonnabends.", "Every Monday, never on Saturdays."),
        ("Am 5.3. kam er.", "He came on March 5."),
        ("Das Maifest und der Augustiner", "The festival in June and the monk"),
    ],
)
def test_other_words_and_other_ways_to_say_it_are_no_exchange(source: str, output: str) -> None:
    assert exchanged(output, source, "en", "de") == []


def test_a_language_without_names_is_not_checked() -> None:
    assert exchanged("in May", "en marzo", "en", "es") == exchanged("en mayo", "in March", "es", "en") == []


def test_the_name_of_the_target_language_is_held_in_a_new_search() -> None:
    source = "Seit Dienstag, dem 5. März, ist es warm."
    held = missing("It has been warm since Monday, May 5.", source, "de-AT", "en-GB")
    assert [(source[start:stop], name) for start, stop, name in held] == [("Dienstag", "Tuesday"), ("März", "March")]
