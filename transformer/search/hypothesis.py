"""What a search finds, and how it compares lengths.

Reads on its own: standard library only, so that what asks another engine for hypotheses needs no torch.
"""

from dataclasses import dataclass
from typing import Literal

LengthRule = Literal["gnmt", "average", "none"]


@dataclass(frozen=True)
class Hypothesis:
    """One finished output.

    Attributes:
        tokens: without eos.
        log_prob: log P(tokens, eos).
        score: that divided by the length penalty, plus `coverage`.
        coverage: the coverage penalty (`transformer.search.coverage`), where it was asked for.
    """

    tokens: list[int]
    log_prob: float
    score: float
    coverage: float = 0.0


def length_penalty(length: int, alpha: float, rule: LengthRule = "gnmt") -> float:
    """What a log-probability is divided by to make its score; the length counts eos. It never falls with the length.

    "gnmt" is ((5 + length) / 6)^alpha of Wu et al. (2016), which section 6.1 uses. "average" is the length; others
    call that length normalisation. "none" is 1. The last two know no alpha.
    """
    if rule == "gnmt":
        return float(((5 + length) / 6) ** alpha)
    return float(length) if rule == "average" else 1.0
