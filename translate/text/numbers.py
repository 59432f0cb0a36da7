"""Numbers that a translation must contain: dates, times, amounts, years.

A small model may drop or garble a number. Numbers up to twelve are not checked, because they may be translated by an
article or a pronoun, unless they are amounts ("3 %", "3 Euro"), times ("3 Uhr") or follow a word such as "Nr.".
Numbers joined to letters, such as 19,5kg, are not checked either. Spelled-out numbers count as numbers: "twenty
people" contains 20.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import cache

from translate.text import clock, languages
from translate.text.languages import Language
from translate.text.placeholders import SYMBOL, Protected, symbol

LARGEST_UNCHECKED = 12

_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")  # also within 15th
_ALONE = re.compile(r"(?<![\w.,:/])\d++(?:[.,:/]\d++)*+(?!\w)")
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f'\u2019]\d{3})+(?:[.,]\d+)?(?!\d)")  # 1 234 and 1'234
_YEAR = re.compile(r"(?<![\d.,])(?:1\d|20) \d\d(?!\d|[.,]\d)")  # nineteen eighty-four
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")  # twenty-year-old
_SEPARATORS = re.compile(r"[.,:/]")
_REACH = 10  # characters before a number that are checked for words such as "Nr."


def missing(output: str, text: str, source: str, target: str) -> set[int]:
    """Return the positions of the numbers of `text` that its translation lacks, also without unit or power of ten.

    It does not matter which separators a number has, but 12,50 is not 1250. 6 p.m. is 18 Uhr and not 6 Uhr, and a
    spelled-out number is a number. If the translation names a unit that the source does not name, all are missing.

    Args:
        output: the translation.
        text: its source.
        source, target: language codes.
    """
    needed = _needed(text, source)
    if needed and _has_other_units(output, text, source, target):
        return {match.start() for match in needed}
    found = _counts(SYMBOL.sub(" ", output))
    lost = _not_in(found, needed, source)
    if lost:
        lost = _not_in(found | _counts(_with_digits(SYMBOL.sub(" ", output), target)), needed, source)
    return lost | {
        match.start()
        for match in needed
        if not all(has(output, match, source, target) for has in (_has_units, _has_scale, _has_time))
    }


def protect(text: str, source: str, target: str, only: Collection[int] | None = None) -> Protected:
    """Return the text with symbols in place of its numbers, numbered after the symbols that it already contains.

    The original of a number is written in the convention of `target` if it is unambiguous in `source`: 1.234,56,
    3,5 % and 12,5 kg in German are 1,234.56, 3.5 % and 12.5 kg in English, but 13.485 may be a version.

    Args:
        text: a sentence, which may contain symbols.
        source, target: language codes.
        only: positions of the numbers to replace; None replaces all.
    """
    originals = [symbol(i) for i in range(len(SYMBOL.findall(text)))]
    parts, end = [], 0
    for match in _needed(text, source):
        if only is not None and match.start() not in only:
            continue
        parts += [text[end : match.start()], symbol(len(originals))]
        original, end = _original(match, source, target)
        originals.append(original)
    return Protected("".join([*parts, text[end:]]), tuple(originals))


def _original(match: re.Match[str], source: str, target: str) -> tuple[str, int]:
    """Return a number as the target language writes it, and where it ends in its text; times include their clock."""
    rules = languages.find(target)
    if rules is not None and (time := _time(match, source)):
        return clock.written(time[0], rules), time[1]
    return match[0].replace(match["digits"], _localised(match, source, target)), match.end()


def _time(number: re.Match[str], language: str, *, assumes: bool = False) -> tuple[int, int] | None:
    """Return `clock.time_of` a number; None in languages without rules."""
    rules = languages.find(language)
    return clock.time_of(number, rules, assumes=assumes) if rules is not None else None


def converted(output: str, text: str, source: str, target: str) -> str:
    """Return a translation in which the numbers of its source have the separators of the target.

    Numbers are recognised by their digits, so 1.250,5 km becomes 1,250.5 km also where the model wrote 1.250.5. Numbers
    without separators stay, and so do those whose digits stand for two numbers, as in 3.500 Euro and 3,500 %.

    Args:
        output: the translation.
        text: its source.
        source, target: language codes.
    """
    forms: defaultdict[str, set[str]] = defaultdict(set)
    changed = set()
    for match in _needed(text, source):
        new = _localised(match, source, target)
        forms[_plain(match["digits"])].add(new)
        if new != match["digits"]:
            changed.add(new)

    def form(number: re.Match[str]) -> str:
        found = forms.get(_plain(number[0]), set())
        return next(iter(found)) if len(found) == 1 and found <= changed and not number[0].isdigit() else number[0]

    return _ALONE.sub(form, output)


def _plain(number: str) -> str:
    """Return a number without separators."""
    return _SEPARATORS.sub("", number)


def _localised(match: re.Match[str], source: str, target: str) -> str:
    """Return the digits of a number with the separators of the target language, if their meaning is certain."""
    old, new = languages.find(source), languages.find(target)
    if old is None or new is None:
        return match["digits"]
    decimals = rf"{re.escape(old.decimal)}\d+"
    grouped = rf"[1-9]\d{{0,2}}(?:{re.escape(old.grouping)}\d{{3}})+"
    certain = rf"{grouped}{decimals}" + (rf"|{grouped}|\d+{decimals}" if _is_measure(match, old) else "")
    swapped = str.maketrans(old.grouping + old.decimal, new.grouping + new.decimal)
    return match["digits"].translate(swapped) if re.fullmatch(certain, match["digits"]) else match["digits"]


def _is_measure(match: re.Match[str], language: Language) -> bool:
    """Return whether a number has a unit or a power of ten, so that its separators can be read with certainty."""
    return bool(_units(match) or match["scale"] or language.measures.match(match.string, match.end("digits")))


@cache
def _pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of a number.

    Signs and codes of units belong to it. The name of a power of ten or of a unit follows it, and so does a sign after
    a power of ten: "3 Mio. $".
    """
    rules = _rules(language)
    units = rules.units
    signs = "|".join(map(re.escape, [*units, *(name for names in units.values() for name in names if name.isupper())]))
    names = "|".join(name for names in units.values() for name in names if name.islower())
    scales = "|".join(name for names in rules.scales.values() for name in names)
    return re.compile(
        # Possessive, so that no part of 19,5kg is a number.
        rf"(?<![\w.,:/\u27e6])(?P<before>(?!%)(?:{signs})\s?)?(?P<digits>\d++(?:[.,:/]\d++)*+)"
        rf"(?(before)(?:[kKmM]|bn)?)(?P<after>\s?(?:{signs}))?(?:(?![\w\u27e7])|(?={rules.clock.pattern}))"
        rf"(?=(?:\s?(?P<scale>(?i:{scales}))\w*\.?)?(?:\s?(?P<name>(?i:{names})|{signs}))?)"
    )


