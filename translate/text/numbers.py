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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import chain, pairwise, product
from typing import NamedTuple

from translate.text import languages
from translate.text.languages import Language, TimeFromHour
from translate.text.sentences import ROMAN_NUMERAL

Hour = tuple[int, float]  # of the day, and minutes, with seconds as a part of the last one
Values = tuple[str, ...]

_LARGEST_UNCHECKED = 1  # it may be an article
_HALF_DAY = 12  # hours
_DAY = 24 * 60  # minutes
_LONGEST_HOUR = 8  # characters of 14:30:15
_MONTHS = 12
_HALF = "0.5"
_MONTH = "month "  # before the number of a month that has its name
_GROUPS = "[ \u00a0\u2009\u202f'\u2019]"  # separators of groups in any language: 1 234 and 1'234
_JOINTS = r"[:/\u2013-]"  # between the numbers of a run
_NUMBER = rf"\d{{1,3}}(?:{_GROUPS}\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*"
# Numerals that are no digits: superscripts and subscripts, fractions after a whole number or alone, and others. A
# fraction after a letter is a letter in the wrong encoding.
_RAISED, _FRACTIONS, _ROMAN = (
    "\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089",
    "\u00bc-\u00be\u2150-\u215e",
    "\u2160-\u217f",
)
_OTHER_NUMERALS = "\u2460-\u249b\u24ea-\u24ff\u2776-\u2793"  # in circles, brackets, and with a full stop
_NUMERAL = re.compile(
    rf"[^\W\d_]{{0,8}}([\u207a\u207b\u208a\u208b]?[{_RAISED}]+)|((?:(?<!\d)\d++[ \u00a0]?|(?<![^\W\d_]))[{_FRACTIONS}])"
    rf"|([{_ROMAN}]+|[{_OTHER_NUMERALS}])"
)
# A whole number with a fraction, as in 1 1/2; dates have other numbers.
_MIXED = re.compile(r"(?<![\d.,:/-])(\d{1,3})[ \u00a0](\d{1,2})/([234568]|1[026]|32|64)(?![\d/]|[.,]\d)")
_FRACTION = re.compile(rf"(?:\d+[ \u00a0])?\d+/\d+|(?:\d+[ \u00a0]?)?[{_FRACTIONS}]")
_IN_LETTERS = re.compile(rf"(?<![\w.-]){ROMAN_NUMERAL.pattern}(?=(?:s|th)?(?![\w-]))")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}
_ANY_NUMERAL = re.compile(rf"[{_RAISED}{_FRACTIONS}{_ROMAN}{_OTHER_NUMERALS}]")
_ATOM = re.compile(rf"(?<![\d.,:])\d{{1,2}}:\d\d(?::[0-5]\d)?(?![\d:]|[.,]\d)|{_NUMBER}")
# Joined numbers, such as 1990-2021 and 14:35-15:10; the group matches where a word begins after them.
_RUN = re.compile(rf"(?:{_NUMBER})(?:{_JOINTS}\d+(?:[.,]\d+)*)*(?=([\s-]?[^\W\d_])?)")
_JOINT = re.compile(_JOINTS)
# Numbers with separators that have a value in no language: 15,16,17 is a list, and 1.2.3 a version or a section.
_LIST = re.compile(r"(?!\d{1,3}(?:,\d{3})+\Z)\d+(?:,\d+){2,}")
_CODE = re.compile(r"(?!\d{1,3}(?:\.\d{3})+\Z)\d+(?:\.\d+){2,}")
_BEGINS_LIST = re.compile(r"(\d{2,}),(\d{2,})")  # with one digit each, it is more often a decimal number
_BEFORE_LAST = re.compile(r"\s[^\W\d_]{1,5}\s")
_GROUP = re.compile(_GROUPS)
_SEPARATORS = (",.", ".,")  # the sign before decimals and the one between groups, in most languages
_DATE = re.compile(  # without 15.16.17, in which nothing can be the month
    r"(?!(?:1[3-9]|[23]\d)\.1[3-9])[0-3]?\d([./])[01]?\d(?:\1(?:\d\d){1,2}|(?=\.))|[0-3]?\d/[01]?\d"
    r"|\d{4}([-.])[01]\d\2[0-3]\d"
)
_DIGITS = re.compile(r"\d+")
_CENTS = re.compile(r"\D\d\d\Z")
_HAS_DECIMALS = re.compile(r"\.(?!\d{3}\Z|0+\Z)\d+\Z")
_HOUR = re.compile(r"(\d{1,2})(?:[.:]([0-5]\d)(?:[.:]([0-5]\d))?)?")
_HOUR_AND_MINUTES = re.compile(r"(?<![\d.,:])(1?\d|2[0-4]) ([0-5]\d)(?!\d|[.,:]\d)")
_APOSTROPHES = ("'", "\u2019")
_DECADE_END = re.compile(r"['\u2019]?s\b|er[ns]?\b")
_DASH = r"\s?[-\u2013\u2014]\s?"  # between the numbers of a range
_cached = lru_cache(2**12)  # of one text, whose numbers occur again
_LONGEST_RANGE = 7  # characters between its numbers
# Between words or numbers it is a hyphen or a dash, and after the day in 12.-14. too.
_MINUS = r"(?<![\w)\].,:;/-])(?<!\d\s)(?<!\d\.\s)[-\u2212\u2013]"
# Signs that are others in some places: a hyphen, and the sign of degrees after a letter, as in the French no.
SIGNS = {"-": re.compile(rf"{_MINUS}(?=[\u20ac$\u00a3\u00a5]?\d)"), "\u00b0": re.compile(r"(?<![^\W\d_])\u00b0")}
_SIGNS = "[\u20ac$\u00a3\u00a5%\u2030]"  # of currencies and shares, which are held with their number
_SIGN_BEFORE = re.compile(rf"(?:{_SIGNS}[ \u00a0]?|{_MINUS})\Z")
_SIGN_AFTER = re.compile(rf"(?:[kKmMbB]n?(?![^\W_]))?(?:[ \u00a0]?(?:{_SIGNS}|[\u2032\u2033]|\u00b0(?:[CF]\b)?))?")
_CURRENCY_BEFORE = re.compile("[\u20ac$\u00a3\u00a5][ \u00a0]?\\Z")
_COUNTED = re.compile(rf"\s?([^\W\d_]+|{_SIGNS})")  # after a number: 1.250 Euro
_CURRENCY = re.compile("AUD|CAD|CHF|CNY|CZK|DKK|DM|EUR|Euro|GBP|HUF|INR|JPY|NOK|PLN|RUB|SEK|TRY|USD")
_LONGEST_LABEL = 24  # characters of the words before a number
_YEAR = re.compile(r"(?<![\d.,])(1\d|20) (\d\d)(?!\d|[.,]\d)")  # nineteen eighty-four
_PART = re.compile(r"[\s\S]{1,2000}(?=\s|\Z)|[\s\S]{1,2000}")  # longer than almost every sentence
_WORD = re.compile(r"\w+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=\w)|(?<=\d)-(?=[^\W\d_])")  # twenty-year-old


