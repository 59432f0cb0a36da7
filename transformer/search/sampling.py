"""Outputs sampled from the model's distribution. Nothing here depends on a model.

Dimension key: B sentences, N outputs (the same number for every sentence), V vocabulary.

Every output has its own random generator, so a sample does not depend on its batch or on other samples.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from transformer.config import Hypothesis, Sampling, SearchConfig
from transformer.search.beam import ShrinkingBatch, Step, top_k_sums


def sample(
    step: Step,
    max_lengths: Sequence[int],
    seeds: Sequence[Sequence[str]],
    config: SearchConfig,
    *,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """Return one output for each seed of each sentence, in the order of the seeds.

    Log-probabilities are those of the step, not of the restricted distribution. A sentence without finite
    probabilities has no outputs.

    Args:
        step: the step function, before its first call.
        max_lengths: maximum number of tokens of each output, eos included; only eos may be the last one.
        seeds: of the random generators; the same number for every sentence.
        config: its bos, eos, length penalty and `sampling`, the distribution; None is that of the step.
        device: where `step` computes.
    """
    sampling = config.sampling or Sampling()
    batch = ShrinkingBatch(len(max_lengths))
    n_each = len(seeds[0]) if seeds else 0
    outputs = [[_Output(random.Random(seed)) for seed in own] for own in seeds]
    token_N = torch.full((len(max_lengths) * n_each,), config.bos, dtype=torch.long, device=device)
    length = 0
    while batch.active:
        length += 1
        log_probs = step(token_N)
        rows = [(b, output) for b in batch.sentences for output in outputs[b]]
        uniform = [output.generator.random() for _, output in rows]
        sampled = _drawn(log_probs, sampling, uniform)
        at_limit = torch.tensor([length >= max_lengths[b] for b, _ in rows], device=device)
        token_N = sampled.masked_fill(at_limit, config.eos)
        chosen = log_probs.gather(1, token_N[:, None])[:, 0].tolist()
        for (_, output), token, log_prob in zip(rows, token_N.tolist(), chosen, strict=True):
            output.add(token, log_prob, config.eos)
        batch.active -= {i for i in batch.active if all(output.ended for output in outputs[batch.sentences[i]])}
        n_sentences = len(batch.sentences)
        if len(kept := batch.shrink()) < n_sentences:
            index_B = torch.tensor(kept, dtype=torch.long, device=device)
            index_N = (index_B[:, None] * n_each + torch.arange(n_each, device=device)).flatten()
            step.keep(index_B)
            step.reorder(index_N)
            token_N = token_N[index_N]
    return [[config.hypothesis(o.tokens, o.log_prob) for o in own if o.log_prob > float("-inf")] for own in outputs]


@dataclass
class _Output:
    """One output so far. Tokens sampled after eos are ignored."""

    generator: random.Random
    tokens: list[int] = field(default_factory=list)
    log_prob: float = 0.0
    ended: bool = False

    def add(self, token: int, log_prob: float, eos: int) -> None:
        if self.ended:
            return
        self.log_prob += log_prob
        self.ended = token == eos
        if not self.ended:
            self.tokens.append(token)


def _drawn(log_prob_NV: Tensor, sampling: Sampling, uniform: list[float]) -> Tensor:
    """Return the token that each number in [0, 1) draws from the restricted distribution, (N,)."""
    top_k = sampling.top_k
    if not 0 < top_k < log_prob_NV.size(1):
        return _sampled(probabilities(log_prob_NV, sampling), uniform)
    # The rest needs only C tokens of a row, the k most probable ones and ties of the last, not all V.
    past_N1 = log_prob_NV.new_zeros(len(log_prob_NV), 1)
    threshold_N1 = top_k_sums(log_prob_NV, past_N1, top_k)[0][:, -1:]
    n_most = max(top_k, int((log_prob_NV >= threshold_N1).sum(dim=1).amax()))
    token_NC = top_k_sums(log_prob_NV, past_N1, n_most)[1].sort(dim=1).values
    place_N = _sampled(probabilities(log_prob_NV.gather(1, token_NC), sampling), uniform)
    return token_NC.gather(1, place_N[:, None])[:, 0]


def probabilities(log_prob_NV: Tensor, sampling: Sampling) -> Tensor:
    """Return the restricted distribution, (N, V) in float64."""
    # A row's maximum becomes 0 and stays so when a tiny temperature makes all other values infinite.
    scaled_NV = (log_prob_NV.double() - log_prob_NV.amax(dim=1, keepdim=True)) / sampling.temperature
    if 0 < sampling.top_k < scaled_NV.size(1):
        threshold_N1 = scaled_NV.topk(sampling.top_k, dim=1).values[:, -1:]
        scaled_NV = scaled_NV.masked_fill(scaled_NV < threshold_N1, float("-inf"))
    prob_NV = scaled_NV.softmax(dim=1)
    if sampling.top_p == 1:
        return prob_NV
    sorted_NV, index_NV = prob_NV.sort(dim=1, descending=True, stable=True)
    before_NV = sorted_NV.cumsum(dim=1) - sorted_NV
    kept_NV = prob_NV.new_zeros(prob_NV.shape).scatter(
        1, index_NV, sorted_NV.masked_fill(before_NV >= sampling.top_p, 0.0)
    )
    return kept_NV / kept_NV.sum(dim=1, keepdim=True)


def _sampled(prob_NV: Tensor, uniform: list[float]) -> Tensor:
    """Return the first token at which the cumulative probability exceeds a number in [0, 1), (N,)."""
    cumulative_NV = prob_NV.cumsum(dim=1)
    # The largest number that `random` draws is 1 - 2^-53, so in float64 the product is always below the total.
    point_N1 = torch.tensor(uniform, dtype=prob_NV.dtype, device=prob_NV.device)[:, None] * cumulative_NV[:, -1:]
    # If a probability is NaN, no token exceeds the point.
    return torch.searchsorted(cumulative_NV, point_N1, right=True)[:, 0].clamp(max=prob_NV.size(1) - 1)
