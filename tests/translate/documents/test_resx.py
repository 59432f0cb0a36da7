"""Resources of .NET: strings in sight are translated, everything else stays byte for byte."""

import re
from pathlib import Path

import pytest
from lxml import etree

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.errors import UserError

DATA = (Path(__file__).parents[2] / "documents" / "strings.resx").read_bytes()
STRINGS = ("Greeting", "menu.Text", "lines", "cloud", "markup")


def values(data: bytes) -> dict[str, str | None]:
    return {e.get("name"): e.findtext("value") for e in etree.fromstring(data).iter("data", "resheader", "metadata")}


def test_its_own_texts_give_the_same_file() -> None:
    assert unchanged("a.resx", DATA) == (DATA, DATA)


def test_strings_are_translated_and_nothing_else() -> None:
    before, after = values(DATA), values(translated("a.resx", DATA, upper))
    new = {
        "Greeting": "HELLO {0}, IT'S <b>{1:N0}</b> O'CLOCK & MORE",
        "menu.Text": "&OPEN THE FILE",
        "lines": "FIRST LINE.\nSECOND LINE.",
        "cloud": "LOG IN TO Azure NOW",
        "markup": "<p>READ & GO</p>",
    }
    assert after == before | new
    assert b"<![CDATA[<p>READ & GO</p>]]>" in translated("a.resx", DATA, upper)


def test_all_but_values_stays() -> None:
    def frame(data: bytes) -> bytes:
        return re.sub(rb"<value>.*?</value>", b"", data, flags=re.DOTALL)

    assert frame(translated("a.resx", DATA, marked)) == frame(DATA)


def test_no_text_is_cut() -> None:
    after = values(translated("a.resx", DATA, marked))
    assert {name for name, text in after.items() if text and text.endswith("\u00b6")} == {*STRINGS}
    assert all(text.count("\u00b6") < 2 for text in after.values() if text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1"])
def test_the_encoding_and_the_line_ends_stay(encoding: str) -> None:
    declared = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    text = DATA.decode().replace('encoding="utf-8"', f'encoding="{declared}"').replace("\n", "\r\n")
    data = text.encode(encoding)
    assert unchanged("a.resx", data) == (data, data)
    written = translated("a.resx", data, lambda text: f"{text} \u20ac")
    assert written[:3] == data[:3]
    assert written.decode(encoding).count("\r\n") == text.count("\r\n")
    assert values(written)["lines"] == "First line.\nSecond line. \u20ac"


def test_a_translation_that_lost_a_variable_is_reported_and_not_written() -> None:
    reports: list[str] = []
    written = translated("a.resx", DATA, lambda text: text.replace("{0}", ""), reports=reports)
    assert values(written)["Greeting"] == values(DATA)["Greeting"]
    assert len(reports) == 1
    assert "entry 'Greeting'" in reports[0]


@pytest.mark.parametrize("data", [b"<resources/>", b"<root><data>", b""])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(UserError):
        texts("a.resx", data)


@pytest.mark.parametrize("kind", ["System.String", "System.String, mscorlib, Version=4.0.0.0"])
def test_a_value_with_the_type_of_a_string_is_translated(kind: str) -> None:
    data = f'<root><data name="a" type="{kind}"><value>A b</value></data></root>'
    assert translated("a.resx", data.encode(), upper).decode() == data.replace("A b", "A B")
    other = data.replace("System.String", "System.StringComparer").encode()
    assert translated("a.resx", other, upper) == other
