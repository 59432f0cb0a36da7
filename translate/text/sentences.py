"""Division of text into sentences, and of long sentences into clauses.

A full stop, question mark or exclamation mark ends a sentence if the next word may begin one, unless the word before a
full stop is an abbreviation, an initial or an ordinal. German capitalises nouns, so a capital letter alone does not
prove a beginning: after an ordinal or an abbreviation the next word must be a frequent first word, such as "Danach".

Pieces of a text are translated or copied. Joined, they are the text again, so no rule can lose anything.
"""

import bisect
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

from translate.text import languages
from translate.text.languages import Language
from translate.text.placeholders import BEGINS_PICTURE, PLACEHOLDER, PROSE_ENTITY, may_match, placeholder_spans

if TYPE_CHECKING:
    from translate.text.headings import Headings
    from translate.text.references import References

_CLOSING = r"[\"'\u2018-\u201f\u2039\u203a\u00bb\u00ab)\]*_]"
_OPENING = r"[\"'\u2018-\u201f\u2039\u203a\u00bb\u00ab(\[\u00bf\u00a1\u2013\u2014*_-]{0,60}\s?"
_OBJECT = "\ufffc"  # stands for the characters of a picture
_NEXT = re.compile(rf"(?P<open>{_OBJECT}*+{_OPENING})(?P<word>\w[\w'\u2019]{{0,40}})?")
_WORD_BEFORE = re.compile(r"[^\s(\[\"\u201a-\u201f\u2039\u203a\u00bb\u00ab/\u2013\u2014-]*$")
_AFTER_NUMBER = re.compile(r"\d\s?\Z")
# Up to 39: longer ones may be sizes and abbreviations, and so may single letters.
ROMAN_NUMERAL = re.compile("(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3})")
_DAY_AND_MONTH = re.compile(r"[0-3]?\d\.(?:0?[1-9]|1[0-2])")  # 24.12.
_APOSTROPHE = re.compile("['\u2019]")  # it's, I'm
_REACH = 40  # characters before a full stop that are checked
# Columns (a bar, three spaces or a tab apart) and control characters separate sentences too.
_LINE = re.compile(r"(?:[^\x00-\x20\x7f\x85\u2028\u2029|]|(?<=\S)\||\|(?=\S)| {1,2}(?! ))+")
# A line of labels, or the forms of a plural, with bars alone between them. Other bars may be code.
_LABEL = r"(?=[^|]*?[^\W\d_]{2})[^|<>{}\[\]()=`$\\]++"
_LABELS = re.compile(rf"{_LABEL}(?:\|{_LABEL})++")
_REFERENCE = re.compile(
    "\\[[^\\[\\]]*\\]|\\^\\[.*|[\u00b9\u00b2\u00b3\u2070-\u2079]+"
)  # [1] ^[Note.] and superscript digits
_BULLET = re.compile(
    r"\s*(?:(?:[-*+\u2013\u2014\u2039\u203a]|#{1,6}|\(?\d{1,3}(?:\.?\)|\.)|\(?(?:[A-Za-z]|[ivx]{1,6}|[IVX]{1,6})\.?\)"
    r"|(?:[ivx]{2,6}|[IVX]{2,6})\.)\s+"
    r"|>{1,9}\s*|-(?=[^\W\d_a-z][a-z\u00df-\u00ff])|[\u2022\u2023\u25aa\u25cf\u25b6\u25ba\u25e6\u2713\u2714\u27a4]\s*)+"
)

# In French these marks have a space before them, and belong to the text before it.
_ALONE = r"(?=[\s.,!?;:)\u00bb]|\Z)"
_QUOTE_ALONE = rf"\u00bb{_ALONE}"
# In order of preference; a match ends where the next part may begin.
_CUTS = (
    # No full stop after one or two letters, which may be an abbreviation.
    re.compile(
        rf"(?:(?<=\w\w\w)\.|[!?;:\u2026])(?:[\"'\u201c\u201d\u00bb\u00ab)\]]|\s{_QUOTE_ALONE})*\s++(?!{_QUOTE_ALONE})"
        r"|\s[\u2013\u2014]\s"
    ),
    re.compile(r",\s+"),
    re.compile(rf"(?<=[\w)\u00bb])\s++(?![!?;:\u00bb]{_ALONE})|(?<![\w)\u00bb])\s++"),
)
_MARGIN = 0.25  # share of the text at either end in which it is not divided

