"""Minimum Bayes risk: of several samples, the one that the others agree with most."""

from collections import Counter
from collections.abc import Sequence

from translate.inference.translator import Translation


def consensus(samples: Sequence[Translation]) -> Translation:
    """The sample of the highest mean chrF against all samples (Eikema and Aziz, 2020); of equals the first.

    Samples stand for the model's distribution, so one that was drawn twice counts twice. ValueError if there are none.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    texts = Counter(sample.text for sample in samples)

    def agreement(text: str) -> float:
        return float(sum(n * chrf.sentence_score(text, [other]).score for other, n in texts.items()))

    best = max(texts, key=agreement)
    return next(sample for sample in samples if sample.text == best)
