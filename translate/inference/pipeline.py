"""From text to text in five stages: segment, protect, search, check, restore.

    segment   a text becomes sentences to translate, and white space, bullets and numbering to copy
    protect   placeholders of a sentence become symbols; a sentence that needs no translation is kept as a whole
    search    a model translates the protected sentences
    check     mistakes are flagged, and some are searched again in another form or under a rule
    restore   the originals replace the symbols, and the layout returns to its place

Formatting, such as paired tags, leaves a text before these stages and returns after them; see
`translate.inference.formatting`.

Each stage is a function over sentences. The model is a function too, so this module knows none. Nothing edits the words
that the model wrote, only white space: a check flags a translation or takes that of another search, and the last stage
restores the source, or a target term of the glossary, byte for byte.
"""

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from translate.text import languages, placeholders, plurals, sentences
from translate.text.placeholders import MAY_BE_MARKED, PLACEHOLDER, Protected, without_symbols
from translate.text.sentences import Piece
from translate.text.spaces import with_special_spaces
from translate.text.translation import Translation, join

if TYPE_CHECKING:  # imported where a text has formatting or a glossary: a plain one starts sooner
    from translate.inference.formatting import Aligner
    from translate.text.glossary import FoundTerm, Glossary

Translations = dict[str, Translation]  # of each sentence; in the checks, of each protected one

NO_REPEAT = 3  # length in tokens of the sequences that a new search may not repeat

_NOTHING = re.compile(r"(?!)")
_LONGEST_PERIOD = 8  # longest sequence, in words, whose repetition is detected
_STUTTER = re.compile(r"(\w{1,4}?)\1{7,}")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")
_ROMAN = re.compile(r"(?<!\w)[IVX]{2,7}(?!\w)")  # perhaps a numeral
_ENDS_IN = re.compile(r"(?<!\w)([^\W\d_]+)\.\W*\Z")  # the last word, before a full stop
_WITHOUT_SIGNS = re.compile(r"[\w\s.,;:!?]*+")  # neither % nor a minus
_LETTERS_AND_MARKS = re.compile(r"[\w\u0300-\u036f\u0900-\u0dff]+")


class Model(Protocol):
    """A model and its search, as a function from sentences to their translations."""

    def __call__(self, texts: Sequence[str], no_repeat: int = 0, /) -> Translations:
        """Return the translation of each distinct sentence.

        Args:
            no_repeat: no sequence of this many tokens may occur twice in a translation; 0 allows all.
        """


def never_cancelled() -> None:
    """Raise nothing: the work goes on to its end."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The settings of the stages.

    Attributes:
        n_symbols: number of placeholder symbols that the model knows.
        segments: whether a text may hold several sentences. If not, it is one sentence, character for character.
        checks: whether translations are checked, and sentences that need no translation are kept.
        markup: matches placeholders.
        glossary: terms with their translations; None has none.
        knows: returns whether the model can read and write a word; others are copied.
        aligner: aligns sentences that have formatting with their translations; without one, marks of formatting are
            placeholders.
        raise_if_cancelled: called before the work on each sentence; may raise an exception to give up.
    """

    source: str
    target: str
    n_symbols: int = 0
    segments: bool = True
    checks: bool = True
    markup: re.Pattern[str] = PLACEHOLDER
    glossary: "Glossary | None" = None
    knows: Callable[[str], bool] = lambda word: True
    aligner: "Aligner | None" = None
    raise_if_cancelled: Callable[[], None] = never_cancelled

    @property
    def is_bare(self) -> bool:
        """Whether each text is left to the model alone, as by `Document.is_bare`."""
        return not self.segments and not self.checks


@dataclass(frozen=True)
class ProtectedSentence:
    """A protected sentence.

    Attributes:
        text: what is searched, with symbols.
        originals: what the symbols stand for: parts of the source, and target terms.
        before, after: layout around it, such as an emoji or the tags of an element.
        kept: the flag that says why the sentence is copied instead; "" if it is searched.
        n_terms: number of target terms among the originals.
    """

    text: str
    originals: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    kept: str = ""
    n_terms: int = 0


