"""Files of strings: codes are held in the search, and long or hostile files take linear time."""

import contextlib
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import grows_linearly
from tests.translate.documents.translators import translated, upper
from translate.documents.document import MODULES, Reading
from translate.documents.edits import (
    Edit,
    Text,
    UnwritableError,
    edited,
    plain,
    tag_name,
    variables,
    with_mnemonic,
    without_mnemonic,
)
from translate.errors import UserError
from translate.text.placeholders import protect

CODES = [
    *("%s", "%1$d", "%(name)s", "%@", "%L1", "{name}", "{0}", "{}", "{0:.2f}", "{{count}}", "{{- value, number}}"),
    *("${x}", "%{x}", "$t(key)", '$t(a:b.c, {"count": 1})', "{d, date, ::yMMMd}", "{0,number,#.##}", "<b>", "{!r:>10}"),
    *("{n, plural, =0 {a} one {# b} other {{x} c}}", "{s, select, a {b {c}} other {{n, plural, other {#}}}}"),
    *("<style type='text/css'>\np { color: red; }\n</style>", "<SCRIPT>a(b)</SCRIPT>"),
    *("$1", "{0,choice,0#no files at all here|1#one {1} file}", "'{'", "'}}'"),
]


@pytest.mark.parametrize("code", CODES)
def test_each_code_is_one_symbol_in_the_search(code: str) -> None:
    body = plain(f"Before {code} after.", variables, "g")
    assert protect(body.text).text == "Before \u27e61\u27e7 after."
    assert body.restored(body.text.replace("Before", "Nach")) == f"Nach {code} after."
    for lost in ("Before after.", f"Before {body.text} after {code}"):
        with pytest.raises(UnwritableError):
            body.restored(lost)


@pytest.mark.parametrize(
    "text",
    [
        "50 % of it",
        "100%ig",
        "a {long text within braces that is prose} b",
        "A & B",
        "2 < 3",
        "it''{''s",
        *("$5.50, US$3, $100", "$5 off, not $8", "$9 or $1.50"),
    ],
)
def test_prose_has_no_codes(text: str) -> None:
    assert variables(text) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Bold** and _slanted_ {x}", "<g1>Bold</g1> and <g2>slanted</g2> {x}"),
        ("See [the page]({url}).", "See <g1>the page</g1>."),
        ("Eat ^[%lld {x}](inflect: true)!", "Eat <g1>%lld {x}</g1>!"),  # of Apple
        ('^[a](morphology: {g: "f"}, b: 1) [c](d: e)', "<g1>a</g1> [c](d: e)"),
        ("~~Old {x}~~ **[a b](c)**", "<g1>Old {x}</g1> <g2><g3>a b</g3></g2>"),
        ("**Note:** {n, plural, other {**a**}}", "<g1>Note:</g1> {n, plural, other {**a**}}"),
        ("$t(k) *a* **{x}**", "<g1/> <g2>a</g2> <g3>{x}</g3>"),
        *(
            (text, text)
            for text in ("2*3*4", "snake_case_name", "__init__", "_File _Edit", "* a *", r"\*no\*", "`**x**`")
        ),
        (
            "\u00a76Gold \u00a7rtext \u00a7c\u00a7l%s",
            "<g1></g1>Gold <g2></g2>text <g3></g3><g4></g4>%s",
        ),  # of Minecraft
        *((text, text) for text in ("\u00a75a BGB", "\u00a7 5", "\u00a7823 BGB", "\u00a7\u00a7 4")),
        ("*All* files (*.png) **.NET**", "<g1>All</g1> files (*.png) <g2>.NET</g2>"),
        *((text, text) for text in ("Images (*.png *.jpg);;All files (*)", "Only *.png or *.jpg*")),
        ("'''Bold''' and ''it's {x}''", "<g1>Bold</g1> and <g2>it's {x}</g2>"),  # of MediaWiki
        *((text, text) for text in ("it''s {0}''s turn", "'' a ''", "the ''")),
        ("See [[Help:Long name of a page|the {x} page]].", "See <g1>the {x} page</g1>."),
        ("[$1 Go on] or [https://x.y/a?b=c read ''it'']", "<g1>Go on</g1> or <g2>read <g3>it</g3></g2>"),
        ("By [[A long name/{x}|{y}]]", "By <g1>{y}</g1>"),
        *(
            (text, text)
            for text in ("[[ name | upper ]]", "Save [$5 off]", "[https://x.y/z]", "[[[a|b]]]", "x[0|1] [h b]")
        ),
        ("Click %{linkStart}here %{x}%{linkEnd}.", "Click <g1>here %{x}</g1>."),  # halves by their names
        ("Click {a}here{/a}, {{#b}}[c]d[/c] {x}{{/b}}", "Click <g1>here</g1>, <g2><g3>d</g3> {x}</g2>"),  # or a slash
        ("Has {{#a}}a{{/a}}{{^a}}no{{/a}} hat", "Has <g1>a</g1>{{^a}}no{{/a}} hat"),  # not both
        ("{$START_TAG_B}A {$START_TAG_I_1}b{$CLOSE_TAG_I}{$CLOSE_TAG_B}", "<g1>A <g2>b</g2></g1>"),
        ("**{beginBold}a{endBold}** ${open}b${close}", "<g1><g2>a</g2></g1> <g3>b</g3>"),
        ('("{linkStart}a!{linkEnd}") {linkStart}"<b>b</b>"{linkEnd}s', '("<g1>a!</g1>") <g2>"<b>b</b>"</g2>s'),
        *(
            (text, text)
            for text in (
                *(
                    "From {start} to {end}",
                    "{start_date}\u2013{end_date}",
                    "{startedBy}a{endedBy}",
                    "{linkEnd}a{linkStart}",
                ),
                *("{a}b{/c}", "{a}b{{/a}}", "b{/a}", "No{{#new}} yet{{/new}}"),
                *("{linkStart}a{boxEnd}", "{n, plural, other {{start}a{end}}}"),
                *("({start}) to ({end})", '"{start}" to "{end}"', "<b>{start}</b> to <b>{end}</b>"),
                "{start}&nbsp;to&nbsp;{end}",
                *("{openTime}h\u2013{closeTime}h", "\u4ece{start}\u5230{end}", "{0}\u9080\u8bf7{1}"),
            )
        ),
        *((text, text) for text in ("[1](2)", "<a_b>x</a_b_c>", "![a](b)")),
    ],
)
def test_formatting_is_no_part_of_words(text: str, shown: str) -> None:
    body = plain(text, variables, "g")
    assert body.text == shown
    assert body.restored(f"{shown}!") == f"{text}!"
    assert body.tagged(text) == shown
    if shown != text:
        with pytest.raises(UnwritableError):
            body.restored(re.sub("<g.>", "", shown))


