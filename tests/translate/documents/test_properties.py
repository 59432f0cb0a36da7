"""Java properties: values change, and everything else stays, as the library javaproperties reads it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.errors import UserError

LINES = st.sampled_from(
    [
        "# note = x",
        "! note",
        "",
        "  ",
        "key = ",
        "a=b",
        "b : two words",
        "c d e",
        "d=\\u00fc",
        "e=a\\=b\\:c\\#\\!",
        "=x",
    ]
    + [
        "f=one \\\n    two",
        "g=\\\n  a\\n\\\n  b\\n",
        "h\\ i=j\\tk",
        "k=l \\\\",
        "  m   =   n o  ",
        "p={0} it''s",
        "q\\\n  r=s",
    ]
)


@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_only_values_change(lines: list[str], end: str, is_closed: bool) -> None:
    javaproperties = pytest.importorskip("javaproperties")
    text = end.join(lines).replace("\n", end) + end * is_closed
    data = text.encode("latin-1")
    assert unchanged("a.properties", data) == (data, data)
    before = javaproperties.loads(text, object_pairs_hook=list)
    after = javaproperties.loads(translated("a.properties", data, marked).decode("latin-1"), object_pairs_hook=list)
    assert after == [(key, value + "\u00b6" if value.strip() else value) for key, value in before]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a=b", "a=\\u00fc\\u201e\\ud83d\\ude00"),
        ("a=\\u00C4", "a=\\u00FC\\u201E\\uD83D\\uDE00"),
        ("# \u00e4\na=b", "# \u00e4\na=\u00fc\u201e\U0001f600"),
    ],
)
def test_letters_are_written_as_the_file_writes_them(before: str, after: str) -> None:
    assert translated("a.properties", before.encode(), lambda text: "\u00fc\u201e\U0001f600").decode() == after


def test_latin_1_is_read_and_written() -> None:
    after = translated("a.properties", b"a=\xe4", lambda text: text + "\u00fc\u201e")
    assert after == b"a=\xe4\xfc\\u201e"


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        ("a=It''s {0}", "Das ist's {0}", "a=Das ist''s {0}"),
        ("a={0} files", "{0} file's", "a={0} file''s"),
        ("a=files", "file's", "a=file's"),
        ("a=don't {0}", "isn't {0}", "a=isn't {0}"),
        ("a=It''s\nb=files", "isn't", "a=isn''t\nb=isn''t"),
        ("a={0} x\\: y", "z: {0}", "a=z\\: {0}"),
        ("a=b c", " d", "a=\\ d"),
        ("a=b c", "d\ne\\f", "a=d\\ne\\\\f"),
    ],
)
def test_translations_are_escaped_like_their_sources(before: str, said: str, after: str) -> None:
    assert translated("a.properties", before.encode(), lambda text: said).decode() == after


def test_quoted_braces_are_an_object() -> None:
    data = b"a=It''s '{'0'}' or {1}"
    assert texts("a.properties", data) == ["It's <g1/>0<g2/> or {1}"]
    after = translated("a.properties", data, lambda text: "{1} <g2/><g1/> isn't")
    assert after == b"a={1} '}''{' isn''t"


def test_the_mark_of_a_key_is_before_a_letter_of_the_translation() -> None:
    before = b"a=&Open file\nb=Save &as {0}, it''s\nc=Drag&drop\nd=R&D or a &nbsp; b\ne=This && that\nf=G~o"
    words = ["Open file", "Save as {0}, it's", "Drag&drop", "R&D or a &nbsp; b", "This & that", "G~o"]
    assert texts("a.properties", before) == words
    said = {words[0]: "Offen", words[1]: "{0} ist's als"}
    after = translated("a.properties", before, lambda text: said.get(text, text))
    assert after == before.replace(b"&Open file", b"&Offen").replace(b"Save &as {0}, it''s", b"{0} ist''s &als")


def test_continued_lines_stay_as_broad() -> None:
    before = "a=one two three four \\\n    five six seven \\\n    eight\nb=\\\n  c\\n\\\n  d\n"
    after = translated("a.properties", before.encode(), upper).decode()
    assert after == before.replace("\\n", "\0").upper().replace("\0", "\\n").replace("A=", "a=").replace("B=", "b=")
    longer = translated("a.properties", before.encode(), lambda text: text.replace(" ", " and a ")).decode()
    assert max(map(len, longer.split("\n"))) <= 30


def test_each_text_of_a_choice_is_translated() -> None:
    before = b"a=There {0,choice,0#are no files|1#is one file|1<are {0} files} in {1}.\n"
    after = translated("a.properties", before, upper).decode()
    assert after == "a=THERE {0,choice,0#ARE NO FILES|1#IS ONE FILE|1<ARE {0} FILES} IN {1}.\n"
    reports = list[str]()
    for wrong in ("is|one file", "is 'one' file", "is one {0}"):
        said = before.decode().replace("is one file", wrong)[2:]
        assert translated("a.properties", before, lambda _, said=said: said, reports=reports) == before
    assert len(reports) == 3


@pytest.mark.parametrize("said", ["{0}", "x {1} y", "{0} {0} %s", "%s"])
def test_a_translation_with_other_codes_is_reported(said: str) -> None:
    reports = list[str]()
    assert translated("a.properties", b"a={0} of %s", lambda text: said, reports=reports) == b"a={0} of %s"
    assert re.fullmatch(r"a\.properties, line 1: is not translated, as the translation .*", reports[0])


def test_an_escape_without_digits_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"^a\.properties, line 2: has \\u without"):
        texts("a.properties", b"a=b\nc=\\u00\n")
