"""Documents of Office: a paragraph is one text, formats follow their words, and what is no text stays as it is."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import grows_linearly
from tests.translate.documents import stubs
from tests.translate.documents.stubs import reverse, upper
from translate.documents import archive
from translate.documents.document import Reading, read
from translate.errors import UserError

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
TEXT = "<m:r><m:rPr><m:nor/></m:rPr><m:t>{}</m:t></m:r>"  # in a formula
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
MAIN = f"{WORD}.document.main+xml"


def texts(data: bytes, name: str) -> list[str]:
    """Return the texts of a document."""
    return [unit.text for unit in read(data, Reading(name=name, source="de", target="en")).units]


def translated(data: bytes, name: str, stub: stubs.Stub) -> bytes:
    """Return a document whose texts went through a stub."""
    return stubs.translated(data, Reading(name=name, source="de", target="en"), stub)


def package(types: Mapping[str, str], parts: Mapping[str, str]) -> bytes:
    """Return a package of parts with content types."""
    over = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in types.items())
    start = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as members:
        members.writestr(
            "[Content_Types].xml", f'{start}<Default Extension="xml" ContentType="application/xml"/>{over}</Types>'
        )
        for name, content in parts.items():
            members.writestr(name, content)
    return file.getvalue()


def document(*paragraphs: str, styles: str = "", main: str = MAIN) -> bytes:
    """Return a document of Word."""
    body = "".join(f"<w:p>{content}</w:p>" for content in paragraphs)
    return package(
        {"text/main.xml": main, "looks.xml": f"{WORD}.styles+xml"},
        {
            "text/main.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
            "looks.xml": f"<w:styles {NAMESPACES}>{styles}</w:styles>",
        },
    )


def run(text: str, properties: str = "") -> str:
    inside = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{inside}<w:t xml:space="preserve">{text}</w:t></w:r>'


def char(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def code(instruction: str) -> str:
    return f'<w:r><w:instrText xml:space="preserve"> {instruction} </w:instrText></w:r>'


def mark(number: int) -> str:
    return f'<w:bookmarkStart w:id="{number}" w:name="name"/>'


def end(number: int) -> str:
    return f'<w:bookmarkEnd w:id="{number}"/>'


def instructed(*parts: str) -> str:
    """Return a field without a result, whose instruction is in several runs."""
    return char("begin") + "".join(part if part.startswith("<") else code(part) for part in parts) + char("end")


BOX = "<w:txbxContent><w:p><w:r><w:t>Im Kasten</w:t></w:r></w:p></w:txbxContent>"
ICON = "<w:r><w:drawing><wp:inline><wp:extent/></wp:inline></w:drawing></w:r>"
OLD_ICON = '<w:r><w:pict><v:shape style="width:9pt"><v:imagedata/></v:shape></w:pict></w:r>'
BOXES = (
    f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{BOX}</w:drawing></mc:Choice>"
    f"<mc:Fallback><w:pict>{BOX}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
)
CONTROL = '<w:sdtPr><w:alias w:val="a"/></w:sdtPr>'
DELETED = '<w:del w:id="1"><w:r><w:delText>alt</w:delText></w:r></w:del>'
COMMENT = (
    '<w:commentRangeStart w:id="1"/>',
    '<w:commentRangeEnd w:id="1"/><w:r><w:commentReference w:id="1"/></w:r>',
)
FIELD = char("begin") + code("PAGEREF x") + char("separate") + run("5") + char("end")
RUBY = (
    '<w:r><w:rPr><w:i/></w:rPr><w:t>Das </w:t><w:ruby><w:rubyPr><w:hps w:val="12"/></w:rubyPr>'
    f"<w:rt>{run('haus')}</w:rt><w:rubyBase>{run('Haus ', '<w:b/>')}{run('hier', '<w:b/>')}</w:rubyBase></w:ruby>"
    "<w:t> ist alt</w:t></w:r>"
)
PASTED = '<w:pPr><w:pStyle w:val="Meine"/></w:pPr>'  # from a page, in the style for code
SERIF = '<w:rFonts w:ascii="Times New Roman" w:hAnsi="Times New Roman"/>'
CODE_STYLES = (
    '<w:style w:type="paragraph" w:styleId="Quelle"><w:name w:val="Source Code"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Meine"><w:name w:val="Mine"/><w:basedOn w:val="Quelle"/></w:style>'
    '<w:style w:type="character" w:styleId="Wort"><w:name w:val="HTML Code"/></w:style>'
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (run("Der ", '<w:lang w:val="de-DE"/>') + '<w:proofErr w:type="spellStart"/>' + run("Hund"), ["Der Hund"]),
        (run("Ein ") + run("fettes", "<w:b/>") + run(" Wort"), ["Ein <g1>fettes</g1> Wort"]),
        (
            run("fett ", "<w:b/>") + run("auch", "<w:b/><w:noProof/>") + run(" und mehr als das"),
            ["<g1>fett auch</g1> und mehr als das"],
        ),
        (run("Alles ", "<w:b/>") + run("fett", "<w:b/>"), ["Alles fett"]),
        (run("Ein") + run(" ", "<w:b/>") + run("Wort"), ["Ein Wort"]),
        ('<w:hyperlink r:id="a">' + run("Link", "<w:u/>") + "</w:hyperlink>" + run(" da"), ["<g1>Link</g1> da"]),
        (run("Name:") + "<w:r><w:tab/><w:t>Wert</w:t><w:br/></w:r>", ["Name:\n<g1></g1>Wert"]),
        (run("Wort") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + run(" hier"), ["Wort<g1></g1> hier"]),
        (run("Seite ") + FIELD + run(" unten"), ["Seite <g1>5</g1> unten"]),
        (run("Seite ") + char("begin") + code("PAGE") + char("end") + run(" unten"), ["Seite <g1/> unten"]),
        (run("Wort") + char("begin") + code('XE "W"') + char("end") + run(" hier"), ["Wort<g1></g1> hier", "W"]),
        (
            run("Ab ") + f'<w:fldSimple w:instr="REF a">{run("Bild 1")}</w:fldSimple>' + run("!"),
            ["Ab <g1>Bild 1</g1>!"],
        ),
        (
            char("begin") + code("IF ") + FIELD + code('= "1"') + char("separate") + run("Ergebnis") + char("end"),
            ["Ergebnis"],
        ),
        (char("begin") + code("TOC") + char("separate") + run("Kapitel"), ["Kapitel"]),
        (run("Kapitel") + char("end"), ["Kapitel"]),
        (run("Weg ") + DELETED + f'<w:ins w:id="2">{run("neu")}</w:ins>', ["Weg <g1></g1><g2>neu</g2>"]),
        (COMMENT[0] + run("Ein") + COMMENT[1] + run(" Wort"), ["<g1>Ein</g1><g2></g2> Wort"]),
        (
            run("Ein ") + mark(1) + run("Wort") + mark(2) + run(" und") + end(1) + run(" da") + end(2),
            ["Ein <g1>Wort<g2></g2> und</g1> da"],
        ),
        (f"<w:sdt>{CONTROL}<w:sdtContent>{run('Inhalt')}</w:sdtContent></w:sdt>" + run(" da"), ["<g1>Inhalt</g1> da"]),
        (run("Die ") + "<m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath>" + run(" gilt"), ["Die <g1/> gilt"]),
        (
            run("Die ") + f"<m:oMath>{TEXT.format(' falls ')}<m:r><m:t>und</m:t></m:r>{TEXT.format('kg')}</m:oMath>",
            ["Die <g1/>", "falls"],
        ),
        (f"<m:oMath><m:sub>{TEXT.format('max')}</m:sub>{TEXT.format('sonst')}</m:oMath>", ["sonst"]),
        (
            "<w:r><w:t>E</w:t><w:noBreakHyphen/><w:t>Mail Do</w:t><w:softHyphen/><w:t>nau</w:t></w:r>",
            ["E\u2011Mail Donau"],
        ),
        (run("Vor ") + BOXES + run("nach"), ["Vor <g1></g1>nach", "Im Kasten", "Im Kasten"]),
        (
            run("Bild ") + '<w:r><w:drawing><wp:docPr id="1" name="Picture 1" descr="Ein Hund"/></w:drawing></w:r>',
            ["Bild", "Ein Hund"],
        ),
        (run("Auf ") + ICON + run(" klicken"), ["Auf <g1/> klicken"]),
        (run("Auf ") + OLD_ICON + run(" klicken"), ["Auf <g1/> klicken"]),
        (run("Auf ") + OLD_ICON.replace("width:9pt", "position:absolute") + run("klicken"), ["Auf <g1></g1>klicken"]),
        (ICON + run("Bild 1"), ["Bild 1"]),
        (
            '<w:r><w:pict><v:shape alt="Ein Haus"><v:textpath string="Entwurf"/></v:shape></w:pict></w:r>',
            ["Ein Haus", "Entwurf"],
        ),
        ('<w:pPr><w:pStyle w:val="Meine"/></w:pPr>' + run("x = 1"), []),
        (f"{PASTED}{run('Ein ganzer ', SERIF)}{run('Satz.', f'<w:b/>{SERIF}')}", ["Ein ganzer <g1>Satz.</g1>"]),
        (PASTED + run("x = ", SERIF) + run("1"), []),
        (PASTED + run("x = 1", '<w:rFonts w:hAnsi="Arial" w:ascii="Courier New"/>'), []),
        (PASTED + run("x = 1", '<w:rFonts w:ascii="Cousine"/>'), []),
        (
            run("Die Funktion ")
            + run("f", '<w:rStyle w:val="Wort"/>')
            + run("()", '<w:rStyle w:val="Wort"/>')
            + run(" gibt"),
            ["Die Funktion <g1/> gibt"],
        ),
        (run("a &lt;g1&gt; b ") + run("c", "<w:b/>"), ["a <g1> b <gg1>c</gg1>"]),
        ("<w:r><w:t>Vor</w:t><w:p/><w:t>nach</w:t></w:r>", ["Vor", "nach"]),
        ("<w:r><w:tab/></w:r>", []),
        (run(" "), []),
        ("<w:r/><w:hyperlink/>" + run("Text") + "<w:r><w:t/></w:r>", ["Text"]),
    ],
)
def test_a_paragraph_is_one_text(content: str, expected: Sequence[str]) -> None:
    data = document(content, styles=CODE_STYLES)
    assert texts(data, "a.docx") == expected
    assert translated(data, "a.docx", str) == data
    assert texts(translated(data, "a.docx", upper), "a.docx") == [upper(text) for text in expected]


FORMATS = ["", "<w:b/>", "<w:i/>", '<w:b/><w:color w:val="FF0000"/>', '<w:rStyle w:val="Hyperlink"/>']
OBJECTS = [
    "<w:r><w:tab/></w:r>",
    "<w:r><w:br/></w:r>",
    '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="7"/></w:r>',
    "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>",
    '<w:proofErr w:type="spellStart"/>',
    '<w:del w:id="3"><w:r><w:delText>weg</w:delText></w:r></w:del>',
    char("begin") + code("PAGE") + char("end"),
    '<w:bookmarkStart w:id="4" w:name="a"/>',
    '<w:bookmarkEnd w:id="4"/>',
    char("begin") + code("REF x") + char("separate"),
    char("end"),
]


@st.composite
def paragraphs(draw: st.DrawFn) -> str:
    """A paragraph whose words are all different, with formats, links, and elements in between."""
    count = 0

    def words() -> str:
        nonlocal count
        count += 1
        return f" wort{count}{draw(st.sampled_from(['', ' ', '. ']))}"

    def runs(most: int) -> Iterator[str]:
        for _ in range(draw(st.integers(1, most))):
            if draw(st.booleans()):
                language = draw(st.sampled_from(["", '<w:lang w:val="de-DE"/>', "<w:noProof/>"]))
                yield run(words(), draw(st.sampled_from(FORMATS)) + language)
            else:
                yield draw(st.sampled_from(OBJECTS))

    parts = list[str]()
    for content in runs(6):
        around = draw(st.sampled_from(["", "", '<w:hyperlink r:id="a">', '<w:ins w:id="2">']))
        inner = "".join(runs(3)) if around and "bookmark" not in content else ""
        parts.append(content + (around + inner + around.split()[0].replace("<", "</") + ">" if inner else ""))
    return "".join(parts)


def formats(data: bytes) -> dict[str, str]:
    """Return the format of each word, and the links and insertions around it."""
    found = dict[str, str]()

    def walk(element: ElementTree.Element, around: str) -> None:
        for child in element:
            if child.tag == f"{W}r":
                properties = [
                    ElementTree.tostring(item).decode()
                    for item in child.findall(f"{W}rPr/*")
                    if item.tag not in (f"{W}lang", f"{W}noProof")
                ]
                for word in re.findall(r"\w+", "".join(text.text or "" for text in child.iter(f"{W}t"))):
                    found[word.upper()] = f"{around} {properties}"
            elif child.tag != f"{W}del":
                walk(child, f"{around} {child.tag}" if child.tag in (f"{W}hyperlink", f"{W}ins") else around)

    walk(body(data), "")
    return found


def body(data: bytes) -> ElementTree.Element:
    with ZipFile(BytesIO(data)) as members:
        return ElementTree.fromstring(members.read("text/main.xml"))


def objects(data: bytes) -> Counter[str]:
    """Return what a paragraph has beside runs, texts and what belongs to the words of the source."""
    names = (
        "p",
        "body",
        "document",
        "r",
        "rPr",
        "t",
        "lang",
        "noProof",
        "proofErr",
        "b",
        "i",
        "color",
        "rStyle",
        "vertAlign",
    )
    ignored = {f"{W}{name}" for name in names}
    return Counter(
        element.tag + str(element.attrib) + (element.text or "")
        for element in body(data).iter()
        if element.tag not in ignored
    )


@given(paragraphs())
def test_formats_follow_their_words(content: str) -> None:
    """Each word keeps its format when words change places, and each other element is still there, once."""
    data = document(content)
    assert translated(data, "a.docx", str) == data
    for stub in (upper, reverse):
        result = translated(data, "a.docx", stub)
        assert formats(result) == formats(data)
        assert objects(result) == objects(data)


def test_a_prefix_that_a_run_declares_stays_in_it() -> None:
    """lxml declares on an inserted run what the document does not, and the run was joined to the one before it."""
    shape = '<w:r xmlns:x="urn:x"><w:t xml:space="preserve"> hier </w:t><x:y/></w:r>'
    data = document(run("Ein") + shape + run("Bild"))
    assert texts(data, "a.docx") == ["Ein hier <g1></g1>Bild"]
    paragraph = body(translated(data, "a.docx", upper))[0][0]
    assert "".join(paragraph.itertext()) == "EIN HIER BILD"
    assert len([*paragraph.iter("{urn:x}y")]) == 1


CAP = '<w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr>'


@pytest.mark.parametrize(
    ("initial", "rest", "text", "expected"),
    [
        (
            "D",
            run("er ") + run("Hund", "<w:b/>") + run(" schläft"),
            "Der <g1>Hund</g1> schläft",
            ("S", "CHLÄFT HUND DER"),
        ),
        ("O", run(" Tannenbaum"), "O Tannenbaum", ("T", "ANNENBAUM O")),
        ("„E", run("in Haus“"), "„Ein Haus“", ("H", "AUS“ „EIN")),
        ("Früher", run(" war alles"), "Früher war alles", ("ALLES", " WAR FRÜHER")),
        ("D", "<w:r><w:tab/></w:r>", None, ("D", "")),
    ],
)
def test_a_drop_cap_is_the_first_letter_of_the_next_paragraph(
    initial: str, rest: str, text: str | None, expected: tuple[str, str]
) -> None:
    data = document(run("Davor"), CAP + run(initial, '<w:sz w:val="90"/>'), rest, run("Danach"))
    assert texts(data, "a.docx") == ["Davor", *([text] if text else []), "Danach"]
    assert translated(data, "a.docx", str) == data
    written = body(translated(data, "a.docx", reverse))[0]
    assert ["".join(p.itertext()) for p in written] == ["DAVOR", *expected, "DANACH"]
    assert [p.find(f".//{W}framePr") is not None for p in written] == [False, True, False, False]
    assert [run.find(f"{W}rPr/{W}sz") is not None for run in written[1].iter(f"{W}r")] == [True]


@pytest.mark.parametrize(
    "after", ["", "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>", f"<w:p>{CAP}{run('E')}</w:p>"]
)
def test_a_drop_cap_without_a_paragraph_after_it_is_a_text_or_stays(after: str) -> None:
    body = f"<w:p>{CAP}{run('Der')}</w:p>{after}"
    data = package({"a.xml": MAIN}, {"a.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"})
    assert translated(data, "a.docx", str) == data
    assert sum(text.count("Der") for text in texts(data, "a.docx")) == 1


GONE = '<w:pPr><w:pStyle w:val="x"/><w:rPr><w:del w:id="7" w:author="a"/></w:rPr></w:pPr>'
MARKED = f'<w:ins w:id="2">{run("ein")}</w:ins>'


@pytest.mark.parametrize(
    ("paragraphs", "expected", "written"),
    [
        ([GONE + run("Das ist "), MARKED + run(" Haus")], "Das ist <g1>ein</g1> Haus", ["", "HAUS EIN IST DAS"]),
        ([GONE + DELETED, run("Das Haus")], "Das Haus", ["alt", "HAUS DAS"]),
        ([GONE, GONE + run("Das "), GONE, run("Haus")], "Das Haus", ["", "", "", "HAUS DAS"]),
        ([GONE + MARKED + run(" "), run("Haus")], "<g1>ein</g1> Haus", ["", "HAUS EIN"]),
    ],
)
def test_a_paragraph_whose_mark_is_deleted_goes_on_in_the_next_one(
    paragraphs: list[str], expected: str, written: list[str]
) -> None:
    data = document(run("Davor"), *paragraphs, run("Danach"))
    plain = [re.sub("<g1></g1>", "", text) for text in texts(data, "a.docx")]
    assert plain == ["Davor", expected, "Danach"]
    assert translated(data, "a.docx", str) == data
    found = [*body(translated(data, "a.docx", reverse))[0]]
    assert [p.find(f"{W}pPr/{W}rPr/{W}del") is not None for p in found] == [
        False,
        *("7" in content for content in paragraphs),
        False,
    ]
    assert ["".join(p.itertext()) for p in found][1:-1] == written


def test_a_paragraph_that_begins_with_deleted_words_keeps_its_mark() -> None:
    assert texts(document(DELETED + run("Das ist"), run("Ein Haus")), "a.docx") == ["Das ist", "Ein Haus"]


def test_a_word_with_ruby_stays_whole_in_its_sentence() -> None:
    data = document(RUBY)
    assert texts(data, "a.docx") == ["Das <g1/> ist alt"]
    paragraph = body(translated(data, "a.docx", reverse))[0][0]
    assert "".join(paragraph.itertext()) == "ALT IST hausHaus hier DAS"
    (run,) = [run for run in paragraph if run.find(f"{W}ruby") is not None]
    assert run.find(f"{W}rPr/{W}i") is not None
    assert [*map(ElementTree.tostring, paragraph.iter(f"{W}ruby"))] == [
        *map(ElementTree.tostring, body(data).iter(f"{W}ruby"))
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            '<w:sdt><w:sdtPr><w:dropDownList><w:listItem w:displayText="Ja bitte" w:value="ja"/></w:dropDownList>'
            f"</w:sdtPr><w:sdtContent>{run('Ja bitte')}</w:sdtContent></w:sdt>{run(' sehr')}",
            ["<g1>Ja bitte</g1> sehr", "Ja bitte"],
        ),
        (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:name w:val="Feld"/><w:helpText w:val="Ihr Name"/>'
            '<w:ddList><w:listEntry w:val="Herr &amp; Frau"/></w:ddList></w:ffData></w:fldChar></w:r>'
            + code("FORMDROPDOWN")
            + char("end")
            + run(" da"),
            ["<g1/> da", "Ihr Name", "Herr & Frau"],
        ),
    ],
)
def test_lists_and_hints_of_forms_are_texts(content: str, expected: Sequence[str]) -> None:
    data = document(content)
    assert sorted(texts(data, "a.docx")) == sorted(expected)
    assert translated(data, "a.docx", str) == data
    assert sorted(texts(translated(data, "a.docx", upper), "a.docx")) == sorted(map(upper, expected))


def test_hints_of_cells_are_as_short_as_excel_accepts() -> None:
    openpyxl, validation = library("openpyxl"), library("openpyxl.worksheet.datavalidation")
    file = openpyxl.Workbook()
    hint = validation.DataValidation(type="whole", promptTitle="Titel", prompt='Eine "Zahl"', error="Nein")
    hint.add("A1")
    file.active.add_data_validation(hint)
    file.active["A2"] = "Hier"
    file.active["A2"].hyperlink = "https://example.org"
    file.active["A2"].hyperlink.tooltip = "Klick"
    reports = list[str]()
    reading = Reading(name="a.xlsx", source="de", target="en", report=reports.append)
    data = saved(file)
    out = stubs.translated(data, reading, lambda text: text.upper() + "!" * 28)
    sheet = openpyxl.load_workbook(BytesIO(out)).active
    found = sheet.data_validations.dataValidation[0]
    more = "!" * 28
    assert (found.promptTitle, found.prompt, found.error) == ("Titel", f'EINE "ZAHL"{more}', f"NEIN{more}")
    assert (sheet["A2"].value, sheet["A2"].hyperlink.tooltip) == (f"HIER{more}", f"KLICK{more}")
    assert reports == [
        "a.xlsx, xl/worksheets/sheet1.xml: is not translated, as the translation has more than 32 characters, which "
        "programs do not accept here"
    ]


@given(paragraphs())
def test_a_translation_of_a_translation_has_the_same_text(content: str) -> None:
    """Runs that a translation was written in are read as the same text."""
    data = document(content)
    if "fldChar" not in content and "bookmark" not in content:
        assert texts(translated(data, "a.docx", upper), "a.docx") == [upper(text) for text in texts(data, "a.docx")]


def test_language_is_that_of_the_translation() -> None:
    styles = '<w:docDefaults><w:lang w:val="de-AT" w:eastAsia="de-DE"/></w:docDefaults>'
    data = document(run("Hallo", '<w:lang w:val="de-DE"/>'), run("Bonjour", '<w:lang w:val="fr-FR"/>'), styles=styles)
    result = translated(data, "a.docx", upper)
    with ZipFile(BytesIO(result)) as members:
        assert b'w:val="en-US" w:eastAsia="de-DE"' in members.read("looks.xml")
        assert re.findall(rb'w:lang w:val="(.*?)"', members.read("text/main.xml")) == [b"en-US", b"fr-FR"]


def test_a_hyphen_without_a_break_is_an_element_again() -> None:
    data = document("<w:r><w:t>E</w:t><w:noBreakHyphen/><w:t>Mail</w:t></w:r>")
    result = body(translated(data, "a.docx", upper))
    found = [(item.tag.removeprefix(W), item.text) for item in result.findall(f".//{W}r/*")]
    assert found == [("t", "E"), ("noBreakHyphen", None), ("t", "MAIL")]


def test_white_space_at_the_ends_of_runs_is_kept() -> None:
    result = body(translated(document(run(" Ein ") + run("Wort", "<w:b/>") + run(" da ")), "a.docx", upper))
    space = "{http://www.w3.org/XML/1998/namespace}space"
    for text in result.iter(f"{W}t"):
        assert (text.text != (text.text or "").strip()) <= (text.get(space) == "preserve")
    assert "".join(result.itertext()) == " EIN WORT DA "


@pytest.mark.parametrize(
    "inside",
    [
        ICON,
        '<w:r><w:footnoteReference w:id="1"/></w:r>',
        char("begin") + code("REF a") + char("separate") + run("hier") + char("end"),
        '<w:r><w:sym w:char="F0E8"/></w:r>',
    ],
)
def test_what_is_no_text_stays_in_runs_without_text(inside: str) -> None:
    """pandoc does not read the text of such a run, and python-docx drops the rest of it if it sets the text."""
    data = document(run("Das ") + inside + run(" ist ") + run("neu", "<w:b/>") + inside + run("."))
    texts = (f"{W}rPr", f"{W}t")
    for item in body(translated(data, "a.docx", upper)).iter(f"{W}r"):
        assert len({child.tag in texts for child in item}) == 1


@pytest.mark.parametrize("before", ["", " ", "  "])
@pytest.mark.parametrize("after", ["", " ", "    ", "\u00a0\u00a0"])
def test_lines_in_a_paragraph_keep_their_indentation(before: str, after: str) -> None:
    def moved(text: str) -> str:  # as a model, which takes the tag to the word after it
        return re.sub(r"(<(g+x*\d+)></\2>)(\s*)", r"\3\1", upper(text))

    content = run(f"Der Mond{before}") + f"<w:r><w:br/></w:r>{run(f'{after}ist da')}"
    (result,) = body(translated(document(content), "a.docx", moved)).iter(f"{W}p")
    shown = ["\n" if item.tag == f"{W}br" else item.text for item in result.iter() if item.tag in (f"{W}br", f"{W}t")]
    assert "".join(map(str, shown)) == f"DER MOND{before}\n{after}IST DA"


def test_strict_documents_are_read_alike() -> None:
    content = f"<q:p>{run('Ein ')}{run('fettes', '<w:b/>')}{run(' Wort')}</q:p>".replace("w:", "q:")
    space = 'xmlns:q="http://purl.oclc.org/ooxml/wordprocessingml/main"'
    data = package({"a.xml": MAIN}, {"a.xml": f"<q:document {space}><q:body>{content}</q:body></q:document>"})
    assert texts(data, "a.docx") == ["Ein <g1>fettes</g1> Wort"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (document(run("a"), main="application/vnd.ms-word.document.macroEnabled.main+xml"), "has macros"),
        (package({}, {"a.xml": "<a/>"}), "is no document of Word, PowerPoint or Excel"),
        (document("<w:r>"), "text/main.xml: the XML is damaged: mismatched tag"),
        (document(run("a", f'<w:b w:val="{"1" * 2**16}"/>')), "text/main.xml: it has a format of more than 65,536"),
        (b"no archive", "is damaged or no ZIP package"),
    ],
)
def test_what_is_not_translated_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=f"^a.docx[,:] {re.escape(message)}"):
        texts(data, "a.docx")


SLIDES, DRAWING = (f"application/vnd.openxmlformats-officedocument.{name}ml" for name in ("presentation", "drawing"))
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = f'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" {A}'
LINE = "<a:p><a:r><a:t>Ein </a:t></a:r><a:r><a:rPr b='1'/><a:t>Wort</a:t></a:r><a:r><a:t> hier</a:t></a:r></a:p>"
LINES = ["Ein <g1>Wort</g1> hier"]


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        *(
            (f"{WORD}.{kind}+xml", f"<w:x {NAMESPACES}><w:p>{run('Ein Wort')}</w:p></w:x>", ["Ein Wort"])
            for kind in ("header", "footer", "footnotes", "endnotes", "comments")
        ),
        (f"{WORD}.fontTable+xml", f"<w:x {NAMESPACES}><w:p>{run('Ein Wort')}</w:p></w:x>", []),
        (f"{SLIDES}.slide+xml", f"<p:sld {P}><p:sp><p:nvPr><p:ph/></p:nvPr>{LINE}</p:sp></p:sld>", LINES),
        (f"{SLIDES}.notesSlide+xml", f"<p:notes {P}>{LINE}</p:notes>", LINES),
        (f"{SLIDES}.slideLayout+xml", f"<p:x {P}><p:sp><p:ph/>{LINE}</p:sp></p:x>", []),
        (f"{SLIDES}.slideLayout+xml", f"<p:x {P}><p:sp><p:ph/>{LINE}</p:sp><p:sp>{LINE}</p:sp></p:x>", LINES),
        (f"{SLIDES}.slide+xml", f"<p:x {P}><a:p><a:fld type='slidenum'><a:t>7</a:t></a:fld></a:p></p:x>", []),
        (f"{SLIDES}.slide+xml", f"<p:x {P}><p:cNvPr id='1' name='Bild 1' descr='Ein Hund'/></p:x>", ["Ein Hund"]),
        (f"{DRAWING}.diagramData+xml", f"<dgm:x xmlns:dgm='urn:d' {A}><dgm:t>{LINE}</dgm:t></dgm:x>", LINES),
        ("application/vnd.ms-office.drawingml.diagramDrawing+xml", f"<x {A}>{LINE}</x>", LINES),
        (
            f"{DRAWING}.chart+xml",
            '<c:c xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:f>Daten</c:f><c:strCache><c:pt>'
            "<c:v>Osten</c:v></c:pt></c:strCache><c:numCache><c:pt><c:v>1,5</c:v></c:pt></c:numCache></c:c>",
            ["Osten"],
        ),
        (
            f"{DRAWING}.chart+xml",
            '<c:c xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:pivotSource><c:name>[a]b!c'
            "</c:name></c:pivotSource><c:trendline><c:name>Verlauf der Preise</c:name></c:trendline></c:c>",
            ["Verlauf der Preise"],
        ),
        (f"{DRAWING}.chartshapes+xml", f"<x {A}>{LINE}</x>", LINES),
        (
            "application/vnd.ms-office.chartex+xml",
            '<c:c xmlns:c="http://schemas.microsoft.com/office/drawing/2014/chartex"><c:f>Daten</c:f><c:v>Titel</c:v>'
            "<c:strDim><c:pt>Osten</c:pt></c:strDim><c:numDim><c:pt>1,5</c:pt></c:numDim></c:c>",
            ["Titel", "Osten"],
        ),
        ("application/vnd.ms-powerpoint.comments+xml", f"<x {A}>{LINE}</x>", LINES),
        (f"{WORD}.document.glossary+xml", f"<w:x {NAMESPACES}><w:p>{run('Ein Wort')}</w:p></w:x>", ["Ein Wort"]),
        (
            f"{WORD}.numbering+xml",
            f'<w:x {NAMESPACES}><w:lvlText w:val="Kapitel %1.%2:"/><w:lvlText w:val="%1."/>'
            '<w:lvlText w:val="o"/></w:x>',
            ["Kapitel <g1/>.<g2/>:"],
        ),
        (
            "application/vnd.openxmlformats-package.core-properties+xml",
            '<x xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Titel</dc:title><dc:creator>Ich</dc:creator></x>',
            ["Titel"],
        ),
    ],
)
def test_parts_are_found_by_their_types(kind: str, content: str, expected: Sequence[str]) -> None:
    parts = {"any/where.xml": content, "main.xml": f"<w:document {NAMESPACES}/>"}
    data = package({"any/where.xml": kind, "main.xml": MAIN}, parts)
    assert texts(data, "a.docx") == expected
    assert translated(data, "a.docx", str) == data


def shared_strings(*items: str) -> bytes:
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    return package(
        {"s.xml": f"{sheet}.sharedStrings+xml", "t.xml": f"{sheet}.table+xml", "w.xml": f"{sheet}.worksheet+xml"},
        {
            "s.xml": f"<sst {space}>{''.join(items)}</sst>",
            "t.xml": f'<table {space}><tableColumns><tableColumn id="1" name="Preis"/></tableColumns></table>',
            "w.xml": f'<worksheet {space}><c t="inlineStr"><is><t>Zelle</t></is></c>'
            '<c t="str"><f>A1&amp;"x"</f><v>Wert</v></c></worksheet>',
        },
    )


def test_cells_of_text_are_translated() -> None:
    """Formulas and their values stay."""
    data = shared_strings(
        "<si><t>Ein Text</t></si>",
        "<si><t>Preis</t></si>",
        "<si><r><t>Ein </t></r><r><rPr><b/></rPr><t>fettes</t></r><r><t> Wort</t></r><rPh><t>f</t></rPh></si>",
        "<si><t>eins_x000D_\nzwei</t></si>",
    )
    assert texts(data, "a.xlsx") == [
        *("Ein Text", "Preis", "Ein <g1>fettes</g1> Wort", "eins<g1></g1>\nzwei", "Preis", "Zelle")
    ]
    with ZipFile(BytesIO(translated(data, "a.xlsx", upper))) as members:
        strings = ElementTree.fromstring(members.read("s.xml"))
        assert ["".join(item.itertext()) for item in strings] == [
            "EIN TEXT",
            "PREIS",
            "EIN FETTES WORTf",
            "EINS_x000D_\nZWEI",
        ]
        assert b"<is><t>ZELLE</t></is>" in members.read("w.xml")
        assert b'<f>A1&amp;"x"</f><v>Wert</v>' in members.read("w.xml")


def test_texts_in_their_cells_are_translated_and_results_of_formulas_stay() -> None:
    """SheetJS writes no table of strings; results of an array formula are beside it, in cells without a formula."""
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    rows = (
        '<c r="A1" t="str"><v>Ein Text</v></c><c r="B1" t="str"><v>Birne</v></c>',
        '<c r="A2" t="str"><f>A1&amp;"!"</f><v>Wert</v></c><c r="B2" t="str"><v>eins_x000d_\nzwei</v></c>',
        '<c r="A3" t="str"><f t="array" ref="A3:A4">IF(B1="Birne",B1:B2)</f><v>Wert</v></c>',
        '<c r="A4" t="str"><v>noch ein Wert</v></c>',
        '<c r="A5" t="str"><v>Apfel &amp; Nuss</v></c><c r="B5" t="e"><v>Fehler</v></c><c r="C5"><v>5</v></c>',
    )
    content = "".join(f'<row r="{n}">{cells}</row>' for n, cells in enumerate(rows, start=1))
    data = package({"w.xml": sheet}, {"w.xml": f"<worksheet {space}><sheetData>{content}</sheetData></worksheet>"})
    assert texts(data, "a.xlsx") == ["Ein Text", "eins<g1></g1>\nzwei", "Apfel & Nuss"]
    with ZipFile(BytesIO(translated(data, "a.xlsx", upper))) as members:
        found = [value.text for value in ElementTree.fromstring(members.read("w.xml")).iter() if value.tag[-2:] == "}v"]
    assert found == [
        *("EIN TEXT", "Birne", "Wert", "EINS_x000d_\nZWEI", "Wert", "noch ein Wert", "APFEL & NUSS", "Fehler", "5")
    ]
    assert translated(data, "a.xlsx", str) == data


def test_cells_that_formulas_compare_or_lists_offer_stay() -> None:
    openpyxl, validation = library("openpyxl"), library("openpyxl.worksheet.datavalidation")
    file = openpyxl.Workbook()
    sheet = file.active
    for row, text in enumerate(["offen", "größer", 'ein "wort"', "ja", "vielleicht", "nein, danke", "frei"], start=1):
        sheet[f"A{row}"] = text
    sheet["B1"], sheet["B2"] = '=COUNTIF(A1:A7,"offen")', '=IF(A2="größer",A3="ein ""wort""",1)'
    choice = validation.DataValidation(type="list", formula1='"ja,vielleicht, nein"')
    choice.add("A4:A5")
    sheet.add_data_validation(choice)
    result = openpyxl.load_workbook(BytesIO(translated(saved(file), "a.xlsx", upper))).active
    found = [result[f"A{row}"].value for row in range(1, 8)]
    assert found == ["offen", "größer", 'ein "wort"', "ja", "vielleicht", "NEIN, DANKE", "FREI"]


