"""Numerals: how a language writes numbers, units and times of day, and which forms are the same number."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from translate.text import clock, languages
from translate.text.languages import Language

DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")  # also within 15th
SEPARATORS = re.compile(r"[.,:/]")

_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f'\u2019]\d{3})+(?:[.,]\d+)?(?!\d)")  # 1 234 and 1'234
_YEAR = re.compile(r"(?<![\d.,])(?:1\d|20) \d\d(?!\d|[.,]\d)")  # nineteen eighty-four
_LONGEST_RANGE = 3  # numbers
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")  # twenty-year-old


@cache
def pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of a number.

    Signs and codes of units belong to it. The name of a power of ten or of a unit follows it, and so does a sign after
    a power of ten: "3 Mio. $".
    """
    rules = rules_of(language)
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


def rules_of(language: str) -> Language:
    """Return the rules of a language; those of English if it has none."""
    rules = languages.find(language) or languages.find("en")
    assert rules  # English has a file
    return rules


def time_of(number: re.Match[str], language: str, *, assumes: bool = False) -> tuple[int, int] | None:
    """Return `clock.time_of` a number; None in languages without rules."""
    rules = languages.find(language)
    if rules is None:
        return None
    if (time := clock.time_of(number, rules, assumes=assumes)) or "before" not in number.re.groupindex:
        return time
    other = other_end(number, rules)
    end = clock.time_of(other, rules) if other else None
    if end is None or (start := clock.before(number["digits"], end[0], rules)) is None:
        return None
    return start, number.end()


def other_end(match: re.Match[str], language: Language) -> re.Match[str] | None:
    """Return the number that ends the range which this number begins; None without one."""
    joint = language.range.match(match.string, match.end())
    return match.re.match(match.string, joint.end()) if joint else None


def units(match: re.Match[str]) -> list[str]:
    """Return the signs, codes and names of units of a number."""
    return [unit.strip() for unit in match.group("before", "after", "name") if unit]


def _is_measure(match: re.Match[str], language: Language) -> bool:
    """Return whether a number has a unit, so that its separators are certain.

    The unit may follow the second or third number, as in 2,5 x 1,2 x 3 m.
    """
    number: re.Match[str] | None = match
    for _ in range(_LONGEST_RANGE):
        if number is None:
            return False
        if units(number) or number["scale"] or language.measures.match(number.string, number.end("digits")):
            return True
        number = other_end(number, language)
    return False


def localised(match: re.Match[str], source: str, target: str) -> str:
    """Return the digits of a number with the separators of the target language, if their meaning is certain."""
    old, new = languages.find(source), languages.find(target)
    if old is None or new is None:
        return match["digits"]
    decimals = rf"{re.escape(old.decimal)}\d+"
    group = rf"{re.escape(old.grouping)}\d{{3}}"
    grouped = rf"[1-9]\d{{0,2}}(?:{group})+"
    # A version or a date may have a full stop before three digits, but not a comma, and not twice.
    n_groups = "+" if old.grouping == "," else "{2,}"
    certain = rf"{grouped}{decimals}|[1-9]\d{{0,2}}(?:{group}){n_groups}"
    certain += rf"|{grouped}|\d+{decimals}" if _is_measure(match, old) else ""
    swapped = str.maketrans(old.grouping + old.decimal, new.grouping + new.decimal)
    return match["digits"].translate(swapped) if re.fullmatch(certain, match["digits"]) else match["digits"]


def forms(match: re.Match[str], source: str) -> list[str]:
    """Return the forms of a number that are the same number, as `counts` writes them.

    A number with one or two decimals keeps a decimal point; a time of day has forms of 12 and 24 hours.
    """
    hours, *minutes = SEPARATORS.split(match["digits"])
    same = ["".join([hours, *minutes])]
    rules = languages.find(source)
    is_time = rules and (rules.clock.match(match.string, match.end("digits")) or time_of(match, source))
    if is_time and len(hours) <= 2:
        half_day = int(hours) % 12
        of_day = [hours, str(half_day), str(half_day or 12), str(half_day + 12)]
        same += [hour + end for hour in of_day for end in ("".join(minutes), *([""] if minutes == ["00"] else []))]
    elif rules and re.fullmatch(rf"[\d{re.escape(rules.grouping)}]+{re.escape(rules.decimal)}\d\d?", match["digits"]):
        same = [_with_point([hours, *minutes])]
    if match["scale"]:
        same.append(written_out(match, source))
    return same


def counts(output: str) -> Counter[str]:
    """Count the numbers without separators and with a decimal point; groups of digits count alone and together."""
    found = [re.findall(r"\d+", match) for one in (DIGITS, _GROUPS, _YEAR) for match in one.findall(output)]
    return Counter(map("".join, found)) + Counter(_with_point(groups) for groups in found if len(groups) > 1)


def _with_point(groups: Sequence[str]) -> str:
    """Return groups of digits as one number whose last group is the decimals."""
    return "".join(groups[:-1]) + "." + groups[-1]


def with_digits(text: str, language: str) -> str:
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


def scale_of(match: re.Match[str], source: str) -> str:
    """Return the power of ten that follows a number."""
    scales = rules_of(source).scales.items()
    return next(scale for scale, names in scales if match["scale"].casefold() in names)


def written_out(match: re.Match[str], source: str) -> str:
    """Return a number times the power of ten that follows it, without separators; "" if the number is no decimal."""
    rules = rules_of(source)
    whole, _, decimals = match["digits"].replace(rules.grouping, "").partition(rules.decimal)
    n_zeros = len(scale_of(match, source)) - 1 - len(decimals)
    return f"{whole}{decimals}{'0' * n_zeros}".lstrip("0") if (whole + decimals).isdigit() and n_zeros >= 0 else ""


def plain(number: str) -> str:
    """Return a number without separators."""
    return SEPARATORS.sub("", number)
