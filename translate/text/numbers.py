"""Numbers and times of day as values, and the numbers of a source that its translation lacks.

1.234,50 in German is 1,234.50 in English, 3,5 Millionen is 3500000, and 14 Uhr is 2 p.m. A number is read by the
separators of its language if they allow it, or else by those of others, as "3.5" is in German. In a language without
rules it may have either value.

Each number of the source needs a counterpart of its own in the translation. Counterparts are looked up in tables, so
the time is linear in the length of the texts.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from translate.text import languages
from translate.text.languages import Language

Hour = tuple[int, int]  # of the day, and minutes
Values = tuple[str, ...]

_LARGEST_UNCHECKED = 1  # it may be an article
_HALF_DAY = 12  # hours
_LONGEST_HOUR = 5  # characters of 14:30
_MONTHS = 12
_MONTH = "month "  # before the number of a month that has its name
_LONGEST_CACHED = 16  # characters; most numbers of a text are short and occur again
_GROUPS = "[ \u00a0\u2009\u202f'\u2019]"  # separators of groups in any language: 1 234 and 1'234
_NUMBER = rf"\d{{1,3}}(?:{_GROUPS}\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*"
_ATOM = re.compile(rf"(?<![\d.,:])\d{{1,2}}:\d\d(?![\d:]|[.,]\d)|{_NUMBER}")
_RUN = re.compile(rf"(?:{_NUMBER})(?:[:/-]\d+(?:[.,]\d+)*)*")  # joined numbers, such as 1990-2021 and 14:35-15:10
_GROUP = re.compile(_GROUPS)
_READINGS = {  # by the sign before decimals
    decimal: re.compile(rf"([1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)(?:{decimal}(\d+))?")
    for decimal, group in ((",", r"\."), (r"\.", ","))
}
_DATE = re.compile(r"[0-3]?\d([./])[01]?\d(?:\1(?:\d\d){1,2}|(?=\.))|[0-3]?\d/[01]?\d|\d{4}-[01]\d-[0-3]\d")
_CENTS = re.compile(r"\D\d\d\Z")
_HOUR = re.compile(r"(\d{1,2})(?:[.:]([0-5]\d))?")
_DECADE_END = re.compile(r"['\u2019]?s\b|er[ns]?\b")
_RANGE = re.compile(r"\s?[-\u2013\u2014]\s?|\s(?:bis|auf|to|till|until|und|and|oder|or)\s")
_LONGEST_RANGE = 7  # characters between its numbers
# Between words or numbers it is a hyphen or a dash, and after the day in 12.-14. too.
_MINUS = r"(?<![\w)\].,:;/-])(?<!\d\s)(?<!\d\.\s)[-\u2212\u2013]"
MINUS = re.compile(rf"{_MINUS}(?=[\u20ac$\u00a3\u00a5]?\d)")
_SIGNS = "[\u20ac$\u00a3\u00a5%\u2030]"  # of currencies and shares, which are held with their number
_SIGN_BEFORE = re.compile(rf"(?:{_SIGNS}[ \u00a0]?|{_MINUS})\Z")
_SIGN_AFTER = re.compile(rf"(?:[kKmMbB]n?(?![^\W_]))?(?:[ \u00a0]?(?:{_SIGNS}|\u00b0(?:[CF]\b)?))?")
_CURRENCY_BEFORE = re.compile("[\u20ac$\u00a3\u00a5][ \u00a0]?\\Z")
_COUNTED = re.compile(rf"\s?(?:[^\W\d_]|{_SIGNS})")  # after a number: 1.250 Euro
_CURRENCY = re.compile("AUD|CAD|CHF|CNY|CZK|DKK|DM|EUR|Euro|GBP|HUF|INR|JPY|NOK|PLN|RUB|SEK|TRY|USD")
_LONGEST_LABEL = 24  # characters of the words before a number
_YEAR = re.compile(r"(?<![\d.,])(1\d|20) (\d\d)(?!\d|[.,]\d)")  # nineteen eighty-four
_PART = re.compile(r"[\s\S]{1,2000}(?=\s|\Z)|[\s\S]{1,2000}")  # longer than almost every sentence
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")  # twenty-year-old


class Number(NamedTuple):
    """A number of a text.

    Attributes:
        start, stop: where its digits and separators are.
        run: where it and those that it is joined with are, as in a range.
        text: its digits and separators.
        values: those that it may have, in digits with a decimal point.
        parts: numbers that may stand for it together, each in the values it may have, as 19 and 99 do for 19,99.
        spare: how many of the parts may be missing: a month may be a name, in a language whose names are unknown.
        hours: the times of day that it may be.
        is_clock: whether the words beside it say that it is a time of day; a:b alone may be a ratio.
        end: where these words end.
        power: of ten, in a word after it.
        is_name: whether it is copied, as in ISO 13.485.
    """

    start: int
    stop: int
    run: tuple[int, int]
    text: str
    values: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    spare: int = 0
    hours: tuple[Hour, ...] = ()
    is_clock: bool = False
    end: int = 0
    power: int = 0
    is_name: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it has digits only."""
        return self.text.isdigit()

    @property
    def is_small(self) -> bool:
        """Whether it may be an article, which is not checked."""
        is_one = self.is_whole and len(self.text) <= 2 and int(self.text) <= _LARGEST_UNCHECKED
        return is_one and not (self.is_clock and self.hours)


