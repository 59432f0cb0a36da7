"""Times of day keep their half of the day."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from translate.text import languages
from translate.text.clock import time_of, written
from translate.text.numbers import missing, protect

NUMBER = re.compile(r"[\d.:]+")
MINUTES = st.integers(0, 24 * 60 - 1)


def read(text: str, language: str, *, assumes: bool = False) -> int | None:
    """The time of the first number in the text."""
    number, rules = NUMBER.search(text), languages.find(language)
    assert number
    assert rules
    found = time_of(number, rules, assumes=assumes)
    return found and found[0]


@given(time=MINUTES, language=st.sampled_from(["de", "en"]))
def test_a_written_time_is_read_as_the_same_time(time: int, language: str) -> None:
    rules = languages.find(language)
    assert rules
    assert read(written(time, rules), language, assumes=True) == time


@given(time=MINUTES, languages_=st.sampled_from([("de", "en"), ("en", "de")]))
def test_a_time_is_hidden_with_its_clock_and_only_the_same_time_is_accepted(
    time: int, languages_: tuple[str, str]
) -> None:
    source, target = (languages.find(code) for code in languages_)
    assert source
    assert target
    assume(languages_ == ("en", "de") or not 1 <= time // 60 < 12)  # 8 Uhr may be in the evening
    text = f"x {written(time, source)}."
    protected = protect(text, *languages_)
    assert protected.text == "x \u27e61\u27e7."
    assert protected.originals == (written(time, target),)
    assert not missing(f"y {written(time, target)}.", text, *languages_)
    assert missing(f"y {written((time + 12 * 60) % (24 * 60), target)}.", text, *languages_)


@pytest.mark.parametrize(
    ("text", "language", "hours"),
    [
        ("8.30 Uhr abends", "de", 20.5),
        ("8 Uhr morgens", "de", 8),
        ("14:30 p.m.", "en", 14.5),
        ("12 a. m.", "en", 0),
        ("24 Uhr", "de", 0),
        ("11 Uhr nachts", "de", None),
        ("25 Uhr", "de", None),
        ("8.75 Uhr", "de", None),
        ("8:30:15 Uhr", "de", None),
        ("8 amps", "en", None),
        ("8", "de", None),
        ("8 Uhr", "de", None),
    ],
)
def test_uncertain_times_are_not_read(text: str, language: str, hours: float | None) -> None:
    assert read(text, language) == (None if hours is None else hours * 60)


def test_an_hour_up_to_twelve_is_in_the_morning_unless_the_text_says_otherwise() -> None:
    assert read("Um 8 Uhr.", "de", assumes=True) == 8 * 60
    assert read("Heute Abend um 8 Uhr.", "de", assumes=True) is None
    assert not missing("Heute Abend um 8 Uhr.", "Tonight at 8 pm.", "en", "de")
    assert missing("Es schließt um 8 Uhr.", "It closes at 8 pm.", "en", "de")
