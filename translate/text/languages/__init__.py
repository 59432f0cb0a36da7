"""Rules about one language, one TOML file per language: a new language is one new file named after its code."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

Words = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Language:
    """Writing conventions and word lists of a language; words are in lower case unless stated otherwise.

    Attributes:
        script: first word of the Unicode names of its letters, such as "LATIN".
        letters: letters outside a-z that its words contain, loan words included.
        capitalises_nouns: whether nouns are written with a capital letter.
        quotes: opening and closing quotation mark.
        grouping: separator between groups of three digits.
        decimal: decimal separator.
        units: names and codes of currencies and per cent by their sign; codes are in capitals.
        scales: names of powers of ten that follow a number, as in "3 million", without their endings.
        numbered: matches at the end of a text after which a number stays in digits, such as "Nr.".
        measures: matches units of measurement after a number.
        clock: matches after a time of day, such as "Uhr"; its groups morning, afternoon and night tell the half of the
            day, and whether neither is certain.
        range: matches what joins two numbers if only the second has a unit or clock, as in "9 bis 18 Uhr".
        clock_words: written after a time of day; two if hours are counted to 12.
        afternoon: matches words after which an hour up to 12 may be one after noon.
        hour_names: names of hours of the day.
        number_endings: matches the empty text before the ending of a number word, such as "fach" in "zwanzigfach".
        abbreviations: without their full stop; the sentence goes on after it.
        final_abbreviations: the sentence ends after these if the next word begins one.
        numbered_abbreviations: the sentence goes on after these if a number follows.
        street: the ending of streets before a number, as in "Hauptstr. 12"; None without one.
        starters: frequent words that begin sentences and are no nouns.
        ordinal_nouns: matches nouns after an ordinal such as "3."; None if a full stop after digits is no ordinal.
        speech: matches speaker and verb after a quotation, which do not begin a sentence; None without such a rule.
        respellings: what people type in place of letters that their keyboards lack, one table for each convention.
        letter_ends_sentence: whether a sentence may end in a single capital letter, as in "Plan B."
    """

    script: str
    letters: str
    capitalises_nouns: bool
    quotes: tuple[str, str]
    grouping: str
    decimal: str
    units: dict[str, tuple[str, ...]]
    scales: dict[str, tuple[str, ...]]
    numbered: re.Pattern[str]
    measures: re.Pattern[str]
    clock: re.Pattern[str]
    clock_words: tuple[str, ...]
    range: re.Pattern[str]
    afternoon: re.Pattern[str]
    hour_names: dict[str, tuple[str, ...]]
    number_endings: re.Pattern[str]
    abbreviations: Words
    final_abbreviations: Words
    numbered_abbreviations: Words
    starters: Words
    respellings: tuple[dict[str, str], ...] = ()
    street: str | None = None
    speech: re.Pattern[str] | None = None
    ordinal_nouns: re.Pattern[str] | None = None
    letter_ends_sentence: bool


@cache
def find(code: str) -> Language | None:
    """Return the language with this code, None if it has no file here."""
    path = Path(__file__).parent / f"{code}.toml"
    if not code.isidentifier() or not path.is_file():
        return None
    kinds = get_type_hints(Language)
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    return Language(**{key: _typed(value, kinds[key]) for key, value in values.items()})


def _typed(value: Any, kind: Any) -> Any:
    """Return a value of a TOML file as the type of its field."""
    if kind == Words:
        return frozenset(value.split())
    if re.Pattern[str] in (kind, *get_args(kind)):
        return re.compile(value)
    if isinstance(value, dict):
        return {key: tuple(words) for key, words in value.items()}
    return tuple(value) if isinstance(value, list) else value