def missing(output: str, source: str, target_language: str, source_language: str | None = None) -> list[Number]:
    """Return the numbers of `source`, in order, that its translation lacks.

    A time of day must be the same one, in 12 or 24 hours. A number may be in words, in languages known to text2num. The
    number 1 is not checked, as it may be an article.

    Args:
        source_language: None if it is unknown.
    """
    target = languages.find(target_language)
    is_loose = target is None  # without words for a million
    wanted = [one for one in find(source, source_language, is_loose=is_loose) if not one.is_small]
    if not wanted:
        return []
    wanted = [one._replace(is_name=True) if _is_name(one, source) else one for one in wanted]
    lost = _unmatched(wanted, find(output, target_language), knows_months=target is not None)
    if lost:
        words = _in_digits(output, target_language)
        found = [*find(words, target_language), *(_named(words, target) if target else [])]
        in_words = {one.start for one in _unmatched(wanted, found, knows_months=target is not None)}
        lost = [one for one in lost if one.start in in_words]
    return lost


def held(number: Number, source: str, source_language: str, target_language: str) -> tuple[int, int, str]:
    """Return start and end of a number in the source with the words or signs beside it, and what a symbol stands for.

    It is copied, except for what the target language would read as something else: a time of day such as 8 Uhr, and a
    number with one separator, of groups in one language and of decimals in the other.
    """
    target = languages.find(target_language)
    if target and number.is_clock and len(number.hours) == 1:
        return number.start, number.end, _clock(number.hours[0], target)
    if number.is_clock:
        return number.start, number.stop, number.text
    start, stop = with_signs(number, source)
    text = source[start:stop]
    is_quantity = number.run == (number.start, number.stop) and bool(number.values) and not number.is_name
    if is_quantity and languages.find(source_language) and target:
        other = number.text.translate(str.maketrans(".,", ",."))
        read, read_other = (_values(form, target.decimal) for form in (number.text, other))
        if read and read[0] not in number.values and read_other == number.values:
            text = text.replace(source[number.start : number.stop], other)
    return start, stop, text


def with_signs(number: Number, text: str) -> tuple[int, int]:
    """Return where a number is with those that it is joined with, and a sign such as % on either side."""
    start, stop = number.run
    before, after = _SIGN_BEFORE.search(text, max(0, start - 2), start), _SIGN_AFTER.match(text, stop)
    return before.start() if before else start, after.end() if after else stop


def _clock(hour: Hour, language: Language) -> str:
    h, minutes = hour
    form = language.times[minutes > 0]
    return form.format(h=h, h12=h % _HALF_DAY or _HALF_DAY, minutes=f"{minutes:02}", half="ap"[h >= _HALF_DAY])