_LONGEST_LINE = 2**16  # characters
_LIKELY_END = re.compile(r"\n|(?<=\w{5})[.!?][\"'\u201c\u201d\u00bb)]{0,3}\s+(?=[^\W\d_a-z\u00df-\u00ff])")
_SPACE = re.compile(r"\s+")
_BLANKS = "\t\u00a0\u2000-\u200a\u202f\u205f"
_SPACES = re.compile(f"[{_BLANKS}][ {_BLANKS}]*| [ {_BLANKS}]+")
# Soft hyphen, zero-width characters and marks of writing direction: a model has seen few and invents words for them.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
# Ligatures of Latin letters, as in text copied from a PDF; the long s; bold and italic letters of social media.
_LIGATURE = re.compile("[\u017f\ufb00-\ufb06\U0001d400-\U0001d7ff]")
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})
_BLANK_ENTITY = re.compile(r"&(?:nbsp|e[nm]sp|thinsp|#0*160|#[xX]0*[aA]0);")
_ACCENT = re.compile(r"(?<=\w)[\u00b4`](?=\w)")  # typed for an apostrophe
_INCLUSIVE = re.compile(r"[^\W\d](?:[*:_\u00b7/(\\]|I)[^\W\d_]|\\[*:_]|/-|\(i|e\.s\b")  # may be a form for all genders
_SINGLE_QUOTE = re.compile("[\u2018\u201a\u201b\u2039\u203a]")  # a model has seen few


@dataclass(frozen=True)
class Piece:
    """Part of a text.

    Attributes:
        translate: whether it is translated or copied.
        form: how the format writes the text: in a cell of a table, "quoted" if each quotation mark is written twice,
            "unquoted" if that holds for other cells, "comma" in CSV, "plain" otherwise; in subtitles "capitals" for a
            name or sound, "cues" for a sentence in several cues or with codes; "title" in quotation marks of Markdown
            and "single" in single ones; "language" for a tag of HTML that states the language and "code" for its code
            in front matter; "yaml" or "toml" for a string of front matter, with its quotes; "grid" for a grid table;
            "block" where a mark at the beginning of the text would begin another block of Markdown.
        headings: those of the text if the piece links to one of them.
        references: the definitions of the text if the piece links to one of them by its label alone.
    """

    text: str
    translate: bool
    form: Literal[
        "",
        "plain",
        "unquoted",
        "comma",
        "quoted",
        "capitals",
        "title",
        "single",
        "language",
        "code",
        "yaml",
        "toml",
        "cues",
        "grid",
        "block",
    ] = ""
    headings: "Headings | None" = field(default=None, compare=False, repr=False)
    references: "References | None" = field(default=None, compare=False, repr=False)


def pieces(text: str, spans: list[tuple[int, int]]) -> list[Piece]:
    """Divide `text` so that the spans, in ascending order, are translated and the text between them is copied.

    White space at the ends of a span, also as entities, and spans without letters and digits are copied too.
    """
    found: list[Piece] = []
    done = 0
    for start, stop in spans:
        part = text[start:stop]
        if not re.search(r"\w", readable(part) if "&" in part else part):  # the letters of &nbsp; are no word
            continue
        part = _blanked(part)
        start, stop = start + len(part) - len(part.lstrip()), stop - len(part) + len(part.rstrip())
        if done < start:
            found.append(Piece(text[done:start], translate=False))
        found.append(Piece(text[start:stop], translate=True))
        done = stop
    if done < len(text):
        found.append(Piece(text[done:], translate=False))
    return found


def _blanked(text: str) -> str:
    """Return the text with white space for the entities of white space, as long as they are."""
    return _BLANK_ENTITY.sub(lambda match: "\u00a0" * len(match[0]), text)


