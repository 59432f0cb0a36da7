"""XML: tokens are the file, what is no text stays byte for byte, and a translation is written as the file writes."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.stubs import TAG, Stub, reverse, upper
from translate.documents.document import Reading
from translate.documents.xml import Parts, Role, Table, read, tokens, translated_language
from translate.errors import UserError

READING = Reading(name="document", source="de", target="en")
ELEMENTS = {
    "p": Role.UNIT,
    "b": Role.PAIR,
    "i": Role.PAIR,
    "br": Role.SPACE,
    "x": Role.OBJECT,
    "mark": Role.POINT,
    "note": Role.POINT,
    "pre": Role.COPY,
    "shown": Role.BLOCK,
    "lang": Role.LANGUAGE,
}
TABLE = Table(elements=ELEMENTS, texts={"": ["alt"]}, collapses=True, language=translated_language(READING))


def document(data: bytes | str, table: Table = TABLE) -> Parts:
    return read(data.encode() if isinstance(data, str) else data, table, READING)


def texts(data: bytes | str, table: Table = TABLE) -> list[str]:
    return [unit.text for unit in document(data, table).units]


def written(data: str, *translations: str | None, table: Table = TABLE) -> str:
    return document(data, table).write(translations).decode()


WORDS = st.text("abcäßあ 'z\n", min_size=1, max_size=6)
ESCAPED = st.sampled_from(
    ["&amp;", "&lt;", "&#252;", "&#x20AC;", "&quot;", "<![CDATA[a < b]]>", "<!-- no -->", "<?no?>"]
)
SINGLE = st.sampled_from(["<br/>", "<x>code</x>", '<mark a="1"/>', "<note><p>Anm<b>er</b>kung</p></note>", "<b/>"])
INLINE = st.recursive(
    st.one_of(WORDS, ESCAPED, SINGLE),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}>", st.sampled_from("bi"), st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)
PARAGRAPHS = st.builds(lambda parts: f"<p>{''.join(parts)}</p>", st.lists(INLINE, max_size=5))
OTHERS = st.sampled_from(['<img alt="ein &quot;Bild&quot;"/>', "<pre>a <p>kept</p></pre>", "\n  ", "<d>kept</d>"])
DOCUMENTS = st.builds(
    lambda parts: f"<doc>{''.join(parts)}</doc>", st.lists(st.one_of(PARAGRAPHS, OTHERS), min_size=1, max_size=5)
)


@given(DOCUMENTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "euc-jp"]))
def test_texts_that_stay_give_the_same_bytes(xml: str, encoding: str) -> None:
    name = encoding.removesuffix("-sig").removesuffix("-be")
    data = f'<?xml version="1.0" encoding="{name}"?>{xml}'.encode(encoding, "xmlcharrefreplace")
    found = document(data)
    assert found.write([unit.text for unit in found.units]) == data
    assert found.write([None] * len(found.units)) == data


@given(DOCUMENTS)
def test_tokens_are_the_file(xml: str) -> None:
    assert b"".join(token.raw for token in tokens(xml.encode(), "x")) == xml.encode()


@given(DOCUMENTS, st.sampled_from([upper, reverse]))
def test_all_texts_are_translated_and_all_elements_stay(xml: str, stub: Stub) -> None:
    found = document(xml)
    translations = [stub(unit.text) for unit in found.units]
    after = ElementTree.fromstring(found.write(translations))
    before = ElementTree.fromstring(xml)
    assert Counter(element.tag for element in after.iter()) == Counter(element.tag for element in before.iter())
    for parent in after.iter():
        for child in parent:
            if parent.tag in ("p", "b", "i"):
                assert (child.tail or "") == (child.tail or "").upper()


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        ("<p> Ein <b>fettes</b> Wort. </p>", ["Ein <g1>fettes</g1> Wort."]),
        ("<p><b><i>Alles</i></b></p>", ["Alles"]),
        ("<p><b/>Wort<b/></p>", ["Wort"]),
        ("<p>A<br/>B <br/> C</p>", ["A\n<g1></g1>B\n<g2></g2>C"]),
        ("<p>Siehe <x>f()</x>.</p>", ["Siehe <g1/>."]),
        ("<p>Wort<note><p>Fußnote</p></note> hier</p>", ["Wort<g1></g1> hier", "Fußnote"]),
        ("<p>a<mark/><!-- b --><mark/>c</p>", ["a<g1></g1>c"]),
        ("<p>vor <b>a <p>innen</p> b</b> nach</p>", ["vor", "a", "innen", "b", "nach"]),
        ("<p>eins <i>zwei <b>drei</b></i></p>", ["eins <g1>zwei <g2>drei</g2></g1>"]),
        ("<d>kein Text</d>", []),
        ("<pre>nein <p>nein</p><shown><p>ja</p></shown><p>nein</p></pre>", ["ja"]),
        ("<p>&lt;g1&gt; <b>x</b> y</p>", ["<g1> <gg1>x</gg1> y"]),
        ("<p>zwei   Wörter\n im Text</p>", ["zwei Wörter im Text"]),
        ("<p> &#160; </p>", []),
    ],
)
def test_units(xml: str, expected: Sequence[str]) -> None:
    assert texts(xml) == expected


@pytest.mark.parametrize(
    ("xml", "translations", "expected"),
    [
        ("<p>Ein <b>A</b></p>", ["<g1>A</g1> < & one"], "<p><b>A</b> &lt; &amp; one</p>"),
        ("<p><![CDATA[<b>A</b> & B]]></p>", ["<b>X</b> ]]> & Y"], "<p><![CDATA[<b>X</b> ]]]]><![CDATA[> & Y]]></p>"),
        ("<p>a <![CDATA[<]]></p>", ["b <"], "<p>b &lt;</p>"),
        ("<p>say &quot;ja&quot;</p>", ['say "yes"'], "<p>say &quot;yes&quot;</p>"),
        ('<p>say "ja"</p>', ['say "yes"'], '<p>say "yes"</p>'),
        ("<img alt='a &apos;b&apos;'/>", ['it\'s "c"'], "<img alt='it&apos;s \"c\"'/>"),
        ('<img alt="a"/>', ['"c"\nd'], '<img alt="&quot;c&quot;&#10;d"/>'),
        ("<p>A<br/>B</p>", ["B\n<g1></g1>A"], "<p>B<br/>A</p>"),
        ("<p>A <br/> B</p>", ["B\n<g1></g1>A"], "<p>B <br/> A</p>"),
        ("<p>Klick <mark/> an</p>", ["Click <g1></g1>now"], "<p>Click <mark/> now</p>"),
        ("<d><lang>de-AT</lang><p>A</p></d>", ["B"], "<d><lang>en</lang><p>B</p></d>"),
        ("<d><lang>de-AT</lang><p>A</p></d>", ["A"], "<d><lang>de-AT</lang><p>A</p></d>"),
        ("<d><lang>fr</lang><p>A</p></d>", ["B"], "<d><lang>fr</lang><p>B</p></d>"),
        ("<p>A\r\nB</p>", ["X\nY"], "<p>X\r\nY</p>"),
    ],
)
def test_a_translation_is_written_as_the_file_writes(xml: str, translations: Sequence[str], expected: str) -> None:
    assert written(xml, *translations) == expected


def test_characters_that_the_encoding_lacks_are_references() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><d><p>Größe</p><p><![CDATA[a]]></p></d>'.encode("latin-1")
    result = document(data).write(["größer → \N{CJK UNIFIED IDEOGRAPH-4E00}", "→"])
    assert ElementTree.fromstring(result)[0].text == "größer → \N{CJK UNIFIED IDEOGRAPH-4E00}"
    assert ElementTree.fromstring(result)[1].text == "→"
    assert "größer".encode("latin-1") in result


def test_entities() -> None:
    """Those of HTML are characters; those that a file declares are objects, where they may be declared."""
    html = Table(elements=ELEMENTS, entities={"nbsp": "\u00a0", "auml": "ä"})
    assert texts("<p>M&auml;rz&nbsp;1</p>", html) == ["März\u00a01"]
    assert written("<p>M&auml;rz&nbsp;1</p>", "May\u00a01", table=html) == "<p>May&nbsp;1</p>"
    assert texts(
        '<img alt="M&auml;rz &amp; &#169;"/>', Table(elements={}, texts={"img": ["alt"]}, entities={"auml": "ä"})
    ) == ["März & ©"]
    declared = '<!DOCTYPE p [<!ENTITY app "App">]><p>Die &app; hier</p>'
    assert texts(declared, Table(elements=ELEMENTS, declares_entities=True)) == ["Die <g1/> hier"]
    with pytest.raises(UserError, match="declares entities"):
        texts(declared)


def test_names_have_the_prefixes_of_the_table() -> None:
    table = Table(elements={"n:p": Role.UNIT}, prefixes={"urn:n": "n", "urn:old": "n"})
    assert texts('<p xmlns="urn:n">eins</p>', table) == ["eins"]
    assert texts('<q:p xmlns:q="urn:old">zwei</q:p>', table) == ["zwei"]
    assert texts("<p>drei</p>", table) == []


@pytest.mark.parametrize(
    "translation", ["Wort", "<g1>a</g1> <g1>b</g1>", "</g1>a<g1>", "<g1>a</g1> <g2>b</g2>", "<g1>a", "\x0b<g1>a</g1>"]
)
def test_a_translation_with_other_tags_is_reported(translation: str) -> None:
    """The text stays as it was, and others are translated."""
    reported: list[str] = []
    xml = "<d><p>ein <b>Wort</b></p><p>und</p></d>"
    found = read(xml.encode(), TABLE, replace(READING, report=reported.append))
    assert found.write([translation, "and"]).decode() == xml.replace("und", "and")
    assert len(reported) == 1
    assert reported[0].startswith("document: is not translated, as the translation ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<p>a</b>", "the XML is damaged: mismatched tag in line 1, column 7"),
        (b"<p>\xff</p>", "the XML is damaged: not well-formed"),
        (b"", "the XML is damaged: no element found"),
        (b'<?xml version="1.0" encoding="hex"?><p/>', "not in the encoding hex"),
        (b'<?xml version="1.0" encoding="shift_jis"?><p>\xff</p>', "not in the encoding shift_jis"),
        (b"<b>" * 1001 + b"</b>" * 1001, "more than 1,000 deep"),
        (b"<n:p/>", "unbound prefix"),
    ],
)
def test_a_damaged_file_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        document(data)


def test_large_files_take_linear_time() -> None:
    """Hundreds of thousands of marks in one text, side by side or within each other, are read and written."""
    many = 10_000
    xml = f"<p>{'a<mark/><b>b</b><br/>' * many}{'<b>' * 900}c{'</b>' * 900}</p>"
    found = document(xml)
    (unit,) = found.units
    assert len(TAG.findall(unit.text)) == 6 * many + 2 * 900
    assert ElementTree.fromstring(found.write([upper(unit.text)])).findtext("b") == "B"


@pytest.mark.parametrize(
    ("target", "expected"),
    [("en", "en-US"), ("en-GB", "en-GB"), ("de", "de-DE"), ("zh", "zh-CN"), ("zh-Hant-HK", "zh-Hant-HK")],
)
def test_programs_of_offices_get_the_region_that_was_asked_for_or_a_likely_one(target: str, expected: str) -> None:
    stated = translated_language(Reading(name="a.docx", source="fr-CA", target=target), with_territory=True)
    assert stated("fr-FR") == stated("fr") == expected
    assert stated("it-IT") is None
