"""OpenDocument: a paragraph is one text, formats follow their words, and what is no text stays as it is."""

import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents import stubs
from tests.translate.documents.stubs import reverse, upper
from translate.documents.document import Reading, read
from translate.errors import UserError

OASIS = "urn:oasis:names:tc:opendocument:xmlns"
TEXT = f"{{{OASIS}:text:1.0}}"
NAMESPACES = " ".join(
    [
        *(f'xmlns:{name}="{OASIS}:{name}:1.0"' for name in ("text", "office", "style", "table", "presentation")),
        f'xmlns:draw="{OASIS}:drawing:1.0" xmlns:svg="{OASIS}:svg-compatible:1.0"',
        f'xmlns:form="{OASIS}:form:1.0"',
        'xmlns:field="urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0"',
        'xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"',
        f'xmlns:fo="{OASIS}:xsl-fo-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"',
        'xmlns:dc="http://purl.org/dc/elements/1.1/"',
    ]
)
STYLES = (
    '<style:style style:name="P7" style:family="paragraph" style:parent-style-name="Preformatted_20_Text">'
    '<style:text-properties style:font-name="Liberation Mono"/></style:style>'
    '<style:style style:name="P8" style:family="paragraph" style:parent-style-name="Preformatted_20_Text">'
    '<style:paragraph-properties/><style:text-properties style:font-name="Liberation Serif"/></style:style>'
    '<style:style style:name="P9" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>'
    '<text:list-style><text:list-level-style-bullet><style:text-properties style:font-name="OpenSymbol"/>'
    "</text:list-level-style-bullet></text:list-style>"
    '<style:style style:name="T1" style:family="text"><style:text-properties fo:language="de" fo:country="AT"/>'
    "</style:style>"
)


def texts(data: bytes, name: str) -> list[str]:
    """Return the texts of a document."""
    return [unit.text for unit in read(data, Reading(name=name, source="de", target="en")).units]


def translated(data: bytes, name: str, stub: stubs.Stub) -> bytes:
    """Return a document whose texts went through a stub."""
    return stubs.translated(data, Reading(name=name, source="de", target="en"), stub)


def package(files: dict[str, str], manifest: str = "", entries: str = "") -> bytes:
    """Return a package with a manifest, which has more entries than files if they are given."""
    entries += "".join(
        f'<m:file-entry m:full-path="{name}" m:media-type="text/xml">{manifest}</m:file-entry>' for name in files
    )
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as members:
        members.writestr("mimetype", "application/vnd.oasis.opendocument.text", ZIP_STORED)
        for name, content in files.items():
            members.writestr(name, content)
        members.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{OASIS}:manifest:1.0">{entries}</m:manifest>')
    return data.getvalue()


def document(content: str, **others: str) -> bytes:
    """Return a text document."""
    start = f"<office:document-content {NAMESPACES}><office:automatic-styles>{STYLES}</office:automatic-styles>"
    body = f"<office:body><office:text>{content}</office:text></office:body></office:document-content>"
    return package({"content.xml": start + body} | {f"{name}.xml": other for name, other in others.items()})


def p(content: str) -> str:
    return f"<text:p>{content}</text:p>"


def span(style: str, content: str) -> str:
    return f'<text:span text:style-name="{style}">{content}</text:span>'