@pytest.mark.parametrize(
    ("text", "bare", "mark"),
    [
        ("&Open", "Open", "&O"),
        ("Sa&ve {x}", "Save {x}", "&v"),
        ("&&Open file", "Open file", "&&O"),  # of VS Code
        *((text, text, "") for text in ("Takes ~ten minutes", "foo~bar", "~a/b", "{x}?a={x}&b={x}", "?a=&b=%1&c=%2")),
        *((text, text, "") for text in ("Save && Close", "R&&D", "AT&T", "a &amp; b", "See https://x.y/?a=1&b=2 here")),
    ],
)
def test_the_mark_of_a_key_is_no_part_of_another_sign_or_address(text: str, bare: str, mark: str) -> None:
    assert without_mnemonic(text, variables) == (bare, mark)
    if mark:
        assert with_mnemonic(bare, mark, variables) == text
        assert with_mnemonic("https://o.o/o", mark, variables) == "https://o.o/o"


@pytest.mark.parametrize(
    ("text", "bare", "mark"),
    [
        *(("Save ~as {x}", "Save as {x}", "~a"), ("A~vailable", "Available", "~v"), ("&Open", "Open", "&O")),
        *((text, text, "") for text in ("About ~5 km", "A~Z", "~/a/b", "~~a~~", "x ~ y", "https://x.y/~me", "ca.~ten")),
    ],
)
def test_a_tilde_is_the_mark_of_a_key_in_libreoffice(text: str, bare: str, mark: str) -> None:
    assert without_mnemonic(text, variables, has_tildes=True) == (bare, mark)


def test_a_link_of_a_wiki_without_words_is_a_code() -> None:
    body = plain("By [[A rather long name/$1|$1]] now", variables, "g")
    assert body.text == "By <g1/> now"
    assert body.restored("Now <g1/>") == "Now [[A rather long name/$1|$1]]"


