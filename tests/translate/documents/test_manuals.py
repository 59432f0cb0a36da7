"""DocBook and DITA: every word of prose is translated; code, data and markup stay byte for byte."""

import re
from pathlib import Path

import pytest
from lxml import etree

from tests.translate.documents.stubs import reverse
from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.errors import UserError

DOCUMENTS = Path(__file__).parents[2] / "documents"
DOCBOOK, DITA = ((DOCUMENTS / name).read_bytes() for name in ("manual.dbk", "topic.dita"))
GERMAN = {"source": "de", "target": "en"}
BOTH = pytest.mark.parametrize(("name", "data"), [("a.dbk", DOCBOOK), ("a.dita", DITA)], ids=["DocBook", "DITA"])
KEPT = {"command", "author", "firstname", "surname", "pubdate", "programlisting", "remark", "keyword", "codeph"}
KEPT |= {"codeblock"}


def prose(data: bytes) -> list[str]:
    """Return the texts that are to be translated."""
    root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, load_dtd=False))
    found = []
    for element in root.iter(etree.Element):
        name = etree.QName(element).localname
        is_kept = element.get("translate") == "no" or (name in KEPT and (name != "keyword" or root.tag == "task"))
        found += [element.text or ""] * (not is_kept) + [element.tail or ""]
    return [" ".join(text.split()) for text in found if text.strip()]


@BOTH
def test_its_own_texts_give_the_same_file(name: str, data: bytes) -> None:
    own = data.replace(b'lang="de-DE"', b'lang="en"').replace(b'lang="de"', b'lang="en"')
    assert unchanged(name, own) == (own, own)


@BOTH
def test_every_word_of_prose_is_translated_and_no_other(name: str, data: bytes) -> None:
    written = translated(name, data, upper, **GERMAN)
    assert [text.upper() for text in prose(data)] == prose(written)
    assert written.count(b"bleibt") == data.count(b"bleibt")
    for kept in (b"Anna", b"Schneider", b"Mai 2026", b"ls -l", b"&product;", b"<!ENTITY product"):
        assert written.count(kept) == data.count(kept)


@BOTH
def test_all_tags_stay_in_their_order(name: str, data: bytes) -> None:
    def tags(data: bytes) -> list[str]:
        found = re.findall(r"<[^>]*>", data.decode())
        return [re.sub(r'lang="[\w-]*"|xreflabel="[^"]*"', "", tag) for tag in found]

    assert tags(translated(name, data, marked, **GERMAN)) == tags(data)


@BOTH
def test_no_sentence_is_cut(name: str, data: bytes) -> None:
    found = texts(name, data)
    shown = [re.sub(r"</?g\d+/?>", "", text) for text in found]
    assert len(shown) == len({*shown})
    if data is DOCBOOK:
        assert "Die Tür von  ist immer offen und  zeigt alles in ." in shown
        assert {"Tür", "Fenster", "Haus", "Das Wort", "Ein Bild", "Seltener Text", "Anzeige", "Eine Fußnote."} <= {
            *shown
        }
    else:
        assert "Der Griff ist  rund, siehe  und dort." in shown
        assert {"Eine Fußnote mit Form.", "Tür", "öffnen", "Ein Bild", "Erste Zeile\nZweite Zeile"} <= {*shown}


def test_formats_follow_their_words() -> None:
    assert b"<title><b>\xc3\x96FFNEN</b> T\xc3\x9cR DIE</title>" in translated("a.dita", DITA, reverse, **GERMAN)
    written = translated("a.dbk", DOCBOOK, reverse, **GERMAN).decode()
    assert '<emphasis role="bold">IMMER</emphasis> IST' in written
    assert "<footnote><para>FUSSNOTE. EINE</para></footnote>" in written.replace("FU\u1e9eNOTE", "FUSSNOTE")


@BOTH
def test_the_language_is_stated(name: str, data: bytes) -> None:
    assert re.search(rb'lang="en"', translated(name, data, upper, **GERMAN))


def test_a_file_of_xml_is_known_by_its_first_element() -> None:
    assert texts("a.xml", DOCBOOK) == texts("a.dbk", DOCBOOK)
    assert texts("a.xml", DITA) == texts("a.dita", DITA)
    five = b'<section xmlns="http://docbook.org/ns/docbook" version="5.1"><para>Ein <tag>x</tag></para></section>'
    assert texts("a.xml", five) == ["Ein <g1/>"]
    with pytest.raises(UserError, match="first element is <svg>"):
        texts("a.xml", b"<svg/>")


def test_the_history_of_a_book_is_prose_but_for_its_data() -> None:
    data = b"""<article><info><revhistory><revision><revnumber>1.0 beta</revnumber><date>May 2026</date>
<authorinitials>AS</authorinitials><revremark>First <emphasis>edition</emphasis></revremark></revision>
<revision><revdescription><para>All new.</para></revdescription></revision></revhistory></info></article>"""
    assert texts("a.dbk", data) == ["First <g1>edition</g1>", "All new."]


def test_a_map_of_topics() -> None:
    inner = b'<topicref navtitle="Erster Teil"><topicmeta><navtitle>Teil</navtitle></topicmeta></topicref>'
    data = b"<map><title>Alles</title>" + inner + b"</map>"
    assert texts("a.ditamap", data) == ["Alles", "Erster Teil", "Teil"]


def test_the_inner_value_of_translate_holds() -> None:
    inside = '<p>Wort <ph translate="no">Alte <b translate="yes">Welt</b></ph></p>'
    topic = f'<topic translate="no"><title>Firma</title><body translate="yes">{inside}</body></topic>'
    assert texts("a.dita", topic.encode()) == ["Wort <g1/>", "Welt"]


@pytest.mark.parametrize(
    ("name", "menu"),
    [
        ("a.dita", "<menucascade><uicontrol>File</uicontrol><uicontrol>Save as</uicontrol></menucascade>"),
        (
            "a.dbk",
            "<menuchoice><shortcut><keycombo><keycap>Ctrl</keycap></keycombo></shortcut>"
            "<guimenu>File</guimenu>\n <guimenuitem>Save as</guimenuitem></menuchoice>",
        ),
    ],
)
def test_each_entry_of_a_menu_is_a_text_of_its_own(name: str, menu: str) -> None:
    root, block = ("topic", "p") if name == "a.dita" else ("article", "para")
    data = f"<{root}><{block}>Choose {menu} now.</{block}></{root}>".encode()
    assert texts(name, data)[0].startswith("Choose <g1/> ")
    assert {"File", "Save as"} <= {*texts(name, data)}
    written = translated(name, data, lambda text: " ".join(reversed(text.split()))).decode()
    assert menu.replace("Save as", "as Save") in written