NOTE = (
    '<text:note text:id="f1"><text:note-citation>1</text:note-citation><text:note-body><text:p>Die Anmerkung</text:p>'
    "</text:note-body></text:note>"
)
COMMENT = (
    '<office:annotation office:name="a"><dc:creator>Ich</dc:creator><text:p>Gut so</text:p></office:annotation>',
    '<office:annotation-end office:name="a"/>',
)
CHANGES = (
    '<text:tracked-changes><text:changed-region text:id="d"><text:deletion><text:p>alt</text:p></text:deletion>'
    "</text:changed-region></text:tracked-changes>"
)
DELETED = '<text:change-start text:change-id="d"/>', '<text:change-end text:change-id="d"/>'
INDEX = (
    '<text:alphabetical-index-mark-start text:id="i1" text:key1="Bau"/>',
    '<text:alphabetical-index-mark-end text:id="i1"/>',
)
FIELD = '<field:fieldmark-start text:name="f" field:type="x"/>', "<field:fieldmark-end/>"
ICON = '<draw:frame text:anchor-type="as-char"><draw:image xlink:href="Pictures/0.png"/></draw:frame>'
FRAME = '<draw:frame text:anchor-type="as-char"><draw:object xlink:href="./O"/><svg:desc>Formel</svg:desc></draw:frame>'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (p("Ein " + span("B", "fettes") + " Wort"), ["Ein <g1>fettes</g1> Wort"]),
        (p(span("T", "Ein ") + span("B", "fettes") + span("T", " langes Wort")), ["Ein <g1>fettes</g1> langes Wort"]),
        (p(span("T", "Ein ") + span("T", "Wort")), ["Ein Wort"]),
        (p(span("A", "eins " + span("B", "zwei")) + " und mehr"), ["<g1>eins </g1><g2>zwei</g2> und mehr"]),
        (
            p("Ein " + span("A", '<text:a xlink:href="x">Link</text:a> da') + " hier"),
            ["Ein <g1><g2>Link</g2> da</g1> hier"],
        ),
        (p("a<text:s/>b"), ["a b"]),
        (p('a <text:s text:c="3"/>b'), ["a <g1></g1>b"]),
        (p('a<text:s text:c="3"/>b'), ["a <g1></g1>b"]),
        (p("Name:<text:tab/>Wert<text:line-break/>zwei"), ["Name:\n<g1></g1>Wert\n<g2></g2>zwei"]),
        (p("Wort" + NOTE + " hier"), ["Wort<g1></g1> hier", "Die Anmerkung"]),
        (p("Ein " + COMMENT[0] + "Wort" + COMMENT[1] + " hier"), ["Ein <g1>Wort</g1> hier", "Gut so"]),
        (p("Seite <text:page-number>3</text:page-number> unten"), ["Seite <g1/> unten"]),
        (p("Siehe <text:bookmark-ref>Bild</text:bookmark-ref> unten"), ["Siehe <g1>Bild</g1> unten"]),
        (p("Die " + FRAME + " gilt"), ["Die <g1/> gilt", "Formel"]),
        (p("Auf " + ICON + " klicken"), ["Auf <g1/> klicken"]),
        (p(ICON + "Bild 1" + ICON), ["Bild 1"]),
        (p("Das " + ICON.replace("as-char", "char") + "ist neu"), ["Das <g1></g1>ist neu"]),
        (p("a\n  b"), ["a b"]),
        (p("ein lan<text:soft-page-break/>ges Wort, <text:soft-page-break/>ja"), ["ein langes Wort, ja"]),
        (p("Nach <text:bibliography-mark>[Meier]</text:bibliography-mark> ist"), ["Nach <g1/> ist"]),
        (p(f"Der {INDEX[0]}alte{INDEX[1]} Turm"), ["Der <g1>alte</g1> Turm", "Bau"]),
        (p(f"Name: {FIELD[0]}Text{FIELD[1]} da"), ["Name: <g1>Text</g1> da"]),
        (p(f"Frau {FIELD[0]}NAME<field:fieldmark-separator/>Text{FIELD[1]} da"), ["Frau <g1>Text</g1> da"]),
        (p(f"Herr {FIELD[0]}{FIELD[1]} oder <field:fieldmark/> da"), ["Herr <g1/> oder <g2/> da"]),
        (CHANGES + p('Das <text:change text:change-id="d"/>ist neu'), ["Das <g1></g1>ist neu"]),
        (CHANGES + p("Das " + DELETED[0] + "alte " + DELETED[1] + "ist neu"), ["Das <g1></g1>ist neu"]),
        (CHANGES + p("Das" + DELETED[0] + "alte") + p("alte") + p("alte" + DELETED[1] + " da"), ["Das", "da"]),
        ('<text:p text:style-name="P9">x = 1</text:p>', []),
        ('<text:p text:style-name="P8">Ein Satz.</text:p><text:p text:style-name="P7">x = 1</text:p>', ["Ein Satz."]),
        (p("Das " + span("Source_20_Text", "f()") + " da"), ["Das <g1/> da"]),
        ('<table:table-cell office:value-type="float" office:value="3"><text:p>3,0</text:p></table:table-cell>', []),
        ('<table:table-cell office:value-type="string"><text:p>drei</text:p></table:table-cell>', ["drei"]),
        ('<table:table-cell office:string-value="vier"><text:p>vier</text:p></table:table-cell>', ["vier", "vier"]),
        ('<table:table-cell office:value-type="string" table:formula="A1"><text:p>x</text:p></table:table-cell>', []),
        (
            '<table:table-cell office:value-type="float"><office:annotation><text:p>Gut</text:p></office:annotation>'
            "<text:p>3</text:p></table:table-cell>",
            ["Gut"],
        ),
        ('<draw:frame presentation:placeholder="true"><draw:text-box/><text:p>hier</text:p></draw:frame>', []),
        ('<presentation:date-time-decl presentation:source="fixed">im März</presentation:date-time-decl>', ["im März"]),
        ("<text:index-entry-span>Kapitel </text:index-entry-span>", ["Kapitel"]),
        ("<text:note-continuation-notice-forward>mehr</text:note-continuation-notice-forward>", ["mehr"]),
        (
            p('Wer: <text:text-input text:description="Ihr Name">Rolf</text:text-input>'),
            ["Wer: <g1>Rolf</g1>", "Ihr Name"],
        ),
        (
            '<form:property form:property-name="HelpText" office:string-value="Hilfe"/>'
            '<form:property form:property-name="Label" office:string-value="bleibt"/>',
            ["Hilfe"],
        ),
        (
            p('A <field:fieldmark><field:param field:name="Dropdown_ListEntry" field:value="Eins"/></field:fieldmark>'),
            ["A <g1/>", "Eins"],
        ),
        ("<presentation:footer-decl>Fuß</presentation:footer-decl>", ["Fuß"]),
        (p("") + "<text:p/>", []),
        (
            p('Ja: <text:drop-down text:name="a"><text:label text:value="Nein"/>Ja</text:drop-down> da'),
            ["Ja: <g1><g2></g2>Ja</g1> da", "Nein"],
        ),
        (
            p(
                'a <loext:content-control><loext:list-item loext:display-text="Eins" loext:value="1"/>'
                "zwei</loext:content-control> da"
            ),
            ["a <g1><g2></g2>zwei</g1> da", "Eins"],
        ),
        (p("a <text:execute-macro>Hier</text:execute-macro> da"), ["a <g1>Hier</g1> da"]),
        (
            p('a <text:conditional-text text:condition="c" text:string-value-if-true="ja">ja</text:conditional-text>'),
            ["a <g1>ja</g1>", "ja"],
        ),
        (
            '<form:checkbox form:name="n" form:label="Ich will"/>'
            '<text:list-level-style-number style:num-prefix="Kapitel " style:num-suffix=")"/>',
            ["Ich will", "Kapitel "],
        ),
        (
            '<text:list-level-style-number loext:num-list-format="Kapitel %1%.%2% " style:num-prefix="Kapitel "/>'
            '<text:outline-level-style style:num-list-format="%1%)"/>',
            ["Kapitel <g1/>.<g2/> ", "Kapitel "],
        ),
        (
            p('Haus<text:alphabetical-index-mark text:string-value="Häuser" text:key1="Bau"/> da'),
            ["Haus<g1></g1> da", "Häuser", "Bau"],
        ),
        ('<table:error-message table:title="Fehler"><text:p>Nein</text:p></table:error-message>', ["Fehler", "Nein"]),
    ],
)
def test_a_paragraph_is_one_text(content: str, expected: Sequence[str]) -> None:
    data = document(content)
    assert texts(data, "a.odt") == expected
    assert translated(data, "a.odt", str) == data


