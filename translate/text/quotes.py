"""Quotation marks at one end of a sentence, whose partner stands in another sentence."""

from translate.text import languages

_MARKS = frozenset('"\u201c\u201d\u201e\u201f\u00ab\u00bb')


def parted(sentence: str, target: str) -> tuple[str, str, str]:
    """Return opening mark, sentence and closing mark, the marks as `target` writes them; "" if there is none.

    A mark that has a partner in the sentence, or is not at an end, stays in the sentence.
    """
    if sum(character in _MARKS for character in sentence) != 1 or len(sentence) < 2:
        return "", sentence, ""
    rules = languages.find(target)
    if sentence[0] in _MARKS:
        return rules.quotes[0] if rules else sentence[0], sentence[1:], ""
    if sentence[-1] in _MARKS:
        return "", sentence[:-1], rules.quotes[1] if rules else sentence[-1]
    return "", sentence, ""