def _rules(language: str) -> Language:
    """Return the rules of a language; those of English if it has none."""
    rules = languages.find(language) or languages.find("en")
    assert rules  # English has a file
    return rules


def _units(match: re.Match[str]) -> list[str]:
    """Return the signs, codes and names of units of a number."""
    return [unit.strip() for unit in match.group("before", "after", "name") if unit]


def _has_other_units(output: str, text: str, source: str, target: str) -> bool:
    """Return whether the output names a unit that its source does not contain, not even within a word."""
    here, there = languages.find(source), languages.find(target)
    if here is None or there is None:
        return False
    return any(
        _unit(target, sign).search(output)
        and not any(name in text or name in text.casefold() for name in (sign, *here.units.get(sign, ())))
        for sign in there.units
    )


@cache
def _unit(language: str, sign: str) -> re.Pattern[str]:
    """Return the pattern of a unit: its sign, code, or name."""
    names = [rf"(?i:\b{name}[sn]?\b)" if name.islower() else rf"\b{name}\b" for name in _rules(language).units[sign]]
    return re.compile("|".join([rf"\b{sign}\b" if sign.isalpha() else re.escape(sign), *names]))


def _has_units(output: str, match: re.Match[str], source: str, target: str) -> bool:
    """Return whether the output names the units of a number; True for targets whose names are unknown."""
    rules = languages.find(target)
    signs = {name.casefold(): sign for sign, names in _rules(source).units.items() for name in (sign, *names)}
    return rules is None or all(
        any(name in output or name in output.casefold() for name in (sign, *rules.units.get(sign, ())))
        for sign in (signs[unit.casefold()] for unit in _units(match))
    )


def _has_scale(output: str, match: re.Match[str], source: str, target: str) -> bool:
    """Return whether the output names the power of ten of a number, or writes it out, as 3,000,000 for 3 Millionen."""
    rules = languages.find(target)
    if rules is None or not match["scale"]:
        return True
    names = rules.scales.get(_scale(match, source), ())
    return any(name in output.casefold() for name in names) or _written_out(match, source) in _counts(output)


def _has_time(output: str, match: re.Match[str], source: str, target: str) -> bool:
    """Return whether the output tells the half of the day of a time; 7:30 alone is not 19:30 Uhr."""
    if languages.find(target) is None or (time := _time(match, source)) is None:
        return True
    forms = _forms(match, source)
    found = [number for number in _DIGITS.finditer(output) if _plain(number[0]) in forms]
    return not found or any(_tells(number, time[0], source, target) for number in found)


