"""Wrapping keeps the number of lines; no line is empty or begins with a layout mark."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.formats import wrapped
from translate.text.markup import LANGUAGE, markdown, paragraph, read_html, with_language

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
    ],
)
def test_a_page_states_the_language_of_its_translation(tag: str, expected: str) -> None:
    assert with_language(tag, "de", "pt_BR") == expected
    (piece,) = read_html([tag])
    assert piece.form == ("language" if LANGUAGE.search(tag) else "")
