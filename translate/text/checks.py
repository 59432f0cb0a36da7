"""Checks of a translation against its source, found in the two texts alone.

A check never edits a translation: it names a mistake, or returns another form of the source for a new search.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from translate.text import languages
from translate.text.languages import Language
from translate.text.placeholders import SYMBOL
from translate.text.translation import Translation

NO_REPEAT = 3  # length in tokens of the sequences that a new search may not repeat

_LONGEST_PERIOD = 8  # longest sequence, in words, whose repetition is detected
_STUTTER = re.compile(r"(\w{1,4}?)\1{7,}")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")
_SMALL = re.compile("[a-z]")
_MAX_SMALL_TALK = 6  # words; a longer sentence has enough context to tell nouns from verbs
_MAX_ABBREVIATION = 4  # letters; a longer text in capitals is taken for shouted text
_WITHOUT_SIGNS = re.compile(r"[\w\s.,;:!?]*+")  # neither % nor a minus
_LETTERS_AND_MARKS = re.compile(r"[\w\u0300-\u036f\u0900-\u0dff]+")
_TOKEN = re.compile(r"\w+(?:-\d\w*)?")  # a word or a code, such as COVID-19


def has_words(text: str) -> bool:
    """Return whether the text has a letter; numbers, punctuation and emoji are the same in every language."""
    return any(map(str.isalpha, text))


def loops(output: str, source: str) -> bool:
    """Return whether a translation repeats itself more than twice as often as its source.

    Counted are sequences of words that follow themselves and sequences of 4 words anywhere. A syllable that is repeated
    many times within a word counts too.
    """
    if _STUTTER.search(output) and not _STUTTER.search(source):
        return True
    words = _WORD.findall(output.casefold())
    if len({*words}) == len(words):
        return False
    read = _WORD.findall(source.casefold())
    return _times_in_a_row(words) > 2 * _times_in_a_row(read) or _times(words) > 2 * _times(read)


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


def is_overlong(translation: Translation) -> bool:
    """Return whether a translation has at least twice as many tokens as its source and 10 more for each segment."""
    n_ends = translation.n_segments
    limit = 2 * translation.n_source_tokens + 10 * n_ends
    return translation.n_source_tokens > 0 and len(translation.tokens) + n_ends >= limit


def capitalisations(text: str, language: str) -> list[str]:
    """Return the distinct forms of a source to search: in other capital letters, and as written, which comes last.

    A model has seen little text all in capitals, and a few German words without capitals have lost their nouns.
    """
    rules = languages.find(language) or languages.general()
    lower = _lowered(text, rules)
    forms = [lower, _capitalised(lower, rules) if rules.capitalises_nouns else lower, text]
    return list(dict.fromkeys(forms))


def _lowered(text: str, language: Language) -> str:
    """Return text all in capitals in lower case except for its first letter and codes, which have a digit.

    Other text and abbreviations are unchanged. A model has seen little text in capitals. The German sharp s counts as a
    capital.
    """
    if _SMALL.search(text):
        return text
    letters = [character for character in text if character.upper() != character.lower() and character != "\u00df"]
    if len(letters) <= _MAX_ABBREVIATION or not all(map(str.isupper, letters)):
        return text
    lower = _TOKEN.sub(lambda match: match[0] if any(map(str.isdigit, match[0])) else match[0].lower(), text)
    first = next((i for i, character in enumerate(lower) if character.isalpha()), 0)
    return lower[:first] + language.capitalised(lower[first:])


def _capitalised(text: str, language: Language) -> str:
    """Return a few words in lower case with capitals, as German nouns have; other text unchanged."""
    if not text.islower() or len(text.split()) > _MAX_SMALL_TALK:
        return text
    return " ".join(map(language.capitalised, text.split(" ")))


def missing(
    output: str, source: str, source_language: str, target: str, knows: Callable[[str], bool] = lambda word: True
) -> list[tuple[int, int, str]]:
    """Return what a translation lacks of its source: start and end of each part, and what a symbol for it stands for.

    These are numbers and times of day, words in letters of another script or that the model does not know, and signs
    such as % for which the target language has words. If a time of day is wrong, all of them are returned, as those of
    a range belong together.

    Args:
        output: the translation.
        source_language, target: language codes.
        knows: returns whether the model can read and write a word.
    """
    output, source = _without_symbols(output), _without_symbols(source)
    found = [
        *_lost_numbers(output, source, source_language, target),
        *((*span, source[slice(*span)]) for span in _missing_words(output, source, source_language, knows)),
        *_missing_signs(output, source, source_language, target),
    ]
    parts = list[tuple[int, int, str]]()
    for part in sorted(found):
        if not parts or part[0] >= parts[-1][1]:
            parts.append(part)
    return parts


def _lost_numbers(output: str, source: str, language: str, target: str) -> list[tuple[int, int, str]]:
    rules = languages.find(language)
    has_digits = any(map(str.isnumeric, source))
    if rules and not has_digits and not rules.hour.search(source) and not rules.relative_time.search(source):
        return []
    from translate.text import numbers  # takes 7 ms, which a sentence without numbers need not wait for

    lost = numbers.missing(output, source, target, language)
    if any(number.what.is_clock for number in lost):
        lost += [number for number in numbers.find(source, language) if number.what.is_clock and number.what.hours]
    parts = list[tuple[int, int, str]]()
    for number in sorted(lost):
        if not parts or number.start >= parts[-1][1]:  # several of one run are held once
            parts.append(numbers.held(number, source, language, target))
    return parts


def missing_numbers(output: str, source: str, target: str, source_language: str | None = None) -> list[tuple[int, int]]:
    """Return where the numbers of `source` are that its translation lacks, each with a sign such as % beside it.

    `translate.text.numbers` says when a number is there.

    Args:
        output: the translation.
        target: language code of the translation.
        source_language: language code of the source; None if it is unknown.
    """
    from translate.text import numbers

    shown = _without_symbols(source)
    lost = numbers.missing(_without_symbols(output), shown, target, source_language)
    return list(dict.fromkeys(numbers.with_signs(number, shown) for number in lost))


def _without_symbols(text: str) -> str:
    return SYMBOL.sub(lambda match: " " * len(match[0]), text)


def _missing_words(output: str, source: str, language: str, knows: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return where the words are that a translation must have letter for letter, and lacks."""
    if source.isascii():
        return []
    rules = languages.find(language)
    own, script = (frozenset(rules.letters), rules.script) if rules else (frozenset[str](), "")
    lost, said = [], None
    for match in _LETTERS_AND_MARKS.finditer(source):
        word = match[0]
        strange = set() if word.isascii() else {letter for letter in word if not letter.isascii()} - own
        if not strange or not (any(_is_foreign(letter, script) for letter in strange) or not knows(word)):
            continue
        if said is None:
            said = Counter(found[0].casefold() for found in _LETTERS_AND_MARKS.finditer(output))
        if not said[word.casefold()]:
            lost.append(match.span())
        said[word.casefold()] -= 1
    return lost


