"""XLIFF: only empty targets change, each with the codes of its source, where the schema expects them."""

import re
from collections import Counter
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.translate.documents.stubs import MARK, Stub, marked, reverse, translated, upper
from translate.documents.document import Reading, read
from translate.documents.xml import with_attributes
from translate.errors import UserError
from translate.text.placeholders import DOCUMENT_TAG, placeholder_spans

# Of Debian's package php-symfony-translation.
SCHEMAS = Path("/usr/share/php/Symfony/Component/Translation/Resources/schemas")
GERMAN = Reading(name="a.xlf", source="de", target="en")
ALL = Reading(name="a.xlf", source="de", target="en", replace=True)
FINAL = Reading(name="a.xlf", source="de", target="en", final=True)

DOCUMENTS = Path(__file__).parents[2] / "documents"
XLIFF_1 = (DOCUMENTS / "messages-1.2.xlf").read_bytes()
XLIFF_2 = (DOCUMENTS / "messages-2.0.xlf").read_bytes()
BOTH = pytest.mark.parametrize("data", [XLIFF_1, XLIFF_2], ids=["1.2", "2.0"])


def local(element: etree._Element) -> str:
    return etree.QName(element).localname


def units(data: bytes) -> list[tuple[etree._Element, etree._Element | None]]:
    """Return the source and the target of each unit or segment."""
    found = [e for e in etree.fromstring(data).iter("{*}trans-unit", "{*}segment")]
    return [
        (e.find("{*}seg-source") if e.find("{*}seg-source") is not None else e.find("{*}source"), e.find("{*}target"))
        for e in found
    ]


def codes(element: etree._Element) -> Counter[tuple[str, ...]]:
    """Return the inline codes of a source or target, and what native code is in them."""
    native = ("ph", "bpt", "ept", "it")
    inner = [e for e in element.iterdescendants("{*}*") if not (local(e) == "mrk" and e.get("mtype") == "seg")]
    return Counter((local(e), str(sorted(e.attrib.items())), (e.text or "") * (local(e) in native)) for e in inner)


def words(element: etree._Element) -> str:
    return re.sub(r"\s+", " ", "".join(element.itertext()))


@BOTH
def test_a_file_without_translations_is_the_same_file(data: bytes) -> None:
    document = read(data, GERMAN)
    assert document.write([None] * len(document.units)) == data


@BOTH
@pytest.mark.parametrize("stub", [upper, marked, reverse])
def test_all_but_targets_and_their_states_stays(data: bytes, stub: Stub) -> None:
    """Taking the new targets out again, and the attributes that name languages and states, leaves the file."""
    written = translated(data, GERMAN, stub)
    before, after = etree.fromstring(data), etree.fromstring(written)
    for root in (before, after):
        for element in root.iter():
            if isinstance(element.tag, str):
                for name in ("target-language", "trgLang", "state", "subState", "state-qualifier"):
                    element.attrib.pop(name, None)
        for source in list(root.iter("{*}source")):
            target = source.getparent().find("{*}target")
            locked = source.getparent().get("id") in ("2", "10", "11") or "reviewed final" in str(target)
            if target is not None and not locked and local(source.getparent()) != "alt-trans":
                source.getparent().remove(target)
    text = [re.sub(r"\s+", "", etree.tostring(root, method="c14n").decode()) for root in (before, after)]
    assert text[0] == text[1]


@BOTH
@pytest.mark.parametrize("stub", [upper, marked, reverse])
def test_each_target_has_the_codes_of_its_source(data: bytes, stub: Stub) -> None:
    n_codes = 0
    for source, target in units(translated(data, GERMAN, stub)):
        if target is not None and "already" not in words(target) and "done" not in words(target):
            assert codes(source) == codes(target)
            n_codes += codes(source).total()
    assert n_codes > 8