def translate(texts: Sequence[str], model: Model, rules: Rules) -> list[Translation]:
    """Return the translation of each text; each distinct sentence is translated once."""
    segmented = [segment(text, rules) for text in texts]
    wanted = _distinct(piece.text for pieces in segmented for piece in pieces if piece.translate)
    found = translate_sentences(wanted, model, rules)
    return [_joined(pieces, found) for pieces in segmented]


def _joined(pieces: Sequence[Piece], found: Translations) -> Translation:
    """Return the translation of a text from those of its sentences."""
    pairs = tuple(_pairs(pieces, found))
    return replace(join([translation for _, translation in pairs]), sentences=pairs)


def _pairs(pieces: Sequence[Piece], found: Translations) -> Iterator[tuple[str, Translation]]:
    """Yield source and translation of each piece, with a space between two sentences that have none in the source."""
    for piece, following in itertools.zip_longest(pieces, pieces[1:]):
        translation = found[piece.text] if piece.translate else Translation(piece.text)
        if following is not None and following.translate and sentences.lacks_space(translation.text, piece.text):
            translation = replace(translation, text=f"{translation.text} ")
        yield piece.text, translation


# How models read signs of HTML, and how a translation has them.
_SPELLINGS = (
    (placeholders.with_ampersands, placeholders.with_entities),
    (placeholders.with_spaces_at_breaks, placeholders.without_spaces_at_breaks),
)


def translate_sentences(texts: Sequence[str], model: Model, rules: Rules) -> Translations:
    """Return the translation of each sentence; texts in its placeholders are translated by themselves.

    What a model cannot read is taken out and put back by three functions, each of which calls the next:
    `_translate_formatted` does so with formatting, `_translate_plain` with placeholders and terms, and
    `_translate_protected` searches and checks what is left.
    """
    for as_read, as_written in () if rules.is_bare else _SPELLINGS:
        read = {text: as_read(text, rules.markup) for text in texts}
        changed = [text for text in texts if read[text] != text]
        if changed:
            found = translate_sentences(_distinct(read.values()), model, rules)
            written = {text: as_written(found[read[text]].text, text, rules.markup) for text in changed}
            return found | {text: replace(found[read[text]], text=said) for text, said in written.items()}
    found = _translate_formatted(texts, model, rules)
    if rules.is_bare:
        return found
    found |= translate_messages(found, model, rules)
    if not rules.segments:
        return found
    return {text: replace(said, text=with_special_spaces(said.text, text)) for text, said in found.items()}


def _translate_formatted(texts: Sequence[str], model: Model, rules: Rules) -> Translations:
    """Return the translation of each sentence; formatting is taken out before and put back after all else."""
    if rules.aligner is None or rules.is_bare:
        return _translate_plain(texts, model, rules)
    marked = [text for text in texts if MAY_BE_MARKED.search(text)]
    if not marked:
        return _translate_plain(texts, model, rules)
    from translate.inference import formatting

    formatted = {text: plain for text in marked if (plain := formatting.take_out(text, rules.markup)).elements}
    wanted = _distinct(formatted[text].text if text in formatted else text for text in texts)
    found = _translate_plain(wanted, model, rules)
    pairs = {
        text: formatting.pair(plain, found[plain.text].text, rules.markup, lambda part: _clean(part, rules))
        for text, plain in formatted.items()
        if found[plain.text].text != plain.text
    }
    placed = dict(zip(pairs, formatting.put_back(list(pairs.values()), rules.aligner, rules.n_symbols), strict=True))
    unplaced = [text for text in texts if text in placed and placed[text] is None]
    with_marks = _translate_plain(unplaced, model, rules) if unplaced else {}  # as placeholders
    best = {}
    for text in texts:
        if text not in formatted:
            best[text] = found[text]
        elif text in with_marks:
            best[text] = with_marks[text]
        else:  # a copy is the source, formatting included
            best[text] = replace(found[formatted[text].text], text=placed.get(text) or text)
    return best


