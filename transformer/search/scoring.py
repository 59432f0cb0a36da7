"""Forced scoring: what a model thinks of translations that are given.

Dimension key: B sentences, S source positions, T target positions, eos included, V vocabulary.
"""

from collections.abc import Sequence

import torch

from transformer.model import Transformer
from transformer.search.model_step import pad_batch


@torch.inference_mode()
def score_ids(model: Transformer, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> list[list[float]]:
    """Natural log-probability of each token of each target and of the eos after it, given the source and what precedes.

    The distribution is that of search, in which neither padding nor bos ever follows. All ids come without bos and
    eos; the model should be in eval mode.
    """
    if not src:
        return []
    config = model.config
    device = model.src_embedding.weight_VD.device
    src_BS = pad_batch([[*ids, config.eos] for ids in src], config.pad, device)
    tgt_in_BT = pad_batch([[config.bos, *ids] for ids in tgt], config.pad, device)
    tgt_out_BT = pad_batch([[*ids, config.eos] for ids in tgt], config.pad, device)
    logits_BTV = model(src_BS, tgt_in_BT).float()
    logits_BTV[:, :, [config.pad, config.bos]] = float("-inf")
    chosen_BT = logits_BTV.gather(2, tgt_out_BT[:, :, None])[:, :, 0] - logits_BTV.logsumexp(dim=2)
    return [row[: len(ids) + 1] for row, ids in zip(chosen_BT.tolist(), tgt, strict=True)]