@BOTH
def test_every_open_unit_is_filled_with_whole_sentences(data: bytes) -> None:
    for source, target in units(translated(data, GERMAN, marked)):
        text = words(source)
        if "nein" in text or not text.strip():
            assert target is None or not words(target)
        elif text not in ("fest", "schon da", "ganz fertig", "fertig"):
            assert target is not None
            protected = [words(e) for e in source.iter("{*}mrk") if "no" in e.values() or "protected" in e.values()]
            shown = upper(text).replace("FIREFOX", protected[0] if protected else "")
            target_text = words(target)
            for native in source.iter("{*}bpt", "{*}ept", "{*}ph", "{*}it"):
                shown = shown.replace(upper(words(native)), "")
                target_text = target_text.replace(upper(words(native)), "")
            for mark in target.iter("{*}mrk", "{*}bpt"):
                assert MARK not in words(mark)[:-3]
            assert re.sub(rf"[{MARK}\s]|<[^>]*>", "", shown) in re.sub(rf"[{MARK}\s]|<[^>]*>", "", target_text).replace(
                "<i>", ""
            )


def test_formats_follow_their_words() -> None:
    found = [
        words(e)
        for _, target in units(translated(XLIFF_1, GERMAN, reverse))
        if target is not None
        for e in target.iter("{*}g")
    ]
    assert found == ["IMMER", "AUCH"]
    text = translated(XLIFF_1, GERMAN, reverse).decode()
    assert '<x id="2" equiv-text="&lt;b&gt;"/>DA DU<x id="3" equiv-text="&lt;/b&gt;"/>' in text
    assert re.search(r'<bpt id="1".*?</bpt>LINK EIN<ept', text)
    text = translated(XLIFF_2, GERMAN, reverse).decode()
    assert '<pc id="1" dataRefStart="d1" dataRefEnd="d2">IMMER</pc>' in text
    assert '<sc id="3" type="fmt"/>DA DU<ec startRef="3"/>' in text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a <x id='START_BLOCK_IF'/>b<x id='CLOSE_BLOCK_IF'/> c", "a <g1>b</g1> c"),
        (
            "<x id='START_LINK'/>a <x id='START_TAG_I_1'/>b<x id='CLOSE_TAG_I'/><x id='CLOSE_LINK'/> c",
            "<g1>a <g2>b</g2></g1> c",
        ),
        ("from <x id='START_DATE'/> to <x id='END_DATE'/> c", "from <g1/> to <g2/> c"),
        ("a <x id='START_DATE'/>\u2013<x id='END_DATE'/> c", "a <g1/>\u2013<g2/> c"),
        ("(<x id='START_DATE'/>) to (<x id='END_DATE'/>)", "(<g1/>) to (<g2/>)"),
    ],
)
def test_placeholders_of_angular_are_pairs_by_their_names(source: str, text: str) -> None:
    for number, name, attribute in (("1.2", "x", "id"), ("2.0", "ph", "equiv")):
        unit = source.replace("<x id", f"<{name} {attribute}")
        version_2 = f'<xliff version="2.0" srcLang="en"><file id="f"><unit id="u"><segment><source>{unit}</source>'
        version_1 = (
            '<xliff version="1.2"><file source-language="en"><body><trans-unit id="u">'
            f"<source>{unit}</source></trans-unit></body></file></xliff>"
        )
        data = version_1 if number == "1.2" else f"{version_2}</segment></unit></file></xliff>"
        (found,) = read(data.encode(), GERMAN).units
        assert found.text == text


@BOTH
def test_no_closing_code_stands_before_its_opening_code(data: bytes) -> None:
    for _, target in units(translated(data, GERMAN, reverse)):
        opened: set[str | None] = set()
        for element in target.iter() if target is not None else ():
            if local(element) in ("bx", "bpt", "sc", "sm"):
                opened.add(element.get("rid") or element.get("id"))
            elif local(element) in ("ex", "ept", "ec", "em"):
                assert (element.get("rid") or element.get("startRef")) in opened


def test_a_target_repeats_the_segments_of_its_source() -> None:
    target = next(
        t for s, t in units(translated(XLIFF_1, GERMAN, marked)) if t is not None and t.find("{*}mrk") is not None
    )
    assert [(e.get("mid"), words(e)) for e in target.iter("{*}mrk")] == [
        ("7", f"EINS IST DA.{MARK}"),
        ("9", f"ZWEI AUCH.{MARK}"),
    ]
    assert words(target) == f"EINS IST DA.{MARK} ZWEI AUCH.{MARK}"


