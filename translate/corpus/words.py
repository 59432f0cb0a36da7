"""The German-English word list and the phrase book that ship with the project."""

from collections.abc import Iterator
from pathlib import Path

from translate.errors import UserError

LANGPAIRS = ("de-en", "en-de")
FILE = Path(__file__).with_name("words.tsv")
PHRASES_FILE = Path(__file__).with_name("phrases.tsv")


def word_pairs(langpair: str) -> Iterator[tuple[str, str]]:
    """Yield (source, target) of the word list, only the first and best translation of each source.

    UserError if `langpair` is not German and English.
    """
    check_german_english("word list", langpair)
    seen: set[str] = set()
    for german, english in _entries(FILE):
        for pair in ((german, english), *_without_article(german, english)):
            source, target = pair if langpair == "de-en" else pair[::-1]
            if source not in seen:
                seen.add(source)
                yield source, target


def phrase_pairs(langpair: str) -> Iterator[tuple[str, str]]:
    """Yield (source, target) of the phrase book; UserError if `langpair` is not German and English."""
    check_german_english("phrase book", langpair)
    for german, english in _entries(PHRASES_FILE):
        yield (german, english) if langpair == "de-en" else (english, german)


def _entries(file: Path) -> Iterator[tuple[str, str]]:
    """Yield German and English of each line."""
    for line in file.read_text(encoding="utf-8").split("\n"):
        german, tab, english = line.partition("\t")
        if tab:
            yield german, english


def check_german_english(what: str, langpair: str) -> None:
    """Raise UserError if `langpair` is not German and English; the message names what is in these languages."""
    if langpair not in LANGPAIRS:
        known = 'set data.source and data.target to "de" and "en"'
        raise UserError(f"the {what} is German and English: {known}, not {langpair}")


def dictionary(langpair: str) -> dict[str, str]:
    """Return the single words of the word list with their translations, case-folded; empty for other languages."""
    if langpair not in LANGPAIRS:
        return {}
    pairs = ((source.casefold(), target.casefold()) for source, target in word_pairs(langpair))
    return {source: target for source, target in pairs if source.isalpha() and target.isalpha()}


def _without_article(german: str, english: str) -> Iterator[tuple[str, str]]:
    """Yield a noun without its article, as people type it: `Haus` for `das Haus`."""
    article, _, noun = german.partition(" ")
    if article in ("der", "die", "das") and noun and " " not in noun and english.startswith("the "):
        yield noun, english.removeprefix("the ")
