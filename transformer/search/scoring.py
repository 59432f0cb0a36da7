"""Forced scoring: log-probabilities of given translations.

Dimension key: B sentences, T target positions, eos included, V vocabulary.
"""

from collections.abc import Sequence

import torch

from transformer.model import Transformer
from transformer.search.model_step import pad_batch, source_batch, target_batch


@torch.inference_mode()
def score_ids(model: Transformer, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> list[list[float]]:
    """Return the natural log-probability of each target token and of eos, given the source and the tokens before it.

    As in search, padding and bos have probability 0.

    Args:
        model: should be in eval mode.
        src, tgt: token ids of each pair, without bos and eos.

    Raises ValueError if their numbers differ: a single source would be that of each target.
    """
    if len(src) != len(tgt):
        raise ValueError(f"{len(src)} sources but {len(tgt)} targets")
    if not src:
        return []
    tgt_out_BT = pad_batch([[*ids, model.config.eos] for ids in tgt], model.config.pad, model.device)
    logits_BTV = model(source_batch(model, src), target_batch(model, tgt)).float()
    logits_BTV[:, :, [model.config.pad, model.config.bos]] = float("-inf")
    chosen_BT = logits_BTV.gather(2, tgt_out_BT[:, :, None])[:, :, 0] - logits_BTV.logsumexp(dim=2)
    return [row[: len(ids) + 1] for row, ids in zip(chosen_BT.tolist(), tgt, strict=True)]
