"""Fluent: texts change, and everything else stays, as the library fluent.syntax reads it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.documents.document import Reading, read
from translate.errors import UserError
from translate.inference.documents import lines

MESSAGES = st.sampled_from(
    [
        *("a = one two", "a=b", "a   =   b  ", "# note", "## note", "", "   ", "-t = b\n    .gender = masculine"),
        "b =\n    one\n    two",
        "c = one\n\n      two\n    three",
        "d = x { $n } y",
        "d = { $n ->\n    [one] x\n   *[other] y { $n }\n}",
        "e =\n  in { NUMBER($n, a: 1) ->\n     [0]\n        none\n        at all\n"
        "    *[other] z { $m ->\n  *[a] q\n} r\n  } out",
        "k = a { $n ->\n    [x] b { $m ->\n  *[y] c\n }\n   *[z] d\n} e { $o ->\n  [x] f\n *[y] g\n} h",
        "f = v\n    .label = l\n    .accesskey = k",
        "f =\n    .label = l\n    .title =\n      m\n      n",
        'g = { "{" } h { -t(a: "b") } { msg.attr }',
        "h = x\n{ $n } y",
        "i = [a] *b .c",
        'j = a{""}\n  b',
    ]
)


def shown(node: Any, edit: Any) -> Any:
    """Return a syntax tree as plain values, each text of its patterns edited."""
    from fluent.syntax import ast

    if isinstance(node, ast.TextElement):
        return edit(node.value)
    if isinstance(node, ast.Attribute) and node.id.name in ("accesskey", "gender"):
        return shown(node.value, str)
    if isinstance(node, ast.BaseNode):
        return {key: shown(value, edit) for key, value in vars(node).items() if key != "span"}
    return [shown(one, edit) for one in node] if isinstance(node, list) else node


@given(st.lists(MESSAGES, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_only_texts_change(messages: list[str], end: str) -> None:
    syntax = pytest.importorskip("fluent.syntax")
    data = "".join(f"{message}\n" for message in messages).replace("\n", end).encode()
    assert unchanged("a.ftl", data) == (data, data)
    before, after = (syntax.FluentParser().parse(one.decode()) for one in (data, translated("a.ftl", data, upper)))
    assert not [one for one in before.body if isinstance(one, syntax.ast.Junk)]
    assert shown(after, str) == shown(before, str.upper)


def test_the_lines_of_a_block_are_one_text_up_to_an_empty_line() -> None:
    data = b"a =\n    Das ist eine lange\n    Nachricht von { $n }.\n\n    Ein Absatz\n    hier.\n"
    (unit,) = read(data, Reading(name="a.ftl", source="de", target="en")).units
    first, empty, second = lines(unit)
    assert first.split() == ["Das", "ist", "eine", "lange", "Nachricht", "von", "{", "$n", "}."]
    assert (empty, second) == ("", "Ein Absatz\nhier.")


def test_a_sentence_around_a_selector_is_one_text() -> None:
    data = b"a = You have { $n ->\n    [one] one file\n   *[other] { $n } files\n} in { -x }.\n"
    assert texts("a.ftl", data) == ["You have <g1/> in { -x }.", "one file", "{ $n } files"]
    assert translated("a.ftl", data, lambda text: f"In {text}" if "<g1/>" not in text else "<g1/> da { -x }") == (
        b"a = { $n ->\n    [one] In one file\n   *[other] In { $n } files\n} da { -x }\n"
    )


@pytest.mark.parametrize("sign", ["[a]", "*b", ".c", "}d"])
def test_no_line_of_a_translation_ends_the_message(sign: str) -> None:
    syntax = pytest.importorskip("fluent.syntax")
    for before in ("a = one.\n    Two.\n", "a =\n    one.\n    Two.\n"):
        after = translated("a.ftl", before.encode(), lambda text: f"{sign}.\n{sign}").decode()
        (message,) = syntax.FluentParser().parse(after).body
        parts = [
            one.value if isinstance(one, syntax.ast.TextElement) else one.expression.value
            for one in message.value.elements
        ]
        assert "".join(parts) == f"{sign}.\n{sign}"


@pytest.mark.parametrize("said", ["one", "{ $n } { $n }", "{ $m }"])
def test_a_translation_with_other_codes_is_reported(said: str) -> None:
    reports = list[str]()
    assert translated("a.ftl", b"a = { $n } x\n", lambda text: said, reports=reports) == b"a = { $n } x\n"
    assert len(reports) == 1


def test_a_mark_is_at_the_end_of_each_text() -> None:
    data = b"a = one\n    two { $n ->\n        [one] three\n       *[other] four\n    } five\n    .label = six\n"
    after = translated("a.ftl", data, marked).decode()
    assert after.replace("\u00b6", "") == data.decode()
    assert after.count("\u00b6") == 4


@pytest.mark.parametrize("text", ["a\n", "a = { $n\n", "a = }\n", "x y = z\n", "a = b\n\tc\n", 'a = { "x }\n', "= b"])
def test_what_is_not_fluent_is_one_sentence(text: str) -> None:
    with pytest.raises(UserError, match=r"^a\.ftl, line \d: [^\n]+; correct it$"):
        texts("a.ftl", text.encode())


def test_depth_is_limited() -> None:
    with pytest.raises(UserError, match=r"a\.ftl, line 1: has a brace"):
        texts("a.ftl", b"a = " + b"{" * 9999)
    with pytest.raises(UserError, match="divide the message|has a brace"):
        texts("a.ftl", b"a = " + b"{ $n ->\n *[a] " * 999)


@pytest.mark.parametrize("code", ["{ $n }", "{$n}", '{ NUMBER($n, type: "ordinal") }'])
def test_variants_for_ordinals_have_a_number_for_their_variable(code: str) -> None:
    data = f"""a = {{ NUMBER($n, type: "ordinal") ->
    [one] {code}st day of {{ $m }}
   *[other] {code}th day of {{ $n2 }}
 }}
b = {{ $n ->
   *[other] {{ $n }} days
 }}
""".encode()
    first, second, third = texts("a.ftl", data)
    assert (first[:7], second[:7]) == ("21st da", "24th da")
    assert not third[:1].isdigit()
    after = translated("a.ftl", data, lambda text: text.replace("st day", ". Tag"))
    assert after == data.replace(b"st day", b". Tag")
    reports: list[str] = []
    assert translated("a.ftl", data, lambda text: text.replace("21", "ein"), reports=reports) == data
    assert len(reports) == 1


def test_an_ordinal_without_variants_has_a_number_for_its_variable() -> None:
    data = (
        b'a = The { NUMBER($n, type: "ordinal") }th day of { $m }\nb = The { NUMBER($n, minimumFractionDigits: 1) }th\n'
    )
    first, second = texts("a.ftl", data)
    assert first.startswith("The 24th day of {")
    assert "24" not in second
    after = translated("a.ftl", data, lambda text: text.replace("th day of", ". Tag von"))
    assert after == data.replace(b"th day of", b". Tag von")