def _translate_plain(texts: Sequence[str], model: Model, rules: Rules) -> Translations:
    """Return the translation of each sentence: protected, searched, checked and restored.

    Where a model has too few symbols or loses one, the text between the placeholders is translated piece by piece.
    Sentences whose translation lacks a term of the glossary are searched again with symbols for terms.
    """
    if rules.is_bare:
        found = model(texts)
    else:
        found = _translate_protected({text: protect(text, rules) for text in texts}, model, rules)
        if lost := [text for text in texts if text not in found]:
            found |= _between_placeholders(lost, model, replace(rules, glossary=None))
    return found if rules.glossary is None else check_terms(found, model, rules, rules.glossary)


def _translate_protected(protected: Mapping[str, ProtectedSentence], model: Model, rules: Rules) -> Translations:
    """Return the translation of each sentence that has few enough symbols and keeps them all."""
    fitting = {text: sentence for text, sentence in protected.items() if len(sentence.originals) <= rules.n_symbols}
    wanted = _distinct(sentence.text for sentence in fitting.values() if not sentence.kept)
    answers = check(model(wanted), model, rules) if rules.checks else model(wanted)
    found = {}
    for text, sentence in fitting.items():
        restored = _copy(text, sentence) if sentence.kept else restore(answers[sentence.text], sentence)
        if restored is not None:
            found[text] = restored
    return found


def _copy(text: str, sentence: ProtectedSentence) -> Translation:
    """Return a sentence that is kept, with the target terms in it if they are all of its words."""
    if sentence.kept == "copied" and sentence.n_terms:
        return restore(Translation(sentence.text), sentence) or Translation(text)
    return Translation(text).flagged(sentence.kept)


def _between_placeholders(texts: Sequence[str], model: Model, rules: Rules) -> Translations:
    """Translate the text between placeholders, which stay in their places."""
    divided = {text: sentences.between(text, rules.markup) for text in texts}
    return _piece_by_piece(divided, model, replace(rules, markup=_NOTHING))


def _piece_by_piece(divided: Mapping[str, Sequence[Piece]], model: Model, rules: Rules) -> Translations:
    """Return the translation of each text from those of its pieces."""
    wanted = _distinct(piece.text for pieces in divided.values() for piece in pieces if piece.translate)
    answers = translate_sentences(wanted, model, rules)
    found = {}
    for text, pieces in divided.items():
        whole = join([answers[piece.text] if piece.translate else Translation(piece.text) for piece in pieces])
        flags = {"placeholders", *whole.flags} - {"copied"}
        found[text] = replace(whole, flags=tuple(sorted(flags)))
    return found


@dataclass(frozen=True)
class _Message:
    """A placeholder with texts in it.

    Attributes:
        message: the placeholder, with the forms of ordinals that the target language has.
        texts: those in it.
        numbered: the same with a number in the place of "#", where they are those of ordinals.
        numbers: that number, "" in other texts.
    """

    message: str
    texts: Sequence[str]
    numbered: Sequence[str]
    numbers: Sequence[str]

    @classmethod
    def of(cls, message: str, rules: Rules) -> "_Message":
        spans = placeholders.branches(message)
        if "selectordinal" in message:
            message = plurals.with_ordinal_forms(message, spans, rules.source, rules.target)
            spans = placeholders.branches(message)
        numbered = plurals.numbered_branches(message, spans, rules.source, rules.target)
        texts = [placeholders.branch_text(message, *span) for span in spans]
        return cls(message, texts, [text for text, _ in numbered], [number for _, number in numbered])

    @property
    def beginning_with_numbers(self) -> list[str]:
        """The texts of ordinals that would else be items of a list: 21. Platz."""
        pairs = zip(self.numbered, self.numbers, strict=True)
        return [text for text, number in pairs if number and text.lstrip().startswith(number)]

    def translated(self, answers: Translations) -> list[Translation]:
        """Return the translations of the texts; that with a number is taken if it has the number once."""
        found = list[Translation]()
        for text, numbered, number in zip(self.texts, self.numbered, self.numbers, strict=True):
            answer = answers[numbered]
            is_taken = number and answer.text.count(number) == 1
            found.append(replace(answer, text=answer.text.replace(number, "#")) if is_taken else answers[text])
        return found