def _is_foreign(letter: str, script: str) -> bool:
    """Return whether a character is a letter of another script than `script`."""
    return letter.isalpha() and script not in unicodedata.name(unicodedata.normalize("NFKC", letter)[0], script)


def _missing_signs(output: str, source: str, language: str, target: str) -> list[tuple[int, int, str]]:
    """Return the signs that a translation has neither as signs nor in words, with the number beside them."""
    rules = languages.find(target)
    if rules is None or _WITHOUT_SIGNS.fullmatch(source):
        return []
    from translate.text import numbers

    patterns = {sign: numbers.SIGNS.get(sign) or re.compile(re.escape(sign)) for sign in rules.signs}
    words = {
        sign: rules.signs[sign]
        for sign, pattern in patterns.items()
        if pattern.search(source) and not pattern.search(output)
    }
    lost = [sign for sign, several in words.items() if not re.search("|".join(several), output, re.IGNORECASE)]
    if not lost:
        return []
    held = {match.start(): (*match.span(), match[0]) for sign in lost for match in patterns[sign].finditer(source)}
    for number in numbers.find(source, language):
        start, stop = numbers.with_signs(number, source)
        before = range(start, number.start) if number.start == number.run_start else ()
        after = range(number.stop, stop) if number.stop == number.run_stop else ()
        if signs := [i for i in (*before, *after) if i in held]:
            part = numbers.held(number, source, language, target)
            held |= {i: part for i in signs if part[0] <= i < part[1]}
    return [*held.values()]