class Meaning(NamedTuple):
    """What a number may stand for.

    Attributes:
        text: its digits and separators.
        values: those that it may have, in digits with a decimal point.
        parts: numbers that may stand for it together, each in the values it may have, as 2 and a half do for 2,5;
            those that its digits show, as in 19,99 and dates, are not among them (`_parts`).
        spare: how many of the parts may be missing: a month may be a name, in a language whose names are unknown.
        hours: the times of day that it may be.
        is_clock: whether the words beside it say that it is a time of day; a:b alone may be a ratio.
        power: of ten, in a word after it.
        is_name: whether it is copied, as in ISO 13.485.
        is_round: whether it may be a decade.
        is_word: whether it is in words.
        is_listed: whether commas alone join it with others.
    """

    text: str
    values: Values = ()
    parts: tuple[Values, ...] = ()
    spare: int = 0
    hours: tuple[Hour, ...] = ()
    is_clock: bool = False
    power: int = 0
    is_name: bool = False
    is_round: bool = False
    is_word: bool = False
    is_listed: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it has digits only."""
        return self.text.isdecimal()

    @property
    def is_small(self) -> bool:
        """Whether it may be an article, which is not checked."""
        text = self.text
        if len(text) > 2 or not text.isdecimal() or int(text) > _LARGEST_UNCHECKED:
            return False
        return not (self.is_clock and self.hours)


class Number(NamedTuple):
    """A number of a text.

    Attributes:
        start, stop: where its digits and separators are.
        end: where the words end by which it is a time of day.
        run_start, run_stop: where it and those that it is joined with are, as in a range.
        what: what it may stand for.
    """

    start: int
    stop: int
    end: int
    run_start: int
    run_stop: int
    what: Meaning

    @property
    def text(self) -> str:
        """Its digits and separators."""
        return self.what.text


def missing(output: str, source: str, target_language: str, source_language: str | None = None) -> list[Number]:
    """Return the numbers of `source`, in order, that its translation lacks.

    A time of day must be the same one, in 12 or 24 hours. A number may be in words, in languages known to text2num. The
    number 1 is not checked, as it may be an article; that of a fraction may be one if the others are in words.

    Args:
        source_language: None if it is unknown.
    """
    own, target = languages.find(source_language) if source_language else None, languages.find(target_language)
    # Without the words for a million of both languages.
    is_loose = not (target and target.scales) or bool(source_language and not (own and own.scales))
    knows_months = bool(target and target.months)
    known = [language for language in (own, target) if language] if source_language else languages.every()
    found, has_stops = find(output, target_language, is_loose=is_loose), "." in source
    wanted = find(source, source_language, is_loose=is_loose)
    if has_stops:
        copied = {f"{_label(number, output)} {number.text}" for number in found if "." in number.text}
        wanted = [_as_name(number) if _is_name(number, source, copied, known) else number for number in wanted]
    lost = _unmatched(wanted, found, knows_months=knows_months)
    if lost and (in_words := _with_words(output, target_language, found)) is not None:
        still_lost = {number.start for number in _unmatched(wanted, in_words, knows_months=knows_months)}
        lost = [number for number in lost if number.start in still_lost]
    if not source.isascii() and any(map(_letters, lost)):
        written = {*_WORD.findall(output)}
        lost = [number for number in lost if _letters(number) not in written]
    return (
        [_as_name(number) if _may_be_name(number, source, known) else number for number in lost] if has_stops else lost
    )


def _with_words(text: str, language: str, found: list[Number]) -> list[Number] | None:
    """Return the numbers of a text, those in words included; None if it has none in words.

    Args:
        found: its numbers in digits.
    """
    words, rules = _in_digits(text, language), languages.find(language)
    named = [*_named(words, language), *_with_minutes(words)]
    has_times = rules is not None and any(rules.times_from_hours(words))
    if words == text and not named and not has_times:
        return None
    read = found if words == text and not has_times else find(words, language, is_ambiguous=True)
    in_digits = Counter([number.what for number in found])
    in_digits.subtract([number.what for number in read])
    spoken = {what for what, n in in_digits.items() if n < 0}
    read = [_in_words(number) if number.what in spoken else number for number in read]
    return sorted([*read, *map(_in_words, named)])


def _in_words(number: Number) -> Number:
    return number._replace(what=number.what._replace(is_word=True))


def _letters(number: Number) -> str:
    """Return a Roman numeral in Latin letters; "" for other numbers."""
    letters = "" if number.text.isascii() else unicodedata.normalize("NFKC", number.text)
    return letters if letters.isalpha() else ""


def masked_part(number: Number, source: str, source_language: str, target_language: str) -> tuple[int, int, str]:
    """Return start and end of a number in the source with the words or signs beside it, and what a symbol stands for.

    It is copied, but a time of day such as 8 Uhr, and numbers with the separators of their language, are written as in
    the target language.
    """
    what, own, target = number.what, languages.find(source_language), languages.find(target_language)
    if target and target.times and what.is_clock and len(what.hours) == 1 and what.hours[0][1] % 1 == 0:
        return number.start, number.end, _clock(what.hours[0], target)
    if what.is_clock and number.text:
        return number.start, number.stop, number.text
    if what.is_clock:  # half past eight, in either half of the day
        h, minutes = what.hours[0]
        return number.start, number.stop, f"{h}:{minutes:02.0f}"
    start, stop = with_signs(number, source)
    text = source[start:stop]
    is_quantity = bool(what.values) and not what.is_name
    if is_quantity and own and target and own.separators and target.separators:
        run = source[number.run_start : number.run_stop]  # a number, a range or a ratio
        parts = _JOINT.split(run)
        is_phone = re.match(r"0\d+-", run) is not None  # not with a slash, whose copy `missing` may refuse
        if not is_phone and all(part.isdecimal() or _is_written(part, own) for part in parts):
            text = text.replace(run, _rewritten(run, own, target))
    return start, stop, text


def _is_written(number: str, language: Language) -> bool:
    """Return whether a number has separators, all of them those of a language."""
    return not number.isdecimal() and _reading(language.separators).fullmatch(_GROUP.sub("", number)) is not None


def _rewritten(number: str, own: Language, target: Language) -> str:
    """Return a number, or several that are joined, with the separators of another language."""
    if own.group.isspace():
        number = _GROUP.sub(own.group, number)
    return number.translate({ord(own.decimal): target.decimal, ord(own.group): target.group})


def with_signs(number: Number, text: str) -> tuple[int, int]:
    """Return where a number is with those that it is joined with, and a sign such as % on either side."""
    start, stop = number.run_start, number.run_stop
    before, after = _SIGN_BEFORE.search(text, max(0, start - 2), start), _SIGN_AFTER.match(text, stop)
    return before.start() if before else start, after.end() if after else stop


def _clock(hour: Hour, language: Language) -> str:
    h, minutes = hour
    form = language.times[minutes > 0]
    return form.format(h=h, h12=h % _HALF_DAY or _HALF_DAY, minutes=f"{minutes:02.0f}", half="ap"[h >= _HALF_DAY])


def _is_name(number: Number, text: str, copied: Collection[str], known: Sequence[Language]) -> bool:
    """Return whether a number with one full stop is a name, such as of a standard or a version, and no quantity.

    The word before it then is a label such as version, has a digit or a capital letter after its first and is no
    currency, or is capitalised, and nothing is counted. One that begins the text must be before a copy too, or before a
    number that has no group of three digits.

    Args:
        copied: the numbers of the translation after the words before them.
        known: the languages of the pair.
    """
    if "." not in number.text or not (label := _label(number, text)):
        return False
    if label[:1].isupper() and label[-1:].isalpha():
        is_clear = _HAS_DECIMALS.search(number.text) is not None or not _begins(number, text)
        if f"{label} {number.text}" in copied or (is_clear and not _is_counted(number, text, known)):
            return True
    is_code = any(letter.isupper() or letter.isdigit() for letter in label[1:]) and label[-1:].isalnum()
    return is_code or any(label.lower().rstrip(".") in language.labels for language in known)


def _may_be_name(number: Number, text: str, known: Sequence[Language]) -> bool:
    """Return whether a number that is missing may be a name, as in Python 3.125 is new; it then stays as written."""
    if "." not in number.text or not (label := _label(number, text)):
        return False
    word = _COUNTED.match(text, number.stop)
    is_counted = word is not None and not _is_function_word(word[1], known)
    return label[:1].isupper() and label[-1:].isalpha() and not is_counted


def _is_counted(number: Number, text: str, known: Sequence[Language]) -> bool:
    """Return whether a word after a number may be what it counts; that of a group of three digits counts most often."""
    word = _COUNTED.match(text, number.stop)
    return word is not None and not (_HAS_DECIMALS.search(number.text) and _is_function_word(word[1], known))


def _is_function_word(word: str, known: Sequence[Language]) -> bool:
    return any(word in language.starters for language in known)


def _label(number: Number, text: str) -> str:
    """Return the word before a number that has one full stop and is no date or money; "" if there is none."""
    is_date = bool(number.what.spare) and not number.what.values
    if number.text.count(".") != 1 or "," in number.text or number.what.power or is_date:
        return ""
    words = text[max(0, number.start - _LONGEST_LABEL) : number.start].replace("-", " ").split()
    return "" if not words or _CURRENCY.fullmatch(words[-1]) else words[-1]


def _begins(number: Number, text: str) -> bool:
    """Return whether the word before a number begins the text."""
    return len(text[max(0, number.start - _LONGEST_LABEL) : number.start].replace("-", " ").split()) < 2


# Reading


def find(text: str, language: str | None, *, is_loose: bool = False, is_ambiguous: bool = False) -> list[Number]:
    """Return the numbers in digits of a text, hours in words before o'clock, and times such as half past 8, in order.

    Args:
        language: its code; None, or one without rules, takes the words of all languages that have some.
        is_loose: whether a number before "million" may be meant without it too.
        is_ambiguous: whether "ten to five" is a time and its numbers too, where either may be meant.
    """
    rules = languages.find(language) if language else None
    found, followed = list[Number](), list[int]()  # indices of those before a word
    separators, slash_is_fraction = (rules.separators, rules.slash_is_fraction) if rules else ("", False)
    read = _cached(partial(_read, separators=separators, slash_is_fraction=slash_is_fraction))
    whole, read_run = _cached(_whole), _cached(partial(_read_run, read=read))
    for run in _RUN.finditer(text):
        start, stop = run.span()
        is_whole = (digits := run[0]).isdecimal()
        for i, j, what in (
            ((0, stop - start, whole(digits)),) if is_whole else read_run(text[max(0, start - 1) : stop + 1])
        ):
            if what.is_round and (
                _DECADE_END.match(text, start + j) or text[start + i - 1 : start + i] in _APOSTROPHES
            ):
                what = _decade(what)  # 90er, 1990s
            found.append(Number(start + i, start + j, start + j, start, stop, what))
        if run.lastindex:
            followed.append(len(found) - 1)
    if "," in text:
        found = [
            _as_list(number, following, text) for number, following in zip(found, [*found[1:], None], strict=False)
        ]
    known = [rules] if rules else languages.every()
    words = [number for language in known for number in _spoken_hours(text, language)]
    numerals = _numerals(text) if not text.isascii() and _ANY_NUMERAL.search(text) else []
    if "/" in text:
        mixed = (match for match in _MIXED.finditer(text) if 0 < int(match[2]) < int(match[3]))
        numerals += [_word(*match.span(), _mixed(match[0], *match.groups())) for match in mixed]
    if numerals:
        places = {i for number in numerals for i in range(number.start, number.stop)}  # the 2 of 2\u00bd is no number
        found = [number for number in found if number.start not in places]
    numerals += [_word(*match.span(), _in_letters(match[0])) for match in _IN_LETTERS.finditer(text)]
    if words or numerals:
        found = sorted([*found, *words, *numerals])
        followed = [*range(len(found))]
    if followed:
        _scale(found, followed, text, known, is_loose=is_loose)
    may_have_times = followed or ":" in text or any(language.clock_before for language in known)
    if may_have_times:
        found = _timed(found, followed, text, known)
    if relative := [time for language in known for time in _relative(text, language, is_certain=not is_ambiguous)]:
        certain = [time for time in relative if time.what.is_clock]
        places = {i for time in certain for i in range(time.stop - 1 if is_ambiguous else time.start, time.stop)}
        found = sorted([*relative, *(number for number in found if number.stop - 1 not in places)])
    return found


def _as_list(number: Number, following: Number | None, text: str) -> Number:
    """Return a number as those of a list without a space, such as 15,16 and 17; it has no value of its own."""
    match = _BEGINS_LIST.fullmatch(number.text)
    if match is None or following is None or not _BEFORE_LAST.fullmatch(text, number.stop, following.start):
        return number
    wanted = [str(int(match[1]) + n) for n in (1, 2)]
    return number._replace(what=Meaning(number.text)) if [match[2], following.text] == wanted else number


def _spoken_hours(text: str, language: Language) -> list[Number]:
    """Return the hours in words before o'clock, as numbers."""
    matches = language.hour.finditer(text) if language.clock.search(text) else ()
    hours = ((match, languages.index_of(match[1].lower(), language.hour_words)) for match in matches)
    return [_word(*match.span(1), _whole(str(hour))) for match, hour in hours if hour]


