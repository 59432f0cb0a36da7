"""Links that name a definition by their text keep its label when their text is translated."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import grows_linearly
from translate.text.formats import Paragraph, reader
from translate.text.references import References, shortened
from translate.text.translation import Format

DEFINITIONS = "\n[User guide]: a.md\n> [the *House*]: b.md\n[1]: c\n[^note]: A note.\n\n```\n[code]: x\n```\n"


def translated(page: str, format: Format = "markdown") -> str:
    """Return a page whose texts have another letter for each "e", but for labels of definitions."""
    out = list[str]()
    for piece in reader(format)(page.splitlines(keepends=True)):
        if not piece.translate:
            out.append(piece.text)
            continue
        paragraph = Paragraph(piece, format)
        said = re.sub(r"(?<=\]\[)[^\[\]]+|e", lambda match: "é" if match[0] == "e" else match[0], paragraph.plain)
        out.append(paragraph.laid_out(said) or "")
    return "".join(out)


@pytest.mark.parametrize("format", ["markdown", "mdx"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See the [User guide].", "Séé thé [Usér guidé][User guide]."),
        ("See [user\nguide][] there", "Séé [usér\nguidé][user guide] théré"),
        ("# The [USER GUIDE]", "# Thé [USER GUIDE]"),
        ("- At [The *house*]: red", "- At [Thé *housé*][The *house*]: réd"),
        ("![User guide] here", "![Usér guidé][User guide] héré"),
        ("| [User guide] |\n|---|\n| [xe] |", "| [Usér guidé][User guide] |\n|---|\n| [xé] |"),
        ("Some [other] text [1], a[User guide] b", "Somé [othér] téxt [1], a[Usér guidé] b"),
        (r"Some \[User guide\] and [code]", r"Somé \[Usér guidé\] and [codé]"),
        ("A [text](User guide) b", "A [téxt](Usér guidé) b"),
    ],
)
def test_a_link_by_its_text_gets_the_label_of_its_definition(text: str, expected: str, format: Format) -> None:
    """A translated text named no definition, so that the link was shown as brackets."""
    assert translated(f"{text}\n{DEFINITIONS}", format).startswith(expected)


@given(st.lists(st.sampled_from(["[User guide]", "[user guide][]", "[x]", "![", "`", "\\", " a", "\n", "]", "["])))
def test_a_text_that_stays_is_written_as_it_was(parts: list[str]) -> None:
    text, references = "".join(parts), References()
    assert list(references.watched(iter(["[User guide]: a.md"]))) == ["[User guide]: a.md"]
    assert shortened(references.written_out(text)) == text


def test_brackets_that_are_no_links_do_not_wait_for_the_rest_of_a_text() -> None:
    lines = iter(["> [!NOTE]\n", "A note[^1] of [@lee] in [1].\n", "- [ ] Next\n", "Last\n"])
    watched = References().watched(lines)
    assert [next(watched) for _ in range(3)]
    assert next(lines) == "Last\n"


@pytest.mark.parametrize("unit", ["[a", "[", "[1 ", "]", "[a] ", "[b][", "![a][]", "[\n"])
def test_long_texts_take_linear_time(unit: str) -> None:
    def work(n: int) -> None:
        references = References()
        list(references.watched(iter([unit * n, "[a]: b"])))
        shortened(references.written_out(unit * n))

    assert grows_linearly(work, 2_000, 16_000)
