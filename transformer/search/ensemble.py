"""Several steps as one: models that share a vocabulary, asked together.

Dimension key: M members, N hypotheses, V vocabulary.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from transformer.search.beam import Step

Mean = Literal["log-probs", "probs"]


class EnsembleStep:
    """The mean of what the members say, as a distribution.

    Args:
        steps: one or more, over the same vocabulary, of the same sentences.
        mean: of "log-probs" (the geometric mean, normalised) or of "probs" (the arithmetic mean). Under the first, one
            member can rule a token out.
    """

    def __init__(self, steps: Sequence[Step], mean: Mean = "log-probs") -> None:
        self.steps = list(steps)
        self.mean = mean

    def __call__(self, token_N: Tensor) -> Tensor:
        """Log-probabilities of the next token, (N, V)."""
        log_prob_MNV = torch.stack([step(token_N) for step in self.steps])
        if self.mean == "probs":
            return log_prob_MNV.logsumexp(dim=0) - math.log(len(self.steps))
        return log_prob_MNV.mean(dim=0).log_softmax(dim=1)

    def reorder(self, index_N: Tensor) -> None:
        """Hypotheses change places, for every member."""
        for step in self.steps:
            step.reorder(index_N)

    def keep(self, index_B: Tensor) -> None:
        """Only these sentences go on, for every member."""
        for step in self.steps:
            step.keep(index_B)
