"""Strings of Android: what a reader sees is translated, and aapt2 reads it as it was meant."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.errors import UserError

DATA = (Path(__file__).parents[2] / "documents" / "strings.xml").read_bytes()


def shown(data: bytes) -> dict[str, list[str]]:
    """Return the texts of each resource, escaped, by its name."""
    return {
        e.get("name"): [" ".join("".join(one.itertext()).split()) for one in (e.findall("item") or [e])]
        for e in etree.fromstring(data)
        if isinstance(e.tag, str)
    }


def test_its_own_texts_give_the_same_file() -> None:
    assert unchanged("strings.xml", DATA) == (DATA, DATA)


def test_texts_are_as_a_reader_sees_them() -> None:
    found = [re.sub(r"</?g\d/?>", "", text) for text in texts("strings.xml", DATA)]
    assert found == [
        "It's Anna's, isn't it?",
        "It's  between   marks:",
        'Say "hello   there" now',
        'He said "yes" to all',
        "First line.\nSecond\tline\u2026",
        "A text that goes on in the next line",
        "@home or ?what",
        "Hello , you have new mail: %2$d",
        '<b>Bold</b> isn\'t <a href="x">a link</a> & more',
        "<b>Bold</b> & more",
        "Smile \U0001f600 now",
        "end",
        "%d file",
        "%d files",
        "Monday",
    ]


def test_escapes_are_written_again_and_what_is_no_text_stays() -> None:
    found = shown(translated("strings.xml", DATA, upper))
    assert found == {
        "app_name": ["Seed"],
        "apostrophe": [r"IT\'S ANNA\'S, ISN\'T IT?"],
        "quoted": [r'"IT\'S \u0020BETWEEN \u0020\u0020MARKS: "'],
        "spoken": [r'SAY "HELLO \u0020\u0020THERE" NOW'],
        "said": [r"HE SAID \"YES\" TO ALL"],
        "lines": [r"FIRST LINE.\nSECOND\tLINE\u2026"],
        "wrapped": ["A TEXT THAT GOES ON IN THE NEXT LINE"],
        "mail": [r"\@home OR ?WHAT"],
        "who": ["HELLO %1$s, YOU HAVE NEW MAIL: %2$d"],
        "html": [r"<b>BOLD</b> ISN\'T <a href=\"x\">A LINK</a> & MORE"],
        "escaped": ["<b>BOLD</b> & MORE"],
        "reference": ["@string/who"],
        "emoji": ["SMILE \U0001f600 NOW"],
        "empty": [""],
        "color": [r"END\u0020"],
        "files": ["%d FILE", "%d FILES"],
        "days": ["MONDAY", "@string/apostrophe"],
        "Theme": ["kept"],
        "other": ["25%p"],
    }


def test_no_text_is_cut_and_the_language_is_stated() -> None:
    written = translated("strings.xml", DATA, marked).decode()
    assert 'tools:locale="de"' in written
    names = re.findall(r'<string name="(\w+)".*?>(.*?)</string>', written, re.DOTALL)
    for name, text in names:
        assert text.count("\u00b6") == (name not in ("app_name", "reference", "empty")), name
        assert re.search(r"\u00b6(?:<[^>]*>|\s|\"|\]\]>|\\u0020)*\Z", text) or name in (
            "app_name",
            "reference",
            "empty",
        ), name


def test_a_translation_that_begins_with_a_sign_of_references_is_no_reference() -> None:
    data = b"<resources><string name='a'>what is it</string></resources>"
    assert b">\\?was</string>" in translated("strings.xml", data, lambda _: "?was")
    assert b">\\@was</string>" in translated("strings.xml", data, lambda _: "@was")


def test_a_translation_that_lost_a_variable_is_reported_and_not_written() -> None:
    reports: list[str] = []
    written = translated("strings.xml", DATA, lambda text: text.replace("%d", "viele"), reports=reports)
    assert b"%d file<" in written
    assert len(reports) == 2
    assert "'%d'" in reports[0]


@pytest.mark.parametrize("data", [b"<html/>", b"<resources><string>", b"<!-- only -->"])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(UserError) as error:
        texts("strings.xml", data)
    assert "\n" not in str(error.value)


XLIFF = "urn:oasis:names:tc:xliff:document:1.2"
PERCENTAGES = [
    "Sie m\u00fcssen 20 % und dann 50 % bezahlen",
    "20 % und dann 50 %",
    "20 % und dann 50 %.",
    "20 % mehr, 50 % davon",
    "20 % Salz, 50 % Mehl",
    "20 %% davon, 50 %% davon",
    "erst %1$s, dann 50 %",
    "%1$s und 50 % davon",
    "100 % sicher",
]


@pytest.mark.parametrize("attributes", ["", " formatted='false'"])
@pytest.mark.parametrize("text", PERCENTAGES)
@pytest.mark.parametrize("inside", ["{}", "<b>{}</b>", f"<xliff:g xmlns:xliff='{XLIFF}'>5 % e</xliff:g> {{}}"])
@pytest.mark.skipif(not shutil.which("aapt2"), reason="aapt2 is not installed; apt-get install aapt")
def test_a_translation_is_written_if_aapt_builds_it(inside: str, text: str, attributes: str, tmp_path: Path) -> None:
    """It takes a percent sign for an argument, and refuses several without numbers; it may refuse the source too."""
    original = text.replace("50 %", "half").replace("20 %", "a fifth")

    def resources(string: str) -> bytes:
        return f"<resources><string name='a'{attributes}>{inside.format(string)}</string></resources>".encode()

    def builds(data: bytes) -> bool:
        (tmp_path / "res" / "values").mkdir(parents=True, exist_ok=True)
        (tmp_path / "res" / "values" / "strings.xml").write_bytes(data)
        command = ["aapt2", "compile", "-o", "c.zip", "--dir", "res"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0

    reports: list[str] = []
    data = resources(original)
    written = translated("strings.xml", data, lambda unit: unit.replace(original, text), reports=reports)
    is_wanted = builds(resources(text)) or not builds(data)
    assert (text.encode() in written, len(reports)) == (is_wanted, 0 if is_wanted else 1)


def compiled(data: bytes, folder: Path) -> str:
    """Return what aapt2 reads in a file."""
    (folder / "res" / "values").mkdir(parents=True, exist_ok=True)
    (folder / "res" / "values" / "strings.xml").write_bytes(data)
    (folder / "AndroidManifest.xml").write_text('<manifest package="a.b"><application/></manifest>')
    for command in (
        ["aapt2", "compile", "-o", "c.zip", "--dir", "res"],
        ["aapt2", "link", "--manifest", "AndroidManifest.xml", "-o", "x.apk", "c.zip"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return subprocess.run(
        ["aapt2", "dump", "resources", "x.apk"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(not shutil.which("aapt2"), reason="aapt2 is not installed; apt-get install aapt")
def test_aapt_reads_the_translation_as_the_reader_was_to_see_it(tmp_path: Path) -> None:
    """In capitals, each string is the original's in capitals; so are white space, marks and formatting."""
    simple = re.sub(rb"<(?:item type|style).*\n|.*\\ud83d.*\n", b"", DATA)  # aapt2 drops emoji in two halves
    before = compiled(simple, tmp_path)
    after = compiled(translated("strings.xml", simple, upper), tmp_path)
    assert "It's" in before
    assert before.upper() == after.upper().replace(' locale="DE"', "")
    assert "\"IT'S ANNA'S, ISN'T IT?\"" in after


