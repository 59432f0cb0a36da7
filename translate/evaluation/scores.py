"""Corpus scores by sacreBLEU, each with the signature that makes it comparable.

Texts are detokenised and cased; sacreBLEU tokenises them itself.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from translate.errors import UserError

if TYPE_CHECKING:
    from sacrebleu import BLEU, CHRF, TER
    from sacrebleu.metrics.base import Metric

RESAMPLES = 1000


@dataclass(frozen=True)
class Score:
    """One metric over a corpus.

    Attributes:
        value: BLEU and chrF++ from 0 to 100, higher is better; TER from 0 upwards, lower is better.
        signature: the settings, as sacreBLEU writes them.
        mean, interval: 95 % of bootstrap resamples lie within mean +- interval; None without resampling.
        p_value: of the difference to the first system by a paired test; None without a test.
    """

    value: float
    signature: str
    mean: float | None = None
    interval: float | None = None
    p_value: float | None = None

    def as_dict(self) -> dict[str, object]:
        """Return plain data for JSON without the values that were not computed."""
        values = {"score": self.value, "signature": self.signature}
        added = {"mean": self.mean, "interval": self.interval, "p_value": self.p_value}
        return values | {name: value for name, value in added.items() if value is not None}


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
    n_resamples = RESAMPLES if confidence else 1
    chosen = metrics(target, ignore_case=ignore_case)
    return Scores(len(hypotheses), *(_corpus_score(metric, hypotheses, references, n_resamples) for metric in chosen))


def metrics(target: str = "", *, ignore_case: bool = False) -> tuple["BLEU", "CHRF", "TER"]:
    """Return BLEU, chrF++ and TER for a target language; UserError if its tokeniser is not installed."""
    from sacrebleu import BLEU, CHRF, TER

    try:
        # sacreBLEU knows "zh", but not "zh-CN".
        bleu = BLEU(trg_lang=re.split("[-_]", target)[0], lowercase=ignore_case)
    except (RuntimeError, ImportError) as error:
        raise UserError(f"sacreBLEU cannot tokenise the language {target!r}: {error}") from error
    return bleu, CHRF(word_order=2, lowercase=ignore_case), TER()


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], *, target: str = "") -> float:
    """Return BLEU with sacreBLEU's defaults for a target language; UserError as for `score`."""
    check_counts(hypotheses, references)
    return float(metrics(target)[0].corpus_score(hypotheses, [references]).score)


def check_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise UserError if there are no lines or their numbers differ."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} translations but {len(references)} references: line n of one must belong to line n of "
            "the other"
        )
    if not hypotheses:
        raise UserError("there are no lines to score")


def _corpus_score(metric: "Metric", hypotheses: Sequence[str], references: Sequence[str], n_resamples: int) -> Score:
    _return_floats(metric)
    result = metric.corpus_score(hypotheses, [references], n_bootstrap=n_resamples)
    signature = str(metric.get_signature())
    if n_resamples == 1:
        return Score(float(result.score), signature)
    record = json.loads(result.format(width=4, signature=signature, is_json=True))
    return Score(float(result.score), signature, record.get("confidence_mean", 0.0), record.get("confidence_var", 0.0))


def _return_floats(metric: "Metric") -> None:
    """Let a metric of sacreBLEU compute all scores as `float`.

    Resamples without a match score 0.0, others a `numpy.float32`; the mean of both types is a TypeError.
    """
    compute = metric._compute_score_from_stats

    def compute_float(stats: list[float]) -> object:
        result = compute(stats)
        result.score = float(result.score)
        return result

    vars(metric)["_compute_score_from_stats"] = compute_float
