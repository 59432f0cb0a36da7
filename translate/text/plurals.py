"""The plural categories of languages, after CLDR, and numbers in the place of variables in ordinals.

A variable before the end of an ordinal, such as {n} in "{n}st place", is no number that a model could read. A number
that has the category of the text can stand for it: "21st place" is "21. Platz" in German, and so {n}. Platz.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from translate.text.placeholders import branch_text

if TYPE_CHECKING:
    from babel import Locale

Span = tuple[int, int]

CATEGORIES = ("zero", "one", "two", "few", "many", "other")  # in the order of CLDR
_ORDINALS = re.compile(r"\{\s*\w+\s*,\s*selectordinal\b")
_BEFORE_BRANCH = re.compile(rf"\b({'|'.join(CATEGORIES)})\s*\{{\Z")
_LONGEST_KEY = 40  # characters of a category and its brace
_SIGN = re.compile("#")
_NUMBERS = range(21, 100)  # small ones are often words: "zweiter Platz"


@cache
def _locale(language: str) -> "Locale | None":
    from babel import Locale, UnknownLocaleError

    try:
        return Locale.parse(language, sep="-" if "-" in language else "_")
    except (UnknownLocaleError, ValueError):
        return None


def plural_categories(language: str, *, ordinal: bool = False) -> Collection[str]:
    """Return the plural categories of a language in the order of CLDR, "other" last."""
    locale = _locale(language)
    if locale is None:
        return ("other",)
    rule = locale.ordinal_form if ordinal else locale.plural_form
    return [name for name in CATEGORIES if name in rule.tags or name == "other"]


@cache
def common_categories(language: str, *, ordinal: bool = False) -> frozenset[str]:
    """Return the plural categories of whole numbers below 1,000, which the files of a language have at least.

    Many have no form for millions in French, Italian, Portuguese and Spanish, or for decimals in Czech.
    """
    locale = _locale(language)
    if locale is None:
        return frozenset(("other",))
    return frozenset(map(locale.ordinal_form if ordinal else locale.plural_form, range(1_000)))


@cache
def ordinal_number(category: str, source: str, target: str) -> str:
    """Return a number whose ordinal has a category in the source or target language, best in both; "" if none has."""
    locales = [locale for locale in map(_locale, (source, target)) if locale]

    def languages_with(number: int) -> int:
        return sum(locale.ordinal_form(number) == category for locale in locales)

    best = max(_NUMBERS, key=lambda number: (languages_with(number), -number))
    return str(best) if languages_with(best) else ""


def with_number(text: str, variable: re.Pattern[str], number: str) -> tuple[str, str]:
    """Return a text with a number for its only variable, and the variable; the text and "" if that is not certain."""
    found = list(variable.finditer(text))
    if not number or len(found) != 1 or number in text:
        return text, ""
    return text[: found[0].start()] + number + text[found[0].end() :], found[0][0]


def _key(message: str, start: int) -> re.Match[str] | None:
    """Return the category before a branch of a message, with its brace; None if it has another key."""
    return _BEFORE_BRANCH.search(message, max(0, start - _LONGEST_KEY), start)


def _forms(message: str, spans: Sequence[Span]) -> Iterator[tuple[re.Match[str], Span]]:
    return ((key, span) for span in spans if (key := _key(message, span[0])))


def without_repeated_forms(message: str, spans: Sequence[Span]) -> str:
    """Return a message of ICU without the forms of a plural that are the same as that of "other"."""
    found = list(_forms(message, spans))
    other = next((message[slice(*span)] for key, span in found if key[1] == "other"), None)
    for key, (start, stop) in reversed(found):
        if key[1] != "other" and message[start:stop] == other:
            message = message[: key.start()] + message[stop + 1 :].lstrip()
    return message


def with_ordinal_forms(message: str, spans: Sequence[Span], source: str, target: str) -> str:
    """Return a message of ICU for ordinals with its text for other numbers in the forms that only the target has.

    Args:
        spans: where its branches are.
        source, target: codes of languages.
    """
    if not _ORDINALS.match(message):
        return message
    found = {key[1]: (key, span) for key, span in _forms(message, spans)}
    if not {*plural_categories(source, ordinal=True)} <= {*found}:
        return message
    key, (start, stop) = found["other"]
    branch = message[key.end(1) : stop + 1]
    missing = (name for name in plural_categories(target, ordinal=True) if name not in found)
    return message[: key.start()] + "".join(f"{name}{branch} " for name in missing) + message[key.start() :]


def numbered_branches(message: str, spans: Sequence[Span], source: str, target: str) -> list[tuple[str, str]]:
    """Return each branch of a message of ICU with a number for "#", and the number; "" but for those of ordinals."""
    is_ordinal, found = _ORDINALS.match(message), list[tuple[str, str]]()
    for start, stop in spans:
        category = _key(message, start) if is_ordinal else None
        number = ordinal_number(category[1], source, target) if category else ""
        text, sign = with_number(branch_text(message, start, stop), _SIGN, number)
        found.append((text, number if sign else ""))
    return found
