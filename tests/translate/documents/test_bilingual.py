"""Source and translation side by side: what is written is read back, also after an editor."""

from codecs import BOM_UTF16_LE
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.documents import bilingual
from translate.documents.bilingual import Edited, Row
from translate.errors import UserError

XLIFF, TABLE = Path("side.xlf"), Path("side.tsv")
BOTH = pytest.mark.parametrize("path", [XLIFF, TABLE])
ALPHABET = st.sampled_from("aÖ 1\t\n\r\"'<>&/=\x00\x1b\u00a0\u2028\ufffe\U0001f642,;")
TEXTS = st.lists(st.one_of(ALPHABET, st.sampled_from(["<g1>", "</g1>", "<g2></g2>", "<ggx3/>", "<b>", "]]>"]))).map(
    "".join
)


def written(path: Path, rows: list[Row]) -> bytes:
    return bilingual.write(path, rows, "de", "en", "a\x00b.docx")


def namespaced(name: str) -> str:
    return f"{{urn:oasis:names:tc:xliff:document:2.0}}{name}"


@BOTH
@given(texts=st.lists(st.tuples(TEXTS, TEXTS.filter(bool) | st.none(), st.sampled_from(["", "line 3"])), max_size=5))
def test_texts_are_read_back(path: Path, texts: list[tuple[str, str | None, str]]) -> None:
    rows = [Row(n, *row) for n, row in enumerate(texts, start=1)]
    assert bilingual.read(written(path, rows), path) == Edited("de", "en", rows)


def test_xliff_has_tags_as_inline_elements_and_flags_as_notes() -> None:
    row = Row(
        7, "Der <g1>Hund<g2></g2></g1> <g3/></g4>", "The <g1>dog<g2></g2></g1> <g3/>", "line 5", ("missing", "term")
    )
    root = ElementTree.fromstring(written(XLIFF, [row, Row(8, "Ja", None)]))
    assert (root.tag, root.get("version"), root.get("srcLang")) == (namespaced("xliff"), "2.1", "de")
    unit, other = root.iter(namespaced("unit"))
    assert (unit.get("id"), unit.get("name")) == ("u7", "line 5")
    note = unit.find(f".//{namespaced('note')}")
    assert note is not None
    assert note.text == "missing, term"
    source = unit.find(f".//{namespaced('source')}")
    assert source is not None
    assert [(part.tag, part.get("id")) for part in source.iter()][1:] == [
        (namespaced("pc"), "g1"),
        (namespaced("pc"), "g2"),
        (namespaced("ph"), "g3"),
    ]
    assert "".join(source.itertext()).endswith(" </g4>")
    assert [segment.get("state") for segment in root.iter(namespaced("segment"))] == ["translated", "initial"]
    assert other.find(f".//{namespaced('target')}") is None


def test_what_editors_of_xliff_make_of_it_is_read() -> None:
    """Pairs that are divided, sentences as segments of their own, matches of a memory."""
    data = b"""<?xml version="1.0"?><xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.1" srcLang="de"
    trgLang="en" xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0"><file id="f"><group id="g"><unit id="u3">
    <mtc:matches><mtc:match ref="#1"><source>Ja</source><target>Yes</target></mtc:match></mtc:matches>
    <segment state="final"><source>Der <sc id="g1"/>Hund.</source><target>The <sc id="g1"/>dog.</target></segment>
    <ignorable><source> </source></ignorable>
    <segment><source>Ja<ec startRef="g1"/>.<mrk id="m">!</mrk></source><target>Yes<ec startRef="g1"/>.<mrk
    id="m">!</mrk></target></segment></unit></group></file></xliff>"""
    row = Row(3, "Der <g1>Hund. Ja</g1>.!", "The <g1>dog. Yes</g1>.!")
    assert bilingual.read(data, XLIFF) == Edited("de", "en", [row])


def test_what_spreadsheets_make_of_a_table_is_read() -> None:
    text = 'number\tplace\tde\ten\tnotes\r\n2\t\t"Der ""Hund"""\t"The\n""dog"""\t\r\n\t\t\t\t\r\n1\tx\tJa\t\t\r\n'
    expected = Edited("de", "en", [Row(2, 'Der "Hund"', 'The\n"dog"'), Row(1, "Ja", None, "x")])
    for data in (text.encode(), text.encode("utf-8-sig"), BOM_UTF16_LE + text.encode("utf-16-le")):
        assert bilingual.read(data, TABLE) == expected


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (XLIFF, b""),
        (XLIFF, b"<xliff/>"),
        (XLIFF, b'<!DOCTYPE a [<!ENTITY b "c">]><xliff/>'),
        (XLIFF, written(XLIFF, [Row(1, "a", "b")]).replace(b'"u1"', b'"x"')),
        (XLIFF, written(XLIFF, [Row(1, "\x1b", "b")]).replace(b"001B", b"FFFFFFFFF")),
        (XLIFF, written(XLIFF, [Row(1, "\x1b", "b")]).replace(b"001B", b"x")),
        (TABLE, b""),
        (TABLE, b"\xff\xff"),
        (TABLE, BOM_UTF16_LE + b"a"),
        (TABLE, b"source\ttarget\n"),
        (TABLE, b"number\tplace\tde\ten\n1\tx\n"),
        (TABLE, b"number\tplace\tde\ten\nx\t\ta\tb\n"),
    ],
)
def test_damaged_files_are_refused_with_a_remedy(path: Path, data: bytes) -> None:
    with pytest.raises(UserError, match=rf"{path}.*(?:write it again|save it as UTF-8|--bilingual|correct it)"):
        bilingual.read(data, path)


def test_deep_elements_are_no_recursion() -> None:
    n = 3000
    inner = b'<pc id="g1">' * n + b"</pc>" * n
    data = written(XLIFF, [Row(1, "a", "b")]).replace(b">b<", b">" + inner + b"<")
    assert bilingual.read(data, XLIFF).rows[0].target == "<g1>" * n + "</g1>" * n