def test_cells_that_filters_rules_and_pivot_tables_name_stay() -> None:
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    words = ["Offen", "Ware", "Roter Apfel", "Noch fertig", "Preis [netto]", "Haus und Hof", "Rest"]
    strings = "".join(f"<si><t>{word}</t></si>" for word in words)
    rule = '<cfRule type="containsText" operator="containsText" text="FERTIG"><formula>1</formula></cfRule>'
    filters = '<filter val="offen"/><customFilter val="*[netto]"/>'
    formulas = '<c><f>COUNTIF(A:A,"*apfel")</f></c><c><f>IF(A1="","",FIND("Hof",A6))</f></c>'
    chart = '<c:c xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:v>Ware</c:v><c:v>Rest</c:v></c:c>'
    data = package(
        {
            "s.xml": f"{sheet}.sharedStrings+xml",
            "w.xml": f"{sheet}.worksheet+xml",
            "p.xml": f"{sheet}.pivotCacheDefinition+xml",
            "c.xml": f"{DRAWING}.chart+xml",
        },
        {
            "s.xml": f"<sst {space}>{strings}</sst>",
            "w.xml": f"<worksheet {space}>{formulas}{filters}{rule}</worksheet>",
            "p.xml": f'<pivotCacheDefinition {space}><cacheField name="Ware" numFmtId="0"/></pivotCacheDefinition>',
            "c.xml": chart,
        },
    )
    assert texts(data, "a.xlsx") == ["Rest", "Rest"]