OBJECTS = st.sampled_from(
    [
        "<text:tab/>",
        "<text:line-break/>",
        '<text:s text:c="2"/>',
        "<text:page-number>3</text:page-number>",
        NOTE.replace("Die Anmerkung", "ANMERKUNG"),
        '<text:bookmark-start text:name="a"/>',
        '<text:bookmark-end text:name="a"/>',
        *FIELD,
        *INDEX,
    ]
)


@pytest.mark.parametrize("field", ["paragraph-count", "sender-lastname", "table-formula", "variable-get", "word-count"])
def test_fields_that_the_program_computes_are_objects(field: str) -> None:
    assert texts(document(p(f"Es sind <text:{field}>drei</text:{field}> da")), "a.odt") == ["Es sind <g1/> da"]


def test_spans_within_each_other_need_little_memory() -> None:
    """Spans are one run, but not a thousand of them."""
    depth = 900
    content = "".join(f'<text:span text:style-name="{"T" * 99}{n}">a' for n in range(depth)) + "</text:span>" * depth
    data = document(p("Wort" + content))
    tracemalloc.start()
    result = translated(data, "a.odt", upper)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(1 for _ in paragraph(result).iter()) == depth + 1
    assert peak < 50 * depth * 150


@st.composite
def paragraphs(draw: st.DrawFn) -> str:
    """A paragraph whose words are all different, with spans and links within each other, and elements in between."""
    count = 0

    def content(depth: int) -> str:
        nonlocal count
        parts = list[str]()
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from(["word", "word", "object", "span", "link"] if depth < 3 else ["word"]))
            if kind == "word":
                count += 1
                parts.append(f" wort{count} ")
            elif kind == "object":
                parts.append(draw(OBJECTS))
            elif kind == "span":
                parts.append(span(draw(st.sampled_from("AB")), content(depth + 1)))
            else:
                parts.append(f'<text:a xlink:href="x">{content(depth + 1)}</text:a>')
        return "".join(parts)

    return p(content(0))


