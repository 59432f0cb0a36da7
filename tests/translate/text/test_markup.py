"""Wrapping keeps the number of lines; no line is empty or begins with a layout mark."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.formats import content, reader, wrapped
from translate.text.markup import LANGUAGE, markdown, paragraph, read_html, read_markdown, with_language
from translate.text.translation import Format

MARKDOWN = markdown()

WORDS = st.lists(st.sampled_from(["a", "der", "Hund", "-", "#", "1.", "{x}", "`a b`", '<a href="x y">', "schläft."]))


@given(words=WORDS, lines=st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_wrapping_keeps_the_number_of_lines_and_the_words(words: list[str], lines: list[int]) -> None:
    like = "\n".join("x" * n for n in lines)
    text = wrapped(" ".join(words), like)
    if text is None:
        good = [word for word in words[1:] if word not in ("-", "#", "1.", "`a b`")]
        assert len(good) < len(lines) - 1 or not words
        return
    assert text.count("\n") == like.count("\n")
    assert text.replace("\n", " ") == " ".join(words)
    assert all(line.strip() for line in text.split("\n")) or not words
    assert not any(line.startswith(("-", "#", "1.", "`")) for line in text.split("\n")[1:])


@given(
    words=st.lists(st.sampled_from(["a", "der", "``x  y``", "$u  =  v$", "(`z`)"]), min_size=5),
    space=st.sampled_from([" ", "  ", "\u00a0", " \t"]),
)
def test_only_the_white_space_at_line_breaks_is_replaced(words: list[str], space: str) -> None:
    text = wrapped(space.join(words), "x\nxxx\nxx", markup=MARKDOWN)
    if text is None:
        assert sum(not word.startswith("`") for word in words[1:]) < 2
    else:
        assert text.replace("\n", space) == space.join(words)


def test_lines_keep_their_indentation_and_their_proportion() -> None:
    like = "eins zwei drei vier\n    fünf\n  sechs sieben acht neun"
    assert wrapped("a b c d e f g h i", like) == "a b c d\n    e\n  f g h i"


@pytest.mark.parametrize("text", ["", " ", "\n", " \n a\nb \n", "...", "- x"])
def test_a_paragraph_keeps_its_text(text: str) -> None:
    pieces = paragraph(text)
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.text for piece in pieces if piece.translate] == (
        [text.strip()] if any(map(str.isalnum, text)) else []
    )


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("<html lang=\"de-AT\" xml:lang='de'>", "<html lang=\"pt-BR\" xml:lang='pt-BR'>"),
        ("<p LANG=DE class=x>", "<p LANG=pt-BR class=x>"),
        ('<p lang="fr">', '<p lang="fr">'),
        ('<p data-lang="de" hreflang="de" lang>', '<p data-lang="de" hreflang="de" lang>'),
        ('<meta http-equiv="Content-Language" content="de">', '<meta http-equiv="Content-Language" content="pt-BR">'),
        ('<meta property="og:locale" content="de_DE" />', '<meta property="og:locale" content="pt_BR" />'),
        ('<meta name="author" content="de">', '<meta name="author" content="de">'),
    ],
)
def test_a_page_states_the_language_of_its_translation(tag: str, expected: str) -> None:
    assert with_language(tag, "de", "pt_BR") == expected
    (piece,) = read_html([tag])
    assert piece.form == ("language" if LANGUAGE.search(tag) else "")


@pytest.mark.parametrize(
    ("code", "expected"), [("de", "pt-BR"), ("de-AT", "pt-BR"), ("de_DE", "pt_BR"), ("fr", "fr"), ("den", "den")]
)
def test_front_matter_states_the_language_of_its_translation(code: str, expected: str) -> None:
    pieces = list(read_markdown(["---\n", f"lang: {code}\n", "---\n"]))
    (piece,) = [piece for piece in pieces if piece.translate]
    assert (piece.text, piece.form, content(piece)) == (code, "code", "")
    assert with_language(code, "de", "pt_BR") == expected


@pytest.mark.parametrize(
    ("layout", "text", "expected"),
    [
        ("html", "<nav>{} {}\n{}</nav>", 3),
        ("html", "<p>{}{} &middot; {}</p>", 3),
        ("html", "<p><b>{}</b> <i>{}</i> <img src='x'/></p>", 2),
        ("html", "<p>See {} {} and {}.</p>", 1),
        ("html", '<p>{} <a href="x">schnell</a></p>', 1),
        ("html", "<p><button>Haus</button> <button>Tor</button></p>", 2),
        ("markdown", "{} {} {}\n", 3),
        ("markdown", "{} · {}\n{}\n", 3),
        ("markdown", "See {} {}.\n", 1),
        ("markdown", "- {} [schnell](x)\n", 1),
    ],
)
def test_links_alone_are_texts_of_their_own(layout: Format, text: str, expected: int) -> None:
    """As menus have them; in a sentence with other words, and before a small letter, they are parts of it."""
    link = "[Das {}](x.{})" if layout == "markdown" else '<a href="x.{1}">Das {0}</a>'
    page = text.format(*(link.format(name, n) for n, name in enumerate(("Haus", "Tor", "Dach"))))
    found = [piece.text for piece in reader(layout)(page.splitlines(keepends=True)) if piece.translate]
    assert len(found) == expected
    assert all("Das " not in text or text.count("Das ") == 1 for text in found) or expected == 1


@pytest.mark.parametrize("unit", ['<a href="x">', "<a>x</a> ", "[x](", "[x](y) ", "[", "<a>"])
def test_many_links_take_linear_time(unit: str) -> None:
    layouts: tuple[Format, ...] = ("html", "markdown")
    for layout in layouts:
        start = time.process_time()
        list(reader(layout)([unit * 2_000]))
        assert time.process_time() - start < 2