def test_text_boxes_and_pictures_of_excel_are_translated() -> None:
    """The content types are those that openpyxl writes, as Excel does."""
    drawings, sheets = library("openpyxl.drawing.spreadsheet_drawing"), library("openpyxl.chartsheet.chartsheet")
    base = "http://schemas.openxmlformats.org"
    box = '<x:sp><x:cNvPr id="1" name="Feld 1" descr="ein feld"/><a:p><a:r><a:t>im feld</a:t></a:r></a:p></x:sp>'
    names = f'xmlns:x="{base}/drawingml/2006/spreadsheetDrawing" xmlns:a="{base}/drawingml/2006/main"'
    footer = "<headerFooter><oddFooter>&amp;Cunten</oddFooter></headerFooter>"
    parts = {
        "d.xml": f'<x:wsDr {names}>{box}<x:pic><x:cNvPr id="2" name="Bild 2" descr="ein bild"/></x:pic></x:wsDr>',
        "s.xml": f'<chartsheet xmlns="{base}/spreadsheetml/2006/main">{footer}</chartsheet>',
    }
    types = {"d.xml": drawings.SpreadsheetDrawing.mime_type, "s.xml": sheets.Chartsheet.mime_type}
    data = package(types, parts)
    assert texts(data, "a.xlsx") == ["ein feld", "im feld", "ein bild", "unten"]
    with ZipFile(BytesIO(translated(data, "a.xlsx", upper))) as members:
        drawing = members.read("d.xml").decode()
    assert re.findall('descr="(.*?)"', drawing) == ["EIN FELD", "EIN BILD"]
    assert "<a:t>IM FELD</a:t>" in drawing


