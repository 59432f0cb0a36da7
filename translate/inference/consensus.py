"""Minimum Bayes risk decoding: the sample that agrees most with the others."""

from collections import Counter
from collections.abc import Sequence

from translate.text.translation import Translation


def consensus(samples: Sequence[Translation]) -> Translation:
    """Return the sample with the highest mean chrF against all samples (Eikema and Aziz, 2020); the first on a tie.

    Samples represent the model's distribution, so equal samples count several times. ValueError without samples.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    texts = Counter(sample.text for sample in samples)

    def agreement(text: str) -> float:
        return float(sum(n * chrf.sentence_score(text, [other]).score for other, n in texts.items()))

    best = max(texts, key=agreement)
    return next(sample for sample in samples if sample.text == best)
