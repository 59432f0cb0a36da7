"""Settings of decoding. The section [decoding] of the experiment file has the same fields."""

from dataclasses import dataclass
from typing import Annotated

from transformer.search.hypothesis import LengthRule
from translate.fields import Bounds, check

MAX_BEAM_SIZE, MAX_ALPHA = 256, 10.0  # larger values only exhaust memory or the floating-point range


@dataclass(frozen=True, kw_only=True)
class DecodingConfig:
    """Section 6.1: beam 4, alpha 0.6, at most input length + 50 tokens.

    Attributes:
        beam_size: hypotheses kept per step (6.1).
        alpha: exponent of the length penalty "gnmt" (6.1).
        length_penalty: divisor of the log-probability: "gnmt" is ((5 + length) / 6)^alpha (6.1), "average" the length,
            "none" 1.
        max_extra: limit of the output length, in tokens above the length of the source (6.1).
    """

    beam_size: Annotated[int, Bounds(ge=1, le=MAX_BEAM_SIZE)] = 4
    alpha: Annotated[float, Bounds(ge=0, le=MAX_ALPHA)] = 0.6
    length_penalty: LengthRule = "gnmt"
    max_extra: Annotated[int, Bounds(ge=1)] = 50

    def __post_init__(self) -> None:
        check(self)
