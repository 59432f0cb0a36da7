"""The length of text in words, for any script."""

import re

# Han, kana, Thai, Lao, Burmese and Khmer.
_WITHOUT_SPACES = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3041-\u30ff\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]"
)


def n_words(text: str) -> int:
    """Return the number of words between white space; of scripts without spaces, two characters are a word."""
    return max(len(text.split()), len(_WITHOUT_SPACES.findall(text)) // 2)
