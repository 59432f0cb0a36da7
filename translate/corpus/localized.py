"""Dates, times, weekdays, months, numbers and amounts in German and English: found in text, and written anew.

`replaced` finds what stands with the same value on both sides of a pair and puts other values there; `alone` makes
a pair of expressions alone, such as "Mo-Fr 8-17 Uhr" and "Mon-Fri 8 am-5 pm". Names, patterns, separators and the place
of currency signs are those of CLDR, by Babel: the target side is written in one way, the source side in all ways that
people write. Nothing is replaced unless its value is certain on both sides and occurs once on each:

    time     "um 8 Uhr" and "at 8 am". "at 8 o'clock" leaves the half of the day open; so do words such as "abends", and
             then the new time stays in the same half
    weekday, month    in full, abbreviated, or as a habit ("montags", "on Mondays")
    date     "3. Mai 2019" and "May 3, 2019"; in digits, "03.05.2019" and "5/3/2019", which may also be British
    number   with separators, or before a word that is counted
    amount   euros and dollars by sign or word, pounds by sign
"""

import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from functools import cache
from typing import Any

from translate.corpus.sources import Pair

LANGUAGES = ("de", "en")


@dataclass(frozen=True)
class Expression:
    """An expression in a text.

    Attributes:
        start, stop: where it stands.
        kind: what it is, such as "time".
        form: how it is written; the other side must have the same form.
        value: what it says; a time is (minutes of the day, whether the half of the day is known).
        shape: how to write another one in its place.
    """

    start: int
    stop: int
    kind: str
    form: str
    value: tuple[Any, ...]
    shape: str = ""


# Reading.

_HOURS = {
    "de": ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"],
    "en": ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
}
_HALF_DAY = {
    "de": re.compile(r"morgen|vormittag|mittag|abend|nacht|früh", re.IGNORECASE),
    "en": re.compile(r"morning|noon|evening|night|early|breakfast|lunch|dinner|supper", re.IGNORECASE),
}
_WORD_ENDS = r"(?!\w)"
_BEFORE = r"(?<![\w:/#@.,+=-])"
_AFTER = r"(?![\w:/@=%]|[.,]\d|-\d)"
_BEFORE_COUNTS = re.compile(r"(?:^|[^\w\s]\s*|\b[a-zäöüß]+ )$")  # unlike "Kapitel 3" and "Windows 7"
_IN_RANGE = re.compile(r"(?:bis(?: zum)?|to|and|und|–|-) ?$")  # after which a date is not the only one
_DATE_IN_DIGITS = {
    "de": re.compile(_BEFORE + r"(\d{1,2})\.\s?(\d{1,2})\.\s?([12]\d{3})" + _AFTER),
    "en": re.compile(_BEFORE + r"(\d{1,2})/(\d{1,2})/([12]\d{3})" + _AFTER),
}
# Two numbers of a range keep their order.
_LATER = re.compile(r"\d ?(?:bis|to|and|und|–|-) ?$")
_EARLIER = re.compile(r" ?(?:bis|to|and|und|–|-) ?\d")
# Beside these, a weekday may be abbreviated.
_BEFORE_DAYS = re.compile(
    r"(?:\b(?:am|bis|und|ab|jeden|nächsten|letzten|on|to|and|until|from|every|next|last) |\w\.?[–,/+-] ?|\()$"
)
_AFTER_DAYS = re.compile(
    r" ?[–/+-] ?\w|,? (?:bis|und|to|and|until|from|ab|geschlossen|closed|\d)|:|, (?:\d|[A-Z]\w{1,8}\.? \d)"
)
_ARTICLE = re.compile(r"\b[Aa]n? $")  # depends on the number after it
_DIGITS = {
    "de": r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?",
    "en": r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?",
}
_NUMBER = {
    code: re.compile(rf"(?<![\w:/#@%.,+=*-])(?:{digits})(?![\w:/@=*-]|[.,]\d)") for code, digits in _DIGITS.items()
}
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP"}
_CURRENCY_WORDS = {"Euro": "EUR", "euro": "EUR", "euros": "EUR", "Dollar": "USD", "dollar": "USD", "dollars": "USD"}
_SCALE = r"(?! ?(?:[Mm]illion|[Mm]illiard|[Bb]illion|[Mm]io|[Mm]rd|Tausend|thousand|tausend|[mk]\b|bn\b))"

