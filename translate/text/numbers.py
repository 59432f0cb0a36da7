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
    if {source, target} != {"de", "en"} or (match := _NUMBER.fullmatch(number)) is None:
        return number
    digits, is_amount = match["digits"], match["before"] or match["after"]
    decimal = _DECIMAL[source].fullmatch(digits) and (source == "de" or is_amount)
    return number.translate(_SWAPPED) if decimal or _THOUSANDS[source].fullmatch(digits) else number


def localised(output: str, text: str, source: str, target: str) -> str:
    """A translation of `text` in which numbers that were only copied are written as its language does."""
    copied = {match["digits"]: match[0] for match in _needed(text)}

    def replace(match: re.Match[str]) -> str:
        if match["digits"] not in copied:
            return match[0]
        new = _NUMBER.fullmatch(written(copied[match["digits"]], source, target))
        return match[0] if new is None else match[0].replace(match["digits"], new["digits"])

    return _NUMBER.sub(replace, output)


def are_there(output: str, text: str, source: str, target: str) -> bool:
    """Whether a translation of `text` holds all of its numbers, written either way, and what they are amounts of."""
    found = Counter(_DIGITS.findall(SYMBOL.sub("", output)))
    for match in _needed(text):
        amount = _NUMBER.fullmatch(written(match[0], source, target))
        forms = {match["digits"], match["digits"] if amount is None else amount["digits"]}
        form = next((form for form in forms if found[form]), None)
        if form is None or not all(_is_named(sign, output) for sign in (match["before"], match["after"]) if sign):
            return False
        found[form] -= 1
    return True


def protect(text: str, source: str, target: str) -> Protected:
    """The text with symbols for its numbers, counted on from those in it, and what to restore them to."""
    first = len(SYMBOL.findall(text))
    spans = [match.span() for match in _needed(text)]
    parts, end = [], 0
    for i, (start, stop) in enumerate(spans):
        parts += [text[end:start], symbol(first + i)]
        end = stop
    originals = tuple(written(text[start:stop], source, target) for start, stop in spans)
    return Protected("".join([*parts, text[end:]]), originals)


def restore(output: str, protected: Protected) -> str | None:
    """The translation with numbers in place of their symbols; None unless it holds each symbol of the text once."""
    n_symbols = len(SYMBOL.findall(protected.text))
    first = n_symbols - len(protected.originals)
    if sorted(map(int, SYMBOL.findall(output))) != list(range(1, n_symbols + 1)):
        return None
    return SYMBOL.sub(
        lambda match: match[0] if (i := int(match[1]) - 1 - first) < 0 else protected.originals[i], output
    )


def _needed(text: str) -> list[re.Match[str]]:
    return [
        match
        for match in _NUMBER.finditer(text)
        if match["before"] or match["after"] or not match["digits"].isdecimal() or int(match["digits"]) > LARGEST_WORD
    ]


def _is_named(sign: str, output: str) -> bool:
    return sign.strip() in output or any(name in output.casefold() for name in _NAMES[sign.strip()])
