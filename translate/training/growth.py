"""Growth: the weights of a trained model in a deeper or wider one that computes the same function.

A new layer is a copy of the layer below whose sub-layers end in zero matrices, so that its residuals pass their input
on (block expansion, Wu et al. 2024, "LLaMA Pro"). New hidden units of a feed-forward network keep their initial W_1
and b_1, and their part of W_2 is zero (Net2Net, Chen et al. 2016, asks for the same function, too).
"""

import re

import torch
from torch import Tensor

from transformer.config import ModelConfig

# What may grow. New layers need pre-norm: a post-norm layer normalises its input even if its sub-layers give zero.
WIDTHS = ("d_ff",)
DEPTHS = ("n_encoder_layers", "n_decoder_layers")

_LAYER = re.compile(r"(encoder|decoder)\.(\d+)\.(.+)")
_OUTPUTS = ("attn.w_o.weight", "attn.w_o.bias", "feed_forward.w_2.weight", "feed_forward.w_2.bias")


def may_grow(key: str, small: ModelConfig, large: ModelConfig) -> bool:
    """Return whether the field `key` of `large` is above that of `small` and a model can grow in it."""
    grows = key in WIDTHS or (key in DEPTHS and small.norm == large.norm == "pre")
    return grows and getattr(large, key) > getattr(small, key)


def grow(
    weights: dict[str, Tensor], initial: dict[str, Tensor], small: ModelConfig, large: ModelConfig
) -> dict[str, Tensor]:
    """Return weights for the larger model with which it computes the function of the smaller one.

    Args:
        weights: the tensors of the smaller model by name.
        initial: the tensors of the larger model as initialised; its new hidden units come from here.
        small, large: the architectures; they differ in nothing but fields that `may_grow`.
    """
    depths = {"encoder": "n_encoder_layers", "decoder": "n_decoder_layers"}
    grown = {}
    for name, tensor in initial.items():
        if match := _LAYER.fullmatch(name):
            stack, layer, part = match[1], int(match[2]), match[3]
            n_small, n_large = getattr(small, depths[stack]), getattr(large, depths[stack])
            below = layer * n_small // n_large
            is_new = layer > 0 and (layer - 1) * n_small // n_large == below
            trained = weights[f"{stack}.{below}.{part}"]
            grown[name] = (
                torch.zeros_like(tensor) if is_new and part.endswith(_OUTPUTS) else _widen(trained, tensor, part)
            )
        else:
            grown[name] = weights[name]
    return grown


def _widen(trained: Tensor, initial: Tensor, part: str) -> Tensor:
    """Return the trained tensor, extended by new hidden units if the initial one has more."""
    if trained.shape == initial.shape:
        return trained
    wide = torch.zeros_like(initial) if part.endswith("w_2.weight") else initial.clone()
    wide[tuple(slice(n) for n in trained.shape)] = trained
    return wide
