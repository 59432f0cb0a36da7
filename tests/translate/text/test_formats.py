"""Every format restores its text, finds the parts to translate, and needs bounded memory and time."""

import csv
import io
import itertools
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.growth import grows_linearly
from translate.errors import UserError
from translate.text.formats import FORMATS, Paragraph, content, guess_format, reader, unquoted, written
from translate.text.markup import markdown
from translate.text.sentences import Piece
from translate.text.translation import Format


def read(layout: str, text: str, column: int = 1) -> list[Piece]:
    return list(reader(layout, column=column)(text.splitlines(keepends=True)))


def language(layout: str, text: str, column: int = 1) -> list[str]:
    return [piece.text for piece in read(layout, text, column) if piece.translate]


HARD = st.text(alphabet="aB1 \n\t<>/!-`~#*|\"'=.:[]()[x$^+{}", max_size=60)


@pytest.mark.parametrize("layout", FORMATS)
@given(text=HARD)
def test_pieces_joined_are_the_text(layout: str, text: str) -> None:
    lines = [line + "\n" for line in text.split("\n")]
    assert "".join(piece.text for piece in reader(layout, column=2)(lines)) == "".join(lines)


def test_names_of_files_suggest_formats() -> None:
    names = ["a.md", "b.HTML", "c.srt", "d.vtt", "e.tsv", "f.txt", "g", "h.de", "i.qmd", "j.Rmd", "k.mkd", "l.pl"]
    assert [guess_format(Path(name)) for name in [*names, "m.mjml"]] == [
        "markdown",
        "html",
        "srt",
        "vtt",
        "tsv",
        "text",
        "text",
        "text",
        *["markdown"] * 3,
        "text",
        "html",
    ]


@pytest.mark.parametrize("layout", ["text", "lines"])
def test_a_line_and_its_line_end_are_separate_pieces(layout: str) -> None:
    assert read(layout, "a b. c\n\n d") == [
        Piece("a b. c", True),
        Piece("\n", False),
        Piece("", True),
        Piece("\n", False),
        Piece(" d", True),
    ]


@pytest.mark.parametrize(("column", "expected"), [(1, ["a", "d", "g"]), (2, ["b", "e"]), (3, ["c", ""]), (4, [])])
def test_one_column_is_translated(column: int, expected: list[str]) -> None:
    assert language("tsv", "a\tb\tc\nd\te\t\ng\n", column) == expected


def test_a_quoted_cell_is_translated_between_its_marks() -> None:
    """As spreadsheets write cells with quotation marks and line breaks."""
    text = '1\t"Er sagte ""Ja"" zu mir."\tx\n2\t"Eins.\nZwei.\n\nDrei."\ty\n3\t"Vier"\r\n4\tSo "fünf"\n'
    assert language("tsv", text, 2) == ['Er sagte ""Ja"" zu mir.', "Eins.", "Zwei.", "Drei.", "Vier", 'So "fünf"']
    rows = list(csv.reader(io.StringIO(text), delimiter="\t"))
    upper = "".join(piece.text.upper() if piece.translate else piece.text for piece in read("tsv", text, 2))
    changed = list(csv.reader(io.StringIO(upper), delimiter="\t"))
    assert changed == [[row[0], row[1].upper(), *row[2:]] for row in rows]


CELL = st.text('"\u201eA\n,;\t ', max_size=9).filter(lambda text: not {"\n", "\t"} <= {*text})


# Only the last cell of a row may have line breaks.
ROW = st.tuples(CELL.filter(lambda text: "\n" not in text), CELL)


@given(st.lists(ROW, min_size=1, max_size=4), st.lists(CELL, min_size=1))
def test_any_translation_of_a_cell_gives_a_table_with_the_same_other_cells(
    table: list[tuple[str, str]], said: list[str]
) -> None:
    """Written by the csv module and read by it."""
    file = io.StringIO()
    csv.writer(file, csv.excel_tab, lineterminator="\n").writerows([["x" + a, b] for a, b in table])
    said = [text.replace("\n", "").replace("\r", "") for text in said]
    words = itertools.cycle(said)
    found = "".join(
        written(next(words), piece) if piece.translate else piece.text for piece in read("tsv", file.getvalue(), 2)
    )
    rows = list(csv.reader(io.StringIO(found, newline=""), csv.excel_tab))
    assert [row[0] for row in rows] == ["x" + a for a, _ in table]
    assert all(len(row) == 2 for row in rows)


def test_a_translation_with_other_quotation_marks_stays_one_cell() -> None:
    for text, said in (
        ('1\t"Er sagte: \u201eJa\u201c und ging."\tx\n', 'He said: "Yes" and left.'),
        ("1\t\u201eJa\u201c, sagte er.\tx\n", 'Yes, "he" said.'),
        ('1\t"Er sagte ""Ja""."\tx\n', 'He said "Yes".'),
    ):
        pieces = read("tsv", text, 2)
        found = "".join(written(said, piece) if piece.translate else piece.text for piece in pieces)
        assert list(csv.reader(io.StringIO(found), csv.excel_tab)) == [["1", said, "x"]]
        assert [content(piece) for piece in pieces if piece.translate] == [next(csv.reader([text], csv.excel_tab))[1]]


def test_a_line_end_of_crlf_stays_outside_of_new_marks_of_the_last_cell() -> None:
    pieces = [*read("tsv", "1\t\u201eJa\u201c, sagte er.\r\n2\tGut.\r\n", 2)]
    ends = [piece.text[len(piece.text.rstrip()) :] for piece in pieces]  # which a translation keeps
    found = "".join(
        written(f'"Yes, he said.{end}', piece) if piece.translate else piece.text
        for piece, end in zip(pieces, ends, strict=True)
    )
    rows = list(csv.reader(io.StringIO(found, newline=""), csv.excel_tab))
    assert rows == [["1", '"Yes, he said.'], ["2", '"Yes, he said.']]
    assert [line.endswith("\r\n") for line in found.splitlines(keepends=True)] == [True, True]


def translated_cells(table: str, said: list[str]) -> str:
    words = iter(said)
    return "".join(written(next(words), p) if p.translate else p.text for p in read("tsv", table, 2))


def test_a_cell_is_quoted_only_where_it_could_be_read_otherwise() -> None:
    """The table of two columns has no quoted cell, or one that had to be quoted."""
    plain = '1\t\u201eJa\u201c, sagte er.\n2\t"Nein" und "Ja"\n3\t\u201eJa\u201c\n'
    said = ['"Yes," he said.', '"No" and "yes"', '"Yes']
    assert translated_cells(plain, said) == '1\t"Yes," he said.\n2\t"No" and "yes"\n3\t"""Yes"\n'
    spreadsheet = '1\t"Er sagte ""Ja""."\n2\t\u201eJa\u201c, sagte er.\n'
    assert translated_cells(spreadsheet, ['He said "yes".', said[0]]) == (
        '1\t"He said ""yes""."\n2\t"""Yes,"" he said."\n'
    )


@given(said=st.lists(st.text('"A ,', min_size=1, max_size=7), min_size=1, max_size=5))
def test_a_translated_cell_is_read_the_same_by_the_reader_of_training_data(said: list[str]) -> None:
    found = translated_cells("".join(f"{i}\t\u201eJa\u201c.\n" for i in range(len(said))), said)
    assert [unquoted(line.split("\t")[1]) for line in found.splitlines()] == said


def test_a_quotation_mark_without_a_partner_joins_no_rows() -> None:
    text = '1\t"Offen\n2\t"Auch, sagte er.\n3\t"Zu"\n4\t"Ende\n'
    assert language("tsv", text, 2) == ['"Offen', '"Auch, sagte er.', "Zu", '"Ende']


def test_cues_are_split_into_sentences_and_speakers() -> None:
    text = (
        "WEBVTT - Titel\n\nNOTE\nnichts\n\n1\n00:01 --> 00:02 align:start\nEin Satz\nin zwei Zeilen.\nNoch einer.\n\n"
    )
    text += "00:03 --> 00:04\n- Ja?\n- Nein!\n\n00:05 --> 00:06\n\n"
    assert language("vtt", text) == ["Ein Satz\nin zwei Zeilen.", "Noch einer.", "- Ja?", "- Nein!"]


def test_a_line_of_a_cue_in_brackets_stands_alone() -> None:
    text = "1\n00:01 --> 00:02\n[Es klopft]\nWer ist da?\n\n00:03 --> 00:04\n- <i>(leise)</i>\nIch (Anna)\nbin es.\n"
    assert language("srt", text) == ["Es klopft", "Wer ist da?", "leise", "Ich (Anna)\nbin es."]