def test_segments_that_have_a_translation_stay_and_the_others_are_filled() -> None:
    data = XLIFF_1.replace(
        b"</seg-source>",
        b'</seg-source><target><mrk mtype="seg" mid="7">One.</mrk> <mrk mtype="seg" mid="9"/></target>',
    )
    document = read(data, GERMAN)
    assert [unit.done for unit in document.units if "unit 4" in unit.place] == ["One.", None]
    target = next(
        t for _, t in units(translated(data, GERMAN, upper)) if t is not None and t.find("{*}mrk") is not None
    )
    assert words(target) == "One. ZWEI AUCH."


def test_units_of_trados_that_are_locked_and_texts_that_are_deleted_stay() -> None:
    locked = b"""<trans-unit id="1"><source>Ein Tag.</source>
<seg-source><mrk mtype="seg" mid="1">Ein Tag.</mrk></seg-source>
<target><mrk mtype="seg" mid="1"/></target><sdl:seg-defs><sdl:seg id="1" locked="true"/></sdl:seg-defs></trans-unit>"""
    deleted = b'<mrk mtype="x-sdl-deleted" sdl:revid="r">alter </mrk>'
    data = b"""<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"
xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0"><file original="a" source-language="de" target-language="en"
datatype="x"><body>%s<trans-unit id="2"><source>Ein %sHund.</source></trans-unit></body></file></xliff>""" % (
        locked,
        deleted,
    )
    assert [DOCUMENT_TAG.sub("", unit.text) for unit in read(data, GERMAN).units] == ["Ein Hund."]
    after = translated(data, GERMAN, upper)
    assert locked in after
    assert b">EIN %sHUND.</target>" % deleted in after


@pytest.mark.parametrize("state", ["new", "needs-translation", "translated", None])
def test_a_copy_of_the_source_is_no_translation_if_the_state_says_so(state: str | None) -> None:
    attribute = f' state="{state}"' if state else ""
    data = f"""<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="de" target-language="en" datatype="plaintext"><body>
<trans-unit id="3"><source>Ein <g id="1">Tag</g>.</source>
<target{attribute}>Ein <g id="1">Tag</g>.</target></trans-unit>
<trans-unit id="5"><source>Ein Tag.</source><target{attribute}>One day.</target></trans-unit>
</body></file></xliff>""".encode()
    found = [words(target) for _, target in units(translated(data, GERMAN, upper)) if target is not None]
    assert found == ["EIN TAG." if state in ("new", "needs-translation") else "Ein Tag.", "One day."]
    document = read(data, GERMAN)
    assert document.write([None] * len(document.units)) == data


@pytest.mark.parametrize("state", ["initial", "translated", None])
def test_a_copy_of_the_source_is_no_translation_in_the_initial_state(state: str | None) -> None:
    attribute = f' state="{state}"' if state else ""  # initial by default
    data = f"""<xliff version="2.0" srcLang="de" trgLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f">
<unit id="3"><segment{attribute}><source>Ein Tag.</source><target>Ein Tag.</target></segment></unit>
<unit id="5"><segment{attribute}><source>Ein Tag.</source><target>One day.</target></segment></unit>
</file></xliff>""".encode()
    found = [words(target) for _, target in units(translated(data, GERMAN, upper)) if target is not None]
    assert found == ["Ein Tag." if state == "translated" else "EIN TAG.", "One day."]


@pytest.mark.parametrize(
    ("source", "target", "is_copy"),
    [
        ('Ein<ph id="1" equiv="" disp="x"/> Tag', 'Ein<ph id="1"/> Tag', True),
        ('Ein <pc id="1" dataRefStart="d">Tag</pc>', "Ein <pc id='1'>Tag</pc>", True),
        ("Ein &amp; Tag", "<![CDATA[Ein & Tag]]>", True),
        ("Ein  Tag\n mehr", "Ein Tag mehr", True),
        ('Ein <ph id="1"/> Tag', 'Ein <ph id="2"/> Tag', False),
        ('Ein <ph id="1"/> Tag', "Ein Tag", False),
    ],
)
def test_a_copy_may_be_written_in_another_way(source: str, target: str, is_copy: bool) -> None:
    data = f"""<xliff version="2.0" srcLang="de" trgLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f"><unit id="3"><segment><source>{source}</source><target>{target}</target></segment></unit></file></xliff>"""
    assert (b"EIN" in translated(data.encode(), GERMAN, upper)) == is_copy


