"""Differences between two systems: n-grams that one of them gets right more often, and words marked in sentences."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MAX_ORDER = 4
MIN_LEAD = 2  # matches more than the other system; a single one is chance

# Words, single characters of scripts without spaces, marks, spaces: nothing of a line is lost.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_PARTS = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|\s+|[^\w\s]")

Ngram = tuple[str, ...]


@dataclass(frozen=True)
class NgramDifference:
    """Matches of one n-gram with the references.

    Attributes:
        text: its words.
        matches: of each of the two systems.
        expected: occurrences in the references.
    """

    text: str
    matches: tuple[int, int]
    expected: int


@dataclass(frozen=True)
class Span:
    """A part of a sentence.

    Attributes:
        text: with its spaces.
        mark: "" for what both systems have in common, else "right" or "wrong" for a difference that is in the
            reference or not; in a reference "first" or "second" for what only that system has.
    """

    text: str
    mark: str


def ngram_differences(
    outputs: Sequence[Sequence[Sequence[str]]], references: Sequence[Sequence[str]], n_best: int
) -> tuple[list[NgramDifference], list[NgramDifference]]:
    """Return the n-grams of the references that mostly the first system gets right, and those of the second.

    They are ordered by the share of the matches that belong to the system, with one match added to each side, so that
    five to none comes before two to none. A lead of one match is left out, and so is a part of an n-gram with the same
    matches.

    Args:
        outputs: words of each line, by system.
        references: words of each line.
        n_best: length of the lists.
    """
    matches: tuple[Counter[Ngram], Counter[Ngram]] = (Counter(), Counter())
    expected: Counter[Ngram] = Counter()
    for first, second, reference in zip(*outputs, references, strict=True):
        wanted = Counter(_ngrams(reference))
        expected.update(wanted)
        for counts, words in zip(matches, (first, second), strict=True):
            counts.update(Counter(_ngrams(words)) & wanted)
    found = [
        NgramDifference(" ".join(ngram), (matches[0][ngram], matches[1][ngram]), expected[ngram])
        for ngram in matches[0] | matches[1]
    ]
    return _best(found, 0, n_best), _best(found, 1, n_best)


def _best(found: Sequence[NgramDifference], side: int, n_best: int) -> list[NgramDifference]:
    """The n-grams that one side matches more often, without parts of others in the list."""

    def order(item: NgramDifference) -> tuple[float, int, str]:
        own, other = item.matches[side], item.matches[1 - side]
        return -(own + 1) / (own + other + 2), -len(item.text.split()), item.text

    chosen: list[NgramDifference] = []
    for item in sorted((item for item in found if item.matches[side] - item.matches[1 - side] >= MIN_LEAD), key=order):
        inside = (f" {item.text} " in f" {longer.text} " and item.matches == longer.matches for longer in chosen)
        if len(chosen) < n_best and not any(inside):
            chosen.append(item)
    return chosen


def marked(first: str, second: str, reference: str) -> tuple[list[Span], list[Span], list[Span]]:
    """Return both translations and the reference with the words marked in which the two differ.

    The texts of the spans are the three sentences, character for character.
    """
    texts = [_PARTS.findall(text) for text in (first, second, reference)]
    (common_1, common_2), (found_1, in_first), (found_2, in_second) = (
        _common(texts[a], texts[b]) for a, b in ((0, 1), (0, 2), (1, 2))
    )
    rows = []
    for parts, common, found in ((texts[0], common_1, found_1), (texts[1], common_2, found_2)):
        marks = ["" if i in common else "right" if i in found else "wrong" for i in range(len(parts))]
        rows.append(_spans(parts, marks))
    marks = [
        "" if (i in in_first) == (i in in_second) else "first" if i in in_first else "second"
        for i in range(len(texts[2]))
    ]
    return rows[0], rows[1], _spans(texts[2], marks)


def _ngrams(words: Sequence[str]) -> Iterator[Ngram]:
    for order in range(1, MAX_ORDER + 1):
        for i in range(len(words) - order + 1):
            yield tuple(words[i : i + order])


def _common(a: Sequence[str], b: Sequence[str]) -> tuple[set[int], set[int]]:
    """The positions of the parts that two texts have in common, in order."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return (
        {block.a + i for block in blocks for i in range(block.size)},
        {block.b + i for block in blocks for i in range(block.size)},
    )


def _spans(parts: Sequence[str], marks: Sequence[str]) -> list[Span]:
    """Join neighbours with one mark; spaces have the mark of the words around them only if both have it."""
    marks = [
        mark
        if not part.isspace()
        else (marks[i - 1] if 0 < i < len(marks) - 1 and marks[i - 1] == marks[i + 1] else "")
        for i, (part, mark) in enumerate(zip(parts, marks, strict=True))
    ]
    spans: list[Span] = []
    for part, mark in zip(parts, marks, strict=True):
        if spans and spans[-1].mark == mark:
            spans[-1] = Span(spans[-1].text + part, mark)
        else:
            spans.append(Span(part, mark))
    return spans