def _is_name(number: Number, text: str) -> bool:
    """Return whether a number with one full stop is a name, such as of a standard or a version, and no quantity.

    The word before it then is a label such as version, has a digit or a capital letter after its first and is no
    currency, or is capitalised without beginning the text, and nothing is counted.
    """
    if number.text.count(".") != 1 or "," in number.text:
        return False
    words = text[max(0, number.start - _LONGEST_LABEL) : number.start].replace("-", " ").split()
    if not words or number.power or _CURRENCY.fullmatch(words[-1]):
        return False
    label = words[-1]
    is_capitalised = len(words) > 1 and label[:1].isupper() and label[-1:].isalpha()
    is_capitalised = is_capitalised and not _COUNTED.match(text, number.stop)
    is_code = any(letter.isupper() or letter.isdigit() for letter in label[1:]) and label[-1:].isalnum()
    known = any(label.lower().rstrip(".") in language.labels for language in languages.every())
    return known or is_capitalised or is_code


# Reading


def find(text: str, language: str | None, *, is_loose: bool = False) -> list[Number]:
    """Return the numbers in digits of a text, and the hours in words before o'clock, in order.

    Args:
        language: its code; None, or one without rules, takes the words of all languages that have some.
        is_loose: whether a number before "million" may be meant without it too.
    """
    found = []
    rules = languages.find(language) if language else None
    for run in _RUN.finditer(text):
        atoms = [run] if run[0].isdigit() or _is_date(run) else _ATOM.finditer(text, *run.span())
        found += _joined([_number(atom, run.span(), rules.decimal if rules else None) for atom in atoms])
    known = [rules] if rules else languages.every()
    if words := [number for language in known for number in _spoken_hours(text, language)]:
        found = sorted([*found, *words])
    if not found:
        return found
    return _timed(_scaled(found, text, known, is_loose=is_loose), text, known)


def _spoken_hours(text: str, language: Language) -> list[Number]:
    """Return the hours in words before o'clock, as numbers."""
    hours = {word: str(i) for i, word in enumerate(language.hour_words, start=1)}
    found = []
    for match in language.hour.finditer(text):
        text_of, span = hours[match[1].lower()], match.span(1)
        found.append(Number(*span, span, text_of, (text_of,), end=span[1]))
    return found


def _is_date(match: re.Match[str]) -> bool:
    if match[0].isdigit():
        return False
    date = _DATE.match(match.string, match.start())
    return date is not None and date.end() == match.end()


def _number(atom: re.Match[str], run: tuple[int, int], decimal: str | None) -> Number:
    text, (start, stop) = atom[0], atom.span()
    read = _read if len(text) <= _LONGEST_CACHED else _read.__wrapped__
    text, values, parts, spare, is_round = read(text, decimal, _is_date(atom))
    if is_round and (_DECADE_END.match(atom.string, stop) or atom.string[start - 1 : start] in ("'", "\u2019")):
        values = tuple(dict.fromkeys([*values, *_year(text[-2:])]))  # 90er, 1990s
    return Number(start, stop, run, text, values, parts, spare, end=stop)


@lru_cache(2**12)
def _read(text: str, decimal: str | None, is_date: bool) -> tuple[str, Values, tuple[Values, ...], int, bool]:
    """Return text, values, parts and spare parts of a number, and whether it may be a decade."""
    text = _ascii(text)
    values, parts = _values(text, decimal), tuple[Values, ...]()
    if text.isdigit():
        return text, values, parts, 0, len(text) in (2, 4) and text[-1] == "0"
    groups = re.findall(r"\d+", text)
    if is_date or not values or _CENTS.search(text) or _GROUP.search(text):
        if values and not is_date:  # 1.234,56 may be 1,234 euros 56
            groups = ["".join(groups[:-1]), groups[-1]]
        parts = _date_parts(groups, text) if is_date else tuple((_value(group),) for group in groups)
    return text, values, parts, int(is_date), False


