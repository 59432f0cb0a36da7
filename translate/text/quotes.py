"""Quotation marks around a sentence, and at one end of a sentence with the partner in another one."""

import html
import re
from collections.abc import Sequence

from translate.text import languages
from translate.text.characters import PROSE_ENTITIES

_MARK = re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb]')
_AROUND = re.compile(rf"{_MARK.pattern}\S(?:.*\S)?{_MARK.pattern}", re.DOTALL)
_BEFORE_QUOTATION = re.compile(r"[^\w.!?,\u2026)].\S", re.DOTALL)
_CHARACTER = re.compile(f"&(?:{PROSE_ENTITIES});|.", re.DOTALL)
_INCHES = re.compile(r'\d"\Z')


def paired(sources: Sequence[str], outputs: Sequence[str], markup: re.Pattern[str], target: str) -> list[str]:
    """Return the translations of a passage's parts with its double quotation marks as `target` writes them.

    A quotation may begin in one part and end in another, and a model may write its marks in two conventions. Nothing
    changes unless both sides have equally many marks, in turn before and after a quotation.

    Args:
        sources: the parts of a passage.
        outputs: their translations.
        markup: matches text whose marks are no quotation marks.
        target: language code.
    """
    rules = languages.find(target)
    if not any(map(_MARK.search, sources)):  # most passages have none, and the search for markup is slow
        return list(outputs)
    sides = [[_marks(text, markup) for text in texts] for texts in (sources, outputs)]
    kinds = [[is_opening for marks in side for _, is_opening in marks] for side in sides]
    if not rules or kinds[0] != kinds[1] or kinds[0] != [True, False] * (len(kinds[0]) // 2):
        return list(outputs)
    return [
        "".join(rules.quotes[not places[i]] if i in places else character for i, character in enumerate(output))
        for output, places in zip(outputs, map(dict, sides[1]), strict=True)
    ]


def _marks(text: str, markup: re.Pattern[str]) -> list[tuple[int, bool]]:
    """Return the positions of the quotation marks, and whether each stands before a quotation."""
    shown = markup.sub(lambda match: "*" * len(match[0]), text)
    return [
        (place, _BEFORE_QUOTATION.match(shown, place - 1) is not None if place else bool(shown[1:2].strip()))
        for place in (match.start() for match in _MARK.finditer(shown))
    ]


def parted(sentence: str, target: str) -> tuple[str, str, str]:
    """Return opening mark, sentence and closing mark, the marks as `target` writes them; "" if there is none.

    A model may lose one of the two marks around a sentence. Marks within it stay in it; so does a sign of inches. An
    angle mark apart from the words, as after "Next", is no quotation mark and is returned unchanged with its space.
    """
    characters = _CHARACTER.findall(sentence)
    read = "".join(map(html.unescape, characters))  # as many characters
    rules, n_marks = languages.find(target), len(_MARK.findall(read))
    if rules and n_marks == 2 and _AROUND.fullmatch(read):
        return rules.quotes[0], "".join(characters[1:-1]), rules.quotes[1]
    if n_marks != 1 or len(read) < 2 or _INCHES.search(read):
        return "", sentence, ""
    if _MARK.match(read):
        stop = len(read) - len(read[1:].lstrip())
        mark, rest = "".join(characters[:stop]), "".join(characters[stop:])
        return rules.quotes[0] if rules and stop == 1 else mark, rest, ""
    if _MARK.match(read[-1]):
        start = len(read[:-1].rstrip())
        rest, mark = "".join(characters[:start]), "".join(characters[start:])
        return "", rest, rules.quotes[1] if rules and start == len(read) - 1 else mark
    return "", sentence, ""