def cue(text: str) -> str:
    return f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Musik]", ["Musik"]),
        ("[leise] Komm her.", ["leise", "Komm her."]),
        ("[leise, spricht\nweiter] Komm.", ["[leise, spricht\nweiter] Komm."]),
        ("Komm her. [lacht]", ["Komm her.", "lacht"]),
        ("Komm\n[Tür] her.", ["Komm", "Tür", "her."]),
        ("(seufzt) Ja\nund nein.", ["seufzt", "Ja\nund nein."]),
        ("Das (große) Haus\n(im Wald) ist da.", ["Das (große) Haus\n(im Wald) ist da."]),
        ("(Un)möglich!", ["(Un)möglich!"]),
        ("[1] [b]fett[/b] [FIRST_NAME]", ["[1] [b]fett[/b] [FIRST_NAME]"]),
        ("MANN: Wer ist da?", ["MANN", "Wer ist da?"]),
        ("- FRAU DR. MÜLLER-LÜDENSCHEIDT (leise):\nIch.", ["FRAU DR. MÜLLER-LÜDENSCHEIDT", "leise", "Ich."]),
        (">> KIND 2: Da!\nMANN: Wo?", ["KIND 2", "Da!", "MANN", "Wo?"]),
        ("Um 12:30 kam die EU: so", ["Um 12:30 kam die EU: so"]),
        ("<i>[Regen]</i>\n<i>Es regnet.</i>", ["Regen", "<i>Es regnet.</i>"]),
        ("♪ Alle meine Entchen ♪\n♪ schwimmen ♪", ["♪ Alle meine Entchen ♪", "♪ schwimmen ♪"]),
        ("♪ Alle meine\nEntchen ♪\nJa.", ["♪ Alle meine\nEntchen ♪", "Ja."]),
        ("# Alle Entchen #\n# am See #", ["# Alle Entchen #", "# am See #"]),
        ("-Nein! -Doch!", ["-Nein!", "-Doch!"]),
        ("– Ja? – Nein … -Na gut", ["– Ja?", "– Nein …", "-Na gut"]),
        ("Ja - nein, E-Mail. 3-4", ["Ja - nein, E-Mail. 3-4"]),
    ],
)
def test_sounds_speakers_and_lines_of_songs_are_translated_by_themselves(text: str, expected: list[str]) -> None:
    assert language("srt", cue(text)) == expected
    code = "{\\an8}"  # a place, which hid a sound or a name after it
    found = language("srt", cue(code + text.replace("\n", f"\n{code}")))
    assert [said.replace(code, "") for said in found] == expected
    coded = [content(piece) for piece in read("srt", cue(text.replace("\n", r"\N"))) if piece.translate]
    assert coded == [content(piece) for piece in read("srt", cue(text)) if piece.translate]


def test_names_in_capitals_are_read_as_names_and_written_in_capitals() -> None:
    said = {"Frau Groß": "Mrs Groß", "Mann": "man", "Tür Knallt": "door slams", "Musik": "music"}
    text = cue("FRAU GROß: [Musik]\n[TÜR KNALLT]\nMANN: [Musik]")
    pieces = read("srt", text)
    found = "".join(written(said[content(p)], p) if p.translate else p.text for p in pieces)
    assert found == cue("MRS GROSS: [music]\n[DOOR SLAMS]\nMAN: [music]")


@given(
    st.lists(
        st.sampled_from(["[Musik]", "MANN:", " ", "\n", "♪", "- ", "Ja.", "<i>", "</i>", "{\\an8}", "(so)", ":"]),
        max_size=9,
    )
)
def test_pieces_of_any_cue_are_the_cue(parts: list[str]) -> None:
    text = cue("".join(parts))
    pieces = read("srt", text)
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)


def test_a_language_in_the_header_of_webvtt_is_a_code() -> None:
    page = "WEBVTT - Titel\nKind: captions\nLanguage: de-AT\n\nLanguage: de\n00:01.000 --> 00:02.000\nLanguage: de\n"
    pieces = read("vtt", page)
    assert "".join(piece.text for piece in pieces) == page
    found = [(piece.text, piece.form) for piece in pieces if piece.translate]
    assert found == [("de-AT", "code"), ("Language: de", "")]
    (piece,) = (piece for piece in reader("vtt")(["WEBVTT\n", "00:01.000 --> 00:02.000\n", "Ja.\n"]) if piece.translate)
    assert piece.text == "Ja."  # without a blank line behind the header


def test_the_text_of_a_cue_may_have_blank_lines() -> None:
    cues = "1\n00:01 --> 00:02\nEin Satz\n\nin Teilen.\n\nNoch einer.\n\n2\n\n00:03 --> 00:04\nJa\n"
    assert language("srt", cues) == ["Ein Satz", "in Teilen.", "Noch einer.", "Ja"]
    notes = "WEBVTT\n\nTitel\n\n00:01 --> 00:02\nEin Satz\n\nNOTE nichts\nhier\n\nSTYLE\n::cue { color: red }\n"
    assert language("vtt", notes) == ["Ein Satz"]


def test_cues_without_a_blank_line_between_them_are_separate() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nEs sind\n12\n2\n00:00:03,000 --> 00:00:04,000\nIch --> du\n"
    assert language("srt", text) == ["Es sind\n12", "Ich --> du"]


def test_text_after_a_blank_line_belongs_to_its_cue_even_without_one_before_the_next() -> None:
    times = "00:00:01,000 --> 00:00:02,000\n"
    text = f"1\n{times}Erster.\n\nNoch einer.\nUnd einer.\n2\n{times}Zweiter.\n\nMehr.\n{times}Dritter.\n"
    assert language("srt", text) == ["Erster.", "Noch einer.", "Und einer.", "Zweiter.", "Mehr.", "Dritter."]
    names = f"WEBVTT\n\nein Name\n{times}Eins.\n\nnoch ein Name\n{times}Zwei.\n"
    assert language("vtt", names) == ["Eins.", "Zwei."]


def cues(texts: Iterable[str], pause: int = 0, settings: str = "") -> str:
    return "\n".join(
        f"{n}\n00:00:{10 * n:02},000 --> 00:00:{10 * n + 10 - pause:02},000{settings * n}\n{text}\n"
        for n, text in enumerate(texts, start=1)
    )


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ["Ich habe gestern", "mit meinem Bruder", "gesprochen."],
            ["Ich habe gestern\nmit meinem Bruder\ngesprochen."],
        ),
        (["Ich habe", "einen\nHund. Und du?", "nein"], ["Ich habe\neinen\nHund. Und du?", "nein"]),
        (["Ich sah den roten", "Hund,\nder da lag.", "Ja."], ["Ich sah den roten\nHund,\nder da lag.", "Ja."]),
        (["Alle meine Entchen", "Schwimmen auf dem See"], ["Alle meine Entchen", "Schwimmen auf dem See"]),
        (["Ich sah gestern den", "Hund.", "Ja."], ["Ich sah gestern den\nHund.", "Ja."]),
        (["<i>Ich habe</i>", "<i>einen Hund.</i>"], ["<i>Ich habe\neinen Hund.</i>"]),
        (["{\\an8}Ich habe", "einen Hund."], ["{\\an8}Ich habe", "einen Hund."]),
        (["Ich <b>habe</b>", "einen Hund."], ["Ich <b>habe</b>", "einen Hund."]),
        (["Ich habe.", "einen Hund."], ["Ich habe.", "einen Hund."]),
        (["wir gehen", "wir gehen"], ["wir gehen", "wir gehen"]),
        (["Ausgang", "Der Hund bellt."], ["Ausgang", "Der Hund bellt."]),
        (["BAHNHOF BERLIN", "Der Hund bellt."], ["BAHNHOF BERLIN", "Der Hund bellt."]),
        (["Ja,", "- nein"], ["Ja,", "- nein"]),
        (["Ja,", "MANN: nein"], ["Ja,", "MANN", "nein"]),
        (["Ich weiß nicht, ob du", "Ben: Was, Anna?"], ["Ich weiß nicht, ob du", "Ben: Was, Anna?"]),
        (["Ich weiß nicht, ob du", "Mann 2 (leise): Was?"], ["Ich weiß nicht, ob du", "Mann 2 (leise): Was?"]),
        (["Ich sah gestern den", "Hund meines Nachbarn: rot."], ["Ich sah gestern den\nHund meines Nachbarn: rot."]),
        (["Ich wollte dir nur \u2013", "Sei still!"], ["Ich wollte dir nur \u2013", "Sei still!"]),
        (["Ich ging gestern nach", "HALT! POLIZEI!"], ["Ich ging gestern nach", "HALT! POLIZEI!"]),
        (["Ich ging gestern nach", "&gt;&gt; hallo"], ["Ich ging gestern nach", "&gt;&gt; hallo"]),
        (["Stimmt nun ab [poll", "type=x] ab"], ["Stimmt nun ab [poll\ntype=x] ab"]),
        (["\u266a Alle", "\u266a meine"], ["\u266a Alle", "\u266a meine"]),
        (["a", "b", "c", "d", "e"], ["a\nb\nc\nd", "e"]),
    ],
)
def test_a_sentence_may_go_on_in_the_next_cues(texts: list[str], expected: list[str]) -> None:
    """Of "Ich habe gestern", alone, the models make "I yesterday"."""
    found = [piece for piece in read("srt", cues(texts)) if piece.translate]
    assert [content(piece) if piece.form == "cues" else piece.text for piece in found] == expected
    for other in (cues(texts, pause=5), cues(texts, settings=" line:1")):
        assert not any(piece.form == "cues" for piece in read("srt", other))


