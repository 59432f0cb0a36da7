"""What may be wrong with a sentence before a model reads it, and with its translation: rules on text alone.

Reads on its own: the standard library.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

# Mean log-probability of a token. Of 400 everyday sentences that the shipped German model translates 7 are below, with
# a mean chrF of 36, where all have 64; and of news, which it is bad at, a quarter.
LOW_CONFIDENCE = -0.75
SMALL_TALK = 6  # words; of longer sentences their own context says enough
NO_REPEAT = 3  # tokens of a sequence that a second search may not repeat

_LONGEST_PERIOD = 8  # words of a sequence whose repetition is noticed
_STUTTER = re.compile(r"(\w{1,4}?)\1{7,}")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")

# Words of each language that none of the others has and that most of its sentences of some length contain.
FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "de": "der das und ist nicht ein eine einen ich sie es auf für mit dem den von zu sich auch wir aber wie wenn "
        "haben sind wird nach bei nur noch über kann einer eines oder ihr mein dass dieser diese",
        "en": "the and of to is that it for with you this are be have not from by they we he she his were "
        "which would there their what can been has had your",
        "fr": "le les et est une que pour dans qui pas sur avec vous nous elle ce cette sont mais aux être avoir leur",
        "es": "el los las y por para del lo como pero sus más está fue hay muy también esta eso",
        "it": "il gli di che è della sono anche questo nel alla più dei ma perché",
        "nl": "het een van dat niet zijn voor met ik ook naar maar wij deze hij wordt aan bij",
    }.items()
}
_LATIN_LETTERS = ((0x41, 0x24F), (0x1E00, 0x1EFF), (0xFF21, 0xFF5A))


def has_words(text: str) -> bool:
    """Whether there is a letter; numbers, punctuation and emoji are the same in every language."""
    return any(map(str.isalpha, text))


def loops(output: str, source: str) -> bool:
    """Whether a translation repeats itself and its source does not.

    That is, more often in a row than the source does, or one sequence of 4 words at least twice more often than the
    source's most frequent one, or a syllable many times within a word.
    """
    words, own = (_WORD.findall(text.casefold()) for text in (output, source))
    return (
        _times_in_a_row(words) > max(2, _times_in_a_row(own))
        or _times(words) >= _times(own) + 2
        or (_STUTTER.search(output) is not None and _STUTTER.search(source) is None)
    )


def _times_in_a_row(words: Sequence[str]) -> int:
    """How often any sequence of words follows itself."""
    most = 1
    for period in range(1, min(_LONGEST_PERIOD, len(words) - 1) + 1):
        n_equal = 0
        for i in range(period, len(words)):
            n_equal = n_equal + 1 if words[i] == words[i - period] else 0
            most = max(most, n_equal // period + 1)
    return most


def _times(words: Sequence[str]) -> int:
    """How often the most frequent sequence of 4 words occurs."""
    return max(Counter(zip(words, words[1:], words[2:], words[3:], strict=False)).values(), default=1)


def echoes(output: str, source: str) -> bool:
    """Whether a translation of three words or more says mostly what its source says, so that little was translated.

    A model copies what it does not know, such as another language, and is sure of it. Names are the same in most
    languages, so what has a capital on both sides does not count.
    """
    said, read = (_LETTERS.findall(text) for text in (output, source))
    names = {word for word in {*said} & {*read} if word[0].isupper()}
    counted, known = [word.casefold() for word in said if word not in names], {word.casefold() for word in read}
    return len(counted) >= 3 and 5 * sum(word in known for word in counted) >= 3 * len(counted)


def begun_alike(output: str, source: str) -> str:
    """A translation that begins with a capital where its source is a phrase that does, and is no copy in small letters.

    A single word is as in a dictionary: "Haus" is "house".
    """
    if output == source.lower():
        return source
    is_phrase = len(source.split()) > 1 or source.endswith((".", "!", "?", ":"))
    if not is_phrase or not source[:1].isupper() or not output[:1].islower():
        return output
    return output[0].upper() + output[1:]


def longest_output(n_source: int) -> int:
    """Tokens that a translation may have, its end included: twice those of its source, and room for short ones."""
    return 2 * n_source + 10


def is_foreign(text: str, language: str) -> bool:
    """Whether a sentence is certainly not in `language`: by its script, or by the function words of another one.

    Languages that this module does not know are never missed; short sentences are rarely certain.
    """
    if language not in FUNCTION_WORDS:
        return False
    letters = [ord(character) for character in text if character.isalpha()]
    n_latin = sum(any(low <= letter <= high for low, high in _LATIN_LETTERS) for letter in letters)
    if 2 * n_latin < len(letters):
        return True
    n_words = _function_words(text)
    most = max(n_words.values())
    return most >= 3 and most >= 5 * n_words[language]


def language_of(texts: Iterable[str], candidates: Iterable[str]) -> str | None:
    """The one of the candidate languages whose function words are the most frequent; None without a single winner."""
    n_words: Counter[str] = Counter()
    for text in texts:
        n_words.update(_function_words(text))
    ranked = sorted(((n_words[language], language) for language in set(candidates)), reverse=True)
    if not ranked or not ranked[0][0] or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
        return None
    return ranked[0][1]


def _function_words(text: str) -> dict[str, int]:
    words = _WORD.findall(text.casefold())
    return {language: sum(word in own for word in words) for language, own in FUNCTION_WORDS.items()}


def is_shouted(text: str) -> bool:
    """Whether two letters or more are all capitals; there is no common capital of the German sharp s."""
    letters = [character for character in text if character.upper() != character.lower() and character != "\u00df"]
    return len(letters) > 1 and all(map(str.isupper, letters))


def unshouted(text: str) -> str:
    """The text in small letters, but for the first."""
    lower = text.lower()
    first = next((i for i, character in enumerate(lower) if character.isalpha()), 0)
    return lower[:first] + lower[first : first + 1].upper() + lower[first + 1 :]


def is_small_talk(text: str) -> bool:
    """Whether a few words are all in small letters, in which German nouns are not to be told from verbs."""
    return text.islower() and len(text.split()) <= SMALL_TALK


def with_capitals(text: str) -> str:
    """The text with a capital at the beginning of each word."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))
