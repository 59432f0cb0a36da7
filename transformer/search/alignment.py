"""Source tokens that target tokens come from, by cross-attention (3.2.3).

A layer that aligns attends to one word of the source; other layers attend to its eos or to many words. The sharpest
layers are therefore the best ones, and no labels are needed to find them. Several layers together link more words
correctly than one; the best single layer differs between models.

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
        layer: index of the decoder layer; None is the mean over all layers, weighted for each pair by the square of
            `sharpness`. IndexError if there is no such layer.
    """
    if not src:
        return []
    maps = model.attention_maps(source_batch(model, src), target_batch(model, tgt))
    chosen = maps.cross if layer is None else [maps.cross[layer]]
    weights_BLTS = torch.stack([weights_BHTS.mean(dim=1) for weights_BHTS in chosen], dim=1)
    pairs = [w_LTS[:, : len(t), : len(s)] for w_LTS, s, t in zip(weights_BLTS, src, tgt, strict=True)]
    return [_mean_of_layers(w_LTS).cpu() for w_LTS in pairs]


def _mean_of_layers(weights_LTS: Tensor) -> Tensor:
    if not weights_LTS.numel():
        return weights_LTS[0]
    squares_L = sharpness(weights_LTS).square()
    return torch.einsum("l,lts->ts", squares_L / squares_L.sum(), weights_LTS)


def sharpness(weights_LTS: Tensor) -> Tensor:
    """Return how sharply the target tokens of each layer read, (L,): the mean of their greatest attention to one token.

    It is 0 if either side is empty.

    Args:
        weights_LTS: attention without the column of the source's eos.
    """
    return weights_LTS.amax(dim=2).mean(dim=1) if weights_LTS.numel() else weights_LTS.new_zeros(len(weights_LTS))


def alignment(weights_TS: Tensor) -> list[tuple[int, int]]:
    """Return (source position, target position) of each target token and the source token it attends to most."""
    if not weights_TS.numel():
        return []
    return [(s, t) for t, s in enumerate(weights_TS.argmax(dim=1).tolist())]