def test_words_in_formats_of_numbers_are_translated() -> None:
    """Excel shows them beside each number; units, and the codes of the format, stay."""
    formats = [
        '0 "pieces";[Red]-0 "none & \'no\'"',
        '"Yes";"Yes";"No"',
        '0.0 "kg"',
        '#,##0 "EUR"',
        '0.0 "kWh"',
        '0.0\\";[Red]-0.0\\"',
        "d. mmmm yyyy",
        'h:mm "Uhr"',
    ]
    file = library("openpyxl").Workbook()
    for row, code in enumerate(formats, start=1):
        file.active.cell(row, 1, row).number_format = code
    out = translated(saved(file), "a.xlsx", upper)
    cells = library("openpyxl").load_workbook(BytesIO(out)).active
    expected = ['0 "PIECES";[Red]-0 "NONE & \'NO\'"', '"YES";"YES";"NO"', *formats[2:]]
    assert [cells.cell(row, 1).number_format for row in range(1, 1 + len(formats))] == expected
    quoted = translated(saved(file), "a.xlsx", lambda text: f'{text} "x"')
    assert '"pieces \u201dx\u201d"' in library("openpyxl").load_workbook(BytesIO(quoted)).active["A1"].number_format


def instructions(data: bytes) -> str:
    """Return the instructions of all fields of a document."""
    return "".join(re.findall("<w:instrText[^>]*>([^<]*)", ZipFile(BytesIO(data)).read("text/main.xml").decode()))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (('XE "Äpfel:grün &amp; rot" \\t "siehe Obst" \\f "x"',), ["Äpfel", "grün & rot", "siehe Obst"]),
        (("XE &quot;", "Äpfel", "&quot; \\r Name"), ["Äpfel"]),
        (('TC "Ein Kapitel" \\f C \\l "2"',), ["Ein Kapitel"]),
        (("IF", instructed("MERGEFIELD A"), '= "Frau" "Sehr geehrte Frau" "Hallo"'), ["Sehr geehrte Frau", "Hallo"]),
        (('IF A = Frau "Guten Tag"',), ["Guten Tag"]),
        (("IF", instructed('IF 1 = 1 "ja" "nein"'), '= "ja" "Guten Tag"'), ["Guten Tag"]),
        (('IF A = B "', instructed('IF 1 = 1 "Hallo"'), '" "Guten Tag"'), ["Hallo", "Guten Tag"]),
        (("INCLUDEPICTURE", instructed('IF A = B "Haus.png" "Hund.png"')), []),
        (('HYPERLINK "http://a.b/Haus" \\o "Die Seite" \\t "Rahmen"',), ["Die Seite"]),
        (("MACROBUTTON NoMacro [Hier klicken] ",), ["[Hier klicken]"]),
        (('ASK "Name" "Wie viele?" \\d "Keine"',), ["Wie viele?", "Keine"]),
        (('TOC \\o "1-3" \\t "Titel;1"',), []),
        (('DATE \\@ "d. MMMM"',), []),
        (('INCLUDEPICTURE "Haus.png"',), []),
        (("MERGEFIELD Name \\f &quot; Komma&quot;",), []),
    ],
)
def test_texts_in_instructions_of_fields_are_translated(parts: Sequence[str], expected: Sequence[str]) -> None:
    """People read them in an index, in letters, or before they click; other arguments are names."""
    data = document(run("Ein Haus") + instructed(*parts) + run(" hier"))
    found = texts(data, "a.docx")
    assert found[0].startswith("Ein Haus<g1")
    assert found[1:] == expected
    before, after = (instructions(file) for file in (data, translated(data, "a.docx", upper)))
    assert after.lower() == before.lower()
    rest = before
    for text in expected:
        rest = rest.replace(text.replace("&", "&amp;"), upper(text).replace("&", "&amp;"), 1)
    assert rest == after
    assert translated(data, "a.docx", str) == data