@given(
    st.lists(
        st.sampled_from(["Ich", "den\nHund", r"ein\NHund", r"\ha\N", "<i>so</i>", "", "nein.", "[a", "b=c]"]),
        max_size=7,
    ),
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_sentence_in_several_cues_is_written_between_their_times(texts: list[str], end: str) -> None:
    """In as many lines, and a translation that is the text gives the same file."""
    file = cues(texts).replace("\n", end)
    found = read("srt", file)
    assert "".join(piece.text for piece in found) == file
    for piece in found:
        if piece.form == "cues":
            paragraph = Paragraph(piece, "srt")
            assert paragraph.laid_out(paragraph.plain) == piece.text
            said = paragraph.laid_out(" ".join("x" for _ in range(20)))
            assert said is not None
            assert [line for line in said.split("\n") if "-->" in line or line.strip().isdecimal()] == [
                line for line in piece.text.split("\n") if "-->" in line or line.strip().isdecimal()
            ]
            assert [said.count(end) for end in ("\n", r"\N")] == [piece.text.count(end) for end in ("\n", r"\N")]


def test_codes_of_breaks_and_spaces_are_no_words() -> None:
    """As some programs write them into SubRip; a path has none."""
    (found,) = (piece for piece in read("srt", cue(r"Es sind 5\hkm\Nbis Rom.")) if piece.translate)
    paragraph = Paragraph(found, "srt")
    assert paragraph.plain == "Es sind 5\u00a0km bis Rom."
    assert paragraph.laid_out("It is 5\u00a0km to Rome.") == r"It is 5\hkm\Nto Rome."
    assert {piece.form for piece in read("srt", cue(r"In C:\Neu und C:\heute."))} == {""}


def test_a_french_sentence_ends_in_a_line_of_a_subtitle() -> None:
    text = "1\n00:01 --> 00:02\n« Oui.\u00a0»\nElle part\nce soir.\n"
    assert language("srt", text) == ["« Oui.\u00a0»", "Elle part\nce soir."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Titel\nText\n", ["Titel", "Text"]),
        ("a\nb\n\nc\n", ["a\nb", "c"]),
        ("a  \nb\\\nc\n", ["a", "b", "c"]),
        ("- a\n  b\n* c\n1. d\n> e\n> f\n", ["a\n  b", "c", "d", "e\n> f"]),
        ("> a\n>\n> b\n> - c\n>   d\n> > e\n>> f\n> g\n\n> h\ni\n", ["a", "b", "c\n>   d", "e\n>> f", "g", "h\ni"]),
        ("> # a\n> b\n> ```\n> c\n> ```\n> d\n", ["a", "b", "d"]),
        ("```a``` b\nc\n", ["```a``` b\nc"]),
        ("[Hans]: Hallo, wie geht es dir?\n", ["[Hans]: Hallo, wie geht es dir?"]),
        ("> [der Hund]: https://x.y\n> a\n- [die Katze]: <a b> 'das Kind'\n  [d]: e\n", ["a", "das Kind"]),
        ("> - <b>\n> - ***\n> | --- |\n", []),
        ("[x]: <a b> 'der Hund'\n[y]: z (der Hund)\n[z]: x \"die Katze\"\n", ["der Hund", "die Katze"]),
        ("<!-- a --> b\n<pre>a</pre> b\n<pre>\na</pre> b\n", ["b", "b", "b"]),
        ("<pre>a</pre> <pre>b\n</pre>\nc\n", ["c"]),
        ("```\ncode\n```\na\n", ["a"]),
        ("~~~ x\n```\ncode\n", []),
        ("a\n```\nb", ["a"]),
        ("    code\na\n", ["a"]),
        ("a\n\n    code\n      code\n\n    code\nb\n    c\n", ["a", "b\n    c"]),
        ("a\n    b\n", ["a\n    b"]),
        ("---\nx: y\n---\na\n", ["a"]),
        ("a\n---\nb\n", ["a", "b"]),
        ("| a | `b|c` |\n|---|:-:|\n", ["a", "`b|c`"]),
        ("x\na | b\n:-- | --:\nc | d\ne\n\nf | g\n", ["x", "a", "b", "c", "d", "e", "f | g"]),
        ("> a | b\n> --|--\n> c | d\n\n> | e | f |\n", ["a", "b", "c", "d", "e", "f"]),
        ("| a | b |\n|---|---|\nc | d\n| e | f |\ng | h\n# i\nj | k\n", [*"abcdefghi", "j | k"]),
        ("a\n---|---\nb | c\n", ["a", "b | c"]),
        ("<script>\na\n</script>\nb\n", ["b"]),
        ("<!-- a\nb -->\nc\n", ["c"]),
        ("<script src=a></script><script>\na\n</script>\nb\n", ["b"]),
        ("<!-- a --> <!-- b\nc\n--> d <pre>\ne\n</pre> f\n", ["f"]),
        ("[x]: https://y.z\n", []),
        ("a[^1]\n\n[^1]: b\n\n    c\n", ["a[^1]", "b", "c"]),
        ("1.  a\n\n    b\n\n        code\n\nc\n\n    code\n", ["a", "b", "c"]),
        ("- a\n\n  b\n\n      code\n", ["a", "b"]),
        ("-     code\n\n      # code\n\n  a\n1)      - code\n\n\n> -\t\tcode\n>   a\n", ["a", "a"]),
        ("[^1]:      a\n", ["a"]),
        ("<!-- a -->\n    code\n\n```\nb\n```\n    code\nc\n", ["c"]),
        ("a\n\n    >>> code\n    # code\n    ```\n    x | y\n    --|--\n\nb | c\n", ["a", "b | c"]),
        ("a\n: b\n: c\n", ["a", "b", "c"]),
        ('<p class="x">\na\n</p>\n', ["a"]),
        ("{: .x }\n:::note\na\n:::\n", ["a"]),
        ("a\n$$\nx\n$$\nb\n", ["a", "b"]),
        ("a\n$$ x\n+ y $$\nb\n", ["a", "b"]),
        ("$$\nx\n$$ {#eq:x}\nb\n", ["b"]),
        ("$$\nx\n\ny\n$$ (x-y)\nb\n", ["b"]),
        ("$$\\begin{aligned}\nx\n\\end{aligned}$$ b\n", ["b"]),
        ("> a\n> $$ x\n> + y $$\n> b\n", ["a", "b"]),
        ("$$ x = y $$\nb\n", ["b"]),
        ("$$ a\n\nb\n", ["$$ a", "b"]),
        ("\\[ x = y\n\\]\nb\n", ["b"]),
        ("\\[a\nc\\] b\n", ["\\[a\nc\\] b"]),
        ("a\n\\begin{equation}\\label{eq:x}\nx\n\\end{equation}\nb\n", ["a", "b"]),
        ("\\begin{equation} x \\end{equation}\nb\n", ["b"]),
        ('+++\nx = "y"\n+++\na\n', ["a"]),
        ("---\n\na\n", ["a"]),
        ("---\na b\n\nc\n", ["a b", "c"]),
        ("+++\nx = 'y'\n+++\na\n", ["a"]),
        ("```\n\na\n```\nb\n", ["b"]),
        ("---\nx: y\n\na\n", ["x: y", "a"]),
        ("---\n# a\n\nb\n", ["a", "b"]),
        ("+++\nx = y\n", ["x = y"]),
        ("---\n---\na\n", ["a"]),
        ("- a\n\n  ```\n  b\n\n  c\n  ```\n  d\ne\n", ["a", "d\ne"]),
        ("- a\nb\n\n  ```\n  c\n\nd\n", ["a\nb", "d"]),
        ("- a\n  - b\n\n  ```\n  c\n\nd\n", ["a", "b", "d"]),
        ("-\ta\n\n\t~~~\n\tb\nc\n", ["a", "c"]),
        ("- a\n```\nb\n", ["a"]),
        ("```\n> ```\na\n```\nb\n", ["b"]),
        ("- ```\n- a\n> ```\n> b\n```\nc\n", ["a"]),
        ("a[^1]\n\n[^1]: b\n\n    ```\n    c\n\nd\n", ["a[^1]", "b", "d"]),
        ("> <pre>\n> a\n\nb\n", ["b"]),
        ("> a\n>\n>     code\n", ["a"]),
        ("> [!NOTE]\n> a\n\n> [!tip]- b\n> c\n", ["a", "b", "c"]),
        ('!!! note inline "x"\n    a\n\n    b\n\nc\n', ["x", "a", "b", "c"]),
        (
            '<img src="x"\n alt="y">\n\n<img src="x" alt="y">\n<br>\n',
            ['<img src="x"\n alt="y">', '<img src="x" alt="y">'],
        ),
        ('??? tip\n\n    a\n=== "x"\n\n    b\n\n    ```\n    c\n    ```\n', ["a", "x", "b"]),
        ("!!! Das ist gut!\n", ["!!! Das ist gut!"]),
        ("a\n/// note | b c\n    type: d\n    open: true\ne\n///\nf\n", ["a", "b c", "e", "f"]),
        ("/// caption\na\n///\n> /// tab | b\n> c\n> ///\n", ["a", "b", "c"]),
        ("/// html | div[style='a: b']\nc\n///\n", ["c"]),
        ('a\n\n+++ {"tags": ["b"]}\n\nc\n\n+++\n\n{d="e" f=g}\nh\n', ["a", "c", "h"]),
        ("/// Das ist gut!\n", ["/// Das ist gut!"]),
        ("::: a.b.C\n    options:\n      show_source: false\n\nd\n", ["d"]),
        ("- e\n\n    ::: a\n        handler: python\n    f\n", ["e", "f"]),
        ("::: note\nOptions: a\n:::\n", ["Options: a"]),
        ("{% a %}\nb\n{% c %}\n{{< d >}}\n{{ e }} f\n", ["b", "{{ e }} f"]),
        ("a\n\\[\nx\n\\]\nb\n\\begin{array}{ll}\nx\n\\end{array}\nc\n", ["a", "b", "c"]),
        ("# a #\n## C#\nb #\nc\n- # d\n  e\n", ["a", "C#", "b #\nc", "d", "e"]),
        (
            "a am\n3. Oktober\n<b>c</b> d\n<x@y.z> e\n1. f\n2. g\n",
            ["a am\n3. Oktober\n<b>c</b> d\n<x@y.z> e", "f", "g"],
        ),
        ("\\begin{a} b\nc\n", ["\\begin{a} b\nc"]),
        ("*[HTML]: a\n*[b c]: d\n", ["a", "d"]),
        ('a\n[quote="x, post:12"]\nb\n[/quote]\nc\n', ["a", "b", "c"]),
        ('a\n\n{{< figure src="x" alt="b" >}}\nc\n', ["a", '{{< figure src="x" alt="b" >}}', "c"]),
        ('a\n\n{{< figure src="x" >}}\nc\n', ["a", "c"]),
        ("a\n[quote]\nb\n[/quote]\n[Hund]\nc\n", ["a", "b", "[Hund]\nc"]),
        ("a\n[poll type=regular public=true]\n* b\n* c\n[/poll]\nd\n", ["a", "b", "c", "d"]),
    ],
)
def test_in_markdown_the_paragraphs_are_translated(text: str, expected: list[str]) -> None:
    assert language("markdown", text) == expected


