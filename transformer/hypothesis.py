"""What a search finds, and how it compares lengths.

Reads on its own: standard library only, so that what asks another engine for hypotheses needs no torch.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One finished output: its tokens without eos, log P(tokens, eos), and that divided by the length penalty."""

    tokens: list[int]
    log_prob: float
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """lp = ((5 + length) / 6)^alpha of Wu et al. (2016), which section 6.1 uses; the length counts eos."""
    return float(((5 + length) / 6) ** alpha)