@pytest.mark.parametrize("text", [r"One.\nTwo {x}.", r"Name:\n\n- one\n- two", r"One,\ntwo"])
def test_an_escape_of_a_line_break_is_one(text: str) -> None:
    body = plain(text, variables, "g")
    assert body.text == text.replace(r"\n", "\n") == body.tagged(text)
    assert body.restored(body.text.upper().replace("{X}", "{x}")) == text.upper().replace("{X}", "{x}").replace(
        r"\N", r"\n"
    )
    assert body.restored(body.text) == text


@pytest.mark.parametrize(
    "text",
    [r"C:\new", r"folder\name", r"One.\nTwo\tthree", "One\nTwo\\nThree", r"a\\nB", r"Of $\nabla f$.", r"a \neq b"],
)
def test_a_path_or_other_escapes_have_no_line_breaks(text: str) -> None:
    assert plain(text, variables, "g").text == text


def test_two_signs_that_are_shown_as_one_are_read_as_one() -> None:
    body = plain("Save && close {x}", variables, "g")
    assert body.text == "Save & close {x}"
    assert body.restored("{x} & zu & so") == "{x} && zu && so"
    assert body.restored(body.text) == body.source
    assert body.tagged(body.source) == body.text
    assert plain("a &amp; b && c", variables, "g").text == "a &amp; b && c"


@pytest.mark.parametrize("lost", ["{x}", "=0 ", "<b>"])
def test_the_codes_of_each_branch_are_held(lost: str) -> None:
    message = "{n, plural, =0 {<b>none</b>} other {# in {s, select, a {b {x}} other {c}}}}"
    body = plain(f"Before {message}", variables, "g")
    assert body.restored(body.text.replace("none", "keine")) == f"Before {message.replace('none', 'keine')}"
    with pytest.raises(UnwritableError):
        body.restored(body.text.replace(lost, ""))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.po", '#, java-format\nmsgid "{}"\nmsgstr ""\n', 'msgstr "{}"\n'),
        ("a.json", '{{"a": "{}"}}', '{{"a": "{}"}}'),
        ("a.properties", "a={}", "a={}"),
        ("a.strings", '"a" = "{}";', '"a" = "{}";'),
        ("a.yaml", "en:\n  a: '{}'\n", "de:\n  a: '{}'\n"),
        (
            "strings.xml",
            '<resources><string name="a">{}</string></resources>',
            '<string name="a">{}</string></resources>',
        ),
    ],
)
def test_the_forms_of_a_choice_are_translated_in_each_format(name: str, before: str, after: str) -> None:
    text = "There {0,choice,0#are no files|1#is one file|2#are {0} files} in {1}."
    done = translated(name, before.format(text).encode(), upper)
    assert done.decode().endswith(after.format(upper(text)))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("a.json", '{{"a": "{}"}}'),
        ("a.properties", "a={}"),
        ("a.po", 'msgid "{}"\nmsgstr ""\n'),
        ("a.strings", '"a" = "{}";'),
    ],
)
def test_the_branches_of_a_message_of_several_lines_are_translated(name: str, file: str) -> None:
    text = r"{count, plural,\n  one {One house}\n  other {# houses}\n} and more."
    after = translated(name, file.format(text).encode(), upper).decode().rpartition("msgstr")[2].replace('"\n"', "")
    assert r"{count, plural,\n  one {ONE HOUSE}\n  other {# HOUSES}\n} AND MORE." in after


@pytest.mark.parametrize("encoding", ["unicode_escape", "punycode", "hex", "iso2022_jp", "none"])
def test_an_encoding_that_is_not_written_back_is_refused(encoding: str) -> None:
    data = b"a\\n-\xff\x1b(B"
    with pytest.raises(UserError, match=r"^a\.po[^\n]*; (convert the file|correct it)$"):
        Text.read(data, Reading(name="a.po", source="en", target="de"), encoding)


@given(st.text(alphabet="ab{}%$<>g1/()t,' \n", max_size=30))
def test_a_text_without_a_translation_is_its_source(text: str) -> None:
    body = plain(text, variables, tag_name(text))
    assert body.restored(body.text) == text
    shown = body.text
    for tag, code in body.held.items():
        assert shown.count(tag) == 1
        shown = shown.replace(tag, code)
    assert shown == text


