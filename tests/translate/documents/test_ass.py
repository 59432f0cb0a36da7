"""Subtitles of Sub Station Alpha: dialogues change, and everything else stays, as the library pysubs2 reads it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.documents.document import Reading, read
from translate.errors import UserError

HEAD = """[Script Info]
; comment
Title: A title
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,Arial,20

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,a note
"""
FOOT = "\n[Fonts]\nDialogue: 1,2,3,4,5,6,7,8,9,no text\n"


def ass(*dialogues: str) -> bytes:
    lines = (f"Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{text}\n" for text in dialogues)
    return (HEAD + "".join(lines) + FOOT).encode()


def dialogues(data: bytes) -> list[str]:
    return re.findall(r"^Dialogue: .*?,,0,0,0,,(.*)$", data.decode(), re.MULTILINE)


PARTS = st.sampled_from(
    ["word", ", x", " ", "\\N", "\\n", "\\h", "{\\i1}", "{\\i0}", "{\\b1\\c&HFF&}", "{\\r}", "{\\an8}", "{note}", "A."]
    + ["{\\p1}m 0 0 l 1 1{\\p0}", "{\\k20}", "{\\pos(1,2)}", "{\\c&HFF00&}", "{\\c}", "- "]
)


@given(st.lists(st.lists(PARTS, max_size=7).map("".join), max_size=3), st.sampled_from(["\n", "\r\n"]))
def test_only_dialogues_change(lines: list[str], end: str) -> None:
    pysubs2 = pytest.importorskip("pysubs2")
    data = ass(*lines).replace(b"\n", end.encode())
    assert unchanged("a.ass", data) == (data, data)
    after = translated("a.ass", data, upper)
    tags = re.compile(r"\{[^{}]*\}")
    for old, new in zip(dialogues(data), dialogues(after), strict=True):
        assert tags.findall(new) == tags.findall(old)
    before, now = (pysubs2.SSAFile.from_string(one.decode()) for one in (data, after))
    for old, new in zip(before, now, strict=True):
        assert (old.start, old.end, old.style, old.type) == (new.start, new.end, new.style, new.type)
        if old.type == "Dialogue" and "\\p1" not in old.text:
            assert new.plaintext == old.plaintext.upper()


@pytest.mark.parametrize(
    ("before", "text", "said", "after"),
    [
        ("{\\an8}One {\\i1}two{\\i0}!", "One <g1>two</g1>!", "<g1>Zwei</g1> eins!", "{\\an8}{\\i1}Zwei{\\i0} eins!"),
        ("{\\i1}One two.{\\i0}", "One two.", "Eins.", "{\\i1}Eins.{\\i0}"),
        ("{\\an8\\i1}One.", "One.", "Eins.", "{\\an8\\i1}Eins."),
        ("One {\\k20}two", "One <g1></g1>two", "Eins <g1></g1>zwei", "Eins {\\k20}zwei"),
        ("a {\\c&HFF&}b{\\r} c", "a <g1>b</g1> c", "<g1>d</g1>", "{\\c&HFF&}d{\\r}"),
        ("I saw the\\NTower.", "I saw the\nTower.", "Ich sah ihn\ngut.", "Ich sah ihn\\Ngut."),
        ("- One.\\N- Two.", "- One.\n- Two.", "- Eins.\n- Zwei.", "- Eins.\\N- Zwei."),
        ("One\\htwo", "One\u00a0two", "Eins\u00a0zwei", "Eins\\hzwei"),
        ("One {\\p1}m 0 0{\\p0}two", "One <g1></g1>two", "<g1></g1>Eins", "{\\p1}m 0 0{\\p0}Eins"),
        ("One \\{two\\}", "One <g1/>two<g3/>", "<g1/>Eins<g3/>", "\\{Eins\\}"),
        ("One, two, three", "One, two, three", "Eins, zwei", "Eins, zwei"),
        (
            "{\\i1}a{\\i0} {\\i1}b{\\i0}",
            "<g0>a</g0> <g4>b</g4>",
            "<g4>d</g4> <g0>c</g0>",
            "{\\i1}d{\\i0} {\\i1}c{\\i0}",
        ),
    ],
)
def test_tags_are_formatting_or_beside_a_word(before: str, text: str, said: str, after: str) -> None:
    assert texts("a.ass", ass(before)) == [text]
    assert dialogues(translated("a.ass", ass(before), lambda text: said))[0] == after


@pytest.mark.parametrize("text", ["{\\p1}m 0 0 l 1 1{\\p0}", "{\\p1}m 0 0", "", "{\\an8}", "\\N"])
def test_what_has_no_words_is_no_text(text: str) -> None:
    assert texts("a.ass", ass(text)) == []


@pytest.mark.parametrize("said", ["{a}<g1></g1>", "a {<g1></g1>", "a\\Nb<g1></g1>", "a", "<g1></g1><g1></g1>"])
def test_a_translation_that_would_have_other_tags_is_reported(said: str) -> None:
    reports = list[str]()
    data = ass("One {\\k9}two")
    assert translated("a.ass", data, lambda text: said, reports=reports) == data
    assert len(reports) == 1


def test_a_mark_is_at_the_end_of_each_dialogue() -> None:
    assert dialogues(translated("a.ass", ass("a {\\i1}b{\\i0}\\Nc", "d"), marked))[:2] == [
        "a {\\i1}b{\\i0}\\Nc\u00b6",
        "d\u00b6",
    ]


def test_the_lines_of_a_dialogue_are_one_text() -> None:
    (unit,) = read(ass("a\\Nb"), Reading(name="a.ass", source="en", target="de")).units
    assert unit.wrapped


def test_the_fields_of_the_file_count() -> None:
    data = b"[Events]\nFormat: Marked, Start, Text\nDialogue: Marked=0,0:00,a, b\n"
    assert texts("a.ssa", data) == ["a, b"]
    with pytest.raises(UserError, match="line 2: has a format whose last field is not Text"):
        texts("a.ass", b"[Events]\nFormat: Text, Start\n")
    with pytest.raises(UserError, match="line 2: has fewer than 10 fields"):
        texts("a.ass", b"[Events]\nDialogue: 0,a\n")