def test_a_text_of_a_field_in_several_runs_stays_and_is_reported() -> None:
    reports = list[str]()
    data = document(
        instructed('XE "Ap', 'fel"') + run("Hier") + instructed('IF 1 = 1 "An', instructed("PAGE"), '" "b"')
    )
    reading = Reading(name="a.docx", source="de", target="en", report=reports.append)
    assert [unit.text for unit in read(data, reading).units] == ["Hier<g1/>", "b"]
    assert len(reports) == 1
    assert "2 texts in instructions" in reports[0]


def test_long_instructions_take_linear_time() -> None:
    def work(n: int) -> None:
        read(document(instructed('IF " \\', *['XE "a', 'b" c'] * n)), Reading(name="a.docx", source="de", target="en"))

    assert grows_linearly(work, 200, 1_600)


def printed_sheet(left: str, center: str, right: str = "") -> bytes:
    file = library("openpyxl").Workbook()
    header = file.active.oddHeader
    header.left.text, header.center.text, header.right.text = left, center, right
    header.left.font, header.left.size, header.center.color = "Arial,Bold", 12, "FF0000"
    return saved(file)


def test_headers_of_sheets_keep_their_codes() -> None:
    """The sections are texts of their own, and codes stay as they are."""
    data = printed_sheet("Seite &P von &N", "&BMüller && Söhne&B zeigen", "&D")
    assert translated(data, "a.xlsx", str) == data
    assert texts(data, "a.xlsx") == ["Seite <g1/> von <g2/>", "Müller & Söhne<g1></g1> zeigen"]
    header = library("openpyxl").load_workbook(BytesIO(translated(data, "a.xlsx", upper))).active.oddHeader
    found = [section.text for section in (header.left, header.center, header.right)]
    assert found == ["SEITE &P VON &N", "&BMÜLLER && SÖHNE&B ZEIGEN", "&D"]
    assert (header.left.font, header.left.size, header.center.color) == ("Arial,Bold", 12, "FF0000")


