"""Formatting within a sentence: paired marks leave it before the search and return around the words that carry them.

A pair is two tags of HTML, XML, a subtitle or BBCode, two shortcodes of Hugo, the marks of emphasis, or both halves of
a link. The model reads and writes the sentence without them, so its words are those of the same sentence without
formatting. `take_out` finds the pairs, `put_back` writes them into the translation:

- A pair stands around the words that give at least half of their attention to its words in the source, as one run: the
  run with the greatest sum of shares above one half. Where no word gives half, half of the greatest share counts, so
  the run is the smallest that holds all candidates. The attention is squared and balanced first: words such as articles
  read what the next word does too, and so count less there.
- Where the share of a word at either end of the run is between 0.2 and 0.8, the runs with and without it compete: the
  model gives the probability of each, with symbols for the marks on both sides. By it alone, auxiliaries and articles
  are inside too often, so a share counts too, as the probability that its word is inside.
- Pairs are placed from the outermost to the innermost: one within another stays among the words of that one, and pairs
  beside each other have no word in common, so none crosses another. Pairs that cross in the source are nested: the one
  that opens first holds the other. Where no word is left for a pair, it is put into its nearest neighbour; so it is
  where none gives half, and a word of that neighbour more than all others: two parts of a verb may be one word. Marks
  of Markdown are not put within their like.
- A pair around a part of a word, such as the 2 in m2, is around the same part of its word if this has it; one around
  the first letter of a sentence, an initial, is around that of the translation, with marks before it.
- A pair around all words of a sentence, or of another pair, is around all of them in the translation too.
- A mark whose partner is in another sentence, and a pair around nothing, stand beside the same word as in the source: a
  pair without white space before it, such as the reference to a note, after the word before it, and after a comma
  there if it is in the source.
- The reference to a note after a word, such as [^1], [1] and *, is a mark without a partner, and one by itself in an
  element, as in <sup>[1]</sup>, stays in it. One that stands for a word, as in "see [1]", is a placeholder.
- A time within a cue of WebVTT stands before the same word as in the source, and times stay in order.
- White space is outside of a pair; punctuation at its ends is inside where it is in the source. A mark whose partner is
  in another sentence, with white space on both sides, has it in the translation too.

Elements of blocks, images, line breaks, code and variables are no formatting: they are placeholders, which stay in the
sentence as symbols.
"""

import bisect
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from transformer.config import Attention
from translate.text.placeholders import (
    CRITIC,
    EMPHASIS,
    INLINE_NOTE,
    KINDS,
    LINK_ENDS,
    MAY_BE_MARKED,
    MOST_SYMBOLS,
    SYMBOL,
    TAG,
    placeholder_spans,
    protect,
    symbol,
    without_symbols,
)
from translate.text.sentences import Piece

Span = tuple[int, int]