@pytest.mark.parametrize(
    ("source", "shown", "said", "target"),
    [
        ("Hier &amp;suchen", "Hier suchen", "Search here", "&amp;Search here"),
        ("&amp;&amp;Neu {0}", "Neu {0}", "{0} created anew", "{0} created a&amp;&amp;new"),
        ('Hier <ph id="1"/>&amp;neu', "Hier <g1/>neu", "<g1/>anew", '<ph id="1"/>a&amp;new'),
        ("Kaffee&amp;kuchen, A&amp;B", "Kaffee&kuchen, A&B", "Coffee, A&B", "Coffee, A&amp;B"),
    ],
)
def test_the_mark_of_a_key_is_before_a_letter_of_the_translation(
    source: str, shown: str, said: str, target: str
) -> None:
    data = f"""<xliff version="2.0" srcLang="de" trgLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f"><unit id="3"><segment><source>{source}</source></segment></unit></file></xliff>""".encode()
    assert [unit.text for unit in read(data, GERMAN).units] == [shown]
    assert f"<target>{target}</target>".encode() in translated(data, GERMAN, lambda text: said)


def test_plural_rules_of_apple_are_codes() -> None:
    data = b"""<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="de"
target-language="en" datatype="plaintext"><body><trans-unit id="3"><source>In %#@files@ und %1$#@folders@</source>
</trans-unit></body></file></xliff>"""
    spans = placeholder_spans(read(data, GERMAN).units[0].text)
    assert [stop - start for start, stop in spans] == [len("%#@files@"), len("%1$#@folders@")]
    assert b"<target" not in translated(data, GERMAN, lambda text: text.replace("files", "Dateien"))


@BOTH
def test_machine_translations_are_marked_unless_they_are_final(data: bytes) -> None:
    def states(reading: Reading) -> set[tuple[str | None, ...]]:
        found = set()
        for source, target in units(translated(data, reading, upper)):
            if target is not None and "TÜR" in words(target):
                element = source.getparent() if local(source.getparent()) == "segment" else target
                found.add((element.get("state"), element.get("state-qualifier"), element.get("subState")))
        return found

    is_1 = data is XLIFF_1
    assert states(GERMAN) == {
        ("needs-review-translation", "mt-suggestion", None) if is_1 else ("translated", None, "translate:mt")
    }
    assert states(FINAL) == {("translated", None, None)}


@BOTH
def test_existing_translations_are_replaced_on_request_but_never_locked_ones(data: bytes) -> None:
    texts = [words(t) for _, t in units(translated(data, ALL, upper)) if t is not None]
    assert "SCHON DA" in texts
    assert "already" not in texts
    assert "done" in texts
    assert "fixed" in texts or data is XLIFF_2
    kept = [words(t) for _, t in units(translated(data, GERMAN, upper)) if t is not None]
    assert "already" in kept


@BOTH
def test_the_target_language_is_stated(data: bytes) -> None:
    root = etree.fromstring(translated(data, GERMAN, upper))
    assert [e.get("target-language") or e.get("trgLang") for e in root.iter("{*}file", "{*}xliff")].count("en") == 1
    french = translated(data.replace(b'xml:lang="en"', b'xml:lang="fr"'), GERMAN, upper)
    assert b'xml:lang="fr"' not in french
    stated = data.replace(b' source-language="de"', b' source-language="de" target-language="en-GB"')
    stated = stated.replace(b' srcLang="de"', b' srcLang="de" trgLang="en-GB"')
    assert b'"en-GB"' in translated(stated, GERMAN, upper)


@BOTH
def test_translations_into_another_language_are_not_mixed(data: bytes) -> None:
    french = data.replace(b' source-language="de"', b' source-language="de" target-language="fr"')
    french = french.replace(b' srcLang="de"', b' srcLang="de" trgLang="fr"')
    with pytest.raises(UserError, match="translations into fr"):
        read(french, GERMAN)