def test_a_header_that_would_be_too_long_for_excel_stays_and_is_reported() -> None:
    data, reports = printed_sheet("kurz", "auch lang" * 5), list[str]()
    reading = Reading(name="a.xlsx", source="de", target="en", report=reports.append)
    result = stubs.translated(data, reading, lambda text: text.upper() + "!" * 4 * len(text))
    header = library("openpyxl").load_workbook(BytesIO(result)).active.oddHeader
    assert header.left.text == "KURZ" + "!" * 16
    assert "auch lang" * 5 in header.center.text
    assert len(reports) == 1


def test_the_label_of_a_row_of_totals_is_that_of_its_cell() -> None:
    openpyxl, tables = library("openpyxl"), library("openpyxl.worksheet.table")
    file = openpyxl.Workbook()
    for row in (["Ware", "Preis"], ["Apfel", 1], ["Summe", 1]):
        file.active.append(row)
    columns = [tables.TableColumn(id=1, name="Ware", totalsRowLabel="Summe"), tables.TableColumn(id=2, name="Preis")]
    file.active.add_table(tables.Table(displayName="T", ref="A1:B3", totalsRowCount=1, tableColumns=columns))
    result = openpyxl.load_workbook(BytesIO(translated(saved(file), "a.xlsx", upper))).active
    assert list(result.values) == [("WARE", "PREIS"), ("APFEL", 1), ("SUMME", 1)]
    assert [column.name for column in result.tables["T"].tableColumns] == ["WARE", "PREIS"]
    assert [column.totalsRowLabel for column in result.tables["T"].tableColumns] == ["SUMME", None]


@pytest.mark.parametrize(
    ("headers", "others", "expected"),
    [
        (["Ware", "Preis"], {}, ["WARE", "PREIS"]),
        (["Ware", "Preis"], {"D1": "=SUM(T[Preis])"}, ["WARE", "Preis"]),
        (["Ware", "Preis (netto)"], {"D2": "=T[[#This Row],[Preis (netto)]]*2"}, ["WARE", "Preis (netto)"]),
        (["gleich a", "Gleich b"], {}, ["gleich a", "Gleich b"]),
        (["gleich a", "SAME"], {}, ["gleich a", "SAME"]),
        (["Ware", "Preis\npro Kilo"], {}, ["WARE", "Preis\npro Kilo"]),
        ([" Ware ", "Preis"], {"D1": "Preis"}, [" WARE ", "PREIS"]),
    ],
)
def test_the_names_of_columns_are_the_texts_of_their_headers(
    headers: list[str], others: dict[str, str], expected: list[str]
) -> None:
    """Excel repairs a file in which they differ, or in which two columns have one name."""
    openpyxl, tables = library("openpyxl"), library("openpyxl.worksheet.table")
    file = openpyxl.Workbook()
    file.active.append(headers)
    file.active.append(["Apfel", 1])
    for place, value in others.items():
        file.active[place] = value
    names = [name.replace("\n", "_x000a_") for name in headers]
    columns = [tables.TableColumn(id=n, name=name) for n, name in enumerate(names, start=1)]
    file.active.add_table(tables.Table(displayName="T", ref="A1:B2", tableColumns=columns))
    reports = list[str]()
    reading = Reading(name="a.xlsx", source="de", target="en", report=reports.append)
    data = stubs.translated(saved(file), reading, lambda text: "same" if text[1:].startswith("leich") else upper(text))
    assert len(reports) == sum(header[1:].startswith("leich") for header in headers)
    assert all(re.match(r"a\.xlsx, [^ ]+: '[gG]leich [ab]' is not translated, as ", report) for report in reports)
    result = openpyxl.load_workbook(BytesIO(data)).active
    assert [cell.value for cell in result["A1:B1"][0]] == expected
    found = [column.name for column in result.tables["T"].tableColumns]
    assert [name.replace("_x000a_", "\n") for name in found] == expected
    assert result["A2"].value == "APFEL"


