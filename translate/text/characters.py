"""Characters as a model knows them: it has read little with invisible ones, and makes words up in their place."""

import html
import re
import unicodedata

# Entities of HTML that are letters and punctuation of prose: what a reader sees is what a model reads.
PROSE_ENTITIES = (
    "[A-Za-z](?:uml|acute|grave|circ|tilde|cedil|ring|slash|caron)|szlig|[AO]Elig|[ao]elig|nbsp|shy|(?:en|em|thin)sp"
    "|[lr][sd]quo|[sb][bd]quo|[lr]aquo|[nm]dash|hellip|#(?:160|173|19[2-9]|2[0-4][0-9]|25[0-5]|82(?:1[1-7]|2[0-2]|30))"
)

_ENTITY = re.compile(f"&(?:{PROSE_ENTITIES});")

_SPACES = re.compile("[\t\u00a0\u2000-\u200a\u202f\u205f]| {2,}")
# The soft hyphen, spaces of no width, and what says in which direction to write.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})


def readable(text: str) -> str:
    """The text with letters composed (NFC), single plain spaces, plain hyphens and minuses, and nothing invisible.

    Entities of letters and of punctuation are what they stand for. White space at either end stays.
    """
    body = text.strip()
    start = text.index(body)
    before, after = text[:start], text[start + len(body) :]
    body = _ENTITY.sub(lambda match: html.unescape(match[0]), body)
    body = unicodedata.normalize("NFC", _INVISIBLE.sub("", body)).translate(_MINUS)
    return before + _SPACES.sub(" ", body) + after
