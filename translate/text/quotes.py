"""Quotation marks around a sentence, and at one end of a sentence with the partner in another one."""

import html
import re

from translate.text import languages
from translate.text.characters import PROSE_ENTITIES

_MARK = re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb]')
_AROUND = re.compile(rf"{_MARK.pattern}\S(?:.*\S)?{_MARK.pattern}", re.DOTALL)
_CHARACTER = re.compile(f"&(?:{PROSE_ENTITIES});|.", re.DOTALL)
_INCHES = re.compile(r'\d"\Z')


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
