"""TTML: the lines of a cue are one text; times, styles and regions stay byte for byte."""

import re
from pathlib import Path

import pytest
from lxml import etree

from tests.translate.documents.stubs import reverse
from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.documents.document import Reading, read
from translate.errors import UserError

DATA = (Path(__file__).parents[2] / "documents" / "film.ttml").read_bytes()
GERMAN = {"source": "de", "target": "en"}
NO_BREAK = DATA.replace(b"de-DE", b"en")  # the language that `unchanged` has


def cues(data: bytes) -> list[list[str]]:
    """Return the lines of each cue."""
    found = []
    for cue in etree.fromstring(data).iter("{*}p"):
        text = ""
        for e in cue.iter():
            text += "\n" if etree.QName(e).localname == "br" else re.sub(r"\s+", " ", e.text or "")
            text += re.sub(r"\s+", " ", e.tail or "") if e is not cue else ""
        found.append([line.strip() for line in text.split("\n")] if text.strip() else [])
    return found


def test_its_own_texts_give_the_same_file() -> None:
    assert unchanged("a.ttml", NO_BREAK) == (NO_BREAK, NO_BREAK)


def test_the_lines_of_a_cue_are_one_text() -> None:
    document = read(DATA, Reading(name="a.ttml", **GERMAN))
    assert [unit.text for unit in document.units] == [
        "Der Film",
        "Die Tür ist immer\noffen und weit.",
        "<g1>- Kommst du mit?</g1>\n<g2>- Nein, heute nicht.</g2>",
        "Das ist <g1>sehr</g1> schön,\nsagte sie & ging.",
        "Er ging <g1>nach</g1>\nHause zurück.",
    ]
    assert [unit.wrapped for unit in document.units] == [False, True, True, True, True]
    assert document.units[1].place == "cue 00:00:01.000"


@pytest.mark.parametrize("stub", [upper, marked])
def test_each_cue_keeps_its_lines(stub: object) -> None:
    before, after = cues(DATA), cues(translated("a.ttml", DATA, stub, **GERMAN))  # type: ignore[arg-type]
    assert [[line.upper() for line in lines] for lines in before] == [
        [line.replace("\u00b6", "").upper() for line in lines] for lines in after
    ]


def test_a_style_of_two_lines_is_in_both_lines_of_the_translation() -> None:
    written = translated("a.ttml", DATA, upper, **GERMAN).decode()
    span = '<tt:span style="s1">'
    assert f"{span}DIE TÜR IST IMMER</tt:span><tt:br/>{span}OFFEN UND WEIT.</tt:span>" in written
    assert "SCHÖN,<tt:br/>SAGTE SIE &amp; GING.</tt:p>" in written
    etree.fromstring(written.encode())


def test_formats_follow_their_words() -> None:
    written = translated("a.ttml", DATA, lambda text: "\n".join(map(reverse, text.split("\n"))), **GERMAN).decode()
    assert 'SCHÖN, <tt:span tts:fontStyle="italic">SEHR</tt:span> IST DAS<tt:br/>' in written


def test_all_but_the_words_stays() -> None:
    def frame(data: bytes) -> list[str]:
        return re.findall(
            r"<(?!tt:br|tt:span|/tt:span)[^>]*>", data.decode().replace('xml:lang="en"', 'xml:lang="de-DE"')
        )

    written = translated("a.ttml", DATA, marked, **GERMAN)
    assert frame(written) == frame(DATA)
    assert b"Anna Schneider" in written
    assert b'xml:lang="en"' in written


def test_a_file_of_older_versions_and_without_prefixes() -> None:
    data = b'<tt xmlns="http://www.w3.org/2006/10/ttaf1" xml:lang="de"><body><p begin="1s">Ja<br />nein</p></body></tt>'
    assert texts("a.dfxp", data) == ["Ja\nnein"]
    assert b">JA<br />NEIN</p>" in translated("a.xml", data, upper, **GERMAN)


@pytest.mark.parametrize("said", ['tts:ruby="container"', 'style="colour word"'])
def test_a_word_with_ruby_stays_whole_in_its_sentence(said: str) -> None:
    ruby = f'<span {said}><span tts:ruby="base">東京</span><span tts:ruby="text">とうきょう</span></span>'
    styles = '<style xml:id="colour" tts:color="red"/><style xml:id="word" tts:ruby="container"/>'
    data = f"""<tt xmlns="http://www.w3.org/ns/ttml" xmlns:tts="http://www.w3.org/ns/ttml#styling" xml:lang="de">
<head><styling>{styles}</styling></head>
<body><p>Er ist in {ruby} <br/> und <span style="colour">bleibt</span> da.</p></body></tt>""".encode()
    assert texts("a.ttml", data) == ["Er ist in <g1/>\nund <g2>bleibt</g2> da."]
    assert f">ER IST IN {ruby}<br/>UND" in translated("a.ttml", data, upper, **GERMAN).decode()


@pytest.mark.parametrize("data", [b"<tt/>".replace(b"tt", b"html"), b"<tt xmlns='http://www.w3.org/ns/ttml'><p>"])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(UserError):
        texts("a.ttml", data)


def test_a_description_in_a_cue_is_one_text_of_its_own() -> None:
    start, end = b'<tt xmlns="http://www.w3.org/ns/ttml" xmlns:d="http://www.w3.org/ns/ttml#metadata">', b"</tt>"
    cue = b'<p begin="1s" end="2s"><metadata><d:desc>Tor knallt</d:desc></metadata>Er kommt zu uns</p>'
    data = start + cue + b'<p begin="2s" end="3s">und bleibt hier.</p>' + end
    assert texts("a.ttml", data, **GERMAN) == ["Tor knallt", "Er kommt zu uns", "und bleibt hier."]
    written = translated("a.ttml", data, upper, **GERMAN).decode()
    assert "<d:desc>TOR KNALLT</d:desc></metadata>ER KOMMT ZU UNS</p>" in written