@pytest.mark.parametrize("form", ["yaml", "toml"])
@given(
    text=st.text(st.sampled_from("ab \"'\\:#,-[]{}\u00e4\U0001f600"), min_size=1), quote=st.sampled_from(["", "'", '"'])
)
def test_strings_of_front_matter_are_read_back(form: Literal["yaml", "toml"], text: str, quote: str) -> None:
    piece = Piece(f"{quote}x{quote}", True, form)
    line = f"title = {written(text, piece)}" if form == "toml" else f"title: {written(text, piece)}"
    whole = tomllib.loads(line) if form == "toml" else yaml.safe_load(line)
    assert whole == {"title": text}
    assert written("x", piece) == piece.text or (form == "toml" and not quote)  # which is none of TOML


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("title: a b", ["a b"]),
        ("title: a  # b", ["a"]),
        ("title: C# a", ["C# a"]),
        ('"description": "a: \\"b\\""', ['"a: \\"b\\""']),
        ("linkTitle: 'it''s'", ["'it''s'"]),
        ("title: 2024-01-01", []),
        ("title: 7", []),
        ("title: [a, b]", []),
        ("title: a: b", []),
        ("title: >", []),
        ('title: "a', []),
        ("title: 'a' b", []),
        ("layout: a", []),
        ("  title: a", ["a"]),
        ("- title: a", ["a"]),
        ("faq:\n  - question: a?\n    answer: b", ["a?", "b"]),
        ("titles: a", []),
        ("title: >-\n  a b\n  c\n\n  d\ny: e", ["a b\n  c", "d"]),
        ("title: |\n  a\nx: y", ["a"]),
        ("title: |\n      a\n      * b\n      * c\n\n      ```\n      x\n      ```\nx: y", ["a", "b", "c"]),
        ("title:\n  a b\n  c\nx: y", ["a b\n  c"]),
        ("title:\n\n  'a b:\n  c' # d", ["'a b:\n  c'"]),
        ("text:\n  - text: a\n  - text:\n      b", ["a", "b"]),
        ("text:\n  # a\n  b", []),
        ("label:\n  a", []),
        ("title: &x a b\nx: *x", ["a b"]),
        ("title: !!str 'a'\nx: y", ["'a'"]),
        ("title: !x a\nx: y", []),
        ("title: a\n  b # c", ["a\n  b"]),
        ("title: 'a #\n  b'  # c", ["'a #\n  b'"]),
        ("label: a-b", []),
        ("x:\n  label: a", ["a"]),
        ("title: a b\n  c d", ["a b\n  c d"]),
        ("title: 'a b\n  c d'\nx: y", ["'a b\n  c d'"]),
        ('title: "a\n  b: c"', ['"a\n  b: c"']),
        ("title:\n  x: y", []),
        ("title: a\n  x: y", []),
        ("a:\n  - x: y\n    text: a: b\n    details: c", ["c"]),
        ("lang: de", ["de"]),
        ("locale: 'de_DE' # c", ["de_DE"]),
        ("lang: Deutsch", []),
    ],
)
def test_front_matter_has_strings_that_people_read(line: str, expected: list[str]) -> None:
    assert language("markdown", f"---\nx: y\n{line}\n---\nz\n") == [*expected, "z"]


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_a_string_of_front_matter_in_several_lines_is_written_in_as_many(quote: str) -> None:
    """PyYAML and Decap write long strings so; of the first line alone half a sentence was translated."""
    piece = Piece(f"{quote}A long sentence, that\n  goes on{quote}", True, "yaml")
    text = Paragraph(piece, "markdown").laid_out("So ist ein: langer Satz")
    assert text is not None
    assert text.count("\n") == 1
    assert yaml.safe_load(f"title: {text}") == {"title": "So ist ein: langer Satz"}
    assert Paragraph(piece, "markdown").laid_out("A long sentence, that goes on") == piece.text


def test_front_matter_in_toml_has_strings_that_people_read() -> None:
    page = "+++\ntitle = \"a\"\nsummary = 'b'  # c\ndate = 2024-01-01\ncaption = 7\n+++\nz\n"
    assert language("markdown", page) == ['"a"', "'b'", "z"]


@pytest.mark.parametrize("quote", ['"""', "'''"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\na b\nc d.\n\n- e\n- f\n", ["a b\nc d.", "e", "f"]),
        ("a b", ["a b"]),
        ("\n    a b\n    c\n", ["a b\n    c"]),
        ('\na "b" it\'s', ['a "b" it\'s']),
        ('\ntitle = "a b"\n', ['title = "a b"']),
    ],
)
def test_strings_of_toml_in_several_lines_are_markdown(quote: str, text: str, expected: list[str]) -> None:
    page = f"+++\nx = {quote}\ntitle = 'y'\n{quote}\ndescription = {quote}{text}{quote} # c\ntitle = 'z'\n+++\n"
    assert language("markdown", page) == [*expected, "'z'"]
    written = "".join(piece.text.upper() if piece.translate else piece.text for piece in read("markdown", page))
    before, after = (tomllib.loads(one.strip("+\n")) for one in (page, written))
    assert after == before | {"description": before["description"].upper(), "title": "Z"}


def test_a_continued_string_of_toml_is_one_text() -> None:
    page = '+++\ndescription = """\\\n  Ein Satz, \\\n  der "weitergeht"."""\nsummary = """a\\tb\nc"""\n+++\n'
    (piece,) = [piece for piece in read("markdown", page) if piece.translate]
    paragraph = Paragraph(piece, "markdown")
    assert paragraph.plain == 'Ein Satz, der "weitergeht".'
    laid_out = paragraph.laid_out('A "sentence" that\tgoes on')
    assert laid_out is not None
    assert tomllib.loads(f"a = {laid_out}") == {"a": 'A "sentence" that\tgoes on'}
    assert paragraph.laid_out(paragraph.plain) == piece.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<details><summary>A</summary>\nB c.\n</details>\n", ["A", "B c."]),
        ("<div>A</div>\nB c\n", ["A", "B c"]),
        ("# A<br/>B\n", ["A", "B"]),
        ("A<br>\nB  \nC\n", ["A", "B", "C"]),
        ("> A<br>\n> B\n", ["A", "B"]),
        ("| A<br>B | C |\n|---|---|\n| <p>D</p>E | f |\n", ["A", "B", "C", "D", "E", "f"]),
        ('<p title="a b">A</p> B\n', ['<p title="a b">', "A", "B"]),
        ("[A](b)<br>[C](d)\n", ["[A](b)", "[C](d)"]),
        ("A<br>\nand b\n", ["A<br>\nand b"]),  # a sentence that goes on
        ("A `<br>` B\n", ["A `<br>` B"]),
        ("A <b>B</b> <Icon/> C\n", ["A <b>B</b> <Icon/> C"]),
    ],
)
def test_blocks_of_html_divide_a_paragraph_of_markdown(text: str, expected: list[str]) -> None:
    assert language("markdown", text) == expected


