"""Checks of a translation against its source, found in the two texts alone.

A check never edits a translation: it names a mistake, or returns another form of the source for a new search.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from translate.text import languages
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
_TOKEN = re.compile(r"\w+(?:-\d\w*)?")  # a word or a code, such as COVID-19

_LARGEST_UNCHECKED = 1  # it may be an article
_HALF_DAY = 12  # hours
# A number with its separators; 1 234 and 1'234 too.
_NUMBER = re.compile(r"\d{1,3}(?:[ \u00a0\u2009\u202f'\u2019]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,:/-]\d+)*")
_DATE = re.compile(r"[0-3]?\d([./])[01]?\d(?:\1(?:\d\d){1,2}|(?=\.))|[0-3]?\d/[01]?\d|\d{4}-[01]\d-[0-3]\d")
_YEAR = re.compile(r"(?<![\d.,])(1\d|20) (\d\d)(?!\d|[.,]\d)")  # nineteen eighty-four
_SIGNS = "[\u20ac$\u00a3\u00a5%\u2030]"  # of currencies and shares, which are held with their number
_SIGNED = re.compile(rf"(?:{_SIGNS}[ \u00a0]?)?({_NUMBER.pattern})(?:[ \u00a0]?{_SIGNS})?")
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")  # twenty-year-old


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
    rules = languages.find(language)
    lower = _lowered(text)
    forms = [lower, _capitalised(lower) if rules and rules.capitalises_nouns else lower, text]
    return list(dict.fromkeys(forms))


def _lowered(text: str) -> str:
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
    return lower[:first] + lower[first : first + 1].upper() + lower[first + 1 :]


def _capitalised(text: str) -> str:
    """Return a few words in lower case with capitals, as German nouns have; other text unchanged."""
    if not text.islower() or len(text.split()) > _MAX_SMALL_TALK:
        return text
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def missing_numbers(output: str, source: str, target: str) -> list[tuple[int, int]]:
    """Return where the numbers of `source` are that its translation lacks, each with a sign such as % beside it.

    A number is there if its digits are, with any separators, or each of its groups of digits; a date without a
    group up to twelve, which may be a month's name; an hour half a day earlier or later; "3,5 million" as 3500000; and
    a number in words, in languages known to text2num. The number 1 is not checked, as it may be an article.

    Args:
        output: the translation.
        target: language code of the translation.
    """
    shown = SYMBOL.sub(lambda match: " " * len(match[0]), source)
    wanted = [match for match in _NUMBER.finditer(shown) if not _is_small(match[0])]
    if not wanted:
        return []
    said = SYMBOL.sub(" ", output)
    lost = _not_in(said, wanted)
    if lost and (words := _with_digits(said, target)) != said:
        in_words = _not_in(words, wanted)
        lost = [match for match in lost if match in in_words]
    signed = {match.start(1): match.span() for match in _SIGNED.finditer(source)}
    return [signed.get(match.start(), match.span()) for match in lost]


def _is_small(number: str) -> bool:
    return number.isdigit() and len(number) <= 2 and int(number) <= _LARGEST_UNCHECKED


def _not_in(text: str, wanted: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """Return the numbers that a text lacks; each number of the text stands for one of them."""
    found = [match[0] for match in _NUMBER.finditer(text)]
    lost = []
    for match in wanted:
        forms = _forms(match[0])
        i = next((i for i, number in enumerate(found) if _form(number) in forms), None)
        if i is None:
            lost.append(match)
        else:
            del found[i]
    # One number may be written as several, as 19.99 is in "19 euros 99", and several as one.
    groups = Counter(group for number in found for group in re.findall(r"\d+", number))
    return [match for match in lost if not _has_groups(match, groups) and not _has_scale(match[0], found)]


def _digits(number: str) -> str:
    return re.sub(r"\D", "", number)


def _form(number: str) -> tuple[str, bool]:
    """Return the digits of a number, and whether it ends in one or two decimals, so that 12,50 is not 1250."""
    return _digits(number), re.search(r"\D\d\d?\Z", number) is not None


def _forms(number: str) -> set[tuple[str, bool]]:
    """Return the form of a number; for an hour or a time of day also those half a day earlier or later."""
    forms = {_form(number)}
    hour, *minutes = re.split(r"\D", number)
    if len(hour) > 2 or len(minutes) > 1 or (minutes and len(minutes[0]) != 2):
        return forms
    hours = {h % (2 * _HALF_DAY) for h in (int(hour), int(hour) - _HALF_DAY, int(hour) + _HALF_DAY) if int(hour) <= 24}
    written = {text for h in {*hours, *({24} if 0 in hours else ())} for text in (str(h), f"{h:02}")}
    forms |= {(h + "".join(minutes or ["00"]), True) for h in written}
    if not minutes or minutes[0] == "00":
        forms |= {(h, False) for h in written}
    return forms


def _has_groups(number: re.Match[str], groups: Counter[str]) -> bool:
    """Return whether all groups of digits of a number are there, in a date without the month; then take them away."""
    needed = re.findall(r"\d+", number[0])
    date = _DATE.match(number.string, number.start())
    if date and date.end() == number.end():
        needed = [group for group in needed if int(group) > _HALF_DAY] or needed[:1]
    used = [next((form for form in (group, group.lstrip("0")) if groups[form] > 0), None) for group in needed]
    if None in used:
        return False
    groups.subtract(form for form in used if form is not None)
    return True


def _has_scale(number: str, found: Iterable[str]) -> bool:
    """Return whether a decimal times a thousand, a million and so on is there, as 3500000 is for 3,5 million."""
    *_, decimals = re.split(r"\D", number)
    digits, others = _digits(number).lstrip("0"), {_digits(other) for other in found}
    powers = (n - len(decimals) for n in (3, 6, 9, 12)) if decimals != number else ()
    return any(n >= 0 and digits + n * "0" in others for n in powers)


def _with_digits(text: str, language: str) -> str:
    """Return the text with spelled-out numbers in digits, for languages known to text2num."""
    from text_to_num import alpha2digit

    if rules := languages.find(language):
        text = rules.number_endings.sub(" ", text)
    text = _HYPHEN.sub(" ", text)
    try:
        return _YEAR.sub(r"\1\2 \1 \2", str(alpha2digit(text, language, threshold=0)))
    except ValueError:
        return text
