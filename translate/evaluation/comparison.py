"""Everything that the page of `translate compare` shows about two systems."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from translate.evaluation import buckets, differences
from translate.evaluation.buckets import Bucket, Matches
from translate.evaluation.differences import NgramDifference, Span
from translate.evaluation.pairwise import Test, paired_scores
from translate.evaluation.scores import Scores, metrics

if TYPE_CHECKING:
    from sacrebleu import BLEU

N_NGRAMS = 12
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class System:
    """One of the two systems.

    Attributes:
        name: shown on the page.
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
class Sentence:
    """One sentence with its translations.

    Attributes:
        line: its number, from 1.
        source: "" if unknown.
        reference: the expected translation.
        outputs: the translation by each system.
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
    def marked(self) -> tuple[list[Span], list[Span], list[Span]]:
        """Both translations and the reference with the differences marked."""
        return differences.marked(*self.outputs, self.reference)


@dataclass(frozen=True)
class Comparison:
    """The second system compared with the first, the baseline.

    Attributes:
        test_set: its name.
        systems: both.
        test: of the p-values.
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
    systems: Sequence[System]
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
    gains: list[Sentence]
    losses: list[Sentence]

    @property
    def verdict(self) -> str:
        """One sentence: which system is better, and whether that may be chance."""
        first, second = self.systems
        difference, p_value = second.scores.bleu.value - first.scores.bleu.value, second.scores.bleu.p_value
        if not difference:
            return "Both systems have the same BLEU."
        better, other = (second, first) if difference > 0 else (first, second)
        said = f"{better.name} is {abs(difference):.2f} BLEU above {other.name}"
        if p_value is not None and p_value < SIGNIFICANT:
            return f"{said}; the difference is significant (p = {p_value:.4f})."
        return f"{said}; the difference may be chance (p = {p_value:.4f})."


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
        test_set: its name.
        names: of the systems; the first is the baseline.
        outputs: their translations.
        pairs: sources, which may be empty, and references.
        test: of the p-values.
        target: language code, which chooses BLEU's tokeniser.
        ignore_case: compare in lower case.
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
            _system(bleu, name, lines, references, of) for name, lines, of in zip(names, outputs, scores, strict=True)
        ],
        test=test,
        n_lines=len(pairs),
        n_words=sum(map(len, expected)),
        n_same=sum(a == b for a, b in zip(*outputs, strict=True)),
        n_gains=sum(change > 0 for change in changes),
        n_losses=sum(change < 0 for change in changes),
        by_length=buckets.by_length(bleu, outputs, references, words),
        by_frequency=buckets.by_frequency(produced, expected, frequencies),
        frequency_source="training text" if training_text else "references",
        by_excess=buckets.by_count([_excess(lines, expected) for lines in produced], buckets.EXCESS),
        by_score=buckets.by_count(of_sentences, buckets.SCORES, whole=False),
        by_change=buckets.by_count([changes], buckets.CHANGES, whole=False),
        ngrams=differences.ngram_differences(produced, expected, N_NGRAMS),
        gains=list(islice((s for s in reversed(sentences) if s.change > 0), n_sentences)),
        losses=list(islice((s for s in sentences if s.change < 0), n_sentences)),
    )


def _system(bleu: "BLEU", name: str, hypotheses: Sequence[str], references: Sequence[str], scores: Scores) -> System:
    whole = bleu.corpus_score(hypotheses, [references])
    return System(name, scores, tuple(whole.precisions), whole.sys_len, whole.sys_len / max(whole.ref_len, 1), whole.bp)


def _excess(lines: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> list[int]:
    """Words of each line beyond those of its reference."""
    return [len(line) - len(reference) for line, reference in zip(lines, references, strict=True)]


def _sentences(
    outputs: Sequence[Sequence[str]], pairs: Sequence[tuple[str, str]], scores: Sequence[Sequence[float]]
) -> list[Sentence]:
    """All sentences, from the largest loss to the largest gain."""
    columns = zip(pairs, *outputs, *scores, strict=True)
    found = [
        Sentence(n, source, reference, (first, second), (a, b))
        for n, ((source, reference), first, second, a, b) in enumerate(columns, start=1)
    ]
    return sorted(found, key=lambda sentence: sentence.change)