Expressions = Iterator[Expression]
Patterns = dict[str, re.Pattern[str]]


def find(text: str, language: str) -> list[Expression]:
    """Return the expressions of a German or English text, in order, none within another."""
    found: list[Expression] = []
    taken = [False] * (len(text) + 1)
    for reader in (_dates, _times, _weekdays, _months, _amounts, _numbers):
        for expression in reader(text, language):
            if not any(taken[expression.start : expression.stop]):
                taken[expression.start : expression.stop] = [True] * (expression.stop - expression.start)
                found.append(expression)
    return sorted(found, key=lambda expression: expression.start)


def _times(text: str, language: str) -> Expressions:
    for shape, pattern in _time_patterns(language).items():
        for match in pattern.finditer(text):
            if (value := _time_of(match.groupdict(), language, shape)) is not None:
                yield Expression(match.start(), _stop(match), "time", "", value, shape)


def _stop(match: re.Match[str]) -> int:
    """Return the end of a match, before a full stop that ends the text: it is that of the sentence, too, and stays."""
    return match.end() - (match.end() == len(match.string) and match[0].endswith("."))


@cache
def _time_patterns(language: str) -> Patterns:
    hour, minutes = r"(?P<h>\d{1,2})", r"(?:[:.](?P<m>[0-5]\d))"
    word = "(?P<w>" + "|".join(_HOURS[language]) + ")"
    if language == "de":
        later = r"(?=\s?(?:–|-|bis|und)\s?\d{1,2}(?:[:.]\d\d)? Uhr\b)"
        patterns = {
            "full": rf"{hour}{minutes}? Uhr\b(?! \d)",
            "apart": rf"{hour} Uhr (?P<m>[0-5]\d)\b(?![.:]\d)",
            "first": rf"{hour}{minutes}?{later}",
            "colon": rf"{hour}:(?P<m>[0-5]\d)",
            "word": rf"\b{word} Uhr\b(?! (?:\d|\w+(?:zig|ßig|zehn)\b))",
        }
    else:
        half = r"(?P<half>[ap])(?:\.\s?m\b\.?|m\b)"
        later = rf"(?=\s?(?:–|-|to|and)\s?\d{{1,2}}(?:[:.]\d\d)?\s?{half.replace('half', 'later')})"
        patterns = {
            "full": rf"{hour}{minutes}?\s?{half}",
            "first": rf"{hour}{minutes}?{later}",
            "o'clock": rf"(?:{hour}|\b{word}) o['’]clock\b",
            "colon": rf"{hour}:(?P<m>[0-5]\d)",
            "word": rf"(?<=\bat ){word}(?=[.,!?]|$)",
        }
    return {
        shape: re.compile(_BEFORE + "(?:" + pattern + r")(?![\w:]|[.,]\d)", re.IGNORECASE)
        for shape, pattern in patterns.items()
    }


def _time_of(groups: dict[str, str | None], language: str, shape: str) -> tuple[int, bool] | None:
    """Return minutes of the day, and whether they are those of the whole day; None if that is no time."""
    word, digits = groups.get("w"), groups.get("h") or "0"
    hours = _HOURS[language].index(word.lower()) + 1 if word else int(digits)
    minutes = int(groups.get("m") or 0)
    half = (groups.get("half") or groups.get("later") or "").lower()
    if half:
        return ((hours % 12 + 12 * (half == "p")) * 60 + minutes, True) if 1 <= hours <= 12 else None
    if hours > 23:
        return None
    is_whole = language == "de" if shape != "colon" else hours > 12 or digits.startswith("0")
    return hours * 60 + minutes, is_whole


