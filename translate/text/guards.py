"""Signs that a translation is wrong, found in the text alone.

Reads on its own: the standard library.
"""

import re
from collections import Counter
from collections.abc import Sequence

NO_REPEAT = 3  # length in tokens of the sequences that a second search may not repeat

_LONGEST_PERIOD = 8  # longest sequence, in words, whose repetition is detected
_STUTTER = re.compile(r"(\w{1,4}?)\1{7,}")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")


def has_words(text: str) -> bool:
    """Return whether the text has a letter; numbers, punctuation and emoji are the same in every language."""
    return any(map(str.isalpha, text))


def loops(output: str, source: str) -> bool:
    """Return whether a translation repeats itself more than twice as often as its source.

    Counted are sequences of words that follow themselves and sequences of 4 words anywhere. A syllable that is repeated
    many times within a word counts too.
    """
    words, read = (_WORD.findall(text.casefold()) for text in (output, source))
    return (
        _times_in_a_row(words) > 2 * _times_in_a_row(read)
        or _times(words) > 2 * _times(read)
        or (_STUTTER.search(output) is not None and _STUTTER.search(source) is None)
    )


def _times_in_a_row(words: Sequence[str]) -> int:
    """Count the repetitions in a row of the most repeated sequence of words."""
    most = 1
    for period in range(1, min(_LONGEST_PERIOD, len(words) - 1) + 1):
        n_equal = 0
        for i in range(period, len(words)):
            n_equal = n_equal + 1 if words[i] == words[i - period] else 0
            most = max(most, n_equal // period + 1)
    return most


def _times(words: Sequence[str]) -> int:
    """Count the occurrences of the most frequent sequence of 4 words."""
    return max(Counter(zip(words, words[1:], words[2:], words[3:], strict=False)).values(), default=1)


def echoes(output: str, source: str) -> bool:
    """Return whether three fifths of a translation's words, and at least three words, are copied from its source.

    A model copies text that it does not know, such as another language, with a high probability. Capitalised words on
    both sides may be names and do not count.
    """
    said, read = (_LETTERS.findall(text) for text in (output, source))
    names = {word for word in {*said} & {*read} if word[0].isupper()}
    counted, known = [word.casefold() for word in said if word not in names], {word.casefold() for word in read}
    return len(counted) >= 3 and 5 * sum(word in known for word in counted) >= 3 * len(counted)


def longest_output(n_source: int) -> int:
    """Return the maximum number of tokens of a translation, end included, for a source of `n_source` tokens."""
    return 2 * n_source + 10
