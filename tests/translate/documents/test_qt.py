"""Qt Linguist: only the empty translations of messages in use change, and Qt's own tools read them."""

import re
import shutil
import subprocess
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from lxml import etree

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.documents.document import Reading, read
from translate.errors import UserError

DATA = (Path(__file__).parents[2] / "documents" / "messages.ts").read_bytes()


def translations(data: bytes) -> dict[str, list[str]]:
    """Return the texts of each translation, by its source; a plural has several."""
    found = {}
    for message in etree.fromstring(data).iter("message"):
        source, target = ("".join(message.find(name).itertext()) for name in ("source", "translation"))
        leaves = message.xpath("translation/numerusform | translation/lengthvariant")
        found[source] = ["".join(leaf.itertext()) for leaf in leaves] or [target]
    return found


def test_its_own_translations_give_the_same_file() -> None:
    document = read(DATA, Reading(name="a.ts", source="en", target="de"))
    assert document.write([None] * len(document.units)) == DATA
    assert document.write([unit.done for unit in document.units]) == DATA
    assert unchanged("a.ts", DATA)[0] == DATA


def test_every_empty_translation_is_filled_in_each_form_and_no_other() -> None:
    found = translations(translated("a.ts", DATA, upper))
    assert found == {
        "&Open the file": ["&OPEN THE FILE"],
        'E&xit "now"': ['E&XIT "NOW"'],
        "Saved already": ["Schon gespeichert"],
        "Guessed before": ["Geraten"],
        "No longer here": ["Weg"],
        "Old one": [""],
        "%n file(s) in %1": ["%n FILE IN %1", "%n FILES IN %1"],
        "%n folder(s)": ["%n Ordner", "%n FOLDERS"],
        "%Ln new": ["%Ln NEW", "%Ln NEW"],
        "First line, with R&D <b>bold</b> text.\nSecond line's end%L2 and a bell": [
            "FIRST LINE, WITH R&D <b>BOLD</b> TEXT.\nSECOND LINE'S END%L2 AND A BELL"
        ],
        "short text": ["SHORT TEXT", "SHORT TEXT"],
        "By its name": ["BY ITS NAME"],
    }
    assert b'A BELL<byte value="x7"/></translation>' in translated("a.ts", DATA, upper)


def test_no_text_is_cut() -> None:
    for source, found in translations(translated("a.ts", DATA, marked)).items():
        new = source not in ("Saved already", "Guessed before", "No longer here", "Old one")
        assert all(text.count("\u00b6") == (new and text != "%n Ordner") for text in found), source


@pytest.mark.parametrize(
    ("source", "one", "several"),
    [
        ("%n match(es) in file(s)", "%n match in file", "%n matches in files"),
        ("<a href='f(e)'>%n</a> file(s)", "<a href='f(e)'>%n</a> file", "<a href='f(e)'>%n</a> files"),
        ("%n Datei(en) (s) f(x) %1(s)", "%n Datei (s) f(x) %1(s)", "%n Dateien (s) f(x) %1(s)"),
    ],
)
def test_a_source_has_the_ending_of_the_form(source: str, one: str, several: str) -> None:
    def message(kind: str) -> bytes:
        inside = f"<source>{escape(source)}</source><translation/>"
        return f"<TS><context><message{kind}>{inside}</message></context></TS>".encode()

    assert texts("a.ts", message(' numerus="yes"')) == [one, several]
    assert texts("a.ts", message(' numerus="yes"'), target="ja") == [several]
    assert texts("a.ts", message("")) == [source]


def test_new_translations_are_unfinished_unless_final() -> None:
    def kinds(data: bytes) -> dict[str, str | None]:
        return {
            m.find("source").text[:8]: m.find("translation").get("type") for m in etree.fromstring(data).iter("message")
        }

    machine, final = kinds(translated("a.ts", DATA, upper)), kinds(translated("a.ts", DATA, upper, final=True))
    assert {key for key, kind in machine.items() if kind is None} == {"Saved al"}
    assert {key for key, kind in final.items() if kind is not None} == {"Guessed ", "No longe", "Old one"}


