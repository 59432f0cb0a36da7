"""Formats of documents: the table of suffixes, and what holds for every one of them."""

import importlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.documents.document import MODULES, Reading, has_format, read
from translate.errors import UserError

DOCS = Path(__file__).parents[3] / "docs" / "documents.md"
ALPHABET = st.sampled_from("aÖ 1\t\n\r\"'<>&/=\\{}[]()#;:,.%$@!?-\x00\x1b\u00a0\u2028\ufeff")
BYTES = st.one_of(st.binary(max_size=99), st.text(ALPHABET, max_size=99).map(str.encode))


def reading(suffix: str) -> Reading:
    return Reading(name=f"a{suffix}", source="de", target="en")


@pytest.mark.parametrize("suffix", sorted(MODULES))
def test_a_format_has_a_module_that_reads(suffix: str) -> None:
    assert suffix == suffix.lower()
    assert has_format(f"A{suffix.upper()}")
    assert callable(importlib.import_module(f"translate.documents.{MODULES[suffix]}").read)


@pytest.mark.parametrize("suffix", sorted(MODULES))
@given(data=BYTES)
def test_any_bytes_are_the_same_file_or_refused_with_the_name(suffix: str, data: bytes) -> None:
    refused = ""
    try:
        document = read(data, reading(suffix))
        assert document.write([None] * len(document.units)) == data
    except UserError as error:
        refused = str(error)
    assert not refused or f"a{suffix}" in refused or "this needs the package" in refused
    assert "\n" not in refused


def test_files_without_a_format_are_no_documents() -> None:
    for name in ("a.txt", "a.md", "a", ".docx.txt"):
        assert not has_format(name)
        with pytest.raises(UserError, match="is no document"):
            read(b"", Reading(name=name, source="de", target="en"))
    with pytest.raises(
        UserError, match=r"a\.PDF: files of the format \.pdf are not translated; translate the document"
    ):
        has_format("a.PDF")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a.html.erb", "--format html"),
        ("a.cpp", "file of messages"),
        ("a.bib", "--format text"),
        ("a.opml", "--format text"),
    ],
)
def test_code_and_templates_are_refused_with_what_to_do_instead(name: str, remedy: str) -> None:
    with pytest.raises(UserError, match=remedy):
        has_format(name)
    assert not has_format(name.rpartition(".")[0] + ".pl")  # also a language


def test_the_documentation_names_no_format_twice() -> None:
    """A suffix is in one row of the table, and not among those that are refused."""
    named = re.findall(
        r"`(\.\w+)`", "".join(re.findall(r"^\| (.*?) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    )
    assert len(named) == len(set(named))
    assert not {".doc", ".pdf"} & {*named}


def stated(name: str, data: bytes, target: str) -> str:
    """Return a document whose texts, in German, are translated."""
    document = read(data, Reading(name=name, source="de", target=target))
    return document.write([unit.text.upper() for unit in document.units]).decode()


_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
# Where documents state a language, and documents around that.
_STATING = {
    "a.xlf": (
        'target-language="{code}"',
        '<xliff version="1.2"><file source-language="de" %s><body><trans-unit id="1"><source>Ein Haus</source>'
        "</trans-unit></body></file></xliff>",
    ),
    "b.xlf": (
        'trgLang="{code}"',
        '<xliff version="2.0" srcLang="de" %s xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f"><unit id="u">'
        "<segment><source>Ein Haus</source></segment></unit></file></xliff>",
    ),
    "a.po": (
        '"Language: {_code}\\n"',
        'msgid ""\nmsgstr ""\n%s\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Ein Haus"\nmsgstr ""\n',
    ),
    "a.ts": (
        'language="{_code}"',
        '<TS version="2.1" %s><context><name>a</name><message><source>Ein Haus</source>'
        '<translation type="unfinished"></translation></message></context></TS>',
    ),
    "a.arb": ('"@@locale": "{_code}"', '{%s, "haus": "Ein Haus"}'),
    "a.json": ('"locale": "{code}"', '{%s, "translations": {"haus": "Ein Haus"}}'),
    "a.ttml": ('xml:lang="{code}"', '<tt xmlns="http://www.w3.org/ns/ttml" %s><body><p>Ein Haus</p></body></tt>'),
    "a.dita": ('xml:lang="{code}"', '<topic id="t" %s><title>Ein Haus</title></topic>'),
    "a.fodt": (
        'fo:language="{language}" fo:country="{region}"',
        f'<office:document xmlns:office="{_OFFICE}office:1.0" xmlns:fo="{_OFFICE}xsl-fo-compatible:1.0" '
        f'xmlns:style="{_OFFICE}style:1.0" xmlns:text="{_OFFICE}text:1.0" '
        'office:mimetype="application/vnd.oasis.opendocument.text"><office:styles><style:default-style>'
        "<style:text-properties %s/></style:default-style></office:styles><office:body><office:text>"
        "<text:p>Ein Haus</text:p></office:text></office:body></office:document>",
    ),
    "a.tex": (
        r"\usepackage[{babel}]{{babel}}",
        "\\documentclass{article}\n%s\n\\begin{document}\nEin Haus\n\\end{document}\n",
    ),
}
_IN_THE_TARGET = ("a.xlf", "b.xlf", "a.po", "a.ts")  # which state another language than that of their sources


@pytest.mark.parametrize("name", _STATING)
@pytest.mark.parametrize(
    ("target", "likely", "babel"),
    [("en-GB", "GB", "british"), ("en-US", "US", "american"), ("en", "US", "english"), ("fr-CA", "CA", "canadien")],
)
def test_a_document_states_the_language_that_was_asked_for(name: str, target: str, likely: str, babel: str) -> None:
    """A region is in it if the user named one; programs of offices always have one."""

    def statement(code: str, region: str, babel: str) -> str:
        language, underscored = code.partition("-")[0], code.replace("-", "_")
        return _STATING[name][0].format(code=code, _code=underscored, language=language, region=region, babel=babel)

    before = statement("sv" if name in _IN_THE_TARGET else "de", "DE", "ngerman")
    found = stated(name, (_STATING[name][1] % before).encode(), target)
    assert statement(target, likely, babel) in found
    assert "EIN HAUS" in found


def test_the_region_that_a_file_names_stays_unless_another_was_asked_for() -> None:
    data = (_STATING["b.xlf"][1] % 'trgLang="en-US"').encode()
    assert 'trgLang="en-US"' in stated("a.xlf", data, "en")
    assert 'trgLang="en-GB"' in stated("a.xlf", data, "en-GB")
    filled = data.replace(b"</source>", b"</source><target>a house</target>")  # is no other language
    assert not [
        unit for unit in read(filled, Reading(name="a.xlf", source="de", target="en-GB")).units if not unit.done
    ]