@BOTH
@pytest.mark.parametrize("reading", [GERMAN, FINAL, ALL])
@pytest.mark.parametrize("stub", [marked, reverse])
def test_the_schema_accepts_what_is_written(data: bytes, reading: Reading, stub: Stub) -> None:
    name = "xliff-core-1.2-strict.xsd" if data is XLIFF_1 else "xliff-core-2.0.xsd"
    if not (SCHEMAS / name).exists():
        pytest.skip(f"{name} is missing; apt-get install php-symfony-translation")
    text = (SCHEMAS / name).read_text(encoding="utf-8")
    text = re.sub(r'schemaLocation="[^"]*xml.xsd"', f'schemaLocation="{(SCHEMAS / "xml.xsd").as_uri()}"', text)
    schema = etree.XMLSchema(etree.fromstring(text.encode()))
    schema.assertValid(etree.fromstring(data))
    schema.assertValid(etree.fromstring(translated(data, reading, stub)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<xliff version='1.2'><file>", "damaged"),
        (b"<html/>", "is no XLIFF"),
        (b"<xliff version='3.0'/>", "is no XLIFF"),
    ],
)
def test_other_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(data, GERMAN)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1"])
def test_the_encoding_and_line_ends_stay(encoding: str) -> None:
    name = {"utf-8-sig": "UTF-8"}.get(encoding, encoding)
    text = XLIFF_1.decode().replace('encoding="UTF-8"', f'encoding="{name}"').replace("\n", "\r\n")
    written = translated(text.encode(encoding), GERMAN, lambda text: text + " \u20ac")
    shown = written.decode(encoding)
    assert shown.count("\r\n") == shown.count("\n")
    targets = [t for _, t in units(written) if t is not None and "Tür" in words(t)]
    assert words(targets[0]) == "Die Tür ist immer offen & weit. \u20ac"


def test_an_existing_target_has_the_tags_of_its_source() -> None:
    target = b'<target>You <x id="2"/> have <g id="1">mail</g>, <x id="9"/></target>'
    data = XLIFF_1.replace(b"<note>A door.</note>", target).replace(b"offen", b'<x id="2"/>')
    (unit, *_) = read(data, GERMAN).units
    assert unit.text == "Die T\u00fcr ist <g1>immer</g1> <g2/> & weit."
    assert unit.done == "You <g2/> have <g1>mail</g1>, <g3/>"
    document = read(data, ALL)
    assert document.write([unit.done for unit in document.units]) == data
    edited = document.write([unit.done.replace(", <g3/>", "!") if unit.done else None for unit in document.units])
    assert b'You <x id="2"/> have <g id="1">mail</g>!</target>' in edited


@BOTH
def test_a_translation_that_lost_a_variable_is_reported_and_not_written(data: bytes) -> None:
    data = data.replace(b"immer", b"%1$s {name}")
    reports: list[str] = []
    reading = Reading(name="a.xlf", source="de", target="en", report=reports.append)
    document = read(data, reading)
    written = document.write([upper(unit.text) for unit in document.units])
    assert "%1$s {name}" in words(units(written)[0][0])
    assert units(written)[0][1] is None
    assert len(reports) == 1
    assert "unit 1" in reports[0]
    assert "%1$" in reports[0] or "{name}" in reports[0]


def test_segments_that_another_program_locked_stay() -> None:
    data = XLIFF_1.replace(b'<trans-unit id="1"', b'<trans-unit id="1" xmlns:m="urn:m" m:locked="true"')
    data = data.replace(
        b"<alt-trans>", b'<s:seg-defs xmlns:s="urn:s"><s:seg id="9" locked="true"/></s:seg-defs><alt-trans>'
    )
    places = [unit.place for unit in read(data, GERMAN).units]
    assert "unit 1" not in places
    assert [place for place in places if "unit 4" in place] == ["unit 4, segment 7"]


def test_white_space_is_one_space_unless_it_is_preserved() -> None:
    data = XLIFF_1.replace(b"offen &amp; weit", b"offen\n          &amp; weit")
    assert "offen & weit" in read(data, GERMAN).units[0].text
    data = data.replace(b'<trans-unit id="1"', b'<trans-unit id="1" xml:space="preserve"')
    assert "offen\n          & weit" in read(data, GERMAN).units[0].text


