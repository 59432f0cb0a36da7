"""The phrase book has clean, distinct pairs, and none of the sentences that models are tested on."""

import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from translate.config.schema import PhrasesSource
from translate.corpus.sources import PHRASES_FILE, describe, identity, read_pairs
from translate.errors import UserError

DATA = Path(__file__).parents[3] / "scripts/data"
PHRASES = PhrasesSource(kind="phrases")
PRACTICAL = ("practical.de-en.tsv", "practical.en-de.tsv")


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def bare(text: str) -> str:
    """The letters and digits of a text, ignoring case."""
    return "".join(filter(str.isalnum, text.casefold()))


def test_a_line_is_a_german_and_an_english_text() -> None:
    assert {len(row) for row in rows(PHRASES_FILE)} == {2}
    assert len(rows(PHRASES_FILE)) >= 7000


def test_pairs_are_distinct_and_have_one_translation_each() -> None:
    for side in (0, 1):
        assert [text for text, n in Counter(row[side] for row in rows(PHRASES_FILE)).items() if n > 1] == []


def test_text_is_composed_unicode_without_stray_space() -> None:
    for text in (side for row in rows(PHRASES_FILE) for side in row):
        assert text == unicodedata.normalize("NFC", text) == " ".join(text.split())
        assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn")]


def test_the_sides_are_of_similar_length() -> None:
    assert [row for row in rows(PHRASES_FILE) if max(map(len, row)) > 3 * min(map(len, row)) + 12] == []


@pytest.mark.parametrize("name", ["phrases.tsv", *PRACTICAL])
def test_no_sentence_to_test_with_is_in_the_book(name: str) -> None:
    held_out = {bare(side) for row in rows(DATA / name) for side in row[1:3]}
    assert len(held_out) > 200
    assert not held_out & {bare(side) for row in rows(PHRASES_FILE) for side in row}


@pytest.mark.parametrize("name", ["everyday.de-en.tsv", "everyday.en-de.tsv"])
def test_no_everyday_text_to_test_with_is_in_the_book(name: str) -> None:
    held_out = {bare(row[0]) for row in rows(DATA / name)}
    assert len(held_out) > 150
    assert not held_out & {bare(side) for row in rows(PHRASES_FILE) for side in row}


def six_words(path: Path) -> set[tuple[str, ...]]:
    """All sequences of six words in the last two columns."""
    sides = [re.findall(r"\w+", side.casefold()) for row in rows(path) for side in row[-2:]]
    return {tuple(words[i : i + 6]) for words in sides for i in range(len(words) - 5)}


@pytest.mark.parametrize("name", PRACTICAL)
def test_no_practical_sentence_shares_six_words_with_the_book(name: str) -> None:
    assert len(six_words(DATA / name)) > 300
    assert not six_words(DATA / name) & six_words(PHRASES_FILE)


def test_the_directions_mirror_each_other() -> None:
    there = list(read_pairs(PHRASES, Path(), "de-en"))
    assert there == [(german, english) for english, german in read_pairs(PHRASES, Path(), "en-de")]
    assert there == [tuple(row) for row in rows(PHRASES_FILE)]


def test_the_book_refuses_other_languages() -> None:
    with pytest.raises(UserError, match="phrase book is German and English.*not fr-en"):
        list(read_pairs(PHRASES, Path(), "fr-en"))


def test_the_book_is_identified_by_its_content() -> None:
    assert describe(PHRASES) == "phrases"
    assert identity(PHRASES, Path()) == identity(PHRASES, Path("elsewhere"))
    assert len(identity(PHRASES, Path())["phrases"]) == 64
