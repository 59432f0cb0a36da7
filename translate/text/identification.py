"""The language of a text, by its script, its frequent words and py3langid, which is optional.

py3langid knows 140 languages. Loading it takes about a second, so it is asked only if fewer than one word in four is a
frequent word of the expected language: 6 % of German and 8 % of English sentences in tatoeba.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from threading import Lock, Thread
from typing import TYPE_CHECKING

from translate.errors import UserError
from translate.text import languages

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_MIN_WORDS = 3  # of a sentence whose language can be certain
_FREQUENT_WORDS = 0.25  # of the words of a sentence that is in the expected language without doubt
# No sentence of 4,000 in tatoeba's development set and of 2,000 in newstest2014 is taken for another language at 0.9.
_CERTAIN = 0.9
_CLEAR = 0.8  # probability of one candidate among all candidates
_SAMPLE = 4096  # characters that are enough to identify a language
_WORD = re.compile(r"\w+")
_loading = Lock()  # the cache alone would let two threads load it


def is_foreign(text: str, language: str) -> bool:
    """Return whether a sentence is certainly not in `language`; short sentences rarely are.

    Without py3langid, and for languages unknown to it, only the script is checked.
    """
    rules = languages.find(language)
    words = _WORD.findall(text.lower())
    if rules:
        letters = [character for character in text if character.isalpha()]
        if 2 * sum(rules.script in unicodedata.name(letter, "") for letter in letters) < len(letters):
            return True
        if sum(word in rules.starters for word in words) >= _FREQUENT_WORDS * len(words):
            return False
    identifier = _identifier() if len(words) >= _MIN_WORDS else None
    if identifier is None or language not in identifier.labels:
        return False
    found, probability = identifier.classify(text)
    return bool(found != language and probability >= _CERTAIN)


def language_of(texts: Iterable[str], candidates: Iterable[str]) -> str | None:
    """Return the candidate language that the texts are in; None if that is not clear.

    UserError if py3langid is not installed.
    """
    known = {*candidates}
    ranked = ranking(texts, known)
    return ranked[0][0] if ranked and ranked[0][0] in known and ranked[0][1] >= _CLEAR else None


def ranking(texts: Iterable[str], candidates: Iterable[str]) -> list[tuple[str, float]]:
    """Return the languages that the texts may be in with their probabilities, most probable first.

    These are the candidates, whose probabilities add up to 1, or one other language if the texts certainly are in it.
    UserError if py3langid is not installed.
    """
    identifier = _identifier()
    if identifier is None:
        raise UserError("--from auto needs py3langid: run `pip install py3langid`, or name the language")
    ranked = identifier.rank(" ".join(texts)[:_SAMPLE])
    known = {*candidates}
    other, certainty = ranked[0]
    if other not in known and certainty >= _CERTAIN:
        return [(other, float(certainty))]
    likely = [(language, float(probability)) for language, probability in ranked if language in known]
    total = sum(probability for _, probability in likely)
    return [(language, probability / total) for language, probability in likely] if total else []


def load_early() -> None:
    """Start to load py3langid in another thread, for a text in which some sentence will need it."""
    Thread(target=_identifier, daemon=True).start()


def is_loading() -> bool:
    """Return whether another thread is loading py3langid, so that `is_foreign` would wait for it."""
    return _loading.locked()


def _identifier() -> "LanguageIdentifier | None":
    """Return py3langid with probabilities, loaded once; None if it is not installed."""
    with _loading:
        return _loaded()


@cache
def _loaded() -> "LanguageIdentifier | None":
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