def translate_messages(found: Translations, model: Model, rules: Rules) -> Translations:
    """Return the translations with placeholders, such as messages of ICU, in which each text is translated."""
    several = {text: messages for text in found if (messages := placeholders.messages(text, rules.markup))}
    if not several:
        return {}
    parts = {
        message: _Message.of(message, rules) for message in _distinct(itertools.chain.from_iterable(several.values()))
    }
    wanted = _distinct(text for message in parts.values() for text in (*message.texts, *message.numbered))
    # "#" stands for the number in a branch.
    number = re.compile(rf"{rules.markup.pattern}|#(?!\w)", rules.markup.flags)
    rules = replace(rules, markup=number)
    answers = dict(zip(wanted, translate(wanted, model, rules), strict=True))
    ordinals = [text for message in parts.values() for text in message.beginning_with_numbers]
    answers |= translate_sentences(_distinct(ordinals), model, rules) if ordinals else {}
    best = {}
    for text, messages in several.items():
        whole = found[text]
        said, flags = whole.text, {*whole.flags} - {"copied"}
        for message in sorted(messages, key=len, reverse=True):  # one may be in the branch of another
            inside = parts[message].translated(answers)
            whole_message = placeholders.with_branches(parts[message].message, [branch.text for branch in inside])
            said = said.replace(message, whole_message)
            flags |= {flag for branch in inside for flag in branch.flags} - {"copied"}
        best[text] = replace(whole, text=said, flags=tuple(sorted(flags)))
    return best


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


# Segment


def segment(text: str, rules: Rules) -> list[Piece]:
    """Divide a text into sentences to translate and text to copy."""
    rules.raise_if_cancelled()
    if not rules.segments:
        return [Piece(text, translate=True)]
    found, end = list[Piece](), 0
    for start, stop in placeholders.block_spans(text, rules.markup):
        if not placeholders.branches(text[start:stop]):
            found += [*_sentences(text[end:start], rules), Piece(text[start:stop], translate=False)]
            end = stop
    return [*found, *_sentences(text[end:], rules)]


def _sentences(text: str, rules: Rules) -> list[Piece]:
    """Divide a text without blocks of HTML into sentences and text to copy."""

    def split(text: str) -> list[Piece]:
        return sentences.split(text, rules.source, rules.markup)

    if rules.aligner is None or not MAY_BE_MARKED.search(text):
        return split(text)
    from translate.inference import formatting

    return formatting.divide_as_plain(text, rules.markup, split)


# Protect


def protect(text: str, rules: Rules, terms: Collection[str] = ()) -> ProtectedSentence:
    """Return a sentence with symbols for its placeholders and, outside of them, in the characters that models know.

    The glossary's terms with one of the target terms `terms` become symbols too; none is found in a placeholder.
    """
    rules.raise_if_cancelled()
    before, inner, after = placeholders.unframed(placeholders.protect(text, rules.markup))
    inner = replace(inner, text=_clean(inner.text, rules))
    found = (
        [term for term in rules.glossary.find(inner.text) if term.target in terms] if rules.glossary and terms else []
    )
    inner = placeholders.mask_as(inner, [(term.start, term.stop, term.target) for term in found])
    kept = _reason_to_keep(inner.text, rules.source) if rules.checks else ""
    return ProtectedSentence(inner.text, inner.originals, before, after, kept, len(found))


def _clean(text: str, rules: Rules) -> str:
    return sentences.readable(text, rules.source) if rules.segments else text


# The number of a page before the first chapter, such as iv, whose first letter models wrote as a capital.
_PAGE = re.compile(r"\W*(?=\w\w)x{0,3}(?:ix|iv|v?i{0,3})\W*")


def _reason_to_keep(text: str, source: str) -> str:
    """Return the flag that says why a sentence needs no translation; "" if it does."""
    if not has_words(text) or _PAGE.fullmatch(text):
        return "copied"
    return "language" if languages.is_foreign(placeholders.SYMBOL.sub(" ", text), source) else ""


def has_words(text: str) -> bool:
    """Return whether the text has a letter; numbers, punctuation and emoji are the same in every language."""
    return any(map(str.isalpha, text))


# Check


