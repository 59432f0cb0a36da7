"""Attention projections in the layout of other engines: separate matrices with biases and heads of one width.

Dimension key: H heads, K d_k, V d_v, W head width of the other engine, D d_model.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from translate.errors import UserError


@dataclass(frozen=True)
class Affine:
    """y = W x + b: weight (outputs, inputs), bias (outputs)."""

    weight: Tensor
    bias: Tensor


def head_width(config: ModelConfig) -> int:
    """Return d_model / n_heads, the head width of other engines; UserError if the model's heads are wider."""
    width, rest = divmod(config.d_model, config.n_heads)
    if rest or max(config.d_key, config.d_value) > width:
        raise UserError(
            f"this format has heads of d_model / n_heads = {config.d_model} / {config.n_heads}, and the model has "
            f"d_k = {config.d_key} and d_v = {config.d_value}, which do not fit; only narrower heads can be exported"
        )
    return width


def projections(attention: MultiHeadAttention, width: int) -> dict[str, Affine]:
    """Return the projections "q", "k", "v" and "o" of the same attention with heads of `width` >= d_k, d_v.

    A bias is zero if the model has none.
    Narrower heads are padded with zeros, which changes no scalar product. The scale 1 / sqrt(d_k) of equation 1 becomes
    1 / sqrt(width), so W^Q is multiplied by sqrt(width / d_k).
    """
    n_heads, d_k, d_v = attention.n_heads, attention.d_k, attention.d_v
    biases = torch.split(_bias(attention.w_qkv), attention.widths)
    weights = torch.split(attention.w_qkv.weight.detach(), attention.widths)
    q, k, v = (
        Affine(_wider(weight, n_heads, width), _wider(bias[:, None], n_heads, width)[:, 0])
        for weight, bias in zip(weights, biases, strict=True)
    )
    if d_k != width:
        scale = (width / d_k) ** 0.5
        q = Affine(q.weight * scale, q.bias * scale)
    o_DHV = attention.w_o.weight.detach().view(-1, n_heads, d_v)
    o = Affine(F.pad(o_DHV, (0, width - d_v)).flatten(1), _bias(attention.w_o))
    return {"q": q, "k": k, "v": v, "o": o}


def _wider(rows: Tensor, n_heads: int, width: int) -> Tensor:
    """(H * K, D) -> (H * W, D): pad each head with rows of zeros."""
    heads = rows.view(n_heads, -1, rows.size(1))
    return F.pad(heads, (0, 0, 0, width - heads.size(1))).flatten(0, 1)


def _bias(linear: nn.Linear) -> Tensor:
    return torch.zeros(linear.out_features) if linear.bias is None else linear.bias.detach()
