"""A model as a step function for `search`, and the shortest way from source ids to target ids.

Dimension key: B sentences, S source positions, N hypotheses, V vocabulary.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.model import Transformer
from transformer.search.beam import Hypothesis, Step, WithoutRepeats, beam_search, greedy_search
from transformer.search.hypothesis import LengthRule

_CHUNK = 32  # rows of scores that are converted and normalised at a time: they stay in the processor's cache


class ModelStep:
    """One model that decodes a batch of sentences, as `search` wants it."""

    def __init__(self, model: Transformer, src_BS: Tensor) -> None:
        self.model = model
        self.cache = model.new_cache(model.encode(src_BS))

    def __call__(self, token_N: Tensor) -> Tensor:
        """Log-probabilities (N, V) in float32; padding and bos are no words, so they never follow."""
        logits_NV = self.model.decode_step(token_N, self.cache)
        for never in (self.model.config.pad, self.model.config.bos):
            logits_NV[:, never] = float("-inf")
        if logits_NV.device.type != "cpu":
            return logits_NV.float().log_softmax(dim=-1)
        log_prob_NV = torch.empty_like(logits_NV, dtype=torch.float32)
        for start in range(0, len(logits_NV), _CHUNK):
            rows = slice(start, start + _CHUNK)
            torch.log_softmax(logits_NV[rows].float(), dim=-1, out=log_prob_NV[rows])
        return log_prob_NV

    def reorder(self, index_N: Tensor) -> None:
        """Hypotheses change places."""
        self.cache.reorder(index_N)

    def keep(self, index_B: Tensor) -> None:
        """Only these sentences go on."""
        self.cache.keep(index_B)


def pad_batch(sentences: Sequence[Sequence[int]], pad: int, device: torch.device | None = None) -> Tensor:
    """Token ids side by side, padded on the right, (B, S)."""
    width = max(len(ids) for ids in sentences)
    return torch.tensor([[*ids, *[pad] * (width - len(ids))] for ids in sentences], dtype=torch.long, device=device)


@torch.inference_mode()
def translate_ids(
    model: Transformer,
    src: Sequence[Sequence[int]],
    *,
    beam_size: int = 4,
    alpha: float = 0.6,
    rule: LengthRule = "gnmt",
    max_extra: int = 50,
    n_best: int = 1,
    max_lengths: Sequence[int] | None = None,
    no_repeat: int = 0,
) -> list[list[Hypothesis]]:
    """Translate one batch of sentences, ids without eos, by beam search (6.1); n_best hypotheses each, best first.

    The output has at most len(src) + max_extra tokens, eos included, or max_lengths[b] where they are given. With
    `no_repeat` = n > 0, no hypothesis holds the same n tokens twice. The model should be in eval mode.
    """
    config = model.config
    device = model.src_embedding.weight_VD.device
    src_BS = pad_batch([[*ids, config.eos] for ids in src], config.pad, device)
    step: Step = ModelStep(model, src_BS)
    step = WithoutRepeats(step, no_repeat) if no_repeat else step
    lengths = [len(ids) + max_extra for ids in src] if max_lengths is None else list(max_lengths)
    if beam_size == n_best == 1:
        likeliest = greedy_search(step, lengths, bos=config.bos, eos=config.eos, alpha=alpha, rule=rule, device=device)
        return [[h] if math.isfinite(h.log_prob) else [] for h in likeliest]
    return beam_search(
        step,
        lengths,
        bos=config.bos,
        eos=config.eos,
        beam_size=beam_size,
        alpha=alpha,
        rule=rule,
        n_best=n_best,
        device=device,
    )
