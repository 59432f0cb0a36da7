"""Quotations of several sentences: a sentence that holds one of the two marks, at its end, says nothing about it."""

_MARKS = frozenset('"\u201c\u201d\u201e\u201f\u00ab\u00bb')
_OF = {"de": ("\u201e", "\u201c"), "en": ('"', '"')}


def parted(sentence: str, target: str) -> tuple[str, str, str]:
    """The opening mark if the sentence begins with it alone, the sentence, and the closing one; as `target` writes it.

    A mark that has its partner in the sentence, or is not at an end, is part of it.
    """
    if sum(character in _MARKS for character in sentence) != 1 or len(sentence) < 2:
        return "", sentence, ""
    if sentence[0] in _MARKS:
        return _OF.get(target, sentence[0])[0], sentence[1:], ""
    if sentence[-1] in _MARKS:
        return "", sentence[:-1], _OF.get(target, sentence[-1] * 2)[1]
    return "", sentence, ""
