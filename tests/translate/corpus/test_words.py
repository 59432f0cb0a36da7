"""The word list has clean, distinct entries, one translation per source, and none of the held-out items."""

import csv
import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from translate.config.schema import WordsSource
from translate.corpus.sources import describe, identity, read_pairs
from translate.errors import UserError

ROOT = Path(__file__).parents[3]
WORDS = WordsSource(kind="words")
HELD_OUT = {"de": "everyday.de-en.tsv", "en": "everyday.en-de.tsv"}
MAX_CHARACTERS = 60


def entries() -> list[list[str]]:
    with (ROOT / "translate/corpus/words.tsv").open(encoding="utf-8", newline="\n") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE, lineterminator="\n"))


def bare(text: str) -> str:
    """The text in lower case, without a leading article and final punctuation; stricter than the check requires."""
    return re.sub(r"^(der|die|das|eine?|the|an?|to) (?=\S)", "", text.casefold().rstrip(" .!?"))


def test_an_entry_is_a_german_and_an_english_text() -> None:
    assert {len(entry) for entry in entries()} == {2}
    assert len(entries()) >= 4000


def test_entries_are_distinct() -> None:
    assert [entry for entry, n in Counter(map(tuple, entries())).items() if n > 1] == []


def test_entries_are_composed_unicode_without_stray_space() -> None:
    for text in (side for entry in entries() for side in entry):
        assert text == unicodedata.normalize("NFC", text) == " ".join(text.split())
        assert 1 <= len(text) <= MAX_CHARACTERS
        assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn")]


def test_the_sides_of_an_entry_have_the_same_final_punctuation() -> None:
    """A sentence must be translated by a sentence, and a word by a word."""
    assert [entry for entry in entries() if len({side[-1] in ".!?" for side in entry}) > 1] == []


def test_the_sides_of_an_entry_are_of_similar_length() -> None:
    assert [entry for entry in entries() if max(map(len, entry)) > 4 * min(map(len, entry)) + 8] == []


@pytest.mark.parametrize("german", [True, False])
def test_no_held_out_item_is_in_the_list(german: bool) -> None:
    lines = (ROOT / "scripts/data" / HELD_OUT["de" if german else "en"]).read_text(encoding="utf-8").splitlines()
    held_out = {bare(line.split("\t")[0]) for line in lines}
    assert len(lines) == 200
    assert not held_out & {bare(entry[0 if german else 1]) for entry in entries()}


@pytest.mark.parametrize("langpair", ["de-en", "en-de"])
def test_a_source_side_has_one_translation(langpair: str) -> None:
    pairs = list(read_pairs(WORDS, Path(), langpair))
    assert len({source for source, _ in pairs}) == len(pairs) > 4000


def test_the_directions_mirror_each_other_where_a_word_has_one_translation() -> None:
    there = set(read_pairs(WORDS, Path(), "de-en"))
    back = {(german, english) for english, german in read_pairs(WORDS, Path(), "en-de")}
    germans, englishes = (Counter(pair[side] for pair in there | back) for side in (0, 1))
    clear = {(german, english) for german, english in there | back if germans[german] == englishes[english] == 1}
    assert len(clear) > 4000
    assert clear <= there & back


def test_a_noun_is_given_with_its_article_and_without() -> None:
    pairs = set(read_pairs(WORDS, Path(), "de-en"))
    assert {("die Brücke", "the bridge"), ("Brücke", "bridge")} <= pairs
    assert ("Sonne scheint.", "sun is shining.") not in pairs


def test_the_list_refuses_other_languages() -> None:
    with pytest.raises(UserError, match="German and English.*not fr-en"):
        list(read_pairs(WORDS, Path(), "fr-en"))


def test_the_list_is_identified_by_its_content() -> None:
    assert describe(WORDS) == "words"
    assert json.dumps(identity(WORDS, Path())).count("words") == 1
    assert len(identity(WORDS, Path("elsewhere"))["words"]) == 64
