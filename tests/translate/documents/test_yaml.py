"""YAML: strings change in place, and everything else stays, as PyYAML's reader sees it."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.errors import UserError

# Without the signs of placeholders, whose texts have tags.
LETTERS = st.text(st.sampled_from("ab\u00e4\U0001f600 \n'\"#:,-?!|>.\t"), max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | LETTERS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "\u00fc", "c d"]), inner, max_size=3)
    ),
    max_leaves=9,
)
DUMPED = st.builds(
    lambda value, flow, style, wide: yaml.safe_dump(
        value, default_flow_style=flow, default_style=style, width=80 if wide else 5, allow_unicode=True
    ),
    VALUES,
    st.sampled_from([None, True, False]),
    st.sampled_from([None, '"', "'", "|", ">"]),
    st.booleans(),
)


def strings(value: object) -> object:
    """Return a value with a mark at the end of each string with a letter; the last line breaks stay at its end."""
    if isinstance(value, str):
        text = value.rstrip("\n")
        return f"{text}\u00b6{value[len(text) :]}" if re.search("[ab\u00e4]", text) else value
    if isinstance(value, list):
        return [strings(one) for one in value]
    if isinstance(value, dict):
        return {key: strings(one) for key, one in value.items()}
    return value


@given(DUMPED)
def test_only_strings_change(text: str) -> None:
    data = text.encode()
    assert unchanged("a.yaml", data) == (data, data)
    reports = list[str]()
    after = yaml.safe_load(translated("a.yaml", data, marked, reports=reports))
    assert after == strings(yaml.safe_load(text)) or reports


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("a: x y  # z", "a: X Y  # z"),
        ("a: 'it''s'", "a: 'IT''S'"),
        ('"a": "b \\"c\\"\\n"', '"a": "B \\"C\\"\\n"'),
        ("a: &b !!str x", "a: &b !!str X"),
        ("- [x, 'y', {z: w}]", "- [X, 'Y', {z: W}]"),
        ("a: x\n  y", "a: X Y"),
        ("a: |-\n    x\n      y\n\n    z\n\nb: 1", "a: |-\n    X\n      Y\n\n    Z\n\nb: 1"),
        ("a: |2\n   x\n  y\n", "a: |2\n   X\n  Y\n"),
        ("a: >\r\n  x\r\n  y\r\nb: 1\r\n", "a: |\r\n  X Y\r\nb: 1\r\n"),
        ("a: &b x\nc: *b", "a: &b X\nc: *b"),
        ("---\na: x\n...\n---\na: y\n", "---\na: X\n...\n---\na: Y\n"),
    ],
)
def test_texts_are_written_as_the_file_writes_them(line: str, wanted: str) -> None:
    assert translated("a.yml", line.encode(), upper).decode() == wanted


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("b: c", "'b: c'"),
        ("b #c", "'b #c'"),
        ("yes", "'yes'"),
        ("12", "'12'"),
        ("- b", "'- b'"),
        ("it's: b", "'it''s: b'"),
        ("b\nc", '"b\\nc"'),
        ("b, c]", "b, c]"),
    ],
)
def test_a_text_that_is_not_plain_gets_quotes(said: str, written: str) -> None:
    assert translated("a.yml", b"a: x\n", lambda text: said).decode() == f"a: {written}\n"
    assert yaml.safe_load(translated("a.yml", b"[x, {a: x}]", lambda text: said)) == [said, {"a": said}]


def test_escapes_stay_escapes() -> None:
    after = translated("a.yml", b'a: "\\u00e4"', lambda text: f"{text}\u00fc\U0001f600")
    assert after == b'a: "\\u00e4\\u00fc\\U0001f600"'


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("a: 5\nb: true\nc: 2024-01-01\nd: null\ne: ~\nf: x", ["x"]),
        ("a: user_name\nb: :year\nc: '%d.%m.%Y'\nd: '%-d. %B'\ne: x", ["x"]),
        ("a: !ruby/regexp /x/\nb: x", ["x"]),
        ("a: !!str # y\n  z\nb: x", ["x"]),
        ("a: &a [x, *a]", ["x"]),
        ("a: 'am %d. %B'", ["am %d. %B"]),
        ("'@a': y\n$b: y\n//: y\nc: x", ["x"]),
        ("- id: home\n  translation: x", ["x"]),
        ("a:\n  description: y\n  one: x\n  other: z", ["x", "z"]),
        ("description: x\nother: z\nmore: w", ["x", "z", "w"]),
        ("a: 'Hi %{name}, {{count}}'", ["Hi %{name}, {{count}}"]),
        ("? [a, b]\n: x", ["x"]),
        ("a: [ :year, :day ,:x]\nb: {:c: :d, 'e':f, \"g\" :h i, [j]:k, l: x}", ["f", "h i", "k", "x"]),  # as in Rails
        ("", []),
    ],
)
def test_texts_are_those_of_messages(before: str, wanted: list[str]) -> None:
    assert sorted(texts("a.yml", before.encode())) == sorted(wanted)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("en:\n  a: x\n", "de-AT:\n  a: X\n"),
        ('"en-US": # here\n  a: x\n', '"de-AT": # here\n  a: X\n'),
        ("fr:\n  a: x\n", "fr:\n  a: X\n"),
        ("en:\n  a: x\nfr:\n  a: x\n", "en:\n  a: X\nfr:\n  a: X\n"),
        ("en: x\n", "en: X\n"),
        ("de-CH:\n  a: x\n", "de-AT:\n  a: X\n"),
    ],
)
def test_the_only_key_is_the_language_of_rails(before: str, after: str) -> None:
    assert translated("a.yml", before.encode(), upper, target="de-AT").decode() == after


def test_plurals_get_the_forms_of_the_target() -> None:
    before = 'en:\n  a:\n    one: "%{count} item"\n    other: "%{count} items" # many\n  b: x\n'
    after = translated("a.yml", before.encode(), upper, target="pl").decode()
    assert yaml.safe_load(after)["pl"]["a"] == {
        "one": "%{count} ITEM",
        **dict.fromkeys(("other", "few", "many"), "%{count} ITEMS"),
    }
    assert '    other: "%{count} ITEMS" # many\n    few: "%{count} ITEMS"\n' in after
    assert translated("a.yml", b"a: {one: x, other: y}", upper, target="pl") == b"a: {one: X, other: Y}"
    assert translated("a.yml", b"a:\n  one: x\n  other: y\n  more: z", upper, target="pl").count(b"few") == 0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a: [x", "a.yml, line 1: is not YAML: "),
        (b"a: b\nc: d: e", "a.yml, line 2: is not YAML: "),
        (b"a: *b", "a.yml, line 1: is not YAML: "),
        (b"a: b\nc: \x01", "a.yml, line 2: has a character that YAML does not have"),
        (b"[" * 5000, "a.yml: is nested too deeply"),
    ],
)
def test_what_is_no_yaml_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        texts("a.yml", data)


def test_aliases_of_aliases_are_read_once() -> None:
    laughs = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
    assert texts("a.yml", laughs.encode()) == ["x"]


@pytest.mark.parametrize("said", ["%{n} a", "a", "%{name} %{name}"])
def test_a_translation_with_other_variables_is_reported(said: str) -> None:
    reports = list[str]()
    data = b"a:\n  b: x %{name}"
    assert translated("a.yml", data, lambda text: said, reports=reports) == data
    assert reports[0].startswith("a.yml, line 2: is not translated, as the translation ")
