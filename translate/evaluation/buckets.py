"""Counts and scores by bucket: sentences by length or score, words by frequency."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sacrebleu import BLEU

Words = list[str]

# The first value of each bucket but the first, which takes everything below.
LENGTHS = (10, 20, 30, 40, 50, 60)
EXCESS = (-20, -10, -5, -2, 0, 1, 3, 6, 11, 21)
SCORES = (10, 20, 30, 40, 50, 60, 70, 80, 90)
CHANGES = (-40, -30, -20, -10, -5, -1, 1, 5, 10, 20, 30, 40)
FREQUENCIES = (1, 2, 3, 4, 5, 10, 100, 1000)


@dataclass(frozen=True)
class Bucket:
    """A range of values.

    Attributes:
        label: the range in words.
        size: sentences in it; `by_count` counts a sentence once for each system.
        values: of each system.
    """

    label: str
    size: int
    values: tuple[float, ...]


@dataclass(frozen=True)
class Matches:
    """Words of one bucket that a system produced, and how many of them are in the references.

    Attributes:
        matched: words in both, counted in each sentence.
        produced: words of the system.
        expected: words of the references.
    """

    matched: int
    produced: int
    expected: int

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent; 0 without matches."""
        return 200 * self.matched / (self.produced + self.expected) if self.matched else 0.0


def labels(bounds: Sequence[int], *, whole: bool = True) -> list[str]:
    """Return the ranges that bounds separate, in words.

    Args:
        bounds: the first value of each bucket but the first.
        whole: the values are integers, so that ranges end before the next bound.
    """
    pairs = zip(bounds, bounds[1:], strict=False)
    inner = [str(a) if whole and b == a + 1 else f"{a} to {b - whole}" for a, b in pairs]
    first = "0" if whole and bounds[0] == 1 else f"< {bounds[0]}"
    return [label.replace("-", "\u2212") for label in (first, *inner, f"\u2265 {bounds[-1]}")]


def indices(values: Sequence[float], bounds: Sequence[int]) -> list[int]:
    """Return the bucket of each value."""
    return [bisect_right(bounds, value) for value in values]


def by_length(
    bleu: "BLEU", outputs: Sequence[Sequence[str]], references: Sequence[str], words: Callable[[str], Words]
) -> list[Bucket]:
    """Return the BLEU of each system on the sentences of each length; empty buckets are left out.

    Args:
        bleu: the metric.
        outputs: translations by each system.
        references: one for each line; their number of words is the length.
        words: splits a line.
    """
    found = indices([len(words(line)) for line in references], LENGTHS)
    buckets = []
    for i, label in enumerate(labels(LENGTHS)):
        chosen = [n for n, bucket in enumerate(found) if bucket == i]
        if chosen:
            expected = [[references[n] for n in chosen]]
            scores = (bleu.corpus_score([lines[n] for n in chosen], expected).score for lines in outputs)
            buckets.append(Bucket(label, len(chosen), tuple(scores)))
    return buckets


def by_count(values: Sequence[Sequence[float]], bounds: Sequence[int], *, whole: bool = True) -> list[Bucket]:
    """Return the sentences of each system in each bucket; buckets outside the range of all systems are left out.

    Args:
        values: of each sentence, by system.
        bounds: of the buckets.
        whole: the values are integers.
    """
    counts = [Counter(indices(of, bounds)) for of in values]
    used = [i for count in counts for i in count]
    names = labels(bounds, whole=whole)
    return [
        Bucket(names[i], sum(count[i] for count in counts), tuple(float(count[i]) for count in counts))
        for i in range(min(used), max(used) + 1)
    ]


def by_frequency(
    outputs: Sequence[Sequence[Words]], references: Sequence[Words], frequencies: Counter[str]
) -> list[tuple[str, tuple[Matches, ...]]]:
    """Return the matches of each system for the words of each frequency; empty buckets are left out.

    Args:
        outputs: words of each line, by system.
        references: words of each line.
        frequencies: of words in the training text or the references.
    """
    per_system = [_matches(lines, references, frequencies) for lines in outputs]
    return [
        (label, matches)
        for label, matches in zip(labels(FREQUENCIES), zip(*per_system, strict=True), strict=True)
        if matches[0].expected
    ]


def _matches(lines: Sequence[Words], references: Sequence[Words], frequencies: Counter[str]) -> list[Matches]:
    matched: Counter[int] = Counter()
    produced: Counter[int] = Counter()
    expected: Counter[int] = Counter()
    for hypothesis, reference in zip(map(Counter, lines), map(Counter, references), strict=True):
        for words, counts in ((hypothesis & reference, matched), (hypothesis, produced), (reference, expected)):
            for word, n in words.items():
                counts[bisect_right(FREQUENCIES, frequencies[word])] += n
    return [Matches(matched[i], produced[i], expected[i]) for i in range(len(FREQUENCIES) + 1)]
