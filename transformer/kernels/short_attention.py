"""Equation 1 for sentences on a CPU, forward and backward by hand (3.2.1).

Dimension key: B batch, H heads, T queries, S keys, K d_k, V d_v, N = B * H problems side by side, E all heads' widths.

A sentence has tens of positions, so the T x S weights are small: time goes into passes over memory rather than into
products. Autograd would take scale, mask and softmax apart; here each is folded into a product or shares a pass.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def attend_short(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, allowed: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V, (B, H, T, V); gradients of the first order."""
    return _ShortAttention.apply(q_BHTK, k_BHSK, v_BHSV, allowed)  # type: ignore[no-any-return, no-untyped-call]


def attend_step(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, barrier: Tensor | None) -> Tensor:
    """The same without gradients, (B, H, T, V).

    The barrier, (B, H, T, S) or (B, H, 1, S), is 0 where a query may read a key and -inf where not; whoever decodes
    makes it once for all layers of a step.
    """
    if q_BHTK.element_size() == 2:
        # In half precision the fused kernel wins: products of so few rows cost more than in full precision.
        return scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSV, attn_mask=barrier)
    flat = None if barrier is None else barrier.flatten(0, 1)
    weights_NTS = _weights(q_BHTK.flatten(0, 1), k_BHSK.flatten(0, 1), q_BHTK.size(-1) ** -0.5, flat)
    return torch.bmm(weights_NTS, v_BHSV.flatten(0, 1)).view(*q_BHTK.shape[:3], -1)


def split_heads(x_BTE: Tensor, n_heads: int, widths: Sequence[int]) -> tuple[Tensor, ...]:
    """Cut the last axis into parts of n_heads * width, each (B, H, T, width) and contiguous, as products want it."""
    return _SplitHeads.apply(x_BTE, n_heads, widths)  # type: ignore[no-any-return, no-untyped-call]


def by_head(x_BTE: Tensor, n_heads: int, widths: Sequence[int]) -> list[Tensor]:
    """Views of the parts, each (B, T, H, width)."""
    parts = torch.split(x_BTE, [n_heads * width for width in widths], dim=-1)
    return [part.view(*part.shape[:2], n_heads, -1) for part in parts]


class _SplitHeads(torch.autograd.Function):
    """Every part is copied once on its way out, and its gradient once on its way back."""

    @staticmethod
    def forward(ctx: Any, x_BTE: Tensor, n_heads: int, widths: Sequence[int]) -> tuple[Tensor, ...]:
        ctx.widths = widths
        parts = by_head(x_BTE, n_heads, widths)
        return tuple(part.transpose(1, 2).contiguous() for part in parts)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        n_batch, n_heads, n_positions, _ = grads[0].shape
        grad_BTE = grads[0].new_empty(n_batch, n_positions, n_heads * sum(ctx.widths))
        for part, grad in zip(by_head(grad_BTE, n_heads, ctx.widths), grads, strict=True):
            part.copy_(grad.transpose(1, 2))
        return grad_BTE, None, None


class _ShortAttention(torch.autograd.Function):
    """With weights P = softmax(scale * Q K^T + M) and O = P V,

    dV = P^T dO,  dS = P * (dP - rowsum(dP * P)) where dP = dO V^T,  dQ = scale * dS K,  dK = scale * dS^T Q.
    """

    @staticmethod
    def forward(ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, allowed: Tensor | None) -> Tensor:
        (n_sentences, n_heads, n_queries, d_k), n_keys = q_BHTK.shape, k_BHSK.size(2)
        q_NTK, k_NSK, v_NSV = (x.flatten(0, 1) for x in (q_BHTK, k_BHSK, v_BHSV))
        ctx.scale = d_k**-0.5
        mask_NTS = _mask(allowed, q_NTK.dtype, (n_sentences, n_heads, n_queries, n_keys))
        weights_NTS = _weights(q_NTK, k_NSK, ctx.scale, mask_NTS)
        ctx.save_for_backward(q_NTK, k_NSK, v_NSV, weights_NTS)
        return torch.bmm(weights_NTS, v_NSV).view(n_sentences, n_heads, n_queries, -1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        q_NTK, k_NSK, v_NSV, weights_NTS = ctx.saved_tensors
        grad_NTV = grad_BHTV.flatten(0, 1)
        grad_weights_NTS = torch.bmm(grad_NTV, v_NSV.transpose(1, 2))
        wide = torch.promote_types(q_NTK.dtype, torch.float32)
        grad_scores_NTS = torch._softmax_backward_data(grad_weights_NTS.to(wide), weights_NTS.to(wide), -1, wide)
        grad_scores_NTS = grad_scores_NTS.to(q_NTK.dtype)
        grad_q_NTK = _scaled_product(grad_scores_NTS, k_NSK, ctx.scale, None)
        grad_k_NSK = _scaled_product(grad_scores_NTS.transpose(1, 2), q_NTK, ctx.scale, None)
        grad_v_NSV = torch.bmm(weights_NTS.transpose(1, 2), grad_NTV)
        grads = (grad_q_NTK, grad_k_NSK, grad_v_NSV)
        return (*(grad.view(*grad_BHTV.shape[:2], *grad.shape[1:]) for grad in grads), None)


def _weights(q_NTK: Tensor, k_NSK: Tensor, scale: float, barrier: Tensor | None) -> Tensor:
    """softmax(scale * Q K^T + barrier), (N, T, S)."""
    scores_NTS = _scaled_product(q_NTK, k_NSK.transpose(1, 2), scale, barrier)
    # Rows are shorter than a vector of half-precision numbers, which that kernel takes one by one.
    wide = torch.promote_types(q_NTK.dtype, torch.float32)
    return scores_NTS.softmax(dim=-1, dtype=wide).to(q_NTK.dtype)


def _mask(allowed: Tensor | None, dtype: torch.dtype, shape: tuple[int, int, int, int]) -> Tensor | None:
    """0 where a query may read a key and -inf where not, (N, T, S)."""
    if allowed is None:
        return None
    barrier = torch.zeros(allowed.shape, dtype=dtype).masked_fill_(~allowed, float("-inf"))
    return barrier.expand(shape).flatten(0, 1)


def _scaled_product(a: Tensor, b: Tensor, scale: float, start: Tensor | None) -> Tensor:
    """start + scale * a b, in the product's own pass."""
    if start is None:
        return torch.baddbmm(a.new_empty(()), a, b, beta=0, alpha=scale)
    return torch.baddbmm(start, a, b, alpha=scale)