def formats(data: bytes) -> dict[str, list[str]]:
    """Return the spans and links around each word."""
    found = dict[str, list[str]]()

    def walk(element: ElementTree.Element, around: list[str]) -> None:
        for text in (element.text, *(child.tail for child in element)):
            for word in re.findall(r"wort\d+|WORT\d+", text or ""):
                found[word.upper()] = around
        for child in element:
            walk(child, [*around, child.tag + str(child.attrib)])

    walk(paragraph(data), [])
    return found


def paragraph(data: bytes) -> ElementTree.Element:
    with ZipFile(BytesIO(data)) as members:
        found = ElementTree.fromstring(members.read("content.xml")).find(f".//{TEXT}p")
    assert found is not None
    return found


@given(paragraphs())
def test_formats_follow_their_words(content: str) -> None:
    """Each word keeps its spans and links when words change places, and each other element is still there, once."""
    data = document(content)
    assert translated(data, "a.odt", str) == data
    names = {f"{TEXT}span", f"{TEXT}p"}
    for stub in (upper, reverse):
        result = translated(data, "a.odt", stub)
        assert formats(result) == formats(data)
        elements = (
            Counter(item.tag for item in paragraph(file).iter() if item.tag not in names) for file in (data, result)
        )
        assert next(elements) == next(elements)


def test_language_is_that_of_the_translation() -> None:
    title = "<dc:title>Ein Titel</dc:title><dc:language>de-DE</dc:language>"
    meta = f"<office:document-meta {NAMESPACES}>{title}</office:document-meta>"
    result = translated(document(p("Hallo"), meta=meta), "a.odt", upper)
    with ZipFile(BytesIO(result)) as members:
        assert b'fo:language="en" fo:country="US"' in members.read("content.xml")
        assert b"<dc:title>EIN TITEL</dc:title><dc:language>en-US</dc:language>" in members.read("meta.xml")
        assert [member.filename for member in members.infolist()][0] == "mimetype"
        assert members.infolist()[0].compress_type == ZIP_STORED


