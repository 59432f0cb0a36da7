"""Numbers that a translation must hold: dates, times, amounts, years; and how its language writes them.

A small model leaves out or garbles what it has not met, and no two dates are alike. Numbers up to twelve may become
words and are not looked for, unless a currency or a percentage makes them amounts, or "Nr." stands before them; nor are
those with letters, 19,5kg.
"""

import re
from collections import Counter, defaultdict

from translate.text.placeholders import SYMBOL, Protected, symbol

LARGEST_WORD = 12

# Possessive, so that no part of 19,5kg is a number.
_NUMBER = re.compile(
    r"(?<![\w.,:/\u27e6])(?P<before>[€$£¥]\s?)?(?P<digits>\d++(?:[.,:/]\d++)*+)(?P<after>\s?[€$£¥%])?(?![\w\u27e7])"
)
_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")  # also within 15th
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f'\u2019]\d{3})+(?:[.,]\d+)?(?!\d)")  # 1 234 and 1'234
_SEPARATORS = re.compile(r"[.,:/]")
_NAMES = {
    "€": ("euro",),
    "$": ("dollar",),
    "£": ("pound", "pfund"),
    "¥": ("yen",),
    "%": ("per cent", "percent", "prozent"),
}
_SWAPPED = str.maketrans(".,", ",.")
_THOUSANDS = {
    "de": re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?"),
    "en": re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?"),
}
_DECIMAL = {"de": re.compile(r"\d+,\d+"), "en": re.compile(r"\d+\.\d+")}
# What stands after a number that is a decimal and no version, and before one that is never written in letters.
_UNIT = re.compile(
    r"\s?(?:[mb]illion|thousand|per\s?cent|(?:kilo|centi|milli)?(?:met(?:er|re)|gram)s?|lit(?:er|re)s?|miles?|feet"
    r"|inch(?:es)?|degrees?|hours?|minutes?|seconds?|years?|times|[kcm]?m|k?g|l|\u00b0)\b(?!\.\d)"
)
_NUMBERED = re.compile(
    r"\b(?:Nr|Nummer|Zimmer|Gleis|Seite|S|Kap|Kapitel|No|number|room|page|chapter|platform)\.?\s\Z", re.IGNORECASE
)
_REACH = 10  # characters before a number that are looked at
_O_CLOCK = {"de": re.compile(r"\s?Uhr\b", re.IGNORECASE), "en": re.compile(r"\s?p\.?\s?m\b", re.IGNORECASE)}


def localised(output: str, text: str, source: str, target: str) -> str:
    """A translation of `text` in which numbers that were only copied are written as its language does.

    1.234,56 in German is 1,234.56 in English. Dates and versions are the same in both; an English 3.5 is a decimal only
    with a unit, for it may be a version. Thousands get their separators back. Left as they are: those of which `text`
    does not tell whether they were copied.
    """
    forms: dict[str, set[str]] = defaultdict(set)
    for match in _needed(text):
        forms[match["digits"]].add(_digits(match, source, target))
    new = {old: min(new) for old, new in forms.items() if len(new) == 1 and not (new & forms.keys()) - {old}}
    for old, form in list(new.items()):
        if old != form and _THOUSANDS[source].fullmatch(old) and len({*old} & {*".,"}) == 1:
            new.setdefault(_SEPARATORS.sub("", old), form)
    return _NUMBER.sub(
        lambda match: match[0].replace(match["digits"], new.get(match["digits"], match["digits"])), output
    )


def are_there(output: str, text: str, source: str, target: str) -> bool:
    """Whether a translation of `text` holds all of its numbers, and what they are amounts of.

    Separators do not matter, nor whether a clock has twelve hours.
    """
    found = _counts(output)
    for match in _needed(text):
        form = next((form for form in _forms(match, source) if found[form]), None)
        signs = (match["before"], match["after"])
        if form is None or not all(_is_named(sign.strip(), output, target) for sign in signs if sign):
            return False
        found[form] -= 1
    return True


def protect(text: str, source: str, target: str) -> Protected:
    """The text with symbols for its numbers too, counted on from those in it, which stand for themselves."""
    originals = [symbol(i) for i in range(len(SYMBOL.findall(text)))]
    parts, end = [], 0
    for match in _needed(text):
        parts += [text[end : match.start()], symbol(len(originals))]
        originals.append(match[0].replace(match["digits"], _digits(match, source, target)))
        end = match.end()
    return Protected("".join([*parts, text[end:]]), tuple(originals))


def _digits(match: re.Match[str], source: str, target: str) -> str:
    """What stands for the digits of a number in the other language."""
    digits = match["digits"]
    if {source, target} != {"de", "en"}:
        return digits
    amount = match["before"] or match["after"] or _UNIT.match(match.string, match.end())
    if _is_address(digits) and not amount:
        return digits
    is_decimal = _DECIMAL[source].fullmatch(digits) and (source == "de" or amount)
    return digits.translate(_SWAPPED) if is_decimal or _THOUSANDS[source].fullmatch(digits) else digits


def _is_address(digits: str) -> bool:
    """192.168.178.100 is one of the Internet, and no amount."""
    groups = digits.split(".")
    return len(groups) == 4 and all(len(group) <= 3 and group.isdecimal() and int(group) < 256 for group in groups)


def _needed(text: str) -> list[re.Match[str]]:
    return [
        match
        for match in _NUMBER.finditer(text)
        if match["before"]
        or match["after"]
        or not _may_be_a_word(match["digits"])
        or _NUMBERED.search(text, max(0, match.start() - _REACH), match.start())
    ]


def _may_be_a_word(digits: str) -> bool:
    return len(digits) <= 2 and digits.isdecimal() and int(digits) <= LARGEST_WORD


def _counts(output: str) -> Counter[str]:
    """How often each number occurs, without separators; groups of digits count alone and together."""
    output = SYMBOL.sub(" ", output)
    alone, together = _DIGITS.findall(output), _GROUPS.findall(output)
    return Counter("".join(filter(str.isdecimal, digits)) for digits in alone + together)


def _forms(match: re.Match[str], source: str) -> list[str]:
    """The digits of a number without separators; also those of the same time on the other kind of clock."""
    hours, *minutes = _SEPARATORS.split(match["digits"])
    forms = ["".join([hours, *minutes])]
    clock = _O_CLOCK.get(source)
    if clock and clock.match(match.string, match.end("digits")) and len(hours) <= 2:
        hours = str(int(hours) % 12 + 12) if source == "en" else str(int(hours) % 12 or 12)
        forms += ["".join([hours, *minutes]), *([hours] if minutes == ["00"] else [])]
    return forms


def _is_named(sign: str, output: str, target: str) -> bool:
    """Whether a sign is there, or its name; of other languages than these, no names are known."""
    return target not in _THOUSANDS or sign in output or any(name in output.casefold() for name in _NAMES[sign])
