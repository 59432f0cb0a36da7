"""MDX is Markdown whose statements, expressions and tags with expressions are copied."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import grows_linearly
from translate.text import formats
from translate.text.placeholders import branch_text, branches, messages, protect, with_branches

MDX = """import { Chart } from '../chart'
import Callout, {
  Title,
} from "./Callout.jsx"

export const meta = {
  title: 'Guten Morgen',

  text: `Das { ist
ein Text`, // don't (
}

# Das Haus

Im Jahr {year} lag {items.map((i) => ({ n: i.name }))} Schnee.
import ist ein Wort, export auch.

<Button onClick={() => go(1 > 2)} size={{ n: 1 }}>Die Katze</Button>

{/* Kein Text */}

{
  items.map((item) => <li>Das {item.name} ist "rot"</li>)
}

{name} ist da.

```js
import x from 'y'

{ Code
```

Der Hund bellt.
"""


def shown(text: str) -> list[str]:
    """What is translated of a page, without its placeholders."""
    plain = formats.markup("mdx")
    return [" ".join(plain.sub(" ", p.text).split()) for p in formats.reader("mdx")(lines(text)) if p.translate]


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def test_statements_and_expressions_of_mdx_are_copied() -> None:
    assert [text for text in shown(MDX) if text] == [
        "Das Haus",
        "Im Jahr lag Schnee. import ist ein Wort, export auch.",
        "Die Katze",
        "ist da.",
        "Der Hund bellt.",
    ]
    assert formats.guess_format(Path("seite.mdx")) == "mdx"


@pytest.mark.parametrize("mark", ["---", "+++"])
def test_a_statement_may_follow_front_matter_without_a_blank_line(mark: str) -> None:
    page = f"{mark}\nid: a\n{mark}\nimport a from 'b';\nexport const c = () => (\n  <b>d</b>\n);\n\nEin Wort\n"
    assert shown(page) == ["Ein Wort"]
    assert shown(page.replace(mark, "Text", 1))[-1] == "Ein Wort"


@pytest.mark.parametrize("broken", ["export const a = {\n  b: 1\n\n", "{ Das\n\n", "export const a = `\n\n"])
def test_a_statement_of_mdx_that_does_not_end_hides_no_text_after_a_blank_line(broken: str) -> None:
    assert shown(f"{broken}Der Hund bellt.\n")[-1] == "Der Hund bellt."


@given(
    st.lists(st.sampled_from([*"{}()[]'\"`\n\n*/ab ", "import a", "export {", "```\n", "/*"]), max_size=40).map("".join)
)
def test_the_pieces_of_mdx_are_the_page(text: str) -> None:
    assert "".join(piece.text for piece in formats.reader("mdx")(lines(text))) == text


@pytest.mark.parametrize("format", ["markdown", "mdx"])
@pytest.mark.parametrize(
    ("tag", "texts"),
    [
        ('<Hinweis\n  art="warnung"\n  title="Der Hund"\n>\n', ['<Hinweis\n  art="warnung"\n  title="Der Hund"\n>']),
        ('<Karte\n  a={1}\n  {...b}\n  c={[\n    "Der Hund",\n  ]}\n  d={() => {\n    e(1 > 2)\n  }}\n/>\n', []),
        ("</Karte\n>\n", []),
    ],
)
def test_a_tag_may_go_on_in_the_next_lines(format: formats.Format, tag: str, texts: list[str]) -> None:
    """Its attributes were text, and a line with ">" began a quotation."""
    page = f"Ein Haus.\n{tag}Eine Katze.\n\n```\n{tag}```\n"
    found = list(formats.reader(format)(page.splitlines(keepends=True)))
    assert "".join(piece.text for piece in found) == page
    assert [piece.text.strip() for piece in found if piece.translate] == ["Ein Haus.", *texts, "Eine Katze."]


@pytest.mark.parametrize("text", ["<b ist kleiner\nals c.\n", '<a "x\n> y\n', "<a\n\nb>\n", "<a"])
def test_a_tag_without_an_end_is_text(text: str) -> None:
    found = list(formats.reader("markdown")(text.splitlines(keepends=True)))
    assert "".join(piece.text for piece in found) == text
    assert any(piece.translate for piece in found)


@pytest.mark.parametrize("format", ["markdown", "mdx"])
@pytest.mark.parametrize(
    "attributes",
    [
        'wenn={a > b} title="{}"',
        'title="{}" wenn={a > b}',
        "klick={() => { go(1 > 2) }} title='{}'",
        'a={`x > ${y}`} b={<i title="x">y</i>} title="{}"',
        'b="c > d" title="{}" e',
    ],
)
@pytest.mark.parametrize("title", ["Der Hund", "Hunde > Katzen", "Das {Haus} steht"])
def test_a_tag_is_one_whatever_is_in_its_expressions_and_values(
    format: formats.Format, attributes: str, title: str
) -> None:
    """A ">" in them ended the tag, and the title of it was not translated."""
    tag = f"<Karte {attributes.replace('{}', title)}>"
    assert [tag[slice(*span)] for span in branches(tag)] == [title]
    for text in (f"{tag}Die Katze</Karte>\n", f"Ein {tag}Wort</Karte> hier.\n"):
        (piece,) = (piece for piece in formats.reader(format)(lines(text)) if piece.translate)
        assert protect(piece.text, formats.markup(format)).originals == (tag, "</Karte>")
    block = f"{tag.replace(' ', chr(10), 1)}\n\nDie Katze\n\n</Karte>\n"
    assert [p.text for p in formats.reader(format)(lines(block)) if p.translate][-1] == "Die Katze"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("> **Achtung**\n> Nicht aufmachen.\n> Nie.\n", ["**Achtung**", "Nicht aufmachen.\n> Nie."]),
        ("- __Ein Hinweis:__\n  Das Haus\n", ["__Ein Hinweis:__", "Das Haus"]),
        ("**Der Hund**\nbellt.\n", ["**Der Hund**\nbellt."]),
        ("Ein Haus.\n**Der Hund**\nBellt.\n", ["Ein Haus.\n**Der Hund**\nBellt."]),
        ("**Der** Hund\nBellt.\n", ["**Der** Hund\nBellt."]),
    ],
)
def test_a_strong_line_before_a_capital_is_a_title(text: str, expected: list[str]) -> None:
    """Older notes of GitHub begin so, and "Warning Do not open it." lost its negation."""
    found = list(formats.reader("markdown")(lines(text)))
    assert "".join(piece.text for piece in found) == text
    assert [piece.text.strip() for piece in found if piece.translate] == expected


@pytest.mark.parametrize("format", ["markdown", "mdx"])
@pytest.mark.parametrize(
    ("line", "title"),
    [
        (":::tip[Der Hund]", "Der Hund"),
        (":::mein-kasten[Der **Hund** [dort](a.md)]{#id}", "Der **Hund** [dort](a.md)"),
        (":::note Der Hund", "Der Hund"),
        ("::: WARNING Der Hund", "Der Hund"),
        ("> ::::info Achtung", "Achtung"),
        (':::note{.a title="Der Hund" b="c"}', "Der Hund"),
        ('::: {.callout-note title="Der Hund"}', "Der Hund"),
        *(
            (line, "")
            for line in (":::", ":::tip", "::: tip", "::: {.note}", "::: warning :::::", ":::tip[]", ":::slot held")
        ),
    ],
)
def test_the_title_of_an_admonition_is_translated(format: formats.Format, line: str, title: str) -> None:
    """https://docusaurus.io/docs/markdown-features/admonitions, https://vitepress.dev/guide/markdown, and Quarto."""
    text = f"Ein Haus.\n\n{line}\n\nEine Katze.\n\n:::\n"
    found = list(formats.reader(format)(lines(text)))
    assert "".join(piece.text for piece in found) == text
    assert [piece.text.strip() for piece in found if piece.translate] == [
        "Ein Haus.",
        *([title] if title else []),
        "Eine Katze.",
    ]


