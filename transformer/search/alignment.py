"""Source tokens that target tokens come from, by cross-attention (3.2.3).

Dimension key: B sentences, H heads, S source positions, T target positions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.model import Transformer
from transformer.search.model_step import source_batch, target_batch


@torch.inference_mode()
def cross_attention(
    model: Transformer, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]], *, layer: int | None = None
) -> list[Tensor]:
    """Return the attention of each target token to each source token, (T, S) for each pair: the mean over the heads.

    The column of the source's eos is left out, so rows sum to less than 1.

    Args:
        model: should be in eval mode.
        src, tgt: token ids of each pair, without bos and eos.
        layer: index of the decoder layer. None is the last but one, which aligns best (Garg et al., 2019). IndexError
            if there is no such layer.
    """
    if not src:
        return []
    if layer is None:
        layer = max(0, model.config.n_decoder_layers - 2)
    maps = model.attention_maps(source_batch(model, src), target_batch(model, tgt))
    weights_BTS = maps.cross[layer].mean(dim=1)
    return [weights[: len(t), : len(s)].cpu() for weights, s, t in zip(weights_BTS, src, tgt, strict=True)]


def alignment(weights_TS: Tensor) -> list[tuple[int, int]]:
    """Return (source position, target position) of each target token and the source token it attends to most."""
    if not weights_TS.numel():
        return []
    return [(s, t) for t, s in enumerate(weights_TS.argmax(dim=1).tolist())]
