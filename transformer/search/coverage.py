"""The coverage penalty of Wu et al. (2016), equation 14: what leaves part of its source unread ranks lower.

Dimension key: H hypotheses of all sentences, S source positions, T target positions, M models.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from transformer.model import Transformer
from transformer.search.hypothesis import Hypothesis
from transformer.search.model_step import pad_batch

_CELLS = 2**20  # of the attention of all hypotheses that are read together: every layer and head has as many


def with_coverage(
    models: Sequence[Transformer], src: Sequence[Sequence[int]], found: Sequence[Sequence[Hypothesis]], beta: float
) -> list[list[Hypothesis]]:
    """The hypotheses of each source with cp = beta * sum_i log(min(sum_j p_ij, 1)) added to their scores, best first.

    p_ij is how much the target token j, which may be the end, reads of the source token i, which is not: the mean over
    the heads of the last decoder layer, and over the models. Ids come without eos; models should be in eval mode.

    The penalty is at most 0, so a bound on scores without it bounds those with it; but it changes their order. So a
    search has to hand over all that is to be ranked: `beam_search` with n_best = beam_size, whose early stop then waits
    for so many finished hypotheses, as the search would without it.
    """
    outputs = [(ids, hypothesis) for ids, own in zip(src, found, strict=True) for hypothesis in own]
    if not outputs:
        return [list(own) for own in found]
    sources, targets = [ids for ids, _ in outputs], [hypothesis.tokens for _, hypothesis in outputs]
    largest = max(len(ids) + 1 for ids in sources) * max(len(ids) + 1 for ids in targets)
    n = max(1, _CELLS // largest)
    penalties = iter(
        penalty
        for i in range(0, len(outputs), n)
        for penalty in _penalties(models, sources[i : i + n], targets[i : i + n], beta)
    )
    ranked = []
    for own in found:
        adjusted = [replace(h, score=h.score + cp, coverage=cp) for h, cp in zip(own, penalties, strict=False)]
        ranked.append(sorted(adjusted, key=lambda h: -h.score))
    return ranked


@torch.inference_mode()
def _shares(model: Transformer, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> Tensor:
    """How much all of a target reads of each source token, (H, S)."""
    config, device = model.config, model.src_embedding.weight_VD.device
    src_HS = pad_batch([[*ids, config.eos] for ids in src], config.pad, device)
    tgt_HT = pad_batch([[config.bos, *ids] for ids in tgt], config.pad, device)
    weights_HTS = model.attention_maps(src_HS, tgt_HT).cross[-1].float().mean(dim=1)
    return (weights_HTS * (tgt_HT != config.pad)[:, :, None]).sum(dim=1)


def _penalties(
    models: Sequence[Transformer], src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]], beta: float
) -> list[float]:
    share_HS = torch.stack([_shares(model, src, tgt) for model in models]).mean(dim=0)
    least = torch.finfo(share_HS.dtype).tiny  # of a share that is rounded to 0 the logarithm is no number
    log_HS = share_HS.clamp(least, 1.0).log()
    return [beta * log_S[: len(ids)].sum().item() for log_S, ids in zip(log_HS, src, strict=True)]
