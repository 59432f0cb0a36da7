"""Updates of translations in files of strings: what a person wrote stays, and only new texts are translated."""

import json
import plistlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.translate.documents.translators import translated, upper
from translate.documents.document import Reading
from translate.documents.earlier import Update, may_have_keys, update
from translate.errors import UserError

Texts = Mapping[str, str]
SAMPLES = Path(__file__).parents[2] / "documents"


def reading(name: str, target: str = "de") -> Reading:
    return Reading(name=name, source="en", target=target)


def finished(found: Update) -> bytes:
    """Return an updated document whose new texts are in capitals."""
    units = found.document.units
    return found.document.write([None if unit.done is not None else upper(unit.text) for unit in units])


def updated(name: str, data: bytes, old: bytes, target: str = "de") -> bytes:
    return finished(update(data, reading(name, target), old, f"old-{name}"))


# A file of each format, and what another program reads in it


def _resx(texts: Texts) -> bytes:
    entries = (f'<data name="{key}"><value>{escape(value)}</value></data>\n' for key, value in texts.items())
    return f"<root>{''.join(entries)}</root>".encode()


def _android(texts: Texts) -> bytes:
    strings = "".join(f'<string name="{key}">{escape(value)}</string>\n' for key, value in texts.items())
    return f"<resources>\n{strings}</resources>".encode()


def _xml(element: str) -> Callable[[bytes], dict[str, str]]:
    return lambda data: {e.get("name"): "".join(e.itertext()) for e in etree.fromstring(data).iter(element)}


def _lines(form: str) -> Callable[[Texts], bytes]:
    return lambda texts: "".join(form.format(key, value) for key, value in texts.items()).encode()


def _strings(data: bytes) -> dict[str, str]:
    return dict(pytest.importorskip("openstep_plist").loads(data.decode()))


def _properties(data: bytes) -> dict[str, str]:
    return dict(pytest.importorskip("javaproperties").loads(data.decode()))


def _fluent(data: bytes) -> dict[str, str]:
    syntax = pytest.importorskip("fluent.syntax")
    messages = syntax.parse(data.decode()).body
    return {one.id.name: "".join(part.value for part in one.value.elements) for one in messages}


def _stringsdict(texts: Texts) -> bytes:
    return plistlib.dumps({key: {"NSStringLocalizedFormatKey": value} for key, value in texts.items()}, sort_keys=False)


FORMATS: dict[str, tuple[Callable[[Texts], bytes], Callable[[bytes], Any]]] = {
    "a.json": (lambda texts: json.dumps(texts, indent=2).encode(), json.loads),
    "b.json": (lambda texts: json.dumps({"m": {"n": texts}}).encode(), lambda data: json.loads(data)["m"]["n"]),
    "a.arb": (lambda texts: json.dumps({"@@locale": "en", **texts}).encode(), lambda d: _without_locale(json.loads(d))),
    "a.yaml": (lambda texts: yaml.safe_dump(dict(texts), sort_keys=False).encode(), yaml.safe_load),
    "b.yaml": (
        lambda texts: yaml.safe_dump({"en": dict(texts)}, sort_keys=False, default_style="|").encode(),
        lambda data: next(iter(yaml.safe_load(data).values())),
    ),
    "strings.xml": (_android, _xml("string")),
    "a.resx": (_resx, _xml("data")),
    "a.strings": (_lines('"{}" = "{}";\n'), _strings),
    "a.stringsdict": (
        _stringsdict,
        lambda data: {key: one["NSStringLocalizedFormatKey"] for key, one in plistlib.loads(data).items()},
    ),
    "a.properties": (_lines("{} = {}\n"), _properties),
    "a.ftl": (_lines("{} = {}\n"), _fluent),
}


def _without_locale(read: dict[str, str]) -> dict[str, str]:
    assert read.pop("@@locale") in ("en", "de")
    return read