@pytest.mark.parametrize("kind", ["str", "n"])
def test_formulas_are_computed_again_if_their_results_are_text(kind: str) -> None:
    """Excel shows the results in the file, made of cells that are translated, until it computes them again."""
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    cell = f'<c t="inlineStr"><is><t>Zelle</t></is></c><c r="B1" t="{kind}"><f>A1</f><v>Zelle</v></c>'
    parts = {
        "w.xml": f"<worksheet {space}>{cell}</worksheet>",
        "b.xml": f'<workbook {space}><calcPr calcId="7"/></workbook>',
    }
    data = package({"w.xml": f"{sheet}.worksheet+xml", "b.xml": f"{sheet}.sheet.main+xml"}, parts)
    assert translated(data, "a.xlsx", str) == data
    with ZipFile(BytesIO(translated(data, "a.xlsx", upper))) as members:
        is_new = b'<calcPr calcId="7" fullCalcOnLoad="1"/>' in members.read("b.xml")
    assert is_new == (kind == "str")


# Documents that libraries make, which read them again as a second opinion


def library(name: str) -> ModuleType:
    module: ModuleType = pytest.importorskip(name, reason=f"makes documents with {name}, of the extra dev")
    return module


def test_word() -> None:
    docx = library("docx")
    file = docx.Document()
    file.core_properties.title = "der titel"
    file.add_heading("eine überschrift", 1)
    paragraph = file.add_paragraph("das ist ein ")
    paragraph.add_run("fettes").bold = True
    paragraph.add_run(" wort.")
    file.add_table(1, 2).cell(0, 1).text = "zelle"
    file.sections[0].header.paragraphs[0].text = "kopfzeile"
    file.sections[0].footer.paragraphs[0].text = "fußzeile"
    file.add_comment(paragraph.runs, text="ein kommentar", author="Autor")
    data = saved(file)
    assert translated(data, "a.docx", str) == data
    result = docx.Document(BytesIO(translated(data, "a.docx", reverse)))
    assert result.core_properties.title == "TITEL DER"
    assert [item.text for item in result.paragraphs] == ["ÜBERSCHRIFT EINE", "WORT. FETTES EIN IST DAS"]
    assert [item.text.strip() for item in result.paragraphs[1].runs if item.bold] == ["FETTES"]
    assert result.tables[0].cell(0, 1).text == "ZELLE"
    assert result.sections[0].header.paragraphs[0].text == "KOPFZEILE"
    assert result.sections[0].footer.paragraphs[0].text == "FUSSZEILE"
    assert [comment.text for comment in result.comments] == ["KOMMENTAR EIN"]
    assert [comment.author for comment in result.comments] == ["Autor"]


def test_slides() -> None:
    pptx, chart = library("pptx"), library("pptx.chart.data")
    file = pptx.Presentation()
    slide = file.slides.add_slide(file.slide_layouts[1])
    slide.shapes.title.text = "der titel"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    paragraph.add_run().text = "ein "
    bold = paragraph.add_run()
    bold.text, bold.font.bold = "fetter", True
    paragraph.add_run().text = " punkt"
    paragraph.add_line_break()
    paragraph.add_run().text = "zeile"
    slide.notes_slide.notes_text_frame.text = "notizen dazu"
    values = chart.CategoryChartData()
    values.categories = ["osten", "westen"]
    values.add_series("reihe", (1, 2))
    slide.shapes.add_chart(51, 0, 0, 999, 999, values).chart.chart_title.text_frame.text = "diagramm"
    data = saved(file)
    assert translated(data, "a.pptx", str) == data
    result = pptx.Presentation(BytesIO(translated(data, "a.pptx", upper))).slides[0]
    assert result.shapes.title.text == "DER TITEL"
    assert result.placeholders[1].text_frame.text == "EIN FETTER PUNKT\x0bZEILE"
    runs = result.placeholders[1].text_frame.paragraphs[0].runs
    assert [item.text for item in runs if item.font.bold] == ["FETTER"]
    assert result.notes_slide.notes_text_frame.text == "NOTIZEN DAZU"
    plot = next(shape for shape in result.shapes if shape.has_chart).chart
    assert plot.chart_title.text_frame.text == "DIAGRAMM"
    assert list(plot.plots[0].categories) == ["OSTEN", "WESTEN"]
    assert [series.name for series in plot.plots[0].series] == ["REIHE"]
    assert [list(series.values) for series in plot.plots[0].series] == [[1.0, 2.0]]


def chart_slide() -> bytes:
    """Return a presentation with a chart, whose data is in a workbook within it."""
    pptx, chart = library("pptx"), library("pptx.chart.data")
    file = pptx.Presentation()
    values = chart.CategoryChartData()
    values.categories = ["osten", "westen"]
    values.add_series("reihe", (1, 2))
    file.slides.add_slide(file.slide_layouts[6]).shapes.add_chart(51, 0, 0, 999, 999, values)
    return saved(file)


def test_the_workbook_of_a_chart_has_the_texts_of_the_chart() -> None:
    openpyxl, pptx = library("openpyxl"), library("pptx")
    data = chart_slide()
    assert translated(data, "a.pptx", str) == data
    shapes = pptx.Presentation(BytesIO(translated(data, "a.pptx", upper))).slides[0].shapes
    workbook = next(shape for shape in shapes if shape.has_chart).chart.part.chart_workbook.xlsx_part.blob
    rows = list(openpyxl.load_workbook(BytesIO(workbook)).active.values)
    assert rows == [(None, "REIHE"), ("OSTEN", 1), ("WESTEN", 2)]


def test_a_workbook_that_is_not_read_stays_and_is_reported() -> None:
    data = archive.Archive(chart_slide(), Reading(name="a.pptx", source="de", target="en"))
    (workbook,) = [name for name in data.names if name.endswith(".xlsx")]
    reports = list[str]()
    reading = Reading(name="a.pptx", source="de", target="en", report=reports.append)
    result = stubs.translated(data.write({workbook: b"damaged"}), reading, upper)
    assert archive.Archive(result, reading).read(workbook) == b"damaged"
    assert reports == [message for message in reports if message.startswith(f"a.pptx: {workbook}: ")] != []


@pytest.mark.parametrize("text", [" vorn und hinten ", "hinten ", "eins_x000D_zwei ", " a &amp; b "])
def test_a_run_of_a_slide_and_a_cell_have_one_element_of_text(text: str) -> None:
    """The schemas allow one; PowerPoint calls a file with two damaged, and readers of cells take one alone."""
    openpyxl, pptx = library("openpyxl"), library("pptx")
    data = shared_strings(f'<si><t xml:space="preserve">{text}</t></si>')
    with ZipFile(BytesIO(translated(data, "a.xlsx", upper))) as members:
        (item,) = ElementTree.fromstring(members.read("s.xml"))
        expected = text.replace("&amp;", "&").upper().replace("_X000D_", "_x000D_")
        assert [child.text for child in item] == [expected]
    plain = text.replace("_x000D_", "").replace("&amp;", "&")
    deck, book = pptx.Presentation(), openpyxl.Workbook()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text, book.active["A1"] = plain, plain
    shown = pptx.Presentation(BytesIO(translated(saved(deck), "a.pptx", upper))).slides[0].shapes.title
    assert shown.text == plain.upper()
    assert all(len(found.findall("{*}t")) == 1 for found in shown._element.iter("{*}r"))
    assert openpyxl.load_workbook(BytesIO(translated(saved(book), "a.xlsx", upper))).active["A1"].value == plain.upper()