def test_lines_of_a_section_of_characters_are_kept_and_an_empty_one_is_no_translation() -> None:
    """Plugins of WordPress write whole pages so, in which an empty line divides paragraphs."""
    source = "<![CDATA[<p>ein Haus</p>\n\nein  Hund]]>"
    unit = f"<unit id='1'><segment><source>{source}</source><target><![CDATA[]]></target></segment></unit>"
    data = f'<xliff version="2.0" srcLang="de" trgLang="en"><file id="f">{unit}</file></xliff>'.encode()
    (unit_read,) = read(data, GERMAN).units
    assert (unit_read.text, unit_read.done) == ("<p>ein Haus</p>\n\nein  Hund", None)
    assert (
        f"<target>{source.replace('ein', 'kein')}</target>"
        in translated(data, GERMAN, lambda text: text.replace("ein", "kein")).decode()
    )
    assert read(data, GERMAN).write([None]) == data


CODES = """ein Wort |und |&lt;b> |<x id='x'/>|<bx id='1' rid='r'/>|<ex id='2' rid='r'/>|<bx id='3' rid='s'/>
|<ex id='4' rid='s'/>|<ph id='p'>&lt;i></ph>|<ph id='q'>&lt;/i></ph>|<g id='e'/>|<!-- c -->|<![CDATA[<roh> & ]]>"""
INLINE = st.recursive(
    st.sampled_from(CODES.split("|")),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: f"<g id='g'>{''.join(parts)}</g>"),
    max_leaves=9,
)


@given(st.lists(INLINE, max_size=7).map("".join))
def test_any_mixture_of_codes_is_copied_into_the_target(inside: str) -> None:
    data = (
        f"<xliff version='1.2'><file><trans-unit id='1'><source>{inside}</source></trans-unit></file></xliff>".encode()
    )
    document = read(data, GERMAN)
    same = document.write([unit.text for unit in document.units])
    if document.units:
        assert re.search(rb"<target [^>]*>(.*)</target>", same, re.DOTALL)[1] == inside.encode()  # type: ignore[index]
    for stub in (upper, reverse):
        for source, target in units(translated(data, GERMAN, stub)):
            if target is not None:
                assert codes(source) == codes(target)


VALUES = st.text(st.sampled_from("aB1 '\"<&>=/\u00fc"), max_size=6)
NAMES = st.sampled_from(["state", "subState", "x:y", "id"])


@given(
    st.dictionaries(NAMES, VALUES, max_size=4), st.dictionaries(NAMES, st.none() | VALUES, max_size=4), st.booleans()
)
def test_attributes_are_set_in_place(own: dict[str, str], changes: dict[str, str | None], is_empty: bool) -> None:
    """A parser reads the new values, the others stay, and so does the order."""
    written = "".join(f" {name}={quoteattr(value)}" for name, value in own.items())
    raw = f"<e{written} xmlns:x='u'{'/' * is_empty}>".encode()
    tag = with_attributes(raw, changes)
    element = etree.fromstring(tag if is_empty else tag + b"</e>")
    found = {name.replace("{u}", "x:"): value for name, value in element.attrib.items()}
    assert found == {name: value for name, value in (own | changes).items() if value is not None}
    kept = [name for name in own if changes.get(name, "") is not None]
    assert list(found)[: len(kept)] == kept
    if not {*own} & {*changes} and not any(changes.values()):
        assert tag.startswith(raw.rstrip(b"/>"))


ITS = 'xmlns:its="http://www.w3.org/2005/11/its"'


@pytest.mark.parametrize(
    ("kept", "translated_again"),
    [
        ('translate="no"', 'translate="yes"'),
        (f'{ITS} its:translate="no"', f'{ITS} its:translate="yes"'),
        ('mtype="protected"', 'mtype="x-its-translate-yes"'),
    ],
)
def test_the_inner_value_of_translate_holds(kept: str, translated_again: str) -> None:
    inside = f'Die <mrk {kept}>Firma <mrk {translated_again}>Wort <g id="1">drei</g></mrk> GmbH</mrk> da'
    data = XLIFF_1[: XLIFF_1.index(b"<body>")].decode()
    data += f'<body><trans-unit id="1"><source>{inside}</source></trans-unit></body></file></xliff>'
    written = translated(data.encode(), GERMAN, marked).decode()
    inner = f'<mrk {translated_again}>WORT <g id="1">DREI</g>{MARK}</mrk>'
    assert f"DIE <mrk {kept}>Firma {inner} GmbH</mrk> DA{MARK}</target>" in written


