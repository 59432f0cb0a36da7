"""A quotation mark whose partner is in another sentence is kept, in the target language's form."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.placeholders import PLACEHOLDER
from translate.text.quotes import paired, parted

SPACE = st.text(" \t\u00a0\u202f", min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("sentence", "target", "expected"),
    [
        ("Ich bin krank.“", "en", ("", "Ich bin krank.", '"')),
        ("„Ich komme morgen.", "en", ('"', "Ich komme morgen.", "")),
        ('"I am coming.', "de", ("„", "I am coming.", "")),
        ('I am ill."', "de", ("", "I am ill.", "“")),
        ("»Je viens.", "fr", ("»", "Je viens.", "")),
        ("«Ja.", "de", ("„", "Ja.", "")),
        ("„Ja“, sagte er", "en", ("", "„Ja“, sagte er", "")),
        ("„Ja.“", "en", ('"', "Ja.", '"')),
        ('"A"', "de", ("„", "A", "“")),
        ('"Ja" oder "Nein"', "de", ("", '"Ja" oder "Nein"', "")),
        ('""', "de", ("", '""', "")),
        ("„Ja.“", "fr", ("", "„Ja.“", "")),
        ("Er sagte: „Ja.", "en", ("", "Er sagte: „Ja.", "")),
        ("» Weiter", "en", ("» ", "Weiter", "")),
        ("Mehr erfahren\u00a0»", "en", ("", "Mehr erfahren", "\u00a0»")),
        ("Read more&nbsp;&raquo;", "de", ("", "Read more", "&nbsp;&raquo;")),
        ("Ich bin krank.&ldquo;", "en", ("", "Ich bin krank.", '"')),
        ('Der Monitor hat 27"', "en", ("", 'Der Monitor hat 27"', "")),
        ("« Ja »", "en", ("", "« Ja »", "")),
        ('"', "de", ("", '"', "")),
        ("", "de", ("", "", "")),
    ],
)
def test_an_unpaired_mark_at_an_end_is_split_off(sentence, target, expected):
    assert parted(sentence, target) == expected


@given(st.text('"„“a. ', max_size=9))
def test_other_languages_keep_the_marks_as_they_are(sentence):
    assert "".join(parted(sentence, "fr")) == sentence


@given(st.sampled_from('"«»„“”'), SPACE, st.sampled_from(["de", "en", "fr"]))
def test_a_mark_apart_from_the_words_is_kept_unchanged(mark, space, target):
    assert parted(f"{mark}{space}Ja", target) == (mark + space, "Ja", "")
    assert parted(f"Ja{space}{mark}", target) == ("", "Ja", space + mark)


@pytest.mark.parametrize(
    ("sources", "outputs", "expected"),
    [
        (["“Ich", " ", "gehe”"], ['"I', " ", "go»"], ['"I', " ", 'go"']),
        (["Klick „Ja“, dann »Nein«."], ['Click »Yes«, then "No".'], ['Click "Yes", then "No".']),
        (["„Ja“"], ['"Yes'], ['"Yes']),
        (['27" und 5"'], ["27„ and 5“"], ["27„ and 5“"]),
        (["<a b='“'>„Ja“</a>"], ["<a b='“'>»Yes«</a>"], ["<a b='“'>\"Yes\"</a>"]),
    ],
)
def test_the_marks_of_a_passage_are_those_of_the_target(
    sources: list[str], outputs: list[str], expected: list[str]
) -> None:
    assert paired(sources, outputs, PLACEHOLDER, "en") == expected
    assert paired(sources, outputs, PLACEHOLDER, "xx") == outputs


MARKED = st.lists(st.text("ab .\"“”„«»<>='", max_size=8), min_size=2, max_size=2)


@given(MARKED, MARKED)
def test_only_quotation_marks_change(sources: list[str], outputs: list[str]) -> None:
    found = paired(sources, outputs, PLACEHOLDER, "de")
    assert [re.sub('["“”„«»]', "x", text) for text in found] == [re.sub('["“”„«»]', "x", text) for text in outputs]
