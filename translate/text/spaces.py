"""Special spaces: where a translation may have the no-break and thin spaces of its source.

Models read and write plain spaces. A special space joins two words; it returns where a translation has one of the two
unchanged and a plain space on the same side of it. Only a number, a name, a mark or a code shows that, as in "5 km" or
"Dr. Meier": small words that are the same by chance have other neighbours.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

_ENTITY = r"&(?:nbsp|NonBreakingSpace|e[nm]sp|thinsp|#0*(?:160|8201|8239)|#[xX]0*(?:[aA]0|2009|202[fF]));"
_SPECIAL = re.compile(f"[\u00a0\u2000-\u200a\u202f\u205f]|{_ENTITY}")  # not the tab, which is layout
_TAG = r"</?[A-Za-z][^<>]*>"
_GAP = re.compile(rf"{_TAG}|(?P<gap>(?:\s|{_ENTITY})+)")
_PUNCTUATION = re.compile(r"[.,:;!?()\[\]\"'\u2018-\u201f\u00ab\u00bb*_~\u2026]")


def with_special_spaces(translation: str, source: str) -> str:
    """Return a translation with the special spaces of its source, as they are written there."""
    if not _SPECIAL.search(source):
        return translation
    (read, spaces), (said, gaps) = _divided(source), _divided(translation)
    same = _same_words(read, said)
    for n, space in enumerate(spaces):
        places = {same[word] - shift for word, shift in ((n, 0), (n + 1, 1)) if word in same}
        for place in places if len(places) == 1 and _SPECIAL.fullmatch(space) else ():
            if place >= 0 and gaps[place] == " " and not said[place].endswith((",", ";", ":")):
                gaps[place] = space
    return "".join(itertools.chain.from_iterable(zip(said, gaps, strict=True)))


def _divided(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a text and the gap after each; that after the last one is empty."""
    spans = [match.span() for match in _GAP.finditer(text) if match["gap"]]
    ends = [0, *itertools.chain.from_iterable(spans), len(text)]
    return [text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True)], [text[a:b] for a, b in spans] + [""]


def _same_words(read: Sequence[str], said: Sequence[str]) -> Mapping[int, int]:
    """Return the number of each word of a source in its translation, if this has the word as often."""
    places, others = _places(read), _places(said)
    pairs = (zip(own, others[word], strict=True) for word, own in places.items() if len(own) == len(others[word]))
    return {n: m for several in pairs for n, m in several}


def _places(words: Sequence[str]) -> defaultdict[str, list[int]]:
    """Return where each number, name, mark or code is; decimal signs and the punctuation around it do not count."""
    places = defaultdict[str, list[int]](list)
    for n, word in enumerate(words):
        bare = _PUNCTUATION.sub("", re.sub(_TAG, "", word) or word)
        if bare and not (bare.isalpha() and bare.islower()):
            places[bare].append(n)
    return places
