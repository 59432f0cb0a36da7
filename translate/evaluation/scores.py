"""Corpus scores and paired significance tests by sacreBLEU, each with the signature that makes it comparable.

Texts are detokenised and cased; sacreBLEU tokenises them itself. The tests are sacreBLEU's own, with its own seed and
number of samples.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from translate.errors import UserError
from translate.text.languages import shortest, without_region

if TYPE_CHECKING:
    from sacrebleu import BLEU, CHRF, TER
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.base import Score as MetricScore

    from translate.models.folder import ModelFolder

Test = Literal["bootstrap", "ar"]

TESTS: dict[Test, str] = {"bootstrap": "paired bootstrap resampling", "ar": "paired approximate randomization"}
RESAMPLES = 1000
_MANY_LINES = 20  # that differ; no test here finds a p-value as small as 2 / 2^20
# Marks of subwords by the tool that writes them, as they stand in a line.
SUBWORDS = {
    "SentencePiece": re.compile("\u2581"),
    "BPE": re.compile(r"\S@@(?=\s|$)"),
    "WordPiece": re.compile(r"(?<=\s)##\w"),
    "OpenNMT": re.compile("\uffed"),
}
# Ordinary text has the mark of WordPiece too, as in " ##tag"; output in pieces has it in most lines.
WORDPIECE_LINES, WORDPIECE_SHARE = 2, 0.05
MIN_CASED = 5  # references with a capital letter below which a lack of capitals proves nothing


@dataclass(frozen=True)
class Score:
    """One metric over a corpus.

    Attributes:
        value: BLEU and chrF++ from 0 to 100, higher is better; TER from 0 upwards, lower is better.
        signature: the settings, as sacreBLEU writes them.
        mean, interval: 95 % of bootstrap resamples lie within mean +- interval; None without resampling.
        p_value: of the difference to the first system by a paired test; None without a test.
        notes: sentences on values that say less than they seem to.
    """

    value: float
    signature: str
    mean: float | None = None
    interval: float | None = None
    p_value: float | None = None
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain data for JSON without the values that were not computed."""
        values = {"score": self.value, "signature": self.signature}
        added = {"mean": self.mean, "interval": self.interval, "p_value": self.p_value}
        found = values | {name: value for name, value in added.items() if value is not None}
        return found | ({"notes": list(self.notes)} if self.notes else {})


@dataclass(frozen=True)
class Scores:
    """All metrics over the same lines."""

    n_lines: int
    bleu: Score
    chrf: Score
    ter: Score

    def by_name(self) -> dict[str, Score]:
        """Return the scores by the names of their metrics."""
        return {"BLEU": self.bleu, "chrF++": self.chrf, "TER": self.ter}

    def as_dict(self) -> dict[str, object]:
        """Return plain data for JSON; the names are in lower case."""
        return {"lines": self.n_lines} | {name.lower(): score.as_dict() for name, score in self.by_name().items()}


def score(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    target: str = "",
    confidence: bool = False,
    ignore_case: bool = False,
) -> Scores:
    """Return BLEU, chrF++ and TER of hypotheses against one reference each.

    Args:
        hypotheses, references: texts in the same order.
        target: language code; BLEU has special tokenisers for Chinese, Japanese and Korean.
        confidence: add bootstrap intervals.
        ignore_case: compare in lower case; the signatures say so.

    Raises UserError if there is nothing to score or the counts differ.
    """
    check_counts(hypotheses, references)
    if confidence:
        return paired_scores([hypotheses], references, "bootstrap", target=target, ignore_case=ignore_case)[0]
    chosen = metrics(target, ignore_case=ignore_case)
    return Scores(len(hypotheses), *(_corpus_score(metric, hypotheses, references) for metric in chosen))


