"""A sentence that goes on in the next cues is one text in each format of subtitles, as in SubRip."""

from collections.abc import Sequence
from typing import Protocol

import pytest

from tests.translate.documents.translators import texts, translated, unchanged
from translate.text.formats import content, reader

CASES = [
    ["Ich habe gestern", "mit meinem Bruder", "gesprochen.", "Ja."],
    ["Ich sah gestern den", "Hund."],
    ["Ausgang", "Der Hund bellt."],
    ["Ich wollte dir nur \u2013", "Sei still!"],
    ["\u266a Alle", "\u266a meine"],
    ["a", "b", "c", "d", "e"],
]


class Write(Protocol):
    """Writes cues, in which "/" is a line break, as a file."""

    __name__: str

    def __call__(self, cues: Sequence[str], *, names: Sequence[str] = (), pause: int = 0) -> bytes: ...


def srt(cues: Sequence[str], step: int = 10) -> str:
    times = (f"00:00:{step * n:02},000 --> 00:00:{10 + 10 * n:02},000" for n in range(len(cues)))
    return "\n".join(f"{n}\n{time}\n{cue}\n" for n, (time, cue) in enumerate(zip(times, cues, strict=True)))


def ass(cues: Sequence[str], *, names: Sequence[str] = (), pause: int = 0) -> bytes:
    names = names or [""] * len(cues)
    lines = [
        f"Dialogue: 0,0:00:{10 * n:02}.00,0:00:{10 + 10 * n - pause:02}.00,Default,{name},0,0,0,,{cue}\n"
        for n, (cue, name) in enumerate(zip(cues, names, strict=True))
    ]
    return ("[Events]\n" + "".join(lines).replace("/", "\\N")).encode()


def ttml(cues: Sequence[str], *, names: Sequence[str] = (), pause: int = 0, end: str = 'end="{}s"') -> bytes:
    names = names or [""] * len(cues)
    lines = [
        f'<p region="{name}" begin="{10 * n}s" {end.format(10 + 10 * n - pause)}><span style="a">{cue}</span></p>\n'
        for n, (cue, name) in enumerate(zip(cues, names, strict=True))
    ]
    text = "".join(lines).replace("/", "<br/>").replace("<<br/>", "</").replace("<br/>>", "/>")
    return f'<tt xmlns="http://www.w3.org/ns/ttml"><body>{text}</body></tt>'.encode()


@pytest.mark.parametrize("cues", CASES)
def test_the_same_cues_are_a_sentence_as_in_subrip(cues: Sequence[str]) -> None:
    pieces = reader("srt")(srt(cues).splitlines(keepends=True))
    expected = [content(piece) for piece in pieces if piece.translate]
    assert texts("a.ass", ass(cues)) == texts("a.ttml", ttml(cues)) == expected


@pytest.mark.parametrize("end", ['dur="10s"', 'dur="10000ms"', 'dur="300f"', 'dur="10t"', 'dur="00:00:10"'])
def test_a_cue_of_ttml_may_have_a_duration(end: str) -> None:
    assert texts("a.ttml", ttml(["Ich habe", "einen Hund."], end=end)) == ["Ich habe\neinen Hund."]


FORMATS = pytest.mark.parametrize("write", [ass, ttml])


@FORMATS
def test_each_cue_gets_its_lines_of_the_translation(write: Write) -> None:
    name = f"a.{write.__name__}"
    data, expected = write(["Ich/habe", "einen roten", "Hund."]), write(["A/B", "C", "D"])
    assert unchanged(name, data) == (data, data)
    assert translated(name, data, lambda text: "A\nB\nC\nD", source="de", target="en") == expected


@FORMATS
def test_an_edited_translation_with_other_lines_is_reported(write: Write) -> None:
    data, reports = write(["Ich", "habe"]), list[str]()
    assert translated(f"a.{write.__name__}", data, lambda text: "A", reports=reports) == data
    assert ["has 1 lines, not 2" in report for report in reports] == [True]


@FORMATS
def test_a_pause_another_look_or_a_format_ends_the_text(write: Write) -> None:
    name, cues = f"a.{write.__name__}", ["Ich habe", "einen Hund."]
    assert texts(name, write(cues, pause=5)) == texts(name, write(cues, names=["a", "b"])) == cues
    formatted = "{\\i1}ein{\\i0} Hund" if write is ass else '<span style="b">ein</span> Hund'
    assert len(texts(name, write(["Ich habe", formatted]))) == 2
