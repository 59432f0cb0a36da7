"""Links to headings of a text name the translated headings."""

import pytest

from translate.text.formats import reader
from translate.text.headings import Headings

PAGE = """[Das Haus](#{}), [mehr](#{}), [zwei](#{}), [fest](#fest) und [fremd](#anders)

# Das Haus

```sh
# kein Titel
```

## Über *uns* & [mehr](x.md)

> ### Das Haus ###

Der Garten
----------

## Ein Titel {{#fest}}
"""
SAID = {
    "Das Haus": "The House",
    "Über *uns* & [mehr](x.md)": "About *us* & [more](x.md)",
    "Der Garten": "The Garden",
}


def linked(page: str, format: str = "markdown") -> list[str]:
    """Return the texts of a page with links, which lead to the headings of `SAID`."""
    found = list[str]()
    for piece in reader(format)(page.splitlines(keepends=True)):
        if piece.translate and piece.headings:
            piece.headings.translate([SAID[text] for text in piece.headings.texts])
            found.append(piece.headings.linked(piece.text))
    return found


@pytest.mark.parametrize("format", ["markdown", "mdx"])
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("das-haus", "über-uns--mehr", "das-haus-1"), ("the-house", "about-us--more", "the-house-1")),  # GitHub
        (("das-haus", "über-uns-mehr", "das-haus-1"), ("the-house", "about-us-more", "the-house-1")),  # GitLab, pandoc
        (("das-haus", "uber-uns-mehr", "das-haus_1"), ("the-house", "about-us-more", "the-house_1")),  # MkDocs
        (("der-garten", "nichts", "Das-Haus"), ("the-garden", "nichts", "Das-Haus")),
    ],
)
def test_a_link_to_a_heading_has_the_name_of_its_translation(
    format: str, names: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    page = PAGE if format == "markdown" else PAGE.replace("\n## Ein Titel {{#fest}}\n", "")
    (text,) = linked(page.format(*names), format)
    assert text == PAGE.format(*expected).split("\n")[0]


def test_headings_that_become_equal_get_numbers_as_programs_give_them() -> None:
    headings = Headings()
    assert [*headings.watched(iter(["[a](#haus) [b](#heim)\n", "# Haus\n", "# Heim\n"]))][
        0
    ] == "[a](#haus) [b](#heim)\n"
    headings.translate(["Home", "Home"])
    assert headings.linked("[a](#haus) <a href='#heim'>b</a>") == "[a](#home) <a href='#home-1'>b</a>"


@pytest.mark.parametrize(("link", "n_read"), [("page.md#haus", 10), ("#haus", 1000)])
def test_lines_are_read_ahead_only_for_a_link_to_a_heading(link: str, n_read: int) -> None:
    lines = iter([f"[Text]({link})\n", "\n"] * 500)
    assert next(reader("markdown")(lines)).translate
    assert 1000 - len([*lines]) <= n_read
