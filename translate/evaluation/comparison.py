"""Everything that the page of `translate compare` shows about two systems.

Scores with a significance test; sentences by length, score and change; words by their frequency; n-grams that one
system gets right more often; and the sentences that change most, with the differences marked.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import TYPE_CHECKING

from translate.evaluation.scores import Scores, Test, metrics, paired_scores

if TYPE_CHECKING:
    from sacrebleu import BLEU

Words = list[str]
Ngram = tuple[str, ...]

SIGNIFICANT = 0.05
N_NGRAMS = 12  # in each list
MAX_ORDER = 4
MIN_LEAD = 2  # matches more than the other system; a single one is chance

# The first value of each bucket but the first, which takes everything below.
LENGTHS = (10, 20, 30, 40, 50, 60)
EXCESS = (-20, -10, -5, -2, 0, 1, 3, 6, 11, 21)
SCORES = (10, 20, 30, 40, 50, 60, 70, 80, 90)
CHANGES = (-40, -30, -20, -10, -5, -1, 1, 5, 10, 20, 30, 40)
FREQUENCIES = (1, 2, 3, 4, 5, 10, 100, 1000)

# Words, single characters of scripts without spaces, marks, spaces: nothing of a line is lost.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_PARTS = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Bucket:
    """A range of values.

    Attributes:
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


@dataclass(frozen=True)
class NgramDifference:
    """Matches of one n-gram with the references.

    Attributes:
        matches: of each of the two systems.
        expected: occurrences in the references.
    """

    text: str
    matches: tuple[int, int]
    expected: int


@dataclass(frozen=True)
class MarkedSpan:
    """A part of a sentence.

    Attributes:
        text: with its spaces.
        mark: "" for what both systems have in common, else "right" or "wrong" for a difference that is in the
            reference or not; in a reference "first" or "second" for what only that system has.
    """

    text: str
    mark: str


@dataclass(frozen=True)
class SystemScores:
    """Scores and lengths of one of the two systems.

    Attributes:
        scores: with intervals; those of the second system have p-values.
        precisions: of n-grams of 1 to 4 words, in percent.
        n_words: words of all hypotheses.
        length_ratio: n_words divided by the words of the references.
        brevity_penalty: factor of BLEU for short output.
    """

    name: str
    scores: Scores
    precisions: tuple[float, ...]
    n_words: int
    length_ratio: float
    brevity_penalty: float


@dataclass(frozen=True)
class ComparedSentence:
    """One sentence with its translations.

    Attributes:
        line: its number, from 1.
        source: "" if unknown.
        scores: chrF++ of each system.
    """

    line: int
    source: str
    reference: str
    outputs: tuple[str, str]
    scores: tuple[float, float]

    @property
    def change(self) -> float:
        """The score of the second system minus that of the first."""
        return self.scores[1] - self.scores[0]

    @property
    def marked(self) -> tuple[list[MarkedSpan], list[MarkedSpan], list[MarkedSpan]]:
        """Both translations and the reference with the differences marked."""
        return marked(*self.outputs, self.reference)


@dataclass(frozen=True)
class Comparison:
    """The second system compared with the first, the baseline.

    Attributes:
        n_lines, n_words: of the references.
        n_same: lines with the same translation.
        n_gains, n_losses: lines with a higher or lower chrF++ by the second system.
        by_length: BLEU by words in the reference.
        by_frequency: matches of words by their frequency.
        frequency_source: where the words were counted.
        by_excess: sentences by words more than in the reference.
        by_score: sentences by chrF++.
        by_change: sentences by the difference in chrF++; one value.
        ngrams: those that mostly the first gets right, and those that mostly the second does.
        gains, losses: the sentences that change most.
    """

    test_set: str
    systems: Sequence[SystemScores]
    test: Test
    n_lines: int
    n_words: int
    n_same: int
    n_gains: int
    n_losses: int
    by_length: list[Bucket]
    by_frequency: list[tuple[str, tuple[Matches, ...]]]
    frequency_source: str
    by_excess: list[Bucket]
    by_score: list[Bucket]
    by_change: list[Bucket]
    ngrams: tuple[list[NgramDifference], list[NgramDifference]]
    gains: list[ComparedSentence]
    losses: list[ComparedSentence]

    @property
    def n_ties(self) -> int:
        """Lines on which both systems have the same chrF++; those with the same translation are among them."""
        return self.n_lines - self.n_gains - self.n_losses

    @property
    def notes(self) -> list[str]:
        """Sentences on scores that say less than they seem to."""
        scores = (score for system in self.systems for score in system.scores.by_name().values())
        return list(dict.fromkeys(note for score in scores for note in score.notes))

    @property
    def verdict(self) -> str:
        """One sentence: which system is better, and whether that may be chance."""
        first, second = self.systems
        difference, p_value = second.scores.bleu.value - first.scores.bleu.value, second.scores.bleu.p_value
        if not difference:
            return f"{first.name} and {second.name} tie: they have the same BLEU."
        better, other = (second, first) if difference > 0 else (first, second)
        said = f"{better.name} is {abs(difference):.2f} BLEU above {other.name}"
        assert p_value is not None  # every test gives one to the second system
        kind = "is significant" if p_value < SIGNIFICANT else "may be chance"
        return f"{said}; the difference {kind} (p = {p_value:.4f})."