def _numerals(text: str) -> list[Number]:
    """Return the numbers in other numerals than digits; a unit before an exponent is joined with it."""
    found, read = [], _cached(_numeral)
    for match in _NUMERAL.finditer(text):
        start, stop = match.span(match.lastindex or 0)
        found.append(Number(start, stop, stop, *match.span(), read(text[start:stop])))
    return found


def _numeral(text: str) -> Meaning:
    whole, last = _ascii(text[:-1].rstrip()), text[-1]
    plain = unicodedata.normalize("NFKC", last)
    if "\u2044" in plain:
        over, under = plain.split("\u2044")
        return _mixed(text, whole, over, under)
    plain = unicodedata.normalize("NFKC", text).strip("().+")
    if _IN_LETTERS.fullmatch(plain):
        return _in_letters(plain)._replace(text=text)
    return Meaning(text, (plain,) if plain.lstrip("\u2212").isdecimal() else _single(text))


def _mixed(text: str, whole: str, over: str, under: str) -> Meaning:
    """Return what a fraction, after a whole number or "", stands for; the 1 of one half is often not said."""
    value = f"{whole.lstrip('0') or '0'}{str(int(over) / int(under))[1:]}"
    parts = [whole, over if over != "1" else "", _HALF if (over, under) == ("1", "2") else under]
    return Meaning(text, (value,), tuple((part,) for part in parts if part))