@pytest.mark.parametrize("fence", ["```", "~~~~", ":::"])
@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("{note}\na b", ["a b"]),
        ("{admonition} A title\n:class: tip\na", ["A title", "a"]),
        ("{figure} a.png\n:alt: A house\n:name: fig-a\n\na", ["A house", "a"]),
        ("{list-table} A title\n* - a\n  - b", ["A title", "a", "b"]),
        ("{tip}\n```` {.python}\nx\n````\n:rocket: a", [":rocket: a"]),
        ('{tip}\n<div translate="no">\nx\n</div>\na', ["a"]),
        ("{glossary}\n:sorted:\na\n  b\n  c\n\n  d\n\ne\nf\n      g", ["a", "b\n  c", "d", "e", "f", "g"]),
        ("{glossary}\na\n  b\n  ```` x\n  x\n  ````\nc\n: d", ["a", "b", "c", "d"]),
        ("{figure} a.png\n---\nname: fig-a\nalt: A house\nlabel: x\n---\na", ["A house", "a"]),
        ("{tip}\n---\na b\n\nc", ["a b", "c"]),
        ("{code-block} python\n:caption: A house\n:name: a\nx = y\n:caption: z", ["A house"]),
        ("{toctree}\n---\ncaption: A house\nmaxdepth: 2\n---\na/b", ["A house"]),
        ("{image} a.png\n:alt: A house", ["A house"]),
    ],
)
def test_directives_of_myst_have_text(fence: str, directive: str, expected: list[str]) -> None:
    """What looks like code for other programs; their options are no text."""
    page = f"z\n\n{fence}{directive}\n{fence}\n:rocket: y\n\n```\n:caption: x\n```\n"
    assert language("markdown", page) == ["z", *expected, ":rocket: y"]
    item = f"- z\n{fence}{directive}\n{fence}\n".replace("\n", "\n  ")
    inside = [text.replace("\n", "\n  ") for text in expected]
    assert language("markdown", item) == ["z", *inside]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a     b\n  ----- -----\n  c     d\n\ne\n", ["e"]),
        ("----------\n a     b\n       c\n----- ----\n d     e\n\n f     g\n----------\n\nh\n", ["h"]),
        ("a\n\n--- ---\n\nb\n", ["a", "b"]),
        ("a b\n---\nc\n", ["a b", "c"]),
    ],
)
def test_tables_of_pandoc_without_bars_are_copied(text: str, expected: list[str]) -> None:
    """Their columns are places in the lines; rows were sentences, and words went from one row to another."""
    assert language("markdown", text) == expected


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("{% highlight python linenos %}", "{% endhighlight %}"),
        ("{%- code -%}", "{%- endcode -%}"),
        ('{{< highlight go "linenos=table" >}}', "{{< /highlight >}}"),
        ("{{% mermaid %}}", "{{% /mermaid %}}"),
    ],
)
def test_code_between_tags_of_templates_is_copied(begin: str, end: str) -> None:
    assert language("markdown", f"Davor\n{begin}\nprint(ja)\n\nx = nein\n{end}\nDanach\n") == ["Davor", "Danach"]
    assert language("markdown", f"{begin} Ein Wort {end}\nDanach\n")[-1].endswith("Danach")


def test_texts_in_options_of_code_cells_are_translated() -> None:
    cell = """```{python}
#| fig-cap: "Ein Bild: das Haus"
#| fig-alt: Ein Haus
#| label: fig-haus
# fig-cap: Kein Text
plot()
```
"""
    assert language("markdown", cell) == ['"Ein Bild: das Haus"', "Ein Haus"]
    assert "Danach" in language("markdown", f"{cell}Danach")


def test_captions_of_knitr_are_translated() -> None:
    cell = """```{r haus, echo=FALSE, fig.cap="Ein Haus", fig.alt = "Ein Bild"}
#| fig.cap = "Eine Katze"
#| fig.cap: Ein Hund
#| fig.cap = paste("Kein", "Text")
plot(fig.cap="Kein Text")
```

```python title="kein Text" fig.cap="nein"
x
```
"""
    assert language("markdown", cell) == ["Ein Haus", "Ein Bild", '"Eine Katze"', "Ein Hund"]


@pytest.mark.parametrize(("mark", "form"), [('"', "title"), ("'", "single")])
def test_a_quotation_mark_does_not_end_the_title_of_a_target(mark: str, form: str) -> None:
    page = f"[x]: https://y.z {mark}der Hund{mark}\n"
    title = next(piece for piece in reader("markdown")([page]) if piece.translate)
    assert title.form == form
    assert written('the dog\'s "name"', title).count(f"\\{mark}") == 'the dog\'s "name"'.count(mark)


def test_comments_of_obsidian_stay() -> None:
    assert language("markdown", "%%\nKein Text\n\nKein Text\n%%\nDanach\n") == ["Danach"]
    for comment in ("%%kein Text, 5 % und mehr%%", "%% kein Text %%"):
        for text in (comment, f"Der Hund {comment} schläft."):
            assert [match[0] for match in markdown().finditer(text)] == [comment]
    assert not any("und" in match[0] for match in markdown().finditer("Es sind 5 %% und 6 %%, ja."))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\n% no text\n%\n% nor this\nb\n", ["a", "b"]),
        ("a, as they say.\n% no text\nb\n", ["a, as they say.", "b"]),
        ("- a\n\n  % no text\n  b\n\n> % no text\n> c\n\n```{note}\n% no text\nd\n```\n", ["a", "b", "c", "d"]),
        ("It is 50\n% of all.\n\n%name% is a.\n", ["It is 50\n% of all.", "%name% is a."]),
        ("a\n\n% | of all\n---|---\n", ["a", "of all"]),
        ("% A house\n% Anna Berg\n% 3 May\n% no text\na\n", ["A house", "3 May", "a"]),
        ("---\na: b\n---\n% no text\nc\n", ["c"]),
    ],
)
def test_comments_of_myst_stay_but_for_the_title_block_of_pandoc(text: str, expected: list[str]) -> None:
    assert language("markdown", text) == expected


@pytest.mark.parametrize("caption", ["Table: a\nb {#c}\n", "table: a\nb\n"])
@pytest.mark.parametrize(
    "table",
    [
        "| Hund |\n|---|\n| Katze |\n",
        "Hund | Maus\n---|---\nKatze | Tier\n",
        "  Hund  Maus\n------ -----\nKatze   Tier\n",
        "-------------\n  Hund   Maus\n  und\n------ ------\nKatze   Tier\nund\n\nHaus     Ast\n-------------\n",
        "+------+\n| Hund |\n+------+\n",
    ],
)
def test_the_mark_of_a_caption_stays_beside_a_table(caption: str, table: str) -> None:
    for page in (f"{caption}\n{table}", f"{table}\n{caption}", f"x\n\n{caption}\n\n{table}\ny\n"):
        assert "a\nb" in language("markdown", page)
    for page in (f"{caption}\ny\n\n{table}", f"{table}\ny\n\n{caption}", caption):
        assert "a\nb" not in language("markdown", page)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Table: a\n", ["Table: a"]),
        ("Name\n----\n\nTable: a\n", ["Name", "Table: a"]),
        ("| b |\n|---|\n\n- Table: a\n\nTable:c\n", ["b", "Table: a", "Table:c"]),
        ("b\nTable: a\n\n| c |\n", ["b\nTable: a", "c"]),
    ],
)
def test_a_paragraph_that_begins_like_a_caption_is_text(text: str, expected: list[str]) -> None:
    assert language("markdown", text) == expected


def test_settings_of_office_in_a_page_stay() -> None:
    page = "<!--[if gte mso 9]><xml><w:View>Normal</w:View>\n<w:Save>false</w:Save></xml><![endif]-->\n<p>a</p>"
    assert language("html", page) == ["a"]


@pytest.mark.parametrize("begin", ["<!--[if mso]>", "<!--[if !mso]><!-->", "<!--[if (gte mso 9)|(IE)]>"])
def test_what_a_page_has_for_one_program_is_translated(begin: str) -> None:
    """As e-mails have for Outlook, which shows it; other comments are copied."""
    page = f"{begin}<style>a {{}}</style>\n<p>Jetzt <b>kaufen</b></p><![endif]--><!-- Kein\nText --><p>Danke</p>"
    assert language("html", page) == ["Jetzt <b>kaufen</b>", "Danke"]


GRID = """+-----------+---------------------+
| Obst      | Gut, weil           |
+:==========+====================:+
| Äpfel     | - eigene Hülle      |
|           | - sehr `a b`        |
|           |   gesund            |
+-----------+---------------------+
| 12        |                     |
+-----------+---------------------+
"""


def drawn(text: str, translate: Callable[[str], str]) -> str:
    """Return Markdown with translations."""
    parts = list[str]()
    for piece in read("markdown", text):
        paragraph = Paragraph(piece, "markdown")
        parts.append(str(paragraph.laid_out(translate(paragraph.plain))) if piece.translate else piece.text)
    return "".join(parts)


