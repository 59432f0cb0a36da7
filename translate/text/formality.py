"""The form of address of a German sentence: formal ("Sie") or informal ("du", "ihr"), by pronouns and verb forms.

The rule reads tokens. A capital "Sie" or "Ihre" within a sentence is formal. At its beginning it may be "she", "they"
or "their", and so the English side of the pair decides: it has to speak to somebody, and of nobody. "ihr" is informal
beside a verb of the second person plural; the "Ihr" and "Euch" of old texts is neither.
"""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from translate.text.translation import FormOfAddress

LANGUAGE = "de"

# Begin a source whose translation has that form of address; tokens of tokenizers that were trained with them.
TAGS: "dict[FormOfAddress, str]" = {"formal": "<formal>", "informal": "<informal>"}

_TOKEN = re.compile(r"[^\W\d_]+|[.!?:…]|[^\w\s]")
_BEGINS = frozenset(".!?:…;„“”\"»«‚‘’'(–—-•*/")  # a capital after one of these may be that of a sentence
_INFORMAL = re.compile(r"[Dd](?:u|ich|ir|ein(?:e[mnrs]?|s)?|einetwegen)|eu(?:ch|er|re[mnrs]?)")
_FORMAL = re.compile(r"Sie|Ihnen|Ihre[mnrs]?")
_ARCHAIC = re.compile(r"Eu(?:ch|er|re[mnrs]?)")
_BEGINS_REQUESTS = _BEGINS - frozenset("(-;/")
_COMMAND = re.compile(r"\bdir\b")
_YOUR = re.compile(r"\byour\b", re.IGNORECASE)
_NO_REQUEST = frozenset(["ich", "er", "sie", "es", "man", "wir", "ihr", "-"])  # after a verb: its subject, or a part
_SPOKEN_TO = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_PROGRESS = re.compile(r"\w+ing\b")  # "Waiting" is "Warte", of nobody
_SPOKEN_OF = re.compile(r"\b(?:she|her|hers|they|them|their|theirs|it|its|these|those)\b", re.IGNORECASE)


def form_of_address(german: str, english: str = "") -> "FormOfAddress | None":
    """Return the form of address of a German text; None if it has none, or both.

    Args:
        english: its translation, which tells the "Sie" at the beginning of a sentence from "she" and "they".
    """
    found = _all_evidence(german, english)
    if german.isupper() or "archaic" in found or {"formal", "informal"} <= found:
        return None
    return "formal" if "formal" in found else "informal" if "informal" in found else None


def speaks_to_nobody(german: str, english: str) -> bool:
    """Return whether neither side of a pair shows that it speaks to somebody, in whatever form."""
    return not german.isupper() and not _SPOKEN_TO.search(english) and not _all_evidence(german, english) - {None}


def _all_evidence(german: str, english: str) -> set[str | None]:
    tokens = [".", *_TOKEN.findall(german), "."]
    return {
        _evidence(before, token, after, english)
        for before, (token, after) in zip(tokens, pairwise(tokens[1:]), strict=False)
    }


def _evidence(before: str, token: str, after: str, english: str) -> str | None:
    """Return what one token says, given its neighbours and the English text."""
    words, is_first = _words(), before in _BEGINS
    if _FORMAL.fullmatch(token):
        return "formal" if not is_first or _speaks_to(english) else None
    if token == "Ihr":
        if before.lower() in words["plural"] or after in words["plural"]:
            return "informal" if is_first else "archaic"
        is_theirs = is_first and not (_speaks_to(english) and _YOUR.search(english))
        return "formal" if after[0].isupper() and not is_theirs else None
    if _ARCHAIC.fullmatch(token):
        return "informal" if is_first else "archaic"
    if token == "ihr":
        return "informal" if before.lower() in words["plural"] or after in words["plural"] else None
    is_french = token == "du" and before[0].isupper() and after[0].isupper()  # "the Place du Tertre"
    if is_french or (token == "dir" and _COMMAND.search(english)):
        return None
    if (_INFORMAL.fullmatch(token) and before != "-") or token.lower() in words["verbs"]:
        return "informal"
    begins = (before in _BEGINS_REQUESTS and token.istitle()) or before.lower() == "bitte"
    if begins and token.lower() in words["imperatives"] and after.lower() not in _NO_REQUEST:
        return None if _PROGRESS.match(english) else "informal"
    return None


def _speaks_to(english: str) -> bool:
    """Return whether an English text says "you", and a "Sie" in its translation can be nobody else."""
    to = _SPOKEN_TO.search(english)
    return to is not None and (to.start() == 0 or not _SPOKEN_OF.search(english))


@cache
def _words() -> dict[str, frozenset[str]]:
    import tomllib  # takes longer to import than the tags, which are all that a translation needs

    table = tomllib.loads(Path(__file__).with_name("formality.toml").read_text(encoding="utf-8"))
    return {kind: frozenset(words.split()) for kind, words in table.items()}
