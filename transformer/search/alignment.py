"""Source tokens that target tokens come from, by cross-attention (3.2.3).

A layer that aligns attends to one word of the source; other layers attend to its eos or to many words. The sharpest
layer is therefore the best one, and no labels are needed to find it. The last layer but one (Garg et al., 2019) links
fewer of the words that both sides share; in a decoder that has grown it may not align at all.

Dimension key: B sentences, L layers, H heads, S source positions, T target positions.
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
        layer: index of the decoder layer; None is `aligning_layer` of each pair. IndexError if there is no such layer.
    """
    if not src:
        return []
    maps = model.attention_maps(source_batch(model, src), target_batch(model, tgt))
    chosen = maps.cross if layer is None else [maps.cross[layer]]
    weights_BLTS = torch.stack([weights_BHTS.mean(dim=1) for weights_BHTS in chosen], dim=1)
    pairs = [w_LTS[:, : len(t), : len(s)] for w_LTS, s, t in zip(weights_BLTS, src, tgt, strict=True)]
    return [w_LTS[aligning_layer(w_LTS)].cpu() for w_LTS in pairs]


def aligning_layer(weights_LTS: Tensor) -> int:
    """Return the index of the layer whose target tokens attend most to one source token each, eos left out."""
    return int(weights_LTS.amax(dim=2).sum(dim=1).argmax()) if weights_LTS.numel() else 0


def alignment(weights_TS: Tensor) -> list[tuple[int, int]]:
    """Return (source position, target position) of each target token and the source token it attends to most."""
    if not weights_TS.numel():
        return []
    return [(s, t) for t, s in enumerate(weights_TS.argmax(dim=1).tolist())]