def _tells(number: re.Match[str], time: int, source: str, target: str) -> bool:
    """Return whether a number of the output is a time, in minutes since midnight.

    Neither 9am in a language without that clock word nor 18 pm is a time; a number without a clock word is one of both
    halves of the day if another word of the output names the second.
    """
    here, there = _rules(source), _rules(target)
    hours = int(_SEPARATORS.split(number[0])[0])
    if there.clock.match(number.string, number.end()):
        if len(there.clock_words) == 2 and hours > 12:
            return False
        if other := _time(number, target, assumes=True):
            return other[0] == time
    elif here.clock.match(number.string, number.end()):
        return False
    names_afternoon = time >= clock.HALF_DAY and there.afternoon.search(number.string) is not None
    return names_afternoon or hours in (time // 60, time // 60 or 24)


def _scale(match: re.Match[str], source: str) -> str:
    """Return the power of ten that follows a number."""
    scales = _rules(source).scales.items()
    return next(scale for scale, names in scales if match["scale"].casefold() in names)


def _written_out(match: re.Match[str], source: str) -> str:
    """Return a number times the power of ten that follows it, without separators; "" if the number is no decimal."""
    rules = _rules(source)
    whole, _, decimals = match["digits"].replace(rules.grouping, "").partition(rules.decimal)
    n_zeros = len(_scale(match, source)) - 1 - len(decimals)
    return f"{whole}{decimals}{'0' * n_zeros}".lstrip("0") if (whole + decimals).isdigit() and n_zeros >= 0 else ""


def _needed(text: str, source: str) -> list[re.Match[str]]:
    """Return the numbers that a translation must contain."""
    rules = languages.find(source)
    return [
        match
        for match in _pattern(source).finditer(text)
        if _units(match)
        or not (len(match["digits"]) <= 2 and int(match["digits"]) <= LARGEST_UNCHECKED)
        or (rules and rules.numbered.search(text, max(0, match.start() - _REACH), match.start()))
        or _time(match, source)
    ]


def _not_in(found: Counter[str], needed: list[re.Match[str]], source: str) -> set[int]:
    """Return the positions of the needed numbers that are not found in any form."""
    found, lost = found.copy(), set()
    for match in needed:
        form = next((form for form in _forms(match, source) if found[form] > 0), None)
        if form is None:
            lost.add(match.start())
        else:
            found[form] -= 1
    return lost


def _counts(output: str) -> Counter[str]:
    """Count the numbers without separators and with a decimal point; groups of digits count alone and together."""
    found = [re.findall(r"\d+", match) for pattern in (_DIGITS, _GROUPS, _YEAR) for match in pattern.findall(output)]
    return Counter(map("".join, found)) + Counter(_with_point(groups) for groups in found if len(groups) > 1)


def _with_point(groups: Sequence[str]) -> str:
    """Return groups of digits as one number whose last group is the decimals."""
    return "".join(groups[:-1]) + "." + groups[-1]


def _with_digits(text: str, language: str) -> str:
    """Return the text with spelled-out numbers in digits, for languages known to text2num."""
    from text_to_num import alpha2digit

    if rules := languages.find(language):
        text = rules.number_endings.sub(" ", text)
        for hour, names in rules.hour_names.items():
            text = re.sub(rf"(?i)\b(?:{'|'.join(names)})\b", hour, text)
    text = _HYPHEN.sub(" ", text)
    try:
        return str(alpha2digit(text, language, threshold=0))
    except ValueError:
        return text


def _forms(match: re.Match[str], source: str) -> list[str]:
    """Return the forms of a number that are the same number, as `_counts` writes them.

    A number with one or two decimals keeps a decimal point; a time of day has forms of 12 and 24 hours.
    """
    hours, *minutes = _SEPARATORS.split(match["digits"])
    forms = ["".join([hours, *minutes])]
    rules = languages.find(source)
    if rules and len(hours) <= 2 and rules.clock.match(match.string, match.end("digits")):
        half_day = int(hours) % 12
        same = [hours, str(half_day), str(half_day or 12), str(half_day + 12)]
        forms += [hour + end for hour in same for end in ("".join(minutes), *([""] if minutes == ["00"] else []))]
    elif rules and re.fullmatch(rf"[\d{re.escape(rules.grouping)}]+{re.escape(rules.decimal)}\d\d?", match["digits"]):
        forms = [_with_point([hours, *minutes])]
    if match["scale"]:
        forms.append(_written_out(match, source))
    return forms
