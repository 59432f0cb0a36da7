"""Attention projections in the layout of other engines: separate matrices with biases and heads of one width.

Dimension key: H heads, K d_k, V d_v, W head width of the other engine, D d_model.
"""

from dataclasses import dataclass

import numpy as np

from transformer.config import ModelConfig
from translate.errors import UserError
from translate.models.arrays import Array


@dataclass(frozen=True)
class Affine:
    """y = W x + b: weight (outputs, inputs), bias (outputs)."""

    weight: Array
    bias: Array


def head_width(config: ModelConfig) -> int:
    """Return d_model / n_heads, the head width of other engines; UserError if the model's heads are wider."""
    width, rest = divmod(config.d_model, config.n_heads)
    if rest or max(config.d_key, config.d_value) > width:
        raise UserError(
            f"this format has heads of d_model / n_heads = {config.d_model} / {config.n_heads}, and the model has "
            f"d_k = {config.d_key} and d_v = {config.d_value}, which do not fit; only narrower heads can be exported"
        )
    return width


def projections(qkv: Affine, o: Affine, config: ModelConfig) -> dict[str, Affine]:
    """Return the projections "q", "k", "v" and "o" of the same attention with heads of width d_model / n_heads.

    Narrower heads are padded with zeros, which changes no scalar product. The scale 1 / sqrt(d_k) of equation 1 becomes
    1 / sqrt(width), so W^Q is multiplied by sqrt(width / d_k).

    Args:
        qkv: the three projections, one below the other.
        o: the output projection.
        config: the architecture; UserError if its heads are wider.
    """
    width, n_heads, n_qk = head_width(config), config.n_heads, config.n_heads * config.d_key
    weights, biases = (np.split(array, [n_qk, 2 * n_qk]) for array in (qkv.weight, qkv.bias))
    q, k, v = (
        Affine(_wider(weight, n_heads, width), _wider(bias[:, None], n_heads, width)[:, 0])
        for weight, bias in zip(weights, biases, strict=True)
    )
    if config.d_key != width:
        scale = qkv.weight.dtype.type((width / config.d_key) ** 0.5)
        q = Affine(q.weight * scale, q.bias * scale)
    o_DHV = o.weight.reshape(len(o.weight), n_heads, config.d_value)
    o_DHW = np.pad(o_DHV, ((0, 0), (0, 0), (0, width - config.d_value)))
    return {"q": q, "k": k, "v": v, "o": Affine(o_DHW.reshape(len(o.weight), -1), o.bias)}


def _wider(rows: Array, n_heads: int, width: int) -> Array:
    """(H * K, D) -> (H * W, D): pad each head with rows of zeros."""
    heads = rows.reshape(n_heads, -1, rows.shape[1])
    return np.pad(heads, ((0, 0), (0, width - heads.shape[1]), (0, 0))).reshape(-1, rows.shape[1])