_HALF = 0.5  # of the attention of a word
_BLANKS = (" ", "\u00a0")
_HERE = "\ue000"  # of private use, and so never in a protected text
_LEAST = 1e-6  # a squared weight
_UNCERTAIN = 0.2  # a share from this to 1 minus this does not decide by itself
_WEIGHT = 6.0  # of the log-odds of shares beside the log-probability of the model
_LONGEST = 2**13  # characters; a longer sentence has more tokens than can be aligned
_ROUNDS = 3  # of balancing; more change little
# Elements that are no formatting: those without an end, and blocks.
_OTHER_ELEMENTS = re.compile(
    "area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr"
    "|address|article|aside|blockquote|body|caption|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]"
    "|head|header|html|li|main|nav|ol|option|p|pre|script|section|select|style|summary|table|tbody|td|template"
    "|textarea|tfoot|th|thead|title|tr|ul"
)
# Certain to be formatting where their partner is in another sentence; <name> may be a variable.
_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|big|c|cite|del|dfn|em|font|i|ins|label|mark|q|s|small|span|strike|strong|sub|sup|time|tt|u"
    r"|g+x*\d+"  # of documents
)
# Of Hugo, which may have a partner: {{< button href="a" >}}words{{< /button >}}
_SHORTCODE = re.compile(r"\{\{[<%]\s*+(?P<closes>/?)\s*+(?P<name>\w[\w./-]*+)(?:\s.*)?(?<!/)[>%]\}\}", re.DOTALL)
_TIME = re.compile(r"\s?<(?:\d+:)?\d\d:\d\d\.\d{3}>\s?")  # within a cue of WebVTT, before a word
# After a word: [^1] or [1] or ^[A note.], and deleted words and remarks of CriticMarkup
_NOTE = re.compile(rf"{KINDS['reference']}|{INLINE_NOTE}|\{{--.*--\}}|\{{>>.*<<\}}", re.DOTALL)
_AFTER_WORD = re.compile(r"\w[^\w\s(\[{]{0,3}(?<!&nbsp;)(?<!&#160;)\Z")  # "yes", but not ("
_AFTER_INDEX = re.compile(r"\.?\w|\s[=+]\s")  # as in body[0].value and x[1] = 2
_MORE = re.compile(r"[^\w\s(\[{]{0,3}")
_INITIAL = re.compile(r"[^\w\s]{0,3}[^\W\d_]")
_UNIT = re.compile(rf"{SYMBOL.pattern}|\w+(?:[-'\u2019.,]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Element:
    """A pair of marks and the text between them, or a single mark, or a pair around nothing.

    Attributes:
        start, stop: the text between the marks, in the sentence without marks; equal if there is none.
        opening, closing: the marks; a single mark has one of them.
        first, last: numbers of both marks, by which elements are nested.
        follows: whether a single mark or a pair around nothing stands after a word, and not before one.
    """

    start: int
    stop: int
    opening: str
    closing: str
    first: float
    last: float
    follows: bool = False


@dataclass(frozen=True)
class Formatted:
    """A sentence without formatting, and its elements in the order of their opening marks."""

    text: str
    elements: tuple[Element, ...] = ()


@dataclass(frozen=True)
class Alignment:
    """The attention of the tokens of a translation to the tokens of its source, and the characters of each token."""

    source: Sequence[Span]
    target: Sequence[Span]
    weights: Attention


_NO_ALIGNMENT = Alignment((), (), [])  # for elements around all words or none


# Out of the source


@dataclass
class _Mark:
    """A placeholder that may be formatting.

    Attributes:
        start, stop: in the text with all marks; `place` is that in the text without them.
        opens, closes: what it may do; emphasis between letters may do both.
        partner: number of the other mark of its pair.
    """

    start: int
    stop: int
    text: str
    name: str
    opens: bool
    closes: bool
    partner: int | None = None
    place: int = 0


def take_out(text: str, pattern: re.Pattern[str]) -> Formatted:
    """Return a sentence without its formatting; one that is very long or has very many marks keeps them.

    Its marks are found in the sentence alone, after those that `divided` found in the whole text: a mark whose partner
    is in another sentence may be a variable here, which stays as a placeholder.

    Args:
        pattern: matches placeholders, and among them the marks.
    """
    marks = _formatting(text, pattern) if len(text) <= _LONGEST else []
    if not marks or len(marks) > MOST_SYMBOLS:
        return Formatted(text)
    plain = _without(text, marks)
    elements, end = list[Element](), 0  # of the last pair around nothing
    for n, mark in enumerate(marks):
        if n < end:
            continue
        if mark.partner is None:
            elements.append(_single(marks, n, plain))
        elif mark.partner > n:
            other, opening = marks[mark.partner], mark.text
            start, stop = _stripped(plain, mark.place, other.place)
            if start == stop and _are_pairs(marks, n + 1, mark.partner):  # as an icon in a link, which stays in it
                end = mark.partner
                opening = "".join(inner.text for inner in marks[n:end])
            follows = start == stop and _follows(plain, start)
            elements.append(Element(start, stop, opening, other.text, n, mark.partner, follows))
    return Formatted(plain, tuple(_nested(sorted(elements, key=lambda element: element.first))))


def _are_pairs(marks: Sequence[_Mark], start: int, stop: int) -> bool:
    """Return whether each of some marks has its partner among them, or is a reference, which needs none."""
    return all(
        _NOTE.fullmatch(mark.text) if mark.partner is None else start <= mark.partner < stop
        for mark in marks[start:stop]
    )


def _single(marks: Sequence[_Mark], n: int, plain: str) -> Element:
    """Return the element of a mark whose partner is in another sentence: the text from there to that end of this one.

    In damaged markup, where that would cross another element, it is the mark alone.
    """
    mark = marks[n]
    others = [(i, other) for i, other in enumerate(marks) if i != n]
    crosses = any(i < n < (other.partner or 0) for i, other in others)
    is_star = {*mark.text} == {"*"} and mark.closes and plain[: mark.place][-1:].isalnum()  # of a footnote
    is_point = is_star or (_TIME.fullmatch(mark.text) or _NOTE.fullmatch(mark.text)) is not None
    opened = (other for _, other in others[:n] if other.partner is None and other.opens)
    crosses = is_point or crosses or (mark.closes and any(not _TIME.fullmatch(other.text) for other in opened))
    span = (mark.place, len(plain)) if mark.opens else (0, mark.place)
    start, stop = (mark.place, mark.place) if crosses else _stripped(plain, *span)
    if start == stop:
        start = stop = mark.place
    first, last = (n, n) if crosses or start == stop else (n, 2 * len(marks) - n) if mark.opens else (-n - 1, n)
    sides = (mark.text, "") if mark.opens else ("", mark.text)
    return Element(start, stop, *sides, first, last, mark.closes)


def divide_as_plain(text: str, pattern: re.Pattern[str], divide: Callable[[str], list[Piece]]) -> list[Piece]:
    """Divide a text as the same text without formatting is divided; a mark goes with the words that it is beside.

    Args:
        divide: returns the pieces of a text.
    """
    marks = _formatting(text, pattern)
    plain = _without(text, marks)
    found = divide(plain) or [Piece("", translate=False)] * bool(marks)
    ends = list(itertools.accumulate(len(piece.text) for piece in found))

    def beside(place: int, opens: bool) -> Span:
        """Return the number of the piece that a mark is in, and its place."""
        i = min((bisect.bisect_right if opens else bisect.bisect_left)(ends, place), len(found) - 1)
        other = i + 1 if opens else i - 1
        if 0 <= other < len(found) and found[other].translate and not found[i].text.strip():
            return other, ends[i] if opens else ends[other]
        return i, place

    inside: list[list[tuple[int, str]]] = [[] for _ in found]  # place and text of the marks of each piece
    for n, mark in enumerate(marks):
        opens, place = mark.opens if mark.partner is None else mark.partner > n, mark.place
        if mark.partner is not None:
            start, stop = sorted((place, marks[mark.partner].place))
            if not plain[start:stop].strip() and beside(start, True)[0] != beside(stop, False)[0]:
                # Around nothing at the end of a sentence: both marks belong to that one, or to the next.
                opens = not _follows(plain, start)
                place = stop if opens else start
        i, place = beside(place, opens)
        inside[i].append((place - ends[i] + len(found[i].text), mark.text))
    return [
        replace(piece, text=_with(piece.text, sorted(own, key=lambda span: span[0])))
        for piece, own in zip(found, inside, strict=True)
    ]


def _follows(plain: str, place: int) -> bool:
    """Return whether a pair around nothing belongs to the word before it."""
    return plain[:place][-1:].strip() != "" and not plain[place : place + 1].isalnum()


def _with(text: str, marks: Sequence[tuple[int, str]]) -> str:
    """Return a text with marks in places of it."""
    parts, end = list[str](), 0
    for place, mark in marks:
        parts += [text[end:place], mark]
        end = place
    return "".join([*parts, text[end:]])


def _without(text: str, marks: Sequence[_Mark]) -> str:
    """Return the text without the marks, and set their places."""
    parts, end, n = list[str](), 0, 0
    for mark in marks:
        parts.append(text[end : mark.start])
        n += len(parts[-1])
        mark.place, end = n, mark.stop
    return "".join([*parts, text[end:]])


def _formatting(text: str, pattern: re.Pattern[str]) -> list[_Mark]:
    """Return the marks of pairs, and those whose partner must be in another sentence, in order."""
    if not MAY_BE_MARKED.search(text):
        return []
    waiting: dict[str, list[_Mark]] = {}
    marks = [mark for span in placeholder_spans(text, pattern) if (mark := _mark(text, *span))]
    marks, pairs = [*_without_objects(marks, text)], []
    for mark in marks:
        opened = waiting.setdefault(mark.name, [])
        if mark.closes and opened:
            pairs.append((opened.pop(), mark))
        elif mark.opens:
            opened.append(mark)
    in_pairs = {id(mark) for pair in pairs for mark in pair}
    # Without its marks, <[String]> would be a tag.
    pairs = [(opening, closing) for opening, closing in pairs if not text.endswith("<", 0, opening.start)]
    taken = {id(mark) for pair in pairs for mark in pair}
    kept = [mark for mark in marks if id(mark) in taken or (id(mark) not in in_pairs and _is_single(mark))]
    numbers = {id(mark): n for n, mark in enumerate(kept)}
    for opening, closing in pairs:
        opening.partner, closing.partner = numbers[id(closing)], numbers[id(opening)]
    for mark in kept:
        if mark.partner is None:
            _take_space(mark, text)
    return kept


def _without_objects(marks: Sequence[_Mark], text: str) -> Iterator[_Mark]:
    """Yield the marks without references that stand for a word, as in see [1], "[1]" or <i>[1] and [2]</i>."""
    follows, end, opened = False, 0, False
    for mark, following in itertools.zip_longest(marks, marks[1:]):
        between = text[end : mark.start]
        follows = (follows and _MORE.fullmatch(between) is not None) or _AFTER_WORD.search(between[-10:]) is not None
        is_note = _NOTE.fullmatch(mark.text) is not None
        if is_note and opened and not between:  # it begins an element, and must be all of it
            follows = follows and following is not None and following.closes and following.start == mark.stop
        if follows or not is_note:
            yield mark
        end, opened = mark.stop, mark.opens and not mark.closes


def _take_space(mark: _Mark, text: str) -> None:
    """Let a mark have the white space between it and the words that it ends or begins, if it has some on both sides."""
    before, after = text[mark.start - 1 : mark.start], text[mark.stop : mark.stop + 1]
    if mark.closes and before in _BLANKS and (not after or after.isspace()):
        mark.text = before + mark.text
        mark.start -= not after  # where white space follows, the text without marks keeps both
    elif mark.opens and after in _BLANKS and (not before or before.isspace()):
        mark.text += after
        mark.stop += not before


def _spaced(text: str, place: int, mark: str) -> tuple[int, str]:
    """Return the place of a mark, and the mark as it is written there.

    Its own white space is left out between two spaces of the text, and where the text has none: it would be between a
    word and its full stop.
    """
    before, after = text[max(0, place - 2) : place], text[place : place + 2]
    if mark[:1].isspace() and after:
        if len(after) == 2 and after.isspace():
            return place + 1, mark[1:]
        return place, mark if after[0].isspace() else mark[1:]
    if mark[-1:].isspace() and before:
        if len(before) == 2 and before.isspace():
            return place - 1, mark[:-1]
        return place, mark if before[-1].isspace() else mark[:-1]
    return place, mark


def _mark(text: str, start: int, stop: int) -> _Mark | None:
    """Return the mark that a placeholder is, if any."""
    mark = text[start:stop]
    if mark in EMPHASIS:
        opens, closes = stop < len(text) and not text[stop].isspace(), start > 0 and not text[start - 1].isspace()
        return _Mark(start, stop, mark, mark, opens, closes) if opens or closes else None
    if mark == "[" or mark.startswith(LINK_ENDS):
        return _Mark(start, stop, mark, "[", mark == "[", mark.startswith(LINK_ENDS))
    if critic := CRITIC.fullmatch(mark):
        return _Mark(start, stop, mark, f"{{{mark.strip('{}')[:2]}", bool(critic["start"]), bool(critic["end"]))
    if shortcode := _SHORTCODE.fullmatch(mark):
        closes, name = bool(shortcode["closes"]), f"{{{{{shortcode['name']}"
        return _Mark(start, stop, mark, name, not closes, closes)
    if _TIME.fullmatch(mark):
        return _Mark(start, stop, mark, mark, True, False)
    if _NOTE.fullmatch(mark):
        is_index = mark[0] == "[" and _AFTER_INDEX.match(text, stop)
        return None if is_index else _Mark(start, stop, mark, mark, False, True)
    tag = TAG.fullmatch(mark)
    if tag is None or mark.endswith("/>") or _OTHER_ELEMENTS.fullmatch(tag[2].lower()):
        return None
    return _Mark(start, stop, mark, mark[0] + tag[2].lower(), not tag[1], bool(tag[1]))


def _is_single(mark: _Mark) -> bool:
    """Return whether a mark without a partner is certain to be formatting."""
    if mark.opens == mark.closes:
        return False
    if mark.text.startswith("{{"):  # most shortcodes have no partner
        return mark.closes
    is_variable = mark.text.startswith(("<", "[")) and mark.name != "[" and not _INLINE.fullmatch(mark.name[1:])
    return mark.closes or not is_variable or _TIME.fullmatch(mark.text) is not None


def _stripped(text: str, start: int, stop: int) -> Span:
    """Return a span without white space at its ends; an empty one if it has nothing else."""
    inside = text[start:stop]
    if not inside.strip():
        return start, start
    return start + len(inside) - len(inside.lstrip()), stop - len(inside) + len(inside.rstrip())


def _nested(elements: Sequence[Element]) -> list[Element]:
    """Return the elements with none crossing another: the one that opens first grows to hold the other."""
    found = list(elements)
    for i in reversed(range(len(found))):  # those that open later are nested already
        for other in found[i + 1 :]:
            if other.first < found[i].last < other.last:
                stop = max(found[i].stop, other.stop)
                found[i] = replace(found[i], stop=stop, last=other.last + 0.5 ** (len(found) - i))
    return found


# Into the translation


@dataclass(frozen=True)
class FormattedPair:
    """A formatted sentence and its translation without formatting.

    Attributes:
        translation: the text, with placeholders.
        source, target: both sides as a model reads and writes them: with symbols for placeholders, the same on both.
        symbols: where symbols are in `target`, and what they stand for in `translation`.
        elements: those of the sentence; start and stop are in `source`.
    """

    translation: str
    source: str
    target: str
    symbols: tuple[tuple[Span, Span], ...]
    elements: tuple[Element, ...]

    @property
    def needs_alignment(self) -> bool:
        """Whether an element has some words of the sentence, and not all of them, or stands between two."""
        words = [match.span() for match in _UNIT.finditer(self.source) if _is_word(match[0])]

        def is_part(element: Element) -> bool:
            start, stop = element.start, element.stop
            if start == stop:
                return len(words) > 1 and bool(self.source[:start].strip() and self.source[start:].strip())
            return len({start < b and a < stop for a, b in words}) > 1

        return any(map(is_part, self.elements))


def _span(element: Element) -> Span:
    """Return the span of an element; a single mark is between two characters."""
    return element.start, max(element.stop, element.start + 1)


_LETTER = re.compile(r"\w")
_MARKS_BEFORE, _MARKS_AFTER = re.compile(r"[^\w\s]{1,9}\Z"), re.compile(r"[^\w\s]{1,9}")


def _is_word(unit: str) -> bool:
    return unit[0].isalnum() or unit[0] == "_" or SYMBOL.fullmatch(unit) is not None


def pair(
    formatted: Formatted, translation: str, pattern: re.Pattern[str], clean: Callable[[str], str]
) -> FormattedPair:
    """Return a sentence and its translation as a pair.

    Args:
        pattern: as for `take_out`.
        clean: returns a text as models read it.
    """
    protected, spans = protect(formatted.text, pattern), placeholder_spans(formatted.text, pattern)

    def in_protected(place: int, is_start: bool) -> int:
        """Return the place in the protected sentence; one within a placeholder is at that end of it."""
        moved = place
        for n, (start, stop) in enumerate(spans):
            if start < place < stop:
                moved += (start if is_start else stop) - place
            if stop <= place or (start < place < stop and not is_start):
                moved += len(symbol(n)) - (stop - start)
        return moved

    ends = [
        (in_protected(element.start, True), in_protected(element.stop, element.start == element.stop))
        for element in formatted.elements
    ]
    source = clean(protected.text)
    n_before = _n_before(protected.text, {place for pair in ends for place in pair}, source, clean)
    solid = [i for i, character in enumerate(source) if not character.isspace()]

    def in_source(element: Element, start: int, stop: int) -> Element:
        n, m = min(n_before[start], len(solid)), min(n_before[stop], len(solid))
        first = solid[n] if n < len(solid) else len(source)
        end = solid[m - 1] + 1 if m else 0
        if element.start == element.stop:
            first = last = end if element.follows else first
        else:
            last = max(first, end)
        return replace(element, start=first, stop=last)

    elements = tuple(in_source(element, *span) for element, span in zip(formatted.elements, ends, strict=True))
    target, symbols = _with_symbols(translation, protected.originals, pattern)
    return FormattedPair(translation, source, target, symbols, elements)


def _n_before(text: str, places: Collection[int], source: str, clean: Callable[[str], str]) -> dict[int, int]:
    """Return the number of characters of `source` before each place of a text, white space excluded.

    Args:
        source: the text as models read it, which `clean` returns.
    """
    ordered = sorted(places)
    parts = [text[a:b] for a, b in itertools.pairwise([0, *ordered, len(text)])]
    found = ["".join(part.split()) for part in clean(_HERE.join(parts)).split(_HERE)]
    if "".join(found) == "".join(source.split()) and len(found) == len(parts):
        return dict(zip(ordered, itertools.accumulate(map(len, found)), strict=False))
    return {place: len("".join(clean(text[:place]).split())) for place in ordered}  # a place is within a word


def _with_symbols(
    translation: str, originals: Sequence[str], pattern: re.Pattern[str]
) -> tuple[str, tuple[tuple[Span, Span], ...]]:
    """Return a translation with the symbols of its source, and where they are in both texts.

    A placeholder that the source has not has a number of its own, unless there are as many as have changed there, such
    as messages with translated branches.
    """
    spans = placeholder_spans(translation, pattern)
    left, numbers = dict(enumerate(originals)), dict[Span, int]()
    for span in spans:
        same = next((n for n, original in left.items() if original == translation[slice(*span)]), None)
        if same is not None:
            numbers[span] = same
            del left[same]
    others = [span for span in spans if span not in numbers]
    more = range(len(originals), len(originals) + len(others))
    numbers |= dict(zip(others, left if len(left) == len(others) else more, strict=True))
    target, symbols, end = "", list[tuple[Span, Span]](), 0
    for start, stop in spans:
        if (n := numbers[start, stop]) < MOST_SYMBOLS:
            target += translation[end:start] + symbol(n)
            symbols.append(((len(target) - len(symbol(n)), len(target)), (start, stop)))
            end = stop
    return target + translation[end:], tuple(symbols)


class Aligner(Protocol):
    """A model that aligns and scores pairs of a source and its translation."""

    def align(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Alignment | None]:
        """Return the alignment of each pair; None for one that cannot be aligned."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return the log-probability of each translation given its source."""


def put_back(pairs: Sequence[FormattedPair], aligner: Aligner, n_symbols: int = 0) -> list[str | None]:
    """Return each translation with the formatting of its sentence; None for one that cannot be aligned.

    Args:
        aligner: asked once for all alignments, and once for the probabilities of all runs that compete.
        n_symbols: number of symbols that the model knows.
    """
    asked = [i for i, pair in enumerate(pairs) if pair.needs_alignment]
    aligned = aligner.align([(pairs[i].source, pairs[i].target) for i in asked]) if asked else ()
    alignments = dict(zip(asked, aligned, strict=True))
    placements = {
        i: _Placement(pair, alignments.get(i) or _NO_ALIGNMENT)
        for i, pair in enumerate(pairs)
        if i not in alignments or alignments[i]
    }
    texts = {i: placement.text() for i, placement in placements.items()}
    doubts = [
        (placement, i, place, marked)
        for i, placement in placements.items()
        for place in placement.places
        if (marked := placement.marked(place, n_symbols))
    ]
    scores = aligner.score([marked for *_, marked in doubts]) if doubts else ()
    for (placement, _, place, _), score in zip(doubts, scores, strict=True):
        placement.places[place] = score
    texts |= {i: placement.text() for i, placement in {i: placement for placement, i, *_ in doubts}.items()}
    return [texts.get(i) for i in range(len(pairs))]


def _with_times_in_order(marks: Sequence[tuple[int, int, float, str]]) -> Iterator[tuple[int, int, float, str]]:
    """Yield the marks of a translation with the times among them in the order of the source."""
    times = iter(sorted((first, mark) for *_, first, mark in marks if _TIME.fullmatch(mark)))
    for place, rank, first, mark in marks:
        yield place, rank, first, next(times)[1] if _TIME.fullmatch(mark) else mark


@dataclass
class _Node:
    """An element, those within it, and the units of the translation that it stands around, from `lo` to `hi`."""

    element: Element
    lo: int = 0
    hi: int = 0
    children: list["_Node"] = field(default_factory=list)

    @property
    def is_pair(self) -> bool:
        return bool(self.element.opening and self.element.closing)

    @property
    def units(self) -> range:
        return range(self.lo, self.hi)

    def collapse(self, place: int) -> None:
        """Stand around nothing at a place, with all elements within this one."""
        self.lo = self.hi = place
        for child in self.children:
            child.collapse(place)


class _Placement:
    """The places of elements in a translation, whose units are words, symbols and punctuation marks."""

    def __init__(self, pair: FormattedPair, alignment: Alignment) -> None:
        self.pair, self.alignment = pair, replace(alignment, weights=_balanced(alignment.weights))
        self.units = [match.span() for match in _UNIT.finditer(pair.target)]
        self.words = {u for u, (start, stop) in enumerate(self.units) if _is_word(pair.target[start:stop])}
        self.source_words = [match.span() for match in _UNIT.finditer(pair.source) if _is_word(match[0])]
        starts, stops = ([span[i] for span in alignment.target] for i in (0, 1))
        self.tokens = [
            range(bisect.bisect_right(stops, start), bisect.bisect_left(starts, stop)) for start, stop in self.units
        ]
        letter = _LETTER.search(without_symbols(pair.target))
        self.letter = letter.start() if letter else -1  # place of the first one of the target, and its unit
        self.first = next((u for u, (start, stop) in enumerate(self.units) if start <= self.letter < stop), -1)
        letters = [0] * len(pair.source)
        for start, stop in self.source_words:
            if not SYMBOL.fullmatch(pair.source, start, stop):
                letters[start:stop] = [1] * (stop - start)
        self.n_letters = [0, *itertools.accumulate(letters)]  # before each character
        self.sizes = [len("".join(pair.source[start:stop].split())) for start, stop in alignment.source]
        self.places: dict[tuple[Element, Span], float | None] = {}  # probability of each run that competes

    def text(self) -> str:
        """Return the translation with all marks."""
        root = _Node(Element(0, len(self.pair.source), "", "", -1, float("inf")), 0, len(self.units))
        around = [root]
        for element in self.pair.elements:
            while around[-1].element.last < element.first:
                around.pop()
            around[-1].children.append(_Node(element))
            if element.first < element.last:
                around.append(around[-1].children[-1])
        self._place(root)
        marks = [
            (place + sum((d - c) - (b - a) for (a, b), (c, d) in self.pair.symbols if b <= place), mark)
            for place, *_, mark in _with_times_in_order(sorted(self._marks(root, 1)))
        ]
        text = self.pair.translation
        return _with(text, sorted((_spaced(text, *one) for one in marks), key=lambda one: one[0]))

    def _marks(self, node: _Node, depth: int) -> Iterator[tuple[int, int, float, str]]:
        """Yield the place of each mark within an element, its rank among those of the same place, and its text.

        Closing marks come first, the innermost before the others; opening marks follow, the outermost first.
        """
        for child in node.children:
            element = child.element
            if child.lo < child.hi:
                start, stop = self._span(child)
                yield start, depth, element.first, element.opening
                yield stop, -depth, element.first, element.closing
            elif element.follows:
                place = self.units[child.lo - 1][1] if child.lo else 0
                yield place, -depth, element.first, element.opening + element.closing
            else:
                place = self.units[child.lo][0] if child.lo < len(self.units) else len(self.pair.target)
                yield place, depth, element.first, element.opening + element.closing
            yield from self._marks(child, depth + 1)

    def _span(self, node: _Node) -> Span:
        """Return where an element stands: around its units, or around the part of a word that it is in the source."""
        whole = start, stop = self._around(node.lo, node.hi)
        part = self._part(node.element, start, stop) if node.is_pair else None
        if part is None:
            return whole
        start, stop = start + part[0], start + part[1]
        inside = (self._span(child) for child in node.children if child.lo < child.hi)
        return (start, stop) if all((start <= a and b <= stop) or b <= start or stop <= a for a, b in inside) else whole

    def _part(self, element: Element, start: int, stop: int) -> Span | None:
        """Return the part of some words of the target for an element around a part of a word; None if it has none."""
        source = self.pair.source
        part, words = source[element.start : element.stop], self.pair.target[start:stop]
        if self._is_initial(element) and start <= self.letter < stop:
            return 0 if len(part) > 1 else self.letter - start, self.letter + 1 - start
        for a, b in self.source_words:
            if a <= element.start < element.stop <= b and part != source[a:b]:
                word = source[a:b] if words.count(source[a:b]) == 1 else part
                place = words.find(word) + (element.start - a if word != part else 0)
                return (place, place + len(part)) if words.count(word) == 1 else None
        return None

    def _is_initial(self, element: Element) -> bool:
        """Return whether an element is around the first letter alone, of a longer word, with marks before it."""
        source, start, stop = self.pair.source, element.start, element.stop
        is_letter = bool(element.opening and element.closing) and _INITIAL.fullmatch(source, start, stop) is not None
        return is_letter and source[stop : stop + 1].isalpha() and not _LETTER.search(without_symbols(source[:start]))

    def _around(self, lo: int, hi: int) -> Span:
        """Return the span of the units `lo` to `hi - 1` of the target, at least one."""
        return self.units[lo][0], self.units[hi - 1][1]

    def _place(self, parent: _Node) -> None:
        """Choose the units of the elements within another one, and of those within them."""
        free, placed, points = set(parent.units), list[_Node](), list[_Node]()
        shares = {id(child): self._shares(child.element, parent) for child in parent.children}
        for child in sorted(parent.children, key=lambda child: (child.is_pair, -_excess(shares[id(child)]))):
            own, element = shares[id(child)], child.element
            units = self._candidates(element, free) if element.start < element.stop else []
            nearest = max(placed, key=lambda other: _most(own, other.units), default=None)
            is_within = (
                nearest
                and child.is_pair
                and not _are_alike(element, nearest.element)
                and _most(own, units) < min(_HALF, _most(own, nearest.units))
            )
            if units and not is_within:
                self._surround(child, self._most_probable(element, _runs(own, units, free), own), parent, free)
                free -= set(child.units)
                placed.append(child)
            elif element.start == element.stop or not child.is_pair:
                points.append(child)
            elif nearest:
                nearest.children.append(child)
            else:
                child.lo, child.hi = parent.lo, parent.hi
                free, placed = set(), [child]
        parent.children = placed + points
        self._place_points(points, placed, parent, shares)
        for child in placed:
            self._place(child)

    def _surround(self, node: _Node, run: Span, parent: _Node, free: Collection[int]) -> None:
        """Let an element stand around a run and its punctuation; a single mark reaches to the end of its parent."""
        element = node.element
        if self.first in free and self._is_initial(element) and not self._part(element, *self._around(*run)):
            run = self.first, self.first + 1
        lo, hi = self._with_punctuation(element, parent, *run, free)
        node.lo = lo if element.opening else parent.lo
        node.hi = hi if element.closing else parent.hi

    def _place_points(
        self, points: Sequence[_Node], placed: Sequence[_Node], parent: _Node, shares: Mapping[int, Sequence[float]]
    ) -> None:
        """Choose the places of single marks and of pairs around nothing, beside the elements that are placed.

        Args:
            shares: of the units in the attention to each element, by the `id` of its node.
        """
        for n, point in enumerate(points):
            place = self._beside(point.element, shares[id(point)], parent, placed)
            others = [other for other in (*placed, *points[:n]) if not other.is_pair]
            if not point.element.closing:  # after all that closes here and was opened in an earlier sentence
                place = max([place, *(other.hi for other in others if not other.element.opening)])
            elif not point.element.opening:
                place = min([place, *(other.lo for other in others if not other.element.closing)])
            point.collapse(place)

    def _most_probable(self, element: Element, runs: Sequence[Span], shares: Sequence[float]) -> Span:
        """Return the run most probable by model and shares; the first one if some probabilities are not known."""
        if len(runs) == 1 or not (element.opening and element.closing):
            return runs[0]
        scores = [self.places.setdefault((element, run), None) for run in runs]
        known = [
            score + _WEIGHT * _log_odds(shares[slice(*run)])
            for score, run in zip(scores, runs, strict=True)
            if score is not None
        ]
        return runs[0] if len(known) < len(runs) else max(zip(known, runs, strict=True))[1]

    def marked(self, place: tuple[Element, Span], n_symbols: int) -> tuple[str, str] | None:
        """Return source and translation with symbols for the marks of an element; None if there are too few."""
        element, (lo, hi) = place
        n = 1 + max((int(match[1]) for match in SYMBOL.finditer(self.pair.source)), default=0)
        if n + 1 > n_symbols:
            return None
        spans = (element.start, element.stop), self._around(lo, hi)
        sides = zip((self.pair.source, self.pair.target), spans, strict=True)
        source, target = (
            " ".join(part.strip() for part in (text[:a], symbol(n - 1), text[a:b], symbol(n), text[b:]) if part.strip())
            for text, (a, b) in sides
        )
        return source, target

    def _candidates(self, element: Element, free: set[int]) -> list[int]:
        """Return the units that an element may stand around: words; punctuation if it has no words in the source."""
        if any(a < element.stop and element.start < b for a, b in self.source_words):
            return sorted(free & self.words)
        marks = set(self.pair.source[element.start : element.stop])
        return sorted(u for u in free - self.words if self.pair.target[self.units[u][0]] in marks) or sorted(free)

    def _shares(self, element: Element, parent: _Node) -> list[float]:
        """Return the share of each unit's attention to an element in that to its parent; 0 outside of the parent.

        Only letters count. For a single mark, the element is the word beside it.
        """
        start, stop = self._anchor(element, parent.element) if element.start == element.stop else _span(element)
        inside, around = self._letters(start, stop), self._letters(*_span(parent.element))
        own = {match[0] for match in SYMBOL.finditer(self.pair.source, start, stop)}
        is_all = self._words(start, stop) == self._words(*_span(parent.element))
        shares = [0.0] * len(self.units)
        for u in parent.units:
            rows = [self.alignment.weights[t] for t in self.tokens[u]]
            part, whole = (sum(row[s] * share for row in rows for s, share in letters) for letters in (inside, around))
            is_symbol = SYMBOL.fullmatch(text := self.pair.target[slice(*self.units[u])])
            shares[u] = float(is_all or text in own) if is_symbol or is_all or not whole else part / whole
        return shares

    def _words(self, start: int, stop: int) -> list[Span]:
        return [(max(a, start), min(b, stop)) for a, b in self.source_words if a < stop and start < b]

    def _letters(self, start: int, stop: int) -> list[tuple[int, float]]:
        """Return the tokens of the source with letters in a span, and the share of their characters that these are."""
        found = []
        for s, ((a, b), size) in enumerate(zip(self.alignment.source, self.sizes, strict=True)):
            a, b = max(a, start), min(b, stop)
            if a < b and (n := self.n_letters[b] - self.n_letters[a]):
                found.append((s, n / size))
        return found

    def _with_punctuation(self, element: Element, parent: _Node, lo: int, hi: int, free: Collection[int]) -> Span:
        """Return a run of units with the punctuation at its ends that is within the element."""
        source = self.pair.source
        words = self._words(element.start, element.stop) or [(element.start, element.stop)]
        inside = source[element.start : words[0][0]], source[words[-1][1] : element.stop]
        n_before, n_after = (len(marks.strip()) for marks in inside)
        # A mark may have white space between it and the words, as in Name *.
        apart_before, apart_after = inside[0] != inside[0].rstrip(), inside[1] != inside[1].lstrip()
        if not source[parent.element.start : element.start].strip():
            n_before = len(self.units) if self.words.isdisjoint(range(parent.lo, lo)) else n_before
        if not source[element.stop : parent.element.stop].strip():
            n_after = len(self.units) if self.words.isdisjoint(range(hi, parent.hi)) else n_after
        # A mark beside an element stays outside, such as a bracket after an abbreviation whose full stop is lost.
        before, after = _MARKS_BEFORE.search(source, 0, element.start), _MARKS_AFTER.match(source, element.stop)
        outside = (before[0] if before else "") + (after[0] if after else "")
        barred = {*outside} - {*source[element.start : element.stop]}
        start = self._reach(lo, -1, n_before, free, barred, is_apart=apart_before)
        return start, self._reach(hi - 1, 1, n_after, free, barred, is_apart=apart_after) + 1

    def _reach(
        self, unit: int, step: int, n: int, free: Collection[int], barred: Collection[str], *, is_apart: bool = False
    ) -> int:
        """Return the last of up to n punctuation marks that follow a unit, in one direction.

        Args:
            barred: marks that are not among them, unless all marks are taken.
            is_apart: whether white space may be between them.
        """
        while n and (other := unit + step) in free and other not in self.words:
            near, far = sorted((unit, other))
            mark = self.pair.target[slice(*self.units[other])]
            is_beside = is_apart or self.units[near][1] == self.units[far][0]
            if not is_beside or (mark in barred and n < len(self.units)):
                break
            unit, n = other, n - 1
        return unit

    def _anchor(self, element: Element, parent: Element) -> Span:
        """Return the word that a single mark stands beside; nothing if there is none in the parent."""
        if element.follows:
            return next(((a, b) for a, b in reversed(self.source_words) if parent.start < b <= element.start), (0, 0))
        return next(((a, b) for a, b in self.source_words if element.start <= a < parent.stop), (0, 0))

    def _beside(self, element: Element, shares: Sequence[float], parent: _Node, placed: Sequence[_Node]) -> int:
        """Return the number of units of the translation that are before a single mark."""
        source, start = self.pair.source, element.start
        outside = source[start : parent.element.stop] if element.follows else source[parent.element.start : start]
        units = sorted(self.words.intersection(parent.units))
        if not outside.strip() or not units:
            return parent.hi if element.follows else parent.lo
        anchor = self._anchor(element, parent.element)
        if anchor == (0, 0):
            return parent.lo if element.follows else parent.hi
        word = max(units, key=lambda u: shares[u])
        # The punctuation between them in the source: a note after a comma stays there.
        if element.follows:
            place = self._reach(word, 1, len(source[anchor[1] : start].strip()), parent.units, ()) + 1
        else:
            place = self._reach(word, -1, len(source[start : anchor[0]].strip()), parent.units, ())
        for other in placed:
            if other.lo < place < other.hi:
                return other.hi if element.follows else other.lo
        return place


def _balanced(weights_TS: Attention) -> Attention:
    """Return the squares of weights, balanced so that no source token is read by many target tokens.

    In turn, columns are divided by the square roots of their sums, and rows by their sums (as Sinkhorn does, halfway).
    """
    rows = [[w * w + _LEAST for w in row] for row in weights_TS]
    for _ in range(_ROUNDS):
        scales = [sum(column) ** -0.5 for column in zip(*rows, strict=True)]
        rows = [[w * scale for w, scale in zip(row, scales, strict=True)] for row in rows]
        sums = [sum(row) for row in rows]
        rows = [[w / total for w in row] for row, total in zip(rows, sums, strict=True)]
    return rows


def _are_alike(one: Element, other: Element) -> bool:
    """Return whether two elements have marks of Markdown that mean something else within their like."""
    return one.opening == other.opening and (one.opening in EMPHASIS or one.opening == "[")


def _most(shares: Sequence[float], units: Sequence[int]) -> float:
    return max((shares[u] for u in units), default=0.0)


def _excess(shares: Sequence[float]) -> float:
    return sum(max(0.0, share - _HALF) for share in shares)


def _is_uncertain(share: float) -> bool:
    return _UNCERTAIN <= share <= 1 - _UNCERTAIN


def _log_odds(shares: Sequence[float]) -> float:
    """Return the log-odds that the uncertain words of a run are inside; runs that compete share all others."""
    return sum(math.log(share / (1 - share)) for share in shares if _is_uncertain(share))


def _runs(shares: Sequence[float], units: Sequence[int], free: Collection[int]) -> list[Span]:
    """Return the run of the greatest sum, and those that compete: with or without an uncertain unit at either end."""
    lo, hi = _run(shares, units, free)
    uncertain = {u for u in units if _is_uncertain(shares[u])}
    starts = [
        lo,
        *([lo - 1] if lo - 1 in uncertain else []),
        *([lo + 1] if lo in uncertain and lo + 1 in units else []),
    ]
    stops = [hi, *([hi + 1] if hi in uncertain else []), *([hi - 1] if hi - 1 in uncertain and hi - 2 in units else [])]
    return [(start, stop) for start in starts for stop in stops if start < stop]


def _run(shares: Sequence[float], units: Sequence[int], free: Collection[int]) -> Span:
    """Return the run of free units, from one of `units` to another, with the greatest sum of shares above a half."""
    most = _most(shares, units)
    threshold = _HALF if most >= _HALF else most / 2
    best, run, first, end, total = float("-inf"), (units[0], units[0] + 1), units[0], units[0], 0.0
    for unit in units:
        if total <= 0 or not all(other in free for other in range(end, unit)):
            first, total = unit, 0.0
        total, end = total + shares[unit] - threshold, unit + 1
        if total > best + _LEAST:
            best, run = total, (first, end)
    return run
