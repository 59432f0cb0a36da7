"""EPUB: all that readers see and hear is translated; every other byte stays."""

import re
import shutil
import subprocess
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.translate.documents.stubs import MARK, Stub, marked, reverse, translated, upper
from translate.documents.document import Reading, read
from translate.errors import UserError

GERMAN = Reading(name="buch.epub", source="de", target="en")
EPUBCHECK = Path("/usr/share/java/epubcheck.jar")  # of Debian's package epubcheck
XHTML = "http://www.w3.org/1999/xhtml"

CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OPS/text/b%C3%BCch.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
""".replace("b%C3%BCch", "buch")
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i" xml:lang="de">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
  <dc:identifier id="i">urn:uuid:12345678-1234-1234-1234-123456789012</dc:identifier>
  <dc:title>Die Reise &amp; das Ziel</dc:title><dc:creator>Anna Schneider</dc:creator>
  <dc:language>de-DE</dc:language><dc:description>Ein Buch.</dc:description>
  <meta property="dcterms:modified">2020-01-01T00:00:00Z</meta>
</metadata>
<manifest>
  <item id="ncx" href="../toc.ncx" media-type="application/x-dtbncx+xml"/>
  <item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
  <item id="c2" href="Kapitel%202.xhtml" media-type="application/xhtml+xml" properties="svg"/>
  <item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>
  <item id="css" href="s.css" media-type="text/css"/>
</manifest>
<spine toc="ncx"><itemref idref="c1"/><itemref idref="c2"/></spine>
</package>
"""
NCX = """<?xml version="1.0" encoding="UTF-8"?>
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1" xml:lang="de">
<head><meta name="dtb:uid" content="urn:uuid:12345678-1234-1234-1234-123456789012"/></head>
<docTitle><text>Die Reise</text></docTitle><docAuthor><text>Anna Schneider</text></docAuthor>
<navMap><navPoint id="n1"><navLabel><text>Erstes Kapitel</text></navLabel><content src="text/c1.xhtml"/></navPoint>
</navMap></ncx>
"""
NAV = f"""<?xml version="1.0"?>
<html xmlns="{XHTML}" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>Inhalt</title></head>
<body><nav epub:type="toc"><ol><li><a href="c1.xhtml">Erstes Kapitel</a></li></ol></nav></body></html>
"""
CHAPTER = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="{XHTML}" xmlns:epub="http://www.idpf.org/2007/ops" lang="de" xml:lang="de">
<head><title>Erstes Kapitel</title><link rel="stylesheet" href="s.css" type="text/css"/></head>
<body>
  <!-- ein Kommentar -->
  <h1>Erstes<br/>Kapitel</h1>
  <p>Die Tür ist <b>immer</b>
     offen &#8211; und <i lang="fr">jamais</i> zu.<a epub:type="noteref" href="#n1" id="r1">1</a> Noch <em>ein
     Satz</em> mit <code>x = 1</code>.</p>
  <p title="Ein Hinweis">Das <span lang="de">deutsche</span> Wort<sup><a href="#n1">2</a></sup> <b>endet</b>.</p>
  <div>Loser Text <p>Ein Absatz.</p> dahinter</div>
  <p translate="no">Firma bleibt</p>
  <p>Der Name <span class="notranslate">Feuerfuchs</span> bleibt.</p>
  <pre>print("bleibt")</pre>
  <aside epub:type="footnote" id="n1"><p>Eine Fußnote.</p></aside>
