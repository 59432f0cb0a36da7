"""A text that is too long for a model is split into parts that fit, and nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.clauses import cut


@given(text=st.text(max_size=120) | st.text(alphabet="ab ,.;–\n", max_size=120), limit=st.integers(1, 31))
def test_every_part_fits_and_the_parts_are_the_text(text, limit):
    parts = cut(text, lambda part: len(part) <= limit)
    assert "".join(part.text for part in parts) == text
    assert all(len(part.text) <= limit for part in parts if part.translate)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Er kam spät heim, aber die Tür war offen; sie schlief schon.",
            ["Er kam spät heim, aber die Tür war offen;", "sie schlief schon."],
        ),
        ("Als er spät heim kam, war die Tür noch offen", ["Als er spät heim kam,", "war die Tür noch offen"]),
        (
            "Der Vertrag ist i. S. d. § 247, wie jeder, kündbar.",
            ["Der Vertrag ist i. S. d. § 247,", "wie jeder, kündbar."],
        ),
        ("eins zwei drei vier fünf sechs", ["eins zwei drei", "vier fünf sechs"]),
        ("aaaaaaaaaabbbbbbbbbb", ["aaaaaaaaaa", "bbbbbbbbbb"]),
    ],
)
def test_a_text_is_split_at_the_best_boundary(text, parts):
    limit = max(map(len, parts))
    assert [part.text for part in cut(text, lambda part: len(part) <= limit) if part.translate] == parts


def test_a_text_that_fits_stays_whole():
    assert [part.text for part in cut("Eins, zwei; drei.", lambda _: True)] == ["Eins, zwei; drei."]