def _dates(text: str, language: str) -> Expressions:
    for form, shape, pattern in _date_patterns(language):
        names = _months_of(language, "wide" if form == "long" else "abbreviated")
        for match in pattern.finditer(text):
            value = (names[match["month"]], int(match["day"]), int(match["year"] or 0))
            if _is_date(*value) and not _IN_RANGE.search(text[: match.start()]):
                yield Expression(*match.span(), "date", f"{form} {bool(value[2])}", value, shape)
    for match in _DATE_IN_DIGITS[language].finditer(text):
        a, b, year = map(int, match.groups())
        for shape, (month, day) in (("american", (a, b)), ("british", (b, a))):
            if _is_date(month, day, year) and (language == "en" or shape == "british"):
                yield Expression(*match.span(), "date", "digits", (month, day, year), shape)
                break


@cache
def _date_patterns(language: str) -> list[tuple[str, str, re.Pattern[str]]]:
    """Return form, shape and pattern of each way to write a date with the name of its month."""
    found = []
    for form, width in (("long", "wide"), ("short", "abbreviated")):
        month = f"(?P<month>{_either(_months_of(language, width))})(?!\\w)"
        day, year = r"(?P<day>\d{1,2})", r"(?P<year>[12]\d{3})"
        if language == "de":
            patterns = {"": rf"{day}\. ?{month}(?: {year})?"}
        else:
            nth = r"(?:st|nd|rd|th)?"
            patterns = {
                "month first": rf"{month} {day}{nth}(?:,? {year})?",
                "day first": rf"(?:the )?{day}{nth}(?: of)? {month}(?:,? {year})?",
            }
        found += [(form, shape, re.compile(_BEFORE + pattern + _AFTER)) for shape, pattern in patterns.items()]
    return found


