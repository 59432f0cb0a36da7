"""The texts of documents: their lines and tags, and whole files in Python."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.translate.documents.stubs import upper
from tests.translate.speakers import Echo, Stubbed
from translate.documents.document import Reading, Unit
from translate.errors import UserError
from translate.inference.documents import keeps_tags, lines, unit_windows
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Document

READING = Reading(name="a.notes", source="de", target="en")
LONG = "Diese Zeile ist so lang, dass sie ihrer Breite wegen"


@given(st.lists(st.sampled_from(["{a,plural,", *"aA.-1 \n<g1>/{}"])).map("".join), st.booleans())
def test_lines_joined_are_the_text(text: str, wrapped: bool) -> None:
    assert "\n".join(lines(Unit(text, wrapped=wrapped))) == text


@pytest.mark.parametrize(
    ("text", "n", "n_wrapped"),
    [
        ("Firma Müller\nHauptstraße 5\nBerlin", 3, 1),
        ("Ein Satz, der\nweitergeht.", 1, 1),
        ("Ein Satz, <g1>der\n</g1>weitergeht.", 1, 1),
        (f"{LONG}\nEnde findet.", 1, 1),
        (f"{LONG}.\nEnde.", 2, 1),
        (f"« {LONG}.\u00a0»\nEnde.", 2, 1),  # in French
        ("Ein Satz.\nnoch einer", 2, 1),
        ("Eins\n\nzwei", 3, 3),
        ("- Ja.\n- Nein.", 2, 2),
        ("Dinge:\n* a\n  b", 3, 3),
        ("Du hast {n, plural,\n one {# Brief}\n other {# Briefe}\n}.\nGut.", 2, 1),  # a message of ICU
        ("", 1, 1),
    ],
)
def test_a_line_is_a_text_unless_a_sentence_goes_on(text: str, n: int, n_wrapped: int) -> None:
    assert len(lines(Unit(text))) == n
    assert len(lines(Unit(text, wrapped=True))) == n_wrapped


@pytest.mark.parametrize(
    ("source", "translation", "keeps"),
    [
        ("a", "b", True),
        ("<g1>a</g1> <g2/>", "<g2/> <g1>b</g1>", True),
        ("<g1>a</g1>", "b", False),
        ("a", "<g1>b</g1>", False),
        ("<g1>a</g1>", "<g1>b</g1></g1>", False),
        ("<g1>a</g1>", "</g1>b<g1>", False),
        ("<g1>a <g2>b</g2></g1>", "<g1>a <g2>b</g1></g2>", False),
        ("<g1>a</g1> <g2>b</g2>", "<g1>a <g2>b</g2></g1>", True),
        ("<g1>a <gx2>b</g1></gx2>", "<gx2>a <g1>b</gx2></g1>", True),  # crossing in the source
        ("<b>a", "b", True),  # no tag of a document
    ],
)
def test_each_tag_must_be_there_once_and_pairs_nested(source: str, translation: str, keeps: bool) -> None:
    assert keeps_tags(source, translation) == keeps


def test_texts_are_translated_line_by_line_with_their_tags(parts: ModelFolder) -> None:
    echo = Echo(parts)
    texts = ["der <g1>Hund</g1>\nDie Katze<g2></g2> singt.\n", "das Kind\nläuft <g3/> im Haus.", "", "<g1></g1>"]
    found = [one.text for one in echo.units([Unit(text) for text in texts])]
    assert found == [
        "DER <g1>HUND</g1>\nDIE KATZE<g2></g2> SINGT.\n",
        "DAS KIND\nLÄUFT <g3/> IM HAUS.",
        "",
        "<g1></g1>",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Tür knallt] Wer ist da?", ["Tür knallt", "Wer ist da?"]),
        ("<g1>[Tür knallt]</g1>", ["Tür knallt"]),
        ("<g1>MANN: Wer\nist da?</g1>", ["Mann", "Wer ist da?</g1>"]),
        ("- Wer ist da? - Ich.\n- Gut<g1></g1> so.", ["- Wer ist da?", "- Ich.", "- Gut<g1></g1> so."]),
        ("\u266a\u266a", []),
    ],
)
def test_sounds_and_speakers_of_subtitles_are_translated_by_themselves(
    text: str, expected: list[str], parts: ModelFolder
) -> None:
    heard = list[str]()

    def speak(sentence: str) -> str:
        heard.append(sentence)
        return upper(sentence)

    (found,) = Stubbed(parts, speak).units([Unit(text, wrapped=True, spoken=True)])
    assert heard == expected
    assert found.text == upper(text)


@settings(max_examples=20)
@given(
    st.lists(
        st.sampled_from(["der", "Hund", "<g1>die Katze</g1>", "schläft<g2></g2>", "im <g4><g5>Haus</g5></g4>.", "Das"])
    )
)
def test_words_are_those_of_the_text_without_tags(translator: Translator, words: list[str]) -> None:
    text = " ".join(dict.fromkeys(words))
    (found,) = translator.units([Unit(text)])
    assert re.sub(r"</?g\d>", "", found.text) == translator(re.sub(r"</?g\d>", "", text))
    assert keeps_tags(text, found.text)
    assert "tags" not in found.flags


def test_a_text_that_lost_a_tag_stays_and_is_flagged(parts: ModelFolder) -> None:
    stub = Stubbed(parts, lambda text: text.replace("<g1>", "").upper())
    lost, kept = stub.units([Unit("der <g1>Hund</g1>"), Unit("das Kind")])
    assert (lost.text, lost.flags, lost.suspicious) == ("der <g1>Hund</g1>", ("tags",), True)
    assert (kept.text, kept.flags) == ("DAS KIND", ())


def test_texts_with_a_translation_are_left_out_unless_they_are_replaced() -> None:
    units = [Unit("a"), Unit("b", done="c"), Unit("d")]
    assert list(unit_windows(units, READING)) == [[0, 2]]
    replacing = Reading(name="a.notes", source="de", target="en", replace=True)
    assert list(unit_windows(units, replacing)) == [[0, 1, 2]]
    assert list(unit_windows([], READING)) == []


def test_windows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.inference.documents.WINDOW", 3)
    monkeypatch.setattr("translate.inference.documents.WINDOW_CHARACTERS", 5)
    assert list(unit_windows([Unit(text) for text in ("a", "b", "c", "d", "efgh", "i")], READING)) == [
        [0, 1, 2],
        [3, 4],
        [5],
    ]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_files_of_text_are_translated_in_the_format_of_their_name(
    mark: bytes, parts: ModelFolder, tmp_path: Path
) -> None:
    page = mark + b"# der Hund\r\n\n`das` Kind"
    (tmp_path / "page.md").write_bytes(page)
    translator = Translator(parts, document=Document(format="html"))
    expected = Translator(parts, document=Document(format="markdown"))(page.decode()).encode()
    assert translator.translate_file(tmp_path / "page.md") == expected
    assert translator.translate_file(str(tmp_path / "page.md")) == expected
    assert translator.translate_file(page, "page.md") == expected
    assert translator.document.format == "html"


def test_a_column_is_that_of_files_whose_name_is_that_of_a_table(parts: ModelFolder) -> None:
    translator = Translator(parts, document=Document(column=2))
    for name, table in (("a.tsv", b"das Kind\tder Hund\n"), ("a.csv", b"das Kind,der Hund\n")):
        named = Translator(parts, document=Document(format="tsv" if name == "a.tsv" else "csv", column=2))
        assert translator.translate_file(table, name) == named(table.decode()).encode() != table
    for name in ("a.md", "a.properties"):
        with pytest.raises(UserError, match="column = 2: belongs to the formats tsv and csv"):
            translator.translate_file(b"a = der Hund", name)
    with pytest.raises(UserError, match="column = 2: belongs to the formats tsv and csv"):
        translator("der Hund")
    assert named.translate_file(b"der Hund", "a.md") == Translator(parts)("der Hund").encode()


def test_files_that_cannot_be_read_are_refused(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="needs a name"):
        translator.translate_file(b"der Hund")
    with pytest.raises(UserError, match="no such file"):
        translator.translate_file(tmp_path / "x.md")
    with pytest.raises(UserError, match="a.txt, line 2: not UTF-8 text"):
        translator.translate_file(b"a\n\xff", "a.txt")
    with pytest.raises(UserError, match="files of the format .pdf are not translated"):
        translator.translate_file(b"%PDF", "a.pdf")


def test_an_earlier_translation_is_kept(translator: Translator, tmp_path: Path) -> None:
    source, old = b'{"a": "der Hund", "b": "das Kind"}', b'{"b": "a child"}'
    new = translator.translate_file(b'{"a": "der Hund"}', "de.json")
    (tmp_path / "en.json").write_bytes(old)
    for earlier in (old, tmp_path / "en.json", str(tmp_path / "en.json")):
        found = translator.translate_file(source, "de.json", earlier=earlier)
        assert found == new.replace(b"}", b', "b": "a child"}')
    with pytest.raises(UserError, match=r"a\.md: is no file of strings"):
        translator.translate_file(b"der Hund", "a.md", earlier=b"a dog")
    with pytest.raises(UserError, match=r"en\.json: has none of the keys of de\.json"):
        translator.translate_file(b'{"c": "x"}', "de.json", earlier=tmp_path / "en.json")