def test_a_single_file_is_a_document() -> None:
    """Flat OpenDocument has all parts in one file."""
    meta = "<office:meta><dc:title>Ein Titel</dc:title></office:meta>"
    body = p("Hallo " + span("B", "Welt"))
    data = f"<office:document {NAMESPACES}>{meta}<office:body>{body}</office:body></office:document>"
    assert texts(data.encode(), "a.fodt") == ["Ein Titel", "Hallo <g1>Welt</g1>"]
    assert (
        translated(data.encode(), "a.fodt", upper)
        == data.replace("Ein Titel", "EIN TITEL").replace("Hallo", "HALLO").replace("Welt", "WELT").encode()
    )


@pytest.mark.parametrize("suffix", [".odg", ".otg", ".fodg"])
def test_a_drawing_is_a_document(suffix: str) -> None:
    shapes = "".join(f"<draw:{shape}>{p('Haus')}</draw:{shape}>" for shape in ("rect", "connector", "custom-shape"))
    page = f"<office:drawing><draw:page draw:name='Seite'>{shapes}</draw:page></office:drawing>"
    data = f"<office:document {NAMESPACES}>{page}</office:document>".encode()
    assert texts(data if suffix.startswith(".f") else document(shapes), f"a{suffix}") == ["Haus"] * 3


def test_headers_of_masters_are_texts_and_prompts_are_none() -> None:
    frames = (
        '<draw:frame presentation:class="title"><text:p>Klicken</text:p></draw:frame>'
        '<draw:frame presentation:class="footer"><text:p>Fußzeile</text:p></draw:frame>'
    )
    master = f"<style:master-page><style:header><text:p>Kopfzeile</text:p></style:header>{frames}</style:master-page>"
    styles = f"<office:document-styles {NAMESPACES}>{master}</office:document-styles>"
    assert texts(document("", styles=styles), "a.odp") == ["Kopfzeile", "Fußzeile"]


def test_cells_that_a_workbook_names_stay() -> None:
    """As in Excel: those of formulas, lists of allowed values, rules, filters and pivot tables."""
    words = ["Offen", "fertig", "Noch fehlerhaft", "Ware", "Apfelbaum", "Rest"]
    cells = "".join(f'<table:table-cell office:value-type="string">{p(word)}</table:table-cell>' for word in words)
    long = f'<table:table-cell office:value-type="string" office:string-value="OFFEN">{p("Offen")}</table:table-cell>'
    named = (
        '<table:content-validation table:condition="of:cell-content-is-in-list(&quot;Offen&quot;;&quot;Fertig&quot;)"/>'
        '<table:table-cell table:formula="of:=IF([.A1]=&quot;&quot;;&quot;&quot;;1)"/>'
        "<calcext:condition xmlns:calcext='urn:c' calcext:value='contains-text(&quot;fehler&quot;)'/>"
        '<table:filter-condition table:value="apfel*"/><table:data-pilot-field table:source-field-name="Ware"/>'
    )
    assert texts(document(named + long + cells), "a.ods") == ["Rest"]


def test_words_in_formats_of_numbers_are_translated() -> None:
    """Those between the parts of a date are none: "Uhr" would be "clock"."""
    formats = "".join(f"<n:text>{text}</n:text>" for text in (" St\u00fcck", " kg", "F\u00e4llig: "))
    styles = f"<n:number-style>{formats}</n:number-style>"
    styles += "".join(f"<n:{kind}-style><n:text> Uhr</n:text></n:{kind}-style>" for kind in ("date", "time"))
    declared = f'{NAMESPACES} xmlns:n="{OASIS}:datastyle:1.0"'
    data = f"<office:document {declared}><office:styles>{styles}</office:styles></office:document>".encode()
    assert texts(data, "a.fods") == ["St\u00fcck", "F\u00e4llig:"]
    written = translated(data, "a.fods", upper)
    assert written.decode() == data.decode().replace("St\u00fcck", "ST\u00dcCK").replace("F\u00e4llig", "F\u00c4LLIG")