</body>
</html>
"""
DRAWING = f"""<?xml version="1.0"?>
<html xmlns="{XHTML}" lang="de" xml:lang="de"><head><title>Zweites Kapitel</title></head>
<body><p>Ein Bild: <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><title>Ein Dach</title>
<text x="1" y="2">Haus <tspan>am See</tspan></text></svg> hier.</p>
<p><img src="data:," alt="Ein Hund"/></p></body></html>
"""


def book(**changed: str | bytes | None) -> bytes:
    """Return a book; `changed` has other members by short names."""
    names = {
        "container": ("META-INF/container.xml", CONTAINER),
        "package": ("OPS/text/buch.opf", PACKAGE),
        "ncx": ("OPS/toc.ncx", NCX),
        "nav": ("OPS/text/nav.xhtml", NAV),
        "chapter": ("OPS/text/c1.xhtml", CHAPTER),
        "drawing": ("OPS/text/Kapitel 2.xhtml", DRAWING),
        "css": ("OPS/text/s.css", "p { color: red }"),
        "encryption": ("META-INF/encryption.xml", None),
    }
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for key, (name, content) in names.items():
            data = changed.get(key, content)
            if data is not None:
                file.writestr(name, data)
    return out.getvalue()


def member(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(BytesIO(data)) as file:
        return file.read(name)


def chapter(body: str, stub: Stub = marked) -> str:
    """Return the body of a chapter after translation."""
    page = f'<html xmlns="{XHTML}" xmlns:epub="http://www.idpf.org/2007/ops"><body>{body}</body></html>'
    written = member(translated(book(chapter=page), GERMAN, stub), "OPS/text/c1.xhtml").decode()
    found = re.search("<body>(.*)</body>", written, re.DOTALL)
    assert found
    return found[1]


def visible(page: bytes) -> str:
    """Return the words of a page that are to be translated."""
    kept = ["code", "pre", "style", "math", "docAuthor", "creator"]
    outside = " and ".join(f"not(ancestor::*[local-name()='{name}'])" for name in kept)
    outside += " and not(ancestor::*[@translate='no' or @class='notranslate'])"
    return " ".join(etree.fromstring(page).xpath(f"//text()[{outside}]"))


def test_a_word_with_ruby_stays_whole_in_its_sentence() -> None:
    ruby = "<ruby>Haus<rp>(</rp><rt>haus</rt><rp>)</rp></ruby>"
    assert chapter(f"<p>Das {ruby} ist alt</p>", upper) == f"<p>DAS {ruby} IST ALT</p>"


def test_its_own_texts_give_the_same_file() -> None:
    data = book()
    document = read(data, GERMAN)
    assert document.write([unit.text for unit in document.units]) == data
    assert document.write([None] * len(document.units)) == data


@pytest.mark.parametrize("stub", [upper, marked, reverse])
def test_every_word_in_sight_is_translated(stub: Stub) -> None:
    written = translated(book(), GERMAN, stub)
    for name in ("OPS/toc.ncx", "OPS/text/nav.xhtml", "OPS/text/c1.xhtml", "OPS/text/Kapitel 2.xhtml"):
        text = visible(member(written, name))
        assert text.upper() == text.replace("\u1e9e", "SS"), name


@pytest.mark.parametrize("stub", [upper, marked, reverse])
def test_other_members_and_the_order_stay(stub: Stub) -> None:
    before = book()
    after = translated(before, GERMAN, stub)
    with zipfile.ZipFile(BytesIO(before)) as a, zipfile.ZipFile(BytesIO(after)) as b:
        assert a.namelist() == b.namelist()
        assert (b.infolist()[0].filename, b.infolist()[0].compress_type) == ("mimetype", zipfile.ZIP_STORED)
        for name in ("mimetype", "META-INF/container.xml", "OPS/text/s.css"):
            assert a.read(name) == b.read(name)
        assert b.testzip() is None


def test_no_sentence_is_cut() -> None:
    page = member(translated(book(), GERMAN, marked), "OPS/text/c1.xhtml").decode()
    for element in re.findall("<(?:p|h1)[ >].*?</(?:p|h1)>", page, re.DOTALL):
        assert element.count(MARK) == 1 + ("title=" in element) - ("translate=" in element)
        assert re.search(rf"{MARK}(?:<[^>]*>)*\Z", element) or "translate=" in element


def test_formats_follow_their_words() -> None:
    assert chapter("<p>Die Tür ist <b>immer auf</b> oder <i>zu</i></p>", reverse) == (
        "<p><i>ZU</i> ODER <b>AUF IMMER</b> IST TÜR DIE</p>"
    )


def test_notes_pages_and_raised_numbers_have_no_width() -> None:
    body = (
        '<p>Das<sup>2</sup> Haus<a epub:type="noteref" href="#n">1</a> steht<a href="#n"><sup>[3]</sup></a> '
        '<span epub:type="pagebreak" id="s5">5</span>hier und da.</p>'
    )
    data = book(chapter=f'<html xmlns="{XHTML}" xmlns:epub="http://www.idpf.org/2007/ops"><body>{body}</body></html>')
    (unit,) = (unit for unit in read(data, GERMAN).units if unit.place.endswith("c1.xhtml"))
    assert re.sub("<.*?>", "", unit.text) == "Das Haus steht hier und da."
    for part in re.findall(r"<sup>.*?</sup>|<a epub.*?</a>|<span.*?</span>", body):
        assert part in chapter(body, reverse)


def test_code_and_names_that_stay_are_copied() -> None:
    page = member(translated(book(), GERMAN, upper), "OPS/text/c1.xhtml").decode()
    for text in ("<code>x = 1</code>", "Firma bleibt", ">Feuerfuchs<", 'print("bleibt")', "<!-- ein Kommentar -->"):
        assert text in page


def test_the_language_is_changed_where_it_is_stated() -> None:
    written = translated(book(), GERMAN, upper)
    package = member(written, "OPS/text/buch.opf").decode()
    assert "<dc:language>en</dc:language>" in package
    assert 'xml:lang="en">' in package
    page = member(written, "OPS/text/c1.xhtml").decode()
    assert 'lang="en" xml:lang="en"' in page
    assert '<span lang="en">' in page
    assert '<i lang="fr">' in page
    assert 'xml:lang="en"' in member(written, "OPS/toc.ncx").decode()


def test_a_book_that_states_a_wrong_language_states_the_right_one() -> None:
    """Many programs write "en" in any book."""
    reading = Reading(name="a.epub", source="en", target="de")
    wrong = translated(book(package=PACKAGE.replace("de-DE", "fr")), reading, upper)
    assert b"<dc:language>de</dc:language>" in member(wrong, "OPS/text/buch.opf")
    two = PACKAGE.replace("</dc:language>", "</dc:language><dc:language>la</dc:language>")
    assert b"<dc:language>en</dc:language><dc:language>la</dc:language>" in member(
        translated(book(package=two), GERMAN, upper), "OPS/text/buch.opf"
    )


def test_title_and_description_are_translated_and_names_are_not() -> None:
    written = translated(book(), GERMAN, upper)
    package, labels = member(written, "OPS/text/buch.opf").decode(), member(written, "OPS/toc.ncx").decode()
    assert "<dc:title>DIE REISE &amp; DAS ZIEL</dc:title>" in package
    assert "<dc:description>EIN BUCH.</dc:description>" in package
    assert "Anna Schneider" in package
    assert "<docAuthor><text>Anna Schneider</text></docAuthor>" in labels


def test_each_text_is_there_once() -> None:
    """A picture alone in its paragraph has a text of its own, the paragraph has none."""
    texts = [unit.text for unit in read(book(), GERMAN).units if unit.place.endswith("Kapitel 2.xhtml")]
    assert sorted(texts) == ["Ein Bild: <g1/> hier.", "Ein Dach", "Ein Hund", "Haus <g1>am See</g1>", "Zweites Kapitel"]


def test_attributes_and_drawings_are_translated() -> None:
    page = member(translated(book(), GERMAN, reverse), "OPS/text/Kapitel 2.xhtml").decode()
    assert 'alt="HUND EIN"' in page
    assert "<title>DACH EIN</title>" in page
    assert '<text x="1" y="2"><tspan>SEE AM</tspan> HAUS</text>' in page
    quoted = chapter("<p title='Das \"Wort\"'>Ja &lt; nein &gt; &amp;</p>", upper)
    assert quoted == "<p title='DAS \"WORT\"'>JA &lt; NEIN &gt; &amp;</p>"


def test_attributes_that_readers_see_or_hear_are_translated() -> None:
    shown = [
        '<option label="Wort">Wort</option>',
        '<p aria-description="Wort">Wort</p>',
        '<input type="submit" value="Wort"/>',
        '<math xmlns="http://www.w3.org/1998/Math/MathML" alttext="Wort"/>',
    ]
    kept = '<input type="hidden" value="bleibt"/><a id="bleibt"/><meta name="viewport" content="bleibt"/>'
    assert chapter("".join(shown) + kept, upper) == "".join(shown).replace("Wort", "WORT") + kept


def test_formulas_of_pandoc_without_mathml_stay() -> None:
    formulas = '<span class="math inline"><em>a</em> + <em>b</em></span>', '<span class="math display">$$a$$</span>'
    text = f"<p>Sei {formulas[0]} die <span class='math'>Summe</span>.</p><p>{formulas[1]}</p>"
    assert chapter(text, upper) == text.replace("Sei", "SEI").replace("die", "DIE").replace("Summe", "SUMME")


def test_labels_and_buttons_of_a_form_are_texts_of_their_own() -> None:
    form = "<form><label>Name: <input/></label><button>Senden</button><input/><label>Ort</label><select/></form>"
    found = [unit.text for unit in read(book(chapter=CHAPTER.replace("</body>", f"{form}</body>")), GERMAN).units]
    assert {"Name: <g1/>", "Senden", "Ort"} <= {*found}


def test_lines_of_a_drawing_are_texts_of_their_own() -> None:
    lines = '<tspan x="1" y="2">Erste Zeile</tspan><tspan x="1" dy="3">mit <tspan>fettem</tspan> Wort</tspan>'
    page = DRAWING.replace("Haus <tspan>am See</tspan>", lines)
    found = [unit.text for unit in read(book(drawing=page), GERMAN).units]
    assert {"Erste Zeile", "mit <g1>fettem</g1> Wort"} <= {*found}


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8-sig"])
def test_pages_in_other_encodings(encoding: str) -> None:
    page = CHAPTER.replace("UTF-8", {"utf-8-sig": "UTF-8"}.get(encoding, encoding)).encode(encoding)
    data = book(chapter=page)
    document = read(data, GERMAN)
    assert document.write([unit.text for unit in document.units]) == data
    written = member(translated(data, GERMAN, lambda text: f"{upper(text)} \u20ac"), "OPS/text/c1.xhtml")
    assert written[:2] == page[:2]
    assert "DIE TÜR IST <b>IMMER</b> OFFEN" in written.decode(encoding)
    assert "\u20ac" in "".join(etree.fromstring(written).itertext())


def test_entities_of_html_are_characters_and_are_written_back() -> None:
    doctype = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
    for start in ("", doctype):
        body = '<p title="&Uuml;ber">10&nbsp;&euro; f&uuml;r&shy;alle</p>'
        page = f'{start}<html xmlns="{XHTML}"><body>{body}</body></html>'
        data = book(chapter=page)
        texts = [unit.text for unit in read(data, GERMAN).units if unit.place.endswith("c1.xhtml")]
        assert texts == ["\u00dcber", "10\u00a0\u20ac f\u00fcr\u00adalle"]
        written = member(translated(data, GERMAN, lambda text: f"{text}!"), "OPS/text/c1.xhtml").decode()
        assert "10&nbsp;&euro;" in written
        assert "&shy;alle!" in written


def encryption(algorithm: str) -> str:
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData '
        f'xmlns="http://www.w3.org/2001/04/xmlenc#"><EncryptionMethod Algorithm="{algorithm}"/><CipherData>'
        '<CipherReference URI="OPS/f.otf"/></CipherData></EncryptedData></encryption>'
    )


def test_an_encrypted_book_is_refused_and_obfuscated_fonts_are_not() -> None:
    with pytest.raises(UserError, match="DRM"):
        read(book(encryption=encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")), GERMAN)
    assert read(book(encryption=encryption("http://www.idpf.org/2008/embedding")), GERMAN).units


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"chapter": "<html><p>offen</html>"}, r"buch\.epub: OPS/text/c1\.xhtml: the XML is damaged"),
        ({"container": None}, "is no EPUB"),
        ({"package": None}, "names no package"),
    ],
)
def test_a_damaged_book_is_refused_in_one_sentence(changed: dict[str, str | None], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(book(**changed), GERMAN)
    assert "\n" not in str(error.value)


def pandoc(version: str, folder: Path) -> bytes:
    """Return a book that pandoc made."""
    text = folder / "in.md"
    text.write_text(
        "---\ntitle: Die Reise\nlang: de\n---\n\n# Erstes *Kapitel*\n\nDie **Tür** ist offen.[^1] Ein `code` und "
        "[ein Link](#x \"Titel\").\n\n> Zeile eins\\\nund zwei.\n\n| a | b |\n|---|---|\n| Haus | 3 |\n\n"
        "Die Formel $a^2$ hier.\n\n[^1]: Eine Fußnote.\n",
        encoding="utf-8",
    )  # fmt: skip
    subprocess.run(["pandoc", text, "-t", version, "--mathml", "-o", folder / "o.epub"], check=True)
    return (folder / "o.epub").read_bytes()


@pytest.mark.parametrize("version", ["epub2", "epub3"])
def test_books_of_pandoc(version: str, tmp_path: Path) -> None:
    if not shutil.which("pandoc"):
        pytest.skip("pandoc is not installed")
    data = pandoc(version, tmp_path)
    document = read(data, GERMAN)
    assert document.write([unit.text for unit in document.units]) == data
    with zipfile.ZipFile(BytesIO(translated(data, GERMAN, marked))) as file:
        pages = [name for name in file.namelist() if name.endswith((".xhtml", ".ncx"))]
        for name in pages:
            text = visible(file.read(name))
            assert text.upper() == text


@pytest.mark.slow
@pytest.mark.parametrize("version", ["own", "epub2", "epub3"])
def test_epubcheck_accepts_what_is_written(version: str, tmp_path: Path) -> None:
    if not (EPUBCHECK.exists() and shutil.which("java")):
        pytest.skip("epubcheck is not installed")
    if version != "own" and not shutil.which("pandoc"):
        pytest.skip("pandoc is not installed")
    data = book() if version == "own" else pandoc(version, tmp_path)

    def messages(data: bytes) -> list[str]:
        path = tmp_path / "checked.epub"
        path.write_bytes(data)
        done = subprocess.run(["java", "-jar", EPUBCHECK, path], capture_output=True, text=True, check=False)
        return re.findall(r"^(?:FATAL|ERROR|WARNING).*?\)", done.stdout + done.stderr, re.MULTILINE)

    assert messages(translated(data, GERMAN, marked)) == messages(data)


WORDS = st.sampled_from(["Haus ", "am See", " und", "\n  ", "&amp; ", "&nbsp;", "1", "<!-- c -->", "<br/>", "<wbr/>"])
EMPTY = st.sampled_from(
    ["<img alt='Ein Bild' src='a'/>", "<a id='x'/>", "<hr/>", "<code>kept</code>", "<sup>2</sup>", "<pre>kept</pre>"]
)
NAMES = st.sampled_from(["p", "div", "b", "i", "span", "a", "li", "td", "section", "h2", "small", "own"])
CONTENT = st.recursive(
    WORDS | EMPTY,
    lambda inner: st.tuples(NAMES, st.lists(inner, max_size=5)).map(lambda e: f"<{e[0]}>{''.join(e[1])}</{e[0]}>"),
    max_leaves=15,
)


@given(st.lists(CONTENT, max_size=6).map("".join))
def test_any_page_is_translated_as_a_whole(body: str) -> None:
    page = f'<html xmlns="{XHTML}"><body>{body}</body></html>'
    data = book(chapter=page)
    document = read(data, GERMAN)
    assert document.write([unit.text for unit in document.units]) == data
    tags = Counter(re.findall("<[^>]*>", page.replace("'Ein Bild'", "'EIN BILD'")))
    for stub in (upper, reverse):
        written = member(translated(data, GERMAN, stub), "OPS/text/c1.xhtml").decode()
        found = re.findall("<[^>]*>", written.replace("'BILD EIN'", "'EIN BILD'"))
        assert Counter(found) == tags
        etree.fromstring(written.replace("&nbsp;", " ").encode())
        text = re.sub("<[^>]*>|&nbsp;|&amp;|kept", "", written)
        assert text == text.upper()
        words = re.findall(r"\w+", re.sub("<[^>]*>|&nbsp;|&amp;", " ", page.replace("kept", "")).upper())
        joined = "".join(words)
        assert sorted(joined) == sorted(re.sub(r"\W", "", text.replace("\u00df", "SS")))


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ('<p><a href="1">Das Haus</a><a href="2">Der Garten</a></p>', ["Das Haus", "Der Garten"]),
        ('<p><a href="1">Das Haus</a> \u00b7 <a href="2">der Garten</a></p>', ["Das Haus", "der Garten"]),
        ('<p><a href="1">Das Haus</a>\n<b><a href="2">Der Garten</a></b></p>', ["Das Haus", "Der Garten"]),
        ("<p><span>Ort</span><span>Datum</span></p>", ["Ort", "Datum"]),
        ('<p>Das <a href="1">Haus</a> <a href="2">Tor</a></p>', ["Das Haus Tor"]),
        ('<p><a href="1">Das Haus</a> <a href="2">brennt</a></p>', ["Das Haus brennt"]),
        ("<p><span>D</span><span>er Hund</span> bellt</p>", ["Der Hund bellt"]),
    ],
)
def test_links_beside_each_other_are_texts_of_their_own(block: str, expected: list[str]) -> None:
    """As in menus; in a sentence with other words, and before a small letter, they are parts of it."""
    data = book(chapter=f'<html xmlns="{XHTML}"><body>{block}</body></html>')
    found = [unit.text for unit in read(data, GERMAN).units if unit.place.endswith("c1.xhtml")]
    assert [re.sub("<.*?>", "", text) for text in found] == expected
    assert chapter(block, lambda text: text) == block


def test_the_inner_value_of_translate_holds() -> None:
    """https://html.spec.whatwg.org/multipage/dom.html#the-translate-attribute"""
    inside = 'Firma <p translate="yes">Wort <b>drei</b></p> GmbH <i translate="">gut</i>'
    expected = f'Firma <p translate="yes">WORT <b>DREI</b>{MARK}</p> GmbH <i translate="">GUT{MARK}</i>'
    assert chapter(f'<div translate="no" title="Titel">{inside}</div>') == (
        f'<div translate="no" title="Titel">{expected}</div>'
    )
    assert chapter('<p>Das <u class="notranslate">Alte <b translate="yes">Haus</b></u> steht.</p>') == (
        f'<p>DAS <u class="notranslate">Alte <b translate="yes">HAUS{MARK}</b></u> STEHT.{MARK}</p>'
    )