def metrics(target: str = "", *, ignore_case: bool = False) -> tuple["BLEU", "CHRF", "TER"]:
    """Return BLEU, chrF++ and TER for a target language; UserError if its tokeniser is not installed."""
    from sacrebleu import BLEU, CHRF, TER

    try:
        bleu = BLEU(trg_lang=without_region(shortest(target)), lowercase=ignore_case)
    except (RuntimeError, ImportError) as error:
        raise UserError(f"sacreBLEU cannot tokenise the language {target!r}: {error}") from error
    return bleu, CHRF(word_order=2, lowercase=ignore_case), TER()


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], *, target: str = "") -> float:
    """Return BLEU with sacreBLEU's defaults for a target language; UserError as for `score`."""
    check_counts(hypotheses, references)
    return float(metrics(target)[0].corpus_score(hypotheses, [references]).score)


def greedy_bleu(model: "ModelFolder", pairs: Sequence[tuple[str, str]]) -> float:
    """Return the BLEU of greedy translations: a few points below beam search, and several times as fast.

    Each source is one sentence, as in `translate evaluate`.
    """
    from translate.inference.search import SentenceSearch
    from translate.inference.torch_engine import TorchEngine
    from translate.text.translation import Search, one_line

    source, reference = zip(*pairs, strict=True)
    greedy = Search(beam_size=1).config(model.spec.decoding)
    found = SentenceSearch(TorchEngine(model), greedy).translate([one_line(sentence) for sentence in source])
    return corpus_bleu([best.text for best, *_ in found], reference, target=model.spec.target)


def paired_scores(
    outputs: Sequence[Sequence[str]],
    references: Sequence[str],
    test: Test,
    *,
    target: str = "",
    confidence: bool = False,
    ignore_case: bool = False,
) -> list[Scores]:
    """Return BLEU, chrF++ and TER of each system, with p-values of the differences to the first.

    Args:
        outputs: translations of the same text by each system.
        references: one for each line.
        test: "bootstrap" for paired bootstrap resampling, which also gives intervals, "ar" for approximate
            randomization.
        confidence: add bootstrap intervals to "ar".

    Raises UserError as `score` does.
    """
    chosen = metrics(target, ignore_case=ignore_case)
    columns = [paired_test(outputs, references, metric, test, confidence=confidence) for metric in chosen]
    return [Scores(len(references), *scores) for scores in zip(*columns, strict=True)]


def paired_test(
    outputs: Sequence[Sequence[str]],
    references: Sequence[str],
    metric: "Metric",
    test: Test,
    *,
    confidence: bool = False,
) -> list[Score]:
    """Return the score of each system by one metric, with p-values of the differences to the first.

    Equal scores have the p-value 1. sacreBLEU gives identical systems a small one, because it counts the samples with
    a larger difference than that of the systems, and there are none. No p-value is below `_least_p_value`.

    Args:
        outputs, references, test: as for `paired_scores`.
        metric: of sacreBLEU.
        confidence: add bootstrap intervals to "ar".

    Raises UserError if there is nothing to score or the counts differ.
    """
    from sacrebleu.significance import PairedTest, Result

    for hypotheses in outputs:
        check_counts(hypotheses, references)
    systems: list[tuple[str, Sequence[str]]] = [(str(i), hypotheses) for i, hypotheses in enumerate(outputs)]
    run = PairedTest(
        systems,
        {"metric": metric},
        [list(references)],
        "ar" if test == "ar" else "bs",
        n_ar_confidence=RESAMPLES if confidence else -1,
    )
    signatures, results = run()
    ((name, signature),) = signatures.items()
    found = [result for result in results[name] if isinstance(result, Result)]
    least = [
        1.0 if result.score == found[0].score else _least_p_value(outputs[0], hypotheses, references, metric)
        for result, hypotheses in zip(found, outputs, strict=True)
    ]
    return [
        Score(
            float(result.score),
            str(signature),
            None if result.mean is None else float(result.mean),
            None if result.ci is None else float(result.ci),
            None if result.p_value is None else max(result.p_value, bound),
            (*_on_value(metric.corpus_score(hypotheses, [references])), *_on_interval(result.ci, len(references))),
        )
        for result, bound, hypotheses in zip(found, least, outputs, strict=True)
    ]


