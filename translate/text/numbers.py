"""Numbers that a translation must contain: dates, times, amounts, years.

A small model may drop or garble a number. Numbers up to twelve are not checked, because they may be translated by an
article or a pronoun, unless they are amounts ("3 %", "3 Euro"), times ("3 Uhr") or follow a word such as "Nr.".
Numbers joined to letters, such as 19,5kg, are not checked either. Spelled-out numbers count as numbers: "twenty
people" contains 20.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection
from functools import cache

from translate.text import clock, languages, numerals
from translate.text.placeholders import SYMBOL, Protected, symbol

LARGEST_UNCHECKED = 12

_ALONE = re.compile(r"(?<![\w.,:/])\d++(?:[.,:/]\d++)*+(?!\w)")
_GROUP_SIGN = re.compile(r"[.,](?=\d{3})")
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
    found = numerals.counts(SYMBOL.sub(" ", output))
    lost = _not_in(found, needed, source)
    if lost:
        spelled_out = numerals.counts(numerals.with_digits(SYMBOL.sub(" ", output), target))
        lost = _not_in(found | spelled_out, needed, source)
    lost |= {
        match.start()
        for match in needed
        if not all(has(output, match, source, target) for has in (_has_units, _has_scale, _has_time))
    }
    # The beginning of a span of time too, as both ends are written with the same clock.
    times = [match for match in needed if numerals.time_of(match, source)]
    spans = [(match, numerals.other_end(match, numerals.rules_of(source))) for match in times]
    return lost | {match.start() for match, end in spans if end and end.start() in lost}


def added(output: str, text: str, source: str, target: str) -> bool:
    """Return whether the output has a number that is not in its source in any form, such as a spelled-out one.

    Numbers up to twelve, halves and quarters, also of hours, powers of ten and the century of a decade do not count: a
    language may name them by other words. Two per cent of the human translations with digits in newstest2013 have such
    a number; most of these are free or wrong.

    Args:
        output: the translation.
        text: its source.
        source, target: language codes.
    """
    extra = [number for number in numerals.DIGITS.findall(SYMBOL.sub(" ", output)) if not _may_be_words(number)]
    if not extra:
        return False
    known = _known(text, source)
    if all(_is_of(number, known) for number in extra):
        return False
    known |= _known(numerals.with_digits(text, source), source)
    return not all(_is_of(number, known) for number in extra)


def _may_be_words(number: str) -> bool:
    """Return whether words other than numerals may stand for a number in digits."""
    is_small = len(number) <= 2 and int(number) <= LARGEST_UNCHECKED
    return is_small or re.fullmatch(r"10+|\d{1,2}[.,:](?:5|15|30|45)", _GROUP_SIGN.sub("", number)) is not None


def _known(text: str, language: str) -> set[str]:
    """Return the forms of the numbers of a text, their groups of digits, and the decades of years."""
    forms = {form for match in numerals.pattern(language).finditer(text) for form in numerals.forms(match, language)}
    groups = set(re.findall(r"\d+", text))
    decades = {group[2:] for group in groups if len(group) == len("1990")}
    return {numerals.plain(form) for form in forms | set(numerals.counts(text))} | groups | decades


def _is_of(number: str, known: Collection[str]) -> bool:
    """Return whether a number, its groups of digits, or a year's decade are known."""
    whole = numerals.plain(number)
    groups = re.findall(r"\d+", number)
    return (
        whole in known
        or all(group in known or group.lstrip("0") in known for group in groups)
        or (len(whole) == len("1990") and whole[2:] in known)
    )


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
    if rules is not None and (time := numerals.time_of(match, source)):
        return clock.written(time[0], rules), time[1]
    return match[0].replace(match["digits"], numerals.localised(match, source, target)), match.end()


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
        new = numerals.localised(match, source, target)
        forms[numerals.plain(match["digits"])].add(new)
        if new != match["digits"]:
            changed.add(new)

    def form(number: re.Match[str]) -> str:
        found = forms.get(numerals.plain(number[0]), set())
        return next(iter(found)) if len(found) == 1 and found <= changed and not number[0].isdigit() else number[0]

    return _ALONE.sub(form, output)


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
    names = [
        rf"(?i:\b{name}[sn]?\b)" if name.islower() else rf"\b{name}\b"
        for name in numerals.rules_of(language).units[sign]
    ]
    return re.compile("|".join([rf"\b{sign}\b" if sign.isalpha() else re.escape(sign), *names]))


def _has_units(output: str, match: re.Match[str], source: str, target: str) -> bool:
    """Return whether the output names the units of a number; True for targets whose names are unknown."""
    rules = languages.find(target)
    signs = {
        name.casefold(): sign for sign, names in numerals.rules_of(source).units.items() for name in (sign, *names)
    }
    return rules is None or all(
        any(name in output or name in output.casefold() for name in (sign, *rules.units.get(sign, ())))
        for sign in (signs[unit.casefold()] for unit in numerals.units(match))
    )


def _has_scale(output: str, match: re.Match[str], source: str, target: str) -> bool:
    """Return whether the output names the power of ten of a number, or writes it out, as 3,000,000 for 3 Millionen."""
    rules = languages.find(target)
    if rules is None or not match["scale"]:
        return True
    names = rules.scales.get(numerals.scale_of(match, source), ())
    is_named = any(name in output.casefold() for name in names)
    return is_named or numerals.written_out(match, source) in numerals.counts(output)


def _has_time(output: str, match: re.Match[str], source: str, target: str) -> bool:
    """Return whether the output tells the half of the day of a time; 7:30 alone is not 19:30 Uhr."""
    if languages.find(target) is None or (time := numerals.time_of(match, source)) is None:
        return True
    forms = numerals.forms(match, source)
    found = [number for number in numerals.DIGITS.finditer(output) if numerals.plain(number[0]) in forms]
    return not found or any(_tells(number, time[0], source, target) for number in found)


def _tells(number: re.Match[str], time: int, source: str, target: str) -> bool:
    """Return whether a number of the output is a time, in minutes since midnight.

    18 pm is no time, and 9am is none in a language without that clock word. A number without a clock word may be an
    hour after noon if another word of the output, such as "evening", says so.
    """
    here, there = numerals.rules_of(source), numerals.rules_of(target)
    hours = int(numerals.SEPARATORS.split(number[0])[0])
    if there.clock.match(number.string, number.end()):
        if len(there.clock_words) == 2 and hours > 12:
            return False
        if other := numerals.time_of(number, target, assumes=True):
            return other[0] == time
    elif here.clock.match(number.string, number.end()):
        return False
    names_afternoon = time >= clock.HALF_DAY and there.afternoon.search(number.string) is not None
    return names_afternoon or hours in (time // 60, time // 60 or 24)


def _needed(text: str, source: str) -> list[re.Match[str]]:
    """Return the numbers that a translation must contain."""
    rules = languages.find(source)
    return [
        match
        for match in numerals.pattern(source).finditer(text)
        if numerals.units(match)
        or not (len(match["digits"]) <= 2 and int(match["digits"]) <= LARGEST_UNCHECKED)
        or (rules and rules.numbered.search(text, max(0, match.start() - _REACH), match.start()))
        or numerals.time_of(match, source)
    ]


def _not_in(found: Counter[str], needed: list[re.Match[str]], source: str) -> set[int]:
    """Return the positions of the needed numbers that are not found in any form."""
    found, lost = found.copy(), set()
    for match in needed:
        form = next((form for form in numerals.forms(match, source) if found[form] > 0), None)
        if form is None:
            lost.add(match.start())
        else:
            found[form] -= 1
    return lost
