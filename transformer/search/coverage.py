"""The coverage penalty of Wu et al. (2016), equation 14: outputs that ignore part of their source rank lower.

Dimension key: H hypotheses of all sentences, S source positions, T target positions.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from transformer.config import Hypothesis
from transformer.model import Transformer
from transformer.search.model_step import source_batch, target_batch

_CELLS = 2**20  # (H, T, S) entries per batch; each layer and head holds as many attention weights


def with_coverage(
    models: Sequence[Transformer], src: Sequence[Sequence[int]], found: Sequence[Sequence[Hypothesis]], beta: float
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each sentence with cp = beta * sum_i log(min(sum_j p_ij, 1)) added, best first.

    p_ij is the attention of target token j, eos included, to source token i, eos excluded: the mean over the heads of
    the last decoder layer, and over the models. The penalty changes the order of hypotheses, so pass all that the
    search finished: search with n_best = beam_size, which also postpones its early stop until they are found.

    Args:
        models: the searched models; should be in eval mode.
        src: token ids of each source, without eos.
    """
    outputs = [(ids, hypothesis.tokens) for ids, own in zip(src, found, strict=True) for hypothesis in own]
    if not outputs:
        return [[] for _ in found]
    n = max(1, _CELLS // (max(len(ids) + 1 for ids, _ in outputs) * max(len(ids) + 1 for _, ids in outputs)))
    batches = (outputs[i : i + n] for i in range(0, len(outputs), n))
    penalties = iter([penalty for batch in batches for penalty in _penalties(models, batch, beta)])
    ranked = []
    for own in found:
        adjusted = [replace(h, score=h.score + cp, coverage=cp) for h, cp in zip(own, penalties, strict=False)]
        ranked.append(sorted(adjusted, key=lambda h: -h.score))
    return ranked


def _penalties(
    models: Sequence[Transformer], pairs: Sequence[tuple[Sequence[int], Sequence[int]]], beta: float
) -> list[float]:
    """Return the coverage penalty of each (source, target) pair."""
    attention_HS = torch.stack([_total_attention(model, pairs) for model in models]).mean(dim=0)
    smallest = torch.finfo(attention_HS.dtype).tiny  # log(0) is not finite
    log_HS = attention_HS.clamp(smallest, 1.0).log()
    return [beta * log_S[: len(ids)].sum().item() for log_S, (ids, _) in zip(log_HS, pairs, strict=True)]


@torch.inference_mode()
def _total_attention(model: Transformer, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Tensor:
    """Return the attention that each source token receives from all target tokens, (H, S)."""
    tgt_HT = target_batch(model, [tgt for _, tgt in pairs])
    maps = model.attention_maps(source_batch(model, [src for src, _ in pairs]), tgt_HT)
    weights_HTS = maps.cross[-1].float().mean(dim=1)
    return (weights_HTS * (tgt_HT != model.config.pad)[:, :, None]).sum(dim=1)