@given(
    st.text(max_size=20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3), st.text(max_size=3)), max_size=5)
)
def test_edits_replace_their_parts_alone(text: str, wanted: list[tuple[int, int, str]]) -> None:
    edits, end = list[Edit](), 0
    for start, length, new in sorted(wanted):
        if start >= end and start + length <= len(text):
            edits.append(Edit(start, start + length, new))
            end = start + length
    after = text
    for edit in reversed(edits):
        after = after[: edit.start] + edit.text + after[edit.stop :]
    assert edited(text, edits) == after


def sample(suffix: str, n: int) -> bytes:
    """Return a file with n texts."""
    one: Callable[[int], str]
    head, foot = "", ""
    match suffix:
        case ".po" | ".pot":
            one = lambda i: f'#, c-format\nmsgid "Text %d number {i}"\nmsgstr ""\n\n'  # noqa: E731
        case ".properties":
            one = lambda i: f"key{i} = Text {{0}} number {i} \\\n   goes on\n"  # noqa: E731
        case ".json" | ".arb":
            head, foot = '{"@@locale": "en"', "}"
            one = lambda i: f',\n "a{i}_one": "Text {{n}} $t(x)", "a{i}_other": "Number {i}"'  # noqa: E731
        case ".xcstrings":
            head, foot = '{"sourceLanguage": "en", "strings": {"": {}', "}}"
            one = lambda i: f',\n "Text %@ {i}": {{}}'  # noqa: E731
        case ".strings":
            one = lambda i: f'/* {i} */\n"a{i}" = "Text %@ \\"{i}\\"";\n'  # noqa: E731
        case ".ftl":
            one = lambda i: f"a{i} = Text\n    {{ $n ->\n        [one] a\n       *[other] {{ $n }} b\n    }} c\n"  # noqa: E731
        case ".tex":
            one = lambda i: f"Text \\emph{{number}} {i}\\footnote{{a}} % b\n\n"  # noqa: E731
        case _:
            head = "[Events]\n"
            one = lambda i: f"Dialogue: 0,0,0,D,,0,0,0,,Text {{\\i1}}number{{\\i0}}\\N{i}\n"  # noqa: E731
    return (head + "".join(map(one, range(n))) + foot).encode()


OWN = ("po", "properties", "json", "xcstrings", "strings", "fluent", "ass", "latex")
SUFFIXES = sorted(suffix for suffix, module in MODULES.items() if module in OWN)


@pytest.mark.parametrize("part", ["%1$sa b%2$s ", "{linkStart}a{linkEnd} ", "*a* "])
def test_many_pairs_take_linear_time(part: str) -> None:
    def work(n: int) -> None:
        body = plain(part * n, variables, "g")
        assert body.restored(f"{body.text}c") == f"{part * n}c"

    assert grows_linearly(work, 2**9, 2**12)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_time_is_linear(suffix: str) -> None:
    assert grows_linearly(lambda n: translated(f"a{suffix}", sample(suffix, n), upper), 60, 480)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "part", ["{", "[", '"', "\\", "{ $n ->\n *[a] ", '"a" = "', "/*", "a=\\\n", '{"a":', "#", "%", "("]
)
def test_hostile_files_take_linear_time(suffix: str, part: str) -> None:
    """Each part 4,000 times, with the head of a file of the format: it is translated or refused."""
    head = {
        ".po": 'msgid "',
        ".pot": "#~ ",
        ".ass": "[Events]\nDialogue: ,,,,,,,,,",
        ".ftl": "a = ",
        ".tex": "\\a",
    }.get(suffix, "")
    head = {".strings": '"a" = "', ".properties": "a=", ".json": '["', ".arb": '{"a": "'}.get(suffix, head)
    data = (head + part * 4_000).encode()
    start = time.process_time()
    with contextlib.suppress(UserError):
        translated(f"a{suffix}", data, upper, reports=[])
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "pattern",
    [
        *("MMM d, yyyy", "dd.MM.yyyy", "d. MMMM yyyy", "yyyy-MM-dd", "EEEE, d MMMM", "HH:mm", "h:mm a", "MMMM yyyy"),
        *("yyyy-MM-dd HH:mm:ss", "E, dd/MM/yy", "yyyy-MM-dd'T'HH:mm:ss", "EEE, MMM dd, yyyy h:mm a", "MMM dd"),
        *("dddd, MMMM d, yyyy", "ddd d MMM, hh:mm tt", "M/d/yy", "EEE, MMM d, ''yy", "LLLL yyyy", "HH:mm 'Uhr'"),
        *(
            "hh:mm ap",
            "h:mm aa",
            "yyyy-MM-dd hh:mm:ss.zzz",
            "HH:mm:ss,SSS",
            "yyyy-MM-dd'T'HH:mm:ssXXX",
            "h:mm:ss a zzzz",
        ),
        *("EEE, d MMM yyyy HH:mm:ss Z", "ddd MMM d HH:mm:ss yyyy", "YYYY-MM-DDTHH:mm:ssZ", "EEEE, MMMM d, y", "mm:ss"),
        *("dddd, MMMM Do, YYYY h:mm A", "D. MMM YY", "MMMM D, YYYY [at] h:mm A", "d. MMMM yyyy 'um' HH:mm 'Uhr'"),
    ],
)
def test_patterns_of_dates_are_codes(pattern: str) -> None:
    text = f"Due {pattern}, or in mm."
    assert [text[start:stop] for start, stop in variables(text)] == [pattern]