def _parts(text: str) -> Iterator[str]:
    """Divide a text into parts that are about _LONGEST_LINE long, at a line break or the likely end of a sentence, or
    else at white space; not within braces or a tag.

    A regular expression lets no other thread run, so it should not read a million characters at once.
    """
    start = 0
    while len(text) - start > _LONGEST_LINE:
        stop = start + _LONGEST_LINE
        for opening, closing in ("<>", "{}"):
            if text.rfind(opening, start, stop) > text.rfind(closing, start, stop):
                stop = max(stop, text.find(closing, stop))
        end = _LIKELY_END.search(text, stop, stop + _LONGEST_LINE // 4) or _SPACE.search(text, stop)
        stop = end.end() if end else len(text)
        yield text[start:stop]
        start = stop
    if start < len(text):
        yield text[start:]


def split(text: str, language: str, markup: re.Pattern[str] = PLACEHOLDER) -> list[Piece]:
    """Divide `text` into sentences to translate and white space, bullets and numbering to copy.

    Args:
        text: anything; a line break ends a sentence; so do, outside of markup, a bar between spaces or between the
            labels of a line (`A house|Two houses`), a tab and three spaces.
        language: language code; one without a file has the rules of `languages.general`.
        markup: matches text in which no sentence ends.
    """
    rules = languages.find(language) or languages.general()
    if len(text) > _LONGEST_LINE and len(parts := list(_parts(text))) > 1:
        return [piece for part in parts for piece in split(part, language, markup)]
    solid = shown = _blanked(text)
    kept = list[tuple[int, int]]()
    if may_match(text, markup):
        solid, shown, kept = _without_markup(shown, markup)
    lines = [part for line in _LINE.finditer(solid) for part in _labels(solid, *line.span())]
    return pieces(text, [span for start, stop in lines for span in _sentences(shown[start:stop], start, rules, kept)])


def _without_markup(text: str, markup: re.Pattern[str]) -> tuple[str, str, list[tuple[int, int]]]:
    """Return a text with letters for its markup but for line breaks and bars, one with signs, and the spans of letters.

    Both are made in one pass: the pattern of markup is the slowest of all.
    """
    solid, shown, kept, end = list[str](), list[str](), list[tuple[int, int]](), 0
    for match in markup.finditer(text):
        before, code = text[end : match.start()], match[0]
        ends_line = "\n" in code or code == "|"
        kept += [] if ends_line else [match.span()]
        solid += [before, code if ends_line else "x" * len(code)]
        shown += [before, _as_sign(match)]
        end = match.end()
    return "".join([*solid, text[end:]]), "".join([*shown, text[end:]]), kept


def _labels(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the spans of the labels of a line, or that of the line if it is none of labels."""
    if text.find("|", start, stop) < 0 or not _LABELS.fullmatch(text, start, stop):
        return [(start, stop)]
    return [label.span() for label in re.compile(r"[^|]+").finditer(text, start, stop)]


def _as_sign(match: re.Match[str]) -> str:
    """Return tags, marks of emphasis, emoji and references as asterisks, which may follow the mark of a sentence.

    A picture is one between sentences, which may have no white space around it.
    """
    if BEGINS_PICTURE.match(match[0]):
        return _OBJECT * len(match[0])
    is_sign = match[0].startswith("<") or not re.search(r"\w", match[0]) or _REFERENCE.fullmatch(match[0])
    return "*" * len(match[0]) if is_sign else match[0]


def _sentences(line: str, offset: int, language: Language, kept: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans, in the text, of the sentences of a line that begins at `offset`; none ends within `kept`."""
    found, start, is_chat = [], _after_bullet(line, language), line.islower()
    for match in _mark(language.marks, language.unspaced_marks, language.spaced_quotes).finditer(line, start):
        if _ends(line, match, language, is_chat) and not _is_within(offset + match.start("space"), kept):
            found.append((start, match.start("space")))
            start = match.end()
    found.append((start, len(line)))
    return [(offset + a, offset + b) for a, b in found]


@cache
def _mark(marks: str, unspaced_marks: str, spaced_quotes: str) -> re.Pattern[str]:
    """Return the pattern of marks that may end a sentence, with closing quotation marks and white space after them.

    Args:
        marks, unspaced_marks, spaced_quotes: see `translate.text.languages.Language`.
    """
    closing = f"{_CLOSING}|\\s?[{re.escape(spaced_quotes)}]" if spaced_quotes else _CLOSING
    other = re.escape(marks + unspaced_marks)
    space = rf"\s{{1,100}}|(?={_OBJECT})"
    space += rf"|(?<=[{re.escape(unspaced_marks)}])" if unspaced_marks else ""
    return re.compile(
        rf"(?P<mark>\.{{2,6}}|\u2026|\.|[!?{other}][!?.\u2026{other}]{{0,20}})"
        rf"(?P<close>(?:{closing}){{0,60}})(?P<space>{space})"
    )


def _is_within(place: int, spans: list[tuple[int, int]]) -> bool:
    """Return whether one of the ordered spans contains `place`."""
    i = bisect.bisect(spans, (place, place))
    return i > 0 and place < spans[i - 1][1]


def _after_bullet(text: str, language: Language) -> int:
    """Return the position after bullets, hashes and numbering; "3. Oktober" is a date, not numbering."""
    bullet = _BULLET.match(text)
    if bullet is None:
        return 0
    is_date = language.ordinal_nouns and language.ordinal_nouns.match(text, bullet.end())
    return 0 if is_date else bullet.end()


def _ends(text: str, match: re.Match[str], language: Language, is_chat: bool) -> bool:
    """Return whether a sentence ends at this mark; `is_chat` for a line without capitals, as in chats."""
    before = language.before_capital.match(text, match.end())
    start = before.end() if before else match.end()
    after = _NEXT.match(text, start)
    word = after["word"] if after else None
    if not after or not word:
        return False
    reach = text[max(0, match.start() - _REACH) : match.start()]
    last = _WORD_BEFORE.findall(reach)[0].lstrip("'\u2018\u2019*_")
    if word[0].islower() and not (is_chat and _ends_in_chat(match["mark"], last, language)):
        return False
    if match["mark"] != ".":
        return not (language.speech and match["close"] and language.speech.match(text, match.end()))
    if match["close"] and not match["close"].startswith((")", "*", "_")):
        return True  # an abbreviation at the end of a quotation is rarer than a sentence there
    if last in language.units and _AFTER_NUMBER.search(reach.removesuffix(last)):
        return not word[0].isdigit()
    if language.ordinal_nouns and ROMAN_NUMERAL.fullmatch(last) and not _is_cardinal(reach, language):
        return _begins(word, language)
    return _full_stop_ends(last, word, text[start : start + 12], language)


def _is_cardinal(text: str, language: Language) -> bool:
    """Return whether the numeral that ends a text is the number of a label or an abbreviation, as in "SGB II"."""
    *_, label, _ = ["", *text.split()]
    is_abbreviation = len(label) > 1 and label.isupper() and label.lower() not in language.starters
    return is_abbreviation or label.lower().rstrip(".") in language.labels


def _begins(word: str, language: Language) -> bool:
    """Return whether a word is a frequent first word of sentences, so that one ends before it without doubt."""
    return _APOSTROPHE.split(word.lower())[0] in language.starters


def _ends_in_chat(mark: str, last: str, language: Language) -> bool:
    """Return whether a mark after the word `last` ends a sentence although the next one begins in lower case."""
    if mark == ".":
        return last.isalpha() and len(last) > 2 and last not in language.final_abbreviations
    return mark[0] in "!?"


def _full_stop_ends(last: str, word: str, rest: str, language: Language) -> bool:
    """Return whether the full stop between `last` and `word` ends the sentence; `rest` begins with `word`."""
    begins = _begins(word, language)
    key = last.lower()
    if language.ordinal_nouns and _DAY_AND_MONTH.fullmatch(last):
        return begins
    if last.isdigit():
        return language.ordinal_nouns is None or (not language.ordinal_nouns.match(rest) and (begins or len(last) > 3))
    is_street = language.street is not None and key.endswith(language.street)
    if word[0].isdigit() and (key in language.numbered_abbreviations or is_street):
        return False
    if last in language.abbreviations and last != key:  # M. Le Guen
        return False
    if key in language.final_abbreviations:
        return begins
    if re.fullmatch(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}", last):  # z.B. d.h. e.g. i.e. J.S.
        return begins and last[-1].isupper()
    if len(last) == 1 and last.isalpha():  # z. B., u. a., J. S. Bach; but English "I." and "Plan B. Then"
        is_name = word == "I" or re.match(r"\w\.", rest)  # A. A. Milne
        return begins and last.isupper() and language.letter_ends_sentence and not is_name
    return key not in language.abbreviations


def lacks_space(translation: str, source: str) -> bool:
    """Return whether a space goes after a translation although none goes after its source, as in Chinese."""
    unspaced = tuple(languages.general().unspaced_marks)
    return bool(translation) and source.endswith(unspaced) and not translation.endswith(unspaced)


def between(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> list[Piece]:
    """Divide the sentence: placeholders are copied, and the text between them is translated piece by piece."""
    ends = [0, *(end for span in placeholder_spans(sentence, pattern) for end in span), len(sentence)]
    return pieces(sentence, list(zip(ends[::2], ends[1::2], strict=True)))


def cut(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Divide `text` near the middle, again and again, until every part fits or is a single character.

    White space around a part is left out.
    """
    part = text.strip()
    if len(text) <= 1 or fits(part):
        return [part] if part else []
    here = _cut_near_middle(text)
    return [*cut(text[:here], fits), *cut(text[here:], fits)]


def _cut_near_middle(text: str) -> int:
    """Return the position nearest to the middle after the best kind of mark."""
    middle = len(text) // 2
    low, high = int(len(text) * _MARGIN), len(text) - int(len(text) * _MARGIN)
    for marks in _CUTS:
        ends = [match.end() for match in marks.finditer(text, low, high) if 0 < match.end() < len(text)]
        if ends:
            return min(ends, key=lambda end: abs(end - middle))
    return middle


def readable(text: str, language: str | None = None) -> str:
    """Return the text with composed letters (NFC), single plain spaces, plain hyphens and no invisible characters.

    Forms for all genders, of a language that is given, become those of one. Entities of letters and punctuation are
    decoded, ligatures spelled out, and letters of mathematical fonts made plain. Single quotation marks, and accents
    typed for an apostrophe, become plain apostrophes. White space at either end stays.
    """
    body = text.strip()
    start = text.index(body)
    before, after = text[:start], text[start + len(body) :]
    body = PROSE_ENTITY.sub(lambda match: html.unescape(match[0]), body)
    body = _LIGATURE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), body)
    body = unicodedata.normalize("NFC", _INVISIBLE.sub("", body)).translate(_MINUS)
    body = _ACCENT.sub("'", body)
    if _SINGLE_QUOTE.search(body):
        body = _SINGLE_QUOTE.sub("'", body.replace("\u2019", "'"))
    body = _SPACES.sub(" ", body)
    return before + (_in_one_gender(body, language) if language and _INCLUSIVE.search(body) else body) + after


def _in_one_gender(text: str, language: str) -> str:
    """Return the text with a form that models have read in place of each form for all genders."""
    rules = languages.find(language)
    if rules is None:
        return text
    # Compiled here, by `re` and its cache: most texts have none of these forms, and compiling takes 4 ms.
    n_plurals = sum(
        len(re.findall(pattern, text)) for pattern, singular, plural in rules.inclusive if singular != plural
    )
    for pattern, singular, plural in rules.inclusive:
        form = plural if n_plurals > 1 else singular

        def in_same_case(match: re.Match[str], form: str = form) -> str:
            word = match.expand(form)
            return word[0].upper() + word[1:] if match[0][0].isupper() else word

        text = re.sub(pattern, in_same_case, text)
    return text
