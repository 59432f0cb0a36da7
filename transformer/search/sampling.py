"""Outputs drawn by chance instead of searched for; knows no model.

Dimension key: B sentences, N hypotheses (the same number for every sentence, side by side), V vocabulary.

Every output has random numbers of its own, one a token, so that a sample depends neither on its batch nor on others.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.search.beam import Step
from transformer.search.hypothesis import Hypothesis, LengthRule, length_penalty


@dataclass(frozen=True)
class Sampling:
    """What the next token is drawn from; ValueError if out of range.

    Attributes:
        temperature: logits are divided by it; below 1 the likely become likelier.
        top_k: only so many of the likeliest tokens (Fan et al., 2018), and what ties with the last; 0 for all.
        top_p: only the fewest likeliest tokens that have this share of the probability (Holtzman et al., 2020).
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature = {self.temperature}: must be above 0")
        if self.top_k < 0:
            raise ValueError(f"top_k = {self.top_k}: must not be negative")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p = {self.top_p}: must be above 0 and at most 1")

    def probabilities(self, log_prob_NV: Tensor) -> Tensor:
        """The restricted distribution, (N, V) in float64; top_k counts first, and top_p in what that leaves."""
        scaled_NV = log_prob_NV.double() / self.temperature
        if 0 < self.top_k < scaled_NV.size(1):
            least_N1 = scaled_NV.topk(self.top_k, dim=1).values[:, -1:]
            scaled_NV = scaled_NV.masked_fill(scaled_NV < least_N1, float("-inf"))
        prob_NV = scaled_NV.softmax(dim=1)
        if self.top_p == 1:
            return prob_NV
        sorted_NV, index_NV = prob_NV.sort(dim=1, descending=True, stable=True)
        likelier_NV = sorted_NV.cumsum(dim=1) - sorted_NV
        kept_NV = torch.zeros_like(prob_NV).scatter(1, index_NV, sorted_NV.masked_fill(likelier_NV >= self.top_p, 0.0))
        return kept_NV / kept_NV.sum(dim=1, keepdim=True)


def sample(
    step: Step,
    max_lengths: Sequence[int],
    seeds: Sequence[Sequence[str]],
    *,
    bos: int,
    eos: int,
    sampling: Sampling | None = None,
    alpha: float = 0.6,
    rule: LengthRule = "gnmt",
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """One output for each seed of each sentence, in their order; every sentence has as many seeds.

    Token by token until eos is drawn, or until max_lengths[b] - 1 tokens, then eos. Log-probabilities are the step's,
    whatever `sampling` draws from. A sentence whose probabilities are not finite has no outputs.
    """
    sampling = sampling or Sampling()
    alive = list(range(len(max_lengths)))
    n_each = len(seeds[0]) if alive else 0
    outputs = [[_Output(random.Random(seed)) for seed in own] for own in seeds]
    token_N = torch.full((len(alive) * n_each,), bos, dtype=torch.long, device=device)
    length = 0
    while alive:
        length += 1
        log_prob = step(token_N)
        rows = [(b, output) for b in alive for output in outputs[b]]
        drawn = _drawn(sampling.probabilities(log_prob), [output.draws.random() for _, output in rows])
        at_limit = torch.tensor([length >= max_lengths[b] for b, _ in rows], device=device)
        token_N = drawn.masked_fill(at_limit, eos)
        chosen = log_prob.gather(1, token_N[:, None])[:, 0].tolist()
        for (_, output), token, own in zip(rows, token_N.tolist(), chosen, strict=True):
            output.add(token, own, eos)
        keep = [i for i, b in enumerate(alive) if not all(output.ended for output in outputs[b])]
        if len(keep) < len(alive):
            index_B = torch.tensor(keep, dtype=torch.long, device=device)
            index_N = (index_B[:, None] * n_each + torch.arange(n_each, device=device)).flatten()
            step.keep(index_B)
            step.reorder(index_N)
            token_N = token_N[index_N]
        alive = [alive[i] for i in keep]
    return [[o.hypothesis(alpha, rule) for o in own if o.log_prob > float("-inf")] for own in outputs]


@dataclass
class _Output:
    """One output as far as it goes; what is drawn after its end is not heard."""

    draws: random.Random
    tokens: list[int] | None = None
    log_prob: float = 0.0
    ended: bool = False

    def add(self, token: int, log_prob: float, eos: int) -> None:
        if self.ended:
            return
        self.tokens = self.tokens or []
        self.log_prob += log_prob
        self.ended = token == eos
        if not self.ended:
            self.tokens.append(token)

    def hypothesis(self, alpha: float, rule: LengthRule) -> Hypothesis:
        tokens = self.tokens or []
        return Hypothesis(tokens, self.log_prob, self.log_prob / length_penalty(len(tokens) + 1, alpha, rule))


def _drawn(prob_NV: Tensor, uniform: list[float]) -> Tensor:
    """The token at which the sum of the probabilities first exceeds a number between 0 and 1, (N,)."""
    sum_NV = prob_NV.cumsum(dim=1)
    total_N1 = sum_NV[:, -1:]
    point_N1 = torch.tensor(uniform, dtype=prob_NV.dtype, device=prob_NV.device)[:, None] * total_N1
    # Rounded up to the whole it would point behind the last token.
    point_N1 = torch.minimum(point_N1, torch.nextafter(total_N1, torch.zeros_like(total_N1)))
    return torch.searchsorted(sum_NV, point_N1, right=True)[:, 0].clamp(max=prob_NV.size(1) - 1)