@cache
def _in_letters(text: str) -> Meaning:
    """Return what a Roman numeral of letters stands for."""
    values = [_ROMAN_VALUES[letter] for letter in text]
    value = sum(-one if one < following else one for one, following in zip(values, [*values[1:], 0], strict=True))
    return Meaning(text, (str(value),))


def _single(text: str) -> Values:
    """Return the value of a numeral of one character."""
    return (f"{unicodedata.numeric(text):g}",) if len(text) == 1 else ()


def _word(start: int, stop: int, what: Meaning) -> Number:
    return Number(start, stop, stop, start, stop, what)


def _read_run(context: str, read: Callable[[str, bool], Meaning]) -> list[tuple[int, int, Meaning]]:
    """Return the numbers of a run, each with start and stop in it.

    Args:
        context: the run with the character before and the one after it, which are no digits.
        read: returns what a number may stand for that is a date or none.
    """
    start, stop = int(not context[0].isdecimal()), len(context) - (not context[-1].isdecimal())
    text = context[start:stop]
    if (is_date := _is_date(context, start, stop)) or not (_JOINT.search(text) or _LIST.fullmatch(text)):
        return [(0, len(text), read(text, is_date))]
    found = list[tuple[int, int, Meaning]]()
    for atom in _ATOM.finditer(context, start, stop):
        i, j = atom.span()
        if _LIST.fullmatch(atom[0]):
            listed = (match.span() for match in _DIGITS.finditer(context, i, j))
            found += [(a - start, b - start, _whole(context[a:b])._replace(is_listed=True)) for a, b in listed]
            continue
        what = read(atom[0], not atom[0].isdecimal() and _is_date(context, i, j))
        if found and what.is_whole and len(what.text) == 2 and (last := found[-1][2]).is_whole and len(last.text) == 4:
            what = what._replace(values=(*what.values, last.text[:2] + what.text))  # 91 after 1990 is 1991 too
        found.append((i - start, j - start, what))
    return found


def _is_date(text: str, start: int, stop: int) -> bool:
    date = _DATE.match(text, start)
    return date is not None and date.end() == stop