KEYS = st.sampled_from(["one", "two", "three", "four", "five"])
SOURCES = st.dictionaries(KEYS, st.sampled_from(["a house", "the tree", "b"]), min_size=1)
# A translation may be as the source, have another variable, or be no text.
TARGETS = st.dictionaries(KEYS, st.sampled_from(["Ein Haus", "a house", "%s & %s", "12", "user_name"]))


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25)
@given(source=SOURCES, old=TARGETS)
def test_what_the_translation_has_stays_and_the_source_rules(name: str, source: Texts, old: Texts) -> None:
    write, read = FORMATS[name]
    data, before = write(source), write(old)
    if not old:
        assert not update(data, reading(name), before, f"old-{name}").dropped
    elif not {*source} & {*old}:
        with pytest.raises(UserError, match=f"old-{name}: has none of the keys of"):
            update(data, reading(name), before, f"old-{name}")
        return
    found = update(data, reading(name), before, f"old-{name}")
    after = read(finished(found))
    assert after == {key: old.get(key, upper(text)) for key, text in source.items()}
    assert list(after) == list(source)
    assert {key.split(".")[0 if name != "b.json" else -1] for key in found.dropped} == {*old} - {*source} or (
        name == "strings.xml" and {f"string.{key}" for key in {*old} - {*source}} == {*found.dropped}
    )
    assert found.n_kept == len({*source} & {*old})


def examples() -> Iterator[tuple[str, bytes]]:
    """Yield files with comments, plurals, lists and texts of several lines."""
    for name in ("strings.xml", "strings.resx"):
        yield name, (SAMPLES / name).read_bytes()
    yield (
        "a.json",
        b'{\n  "_a": [{"id": "x", "defaultMessage": "The dog"}, {"id": "y", "defaultMessage": "The cat"}],\n'
        b'  "n": 3, "day_one": "{{count}} day", "day_other": "{{count}} days", "list": ["a b", "", "c d"],\n'
        b'  "u": "\\u00fc x"\n}',
    )
    yield (
        "a.yaml",
        b"# note\nen:\n  a: |\n    first line\n\n      second\n  b: >-\n    folded\n    text\n  c: 'it''s'\n"
        b'  d: "wide\n    string"\n  e:\n    - one two\n    - |-\n      x y\n      z\n  f: {g: h i, j: [k l, m]}\n'
        b"  days:\n    one: '%{count} day'\n    other: '%{count} days'\n",
    )
    yield "a.yaml", b"- id: a\n  translation: The dog\n- id: b\n  translation:\n    one: a day\n    other: days\n"
    yield "a.strings", b'/* Note */\n"a" = "The \\"dog\\"\\n";\nb = "x y";\n'
    yield (
        "a.properties",
        b"# note\na = one \\\n    two\nb=it''s {0}\nc:\nd=\\u00fc x\n",
    )
    yield (
        "a.ftl",
        b"# note\na = The dog\n    .title = A title\nb =\n    first\n      second\n"
        b"c = { $n ->\n    [one] a day\n   *[other] { $n } days\n  }\n-brand = Name\n    .case = x\n",
    )
    yield (
        "a.stringsdict",
        b'<plist version="1.0"><dict>\n<key>n</key>\n<dict>\n'
        b"<key>NSStringLocalizedFormatKey</key>\n<string>%#@d@</string>\n"
        b"<key>d</key>\n<dict>\n<key>NSStringFormatSpecTypeKey</key>\n<string>NSStringPluralRuleType</string>\n"
        b"<key>NSStringFormatValueTypeKey</key>\n<string>d</string>\n<key>one</key>\n<string>%d day</string>\n"
        b"<key>other</key>\n<string>%d days</string>\n</dict>\n</dict>\n</dict></plist>\n",
    )


@pytest.mark.parametrize(("name", "data"), list(examples()))
@pytest.mark.parametrize("target", ["de", "pl"])  # which has more plural forms than the source
def test_a_translation_of_the_same_file_is_the_same_file(name: str, data: bytes, target: str) -> None:
    first = translated(name, data, upper, target=target)
    found = update(data, reading(name, target), first, name)
    assert first != data
    assert not found.dropped
    assert all(unit.done is not None for unit in found.document.units)
    assert finished(found) == first


@pytest.mark.parametrize("name", FORMATS)
def test_the_form_of_a_translation_stays(name: str) -> None:
    """Escapes, quotation marks and the like are those of the person who wrote it."""
    write, read = FORMATS[name]
    source = {"one": "a house", "two": "the tree"}
    old = write({"one": "Ein Haus"})
    written = {
        "strings.xml": b'"Ein\\u0020Haus"',
        "a.resx": b"<![CDATA[Ein Haus]]>",
        "a.json": b'"Ein\\u0020Haus"',
        "a.yaml": b'"Ein\\x20Haus"',
        "a.strings": b'"Ein\\U0020Haus"',
        "a.properties": b"Ein\\u0020\\\n   Haus",
        "a.ftl": b'Ein { "Haus" }',
        "a.stringsdict": b"Ein&#32;Haus",
    }.get(name, b"Ein Haus")
    place = b"Ein Haus" if name not in ("a.json", "a.strings") else b'"Ein Haus"'
    assert written in updated(name, write(source), old.replace(place, written))


