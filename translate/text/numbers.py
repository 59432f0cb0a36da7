"""Numbers that a translation must hold: dates, times, amounts, years; and how its language writes them.

A small model leaves out or garbles what it has not met, and no two dates are alike. Numbers up to twelve may become
words and are not looked for, unless a currency or a percentage makes them amounts.
"""

import re
from collections import Counter

from translate.text.placeholders import SYMBOL, Protected, symbol

LARGEST_WORD = 12

_NUMBER = re.compile(
    r"(?<![\w.,:/\u27e6])(?P<before>[€$£¥]\s?)?(?P<digits>\d+(?:[.,:/]\d+)*)(?P<after>\s?[€$£¥%])?(?![\w\u27e7])"
)
_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")  # also within 15th
_NAMES = {
    "€": ("euro",),
    "$": ("dollar",),
    "£": ("pound", "pfund"),
    "¥": ("yen",),
    "%": ("per cent", "percent", "prozent"),
}
_SWAPPED = str.maketrans(".,", ",.")
_THOUSANDS = {"de": re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?"), "en": re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")}
_DECIMAL = {"de": re.compile(r"\d+,\d+"), "en": re.compile(r"\d+\.\d+")}


def written(number: str, source: str, target: str) -> str:
    """A number of a German or an English text as the other language writes it: 1.234,56 and 1,234.56.

    Dates and versions are the same in both. An English 3.5 is a decimal only as an amount: it may be a version.
    """
    match = _NUMBER.fullmatch(number)
    return number if match is None else number.replace(match["digits"], _digits(match, source, target))


def localised(output: str, text: str, source: str, target: str) -> str:
    """A translation of `text` in which numbers that were only copied are written as its language does."""
    new = {match["digits"]: _digits(match, source, target) for match in _needed(text)}
    return _NUMBER.sub(
        lambda match: match[0].replace(match["digits"], new.get(match["digits"], match["digits"])), output
    )


def are_there(output: str, text: str, source: str, target: str) -> bool:
    """Whether a translation of `text` holds all of its numbers, written either way, and what they are amounts of."""
    found = Counter(_DIGITS.findall(SYMBOL.sub("", output)))
    for match in _needed(text):
        forms = match["digits"], _digits(match, source, target)
        form = next((form for form in forms if found[form]), None)
        if form is None or not all(_is_named(sign, output) for sign in (match["before"], match["after"]) if sign):
            return False
        found[form] -= 1
    return True


def protect(text: str, source: str, target: str) -> Protected:
    """The text with symbols for its numbers too, counted on from those in it, which stand for themselves."""
    originals = [symbol(i) for i in range(len(SYMBOL.findall(text)))]
    parts, end = [], 0
    for match in _needed(text):
        parts += [text[end : match.start()], symbol(len(originals))]
        originals.append(written(match[0], source, target))
        end = match.end()
    return Protected("".join([*parts, text[end:]]), tuple(originals))


def _digits(match: re.Match[str], source: str, target: str) -> str:
    """What stands for the digits of a number in the other language."""
    digits = match["digits"]
    if {source, target} != {"de", "en"}:
        return digits
    is_decimal = _DECIMAL[source].fullmatch(digits) and (source == "de" or match["before"] or match["after"])
    return digits.translate(_SWAPPED) if is_decimal or _THOUSANDS[source].fullmatch(digits) else digits


def _needed(text: str) -> list[re.Match[str]]:
    return [
        match
        for match in _NUMBER.finditer(text)
        if match["before"] or match["after"] or not match["digits"].isdecimal() or int(match["digits"]) > LARGEST_WORD
    ]


def _is_named(sign: str, output: str) -> bool:
    return sign.strip() in output or any(name in output.casefold() for name in _NAMES[sign.strip()])