def _on_value(result: "MetricScore") -> Iterator[str]:
    """Yield a sentence if BLEU has no match of its longest n-grams, as it is a product of the matches of each length.

    sacreBLEU smooths a length without matches, but not one that no translation reaches.
    """
    from sacrebleu.metrics.bleu import BLEUScore

    if not isinstance(result, BLEUScore) or result.counts[-1]:
        return
    order = len(result.counts)
    if not result.totals[-1]:
        yield f"BLEU is 0 because no translation has {order} words in a row, and it needs matches of 1 to {order} words"
    else:
        yield f"BLEU has no match of {order} words in a row, so that smoothing alone keeps it above 0"


def _on_interval(interval: float | None, n_lines: int) -> Iterator[str]:
    """Yield a sentence if an interval of 0 comes from a single line."""
    if interval is not None and n_lines == 1:
        yield "the interval is 0 because all resamples of a single line are equal; it needs more lines"


def _least_p_value(first: Sequence[str], second: Sequence[str], references: Sequence[str], metric: "Metric") -> float:
    """Return the smallest p-value that the lines on which two systems differ can support.

    If chance decided which system wrote which of d differing lines, all 2^d exchanges would be equally probable. At
    least two make a difference as large as the observed one, none and all, so a two-sided randomization test has
    p >= 2 / 2^d. sacreBLEU's tests fall below that, to 0.0001 for one line: neither counts differences that are equal.
    The bound holds for the bootstrap too, which has no other evidence.
    """

    def statistics(line: str, reference: str) -> dict[str, object]:
        # Lines are equal if the metric counts them alike: it ignores some differences, such as those in white space.
        # A perfect second line is added because chrF++ gives its score alone, 0 for all lines without a match.
        counts: dict[str, object] = vars(metric.corpus_score([line, reference], [[reference, reference]]))
        return counts

    lines = zip(first, second, references, strict=True)
    differing = (1 for a, b, line in lines if a != b and statistics(a, line) != statistics(b, line))
    return min(1.0, 2.0 ** (1 - sum(islice(differing, _MANY_LINES))))


def check_counts(hypotheses: Sequence[object], references: Sequence[object]) -> None:
    """Raise UserError if there are no lines or their numbers differ.

    sacreBLEU leaves the lines out that the shorter list lacks, and other metrics may.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} translations but {len(references)} references: line n of one must belong to line n of "
            "the other"
        )
    if not hypotheses:
        raise UserError("there are no lines to score")


def check_hypotheses(
    name: str, hypotheses: Sequence[str], references: Sequence[str], *, ignore_case: bool = False
) -> None:
    """Raise UserError if the scores of these hypotheses would mislead.

    That is the case if the numbers of lines differ, if the hypotheses but not the references contain marks of
    subwords, or if only the references contain capital letters.

    Args:
        name: of the system, for the message.
        hypotheses, references: line n of one belongs to line n of the other.
        ignore_case: allow hypotheses without capitals.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"{name}: has {len(hypotheses)} lines, but the references have {len(references)}; line n of one must "
            "belong to line n of the other"
        )
    _check_subwords(name, hypotheses, references)
    n_cased = sum(line != line.lower() for line in references)
    lower_cased = all(line == line.lower() for line in hypotheses) and any(line != line.upper() for line in hypotheses)
    if lower_cased and n_cased >= MIN_CASED and not ignore_case:
        raise UserError(
            f"{name}: has no capital letter, but {n_cased} references have; restore the case, or compare in lower case "
            "with --ignore-case"
        )


def _corpus_score(metric: "Metric", hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    result = metric.corpus_score(hypotheses, [references])
    return Score(float(result.score), str(metric.get_signature()), notes=tuple(_on_value(result)))


def _check_subwords(name: str, hypotheses: Sequence[str], references: Sequence[str]) -> None:
    for tool, mark in SUBWORDS.items():
        found = [n for n, line in enumerate(hypotheses, start=1) if mark.search(line)]
        if tool == "WordPiece" and len(found) < max(WORDPIECE_LINES, WORDPIECE_SHARE * len(hypotheses)):
            continue
        if found and not any(map(mark.search, references)):
            raise UserError(
                f"{name}, line {found[0]}: still holds subwords, with marks of {tool}; join them to words before "
                "scoring"
            )
