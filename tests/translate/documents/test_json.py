"""JSON and ARB: strings change in place, and everything else stays, as Python's reader sees it."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.errors import UserError

KEYS = st.sampled_from(["a", "b_one", "b_other", "message", "\u00fc", "c d"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=9,
)


def strings(value: object) -> object:
    """Return JSON with a mark at the end of each string."""
    if isinstance(value, str):
        return f"{value}\u00b6" if value.strip() else value
    if isinstance(value, list):
        return [strings(one) for one in value]
    if isinstance(value, dict):
        if set(value) == {"message"}:
            return {"message": strings(value["message"])}
        return {key: strings(one) for key, one in value.items()}
    return value


@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_only_strings_change(value: object, indent: str | int | None, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    data = (text + "\n").encode("utf-8", "surrogatepass")
    assert unchanged("a.json", data) == (data, data)
    after = translated("a.json", data, marked, reports=[])
    assert json.loads(after) == strings(value) or re.search(r"[%{<$\[#&@/:\\_*\d^]", text)  # part of a placeholder


def test_strings_are_written_as_the_file_writes_them() -> None:
    data = b'{ "a" : "b\\u003ci>\\/x",\r\n\t"a":"d\\u00FC" }'
    after = translated("a.json", data, lambda text: text + "\u00e4\x01/<")
    assert after == b'{ "a" : "b\\u003ci>\\/x\\u00E4\\u0001\\/\\u003c",\r\n\t"a":"d\\u00FC\\u00E4\\u0001/<" }'


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ('{"a": {"b": ["c", 1, {"d": "e f"}]}, "$x": "g", "@y": {"z": "h"}, "//": "i"}', ["c", "e f"]),
        ('{"a": {"message": "Hi", "description": "x", "placeholders": {"y": {"content": "$1"}}}}', ["Hi"]),
        ('{"a": {"message": "Hi", "description": "x", "hash": "5f"}}', ["Hi"]),
        ('{"a": {"defaultMessage": "Hi", "description": "x"}}', ["Hi"]),
        ('{"a": {"string": "Hi", "developer_comment": "x", "context": "y"}}', ["Hi"]),
        ('{"a": {"translation": "Hi", "notes": "x", "limit": 9}}', ["Hi"]),
        ('{"a": {"messageformat": "Hi", "description": "x"}}', ["Hi"]),
        ('{"translations": {"a b": "Hi"}, "pluralForm": "nplurals=2; plural=(n != 1);"}', ["Hi", "<g1/>"]),
        ('{"smartling": {"string_format": "icu"}, "a": {"message": "Hi"}, "b": {"smartling": "c d"}}', ["Hi", "c d"]),
        ('{"a": {"string": "Hi", "error": "x y"}}', ["Hi", "x y"]),
        ('{"locale": "en", "translations": {"1": "Hi"}}', ["Hi"]),
        ('{"locale": "en", "b": "Hi"}', ["en", "Hi"]),
        ('"Hi"', ["Hi"]),
        ('{"a": "Hi $t(b.c, {\\"count\\": 1}) and {{count, number}}"}', ["Hi <g1/> and {{count, number}}"]),
        ('{"a": "<g1/> $t(x)"}', ["<g1/> <gx1/>"]),
        ('{"a": "One\\ntwo", "b": "Three.\\nFour"}', ["One\ntwo", "Three.\nFour"]),
    ],
)
def test_texts_are_those_of_messages(before: str, wanted: list[str]) -> None:
    assert texts("a.json", before.encode()) == wanted
    assert translated("a.json", before.encode(), target="en") == before.encode()


@pytest.mark.parametrize(
    "value", ["user_name", "MAX_SIZE", "de_DE", "app.title.main", "primaryButton", "arrow_back_ios"]
)
def test_identifiers_are_no_texts(value: str) -> None:
    assert texts("a.json", f'{{"a": "{value}", "b": "{value} two"}}'.encode()) == [f"{value} two"]


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
@pytest.mark.parametrize(
    "link",
    [
        "@:message.dio",
        "@.lower:message.the_world",
        "@:{'a b'}",
        "@.myOwn:{'a.b'}",
        "@:(a.b-c)",
        "@:key",
        "[%key:ui::card::not_home%]",
    ],
)
def test_links_to_other_messages_stay(name: str, link: str) -> None:
    data = f'{{"a": "See {link}, mail a@b.example: now"}}'.encode()
    assert texts(name, data) == ["See <g1/>, mail a@b.example: now"]
    wanted = f'{{"a": "SEE {link}, MAIL a@b.example: NOW"}}'
    assert translated(name, data, upper).decode() == wanted
    reports: list[str] = []
    assert translated(name, data, lambda text: text.replace("<g1/>", "it"), reports=reports) == data
    assert len(reports) == 1
    assert "exactly once" in reports[0]


@pytest.mark.parametrize(("other", "is_variable"), [("By $1", True), ("Only $1.50", False), ("By $10", False)])
def test_a_numbered_variable_may_be_alone_in_a_message_if_another_has_the_first(other: str, is_variable: bool) -> None:
    data = json.dumps({"a": "Error: $2.", "b": {"days_one": "$3 day", "days_other": "$3 days"}, "c": other}).encode()
    assert texts("a.json", data)[:2] == (["Error: <g1/>.", "<g1/> day"] if is_variable else ["Error: $2.", "$3 day"])
    reports: list[str] = []
    after = translated("a.json", data, lambda text: text.replace("$", "").replace("<g1/>", ""), reports=reports)
    assert (b"$2" in after) == is_variable == bool(reports)


def test_variables_of_chrome_may_be_beside_letters() -> None:
    text = "$USER$s page: read $START_LINK$the terms$END_LINK$ for $$5"
    data = json.dumps({"a": {"message": text, "placeholders": {}}}).encode()
    message = json.loads(translated("messages.json", data, upper))["a"]["message"]
    assert message == "$USER$S PAGE: READ $START_LINK$THE TERMS$END_LINK$ FOR $$5"


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_variables_of_laravel_stay(name: str) -> None:
    data = b'{"a": "Dear :name, (:count) of :Max at 10:30 a: b::c d:e {x}:fg"}'
    wanted = '{"a": "DEAR :name, (:count) OF :Max AT 10:30 A: B::C D:E {x}:FG"}'
    assert translated(name, data, upper).decode() == wanted


@pytest.mark.parametrize("value", ["E-Mail", "und/oder", "GmbH", "z.B.", "OK", "Hello.", "Datei", "über_uns", "a.m."])
def test_words_with_signs_are_texts(value: str) -> None:
    assert texts("a.json", f'{{"a": "{value}"}}'.encode()) == [value]


@pytest.mark.parametrize(
    ("name", "data", "is_icu"),
    [
        ("a.json", '{"a": {"defaultMessage": "x {n} y"}}', True),
        ("a.json", '{"a": "x {n} y", "b": "{n, plural, one {#} other {#}}"}', True),
        ("a.json", '{"a": "x {n} y", "b": "{{n, number}}"}', False),
        ("a.yaml", '{"a": "x {n} y", "b": "{n, plural, one {#} other {#}}"}', True),
        ("a.yaml", '{"a": "x {n} y", "b": "%{n}"}', False),
        ("a.arb", '{"a": "x {n} y", "b": "It\'\'s"}', True),
        ("a.arb", '{"a": "x {n} y", "b": "{n, plural, one {#} other {#}}"}', False),
    ],
)
def test_an_apostrophe_before_a_brace_quotes_nothing(name: str, data: str, is_icu: bool) -> None:
    after = translated(name, data.encode(), lambda text: text.replace("{n} y", "'{n}' it's")).decode()
    assert after == data.replace("{n} y", "''{n}' it's" if is_icu else "'{n}' it's")


def test_quotations_of_a_message_of_icu_stay() -> None:
    data = b'{"a": {"defaultMessage": "Write \'{n}\' now"}}'
    assert translated("a.json", data, lambda text: text.replace("now", "jetzt")) == data.replace(b"now", b"jetzt")


def test_each_branch_of_a_message_is_translated() -> None:
    before = '{"a": "{n, plural, =0 {no file} one {# file in {dir}} other {{s, select, x {y} other {# files}}}}!"}'
    after = translated("a.json", before.encode(), upper).decode()
    # `upper` has the branches of the outer message only; the inner message is in one of them.
    assert "=0 {NO FILE} one {# FILE IN {dir}} other {{s, select, x {" in after


@pytest.mark.parametrize("said", ["{n} a", "a", "{{name}} %s", "{{name}}{{name}}"])
def test_a_translation_with_other_codes_is_reported(said: str) -> None:
    reports = list[str]()
    data = b'{"a":\n"x {{name}}"}'
    assert translated("a.json", data, lambda text: said, reports=reports) == data
    assert reports[0].startswith("a.json, line 2: is not translated, as the translation ")


def test_plurals_of_i18next_get_the_forms_of_the_target() -> None:
    before = '{\n  "a_one": "{{count}} item",\n  "a_other": "{{count}} items",\n  "b_other": "c"\n}\n'
    assert (
        translated("a.json", before.encode(), upper)
        == before.replace("item", "ITEM").replace('s"', 'S"').replace('"c"', '"C"').encode()
    )
    after = translated("a.json", before.encode(), upper, target="pl").decode()
    assert list(json.loads(after)) == ["a_one", "a_other", "a_few", "a_many", "b_other"]
    assert '"{{count}} ITEMS",\n  "a_few": "{{count}} ITEMS",\n  "a_many": "{{count}} ITEMS",\n' in after


@pytest.mark.parametrize("source", ["fr", "es", "it", "pt"])
def test_a_plural_needs_no_form_for_millions_to_get_other_forms(source: str) -> None:
    """Most files in these languages have none."""
    after = translated("a.json", b'{"a_one": "x y", "a_other": "x z"}', upper, source=source, target="pl")
    assert list(json.loads(after)) == ["a_one", "a_other", "a_few", "a_many"]


def test_plurals_of_i18next_3_are_reported_for_languages_with_other_forms() -> None:
    data = b'{"b": "c d",\n"a": "{{count}} dog", "a_plural": "{{count}} dogs", "e": {"f": "g h", "f_plural": "i j"}}'
    for target, n_reports in (("de", 0), ("fr", 0), ("pl", 1), ("ja", 1)):
        reports = list[str]()
        assert translated("a.json", data, upper, target=target, reports=reports).upper().count(b"DOGS") == 1
        assert [report.split(":")[0] for report in reports] == ["a.json, line 2"] * n_reports


def test_ordinals_of_i18next_get_the_forms_of_the_target() -> None:
    after = translated("a.json", b'{"a_ordinal_other": "{{count}}. x"}', upper, source="de", target="en")
    assert set(json.loads(after)) == {f"a_ordinal_{name}" for name in ("one", "two", "few", "other")}


def test_arb_keeps_what_is_about_messages() -> None:
    before = '{"@@locale": "en_US", "a": "One", "@a": {"description": "Two", "placeholders": {"n": {}}}, "@@x": "y"}'
    assert texts("a.arb", before.encode()) == ["One"]
    after = translated("a.arb", before.encode(), upper).decode()
    assert after == before.replace("en_US", "de").replace("One", "ONE")
    angular = b'{"locale": "en", "translations": {"1": "a"}}'
    assert translated("a.json", angular, upper) == b'{"locale": "de", "translations": {"1": "A"}}'


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a": 1,}', "[1 2]", '{"a" 1}', '{a: "b"}', '"a\nb"', "[1]]", '{"a": "\\x"}', "// x\n{}", "nul", "[}"],
)
def test_what_is_not_json_is_one_sentence(text: str) -> None:
    with pytest.raises(UserError, match=r"^a\.json, line \d+: [^\n]+; correct it$"):
        texts("a.json", text.encode())


@pytest.mark.parametrize(
    "text",
    [
        '{"locale_data": {"messages": {"": {"plural_forms": "nplurals=2; plural=(n != 1);"}, "One": [""]}}}',  # Jed
        '{"": {"language": "de", "plural-forms": "nplurals=2; plural=n>1;"}, "One": "Eins"}',  # gettext.js
        '{"headers": {"Plural-Forms": " nplurals=1; plural=0"}, "translations": {}}',  # gettext-parser
    ],
)
def test_a_file_made_of_po_is_refused(text: str) -> None:
    """Its keys are the sources, and its header would be translated."""
    with pytest.raises(UserError, match=r"^a\.json: is made of a PO file; translate that file"):
        texts("a.json", text.encode())


def test_the_mark_of_a_key_is_before_a_letter_of_the_translation() -> None:
    before = '{"a": "&&Open file", "b": "Save &as", "c": "Save && close", "d": "_a &b", "e": "Drag&drop", "f": "R&D"}'
    assert texts("a.json", before.encode()) == ["Open file", "Save as", "Save & close", "_a &b", "Drag&drop", "R&D"]
    assert translated("a.json", before.encode(), upper) == (
        b'{"a": "&&OPEN FILE", "b": "SAVE &AS", "c": "SAVE && CLOSE", "d": "_A &B", "e": "DRAG&DROP", "f": "R&D"}'
    )


def test_depth_is_no_limit() -> None:
    data = b"[" * 100_000 + b'"a"' + b"]" * 100_000
    assert translated("a.json", data, upper) == data.replace(b"a", b"A")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_mark_of_the_byte_order_stays(encoding: str) -> None:
    assert translated("a.json", '{"a": "\u00fc"}'.encode(encoding), upper) == '{"a": "\u00dc"}'.encode(encoding)