def test_an_empty_text_is_no_translation() -> None:
    data, old = b'{"a": "The dog", "b": "The cat", "c": "x y"}', b'{"a": "", "b": null, "c": "z"}'
    assert json.loads(updated("a.json", data, old)) == {"a": "THE DOG", "b": "THE CAT", "c": "z"}


@pytest.mark.parametrize(
    ("content", "stays"),
    [("<![CDATA[x]]>", True), ("&x;", True), ("<b>x</b>", True), ("<![CDATA[]]>", False), (" <!-- x --> ", False)],
)
@pytest.mark.parametrize(
    "form", ["<string name='a'>{}</string>", "<string-array name='a'><item>{}</item></string-array>"]
)
def test_a_text_of_android_may_be_in_markup(content: str, stays: bool, form: str) -> None:
    page = '<!DOCTYPE resources [<!ENTITY x "y">]><resources>' + form + "<string name='b'>c</string></resources>"
    after = updated("strings.xml", page.format("A dog").encode(), page.format(content).encode())
    assert after.decode() == page.format(content if stays else "A DOG")


@pytest.mark.parametrize(
    ("name", "data", "old", "new"),
    [
        ("a.json", b'{"l": ["a", "b", "c"]}', b'{"l": ["x", "z"]}', b'{"l": ["x", "", "z"]}'),
        ("a.yaml", b"l:\n- a b\n- b\n- c\n", b"l:\n- x\n- z\n", b"l:\n- x\n- ''\n- z\n"),
        (
            "strings.xml",
            b'<resources><string-array name="l"><item>a</item><item>b</item><item>c</item></string-array></resources>',
            b'<resources><string-array name="l"><item>x</item><item>z</item></string-array></resources>',
            b'<resources><string-array name="l"><item>x</item><item/><item>z</item></string-array></resources>',
        ),
    ],
)
def test_a_list_of_another_length_is_refused(name: str, data: bytes, old: bytes, new: bytes) -> None:
    with pytest.raises(UserError, match=r"the list (string-array\.)?l has 2 items, and 3 in") as raised:
        update(data, reading(name), old, f"old-{name}")
    assert "\n" not in str(raised.value)
    after = updated(name, data, new)
    assert after == data.replace(b"a b", b"a").replace(b"a", b"x", 1) or b"B" in after
    assert after.index(b"x") < after.index(b"B") < after.index(b"z")


def test_items_with_names_may_be_added_anywhere() -> None:
    data = (
        b'[{"id": "a", "translation": "one dog"}, {"id": "b", "translation": "two"}, {"id": "c", "translation": "x y"}]'
    )
    old = b'[{"id": "c", "translation": "drei"}, {"id": "a", "translation": "eins"}]'
    assert [one["translation"] for one in json.loads(updated("a.json", data, old))] == ["eins", "TWO", "drei"]


def test_plural_forms_that_the_source_does_not_have_stay() -> None:
    plural = '<resources><plurals name="n">{}</plurals>{}</resources>'
    forms = "".join(f'<item quantity="{category}">%d days</item>\n' for category in ("one", "other"))
    old = "".join(f'<item quantity="{category}">dni</item>' for category in ("one", "few", "many"))
    data = plural.format(forms, '<string name="a">A dog</string>').encode()
    after = updated("strings.xml", data, plural.format(old, "").encode(), "pl")
    assert after.decode() == plural.format(old, '<string name="a">A DOG</string>')
    source = {"n_one": "{{count}} day", "n_other": "{{count}} days"}
    given = {"n_one": "dzien", "n_few": "dni"}
    found = json.loads(updated("a.json", json.dumps(source).encode(), json.dumps(given).encode(), "pl"))
    assert found == given | {"n_many": "{{count}} DAYS", "n_other": "{{count}} DAYS"}


def test_a_selector_of_the_translation_stays() -> None:
    data, old = b"a = { $n } days\nb = The dog\n", b"a =\n    { $n ->\n        [one] Tag\n       *[other] Tage\n    }\n"
    assert updated("a.ftl", data, old) == old + b"b = THE DOG\n"
    assert updated("a.ftl", old + b"b = The dog\n", data) == b"a = { $n } days\nb = The dog\n"


def test_what_is_not_translated_may_be_of_the_language() -> None:
    data, old = b"date=MM/dd/yyyy\nday=The day\nnew=x y\n", b"date=dd.MM.yyyy\nday=Der Tag\n"
    assert updated("a.properties", data, old) == b"date=dd.MM.yyyy\nday=Der Tag\nnew=X Y\n"