@pytest.mark.parametrize("before", ["", "> ", "    "])
def test_a_grid_table_keeps_its_columns_whatever_its_cells_say(before: str) -> None:
    """The bars of all lines are in the columns of the first one, as pandoc wants it."""
    item, table = "- Punkt\n\n" * before.isspace(), "".join(before + line for line in GRID.splitlines(keepends=True))
    text = f"{item}{table}\nDanach\n"
    assert drawn(text, str) == text
    (grid,) = [piece for piece in read("markdown", text) if piece.form == "grid"]
    assert content(grid).split("\t") == ["Obst", "Gut, weil", "Äpfel", "eigene Hülle", "sehr `a b` gesund", "12"]
    longer = drawn(text, lambda text: "\t".join(f"{part} und - Donaudampfschiff 東京" for part in text.split("\t")))
    lines = (
        longer.removeprefix(drawn(item, lambda text: f"{text} und - Donaudampfschiff 東京"))
        .split("\n\n")[0]
        .splitlines()
    )
    widths = {len(line) + line.count("東") + line.count("京") for line in lines}
    assert len(widths) == 1
    assert all(line.startswith((f"{before}+", f"{before}|")) for line in lines)
    cells = [[cell.strip() for cell in line.removeprefix(before).split("|")[1:-1]] for line in lines if "|" in line]
    assert [cell[0] for cell in cells][:3] == ["Obst und -", "Donaudampfschiff", "東京"]
    items = [cell[1] for cell in cells if cell[1].startswith("- ")]
    assert items == [
        "- eigene Hülle und -",
        "- sehr `a b` gesund",
    ]  # a mark at the beginning of a line would be an item
    (heading,) = [line.removeprefix(before) for line in lines if "=" in line]
    assert heading.startswith("+:=")
    assert heading.endswith("=:+")


@pytest.mark.parametrize(
    "table",
    [
        "+---+---+\n| a b c |\n+---+---+\n| d | e |\n+---+---+\n",
        "+---+---+\n| a | b |\n|   +---+\n|   | c |\n+---+---+\n",
        "+---+---+\n| ab | c |\n+---+---+\n",
    ],
)
def test_a_grid_table_whose_cells_are_in_no_columns_is_copied(table: str) -> None:
    assert language("markdown", f"Davor\n\n{table}\nDanach") == ["Davor", "Danach"]


def test_other_tables_with_plus_signs_are_text_or_code() -> None:
    table = "+---+\n| a |\n+---+\n"
    assert language("markdown", f"+---+\nText\n\n```\n{table}```\n") == ["Text"]
    assert language("markdown", "Text\n\n" + "".join(f"    {line}\n" for line in table.splitlines())) == ["Text"]
    assert drawn("+----+\n| ab |\n+----+\n", lambda text: f"{text}\tx") == "+----+\n| ab |\n+----+\n"


def test_definitions_examples_and_attributes_of_pandoc() -> None:
    text = """Begriff
:   Erklärung

    Zweiter Absatz

        code

  ~ Andere
  ~ Dritte

(@) Erstes
(@gut) Zweites

# Titel {#sec:a .x}

: Beschriftung {#tbl:a}

Ein [Wort]{.x} und [noch eins]{.y}
"""
    assert language("markdown", text) == [
        *("Begriff", "Erklärung", "Zweiter Absatz", "Andere", "Dritte", "Erstes", "Zweites", "Titel", "Beschriftung"),
        "Ein [Wort]{.x} und [noch eins]{.y}",
    ]


@pytest.mark.parametrize("marks", ["a. b.", "a) b)", "I. II.", "iv. v.", "A. B."])
def test_lists_of_pandoc_with_letters_have_items(marks: str) -> None:
    first, second = marks.split()
    assert language("markdown", f"{first}  x\n{second}  y\n    z\n") == ["x", "y\n    z"]
    assert language("markdown", f"x {first}\n{second} y\n") == [f"x {first}\n{second} y"]


FORMULA = "<math><mrow>\n  <mi>x</mi>\n  <mo>&lt;</mo>\n</mrow></math>"


@pytest.mark.parametrize("layout", ["html", "markdown", "mdx"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Where {FORMULA} holds.\n", [f"Where {FORMULA} holds."]),
        (f"{FORMULA} is a formula\nin a sentence.\n", [f"{FORMULA} is a formula\nin a sentence."]),
        ('<math display="block">\n<mtext>x</mtext>\n\n<mi>y</mi>\n</math>\n\na\n', ["a"]),
        ('<div translate="no">\nx\n\n<p translate="yes">a <b>b</b></p>\ny\n</div>\n\nc\n', ["a <b>b</b>", "c"]),
        ("<svg>\n<style>\nx\n</style>\n<text>a</text>\n\n</svg>\n\nc\n", ["a", "c"]),
    ],
)
def test_formulas_and_kept_elements_on_several_lines(layout: Format, text: str, expected: list[str]) -> None:
    """A line of a formula was a text, and within an element that stays, no other one was translated."""
    assert language(layout, text) == expected


def test_a_formula_on_several_lines_stays_in_a_paragraph() -> None:
    paragraph = Paragraph(Piece(f"Where {FORMULA}\nholds.", translate=True), "markdown")
    assert "\n" not in paragraph.plain
    said = paragraph.plain.replace("Where", "Wo").replace("holds", "gilt")
    assert paragraph.laid_out(said) == f"Wo {FORMULA}\ngilt."


@pytest.mark.parametrize(
    "code",
    [
        "```{code-cell}\n:tags: [x]\nx\n```",
        "```{math}\nx\n```",
        "```{r}\nx\n```",
        "(x-y)=",
        "{.x #y}",
        "```note\nx\n```",
        ":::{code-cell}\n---\ny: z\n---\n<div\n```\nx\n:::",
        "::::{math}\nx\n:::\ny\n::::",
    ],
)
def test_other_directives_and_targets_of_myst_are_copied(code: str) -> None:
    assert language("markdown", f"a\n\n{code}\n\nb\n") == ["a", "b"]


