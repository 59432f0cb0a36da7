"""Times of day, weekdays, months and numbers in German and English: sentences with one, and how a text is read.

The probes translate the sentences and read the translations. Names and separators are those of CLDR, by Babel. Nothing
here is shared with the augmentation that teaches models such text (`translate.corpus.localized`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import time
from decimal import Decimal
from functools import cache
from random import Random

from babel import Locale
from babel.dates import format_time
from babel.numbers import format_decimal

HALF_DAY = 12 * 60  # minutes

# Times of day

# Sentences with a time, and with a range; the last ones have no verb.
_AT = {
    "de": ["Der Zug fährt um {} ab.", "Die Sitzung beginnt um {}.", "Wir treffen uns um {} am Bahnhof."],
    "en": ["The train leaves at {}.", "The meeting starts at {}.", "We meet at {} at the station."],
}
_RANGES = {
    "de": ["Das Büro ist von {} bis {} Uhr geöffnet.", "Sprechzeit: {}–{} Uhr", "Geöffnet {}-{} Uhr"],
    "en": ["The office is open from {} to {}.", "Office hours: {}–{}", "Open {}-{}"],
}
_HOURS = {
    "de": ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"],
    "en": ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
}
_MINUTES = {
    "de": {"fünf": 5, "zehn": 10, "Viertel": 15, "viertel": 15, "zwanzig": 20},
    "en": {"five": 5, "ten": 10, "quarter": 15, "twenty": 20},
}
_SIDES = {"de": {"nach": 1, "vor": -1}, "en": {"past": 1, "after": 1, "to": -1, "before": -1, "of": -1}}
_AFTER_HOUR = {
    "de": {"fünfzehn": 15, "dreißig": 30, "fünfzig": 50},
    "en": {"fifteen": 15, "thirty": 30, "forty-five": 45, "fifty": 50},
}
_MIDDLES = {"de": {"mittags": 12, "Mittag": 12, "Mitternacht": 0}, "en": {"noon": 12, "midday": 12, "midnight": 0}}
_LATE = {
    "de": re.compile(r",? (?:abends|nachmittags|nachts|am (?:Abend|Nachmittag))\b"),
    "en": re.compile(r",? (?:in the (?:evening|afternoon)|at night)\b"),
}
_JOINS = re.compile(r"(?: Uhr)? ?(?:–|-|bis|to|until|and|till) ?")

Times = list[tuple[int, bool]]  # minutes of the day, and whether the half of the day is known


def times(language: str) -> Iterator[tuple[str, str, Times]]:
    """Yield form, sentence and times: each hour, hours with minutes, times in words, and ranges."""
    several = list(_german_times() if language == "de" else _english_times())
    for begin in (7, 8, 9, 10):
        for end in (12, 14, 17, 18, 20, 22):
            both = (f"{begin}", f"{end}") if language == "de" else (_english(begin).lower(), _english(end).lower())
            several.append(("ranges", both, [(60 * begin, True), (60 * end, True)]))
    for n, (form, texts, wanted) in enumerate(several):
        frames = (_RANGES if len(wanted) > 1 else _AT)[language]
        yield form, frames[n % len(frames)].format(*texts).replace("..", "."), wanted  # after "a.m."


def _german_times() -> Iterator[tuple[str, tuple[str, ...], Times]]:
    for hour in range(24):
        minute = _QUARTERS[hour % len(_QUARTERS)]
        yield "hours", (f"{hour} Uhr",), [(60 * hour, True)]
        for text in (f"{hour}:{minute:02} Uhr", f"{hour:02}:{minute:02} Uhr", f"{hour}.{minute:02} Uhr"):
            yield "hours and minutes", (text,), [(60 * hour + minute, True)]
        if hour % 12:
            part = "morgens" if hour < 12 else "nachmittags" if hour < 18 else "abends"
            yield "12 hours", (f"{hour % 12} Uhr {part}",), [(60 * hour, True)]
    for hour, word in enumerate(_HOURS["de"], start=1):
        for text, minutes in ((f"halb {word}", -30), (f"Viertel nach {word}", 15), (f"zehn vor {word}", -10)):
            yield "words", (text,), [(60 * hour + minutes, False)]


def _english_times() -> Iterator[tuple[str, tuple[str, ...], Times]]:
    for hour in range(24):
        minute = _QUARTERS[hour % len(_QUARTERS)]
        for form, minutes in (("hours", 0), ("hours and minutes", minute)):
            text = _english(hour, minutes)
            small = text.lower()
            for way in (text, small, small.replace("am", "a.m.").replace("pm", "p.m.")):
                yield form, (way,), [(60 * hour + minutes, True)]
        yield "24 hours", (f"{hour:02}:{minute:02}",), [(60 * hour + minute, True)]
    for hour, word in enumerate(_HOURS["en"], start=1):
        ways = {f"{hour} o'clock": 0, f"half past {word}": 30, f"a quarter past {word}": 15, f"ten to {word}": -10}
        for text, minutes in ways.items():
            yield "words", (text,), [(60 * hour + minutes, False)]


_QUARTERS = (5, 15, 30, 45, 50)


def _english(hour: int, minute: int = 0) -> str:
    return str(format_time(time(hour, minute), "h:mm a" if minute else "h a", locale="en"))


def read_times(text: str, language: str) -> Times:
    """Return the times of a text in order; all numbers of one or two digits are taken for times.

    English "8:15" without a half of the day is that before noon. The first of "2-6 pm" is in the same half as the
    second, unless it would be later.
    """
    found: list[tuple[int, int, int, bool]] = []  # start, stop, minutes, whether the half is known
    for pattern in _time_patterns(language):
        for match in pattern.finditer(text):
            if all(match.start() >= stop or match.end() <= start for start, stop, _, _ in found):
                found.append((*match.span(), *_minutes(match.groupdict(), language)))
    times, later = Times(), None  # from the last one to the first
    for start, stop, minutes, is_known in sorted(found, reverse=True):
        if minutes < HALF_DAY and _LATE[language].match(text, stop):
            minutes, is_known = minutes + HALF_DAY, True
        joined = later and _JOINS.fullmatch(text, stop, later[0])
        if later and joined and not is_known and later[2] and minutes + HALF_DAY < later[1]:
            minutes += HALF_DAY
        times.insert(0, (minutes % (2 * HALF_DAY), is_known))
        later = start, minutes, is_known and language == "en"
    return times


@cache
def _time_patterns(language: str) -> list[re.Pattern[str]]:
    """Return patterns with the groups of `_minutes`, those that say the most first."""
    words = f"(?P<word>{'|'.join(_HOURS[language])}{'|ein' if language == 'de' else ''})"
    hour = rf"(?:{words}|(?P<hour>\d\d?))\b"
    side = rf"\b(?P<apart>{'|'.join(_MINUTES[language])}) (?P<side>{'|'.join(_SIDES[language])}) {hour}"
    after = f"(?P<after>{'|'.join(_AFTER_HOUR[language])})"
    middle = rf"\b(?:12 )?(?P<middle>{'|'.join(_MIDDLES[language])})\b"
    digits = r"(?<![\d.,:])(?P<hour>\d\d?)(?:[:.](?P<minute>\d\d))?(?![.:,]?\w)"
    if language == "de":
        texts = [
            side,
            rf"\b(?P<half_past>halb) {hour}",
            rf"\b{words} Uhr(?: {after})?\b|\bum (?P<at>{'|'.join(_HOURS[language])})\b(?! Uhr)",
            r"(?<![\d.,:])(?P<hour>\d\d?) Uhr (?P<minute>\d\d)\b",
            rf"{digits}(?! ?(?:[AP]M|pm|[ap]\.m)\b)(?: ?Uhr)?",
        ]
    else:
        half = r"(?: ?(?P<half>[AaPp])\.?[Mm]\b\.?| o['’]clock)"
        texts = [
            side,
            rf"\b(?P<half_past>half past) {hour}",
            rf"\b{words}(?: {after}\b|{half})|\bat (?P<at>{'|'.join(_HOURS[language])})\b(?! \w)",
            r"(?<![\d.,:])(?P<hour>\d\d?)(?:[:.](?P<minute>\d\d))?" + half,
            digits,
        ]
    return [re.compile(text) for text in [middle, *texts]]


def _minutes(groups: Mapping[str, str | None], language: str) -> tuple[int, bool]:
    """Return the minutes of the day of a match, and whether the half of the day is known."""
    if middle := groups.get("middle"):
        return 60 * _MIDDLES[language][middle], True
    digits, word = groups.get("hour") or "", groups.get("word") or groups.get("at")
    word = "eins" if word == "ein" else word  # "ein Uhr"
    minutes = 60 * (_HOURS[language].index(word) + 1 if word else int(digits or "0")) + int(groups.get("minute") or 0)
    if groups.get("half_past"):
        return minutes + (30 if language == "en" else -30), False
    if (apart := groups.get("apart")) and (side := groups.get("side")):
        return minutes + _SIDES[language][side] * _MINUTES[language][apart], False
    if after := groups.get("after"):
        minutes += _AFTER_HOUR[language][after]
    if half := groups.get("half"):
        return minutes % HALF_DAY + HALF_DAY * (half in "Pp"), True
    is_whole = bool(digits) and (language == "de" or digits.startswith("0") or minutes >= 13 * 60)
    return minutes, is_whole


def agree(wanted: Times, said: Times) -> bool:
    """Return whether the times are the same; where the half of the day is not known, in any."""
    return len(wanted) == len(said) and all(
        a == b or (not is_known and a % HALF_DAY == b % HALF_DAY)
        for (a, is_known), (b, _) in zip(wanted, said, strict=True)
    )


def differ_in_half(wanted: Times, said: Times) -> bool:
    """Return whether only the half of the day differs."""
    return agree([(minutes, False) for minutes, _ in wanted], said) and not agree(wanted, said)


# Weekdays and months

_ON_DAYS = {
    "de": ["Am {} ist das Büro geschlossen.", "Wir sehen uns am {}.", "Das Treffen am {} fällt aus."],
    "en": ["The office is closed on {}.", "See you on {}.", "The meeting on {} is cancelled."],
}
_IN_MONTHS = {
    "de": ["Im {} bleibt das Museum geschlossen.", "Sie wurde im {} geboren."],
    "en": ["The museum stays closed in {}.", "She was born in {}."],
}
_DATES = {"de": "Geöffnet ab 3. {}", "en": "Open from {} 3"}
_LISTED = {
    "de": ["Geschlossen: {} und {}", "{} und {} geschlossen"],
    "en": ["Closed: {} and {}", "Closed on {} and {}"],
}
_SPANS = {"de": ["{}–{}: geöffnet", "{} - {}: 08:00 - 17:00"], "en": ["{}–{}: open", "{} - {}: 08:00 - 17:00"]}


def names(language: str) -> Iterator[tuple[str, str, str, list[int]]]:
    """Yield kind ("weekdays" or "months"), form, text and the numbers of the names in it."""
    for kind, frames in (("weekdays", _ON_DAYS), ("months", _IN_MONTHS)):
        full, short = (cldr_names(language, kind, width) for width in ("wide", "abbreviated"))
        for number, name in full.items():
            yield kind, "in full", frames[language][number % len(frames[language])].format(name), [number]
        for number, name in short.items():
            yield kind, "alone", name, [number]
            if (later := number + 2) in short:
                for frames_of_two in (_LISTED, _SPANS):
                    text = frames_of_two[language][number % 2].format(name, short[later])
                    yield kind, "abbreviated", text, [number, later]
            if kind == "months":
                yield kind, "abbreviated", _DATES[language].format(name), [number]


@cache
def cldr_names(language: str, kind: str, width: str) -> dict[int, str]:
    """Return the names of weekdays or months by number, without the full stop of an abbreviation."""
    locale = Locale.parse(language)
    names = (locale.days if kind == "weekdays" else locale.months)["stand-alone"][width]
    return {number: name.removesuffix(".") for number, name in names.items()}


def read_names(text: str, language: str, kind: str) -> list[int]:
    """Return the numbers of the weekdays or months of a text, in order."""
    names = {
        name: number for width in ("wide", "abbreviated") for number, name in cldr_names(language, kind, width).items()
    }
    names |= {f"{name}s": day for name, day in names.items() if kind == "weekdays" and len(name) > 3}
    if language == "de":
        names |= {name.lower(): day for name, day in names.items() if name.endswith("tags")} | {"Sonnabend": 5}
        names |= {"Jän": 1, "Sept": 9}
    else:
        names |= {"Tues": 1, "Thur": 3, "Thurs": 3} if kind == "weekdays" else {"Sept": 9}
    names = {name: day for name, day in names.items() if (name == "Sonnabend") <= (kind == "weekdays")}
    return [names[word] for word in re.findall(r"\w+", text) if word in names]


# Numbers

_COUNTED = {
    "de": [
        "Die Stadt hat {} Einwohner.",
        "Das kostet {} Euro.",
        "Wir haben {} Kilometer zurückgelegt.",
        "Es waren {}.",
    ],
    "en": [
        "The city has {} inhabitants.",
        "That costs {} euros.",
        "We covered {} kilometres.",
        "There were {} of them.",
    ],
}
_MEASURED = {
    "de": [
        "Der Preis beträgt {} Euro.",
        "Der Wert liegt bei {}.",
        "Das Paket wiegt {} kg.",
        "Die Strecke ist {} km lang.",
    ],
    "en": ["The price is {} euros.", "The value is {}.", "The parcel weighs {} kg.", "The route is {} km long."],
}


Number = tuple[Decimal, int]  # value and number of decimals


def numbers(language: str, n: int) -> Iterator[tuple[str, str, Number]]:
    """Yield form, sentence and number: n whole numbers, n decimals, and n with both separators."""
    draw = Random(0)
    for form in ("whole numbers", "decimals", "both"):
        frames = (_COUNTED if form == "whole numbers" else _MEASURED)[language]
        for i in range(n):
            n_decimals = 0 if form == "whole numbers" else draw.choice([1, 2, 2, 3])
            low, high = (1, 1000) if form == "decimals" else (1000, 10 ** draw.choice([4, 5, 6, 7]))
            value = Decimal(draw.randrange(low, high))
            if n_decimals:  # the last digit is not 0, which may be left out
                digits = draw.randrange(10 ** (n_decimals - 1)) * 10 + draw.randrange(1, 10)
                value += Decimal(digits).scaleb(-n_decimals)
            number = value, n_decimals
            yield form, frames[i % len(frames)].format(written(number, language)), number


def written(number: Number, language: str) -> str:
    """Return a number as a language writes it."""
    value, n_decimals = number
    return str(format_decimal(value, "#,##0" + ("." + "0" * n_decimals if n_decimals else ""), locale=language))


def has_number(text: str, number: Number, language: str) -> bool:
    """Return whether a text has a number as a language writes it, also without separators of thousands."""
    own = written(number, language)
    return _has(text, _ways(own, language))


def has_value(text: str, number: Number, language: str, other: str) -> bool:
    """Return whether a text in a language has a number, which may be copied from the other language.

    A copy that is another number in the language of the text, such as "1,234" for 1.234, does not count.
    """
    copied = written(number, other)
    return has_number(text, number, language) or (not _reads(copied, language) and _has(text, _ways(copied, other)))


def _ways(written: str, language: str) -> Iterator[str]:
    """Yield the ways to write a number: a separator of thousands may be left out or be a space."""
    for mark in (_mark("group", language), "", " ", "\u00a0", "\u202f"):
        yield written.replace(_mark("group", language), mark)


def _reads(written: str, language: str) -> bool:
    """Return whether a number could be one of a language, where its marks may mean something else."""
    group, point = (re.escape(_mark(name, language)) for name in ("group", "decimal"))
    return re.fullmatch(rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{point}\d+)?|\d+(?:{point}\d+)?", written) is not None


def _mark(name: str, language: str) -> str:
    return str(Locale.parse(language).number_symbols["latn"][name])


def _has(text: str, ways: Iterable[str]) -> bool:
    return re.search(rf"(?<![\d.,])(?:{'|'.join(map(re.escape, ways))})(?![.,]?\d)", text) is not None