KEPT = '<div translate="no">\nNicht <div>\n\n# dies\n\n</div>\n\nund dies\n\n</div>\n'


@pytest.mark.parametrize("format", ["markdown", "mdx"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{KEPT}Eine Katze.\n", ["Eine Katze."]),
        (KEPT.replace('translate="no"', 'class="a notranslate"'), []),
        (KEPT.replace('<div translate="no">', '<div\n  translate="no"\n>'), []),
        ('<div translate="no">\n\nDer Hund\n', ["Der Hund"]),  # without an end
        ('```\n<div translate="no">\n```\n\nDer Hund\n\n</div>\n', ["Der Hund"]),
        ('<div translate="yes">\n\nDer Hund\n\n</div>\n', ["Der Hund"]),
    ],
)
def test_an_element_on_lines_of_its_own_may_stay(format: formats.Format, text: str, expected: list[str]) -> None:
    found = list(formats.reader(format)(lines(f"Ein Haus.\n\n{text}")))
    assert "".join(piece.text for piece in found) == f"Ein Haus.\n\n{text}"
    assert [piece.text.strip() for piece in found if piece.translate] == ["Ein Haus.", *expected]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("[{{label: {0}, value: 'haus'}}, {{'title': {1}, n: -1.5,}},]", 2),
        ('[\n  {{ "label": {0}, children: [{{text: {1}}}] }},\n]', 2),
        ("[{{url: \"label: 'x'\", label: {0}}}, ...rest, 'label']", 1),
        ("{{label: {0}}}", 0),  # may be the name of a class for a part with this name
        ("[{{classes: {{label: {0}}}}}]", 0),
        ("[{{label: t({0})}}]", 0),
        ("[{{label: {0} + x}}]", 0),
        ("x.map((y) => [{{label: {0}}}])", 0),
        ("[{{label: a ? {0} : b}}]", 0),
        ("[{{xlabel: {0}, value: {0}}}]", 0),
    ],
)
@pytest.mark.parametrize("format", ["markdown", "mdx"])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_texts_in_data_of_a_component_are_translated(
    format: formats.Format, value: str, texts: int, quote: str
) -> None:
    """Tabs of Docusaurus have their labels in such lists. An expression that may be code stays as it is."""
    words = ["Das Haus", "Eine Katze"]
    tag = f"<Tabs a={{b}} values={{{value.format(*(quote + word + quote for word in words))}}}>"
    found = [tag[slice(*span)] for span in branches(tag)]
    assert found == words[:texts]
    assert messages(tag, formats.markup(format)) == ([tag] if texts else [])
    said = [f"A {quote}house{quote}"] * texts
    changed = with_branches(tag, said)
    assert [branch_text(changed, *span) for span in branches(changed)] == said
    pieces = [*formats.reader(format)(lines(f"{tag}\n"))]
    assert not texts or any(piece.translate for piece in pieces)
    assert "".join(piece.text for piece in pieces) == f"{tag}\n"


def test_data_of_a_component_take_linear_time() -> None:
    for unit in ("[{label: 'a', ", '[{"label": "', "{label", "[{label:\n", "\\'", "[ "):
        assert grows_linearly(lambda n, unit=unit: branches("<A b={[" + unit * n + "]}>"), 2**11, 2**14)