@given(
    marks=st.lists(st.sampled_from([("> ", "> "), ("- ", "  "), ("7. ", "   ")]), min_size=1, max_size=4),
    fence=st.sampled_from(["```", "~~~~ x"]),
    code=st.lists(st.sampled_from(["", "  a", "- a", "> a", "# a", "``", "```a"])),
    data=st.data(),
)
def test_in_markdown_a_fence_ends_with_its_container(
    marks: list[tuple[str, str]], fence: str, code: list[str], data: st.DataObject
) -> None:
    """https://spec.commonmark.org/0.31.2/#fenced-code-blocks, examples 98 and 128."""
    first, others = ("".join(part) for part in zip(*marks, strict=True))
    outside = "".join(goes_on for _, goes_on in marks[: data.draw(st.integers(0, len(marks) - 1))])
    lines = [first + fence, *(others + line for line in code), outside + "b"]
    assert language("markdown", "\n".join(lines)) == ["b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>a <b>b</b></p>c", ["a <b>b</b>", "c"]),
        ("<p>a\n b</p>", ["a\n b"]),
        ("<p>a <math><mi>x</mi><mtext>y</mtext></math> b</p>", ["a <math><mi>x</mi><mtext>y</mtext></math> b"]),
        ('<p>a <math display="block"><mi>x</mi></math> b</p>', ["a", "b"]),
        ("<p>a</p><math>\n<mi>x</mi>\n</math> b", ["a", "<math>\n<mi>x</mi>\n</math> b"]),
        *(
            (f"<p>{before}<math>{inside}</math></p>", [f"{before}<math>{inside}</math>"])
            for before in ("", "a ")
            for inside in ("<mi>x</mi><mo>=</mo><mi>A</mi>", "<mi>n</mi><annotation>Haus</annotation>")
        ),
        ("<pre>a <math> b</pre><p>c <math><mi>x</mi></math></p>", ["c <math><mi>x</mi></math>"]),
        ("<p>a <math> b</p></math><p>c</p><p><math><mi>x</mi></math> d</p>", ["a", "c", "<math><mi>x</mi></math> d"]),
        ("<!-- a > b\n c -->d", ["d"]),
        # React and Vue write empty ones between texts.
        ("<p>a <!-- -->b<!----> c <!-- x --></p><!-- y --><p>d</p>", ["a <!-- -->b<!----> c <!-- x -->", "d"]),
        ("<p>a</p> <!-- x -->\n<!-- y -->b", ["a", "b"]),
        ("<p>a</p><!-- " + "b b\n" * 10_000 + "-->c", ["a", "c"]),
        ("<p>" + "a" * 20_000 + "</p><!-- b\nc -->d", ["a" * 20_000, "d"]),
        ('<a href="x > y"\n title="z">a</a>', ['<a href="x > y"\n title="z">a</a>']),
        ('<p title="a > b\n c <p> d">a</p>', ['<p title="a > b\n c <p> d">', "a"]),
        ("<p title='a\n> b\n> c\n> d\n'>a</p>", ["<p title='a\n> b\n> c\n> d\n'>", "a"]),
        ('<p :title="a" data-alt="b" title="1">c</p>', ["c"]),
        ('<div title="a" translate=no>b</div><div title="a" translate="no">c</div>', []),
        (
            '<input value="a"><input type=hidden value="b"><input type="submit" value="c">',
            ['<input type="submit" value="c">'],
        ),
        ('<textarea placeholder="a">b</textarea>c', ['<textarea placeholder="a">', "c"]),
        (
            '<meta name="viewport" content="a"><meta name="description" content="b">',
            ['<meta name="description" content="b">'],
        ),
        ("<a>b</a><a>c</a><label>d</label> <a>e</a>", ["<a>b</a>", "<a>c</a>", "<label>d</label> <a>e</a>"]),
        ("<i>a b</i><span><b>C d</b></span><i>e</i>", ["<i>a b</i>", "<span><b>C d</b></span><i>e</i>"]),
        ("<b>E</b><i>s</i><b>T</b> <u>V</u><i>a</i>", ["<b>E</b><i>s</i>", "<b>T</b> <u>V</u><i>a</i>"]),
        ('<p title="a > b\n>c', ['<p title="a > b\n>c']),
        ("<script>a <b> '<script>' </script>c", ["c"]),
        ("<div translate=no>a<div>b</div>c</div>d", ["d"]),
        ("<pre>a</pre><style>b</style><textarea>c</textarea>", []),
        ("<mj-style>a > b {}</mj-style><mj-text>a <b>b</b></mj-text><mj-button>c</mj-button>", ["a <b>b</b>", "c"]),
        ("<p>a<p>b</i></p></p>", ["a", "b</i>"]),
        ("a < b und c > d", ["a < b und c > d"]),
        ("<p>a", ["a"]),
        ("<p", ["<p"]),
        ("<p>a <code>b</code> c", ["a <code>b</code> c"]),
        ("<p>a <?php echo $x->b; ?> c</p>", ["a <?php echo $x->b; ?> c"]),
        ("<p>a <?= $x->b ?> c <% if a > b %> d", ["a <?= $x->b ?> c <% if a > b %> d"]),
        ("<p>a <code>b<i>c</i></code> d", ["a <code>b<i>c</i></code> d"]),
        ('<p>a <b id=x translate="no">b</b> c', ['a <b id=x translate="no">b</b> c']),
        ('<p>a <b translate="no">b<i>c</i></b> d', ['a <b translate="no">b<i>c</i></b> d']),
        ("<pre><code>a</code></pre>", []),
        ("<p translate=no>a</p>", []),
        ("<p translate=no>a<p>b", ["b"]),
        ("<ul><li translate=no>a<ol><li>b</ol>c<li>d</ul>e", ["d", "e"]),
        ("<ul><li translate=no>a</ul>e", ["e"]),
        ("<table><tr><td translate=no>a<p>b</p><td>c<tr translate=no><td>d<tr><td>e", ["c", "e"]),
        ("<dl><dt translate=no>a<dd>b</dl><select><option translate=no>a<option>b</select>c", ["b", "b", "c"]),
        ("<div translate=no><p>a<p>b</div>c", ["c"]),
        ("<![CDATA[a]]>b", ["b"]),
        ("<p>a <time>b</time> <img src=x> c</p>", ["a <time>b</time> <img src=x> c"]),
        ('<div class="x notranslate">a</div><div class="nottranslate">b</div>', ["b"]),
        ('<dl><dt class="sig sig-object py" id="f">f(a)</dt><dd>b</dd></dl>', ["b"]),
        ("<p data-translate=no>a</p><p data-class=notranslate>b</p><p class=notranslate-x>c</p>", ["a", "b", "c"]),
        ("<p translate='no'>a</p><p translate=no-op>b</p><p translate=\"no-op\">c</p>", ["b", "c"]),
        # https://html.spec.whatwg.org/multipage/dom.html#the-translate-attribute: the inner value holds
        ('<div translate="no">a <p translate="yes">b <b>c</b></p> d</div>e', ["b <b>c</b>", "e"]),
        ('<div class=notranslate>a<div translate="">b<div>c</div>d</div>e</div>f', ["b", "c", "d", "f"]),
        ('<p translate=no>a <i translate=yes>b <u translate="no">c</u> d</i> e', ['b <u translate="no">c</u> d']),
        ("<ul translate=no><li>a<li translate=yes>b<li>c</ul>d", ["b", "d"]),
        ('<p translate=no>a<img translate="yes" alt="b"><br>c</p>', ['<img translate="yes" alt="b">']),
        ("<pre translate=no>a<b translate=yes class=notranslate>b</b></pre>c", ["c"]),
        # Of drawings the texts are shown.
        ("<p>a</p><svg><title>b</title><desc>c</desc><text x='1'>d</text><path d='M'/></svg>e", [*"abcde"]),
        ("<svg><text>a <tspan class=x>b</tspan> c</text></svg>", ["a <tspan class=x>b</tspan> c"]),
        (
            '<svg><text><tspan x="1">a</tspan> <tspan dy="2">b <tspan>c</tspan></tspan></text></svg>',
            ["a", "b <tspan>c</tspan>"],
        ),
        ("<svg><g translate=no><text>a</text></g><style>.b{}</style><script>c</script></svg>d", ["d"]),
        ("<svg translate=no><text>a</text><text translate=yes>b</text></svg>c", ["b", "c"]),
        ("<svg><foreignObject><p>a</p></foreignObject><g aria-label='b'/></svg>", ["a", "<g aria-label='b'/>"]),
    ],
)
def test_in_html_the_runs_of_text_are_translated(text: str, expected: list[str]) -> None:
    assert language("html", text) == expected


@pytest.mark.parametrize("name", ["script", "style", "textarea", "title"])
@pytest.mark.parametrize("close", ["</{}>", "</{}\n >", "</{} x>"])
@given(inside=HARD)
@example(inside="a <!-- b")
@example(inside="a\n<b\n'")
def test_in_raw_text_of_html_only_the_end_tag_counts(name: str, close: str, inside: str) -> None:
    """https://html.spec.whatwg.org/multipage/parsing.html#rawtext-state, and RCDATA."""
    found = language("html", f"<p>a</p><{name.upper()}>{inside}{close.format(name)}<p>b</p>")
    assert (found[0], found[-1]) == ("a", "b")
    assert len(found) == 2 or name == "title"


PARTS = ["<p\n>", "<!--", "-->", "<![CDATA[", "]]>", "<script>", "</script>", "a b\n", "<i", ' x="', '"', "'", ">", "<"]


@given(st.lists(st.sampled_from(PARTS)))
@example(["<i", ' x="', ">", "a b\n", '"', ">", "<p\n>"])
@example(["<p\n", ' x="', "<p\n>", '"', ">"])
def test_the_pieces_of_html_do_not_depend_on_its_line_breaks(parts: list[str]) -> None:
    text = "".join(parts)
    assert read("html", text) == list(reader("html")([text]))


def endless(line: str) -> Iterator[str]:
    while True:
        yield line


@pytest.mark.parametrize(
    "line",
    ["Ja.\n", "<b> <b> <b>\n", "```\n", "<!-- a\n", "<p a b c d e\n", '<p x="\n', "<script>\n", "| a\n", "-->\n", "\n"],
)
@pytest.mark.parametrize(
    ("layout", "first"), [*((layout, "") for layout in FORMATS), ("srt", "0:01 --> 0:02\n"), ("vtt", "0:01 --> 0:02\n")]
)
def test_an_endless_text_is_read_in_bounded_portions(layout: str, first: str, line: str) -> None:
    """The reader must not wait for an end that may never come."""
    n_read = n_given = 0

    def counted() -> Iterator[str]:
        nonlocal n_read
        for text in endless(line):
            n_read += len(text)
            assert n_read - n_given < 2**14 + 2**11
            yield text

    pieces = reader(layout)(itertools.chain([first, "Ja\n"] if first else [], counted()))
    while n_read < 2**14 + 2**12:
        n_given += len(next(pieces).text)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        "<",
        "`",
        "<!--",
        "[",
        "*",
        "| ",
        "<a ",
        "<a x='",
        "- ",
        "> ",
        "--> ",
        "a ",
        "[^",
        "$",
        "](",
        "{:",
        "1. ",
        "- \n",
        "> \n",
        "---\na:\n",
        "---\na: b\ntitle: a  ",
        "0:01 --> 0:02\na\n\n",
    ],
)
def test_time_grows_in_proportion_to_the_text(layout: str, text: str) -> None:
    def seconds(lines: Iterable[str]) -> float:
        start = time.process_time()
        assert sum(len(piece.text) for piece in reader(layout)(lines)) > 0
        return time.process_time() - start

    assert seconds((text * 2000 + "\n").splitlines(keepends=True)) < 0.5


