"""Corpus scores by sacreBLEU, each with the signature that makes it comparable.

Texts are detokenised and cased; sacreBLEU tokenises them itself.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from translate.errors import UserError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

RESAMPLES = 1000


@dataclass(frozen=True)
class Score:
    """One metric over a corpus.

    Attributes:
        value: BLEU and chrF from 0 to 100, higher is better; TER from 0 upwards, lower is better.
        signature: the settings, as sacreBLEU writes them.
        mean, interval: 95 % of bootstrap resamples lie within mean +- interval; None without resampling.
    """

    value: float
    signature: str
    mean: float | None = None
    interval: float | None = None


@dataclass(frozen=True)
class Scores:
    """All metrics over the same lines."""

    n_lines: int
    bleu: Score
    chrf: Score
    ter: Score

    def as_dict(self) -> dict[str, object]:
        """Return plain data for JSON without the values that were not computed."""
        values: dict[str, object] = {"lines": self.n_lines}
        for name in ("bleu", "chrf", "ter"):
            score: Score = getattr(self, name)
            values[name] = {"score": score.value, "signature": score.signature}
            if score.mean is not None:
                values[name] |= {"mean": score.mean, "interval": score.interval}  # type: ignore[operator]
        return values


def score(
    hypotheses: Sequence[str], references: Sequence[str], *, target: str = "", confidence: bool = False
) -> Scores:
    """Return BLEU, chrF and TER of hypotheses against one reference each.

    Args:
        hypotheses, references: texts in the same order.
        target: language code; BLEU has special tokenisers for Chinese, Japanese and Korean.
        confidence: add bootstrap intervals.

    Raises UserError if there is nothing to score or the counts differ.
    """
    _check_counts(hypotheses, references)
    n_resamples = RESAMPLES if confidence else 1
    values = (_corpus_score(metric, hypotheses, references, n_resamples) for metric in metrics(target))
    return Scores(len(hypotheses), *values)


def metrics(target: str = "") -> tuple["Metric", "Metric", "Metric"]:
    """Return BLEU, chrF and TER for a target language; UserError if its tokeniser is not installed."""
    from sacrebleu import BLEU, CHRF, TER

    try:
        return BLEU(trg_lang=target), CHRF(), TER()
    except (RuntimeError, ImportError) as error:
        raise UserError(f"sacreBLEU cannot tokenise the language {target!r}: {error}") from error


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return BLEU with sacreBLEU's defaults; UserError as for `score`."""
    from sacrebleu import BLEU

    _check_counts(hypotheses, references)
    return float(BLEU().corpus_score(hypotheses, [references]).score)


def _corpus_score(metric: "Metric", hypotheses: Sequence[str], references: Sequence[str], n_resamples: int) -> Score:
    result = metric.corpus_score(hypotheses, [references], n_bootstrap=n_resamples)
    signature = str(metric.get_signature())
    if n_resamples == 1:
        return Score(float(result.score), signature)
    record = json.loads(result.format(width=4, signature=signature, is_json=True))
    return Score(float(result.score), signature, record.get("confidence_mean", 0.0), record.get("confidence_var", 0.0))


def _check_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} translations but {len(references)} references: line n of one must belong to line n of "
            "the other"
        )
    if not hypotheses:
        raise UserError("there are no lines to score")
