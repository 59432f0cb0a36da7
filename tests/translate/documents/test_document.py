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


def test_the_documentation_names_no_format_twice() -> None:
    """A suffix is in one row of the table, and not among those that are refused."""
    named = re.findall(
        r"`(\.\w+)`", "".join(re.findall(r"^\| (.*?) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    )
    assert len(named) == len(set(named))
    assert not {".doc", ".pdf"} & {*named}
