"""Characters as a model knows them: it has read little with invisible ones, and makes words up in their place."""

import re
import unicodedata

_SPACES = re.compile("[\t\u00a0\u2000-\u200a\u202f\u205f]| {2,}")
# The soft hyphen, spaces of no width, and what says in which direction to write.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})


def readable(text: str) -> str:
    """The text with letters composed (NFC), single plain spaces, plain hyphens and minuses, and nothing invisible."""
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).translate(_MINUS)
    return _SPACES.sub(" ", text)