def _either(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


def _is_date(month: int, day: int, year: int) -> bool:
    try:
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _weekdays(text: str, language: str) -> Expressions:
    for form, (pattern, names) in _weekday_patterns(language).items():
        for match in pattern.finditer(text):
            stop = _stop(match)
            is_listed = _BEFORE_DAYS.search(text[: match.start()]) or _AFTER_DAYS.match(text[stop:])
            if form != "short" or is_listed:  # "So" and "Sun" are other words, too
                shape = "listed" if is_listed else "capital" if match[0][0].isupper() else ""
                yield Expression(match.start(), stop, "weekday", form, (names[match[1]],), shape)


@cache
def _weekday_patterns(language: str) -> dict[str, tuple[re.Pattern[str], dict[str, int]]]:
    """Return a pattern and the numbers of the names for each form."""
    long = _weekdays_of(language, "wide") | ({"Sonnabend": 5} if language == "de" else {})
    habits = {f"{name}s": day for name, day in long.items()}
    if language == "de":
        habits |= {habit.lower(): day for habit, day in habits.items()}
    forms = {"habit": habits, "long": long, "short": _weekdays_of(language, "abbreviated")}
    ends = {"short": r"\.?(?!\w)"}
    return {
        form: (re.compile(rf"(?<![\w.])({_either(names)}){ends.get(form, _WORD_ENDS)}"), names)
        for form, names in forms.items()
    }


def _months(text: str, language: str) -> Expressions:
    for form, (pattern, names) in _month_patterns(language).items():
        for match in pattern.finditer(text):
            yield Expression(*match.span(), "month", form, (names[match[1]],))


@cache
def _month_patterns(language: str) -> dict[str, tuple[re.Pattern[str], dict[str, int]]]:
    """Return a pattern and the numbers of the names for each form.

    "Jan" may be a person unless a year follows. The month of a day belongs to its date, even if that is left alone.
    """
    long, short = _months_of(language, "wide"), _months_of(language, "abbreviated")
    return {
        "long": (re.compile(rf"(?<![\w.])(?<!\d )(?<!\d\. )({_either(long)})(?![\w.]| \d{{1,2}}(?!\d))"), long),
        "short": (re.compile(rf"(?<![\w.])({_either(short)})(?= [12]\d{{3}}\b)"), short),
    }


def _amounts(text: str, language: str) -> Expressions:
    for pattern in _amount_patterns(language):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            sign, word = groups.get("sign"), groups.get("word", "")
            before, is_variable = text[: match.start()], re.fullmatch(r"\$\d", match[0])
            if is_variable or _ARTICLE.search(before) or _LATER.search(before):
                continue
            currency = _SIGNS[sign] if sign else _CURRENCY_WORDS[word]
            form = f"{'sign' if sign else 'word'} {_n_decimals(match['n'], language)}"
            yield Expression(*match.span(), "amount", form, (_decimal(match["n"], language), currency))


@cache
def _amount_patterns(language: str) -> list[re.Pattern[str]]:
    number, signs = f"(?P<n>{_DIGITS[language]})", "(?P<sign>[€$£])"
    words = f"(?P<word>{_either(_CURRENCY_WORDS)})" + r"\b"
    patterns = [rf"{signs} ?{number}{_SCALE}", rf"{number} ?{signs}", rf"{number} {words}"]
    return [re.compile(r"(?<![\w:/#.,+=-])(?:" + pattern + r")(?![\w:/@=-]|[.,]\d)") for pattern in patterns]


def _numbers(text: str, language: str) -> Expressions:
    for match in _NUMBER[language].finditer(text):
        before = text[: match.start()]
        separated = not match[0].isdigit()
        is_count = re.match(r" [^\W\d_]{3}", text[match.end() :]) and _BEFORE_COUNTS.search(before)
        value = _decimal(match[0], language)
        is_bound = _ARTICLE.search(before) or _LATER.search(before) or _EARLIER.match(text[match.end() :])
        if (separated or (is_count and 2 <= value < 1000)) and not is_bound:
            yield Expression(*match.span(), "number", f"{_n_decimals(match[0], language)}", (value,))


def _decimal(digits: str, language: str) -> Decimal:
    group, point = (".", ",") if language == "de" else (",", ".")
    return Decimal(digits.replace(group, "").replace(point, "."))


def _n_decimals(digits: str, language: str) -> int:
    _, _, decimals = digits.partition("," if language == "de" else ".")
    return len(decimals)


@cache
def _weekdays_of(language: str, width: str) -> dict[str, int]:
    from babel import Locale

    days = Locale.parse(language).days["stand-alone"][width]
    return {name.removesuffix("."): day for day, name in days.items()}


@cache
def _months_of(language: str, width: str) -> dict[str, int]:
    from babel import Locale

    months = Locale.parse(language).months
    names = {name: month for month, name in months["format"][width].items()}
    if width == "abbreviated":
        names |= {name: month for month, name in months["stand-alone"][width].items()}
        names |= {"Sept": 9}  # British
        names |= {f"{name}.": month for name, month in names.items() if not name.endswith(".")}
        names = {name: month for name, month in names.items() if name not in months["format"]["wide"].values()}
    return names


_UNABBREVIATED = (3, 5, 6, 7)  # months that German does not abbreviate

# Writing.


def write(expression: Expression, language: str, draw: random.Random, *, plain: bool) -> str:
    """Return the expression as text.

    Args:
        draw: chooses the way to write it, unless it is plain.
        plain: in the one way that targets have.
    """
    return _WRITERS[expression.kind](expression, language, draw, plain)


def _write_time(expression: Expression, language: str, draw: random.Random, plain: bool) -> str:
    minutes_of_day, is_whole = expression.value
    hours, minutes = divmod(minutes_of_day, 60)
    with_minutes = minutes or expression.form == "minutes"
    if language == "de":
        digits = f"{hours}:{minutes:02}" if with_minutes else f"{hours}"
        if not plain:
            digits = draw.choice(
                [digits, digits, f"{hours:02}" + digits.removeprefix(str(hours)), digits.replace(":", ".")]
            )
            if expression.shape == "full" and minutes and draw.random() < 0.1:
                return f"{hours} Uhr {minutes:02}"
        if expression.shape == "colon":
            return f"{hours:02}:{minutes:02}"
        return digits if expression.shape == "first" else f"{digits} Uhr"
    if not is_whole:
        if with_minutes:
            return f"{hours % 12 or 12}:{minutes:02}"
        named = draw.random() < 0.4 and not plain
        return f"{_HOURS['en'][(hours - 1) % 12] if named else hours % 12 or 12} o'clock"
    is_late = expression.shape == "full" and with_minutes and hours >= 13  # and so no time of a half of the day
    if expression.shape == "colon" or (is_late and not plain and draw.random() < 0.2):
        return f"{hours:02}:{minutes:02}"
    twelve = _cldr_time(time(hours, minutes), "hm" if with_minutes else "h")
    if plain:
        return twelve
    twelve = draw.choice(
        [twelve, twelve.upper(), twelve.replace("am", "a.m.").replace("pm", "p.m."), twelve.replace(" ", "")]
    )
    return twelve.replace(":", ".") if draw.random() < 0.1 else twelve


def _cldr_time(at: time, skeleton: str) -> str:
    from babel.dates import format_skeleton

    return str(format_skeleton(skeleton, at, locale="en_GB")).replace("\u202f", " ")


def _write_date(expression: Expression, language: str, draw: random.Random, plain: bool) -> str:
    from babel.dates import format_skeleton

    month, day, year = expression.value
    at = date(year or 2000, month, day)
    if expression.form == "digits":
        if language == "de":
            return at.strftime("%d.%m.%Y") if plain or draw.random() < 0.5 else f"{day}.{month}.{year}"
        return str(format_skeleton("yMd", at, locale="en_GB" if expression.shape == "british" else "en"))
    skeleton = ("MMMM" if expression.form.startswith("long") or month in _UNABBREVIATED else "MMM") + "d"
    place = "de" if language == "de" else "en_GB" if expression.shape == "day first" else "en"
    text = _formatted_date(at, ("y" if year else "") + skeleton, place)
    if language == "en" and not plain and draw.random() < 0.3:
        text = re.sub(rf"\b{day}\b", f"{day}{_nth(day)}", text, count=1)
    return text


def _formatted_date(at: date, skeleton: str, place: str) -> str:
    from babel import Locale
    from babel.dates import format_date

    known = Locale.parse(place).datetime_skeletons
    pattern = (
        str(known[skeleton])
        if skeleton in known
        else str(known[skeleton.replace("MMMM", "MMM")]).replace("MMM", "MMMM")
    )
    return str(format_date(at, pattern, locale=place))


def _nth(day: int) -> str:
    return "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _write_weekday(expression: Expression, language: str, draw: random.Random, plain: bool) -> str:
    (day,) = expression.value
    wide = _name(_weekdays_of(language, "wide"), day)
    if expression.form == "habit":
        return f"{wide.lower()}s" if language == "de" and expression.shape != "capital" else f"{wide}s"
    if expression.form == "long":
        return wide
    short = _name(_weekdays_of(language, "abbreviated"), day)
    return short if plain or draw.random() < 0.6 else f"{short}."


def _write_month(expression: Expression, language: str, draw: random.Random, plain: bool) -> str:
    from babel import Locale

    width = "wide" if expression.form == "long" or expression.value[0] in _UNABBREVIATED else "abbreviated"
    return str(Locale.parse(language).months["format"][width][expression.value[0]])


def _name(names: dict[str, int], value: int) -> str:
    return next(name for name, found in names.items() if found == value)


def _write_number(expression: Expression, language: str, draw: random.Random, plain: bool) -> str:
    return _digits(expression.value[0], int(expression.form), language)


def _digits(value: Decimal, n_decimals: int, language: str) -> str:
    from babel.numbers import format_decimal

    return str(format_decimal(value, "#,##0" + ("." + "0" * n_decimals if n_decimals else ""), locale=language))


def _write_amount(expression: Expression, language: str, draw: random.Random, plain: bool) -> str:
    value, currency = expression.value
    form, n_decimals = expression.form.split()
    digits = _digits(value, int(n_decimals), language)
    if form == "word":
        german, english = {"EUR": ("Euro", "euros"), "USD": ("Dollar", "dollars")}[currency]
        return f"{digits} {german if language == 'de' else english}"
    sign = next(sign for sign, code in _SIGNS.items() if code == currency)
    ways = [f"{digits} {sign}", f"{digits}{sign}"] if language == "de" else [f"{sign}{digits}", f"{sign} {digits}"]
    return ways[0] if plain or draw.random() < 0.8 else ways[1]


_WRITERS: dict[str, Callable[[Expression, str, random.Random, bool], str]] = {
    "time": _write_time,
    "date": _write_date,
    "weekday": _write_weekday,
    "month": _write_month,
    "number": _write_number,
    "amount": _write_amount,
}


# Replacing.

Link = tuple[Expression, Expression]


def replaced(pair: Pair, links: Sequence[Link], langpair: str, seed: str) -> Pair | None:
    """Return the pair with other values in place of those that both sides share; None if that changes nothing.

    Args:
        links: what both sides share; see `shared`.
        langpair: "de-en" or "en-de".
        seed: other seeds give other values.
    """
    codes = langpair.split("-")
    draw = random.Random(seed)
    has_half = any(_HALF_DAY[code].search(side) for side, code in zip(pair, codes, strict=True))
    times = sorted((link for link in links if link[0].kind == "time"), key=lambda link: link[0].value)
    new = dict(zip(times, _new_times(times, has_half, draw), strict=True))
    days = itertools.cycle(draw.sample(range(7), 7)[::-1])  # a text may name a day as "montags" and as "Montag"
    for link in links:
        if link[0].kind == "weekday":
            source, target = _new(link, draw)
            value = (next(days),)
            new[link] = replace(source, value=value), replace(target, value=value)
        elif link not in new:
            new[link] = _new(link, draw)
    sides = []
    for i, (side, code) in enumerate(zip(pair, codes, strict=True)):
        for link in sorted(links, key=lambda link: -link[i].start):
            text = write(new[link][i], code, draw, plain=i == 1)
            if side[link[i].stop :].startswith("."):
                text = text.removesuffix(".")
            side = side[: link[i].start] + text + side[link[i].stop :]
        sides.append(side)
    return (sides[0], sides[1]) if tuple(sides) != pair else None


def shared(pair: Pair, langpair: str) -> list[Link]:
    """Return the expressions of both sides that have the same value, if that value occurs once on each side."""
    if not all(_may_have(code).search(side) for side, code in zip(pair, langpair.split("-"), strict=True)):
        return []
    source, target = (find(side, code) for side, code in zip(pair, langpair.split("-"), strict=True))
    links = []
    for expression in source:
        here = [other for other in source if _same(expression, other)]
        there = [other for other in target if _same(expression, other)]
        if len(here) == len(there) == 1 and (
            expression.kind != "time" or there[0].value[0] % 720 == expression.value[0] % 720
        ):
            links.append((expression, there[0]))
    return links


@cache
def _may_have(language: str) -> re.Pattern[str]:
    """Return a pattern that is quicker than all others and matches where one of them does."""
    names = [*_months_of(language, "wide"), *_weekdays_of(language, "wide"), *_weekdays_of(language, "abbreviated")]
    other = ["Uhr", "Sonnabend"] if language == "de" else ["clock", *(f"at {hour}" for hour in _HOURS["en"])]
    return re.compile(rf"\d|\b(?:{_either([*names, *other, *(name.lower() for name in names if len(name) > 3)])})")


def _same(one: Expression, other: Expression) -> bool:
    """Return whether two expressions say the same in the same form; an open half of the day is like the first."""
    if (one.kind, one.form) != (other.kind, other.form):
        return False
    if one.kind != "time" or one.value[1] == other.value[1]:
        return one.value == other.value
    whole, open_ = (one, other) if one.value[1] else (other, one)
    return bool(whole.value[0] < 13 * 60 and whole.value[0] % 720 == open_.value[0] % 720)


def _new(link: Link, draw: random.Random) -> Link:
    """Return both expressions with another value."""
    source, target = link
    form, value = source.form, source.value
    match source.kind:
        case "date":
            value = (draw.randint(1, 12), draw.randint(1, 28), draw.randint(1900, 2035) if value[2] else 0)
        case "weekday":
            may_be_short = form == "long" and {source.shape, target.shape} == {"listed"}
            form = "short" if may_be_short and draw.random() < 0.5 else form
        case "month":
            value = (draw.randint(1, 12),)
        case "number":
            n_decimals = int(form)
            share_of_large = 0.1 if n_decimals else 0.6 if value[0] >= 1000 else 0.3
            value = (_new_number(n_decimals, draw, share_of_large),)
        case _:  # amount
            n_decimals = draw.choice([0, 0, 2])
            form = f"{form.split()[0]} {n_decimals}"
            value = (_new_number(n_decimals, draw, 0.3), value[1])
    return replace(source, form=form, value=value), replace(target, form=form, value=value)


def _new_number(n_decimals: int, draw: random.Random, large: float) -> Decimal:
    """Return a number of at least 2, so that nouns stay in the plural."""
    digits = draw.randint(4, 7) if draw.random() < large else draw.randint(1, 3)
    whole = draw.randint(max(2, 10 ** (digits - 1)), 10**digits - 1)
    if digits > 4 and not n_decimals and draw.random() < 0.5:
        whole -= whole % 1000
    decimals = draw.randrange(1, 10**n_decimals) if n_decimals else 0
    return Decimal(whole) + Decimal(decimals).scaleb(-n_decimals)


def _new_times(links: Sequence[Link], has_half: bool, draw: random.Random) -> list[Link]:
    """Return links with other times in the same order; a half of the day that words name, or may name, stays.

    A timetable with more times than there are to choose from keeps them.
    """
    if not links:
        return []
    with_minutes = draw.random() < 0.5 or any("colon" in (one.shape, other.shape) for one, other in links)
    is_whole = all(one.value[1] == other.value[1] for one, other in links) or not has_half
    hours = range(0, 24)
    if not is_whole:
        hours = range(1, 13)
    elif has_half:
        hours = range(5, 12) if links[0][0].value[0] < 720 else range(13, 24)
    quarters = [60 * hour + minute for hour in hours for minute in (0, 15, 30, 45)]
    if len(links) > len(quarters):
        return list(links)
    steps = sorted(draw.sample(quarters, len(links)))
    new = list[Link]()
    for link, step in zip(links, steps, strict=True):
        minute = step % 60 if draw.random() < 0.6 else 5 * draw.randrange(12)
        at = step - step % 60 + (minute if with_minutes else 0)
        if not with_minutes and len(links) > 1:
            at = step - step % 60
        form = "minutes" if with_minutes else ""
        source, target = (replace(one, value=(at, is_whole), form=form, shape=_shape(one)) for one in link)
        new.append((source, target))
    return new


def _shape(expression: Expression) -> str:
    """Return the shape of a new time, in digits; one without a word, such as 14:30, only replaces another such time."""
    is_bare = expression.shape == "colon" and expression.value[1]
    return expression.shape if is_bare or expression.shape == "first" else "full"


# Alone.


def alone(langpair: str, seed: str) -> Pair:
    """Return a pair of an expression alone, such as opening hours, a date or an amount.

    Args:
        langpair: "de-en" or "en-de".
        seed: other seeds give other expressions.
    """
    draw = random.Random(seed)
    make = draw.choice([_opening_hours, _opening_hours, _hours, _date_alone, _amount_alone])
    parts = make(draw)
    codes = langpair.split("-")
    source, target = (
        "".join(part[code] if isinstance(part, dict) else write(part, code, draw, plain=i == 1) for part in parts)
        for i, code in enumerate(codes)
    )
    return source, target


Part = Expression | dict[str, str]


def _expression(kind: str, value: tuple[Any, ...], form: str = "", shape: str = "full") -> Expression:
    return Expression(0, 0, kind, form, value, shape)


def _both(text: str) -> dict[str, str]:
    return {"de": text, "en": text}


def _days(draw: random.Random) -> list[Part]:
    """Return one day, a range or a list of days."""
    form = draw.choice(["short", "short", "long"])
    first, second = sorted(draw.sample(range(7), 2))
    a, b = (_expression("weekday", (day,), form) for day in (first, second))
    to = draw.choice(
        [_both("–"), _both("–"), _both("-"), {"de": " bis ", "en": " to "}, {"de": " und ", "en": " and "}]
    )
    return [a] if draw.random() < 0.3 else [a, to, b]


def _hours(draw: random.Random) -> list[Part]:
    """Return a time or a range of times."""
    form = draw.choice(["", "minutes"])
    start, stop = sorted(draw.sample([60 * hour + minute for hour in range(24) for minute in (0, 15, 30, 45)], 2))
    if not form:
        start, stop = start - start % 60, stop - stop % 60
    a = _expression("time", (start, True), form, "first")
    b = _expression("time", (stop, True), form, "full")
    match draw.randrange(5):
        case 0:
            return [_expression("time", (stop, True), form)]
        case 1:
            return [{"de": "ab ", "en": "from "}, _expression("time", (stop, True), form)]
        case 2:
            return [{"de": "bis ", "en": "until "}, _expression("time", (stop, True), form)]
        case 3:
            return [a, _both(draw.choice(["–", "–", " – ", "-"])), b]
        case _:
            return [a, {"de": " bis ", "en": " to "}, b]


def _opening_hours(draw: random.Random) -> list[Part]:
    parts = _days(draw)
    if draw.random() < 0.15:
        return [*parts, {"de": " geschlossen", "en": " closed"}]
    return [*parts, _both(draw.choice([" ", " ", ": "])), *_hours(draw)]


def _date_alone(draw: random.Random) -> list[Part]:
    year = draw.randint(1990, 2035) if draw.random() < 0.6 else 0
    form = draw.choice([f"long {bool(year)}", f"short {bool(year)}", *(["digits"] if year else [])])
    day = date(year or 2000, draw.randint(1, 12), draw.randint(1, 28))
    expression = _expression("date", (day.month, day.day, year), form, draw.choice(["month first", "day first"]))
    if form == "digits":
        expression = replace(expression, shape="american")
    if year and draw.random() < 0.3:
        form = draw.choice(["long", "short"])
        return [_expression("weekday", ((day.isoweekday() - 1) % 7,), form), _both(", "), expression]
    if draw.random() < 0.3:
        return [expression, _both(", "), *_hours(draw)]
    return [expression]


def _amount_alone(draw: random.Random) -> list[Part]:
    n_decimals = draw.choice([0, 2])
    number = _new_number(n_decimals, draw, 0.3)
    currency = draw.choice(["EUR", "EUR", "USD", "GBP"])
    if draw.random() < 0.5:
        return [_expression("amount", (number, currency), f"sign {n_decimals}")]
    if draw.random() < 0.4:
        number, unit = number % 100, draw.choice([{"de": " %", "en": "%"}, _both(" °C")])
    else:
        unit = draw.choice([_both(" km"), _both(" kg"), _both(" m²"), _both(" GB"), _both(" cm")])
    return [_expression("number", (number,), str(n_decimals)), unit]