def check(found: Mapping[str, Translation], model: Model, rules: Rules) -> Translations:
    """Return the translations with flags, some of them of another search."""
    forms = {text: languages.capitalisations(text, rules.source) for text in found}
    others = _distinct(form for several in forms.values() for form in several if form not in found)
    every = dict(found) | (model(others) if others else {})
    every = check_repetition(every, model, rules)
    every = check_empty(every, model)
    every = check_missing(every, model, rules)
    best = {text: _most_probable(text, several, every) for text, several in forms.items()}
    return {
        text: translation.flagged("echo") if echoes(translation.text, text) else translation
        for text, translation in best.items()
    }


def _most_probable(text: str, forms: Sequence[str], found: Mapping[str, Translation]) -> Translation:
    """Return the most probable translation of the forms of a sentence; `text` is one of them."""
    best = max(forms, key=lambda form: found[form].confidence)
    return found[best] if best == text else found[best].flagged("capitals")


def echoes(output: str, source: str) -> bool:
    """Return whether three fifths of a translation's words, and at least three words, are copied from its source.

    A model copies text that it does not know, such as another language, with a high probability. Capitalised words on
    both sides may be names and do not count.
    """
    said, read = (_LETTERS.findall(text) for text in (output, source))
    names = {word for word in {*said} & {*read} if word[0].isupper()}
    counted, known = [word.casefold() for word in said if word not in names], {word.casefold() for word in read}
    return len(counted) >= 3 and 5 * sum(word in known for word in counted) >= 3 * len(counted)


def check_repetition(found: Translations, model: Model, rules: Rules) -> Translations:
    """Search again without repetitions for sentences whose translation repeats itself or does not end."""
    bad = [text for text, translation in found.items() if _is_endless(translation, text, rules)]
    again = model(bad, NO_REPEAT) if bad else {}
    best = {text: found[text] if _is_endless(again[text], text, rules) else again[text] for text in bad}
    return found | {text: translation.flagged("repetition") for text, translation in best.items()}


def _is_endless(translation: Translation, source: str, rules: Rules) -> bool:
    rules.raise_if_cancelled()
    is_long = is_overlong(translation)
    return is_long or "length" in translation.flags or loops(translation.text, source)


def is_overlong(translation: Translation) -> bool:
    """Return whether a translation has at least twice as many tokens as its source and 10 more for each segment."""
    n_ends = translation.n_segments
    limit = 2 * translation.n_source_tokens + 10 * n_ends
    return translation.n_source_tokens > 0 and len(translation.tokens) + n_ends >= limit


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


def check_empty(found: Translations, model: Model) -> Translations:
    """Search again, with the first letter in the other case, for sentences whose translation is empty."""
    others = {text: _swapped(text) for text, translation in found.items() if not translation.text.strip()}
    again = model(_distinct(others.values())) if others else {}
    return found | {text: again[other].flagged("empty") for text, other in others.items()}


def _swapped(text: str) -> str:
    """Return a text with its first letter in the other case; quotation marks and symbols before it have none."""
    i = next((i for i, character in enumerate(text) if character.swapcase() != character), 0)
    return text[:i] + text[i : i + 1].swapcase() + text[i + 1 :]


def check_missing(found: Translations, model: Model, rules: Rules) -> Translations:
    """Search again with symbols for missing numbers, words and signs; the result is taken if it lacks none."""
    lacking = {text: parts for text, said in found.items() if (parts := _missing(said.text, text, rules))}
    masked = {text: placeholders.mask(text, parts) for text, parts in lacking.items()}
    usable = {text: protected for text, protected in masked.items() if len(protected.originals) <= rules.n_symbols}
    again = model(_distinct(protected.text for protected in usable.values())) if usable else {}
    best = found | {text: found[text].flagged("missing") for text in lacking}
    for text, protected in usable.items():
        translation = again[protected.text]
        restored = placeholders.restore(translation.text, protected.originals)
        if restored is not None and not _missing(restored, text, rules) and not _is_endless(translation, text, rules):
            best[text] = replace(translation, text=restored).flagged("numbers")
    return best


def _missing(output: str, source: str, rules: Rules) -> list[tuple[int, int, str]]:
    rules.raise_if_cancelled()
    return missing(output, source, rules.source, rules.target, rules.knows)