@given(st.text(st.sampled_from("aB '\"\\@?\n\t<>&\u2026\U0001f600"), min_size=1, max_size=8))
def test_any_text_can_be_written_and_read_again(text: str) -> None:
    data = b"<resources><string name='a'>words</string></resources>"
    written = translated("strings.xml", data, lambda _: f"x{text}x")
    assert texts("strings.xml", written) == [f"x{text}x"]


def test_a_string_that_is_written_as_an_item_is_translated() -> None:
    data = (
        b'<resources><item name="a" type="string">A b</item><item name="c" type="layout">@layout/c</item></resources>'
    )
    assert translated("strings.xml", data, upper) == data.replace(b"A b", b"A B")


@pytest.mark.parametrize("code", ["MMM d, yyyy", "%1$s", "HH:mm"])
def test_a_code_alone_is_no_text(code: str) -> None:
    assert texts("strings.xml", f'<resources><string name="a">{code}</string></resources>'.encode()) == []
    message = "{n, plural, one {# day} other {# days}}"
    assert texts("strings.xml", f'<resources><string name="a">{message}</string></resources>'.encode()) == [message]


def test_a_line_break_divides_words() -> None:
    data = b'<resources><string name="a">one <u>two</u><br/>three</string></resources>'
    assert texts("strings.xml", data) == ["one <g1>two</g1>\n<g2></g2>three"]
    after = b'<resources><string name="a">ONE <u>TWO</u><br/>THREE</string></resources>'
    assert translated("strings.xml", data, upper) == after