def test_an_empty_element_between_words_divides_them() -> None:
    """As odf2xliff of the Translate Toolkit writes tabs and line breaks; a note stands beside its word."""
    inside = 'Name:<g id="1"/>Anna<g id="2"/>Ort, die Note<g id="3"/> hier, H<g id="4"/>aus'
    data = XLIFF_1[: XLIFF_1.index(b"<body>")].decode()
    data += f'<body><trans-unit id="1"><source>{inside}</source></trans-unit></body></file></xliff>'
    (unit,) = read(data.encode(), GERMAN).units
    assert unit.text == "Name:<g1/>Anna<g2/>Ort, die Note<g3></g3> hier, H<g4></g4>aus"
    assert inside.replace("a", "A") in translated(data.encode(), GERMAN, lambda text: text.replace("a", "A")).decode()


UNIT = '<trans-unit id="a" {}><source>long <g id="1">words</g></source></trans-unit>'
GROUP = '<group maxwidth="5" size-unit="char">{}</group>'
UNIT_2 = '<unit id="a" s:sizeRestriction="{}"><segment><source>long words</source></segment></unit>'
CHARACTERS = '<s:profiles generalProfile="xliff:codepoints"/>'


@pytest.mark.parametrize(
    ("body", "is_2", "n_written"),
    [
        (UNIT.format('maxwidth="5" size-unit="char"'), False, 0),
        (UNIT.format('maxwidth="10" size-unit="char"'), False, 1),
        (UNIT.format('maxwidth="5"'), False, 1),  # pixels
        (GROUP.format(UNIT.format("")), False, 0),
        (GROUP.format(UNIT.format('maxwidth="5"')), False, 1),
        (f"{CHARACTERS}{UNIT_2.format('2,5')}", True, 0),
        (f"{CHARACTERS}{UNIT_2.format('10')}", True, 1),
        (UNIT_2.format("5"), True, 1),  # in a unit that the file does not say
    ],
)
def test_a_translation_that_is_longer_than_the_file_allows_is_reported(body: str, is_2: bool, n_written: int) -> None:
    if is_2:
        sizes = 'xmlns:s="urn:oasis:names:tc:xliff:sizerestriction:2.0"'
        start = f'<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" {sizes} version="2.1" srcLang="en" trgLang="de">'
        data = f'{start}<file id="f">{body}</file></xliff>'
    else:
        start = '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file original="a" datatype="x"'
        data = f'{start} source-language="en" target-language="de"><body>{body}</body></file></xliff>'
    reports = list[str]()
    reading = Reading(name="a.xlf", source="en", target="de", report=reports.append)
    assert translated(data.encode(), reading, upper).count(b"<target") == n_written
    what = "is not translated, as the translation has more than 5 characters, which the file does not allow here"
    assert reports == [] if n_written else [f"a.xlf, unit a: {what}"]


@pytest.mark.parametrize(
    ("source", "text", "target"),
    [
        ("Die {b>rote&lt;b} Tür", "Die <g1>rote</g1> Tür", "TÜR {b>ROTE&lt;b} DIE"),
        (
            "{b&gt;{i>Rot&lt;i}&lt;b} &amp; {1>da&lt;1}",
            "<g1><g2>Rot</g2></g1> & <g3>da</g3>",
            "{1>DA&lt;1} &amp; {b&gt;{i>ROT&lt;i}&lt;b}",
        ),
        ("Ja {b>da", "Ja <g1></g1>da", "DA {b> JA"),
        ("a &lt; b", "a < b", "B &lt; A"),
    ],
)
def test_codes_that_phrase_writes_as_text_are_pairs(source: str, text: str, target: str) -> None:
    start = '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"'
    unit = f'<trans-unit id="a"><source>{source}</source><target/></trans-unit>'
    languages = 'source-language="de" target-language="en"'
    body = f'<file original="a" datatype="x" {languages}><body>{unit}</body></file></xliff>'
    reading = Reading(name="a.mxliff", source="de", target="en")
    for phrase in ("", ' xmlns:m="http://www.memsource.com/mxlf/2.0" m:version="2.4"'):
        data = f"{start}{phrase}>{body}".encode()
        (found,) = read(data, reading).units
        assert (found.text == text) == bool(phrase or "g1" not in text)
        assert read(data, reading).write([None]) == data
    assert f">{target}</target>".encode() in translated(data, reading, reverse)
