"""Which source token a target token comes from, by cross-attention (3.2.3).

Dimension key: B sentences, H heads, S source positions, T target positions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.model import Transformer
from transformer.search.model_step import pad_batch


@torch.inference_mode()
def cross_attention(
    model: Transformer, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]], *, layer: int | None = None
) -> list[Tensor]:
    """How much each target token reads of each source token when it is produced, (T, S) for each pair.

    The mean over the heads of one decoder layer, counted from 0; None takes the last but one, which aligns best
    (Garg et al., 2019). Ids come without eos; what the source's eos receives is left out, so rows sum to less than 1.
    The model should be in eval mode. IndexError if there is no such layer.
    """
    if not src:
        return []
    config = model.config
    if layer is None:
        layer = max(0, config.n_decoder_layers - 2)
    device = model.src_embedding.weight_VD.device
    src_BS = pad_batch([[*ids, config.eos] for ids in src], config.pad, device)
    tgt_BT = pad_batch([[config.bos, *ids] for ids in tgt], config.pad, device)
    weights_BTS = model.attention_maps(src_BS, tgt_BT).cross[layer].mean(dim=1)
    sizes = [(len(s), len(t)) for s, t in zip(src, tgt, strict=True)]
    return [own[:n_tgt, :n_src].cpu() for own, (n_src, n_tgt) in zip(weights_BTS, sizes, strict=True)]


def links(weights_TS: Tensor) -> list[tuple[int, int]]:
    """(source position, target position) of each target token and the source token that it reads most."""
    if not weights_TS.numel():
        return []
    return [(s, t) for t, s in enumerate(weights_TS.argmax(dim=1).tolist())]