def _date_parts(groups: Sequence[str], text: str) -> tuple[Values, ...]:
    """Return the values of day, month and year; of 9/11 either may be the month, and 1/3 may be a third."""
    has_slash = "/" in text
    if has_slash and len(groups) == 2:
        groups = [group for group in groups if group != "1"]
    places = (0, 1) if has_slash else (1,)
    months = {i: f"{_MONTH}{int(group)}" for i, group in enumerate(groups) if i in places and int(group) <= _MONTHS}
    return tuple((*([months[i]] if i in months else []), *_year(group)) for i, group in enumerate(groups))


def _ascii(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(unicodedata.decimal(d, d)) for d in digits)


def _values(text: str, decimal: str | None) -> tuple[str, ...]:
    """Return the values of digits with separators: by those of a language, or else of others; by all if it is None."""
    text = _GROUP.sub("", text)
    if text.isdigit():
        is_code = len(text) > 2 and text[0] == "0"  # or a part of a telephone number: 007 is not 7
        return (text if is_code else text.lstrip("0") or "0",)
    found = {d[-1]: _value(m[1], m[2] or "") for d, pattern in _READINGS.items() if (m := pattern.fullmatch(text))}
    return (found[decimal],) if decimal in found else tuple(dict.fromkeys(found.values()))


def _value(whole: str, decimals: str = "", power: int = 0) -> str:
    """Return a number times ten to the power; `whole` may have separators of groups."""
    whole = re.sub(r"\D", "", whole)
    digits, point = whole + decimals, len(whole) + power
    digits += "0" * (point - len(digits))
    decimals = digits[point:].rstrip("0")
    return (digits[:point].lstrip("0") or "0") + (f".{decimals}" if decimals else "")


def _year(group: str) -> tuple[str, ...]:
    """Return the values of a part of a date: a year of two digits is one of a century too."""
    return (_value(group), *(f"{century}{group}" for century in (19, 20, 18) if len(group) == 2))


def _joined(run: list[Number]) -> list[Number]:
    """Return the numbers of a run; 91 after 1990 is 1991 too."""
    for i, (first, second) in enumerate(pairwise(run), start=1):
        if first.is_whole and second.is_whole and (len(first.text), len(second.text)) == (4, 2):
            run[i] = second._replace(values=(*second.values, first.text[:2] + second.text))
    return run


def _scaled(numbers: Sequence[Number], text: str, known: Sequence[Language], *, is_loose: bool) -> list[Number]:
    """Return the numbers times the million, and so on, after them; also of the last number of a range."""
    found, after = list[Number](), None
    for number in reversed(numbers):
        power, is_certain = _power(number, text, known)
        if not power and after and _is_range(number, after[0], text):
            power = after[1]
        after = (number, power) if power else None
        if power and number.values:
            scaled = tuple(_value(*value.partition(".")[::2], power) for value in number.values)
            if is_certain and not is_loose:
                number = number._replace(values=scaled, power=power)
            else:
                number = number._replace(values=(*scaled, *number.values))
        found.append(number)
    return found[::-1]


def _power(number: Number, text: str, known: Sequence[Language]) -> tuple[int, bool]:
    """Return the power of ten in words after a number, 0 for none, and whether it is one: m is also a metre."""
    for language in known:
        if match := language.scale.match(text, number.stop):
            word = match[1].lower()
            power = next(int(power) for power, words in language.scales.items() if word in words)
            is_certain = (
                len(word) > 1 or word == "k" or _CURRENCY_BEFORE.search(text, max(0, number.start - 2), number.start)
            )
            return power, bool(is_certain)
    return 0, False


def _is_range(first: Number, second: Number, text: str) -> bool:
    gap = second.start - first.stop
    return 0 < gap <= _LONGEST_RANGE and _RANGE.fullmatch(text, first.stop, second.start) is not None