def _whole(text: str) -> Meaning:
    """Return what a number of digits alone may stand for."""
    text = _ascii(text)
    is_round = text[-1] == "0" and len(text) in (2, 4)
    value = text if text[0] != "0" else _without_zeros(text)
    return Meaning(text, (value,), (), 0, (), False, 0, False, is_round)


def _without_zeros(digits: str) -> str:
    """Return digits as a value: 08 is 8, but 007 is a code, or a part of a telephone number."""
    return digits if digits[0] != "0" or len(digits) > 2 else _integer(digits)


def _read(text: str, is_date: bool, separators: str, *, slash_is_fraction: bool) -> Meaning:
    text = _ascii(text)
    if text.isdecimal():
        return _whole(text)
    if is_date and slash_is_fraction and text.count("/") == 1:
        parts = tuple((part, _HALF) if part == "2" else (part,) for part in map(_integer, text.split("/")))
        return Meaning(text, _quotient(text), parts)
    values, parts = _values(text, separators) or _quotient(text), ()
    if is_date and "." in text and separators and not _reading(separators).fullmatch(text):  # 15.11. in German
        values = ()
    if values and values[0].endswith(".5") and not is_date and not _has_parts(text):  # two and a half
        parts = tuple((part,) for part in (values[0][:-2], _HALF) if part != "0")
    return Meaning(text, values, parts, int(is_date))


def _quotient(text: str) -> Values:
    """Return the value of a fraction such as 1/5, which is less than 1; a date may be one."""
    over, _, under = text.partition("/")
    if not (over.isdecimal() and under.isdecimal()) or not 0 < int(over) < int(under):
        return ()
    return (str(int(over) / int(under)),)


def _has_parts(text: str) -> bool:
    """Return whether the parts of a number may be others, as 19,99 may be 19 euros 99."""
    return _CENTS.search(text) is not None or _GROUP.search(text) is not None


def _parts(what: Meaning) -> tuple[Values, ...]:
    """Return the numbers that may stand together for one with separators, each in the values it may have."""
    text = what.text
    if what.parts or not text[-1:].isascii():  # a numeral
        return what.parts
    groups = _DIGITS.findall(text)
    if what.spare:
        return _date_parts(groups, text)
    if _CODE.fullmatch(text):  # which is copied
        return ()
    if what.values and not _has_parts(text):
        return ()
    if what.values:  # 1.234,56 may be 1,234 euros 56
        groups = ["".join(groups[:-1]), groups[-1]]
    return tuple([(_integer(group),) for group in groups])


def _decade(what: Meaning) -> Meaning:
    return what._replace(values=tuple(dict.fromkeys([*what.values, *_year(what.text[-2:])])))


def _as_name(number: Number) -> Number:
    return number._replace(what=number.what._replace(is_name=True))


def _date_parts(groups: Sequence[str], text: str) -> tuple[Values, ...]:
    """Return the values of day, month and year; of 9/11 either may be the month, and 1/2 may be a half."""
    has_slash = "/" in text
    places = (0, 1) if has_slash else (1,)
    months = {i: f"{_MONTH}{int(group)}" for i, group in enumerate(groups) if i in places and int(group) <= _MONTHS}
    half = [_HALF] if has_slash and [*map(_integer, groups)] == ["1", "2"] else []
    return tuple(
        (*([months[i]] if i in months else []), *_year(group), *(half if i else [])) for i, group in enumerate(groups)
    )


def _ascii(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(unicodedata.decimal(d, d)) for d in digits)


def _values(text: str, separators: str) -> tuple[str, ...]:
    """Return the values of digits with separators: by those of a language, or else of others; by all if it has none."""
    text = _GROUP.sub("", text)
    if text.isdecimal():
        return (_without_zeros(text),)
    if separators and (match := _reading(separators).fullmatch(text)):
        return (_value(match[1], match[2] or ""),)
    matches = (_reading(signs).fullmatch(text) for signs in _SEPARATORS)
    return tuple(dict.fromkeys(_value(match[1], match[2] or "") for match in matches if match))


@cache
def _reading(separators: str) -> re.Pattern[str]:
    """Return a pattern of numbers by the signs before decimals and between groups; both parts are groups."""
    decimal, group = map(re.escape, separators)
    return re.compile(rf"([1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)(?:{decimal}(\d+))?")