def test_what_is_marked_as_not_translatable_is_as_in_the_source() -> None:
    data = b'<resources><string name="u" translatable="false">new</string><string name="a">A dog</string></resources>'
    old = data.replace(b">new<", b">old<").replace(b"A dog", b"Hund")
    assert updated("strings.xml", data, old) == data.replace(b"A dog", b"Hund")


@pytest.mark.parametrize(
    ("source", "old", "after"),
    [
        ("a=x\nb=A dog\n", "a=\u00fc\n".encode("latin-1"), "a=\\u00fc\nb=A DOG\n"),
        ("# \u00e4\na=x\n", "a=\u2192\n".encode(), "# \u00e4\na=\u2192\n"),
        ("a=x\n", "a=\\\u00fc\\\\\u00fc\n".encode("latin-1"), "a=\\u00fc\\\\\\u00fc\n"),
    ],
)
def test_letters_of_another_encoding_stay(source: str, old: bytes, after: str) -> None:
    javaproperties = pytest.importorskip("javaproperties")
    found = updated("a.properties", source.encode(), old)
    assert found.decode() == after
    encoding = "utf-8" if b"\xe2" in old else "latin-1"
    assert javaproperties.loads(found.decode())["a"] == javaproperties.loads(old.decode(encoding))["a"]


def test_letters_that_the_file_cannot_hold_are_an_error() -> None:
    source = '<?xml version="1.0" encoding="iso-8859-1"?><root><data name="a"><value>x</value></data></root>'
    old = source.replace(">x<", ">\u2192<").replace("iso-8859-1", "utf-8").encode()
    with pytest.raises(UserError, match=r"old-a\.resx: .* convert the file to utf-8"):
        updated("a.resx", source.encode(), old)


@pytest.mark.parametrize(
    ("data", "old"),
    [
        (b"a:\n    b: &x\n      c: x\n", b"a:\n b:\n  c: |\n   one\n    two\n"),
        (b"a:\n- x\n- y\n", b"a:\n    - |2\n         one\n        two\n    - 'three\n\n      four'\n"),
        (b"a: {b: x, c: y}\n", b'a:\n    b: "one, two"\n    c: "three\n      four"\n'),
    ],
)
def test_texts_of_yaml_in_another_indentation_stay(data: bytes, old: bytes) -> None:
    assert yaml.safe_load(updated("a.yaml", data, old)) == yaml.safe_load(old)


def test_a_text_that_the_place_cannot_hold_is_an_error() -> None:
    with pytest.raises(UserError, match=r"old-a\.yaml: its text"):
        updated("a.yaml", b"a: {b: x}\n", b"a:\n  b: one, two\n")
    data = b'<resources><string name="a">x</string></resources>'
    old = data.replace(b">x<", b"><xliff:g>x</xliff:g><").replace(
        b"<resources>", b'<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">'
    )
    with pytest.raises(UserError, match=r"old-strings\.xml: its texts cannot be kept: strings\.xml: .*prefix"):
        updated("strings.xml", data, old)


@pytest.mark.parametrize("name", ["a.po", "a.xlf", "a.ttml", "a.tex", "a.dita", "a.ts", "a.xcstrings"])
def test_other_formats_have_no_updates(name: str) -> None:
    samples = {
        "a.po": b'msgid "a"\nmsgstr ""\n',
        "a.xlf": b'<xliff version="1.2"><file source-language="en"><body/></file></xliff>',
        "a.ttml": b'<tt xmlns="http://www.w3.org/ns/ttml"/>',
        "a.dita": b"<topic/>",
        "a.ts": b"<TS/>",
        "a.xcstrings": b'{"sourceLanguage": "en", "strings": {}}',
    }
    if name == "a.tex":
        pytest.importorskip("pylatexenc")
    data = samples.get(name, b"")
    with pytest.raises(UserError, match=f"{name}: is no file of strings in one language"):
        update(data, reading(name), data, name)
    assert not may_have_keys(name)


def test_formats_with_keys_are_known_by_their_names() -> None:
    assert all(map(may_have_keys, FORMATS))


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.json", b"[" * 99 + b'"x y"' + b"]" * 99), ("a.yaml", b"[" * 99 + b"x y" + b"]" * 99)],
)
def test_a_file_that_is_nested_too_deeply_has_no_updates(name: str, data: bytes) -> None:
    with pytest.raises(UserError, match=f"{name}: has texts more than 64 levels deep"):
        updated(name, data, data)