def missing(
    output: str, source: str, source_language: str, target: str, knows: Callable[[str], bool] = lambda word: True
) -> list[tuple[int, int, str]]:
    """Return what a translation lacks of its source: start and end of each part, and what a symbol for it stands for.

    These are numbers and times of day, words in letters of another script or that the model does not know, signs such
    as % for which the target language has words, months and weekdays that became others, and an abbreviation that was
    taken for the end of the sentence. If a time of day is wrong, all of them are returned, as those of a range belong
    together.

    Args:
        output: the translation.
        source_language, target: language codes.
        knows: returns whether the model can read and write a word.
    """
    output, source = without_symbols(output), without_symbols(source)
    found = [
        *_lost_numbers(output, source, source_language, target),
        *((*span, source[slice(*span)]) for span in _missing_words(output, source, source_language, knows)),
        *_missing_signs(output, source, source_language, target),
        *((*span, source[slice(*span)]) for span in _early_end(output, source)),
        *_exchanged_names(output, source, source_language, target),
    ]
    parts = list[tuple[int, int, str]]()
    for part in sorted(found):
        if not parts or part[0] >= parts[-1][1]:
            parts.append(part)
    return parts


def _exchanged_names(output: str, source: str, language: str, target: str) -> list[tuple[int, int, str]]:
    """Return the months and weekdays that became others in the translation."""
    own = languages.find(language)
    if own is None or not any(names.search(source) for names in own.calendar_names):
        return []
    from translate.text import calendar  # most sentences name no month or weekday

    return calendar.exchanged(output, source, target, language)


def _lost_numbers(output: str, source: str, language: str, target: str) -> list[tuple[int, int, str]]:
    own = languages.find(language)
    has_digits = any(map(str.isnumeric, source)) or _ROMAN.search(source)
    if own and not has_digits and not own.hour.search(source) and not any(own.times_from_hours(source)):
        return []
    from translate.text import numbers  # takes 7 ms, which a sentence without numbers need not wait for

    lost = numbers.missing(output, source, target, language)
    if any(number.what.is_clock for number in lost):
        lost += [number for number in numbers.find(source, language) if number.what.is_clock and number.what.hours]
    parts = list[tuple[int, int, str]]()
    for number in sorted(lost):
        if not parts or number.start >= parts[-1][1]:  # several of one run are masked once
            parts.append(numbers.masked_part(number, source, language, target))
    return parts