@pytest.mark.parametrize("kind", ["chart", "spreadsheet", "text"])
def test_documents_in_a_document_are_translated(kind: str) -> None:
    start = f"<office:document-content {NAMESPACES}>"
    files = {
        f"{folder}content.xml": f"{start}{p(word)}</office:document-content>"
        for folder, word in [("", "außen"), ("O/", "innen")]
    }
    entry = f'<m:file-entry m:full-path="O/" m:media-type="application/vnd.oasis.opendocument.{kind}"/>'
    data = package(files, entries=entry)
    assert texts(data, "a.odt") == ["außen", "innen"]
    with ZipFile(BytesIO(translated(data, "a.odt", upper))) as members:
        assert p("INNEN") in members.read("O/content.xml").decode()


def test_cells_that_a_chart_shows_stay_named() -> None:
    """LibreOffice writes which cells a column of a chart shows as its description."""
    names = ["local-table.$B$2:.$B$4", "Tabelle1.B2:Tabelle1.B4", "'Blatt Nr. 1'.B1 Blatt.C1:.C9"]
    groups = "".join(f"<draw:g><svg:desc>{name}</svg:desc></draw:g>" for name in [*names, "Haus am See. B1"])
    assert texts(document(groups), "a.odt") == ["Haus am See. B1"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (package({"other.xml": "<a/>"}), "is no OpenDocument: its manifest names no content.xml"),
        (package({"content.xml": "<a/>"}, "<m:encryption-data/>"), "is encrypted"),
        (document("<text:p>"), "content.xml: the XML is damaged: mismatched tag"),
    ],
)
def test_what_is_not_translated_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=f"^a.odt: {re.escape(message)}"):
        texts(data, "a.odt")


def test_a_library_reads_what_is_written() -> None:
    odfdo = pytest.importorskip("odfdo", reason="makes documents with odfdo, of the extra dev")
    file = odfdo.Document("text")
    file.body.clear()
    content = odfdo.Paragraph("ein absatz mit ")
    content.append(odfdo.Span("fettem", style="T1"))
    content.append_plain_text(" wort   und\ttab\nzeile.")
    file.body.append(content)
    content.insert_note(after="absatz", note_id="n1", citation="1", body="die fußnote")
    content.insert_annotation(after="wort", body="ein kommentar", creator="Autor")
    file.body.append(odfdo.Header(1, "eine überschrift"))
    table = odfdo.Table("blatt", 2, 2)
    table.set_value("A1", "zelle")
    table.set_value("B2", 3.5)
    file.body.append(table)
    saved = BytesIO()
    file.save(saved)
    data = saved.getvalue()
    assert translated(data, "a.odt", str) == data
    result = odfdo.Document(BytesIO(translated(data, "a.odt", upper))).body
    assert [str(item.inner_text) for item in result.get_spans()] == ["FETTEM"]
    assert [note.note_body for note in result.get_notes()] == ["DIE FUSSNOTE"]
    assert [note.note_body for note in result.get_annotations()] == ["EIN KOMMENTAR"]
    assert [note.creator for note in result.get_annotations()] == ["Autor"]
    assert [str(item.inner_text) for item in result.headers] == ["EINE ÜBERSCHRIFT"]
    assert result.get_table(0).get_values() == [["ZELLE", None], [None, 3.5]]
    assert result.get_table(0).name == "blatt"
    before, after = (body.get_paragraph(0).get_formatted_text() for body in (file.body, result))
    assert after.replace(" ", "") == before.upper().replace(" ", "")  # odfdo leaves out an element for one space


def test_a_word_with_ruby_stays_whole_in_its_sentence() -> None:
    ruby = "<text:ruby><text:ruby-base>Haus</text:ruby-base><text:ruby-text>haus</text:ruby-text></text:ruby>"
    data = document(p(f"Das {ruby} ist alt"))
    assert texts(data, "a.odt") == ["Das <g1/> ist alt"]
    with ZipFile(BytesIO(translated(data, "a.odt", upper))) as members:
        assert f"DAS {ruby} IST ALT" in members.read("content.xml").decode()