def test_cells() -> None:
    openpyxl, comments = library("openpyxl"), library("openpyxl.comments")
    file = openpyxl.Workbook()
    sheet = file.active
    sheet.title = "blatt"
    for place, value in {"A1": "ein text", "A2": 3.5, "A3": '=A1&" klein"', "A4": "eins\nzwei", "A5": True}.items():
        sheet[place] = value
    sheet["A1"].comment = comments.Comment("ein kommentar", "autor")
    data = saved(file)
    assert translated(data, "a.xlsx", str) == data
    result = openpyxl.load_workbook(BytesIO(translated(data, "a.xlsx", upper)))["blatt"]
    assert [result[f"A{row}"].value for row in range(1, 6)] == ["EIN TEXT", 3.5, '=A1&" klein"', "EINS\nZWEI", True]
    assert result["A1"].comment.text == "EIN KOMMENTAR"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["docx", "odt", "rtf"])
def test_libreoffice_opens_a_translation(suffix: str, tmp_path: Path) -> None:
    """A document of Word, as it is and as LibreOffice writes it, is printed with the same number of words."""
    program = shutil.which("soffice")
    if program is None:
        pytest.skip("LibreOffice is not installed")
    docx = library("docx")
    file = docx.Document()
    for n in range(20):
        paragraph = file.add_paragraph(f"Absatz {n} mit ")
        paragraph.add_run("fetten").bold = True
        paragraph.add_run(" Wörtern.\tTab")
    file.add_table(2, 2).cell(0, 1).text = "Zelle"
    file.sections[0].header.paragraphs[0].text = "Kopfzeile"
    file.save(str(tmp_path / "a.docx"))

    def converted(path: Path, kind: str) -> Path:
        folder = tmp_path / path.stem / kind
        own = f"-env:UserInstallation=file://{tmp_path}/office"
        command = [str(program), own, "--headless", "--convert-to", kind, "--outdir", str(folder), str(path)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        return folder / f"{path.stem}.{kind.partition(':')[0]}"

    original = converted(converted(tmp_path / "a.docx", suffix), "docx") if suffix != "docx" else tmp_path / "a.docx"
    original = converted(original, "odt") if suffix == "odt" else original
    data = original.read_bytes()
    assert translated(data, original.name, str) == data
    result = tmp_path / f"result{original.suffix}"
    result.write_bytes(translated(data, original.name, upper))
    before, after = (converted(path, "txt:Text").read_text(encoding="utf-8-sig") for path in (original, result))
    assert after == before.upper()
    assert converted(result, "pdf").read_bytes().startswith(b"%PDF")


def saved(file: object) -> bytes:
    """Return a document that a library made."""
    data = BytesIO()
    file.save(data)  # type: ignore[attr-defined]
    return data.getvalue()


def bound(xpath: str, text: str, kind: str = "<w:text/>", mappings: str = "xmlns:ns0='urn:x'") -> str:
    """Return a content control with a text that Word takes from an element of custom XML."""
    binding = f'<w:dataBinding w:prefixMappings="{mappings}" w:xpath="{xpath}" w:storeItemID="{{1}}"/>'
    return f"<w:sdt><w:sdtPr>{binding}{kind}</w:sdtPr><w:sdtContent>{run(text)}</w:sdtContent></w:sdt>"


def test_a_text_of_custom_xml_is_translated_with_the_control_that_shows_it() -> None:
    """Word fills controls from there when it opens a document; the value of a date or a list is no text."""
    controls = (
        bound("/ns0:plan[1]/ns0:title[1]", "das neue Haus"),
        run("Ort: ") + bound("/ns0:plan/ns0:part[2]/ns0:title", "der Garten") + run(" im Plan"),
        bound("/ns0:plan[1]/ns0:day[1]", "am Montag", "<w:date/>"),
        bound("/ns0:plan[1]/ns0:kind[1]", "klein", "<w:dropDownList/>"),
        bound("/ns0:plan[1]/ns0:other[1]", "etwas anderes"),
        bound("/ns0:plan[1]/ns0:part[1]/@title", "das Tor"),
        bound("/ns0:plan[1]/ns0:part[2]/@ns0:title", "das Dach"),
        bound("/ns0:plan[1]/ns0:part[2]/@day", "am Montag", "<w:date/>"),
        bound("/ns0:plan[1]/@title/ns0:part[2]", "der Weg"),
        bound("/plan[1]/title[1]", "das neue Haus", mappings=""),
    )
    plan = (
        '<plan xmlns="urn:x"><title>das neue Haus</title>'
        '<part title="das Tor"><title>der Garten</title></part>'
        '<part xmlns:a="urn:x" a:title="das Dach" title="der Weg" day="am Montag"><title>der Garten</title></part>'
        "<day>am Montag</day><kind>klein</kind><other>Wert</other></plan>"
    )
    types = {"text/main.xml": MAIN}
    body = "".join(f"<w:p>{control}</w:p>" for control in controls)
    data = package(
        types,
        {
            "text/main.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
            "customXml/item1.xml": plan,
            "customXml/item2.xml": "<plan><title>das alte Haus</title></plan>",
        },
    )
    done = ZipFile(BytesIO(translated(data, "a.docx", upper)))
    new = plan.replace("title>das neue Haus", "title>DAS NEUE HAUS")
    new = new.replace("das Tor", "DAS TOR").replace("das Dach", "DAS DACH")
    first, second, last = new.partition('day="am Montag"><title>der Garten')
    second = second.replace("der Garten", "DER GARTEN")
    assert done.read("customXml/item1.xml").decode() == first + second + last
    assert done.read("customXml/item2.xml") == b"<plan><title>das alte Haus</title></plan>"
    assert translated(data, "a.docx", lambda text: text) == data


def test_properties_of_a_document_are_translated_with_the_control_that_shows_them() -> None:
    """Word fills controls from there; the name of the author stays there."""
    base = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
    mappings = f"xmlns:a='{base}' xmlns:b='http://purl.org/dc/elements/1.1/'"
    controls = bound("/a:coreProperties[1]/a:contentStatus[1]", "noch ein Entwurf", mappings=mappings) + bound(
        "/a:coreProperties[1]/b:creator[1]", "Erika Sommer", mappings=mappings
    )
    core = (
        f'<a:coreProperties xmlns:a="{base}" xmlns:b="http://purl.org/dc/elements/1.1/"><b:creator>Erika Sommer'
        "</b:creator><a:category>Haus</a:category><a:contentStatus>noch ein Entwurf</a:contentStatus>"
        "</a:coreProperties>"
    )
    types = {"text/main.xml": MAIN, "core.xml": "application/vnd.openxmlformats-package.core-properties+xml"}
    document = f"<w:document {NAMESPACES}><w:body><w:p>{controls}</w:p></w:body></w:document>"
    data = package(types, {"text/main.xml": document, "core.xml": core})
    done = ZipFile(BytesIO(translated(data, "a.docx", upper)))
    assert done.read("core.xml").decode() == core.replace("noch ein Entwurf", "NOCH EIN ENTWURF")
    assert translated(data, "a.docx", str) == data


def test_a_file_that_word_imports_is_reported() -> None:
    reports = list[str]()
    reading = Reading(name="a.docx", source="de", target="en", report=reports.append)
    for chunk, n_reports in (("", 0), ('<w:altChunk r:id="r1"/>', 1)):
        assert [unit.text for unit in read(document(run("Haus"), chunk), reading).units] == ["Haus"]
        assert len(reports) == n_reports
    assert reports[0].startswith("a.docx, text/main.xml: a page of HTML or another file that Word imports")
