"""A time of day stays in its half of the day."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.clocks import set_right

DE_EN, EN_DE = ("de", "en"), ("en", "de")


@pytest.mark.parametrize(
    ("text", "output", "expected"),
    [
        ("Um 7:05 Uhr.", "At 7:05pm.", "At 7:05am."),
        ("9:00–12:30 Uhr", "9:00-12:30 p.m.", "9:00-12:30 p.m."),
        ("Um 8 Uhr abends", "At 8:00 a.m.", "At 8:00 p.m."),
        ("Um 18.30 Uhr", "At 6:30 AM", "At 6:30 PM"),
        ("Um 0:15 Uhr", "At 12:15 p.m.", "At 12:15 a.m."),
        ("Um 7 und um 19 Uhr", "At 7 a.m. and 7 p.m.", "At 7 a.m. and 7 p.m."),
        ("Um 9 Uhr", "At 8 p.m.", "At 8 p.m."),
        ("Von 3.30 Euro", "3:30 p.m.", "3:30 p.m."),
    ],
)
def test_english_halves(text: str, output: str, expected: str) -> None:
    assert set_right(output, text, *DE_EN) == expected


@pytest.mark.parametrize(
    ("text", "output", "expected"),
    [
        ("At 7:05 p.m.", "Um 7:05 Uhr.", "Um 19:05 Uhr."),
        ("At 8 pm.", "Um 8 Uhr.", "Um 20 Uhr."),
        ("9 a.m. to 5 p.m.", "9 Uhr bis 5 Uhr", "9 Uhr bis 17 Uhr"),
        ("3 to 5 p.m.", "3 bis 5 Uhr", "3 bis 5 Uhr"),
        ("At 12:30 a.m.", "Um 12.30 Uhr", "Um 0.30 Uhr"),
        ("At noon, 12 p.m.", "Um 12 Uhr", "Um 12 Uhr"),
        ("At 2:30 PM", "Um 14.30 Uhr", "Um 14.30 Uhr"),
        ("At 2:30 PM", "2,30 Euro, 12:2:30", "2,30 Euro, 12:2:30"),
    ],
)
def test_german_hours(text: str, output: str, expected: str) -> None:
    assert set_right(output, text, *EN_DE) == expected


@given(st.text("0123456789:. UhrapmPM-–to", max_size=30), st.text("0123456789:. UhrapmPM", max_size=30))
def test_digits_change_only_where_the_other_half_of_the_day_was_meant(text: str, output: str) -> None:
    for languages in (DE_EN, EN_DE):
        once = set_right(output, text, *languages)
        assert set_right(once, text, *languages) == once
    assert set_right(output, text, "de", "fr") == output
