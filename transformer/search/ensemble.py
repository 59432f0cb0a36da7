"""Several models that share a vocabulary as one step function.

Dimension key: M members, N hypotheses, V vocabulary.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from transformer.search.beam import Step

Mean = Literal["log-probs", "probs"]


class EnsembleStep:
    """The mean of the members' distributions, normalised.

    Args:
        steps: one or more, over the same vocabulary and sentences.
        mean: "log-probs" is the geometric mean, under which a single member can exclude a token; "probs" is the
            arithmetic mean. ValueError for any other.
    """

    def __init__(self, steps: Sequence[Step], mean: Mean = "log-probs") -> None:
        if mean not in get_args(Mean):
            raise ValueError(f"mean = {mean!r} is none of: {', '.join(get_args(Mean))}")
        self.steps = list(steps)
        self.mean = mean

    @property
    def n_sentences(self) -> int:
        """The number of sentences of the first member, if it knows it."""
        return self.steps[0].n_sentences  # type: ignore[attr-defined, no-any-return]

    def __call__(self, token_N: Tensor) -> Tensor:
        """Return the log-probabilities of the next token, (N, V)."""
        log_prob_MNV = torch.stack([step(token_N) for step in self.steps])
        if self.mean == "probs":
            return log_prob_MNV.logsumexp(dim=0) - math.log(len(self.steps))
        return log_prob_MNV.mean(dim=0).log_softmax(dim=1)

    def reorder(self, index_N: Tensor) -> None:
        """Let hypothesis n continue hypothesis index_N[n] in every member."""
        for step in self.steps:
            step.reorder(index_N)

    def keep(self, index_B: Tensor) -> None:
        """Keep only these sentences in every member."""
        for step in self.steps:
            step.keep(index_B)
