"""Plural categories: ordinals are translated with a number of their category, in the forms of the target language."""

import json
import re
from collections.abc import Callable, Sequence

import pytest
from babel import Locale

from tests.translate.documents.translators import texts, translated
from translate.documents.edits import other_codes, variables
from translate.inference.pipeline import Rules, translate
from translate.text.placeholders import branches
from translate.text.plurals import ordinal_number, plural_categories, with_ordinal_forms
from translate.text.translation import Translation

ENGLISH = "{n, selectordinal, =3 {third} one {#st visit} two {#nd visit} few {#rd visit} other {#th visit}}"
GERMAN = "{n, selectordinal, other{#. Besuch}}"


@pytest.mark.parametrize("language", ["en", "de", "sv", "it", "pl"])
def test_numbers_have_their_category(language: str) -> None:
    for category in plural_categories(language, ordinal=True):
        number = ordinal_number(category, language, language)
        assert Locale(language).ordinal_form(int(number)) == category
    assert ordinal_number("no category", language, language) == ""


def test_a_number_fits_both_languages() -> None:
    assert Locale("en").ordinal_form(int(ordinal_number("other", "de", "en"))) == "other"


@pytest.mark.parametrize(
    "message", [ENGLISH, GERMAN, "{n, plural, one {# day} other {# days}}", "{a, select, other {}}"]
)
def test_only_ordinals_get_forms(message: str) -> None:
    same = with_ordinal_forms(message, branches(message), "en", "de")
    assert same == message
    wanted = "{n, selectordinal, one{#. Besuch} two{#. Besuch} few{#. Besuch} other{#. Besuch}}"
    found = with_ordinal_forms(message, branches(message), "de", "en")
    assert found == (wanted if message is GERMAN else message)


def said(message: str, source: str, target: str, rule: tuple[str, str | Callable[[re.Match[str]], str]]) -> str:
    """Return the translation of a message by a model that knows a rule for numbers."""

    def model(sentences: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
        return {sentence: Translation(re.sub(*rule, sentence)) for sentence in sentences}

    return translate([message], model, Rules(source=source, target=target, n_symbols=9, checks=False))[0].text


def test_a_model_reads_a_number_of_the_category() -> None:
    assert said(ENGLISH, "en", "de", (r"(\d+)(?:st|nd|rd|th) visit", r"\1. Besuch")) == (
        "{n, selectordinal, =3 {third} one {#. Besuch} two {#. Besuch} few {#. Besuch} other {#. Besuch}}"
    )
    endings = {"1": "st", "2": "nd", "3": "rd"}
    rule = (r"(\d+)\. Besuch", lambda match: match[1] + endings.get(match[1][-1], "th") + " visit")
    found = said(GERMAN, "de", "en", rule)
    assert found == "{n, selectordinal, one{#st visit} two{#nd visit} few{#rd visit} other{#th visit}}"
    assert not other_codes(GERMAN, found, variables)


def test_a_translation_without_the_number_is_not_taken() -> None:
    assert said(ENGLISH, "en", "de", (r"\d+", "many")) == ENGLISH
    assert other_codes(ENGLISH, ENGLISH.replace("#th visit", "visit {n}"), variables)


def test_the_count_of_i18next_is_read_as_a_number_too() -> None:
    data = {"a_ordinal_other": "Ihr {{count}}. Besuch {{b}}", "c_other": "{{count}} Tage", "d_ordinal_other": "Platz"}
    text = json.dumps(data, indent=1).encode()
    found = texts("a.json", text, "de", "en")
    numbers = [re.sub(r"\D", "", one) for one in found if "Besuch" in one]
    forms = {Locale("en").ordinal_form(int(number)) for number in numbers}
    assert forms == {"one", "two", "few", "other"}
    after = json.loads(translated("a.json", text, lambda text: text.replace("Ihr", "Your"), source="de", target="en"))
    assert {key for key in after if key.startswith("a_")} == {f"a_ordinal_{form}" for form in forms}
    assert {after[f"a_ordinal_{form}"] for form in forms} == {"Your {{count}}. Besuch {{b}}"}
    reports: list[str] = []
    translated("a.json", text, lambda text: re.sub(r"\d+", "", text), source="de", target="en", reports=reports)
    assert any("{{count}}" in report for report in reports)