def test_all_but_translations_and_the_language_stays() -> None:
    def frame(data: bytes) -> list[str]:
        text = re.sub(r"\s*<translation(?:[^>]*/>|.*?</translation>)", "", data.decode(), flags=re.DOTALL)
        return text.replace(' language="de"', "").split("\n")

    assert frame(translated("a.ts", DATA, upper)) == frame(DATA)


def test_the_mark_of_a_key_has_no_width_and_letters_around_ampersands_stay() -> None:
    found = texts("a.ts", DATA)
    assert re.sub("</?g.*?>", "", found[0]) == "Open the file"
    assert re.sub("</?g.*?>", "", found[1]) == 'Exit "now"'
    assert any("R&D" in text for text in found)


def test_the_mark_of_a_key_is_before_the_same_letter_if_there_is_one() -> None:
    written = translated("a.ts", DATA, lambda text: {"Open the file": "Datei \u00f6ffnen"}.get(text, text))
    assert translations(written)["&Open the file"] == ["&Datei \u00f6ffnen"]
    written = translated("a.ts", DATA, lambda text: {"Open the file": "Die Datei hier oben"}.get(text, text))
    assert translations(written)["&Open the file"] == ["Die Datei hier &oben"]


def test_a_translation_that_lost_an_argument_is_reported_and_not_written() -> None:
    reports: list[str] = []
    written = translated("a.ts", DATA, lambda text: text.replace("%1", ""), reports=reports)
    assert translations(written)["%n file(s) in %1"] == ["", ""]
    assert len(reports) == 2
    assert "line +5" in reports[0]
    assert "%1" in reports[0]


def test_existing_translations_are_replaced_on_request() -> None:
    found = translations(translated("a.ts", DATA, upper, replace=True))
    assert found["Saved already"] == ["SAVED ALREADY"]
    assert found["%n folder(s)"] == ["%n FOLDER", "%n FOLDERS"]
    assert found["No longer here"] == ["Weg"]


def test_the_language_is_stated_and_languages_are_not_mixed() -> None:
    assert b'language="de">' in translated("a.ts", DATA, upper)
    austrian = DATA.replace(b'sourcelanguage="en"', b'sourcelanguage="en" language="de_AT"')
    assert b'language="de_AT">' in translated("a.ts", austrian, upper)
    with pytest.raises(UserError, match="translations into fr_FR"):
        texts("a.ts", DATA.replace(b"<TS ", b'<TS language="fr_FR" '))


@pytest.mark.parametrize("data", [b"import a from 'b';", b"<html/>", b"G@\x00\x11", b"<TS><context>"])
def test_files_of_others_with_the_suffix_are_refused(data: bytes) -> None:
    with pytest.raises(UserError) as error:
        texts("a.ts", data)
    assert "\n" not in str(error.value)


LRELEASE = [path for path in map(Path, ("/usr/lib/qt6/bin/lrelease", "/usr/lib/qt5/bin/lrelease")) if path.exists()]
LRELEASE += [Path(found) for found in [shutil.which("pyside6-lrelease")] if found]


@pytest.mark.skipif(not LRELEASE, reason="lrelease is not installed; apt-get install qt6-l10n-tools")
@pytest.mark.parametrize("final", [False, True])
def test_lrelease_reads_every_translation(final: bool, tmp_path: Path) -> None:
    path, compiled = tmp_path / "a.ts", tmp_path / "a.qm"
    path.write_bytes(translated("a.ts", DATA, upper, final=final))
    done = subprocess.run([LRELEASE[0], path, "-qm", compiled], capture_output=True, text=True, check=True)
    assert not done.stderr
    converter = LRELEASE[0].with_name("lconvert")
    if not converter.exists():
        pytest.skip("lconvert is not installed")
    back = subprocess.run(
        [converter, "-i", compiled, "-if", "qm", "-of", "ts", "-o", "-"], capture_output=True, check=True
    )
    expected = translations(path.read_bytes())
    del expected["No longer here"], expected["Old one"]
    assert translations(back.stdout) == expected