def _timed(numbers: Sequence[Number], text: str, known: Sequence[Language]) -> list[Number]:
    """Return the numbers with the times of day that they may be; a word after a range counts for both ends."""
    is_late = any(language.later.search(text) for language in known)
    n_hours = min(language.clock_hours for language in known)
    found, after = list[Number](), None
    for number in reversed(numbers):
        words = next((m for language in known if (m := language.clock.match(text, number.stop))), None)
        if words:
            half, minutes = (words.groupdict().get(name) or "" for name in ("half", "minutes"))
            hours = _hours(number.text, n_hours, half.lower(), is_late=is_late)
            if minutes and found and found[-1].start < words.end():  # 8 Uhr 30
                found.pop()
                hours += tuple((h, int(minutes)) for h, _ in hours)
            number = number._replace(hours=hours, is_clock=True, end=words.end())
        elif after and _is_range(number, after, text) and (hours := _hours(number.text, n_hours, "", is_late=is_late)):
            number = number._replace(hours=hours, is_clock=True)
        elif ":" in number.text:
            number = number._replace(hours=_hours(number.text, n_hours, "", is_late=is_late))
        after = number if number.is_clock else None
        found.append(number)
    return found[::-1]


def _hours(text: str, n_hours: int, half: str, *, is_late: bool) -> tuple[Hour, ...]:
    """Return the times of day that "8" or "8:15" may be; none if it is impossible, as 18 p.m. is.

    Args:
        n_hours: hours of the clock in its language, 12 or 24.
        half: "a" or "p", or "" if it is not named.
        is_late: whether the text has a word such as evening, so that 8 may be 20 in any language.
    """
    match = _HOUR.fullmatch(text)
    if match is None or int(match[1]) > 2 * _HALF_DAY:
        return ()
    h, minutes = int(match[1]), int(match[2] or 0)
    if half:
        is_possible = h <= _HALF_DAY and (h > 0 or half == "a")
        return ((h % _HALF_DAY + _HALF_DAY * (half == "p"), minutes),) if is_possible else ()
    if 0 < h <= _HALF_DAY and (n_hours == _HALF_DAY or is_late):
        return ((h, minutes), ((h + _HALF_DAY) % (2 * _HALF_DAY), minutes))
    return ((h % (2 * _HALF_DAY), minutes),)


def _named(text: str, language: Language) -> list[Number]:
    """Return the times of day, months and other numbers that have names, such as noon, May and a dozen."""
    found = []
    for hour, words in language.named_hours.items():
        found += [Number(*span, span, "", hours=((int(hour), 0),), is_clock=True) for span in _spans(words, text)]
    for value, words in language.named_numbers.items():
        found += [Number(*span, span, value, (value,)) for span in _spans(words, text)]
    for i, month in enumerate(language.months, start=1):
        found += [Number(*span, span, "", (f"{_MONTH}{i}",)) for span in _spans([month], text, 0)]
    return found


def _spans(words: Iterable[str], text: str, flags: int = re.IGNORECASE) -> list[tuple[int, int]]:
    """Return where words are that begin as one of the regular expressions does."""
    return [match.span() for match in re.finditer(rf"\b(?:{'|'.join(words)})", text, flags)]


def _in_digits(text: str, language: str) -> str:
    """Return the text with spelled-out numbers in digits, for languages known to text2num."""
    from text_to_num import alpha2digit

    if rules := languages.find(language):
        text = rules.number_endings.sub(" ", text)
    text = _HYPHEN.sub(" ", text)
    try:
        # The time of text2num is quadratic in the number of number words.
        digits = (str(alpha2digit(part, language, threshold=0)) for part in _PART.findall(text))
        return _YEAR.sub(r"\1\2 \1 \2", "".join(digits))
    except ValueError:
        return text


# Matching

_Key = tuple[object, ...]