def _missing_words(output: str, source: str, language: str, knows: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return where the words are that a translation must have letter for letter, and lacks."""
    if source.isascii():
        return []
    own = languages.find(language)
    letters, script = (frozenset(own.letters), own.script) if own else (frozenset[str](), "")
    lost, said = [], None
    for match in _LETTERS_AND_MARKS.finditer(source):
        word = match[0]
        strange = set() if word.isascii() else {letter for letter in word if not letter.isascii()} - letters
        if not strange or not (any(_is_in_another_script(letter, script) for letter in strange) or not knows(word)):
            continue
        if said is None:
            said = Counter(found[0].casefold() for found in _LETTERS_AND_MARKS.finditer(output))
        if not said[word.casefold()]:
            lost.append(match.span())
        said[word.casefold()] -= 1
    return lost


def _is_in_another_script(letter: str, script: str) -> bool:
    """Return whether a character is a letter of another script than `script`."""
    return letter.isalpha() and script not in unicodedata.name(unicodedata.normalize("NFKC", letter)[0], script)


def _missing_signs(output: str, source: str, language: str, target: str) -> list[tuple[int, int, str]]:
    """Return the signs that a translation has neither as signs nor in words, with the number beside them."""
    target_language = languages.find(target)
    if target_language is None or _WITHOUT_SIGNS.fullmatch(source):
        return []
    from translate.text import numbers

    patterns = {sign: numbers.SIGNS.get(sign) or re.compile(re.escape(sign)) for sign in target_language.signs}
    words = {
        sign: target_language.signs[sign]
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
            part = numbers.masked_part(number, source, language, target)
            held |= {i: part for i in signs if part[0] <= i < part[1]}
    return [*held.values()]


def _early_end(output: str, source: str) -> list[tuple[int, int]]:
    """Return where the source has the word with a full stop at which its translation ended too early.

    "Heinrich VIII." is all that a model may say of "Heinrich VIII. hatte sechs Frauen." A translation with more words
    than there are up to the full stop has another order: of 440,000 pairs of texts, in both directions, 35 end so.
    """
    last = _ENDS_IN.search(output)
    if last is None or last[1] not in source:
        return []
    n_words = len(_WORD.findall(output))
    places = re.finditer(rf"(?<!\w){last[1]}\.(?=\s+\w)", source)
    return [match.span() for match in places if n_words <= len(_WORD.findall(source[: match.end()]))][:1]


def check_terms(found: Translations, model: Model, rules: Rules, glossary: "Glossary") -> Translations:
    """Search again where a target term is missing: with symbols for the missing terms, then for all terms.

    Where the model loses these, the text between the terms is translated piece by piece. A translation without a term
    after all, such as that of a sentence that is kept, is flagged.
    """
    from translate.text.glossary import missing_terms

    targets = {text: _targets(text, rules, glossary) for text in found}
    lacking = {text: lost for text, said in found.items() if (lost := missing_terms(said.text, targets[text]))}
    best, kept = dict(found), set[str]()
    alone = replace(rules, glossary=None)

    def take(again: Translations) -> None:
        for text, translation in again.items():
            if not missing_terms(translation.text, targets[text], whole_words=False):
                best[text] = translation
                del lacking[text]

    for terms in (dict(lacking), targets):
        protected = {text: protect(text, rules, terms[text]) for text in lacking}
        kept |= {text for text, sentence in protected.items() if sentence.kept == "language"}
        take(_translate_protected(protected, model, alone) if protected else {})
    divided = {text: sentences.between(text, rules.markup) for text in lacking if text not in kept}
    has_markup = {text for text in divided if placeholders.placeholder_spans(text, rules.markup)}
    if has_markup:
        outside = {text: divided[text] for text in has_markup}
        take(_piece_by_piece(outside, model, replace(rules, markup=_NOTHING)))
    if has_markup != divided.keys():
        between = {text: _between_terms(text, rules, glossary) for text in divided if text not in has_markup}
        take(_piece_by_piece(between, model, replace(alone, markup=_NOTHING)))
    return best | {text: best[text].flagged("term") for text in lacking}


def _targets(text: str, rules: Rules, glossary: "Glossary") -> list[str]:
    """Return the target terms that the translation of a sentence should have."""
    rules.raise_if_cancelled()
    protected = placeholders.protect(text, rules.markup)
    return [term.target for term in glossary.find(_clean(protected.text, rules))]


def _between_terms(text: str, rules: Rules, glossary: "Glossary") -> list[Piece]:
    """Divide a sentence at its terms, which are copied as target terms."""
    clean = _clean(text, rules)
    terms = glossary.find(clean)
    ends = [0, *(end for term in terms for end in (term.start, term.stop)), len(clean)]
    found, start = [], 0
    for piece in sentences.pieces(clean, list(zip(ends[::2], ends[1::2], strict=True))):
        stop = start + len(piece.text)
        own = [term for term in terms if start <= term.start < stop]  # none where the piece is translated
        found.append(replace(piece, text=_with_targets(clean[:stop], start, own)))
        start = stop
    return found


def _with_targets(text: str, start: int, terms: Iterable["FoundTerm"]) -> str:
    """Return the text from `start` on with target terms in place of its terms."""
    parts = list[str]()
    for term in terms:
        parts += [text[start : term.start], term.target]
        start = term.stop
    return "".join([*parts, text[start:]])


# Restore


def restore(translation: Translation, sentence: ProtectedSentence) -> Translation | None:
    """Return the translation with originals and layout; None if a symbol is missing, or marks have lost their words.

    A symbol that a sentence without placeholders does not have stays and is flagged.
    """
    if not sentence.originals:
        framed = sentence.before or sentence.after
        whole = (
            replace(translation, text=sentence.before + translation.text + sentence.after) if framed else translation
        )
        return whole.flagged("symbol") if placeholders.SYMBOL.search(translation.text) else whole
    protected = Protected(sentence.text, sentence.originals)
    text = placeholders.restore(placeholders.without_space_in_marks(translation.text, protected), sentence.originals)
    if text is None or placeholders.is_emptied(translation.text, protected):
        return None
    return replace(translation, text=sentence.before + text + sentence.after)