def test_the_summary_of_accessibility_is_translated() -> None:
    """https://www.w3.org/TR/epub-a11y-11/#sec-conf-reporting-pub, in EPUB 3 and in EPUB 2."""
    name = "schema:accessibilitySummary"
    found = [f'<meta property="{name}">Mit Bildern.</meta>', f'<meta name="{name}" content="Mit Bildern."/>']
    kept = '<meta property="schema:accessMode">textual</meta>'
    data = book(package=PACKAGE.replace("<dc:description>", f"{kept}{''.join(found)}<dc:description>"))
    package = member(translated(data, GERMAN, upper), "OPS/text/buch.opf").decode()
    assert all(one.replace("Mit Bildern.", "MIT BILDERN.") in package for one in found)
    assert kept in package


def test_declarations_of_code_by_sphinx_stay() -> None:
    declaration = '<dt class="sig sig-object py" id="f"><span>open</span><em>(file)</em></dt>'
    assert chapter(f"<dl>{declaration}<dd>Text</dd></dl>") == f"<dl>{declaration}<dd>TEXT{MARK}</dd></dl>"


def test_a_block_that_stays_divides_the_text_around_it() -> None:
    kept = '<p translate="no">Firma</p>'
    assert chapter(f"<div>Vorher {kept} nachher</div>") == f"<div>VORHER{MARK} {kept} NACHHER{MARK}</div>"
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><g translate="no"><text>Firma</text></g></svg>'
    assert drawing in chapter(f"<p>Ein {drawing} Bild</p>")