@pytest.mark.parametrize(
    ("layout", "before", "unit", "after"),
    [
        ("srt", "0:01 --> 0:02\na", "\n", "b\nc\n"),
        ("srt", "0:01 --> 0:02\na", " ", "b\n\n0:02 --> 0:03\nc\n"),
        ("srt", "0:01 --> 0:02\na\n\n0:02 --> 0:03\nb", "</i>", "\n"),
        ("srt", "0:01 --> 0:02\na\n\n0:02 --> 0:03\n", "<i>", "b\n"),
        ("markdown", "---\na: b\ntitle: c\n", "\n", "  d\n---\n"),
        ("markdown", "a.\n%", " ", "|\n"),
        ("markdown", "\n", "Table: a\n", "\n"),
        ("markdown", "\n", "Table: a\n\n", "\n"),
        ("markdown", "Table: a\n", "\n", "| b |\n"),
        ("markdown", "Table: a\n\n", "Table: b\n", "\n"),
        ("markdown", "a.\n", "% ", "|\n"),
    ],
)
def test_a_repetition_within_a_text_takes_linear_time(layout: str, before: str, unit: str, after: str) -> None:
    def work(n: int) -> None:
        for piece in filter(lambda piece: piece.translate, read(layout, before + unit * n + after)):
            Paragraph(piece, layout).laid_out("x")  # type: ignore[arg-type]

    assert grows_linearly(work, 1_000, 8_000)


def test_every_line_of_a_very_long_cue_is_translated() -> None:
    lines = [f"Satz {i}." for i in range(700)]
    assert language("srt", "1\n00:01 --> 00:02\n" + "\n".join(lines) + "\n") == lines


@pytest.mark.parametrize(
    "opening",
    ["<!--", "<![CDATA[", "<!", "<?", "<a", "<a '", "<a '>", "<script>", "<script></script", "<math>", "<math><mi>"],
)
@pytest.mark.parametrize("rest", ["{}", "\n{}", "{}\n", "\n", " "])
def test_many_unclosed_comments_take_no_longer_than_other_text(opening: str, rest: str) -> None:
    """A quadratic rule took 6 seconds for this text, which could block a server."""
    text = opening + rest.format(opening) * 10_000
    start = time.process_time()
    pieces = read("html", text)
    assert time.process_time() - start < 2
    assert "".join(piece.text for piece in pieces) == text


CELLS = st.text("aB \n\r,;\t\"'", max_size=8)


@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t"]),
    st.integers(1, 4),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
def test_a_column_of_csv_is_translated_and_any_reader_finds_the_others(
    table: list[list[str]], separator: str, column: int, quoting: Literal[0, 1, 2]
) -> None:
    """A cell may have separators, quotation marks and line breaks, and so may its translation."""
    head = [f"sep={separator}\r\n"]
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, quoting=quoting).writerows(table)
    text = head[0] + file.getvalue()
    found = list(reader("csv", column=column)([line + "\n" for line in text.split("\n")]))
    assert "".join(piece.text for piece in found).removesuffix("\n") == text
    new = "".join(written(change(content(piece)), piece) if piece.translate else piece.text for piece in found)
    rows = list(csv.reader(io.StringIO(new.removeprefix(head[0]).removesuffix("\n"), newline=""), delimiter=separator))
    expected = [[change(cell) if i == column - 1 else cell for i, cell in enumerate(row)] for row in table]
    assert rows == expected


@pytest.mark.parametrize(
    ("text", "n_translated"),
    [
        ('"Name\nlang";b\nx;Ja, gut\n', 2),
        ("\n\r\na;b\nx;Ja, gut\n", 2),
        ("Name, Vorname;b\nx, y;Ja, gut\n", 2),
        ('a;"' + "Ja, gut\n" * 700 + '"\nx;B\n', 701),
    ],
    ids=["break in the first cell", "blank lines", "comma of prose", "many lines"],
)
def test_rows_of_csv_are_those_that_any_reader_finds(text: str, n_translated: int) -> None:
    found = list(reader("csv", column=2)(text.splitlines(keepends=True)))
    assert sum(piece.translate for piece in found) == n_translated
    new = "".join(written(change(content(piece)), piece) if piece.translate else piece.text for piece in found)
    rows = [list(csv.reader(io.StringIO(of, newline=""), delimiter=";")) for of in (text, new)]
    assert rows[1] == [[change(cell) if i == 1 else cell for i, cell in enumerate(row)] for row in rows[0]]


def change(text: str) -> str:
    """A translation of each line of a cell, which has signs that need quotation marks."""
    return "\n".join(line.replace("B", ',;\t"B"') for line in text.split("\n"))


@pytest.mark.parametrize("text", ['a,5" b,c\n1,2,3\n', '"a,b\n1,2,3\n', "a;b,c;d\n"])
def test_a_quotation_mark_without_a_partner_is_text(text: str) -> None:
    lines = text.splitlines(keepends=True)
    assert "".join(piece.text for piece in reader("csv", column=2)(lines)) == text
    assert sum(piece.translate for piece in reader("csv", column=2)(lines)) >= 1


@pytest.mark.parametrize("text", ["~~~\na b", "a b\n---\n\n  c", "a\n~~\nb"])
def test_lines_of_signs_alone_stay_where_lines_are_translated_one_by_one(text: str) -> None:
    paragraph = Paragraph(Piece(text, translate=True), "html")
    parts = paragraph.lines()
    assert paragraph.joined(parts, [part.text.upper() for part in parts]) == text.upper()


SPACES = st.sampled_from(["", " ", "  "])


@pytest.mark.parametrize("column", [1, 2, 3])
@given(
    st.lists(st.lists(st.text(st.sampled_from('ab ,;"\n'), max_size=6), min_size=3, max_size=3), max_size=5),
    st.lists(SPACES, min_size=6, max_size=6),
    st.sampled_from(["\n", "\r\n"]),
)
def test_quoted_cells_of_csv_may_have_spaces_around_them(
    column: int, table: list[list[str]], spaces: list[str], end: str
) -> None:
    """All cells but those of the header are quoted; the bytes around their texts stay."""
    around = list(zip(spaces[::2], spaces[1::2], strict=True))

    def row(cells: list[str]) -> str:
        quoted = [cell.replace('"', '""') for cell in cells]
        return ",".join(f'{a}"{cell}"{b}' for cell, (a, b) in zip(quoted, around, strict=True)) + end

    text = f"x,y,z{end}" + "".join(map(row, table))
    found = list(reader("csv", column=column)(io.StringIO(text, newline="\n")))
    assert "".join(piece.text for piece in found) == text
    upper = "".join(written(content(p).upper(), p) if p.translate else p.text for p in found)
    expected = [[cell.upper() if n == column else cell for n, cell in enumerate(cells, start=1)] for cells in table]
    assert upper.split("\n", 1)[1] == "".join(map(row, expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('1, "a, b" , c\n', ["a, b"]),
        ('1, "a" b, c\n', [' "a" b']),  # a quotation in a text
        ('1, "a\n2, b\n3, c\n', [' "a', " b", " c"]),  # that does not end
        ('1, "a\n2, "b, c", d\n', [' "a', "b, c"]),
        ("1, a , b\n", [" a "]),
    ],
)
def test_a_quotation_after_a_space_is_a_cell_if_nothing_else_is_in_it(text: str, expected: list[str]) -> None:
    pieces = list(reader("csv", column=2)(text.splitlines(keepends=True)))
    assert [piece.text for piece in pieces if piece.translate] == expected


def test_a_plain_cell_with_spaces_is_quoted_whole_where_it_must_be() -> None:
    """A quotation after a space is not read as one by every program."""
    (piece,) = (piece for piece in reader("csv", column=2)(["1, a , b\n"]) if piece.translate)
    assert written(" b ", piece) == " b "
    assert written(" b, c ", piece) == '" b, c "'
    assert written("b", piece) == '"b"'


@pytest.mark.parametrize("format", ["csv", "tsv"])
@given(st.lists(st.text(st.sampled_from("ab \u00fc"), min_size=1), min_size=2), st.booleans())
def test_a_table_may_end_its_rows_with_returns_alone(format: Format, cells: list[str], is_ended: bool) -> None:
    """As Excel does for old Macs."""
    sign = "," if format == "csv" else "\t"
    text = "\r".join(f"{n}{sign}{cell}{sign}x" for n, cell in enumerate(cells)) + "\r" * is_ended
    found = list(reader(format, column=2)([text]))
    assert "".join(piece.text for piece in found) == text
    assert [piece.text for piece in found if piece.translate] == cells


def test_a_cell_keeps_its_line_breaks_in_a_table_whose_rows_end_with_returns() -> None:
    text = '1,"a\rb",c\r2,"d\ne",f\r'
    found = list(reader("csv", column=2)(io.StringIO(text, newline="\n")))
    assert "".join(piece.text for piece in found) == text
    assert [piece.text for piece in found if piece.translate] == ["a", "b", "d", "e"]


@pytest.mark.parametrize("format", ["markdown", "mdx", "srt", "vtt"])
def test_other_texts_of_lines_that_end_with_returns_are_refused(format: Format) -> None:
    """They were one line, so a table or a subtitle was copied, and a heading went on in the text after it."""
    with pytest.raises(UserError, match="end in CR alone"):
        list(reader(format)(["1\r00:00:01,000 --> 00:00:02,000\rEin Haus.\r"]))
    assert list(reader(format)(["Ein Haus.\r"]))
