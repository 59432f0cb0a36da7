"""The settings of a search, and its results.

Imports the standard library only, so that engines other than PyTorch can use these types without importing torch.
"""

from dataclasses import dataclass
from typing import Literal, get_args

LengthRule = Literal["gnmt", "average", "none"]
MAX_ALPHA = 10.0  # larger exponents exhaust the range of floats


@dataclass(frozen=True)
class Hypothesis:
    """One finished output.

    Attributes:
        tokens: token ids, without eos.
        log_prob: log P(tokens, eos).
        score: `log_prob` divided by the length penalty, plus `coverage`.
        coverage: the coverage penalty (`transformer.search.coverage`); 0 if it is not used.
    """

    tokens: list[int]
    log_prob: float
    score: float
    coverage: float = 0.0


def length_penalty(length: int, alpha: float, rule: LengthRule = "gnmt") -> float:
    """Return the divisor that turns a log-probability into a score; it never decreases with the length.

    Args:
        length: number of tokens, eos included.
        alpha: exponent of "gnmt"; the other rules ignore it.
        rule: "gnmt" is ((5 + length) / 6)^alpha of Wu et al. (2016), which section 6.1 uses; "average" is the length
            (length normalisation); "none" is 1.
    """
    if rule == "gnmt":
        return float(((5 + length) / 6) ** alpha)
    return float(length) if rule == "average" else 1.0


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Settings of a search; ValueError if one is out of range. The defaults are those of section 6.1.

    Attributes:
        bos, eos: ids of the tokens that start and end an output. Functions that also receive a model use its ids.
        beam_size: hypotheses per sentence; in constrained search, hypotheses per bank. 1 is greedy search.
        alpha: exponent of the length penalty, from 0.
        length_rule: which length penalty; see `length_penalty`.
        n_best: hypotheses to return per sentence, from 1 to beam_size; fewer if fewer finish.
        no_repeat: no n-gram of this many tokens may occur twice in an output; 0 allows all.
    """

    bos: int = 1
    eos: int = 2
    beam_size: int = 4
    alpha: float = 0.6
    length_rule: LengthRule = "gnmt"
    n_best: int = 1
    no_repeat: int = 0

    def __post_init__(self) -> None:
        for name in ("bos", "eos", "beam_size", "n_best", "no_repeat"):
            if type(value := getattr(self, name)) is not int:
                raise ValueError(f"{name} = {value!r} must be a whole number")
        if min(self.bos, self.eos) < 0 or self.bos == self.eos:
            raise ValueError(f"bos, eos = {self.bos}, {self.eos} must be two different token ids")
        if not 1 <= self.n_best <= self.beam_size:
            raise ValueError(f"n_best = {self.n_best} must be between 1 and beam_size = {self.beam_size}")
        if not 0 <= self.alpha <= MAX_ALPHA:
            raise ValueError(f"alpha = {self.alpha} must be between 0 and {MAX_ALPHA:g}")
        if self.length_rule not in get_args(LengthRule):
            raise ValueError(f"length_rule = {self.length_rule!r} is none of: {', '.join(get_args(LengthRule))}")
        if self.no_repeat < 0:
            raise ValueError(f"no_repeat = {self.no_repeat} must not be negative")

    def penalty(self, length: int) -> float:
        """Return the length penalty of an output of `length` tokens, eos included."""
        return length_penalty(length, self.alpha, self.length_rule)

    def hypothesis(self, tokens: list[int], log_prob: float) -> Hypothesis:
        """Return the finished hypothesis with its score; `tokens` come without eos."""
        return Hypothesis(tokens, log_prob, log_prob / self.penalty(len(tokens) + 1))