@pytest.mark.parametrize(
    "pattern",
    ["F j, Y", "g:i a", "F j, Y g:i a", r"Y/m/d \\a\\t g:i A", "l, F jS, Y", "M j, Y @ H:i", "d.m.Y", "EEEE", "dddd"],
)
def test_a_text_that_is_a_pattern_is_a_code(pattern: str) -> None:
    assert variables(pattern) == [(0, len(pattern))]
    assert not variables(f"See {pattern} there")


@pytest.mark.parametrize(
    "text",
    [
        *("dd/mm/yyyy", "DD.MM.YYYY", "5 mm", "MM", "Hmm: mm", "comma d", "Type yy now", "a mmm"),
        *("Y/n", "y/n", "M/F", "Vitamin D, E or C", "E. M. Forster", "A. D. Jones, M. Y.", "m/s", "Add", "Hmm.mm"),
    ],
)
def test_other_letters_are_no_patterns_of_dates(text: str) -> None:
    assert not variables(text)


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("Usa dd-MM-yyyy y HH:mm", ["dd-MM-yyyy", "HH:mm"]),
        ("Mes y a\u00f1o: MM y yyyy", []),
        ("Uhrzeit als HH:mm z. B.", ["HH:mm"]),
        ("d MMM y HH:mm:ss z", ["d MMM y HH:mm:ss z"]),
        ("d MMM y, h:mm a z", ["d MMM y, h:mm a z"]),
    ],
)
def test_a_letter_beside_a_pattern_may_be_a_word(text: str, patterns: list[str]) -> None:
    assert [text[start:stop] for start, stop in variables(text)] == patterns


_ICU_FILES = {
    "a.xlf": '<xliff version="1.2"><file source-language="en" target-language="de"><body>{}</body></file></xliff>',
    "a.po": "{}",
    "a.strings": "{}",
    "a.resx": "<root>{}</root>",
    "strings.xml": "<resources>{}</resources>",
}
_ICU_ENTRIES = {
    "a.xlf": '<trans-unit id="{0}"><source>{1}</source></trans-unit>',
    "a.po": '\nmsgid "{1}"\nmsgstr ""\n',
    "a.strings": '"{0}" = "{1}";\n',
    "a.resx": '<data name="{0}"><value>{1}</value></data>',
    "strings.xml": '<string name="{0}">{1}</string>',
}


@pytest.mark.parametrize("is_icu", [True, False])
@pytest.mark.parametrize("name", _ICU_FILES)
def test_an_apostrophe_before_a_variable_quotes_nothing_in_a_file_of_icu(name: str, is_icu: bool) -> None:
    """Only the plural says that the other messages are read as those of ICU too."""
    other = "{n, plural, one {# file} other {# files}}" if is_icu else "No files"
    entries = "".join(_ICU_ENTRIES[name].format(key, text) for key, text in {"a": "Open {x} now", "b": other}.items())
    data = _ICU_FILES[name].replace("{}", entries).encode()
    after = translated(name, data, lambda text: text.replace("{x} now", "'{x}' it's")).decode().replace("\\'", "'")
    assert ("''{x}' it's" in after) is is_icu
    assert ("'{x}' it's" in after) is True