def _integer(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _value(whole: str, decimals: str = "", power: int = 0) -> str:
    """Return a number times ten to the power; `whole` may have separators of groups."""
    digits = whole.replace(".", "").replace(",", "")
    if power:
        decimals = decimals.ljust(power, "0")
        digits, decimals = digits + decimals[:power], decimals[power:]
    digits, decimals = digits.lstrip("0") or "0", decimals.rstrip("0")
    return f"{digits}.{decimals}" if decimals else digits


def _year(group: str) -> tuple[str, ...]:
    """Return the values of a part of a date: a year of two digits is one of a century too."""
    return (_integer(group), *(f"{century}{group}" for century in (19, 20, 18) if len(group) == 2))


def _scale(
    numbers: list[Number], followed: Sequence[int], text: str, known: Sequence[Language], *, is_loose: bool
) -> None:
    """Multiply numbers by the million, and so on, after them; also the other numbers of a range.

    Args:
        followed: indices of the numbers before a word.
    """
    powers = {i: found for i in followed if (found := _power(numbers[i], text, known))[0]}
    for last, (power, is_certain) in powers.items():
        i = last
        numbers[i] = numbers[i]._replace(what=_times(numbers[i].what, power, is_certain and not is_loose))
        while i and i - 1 not in powers and _is_range(numbers[i - 1], numbers[i], text, known):
            i -= 1
            numbers[i] = numbers[i]._replace(what=_times(numbers[i].what, power, False))


def _times(what: Meaning, power: int, is_certain: bool) -> Meaning:
    """Return what a number times ten to the power may stand for; also the number itself if that is not certain."""
    scaled = tuple(_value(*value.partition(".")[::2], power) for value in what.values)
    if is_certain and scaled:
        return what._replace(values=scaled, power=power)
    return what._replace(values=(*scaled, *what.values))


def _power(number: Number, text: str, known: Sequence[Language]) -> tuple[int, bool]:
    """Return the power of ten in words after a number, 0 for none, and whether it is one: m is also a metre."""
    for language in known:
        if match := language.scale.match(text, number.stop):
            word = match[1].lower()
            power = next((int(power) for power, words in language.scales.items() if word in words), 0)
            is_certain = (
                len(word) > 1 or word == "k" or _CURRENCY_BEFORE.search(text, max(0, number.start - 2), number.start)
            )
            return power, bool(is_certain)
    return 0, False


def _is_range(first: Number, second: Number, text: str, known: Sequence[Language]) -> bool:
    gap = second.start - first.stop
    words = tuple(word for language in known for word in language.ranges)
    return 0 < gap <= _LONGEST_RANGE and _range(words).fullmatch(text, first.stop, second.start) is not None


@cache
def _range(words: tuple[str, ...]) -> re.Pattern[str]:
    between = "|".join([_DASH, *(rf"\s{re.escape(word)}\s" for word in words)])
    return re.compile(rf"(?:\s?h)?(?:{between})")


def _timed(numbers: list[Number], followed: Sequence[int], text: str, known: Sequence[Language]) -> list[Number]:
    """Return the numbers with the times of day that they may be; a word after a range counts for both ends.

    Args:
        followed: indices of the numbers before a word.
    """
    clocks = {i: found for i in followed if (found := _clock_words(numbers[i], text, known))}
    for language in known:
        clocks |= _after_words(numbers, text, language, clocks, known)
    colons = [i for i, number in enumerate(numbers) if ":" in number.what.text] if ":" in text else []
    if not clocks and not colons:
        return numbers
    is_late = any(language.later.search(text) for language in known)
    n_hours = min(language.clock_hours for language in known)
    minutes_of = set[int]()
    for last, (words, language) in clocks.items():
        i = last
        named = words.groupdict()
        half = _half(named)
        is_clock = bool(half) or _is_certain(numbers[i], text, language)
        hours = _hours(numbers[i].text, n_hours, half, is_late=is_late)
        minutes = named.get("exact") or named.get("minutes")
        if minutes and i + 1 < len(numbers) and numbers[i + 1].start < words.end():  # 8 Uhr 30
            minutes_of.add(i + 1)
            with_minutes = tuple((h, int(minutes)) for h, _ in hours)
            is_exact = named.get("exact") or named.get("short")  # 8h30
            hours = with_minutes if is_exact else hours + with_minutes
        if spoken := languages.index_of(named.get("spoken") or "", language.hour_words + language.minute_words):
            hours += tuple((h, spoken) for h, _ in hours)  # zehn Uhr zwanzig
        moved, end = _moved(hours, text, words.end(), language)
        numbers[i] = _at(numbers[i], moved, is_clock, end)
        while i and i - 1 not in clocks and _is_range(numbers[i - 1], numbers[i], text, known):
            i -= 1
            if not (hours := _hours(numbers[i].text, n_hours, "", is_late=is_late)):
                break
            numbers[i] = _at(numbers[i], hours, is_clock)
    for i in colons:
        what = numbers[i].what
        if not what.is_clock:
            hours = _hours(what.text, n_hours, "", is_late=is_late)
            numbers[i] = _at(numbers[i], hours, False)
    return [number for i, number in enumerate(numbers) if i not in minutes_of] if minutes_of else numbers


def _clock_words(number: Number, text: str, known: Sequence[Language]) -> tuple[re.Match[str], Language] | None:
    for language in known:
        words = language.clock.match(text, number.stop)
        is_short = words is not None and "short" in language.clock.groupindex and words["short"] is not None
        if words and (not is_short or _follows(language.before_hour, number, text)):
            return words, language
    return None


def _after_words(
    numbers: Sequence[Number], text: str, language: Language, clocks: Collection[int], known: Sequence[Language]
) -> dict[int, tuple[re.Match[str], Language]]:
    """Return the times of day after words such as "kl.", by the index of the last number of each range."""
    found = dict[int, tuple[re.Match[str], Language]]()
    for i, number in enumerate(numbers) if language.clock_before else ():
        if i in clocks or not _follows(language.clock_before, number, text):
            continue
        while i + 1 < len(numbers) and i + 1 not in clocks and _is_range(numbers[i], numbers[i + 1], text, known):
            i += 1
        if nothing := re.compile("").match(text, numbers[i].stop):
            found[i] = nothing, language
    return found


def _follows(words: re.Pattern[str] | None, number: Number, text: str) -> bool:
    return words is not None and words.search(text, max(0, number.start - _LONGEST_LABEL), number.start) is not None


def _is_certain(number: Number, text: str, language: Language) -> bool:
    """Return whether a number before words for hours, found by `_clock_words`, is a time of day and no duration."""
    is_clear = language.before_hour is None or "short" in language.clock.groupindex
    return is_clear or _follows(language.before_hour, number, text)


def _moved(hours: tuple[Hour, ...], text: str, start: int, language: Language) -> tuple[tuple[Hour, ...], int]:
    """Return times changed by the words at `start`, such as "et demie", and where these end."""
    for minutes, words in language.added_minutes.items():
        if match := re.compile("|".join(words), re.IGNORECASE).match(text, start):
            return tuple(_later((h, m), int(minutes)) for h, m in hours), match.end()
    return hours, start


def _later(hour: Hour, minutes: int) -> Hour:
    """Return the time of day that is some minutes later."""
    h, left = divmod((hour[0] * 60 + hour[1] + minutes) % _DAY, 60)
    return int(h), left


def _half(named: Mapping[str, str | None]) -> str:
    """Return the half of the day, "a" or "p", that the groups of words after a number name; "" if they name none."""
    return (named.get("half") or ("a" if named.get("early") else "p" if named.get("late") else "")).lower()


def _at(number: Number, hours: tuple[Hour, ...], is_clock: bool, end: int | None = None) -> Number:
    what = number.what._replace(hours=hours, is_clock=is_clock)
    return number._replace(end=number.end if end is None else end, what=what)


def _hours(text: str, n_hours: int, half: str, *, is_late: bool) -> tuple[Hour, ...]:
    """Return the times of day that "8" or "8:15" may be; none if it is impossible, as 18 p.m. is.

    Args:
        n_hours: hours of the clock in its language, 12 or 24.
        half: "a" or "p", or "" if it is not named.
        is_late: whether the text has a word such as evening, so that 8 may be 20 in any language.
    """
    return _hours_of(text, n_hours, half, is_late) if len(text) <= _LONGEST_HOUR else ()


@lru_cache(2**12)
def _hours_of(text: str, n_hours: int, half: str, is_late: bool) -> tuple[Hour, ...]:
    match = _HOUR.fullmatch(text)
    if match is None or int(match[1]) > 2 * _HALF_DAY:
        return ()
    h, minutes = int(match[1]), int(match[2] or 0) + int(match[3] or 0) / 60
    if half:
        if h > _HALF_DAY and half == "p" and n_hours > _HALF_DAY:  # 20 uur 's avonds
            return ((h % (2 * _HALF_DAY), minutes),)
        is_possible = h <= _HALF_DAY and (h > 0 or half == "a")
        return ((h % _HALF_DAY + _HALF_DAY * (half == "p"), minutes),) if is_possible else ()
    if 0 < h <= _HALF_DAY and (n_hours == _HALF_DAY or is_late):
        return ((h, minutes), ((h + _HALF_DAY) % (2 * _HALF_DAY), minutes))
    return ((h % (2 * _HALF_DAY), minutes),)


def _named(text: str, code: str) -> list[Number]:
    """Return the times of day, months and other numbers that have names, such as noon, May and a dozen."""
    pattern, meanings = _names(code)
    return [_word(*match.span(), meanings[(match.lastindex or 1) - 1]) for match in pattern.finditer(text)]


def _relative(text: str, language: Language, *, is_certain: bool = True) -> list[Number]:
    """Return the times of day that are counted from an hour, such as a quarter past 8.

    Args:
        is_certain: without those that may be ranges, such as ten to five.
    """
    found = []
    for time in language.times_from_hours(text):
        if time.is_certain or not is_certain:
            moved = tuple(_later(hour, time.minutes) for hour in _counted_from(time, text, language))
            found += [_word(time.start, time.stop, Meaning("", hours=moved, is_clock=time.is_certain))] if moved else []
    return found


def _counted_from(time: TimeFromHour, text: str, language: Language) -> tuple[Hour, ...]:
    """Return the times of day that the hour of a time may be."""
    hour = time.hour.lower()
    named = (key for key, words in language.named_hours.items() if re.fullmatch("|".join(words), hour, re.IGNORECASE))
    if key := next(named, ""):
        return (_hour(key),)
    half = _half(words.groupdict() if (words := language.clock.match(text, time.stop)) else {})
    digits = hour if hour.isdecimal() else str(languages.index_of(hour, language.hour_words))
    return _hours(digits, _HALF_DAY, half, is_late=False)


def _with_minutes(text: str) -> list[Number]:
    """Return the times of day that may be hour and minutes in words, as 8 30 for eight thirty."""
    matches = _HOUR_AND_MINUTES.finditer(text)
    return [_word(*match.span(), Meaning("", hours=_any_hours(f"{match[1]}:{match[2]}"))) for match in matches]


@cache
def _names(code: str) -> tuple[re.Pattern[str], list[Meaning]]:
    """Return a pattern of the names in a language, with a group for each meaning; it matches nothing without rules."""
    if (language := languages.find(code)) is None:
        return re.compile(r"(?!)"), []
    hours = {Meaning("", hours=(_hour(hour),), is_clock=True): w for hour, w in language.named_hours.items()}
    values = {Meaning(key.split()[0], (*key.split(),)): words for key, words in language.named_numbers.items()}
    named = {what: f"(?i:{'|'.join(words)})" for what, words in (hours | values).items()}
    named |= {Meaning("", (f"{_MONTH}{i}",)): words for i, words in enumerate(language.months, start=1)}
    if not named:
        return re.compile(r"(?!)"), []
    return re.compile(rf"\b(?=[^\W\d_])(?:{'|'.join(f'({words})' for words in named.values())})"), list(named)


def _hour(text: str) -> Hour:
    """Return the time of day of "12" or "12:30"."""
    hour, _, minutes = text.partition(":")
    return int(hour), int(minutes or 0)


def _in_digits(text: str, language: str) -> str:
    """Return the text with spelled-out numbers in digits, for languages known to text2num."""
    from text_to_num import alpha2digit

    if rules := languages.find(language):
        text = rules.number_endings.sub(" ", text)
    text = _HYPHEN.sub(" ", text)
    try:
        # The time of text2num is quadratic in the number of number words.
        known = languages.without_region(language)
        digits = (str(alpha2digit(part, known, threshold=0)) for part in _PART.findall(text))
        return _YEAR.sub(r"\1\2 \1 \2", "".join(digits))
    except ValueError:
        return text


# Matching

_Key = tuple[str, object]  # a kind of _KEYS, and what a number of a translation is found by
_KEYS: Mapping[str, Callable[[Meaning], Iterable[object]]] = {
    "value": lambda what: what.values,
    "text": lambda what: ((what.text, what.power),),
    "copy": lambda what: () if what.is_clock else (what.text,),
    "time": lambda what: what.hours,
    "clock": lambda what: what.hours if what.is_clock else (),
    "hour": lambda what: () if what.is_clock else _any_hours(what.text),
}


class _Pool:
    """The numbers of a translation, each of which is the counterpart of at most one number of the source.

    Numbers of one meaning are counted together. A table for each kind of key is made when it is first asked for.
    """

    def __init__(self, numbers: Sequence[Number], *, knows_months: bool) -> None:
        self._numbers = numbers
        self._left = Counter([number.what for number in numbers])
        self._knows_months = knows_months
        self._tables = dict[str, dict[object, list[Meaning]]]()
        self._groups: Counter[str] | None = None
        self._spoken = Counter[str]()  # those of numbers in words

    def _table(self, kind: str) -> dict[object, list[Meaning]]:
        table, keys_of = defaultdict[object, list[Meaning]](list), _KEYS[kind]
        for what in reversed(self._left):
            for key in keys_of(what):
                table[key].append(what)
        return table

    def _take(self, keys: Iterable[_Key], n: int) -> int:
        """Take up to n numbers that are found by the keys; return how many."""
        n_wanted = n
        for kind, key in keys:
            if (table := self._tables.get(kind)) is None:
                table = self._tables[kind] = self._table(kind)
            places = table.get(key)
            while places and n:
                what = places[-1]
                left = self._left[what]
                n_taken = min(n, left)
                self._left[what] = left - n_taken
                n -= n_taken
                if n_taken == left:
                    places.pop()
            if not n:
                break
        return n_wanted - n

    def take_time(self, what: Meaning, n: int) -> int:
        """Take the same time of day, or a number without words beside it that may be the hour."""
        if not what.hours:
            return 0
        return self._take([(kind, hour) for kind in ("time", "hour") for hour in what.hours], n)

    def take_value(self, what: Meaning, n: int) -> int:
        """Take a copy or a number of the same value; a number without o'clock may be a time of day."""
        if what.hours:
            return 0 if what.is_clock else self._take([("copy", what.text)], n)
        keys: list[_Key] = [("value", value) for value in what.values]
        if what.is_name and _HAS_DECIMALS.search(what.text):  # version 3.10 is not 3.1
            keys = [("text", (what.text.replace(".", ","), 0))]
        if what.is_name or not keys:  # another copy may have another value: 8.848 in German is 8,848 in English
            keys.insert(0, ("text", (what.text, what.power)))
        if len(what.text) <= _LONGEST_HOUR:
            keys += [("clock", hour) for hour in _any_hours(what.text)]
        return self._take(keys, n)

    def take_parts(self, what: Meaning, n: int) -> int:
        """Take numbers that stand for the parts of a number, or a part of another one, such as the year of a date."""
        if (what.is_clock and what.hours) or what.is_listed:
            return 0
        parts = _parts(what)
        if what.is_whole:
            parts = (what.values,)
        elif what.hours:  # 3:15 may be 3 minutes 15
            parts = tuple((_integer(part),) for part in what.text.split(":"))
        n_taken = 0
        while parts and n_taken < n and self._take_each(parts, what.spare):
            n_taken += 1
        others = _without_one(parts) if what.parts or _FRACTION.fullmatch(what.text) else []
        while 0 < len(others) < len(parts) and n_taken < n and self._take_each(others, 0, in_words=True):
            n_taken += 1  # a fifth, an hour and a half
        return n_taken

    def _take_each(self, parts: Sequence[Values], spare: int, *, in_words: bool = False) -> bool:
        """Take a number for each part, of those in words alone if that is asked for; return whether all are there."""
        if self._groups is None:
            self._groups, self._spoken = Counter(), Counter()
            for what, n in self._left.items():
                for value in chain.from_iterable(_steps(what)) if n else ():
                    self._groups[value] += n
                    self._spoken[value] += n * what.is_word
        groups = self._spoken if in_words else self._groups
        used = [next((value for value in values if groups[value] > 0), None) for values in parts]
        lost = [values[0] for value, values in zip(used, parts, strict=True) if value is None]
        if len(lost) > (0 if self._knows_months else spare) or not all(map(_is_month, lost)):
            return False
        wanted = Counter(value for value in used if value is not None)
        if any(groups[value] < n or self._groups[value] < n for value, n in wanted.items()):
            return False
        in_order = [value for value in used if value != "1"]  # which may be an article
        if not spare and any(pair not in self._pairs for pair in pairwise(in_order)):  # 34 euros 12 are not 12,34
            return False
        self._groups.subtract(wanted)
        if in_words:
            self._spoken.subtract(wanted)
        return True

    @cached_property
    def _pairs(self) -> set[tuple[str, ...]]:
        """Values that follow each other in the translation."""
        steps = chain.from_iterable(_steps(number.what) for number in self._numbers)
        return {pair for both in pairwise(steps) for pair in product(*both)}


def _steps(what: Meaning) -> Sequence[Values]:
    """Return the values of each number in one of a translation that may stand for a part of one of the source."""
    if what.is_clock or what.is_listed:  # 15,11,2017 is no date
        return ()
    if what.is_whole or what.values and _is_month(what.values[0]):
        return (what.values,)
    if _FRACTION.fullmatch(what.text) and (parts := _parts(what)):
        return _without_one(parts) or (what.values,)
    if what.spare or not what.text.isascii():
        return _parts(what) or (what.values,)
    if what.values or _CODE.fullmatch(what.text):
        return ((),)
    return [(_integer(group),) for group in _DIGITS.findall(what.text)]


def _without_one(parts: Sequence[Values]) -> list[Values]:
    return [values for values in parts if "1" not in values]


def _is_month(value: str) -> bool:
    return value.startswith(_MONTH)


def _any_hours(text: str) -> tuple[Hour, ...]:
    """Return the times of day that a number without words beside it may be; 8 may be in either half of the day."""
    return _hours(text, _HALF_DAY, "", is_late=True)


def _unmatched(wanted: Sequence[Number], found: Sequence[Number], *, knows_months: bool) -> list[Number]:
    """Return the numbers without a counterpart, in order; certain counterparts are taken first.

    Args:
        knows_months: whether the names of the language's months are known.
    """
    pool = _Pool(found, knows_months=knows_months)
    lost = Counter([number.what for number in wanted])
    for what in lost:
        if what.is_small:
            lost[what] = 0
    for take in (pool.take_time, pool.take_value, pool.take_parts):
        for what, n in lost.items():
            if n:
                lost[what] = n - take(what, n)
    last_first = []
    for number in reversed(wanted) if any(lost.values()) else ():
        if lost[number.what]:
            lost[number.what] -= 1
            last_first.append(number)
    return last_first[::-1]
