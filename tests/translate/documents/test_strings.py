"""Strings of Apple: values change, and everything else stays, as the library openstep-plist reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.errors import UserError

PARTS = st.sampled_from(
    ['"a" = "b c";', "/* \"x\" = 'y'; */", "// z = ;", 'key.a-b = "d";', "'e' = 'f \"g\" it\\'s';", '"h";', '"i"="";']
    + [
        '"j" = "k\\n\\"l\\" \\\\ \\U00fc\\Ud83d\\Ude00";',
        '"m" = "n\no\t";',
        '"p"\n=\n"%@ q" ;',
        '"r" = bare;',
        '"s"="\\303";',
    ]
)


@given(
    st.lists(PARTS, max_size=8), st.sampled_from(["\n", "\r\n", " "]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])
)
def test_only_values_change(parts: list[str], end: str, encoding: str) -> None:
    plist = pytest.importorskip("openstep_plist")
    text = "\n".join([*parts, ""]) if end == " " else end.join([*parts, ""])
    data = text.encode(encoding)
    assert unchanged("a.strings", data) == (data, data)
    before, after = plist.loads(text), plist.loads(translated("a.strings", data, marked).decode(encoding))
    kept = ("h", "i", "r")  # without a value, or with a name
    assert after == {key: value if key in kept else f"{value}\u00b6" for key, value in before.items()}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_files_without_a_mark_of_the_byte_order_are_read(encoding: str) -> None:
    assert translated("a.strings", '"a" = "\u00fc";'.encode(encoding), upper) == '"a" = "\u00dc";'.encode(encoding)


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        ('"a" = "b";', 'c "d" \\ it\'s\n', '"a" = "c \\"d\\" \\\\ it\'s\\n";'),
        ("'a' = 'b';", 'c "d" it\'s', "'a' = 'c \"d\" it\\'s';"),
        ('"a" = "b\n";', "c\n", '"a" = "c\n";'),
        ('"a" = "\\U00fc";', "\u00fc\u00e4", '"a" = "\\U00fc\u00e4";'),
    ],
)
def test_translations_are_escaped_like_their_sources(before: str, said: str, after: str) -> None:
    assert translated("a.strings", before.encode(), lambda text: said).decode() == after


@pytest.mark.parametrize("code", ["%@", "%1$@", "%ld", "%lu", "%.2f", "%#@n@", "%*d", "%d%%", "{n}"])
def test_codes_are_held(code: str) -> None:
    data = f'"a" = "before {code} after";'.encode()
    assert translated("a.strings", data, upper).decode() == f'"a" = "BEFORE {code} AFTER";'
    reports = list[str]()
    assert translated("a.strings", data, lambda text: "before", reports=reports) == data
    assert len(reports) == 1


@pytest.mark.parametrize("text", ['"a" "b";', '"a" = "b"', '"a = "b";', '"a" = {b = c;};', "/* x", '= "b";'])
def test_what_is_no_file_of_strings_is_one_sentence(text: str) -> None:
    with pytest.raises(UserError, match=r"^a\.strings, line 1: [^\n]+; (correct|complete) it$"):
        texts("a.strings", text.encode())


def test_a_letter_with_a_needless_backslash_is_written_without_it_elsewhere() -> None:
    data = rb"""'a' = 'd\u00e9 \"x\"';"""
    after = translated("a.strings", data, lambda text: f'{text} nu "y"')
    assert after == rb"""'a' = 'du00e9 \"x\" nu \"y\"';"""