class _Pool:
    """The numbers of a translation, each of which is the counterpart of at most one number of the source."""

    def __init__(self, numbers: Sequence[Number], *, knows_months: bool) -> None:
        self._numbers, self._knows_months = numbers, knows_months
        self._is_used = [False] * len(numbers)
        self._places: defaultdict[_Key, list[int]] = defaultdict(list)
        for i in reversed(range(len(numbers))):
            for key in _keys(numbers[i]):
                self._places[key].append(i)
        self._groups: Counter[str] | None = None

    def _take(self, keys: Iterable[_Key]) -> bool:
        for key in keys:
            places = self._places.get(key, [])
            while places:
                i = places.pop()
                if not self._is_used[i]:
                    self._is_used[i] = True
                    return True
        return False

    def take_time(self, number: Number) -> bool:
        """Take the same time of day, or a number without words beside it that may be the hour."""
        keys = [("time", hour) for hour in number.hours]
        return self._take([*keys, *(("hour", hour) for hour in number.hours)])

    def take_value(self, number: Number) -> bool:
        """Take a copy or a number of the same value; a number without o'clock may be a time of day."""
        if number.hours:
            return not number.is_clock and self._take([("copy", number.text)])
        keys: list[_Key] = [("value", value) for value in number.values]
        if number.is_name or not keys:  # another copy may have another value: 8.848 in German is 8,848 in English
            keys.insert(0, ("text", number.text, number.power))
        return self._take([*keys, *(("clock", hour) for hour in _any_hours(number.text))])

    def take_parts(self, number: Number) -> bool:
        """Take numbers that stand for the parts of a number, or a part of another one, such as the year of a date."""
        if number.is_clock and number.hours:
            return False
        if self._groups is None:
            self._groups = Counter(value for i, n in enumerate(self._numbers) for value in self._parts(i, n))
        parts = number.parts
        if number.is_whole:
            parts = (number.values,)
        elif number.hours:  # 3:15 may be 3 minutes 15
            parts = tuple((_value(part),) for part in number.text.split(":"))
        if not parts:
            return False
        used = [next((value for value in values if self._groups[value] > 0), None) for values in parts]
        lost = [values[0] for value, values in zip(used, parts, strict=True) if value is None]
        if len(lost) > (0 if self._knows_months else number.spare) or not all(map(_is_month, lost)):
            return False
        wanted = Counter(value for value in used if value is not None)
        if any(self._groups[value] < n for value, n in wanted.items()):
            return False
        self._groups.subtract(wanted)
        return True

    def _parts(self, i: int, number: Number) -> Iterable[str]:
        if self._is_used[i] or number.is_clock:
            return ()
        if number.is_whole or number.values and _is_month(number.values[0]):
            return number.values
        if number.spare:
            return (value for values in number.parts for value in values)
        return () if number.values else map(_value, re.findall(r"\d+", number.text))


def _is_month(value: str) -> bool:
    return value.startswith(_MONTH)


def _keys(number: Number) -> list[_Key]:
    """Return what a number of a translation is found by."""
    keys: list[_Key] = [("text", number.text, number.power), *(("value", value) for value in number.values)]
    keys += [("time", hour) for hour in number.hours]
    if number.is_clock:
        return [*keys, *(("clock", hour) for hour in number.hours)]
    return [*keys, ("copy", number.text), *(("hour", hour) for hour in _any_hours(number.text))]


def _any_hours(text: str) -> tuple[Hour, ...]:
    """Return the times of day that a number without words beside it may be, in either half of the day."""
    return _either_half(text) if len(text) <= _LONGEST_HOUR else ()


@lru_cache(2**12)
def _either_half(text: str) -> tuple[Hour, ...]:
    hours = {(h % 24, minutes) for h, minutes in _hours(text, _HALF_DAY, "", is_late=True)}
    return tuple(sorted(hours | {((h + _HALF_DAY) % (2 * _HALF_DAY), minutes) for h, minutes in hours}))


def _unmatched(wanted: Sequence[Number], found: Sequence[Number], *, knows_months: bool) -> list[Number]:
    """Return the numbers without a counterpart; certain counterparts are taken first.

    Args:
        knows_months: whether the names of the language's months are known.
    """
    pool = _Pool(found, knows_months=knows_months)
    lost = list(wanted)
    for take in (pool.take_time, pool.take_value, pool.take_parts):
        lost = [number for number in lost if not take(number)]
    return lost
