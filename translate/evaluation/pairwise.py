"""Paired significance tests between systems, by sacreBLEU's own code with its own seed and number of samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from translate.evaluation.scores import RESAMPLES, Score, Scores, check_counts, metrics

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Test = Literal["bootstrap", "ar"]

TESTS: dict[Test, str] = {"bootstrap": "paired bootstrap resampling", "ar": "paired approximate randomization"}


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
        target: language code, as for `score`.
        confidence: add bootstrap intervals to "ar".
        ignore_case: compare in lower case.

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
    a larger difference than that of the systems, and there are none.

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
    return [
        Score(
            float(result.score),
            str(signature),
            None if result.mean is None else float(result.mean),
            None if result.ci is None else float(result.ci),
            1.0 if i > 0 and result.score == found[0].score else result.p_value,
        )
        for i, result in enumerate(found)
    ]
