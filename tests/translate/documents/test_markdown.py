"""Messages from pages of Markdown keep their markup, in which texts are translated."""

import pytest
from markdown_it import MarkdownIt

from tests.growth import grows_linearly
from tests.translate.documents.stubs import reverse
from tests.translate.documents.test_restructured_text import entry, written
from tests.translate.documents.translators import texts, translated
from tests.translate.documents.translators import upper as in_capitals
from translate.documents.document import Reading, read
from translate.documents.markdown import Markdown
from translate.inference.documents import keeps_tags


def from_page(message: str) -> bytes:
    return entry(message.replace("\n", "<br>"), "#: ../index.md:4").replace(b"<br>", b"\\n")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("The *best* and **good** _old_ ~~bad~~ tool.", "THE *BEST* AND **GOOD** _OLD_ ~~BAD~~ TOOL."),
        (
            "A {term}`big house <house>` of {term}`a` in {doc}`b`.",
            "A {term}`BIG HOUSE <house>` OF {term}`a` IN {doc}`b`.",
        ),
        (
            "See [the **big** guide](a_b.md), [so][a] and `code`.",
            "SEE [THE **BIG** GUIDE](a_b.md), [SO][a] AND `code`.",
        ),
        ("Press ![the icon](a.png) or [](#b) here.[^1]", "PRESS ![THE ICON](a.png) OR [](#b) HERE.[^1]"),
        ("A house^[An *old* one.] stands.", "A HOUSE^[AN *OLD* ONE.] STANDS."),
        ("2 * 3 * 4 and snake_case_name, \\*so\\*.", "2 * 3 * 4 AND SNAKE_CASE_NAME, \\*SO\\*."),
        ("[_All_](a) *of [us](b)*", "[_ALL_](a) *OF [US](b)*"),
        ("It *is* <b>good</b> and %s *", "IT *IS* <b>GOOD</b> AND %s *"),
        ("Run {kbd}`Ctrl` at https://a.org/b_c_d.", "RUN {kbd}`Ctrl` AT https://a.org/b_c_d."),
    ],
)
def test_markup_stays_around_what_is_translated(message: str, expected: str) -> None:
    assert written(translated("a.po", from_page(message), in_capitals)) == expected
    assert written(translated("a.po", from_page(message), str)) == message


def test_emphasis_follows_its_words() -> None:
    assert (
        written(translated("a.po", from_page("One *two* `three` [four](a)"), reverse)) == "[FOUR](a) `three` *TWO* ONE"
    )


def test_bars_of_a_table_divide_its_cells() -> None:
    table = "| One | Two |\n|---|---|\n| *three* | `four` |"
    (text,) = texts("a.po", from_page(table))
    assert text.count("|") == table.count("|")
    assert written(translated("a.po", from_page(table), str)).replace("\\n", "\n") == table


def test_blocks_of_code_are_no_text() -> None:
    code = "```python\nprint(name)\n```"
    assert texts("a.po", from_page(code)) == []
    found = written(translated("a.po", from_page(f"Write this:\n\n{code}\n\nand go on."), in_capitals))
    assert found.replace("\\n", "\n") == f"WRITE THIS:\n\n{code}\n\nAND GO ON."


def test_a_translation_with_other_markup_is_reported() -> None:
    reports = list[str]()
    data = translated("a.po", from_page("Run *this*"), lambda text: f"{text} _now_", reports=reports)
    assert written(data) == ""
    assert len(reports) == 1


def test_a_translation_of_the_file_has_the_tags_of_its_source() -> None:
    data = from_page("A *b* of `c`").removesuffix(b'""\n') + b'"`c` von *d*"\n'
    (unit,) = read(data, Reading(name="a.po", source="en", target="de")).units
    assert unit.done is not None
    assert "<" in unit.done
    assert keeps_tags(unit.text, unit.done)


def test_only_messages_from_pages_of_markdown_are_read_as_such() -> None:
    page = from_page("One *two*") + b'\n#: a.c:1\nmsgid "one *three*"\nmsgstr ""\n'
    assert texts("a.po", page)[1] == "one *three*"
    assert texts("a.po", entry("one *two*", "#: a.md5.c:1 b.mdb")) == ["one *two*"]


def by_commonmark(text: str) -> tuple[list[str], list[str]]:
    """Return the elements and the words of a message."""
    tokens = MarkdownIt("commonmark").parse(text)
    words = "".join(inner.content or " " for token in tokens for inner in token.children or ())
    return [token.type for token in tokens], words.split()


@pytest.mark.parametrize(
    "said", ["3. Oktober", "3) Oktober", "- Nein", "+ so", "* so", "# so", "% der", "A. Meier", "1."]
)
@pytest.mark.parametrize("source", ["It was.", "5\\. It was.", "It was.\nHere."])
def test_what_a_translation_begins_with_is_no_mark_of_a_block(source: str, said: str) -> None:
    data = translated("a.po", from_page(source), lambda text: text.replace("It was.", said).replace("5. ", ""))
    found = written(data).replace("\\n", "\n")
    elements, words = by_commonmark(found)
    assert elements == by_commonmark(source)[0]
    assert words[: len(said.split())] == said.split()
    (unit,) = read(data, Reading(name="a.po", source="en", target="de")).units
    assert unit.done is not None
    assert unit.done.split("\n")[0] == said


def test_a_comment_of_myst_is_no_text_of_a_translation() -> None:
    assert written(translated("a.po", from_page("It was."), lambda _: "% der")) == "\\% der"


def test_the_number_of_a_heading_is_text() -> None:
    """MyST would show the source in the place of a list; an item of a list comes without its number."""
    assert written(translated("a.po", from_page("1. Start"), in_capitals)) == "1\\. START"
    assert written(translated("a.po", from_page("1. One\n2. Two"), in_capitals)) == "1. ONE\\n2. TWO"
    assert written(translated("a.po", from_page("- one"), in_capitals)) == "- ONE"


@pytest.mark.parametrize(
    "unit", ["1", "\\", "\n1.", "a", "*a ", "_a", "**", "[", "[a](b", "{a}`b <", "`", "![", "\\*", "](a)", "a\n```\n"]
)
def test_any_message_takes_linear_time(unit: str) -> None:
    assert grows_linearly(lambda n: Markdown(unit * n, "gx").text, 500, 4_000)