def compare(
    test_set: str,
    names: Sequence[str],
    outputs: Sequence[Sequence[str]],
    pairs: Sequence[tuple[str, str]],
    *,
    test: Test = "bootstrap",
    target: str = "",
    ignore_case: bool = False,
    training_text: Iterable[str] | None = None,
    n_sentences: int = 15,
) -> Comparison:
    """Compare the output of two systems.

    Args:
        names: of the systems; the first is the baseline.
        pairs: sources, which may be empty, and references.
        target: language code, which chooses BLEU's tokeniser.
        training_text: lines in which words are counted; None counts in the references.
        n_sentences: length of the lists of gains and losses.

    Raises UserError if there is nothing to score or the counts differ.
    """
    references = [reference for _, reference in pairs]
    scores = paired_scores(outputs, references, test, target=target, confidence=True, ignore_case=ignore_case)
    bleu, chrf, _ = metrics(target, ignore_case=ignore_case)

    def words(line: str) -> list[str]:
        split: list[str] = bleu.tokenizer(line.lower() if ignore_case else line).split()
        return split

    expected = [words(line) for line in references]
    produced = [[words(line) for line in lines] for lines in outputs]
    frequencies = Counter(word for line in (map(words, training_text) if training_text else expected) for word in line)
    of_sentences = [
        [chrf.sentence_score(*line).score for line in zip(of, ([r] for r in references), strict=True)] for of in outputs
    ]
    changes = [second - first for first, second in zip(*of_sentences, strict=True)]
    sentences = _sentences(outputs, pairs, of_sentences)
    return Comparison(
        test_set=test_set,
        systems=[
            _system_scores(bleu, name, lines, references, of)
            for name, lines, of in zip(names, outputs, scores, strict=True)
        ],
        test=test,
        n_lines=len(pairs),
        n_words=sum(map(len, expected)),
        n_same=sum(a == b for a, b in zip(*outputs, strict=True)),
        n_gains=sum(change > 0 for change in changes),
        n_losses=sum(change < 0 for change in changes),
        by_length=by_length(bleu, outputs, references, words),
        by_frequency=by_frequency(produced, expected, frequencies),
        frequency_source="training text" if training_text else "references",
        by_excess=by_count([_excess(lines, expected) for lines in produced], EXCESS),
        by_score=by_count(of_sentences, SCORES, whole=False),
        by_change=by_count([changes], CHANGES, whole=False),
        ngrams=ngram_differences(produced, expected, N_NGRAMS),
        gains=list(islice((s for s in reversed(sentences) if s.change > 0), n_sentences)),
        losses=list(islice((s for s in sentences if s.change < 0), n_sentences)),
    )


def _system_scores(
    bleu: "BLEU", name: str, hypotheses: Sequence[str], references: Sequence[str], scores: Scores
) -> SystemScores:
    whole = bleu.corpus_score(hypotheses, [references])
    return SystemScores(
        name, scores, tuple(whole.precisions), whole.sys_len, whole.sys_len / max(whole.ref_len, 1), whole.bp
    )


def _excess(lines: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> list[int]:
    """Words of each line beyond those of its reference."""
    return [len(line) - len(reference) for line, reference in zip(lines, references, strict=True)]


def _sentences(
    outputs: Sequence[Sequence[str]], pairs: Sequence[tuple[str, str]], scores: Sequence[Sequence[float]]
) -> list[ComparedSentence]:
    """All sentences, from the largest loss to the largest gain."""
    columns = zip(pairs, *outputs, *scores, strict=True)
    found = [
        ComparedSentence(n, source, reference, (first, second), (a, b))
        for n, ((source, reference), first, second, a, b) in enumerate(columns, start=1)
    ]
    return sorted(found, key=lambda sentence: sentence.change)


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
    """Return the BLEU of each system on the sentences of each length; empty buckets are skipped.

    Args:
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
    """Return the sentences of each system in each bucket; buckets outside the range of all systems are skipped.

    Args:
        values: of each sentence, by system.
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
    """Return the matches of each system for the words of each frequency; empty buckets are skipped.

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


def ngram_differences(
    outputs: Sequence[Sequence[Sequence[str]]], references: Sequence[Sequence[str]], n_best: int
) -> tuple[list[NgramDifference], list[NgramDifference]]:
    """Return the n-grams of the references that mostly the first system gets right, and those of the second.

    They are ordered by the share of the matches that belong to the system, with one match added to each side, so that
    five to none comes before two to none. A lead of one match is skipped, and so are a part of an n-gram with the same
    matches, and n-grams with punctuation marks.

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


def marked(first: str, second: str, reference: str) -> tuple[list[MarkedSpan], list[MarkedSpan], list[MarkedSpan]]:
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
    """Yield the n-grams without punctuation marks."""
    is_word = [any(not unicodedata.category(char).startswith("P") for char in word) for word in words]
    for order in range(1, MAX_ORDER + 1):
        for i in range(len(words) - order + 1):
            if all(is_word[i : i + order]):
                yield tuple(words[i : i + order])


def _common(a: Sequence[str], b: Sequence[str]) -> tuple[set[int], set[int]]:
    """The positions of the parts that two texts have in common, in order."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return (
        {block.a + i for block in blocks for i in range(block.size)},
        {block.b + i for block in blocks for i in range(block.size)},
    )


def _spans(parts: Sequence[str], marks: Sequence[str]) -> list[MarkedSpan]:
    """Join neighbours with one mark; spaces have the mark of the words around them only if both have it."""
    marks = [
        mark
        if not part.isspace()
        else (marks[i - 1] if 0 < i < len(marks) - 1 and marks[i - 1] == marks[i + 1] else "")
        for i, (part, mark) in enumerate(zip(parts, marks, strict=True))
    ]
    spans: list[MarkedSpan] = []
    for part, mark in zip(parts, marks, strict=True):
        if spans and spans[-1].mark == mark:
            spans[-1] = MarkedSpan(spans[-1].text + part, mark)
        else:
            spans.append(MarkedSpan(part, mark))
    return spans
