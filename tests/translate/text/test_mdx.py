"""MDX is Markdown whose statements, expressions and tags with expressions are copied."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text import formats

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
