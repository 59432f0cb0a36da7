"""Parts of the model that are faster on a CPU than PyTorch's: linear layers, attention, dropout; and exact norms.

Each has a plain equivalent, and tests compare the two.

Dimension key: D inputs and E outputs of a linear layer; in attention B batch, H heads, T queries, S keys, K d_k, V d_v,
N = B * H attentions, E width of all heads together.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import Activation


def eager_on_cpu(x: Tensor) -> bool:
    """Return whether operators run one by one on a CPU; a compiler or an export traces plain ones and fuses its own."""
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def fused_on_device(x: Tensor) -> bool:
    """Return whether PyTorch's fused attention is best: in compiled and exported models, and in training on a GPU.

    On a GPU cuDNN prepares a kernel for every new shape, for a tenth of a second and more, which a search would pay in
    almost every step; and in a CUDA graph short sentences are faster without it.
    """
    if torch.compiler.is_compiling():
        return True
    if x.device.type == "cpu" or not torch.is_grad_enabled():
        return False
    return not (x.is_cuda and torch.cuda.is_current_stream_capturing())


# Linear layers. oneDNN multiplies in a format of its own; without packing, it converts a bf16 matrix in every product.
# A decoding step multiplies few rows with all weights, so half of its time was spent on that. Packed products are
# bitwise the same. Fusing the activation saves one rounding.
#
# Packing uses private operators of PyTorch. Where they are missing or have changed, `can_pack` is False and layers use
# `F.linear`.

_FUNCTIONS = {"relu": F.relu, "swish": F.silu}


class Packed:
    """activation(x W^T + b) with constant weights and no gradients.

    Args:
        weight_ED: W, which `can_pack` accepts.
        activation: None for the identity.
    """

    def __init__(self, weight_ED: Tensor, bias_E: Tensor | None, activation: Activation | None = None) -> None:
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight_ED.detach().contiguous())
        self.bias = None if bias_E is None else bias_E.detach().contiguous()
        self.activation = activation or "none"

    def __call__(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., E)."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, self.activation, [], "")
        return product

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the weights in PyTorch's format."""
        return Packed, (self.weight.to_dense(), self.bias, self.activation)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Packed":
        """Return itself: it never changes, and PyTorch cannot copy the processor's own format."""
        return self


def can_pack(weight: Tensor) -> bool:
    """Return whether packing pays for these weights: in bf16, on a CPU that multiplies in it."""
    return weight.dtype == torch.bfloat16 and weight.device.type == "cpu" and _packing_works()


@functools.cache
def _packing_works() -> bool:
    """Return whether this machine multiplies in bf16 and this PyTorch has the private operators as used here."""
    try:
        weight = torch.eye(16, dtype=torch.bfloat16)
        return torch.ops.mkldnn._is_mkldnn_bf16_supported() and torch.equal(
            Packed(weight, None, "relu")(weight), weight
        )
    except (AttributeError, RuntimeError, TypeError):
        return False


class Packable(nn.Module):
    """A module that may have packed copies of its weights, and drops them when the weights may change.

    Attributes:
        packed: the copies, by the part of the weights.
    """

    packed: dict[str, Packed]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        self.packed = {}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def _load_from_state_dict(self, *args: Any) -> None:
        self.packed = {}
        super()._load_from_state_dict(*args)

    def train(self, mode: bool = True) -> Self:
        """Set training mode, which drops packed weights, or evaluation mode."""
        if mode:
            self.packed = {}
        return super().train(mode)


Part = Literal["all", "first", "rest"]


class Linear(Packable, nn.Linear):
    """`nn.Linear` with an optional activation, which can compute a part of its outputs.

    Args:
        n_in, n_out: D and E.
        n_first: number of outputs in the part "first"; the others are the part "rest".
        activation: applied to the outputs.
    """

    def __init__(
        self, n_in: int, n_out: int, bias: bool = True, n_first: int = 0, activation: Activation | None = None
    ) -> None:
        super().__init__(n_in, n_out, bias=bias)
        self.n_first = n_first
        self.activation = activation
        self.packed = {}

    def pack(self, *parts: Part) -> None:
        """Pack a copy of these weights and use it wherever no gradients are needed."""
        self.packed = {part: Packed(*self._rows(part), self.activation) for part in parts}

    def forward(self, x: Tensor, part: Part = "all") -> Tensor:
        """(..., D) -> (..., outputs of the part)."""
        if part in self.packed and not torch.is_grad_enabled():
            return self.packed[part](x)
        product = F.linear(x, *self._rows(part))
        return product if self.activation is None else _FUNCTIONS[self.activation](product)

    def _rows(self, part: Part) -> tuple[Tensor, Tensor | None]:
        if part == "all":
            return self.weight, self.bias
        rows = slice(0, self.n_first) if part == "first" else slice(self.n_first, None)
        return self.weight[rows], None if self.bias is None else self.bias[rows]


# Layer normalisation (3.1). For rows in bf16, PyTorch's backward pass on a CPU sums the gradients of gain and bias in
# bf16, in which 256 + 1 is 256, even if both are float32: over thousands of positions, small gradients are lost.


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`, with gradients of gain and bias that are summed in float32."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        if eager_on_cpu(x) and torch.is_grad_enabled() and x.dtype != self.weight.dtype:
            normed: Tensor = _MixedLayerNorm.apply(x, self.weight, self.bias, self.eps)  # type: ignore[no-untyped-call]
            return normed
        return super().forward(x)


class _MixedLayerNorm(torch.autograd.Function):
    """Layer normalisation of half precision with a float32 gain and bias."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain_D: Tensor, bias_D: Tensor, eps: float) -> Tensor:
        normed, mean, inverse_deviation = torch.native_layer_norm(x, gain_D.shape, gain_D, bias_D, eps)
        ctx.save_for_backward(x, mean, inverse_deviation, gain_D, bias_D)
        return normed

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, mean, inverse_deviation, gain_D, bias_D = ctx.saved_tensors
        grads = torch.ops.aten.native_layer_norm_backward(
            grad.float(), x.float(), gain_D.shape, mean, inverse_deviation, gain_D, bias_D, [True, True, True]
        )
        return grads[0].to(x.dtype), grads[1], grads[2], None


# Attention, equation 1, with forward and backward pass written out (3.2.1). A sentence has tens of positions, so the
# T x S weights are small, and passes over memory cost more than products. With autograd, scale, mask and softmax are
# separate passes; here they are folded into products or share a pass.

# Float32 numbers in a register. PyTorch's softmax computes shorter rows one number at a time, which takes two to six
# times as long as passes over all rows at once.
VECTOR = 8 if torch.backends.cpu.get_cpu_capability() == "AVX2" else 16


def attend_short(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, allowed: Tensor | None) -> Tensor:
    """Return softmax(Q K^T / sqrt(d_k)) V, (B, H, T, V); first-order gradients only.

    Args:
        allowed: a mask that broadcasts to (B, H, T, S); None allows all.
    """
    return _ShortAttention.apply(q_BHTK, k_BHSK, v_BHSV, allowed)  # type: ignore[no-any-return, no-untyped-call]


def attend_step(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, attn_bias: Tensor | None) -> Tensor:
    """Return attention for one decoding step, without gradients, (B, H, T, V).

    Args:
        attn_bias: added to the scores, (B, H, T, S) or (B, H, 1, S): 0 where a query may read a key, -inf elsewhere;
            None allows all.
    """
    if q_BHTK.element_size() == 2 and not q_BHTK.is_cuda:
        # In half precision the fused kernel is faster: products of few rows cost more than in float32. On a GPU
        # see `fused_on_device`.
        return F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSV, attn_mask=attn_bias)
    flat = None if attn_bias is None else attn_bias.flatten(0, 1)
    weights_NTS = _weights(q_BHTK.flatten(0, 1), k_BHSK.flatten(0, 1), q_BHTK.size(-1) ** -0.5, flat)
    return torch.bmm(weights_NTS, v_BHSV.flatten(0, 1)).view(*q_BHTK.shape[:3], v_BHSV.size(-1))


def split_heads(x_BTE: Tensor, n_heads: int, widths: Sequence[int]) -> tuple[Tensor, ...]:
    """Split the last axis into parts, each (B, H, T, width) and contiguous, as products need it.

    Args:
        x_BTE: the input; E is n_heads times the sum of the widths.
        widths: width of each part in one head.
    """
    return _SplitHeads.apply(x_BTE, n_heads, widths)  # type: ignore[no-any-return, no-untyped-call]


def by_head(x_BTE: Tensor, n_heads: int, widths: Sequence[int]) -> list[Tensor]:
    """Return views of the parts, each (B, T, H, width).

    Args:
        x_BTE, n_heads, widths: see `split_heads`.
    """
    parts = torch.split(x_BTE, [n_heads * width for width in widths], dim=-1)
    return [part.view(*part.shape[:2], n_heads, width) for part, width in zip(parts, widths, strict=True)]


class _SplitHeads(torch.autograd.Function):
    """`split_heads`, with one copy of each part forward and one of its gradient backward."""

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
    """`attend_short`. With weights P = softmax(scale * Q K^T + M) and O = P V,

    dV = P^T dO,  dS = P * (dP - rowsum(dP * P)) where dP = dO V^T,  dQ = scale * dS K,  dK = scale * dS^T Q.
    """

    @staticmethod
    def forward(ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, allowed: Tensor | None) -> Tensor:
        (n_sentences, n_heads, n_queries, d_k), n_keys = q_BHTK.shape, k_BHSK.size(2)
        q_NTK, k_NSK, v_NSV = (x.flatten(0, 1) for x in (q_BHTK, k_BHSK, v_BHSV))
        ctx.scale = d_k**-0.5
        bias_NTS = _attn_bias(allowed, q_NTK.dtype, (n_sentences, n_heads, n_queries, n_keys))
        weights_NTS = _weights(q_NTK, k_NSK, ctx.scale, bias_NTS)
        ctx.save_for_backward(q_NTK, k_NSK, v_NSV, weights_NTS)
        return torch.bmm(weights_NTS, v_NSV).view(n_sentences, n_heads, n_queries, v_NSV.size(-1))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        q_NTK, k_NSK, v_NSV, weights_NTS = ctx.saved_tensors
        grad_NTV = grad_BHTV.flatten(0, 1)
        grad_weights_NTS = torch.bmm(grad_NTV, v_NSV.transpose(1, 2))
        wide = torch.promote_types(q_NTK.dtype, torch.float32)
        grad_scores_NTS = _softmax_backward(grad_weights_NTS.to(wide), weights_NTS.to(wide)).to(q_NTK.dtype)
        grad_q_NTK = _scaled_product(grad_scores_NTS, k_NSK, ctx.scale, None)
        grad_k_NSK = _scaled_product(grad_scores_NTS.transpose(1, 2), q_NTK, ctx.scale, None)
        grad_v_NSV = torch.bmm(weights_NTS.transpose(1, 2), grad_NTV)
        grads = (grad_q_NTK, grad_k_NSK, grad_v_NSV)
        return (*(grad.view(*grad_BHTV.shape[:2], *grad.shape[1:]) for grad in grads), None)


def _weights(q_NTK: Tensor, k_NSK: Tensor, scale: float, attn_bias: Tensor | None) -> Tensor:
    """Return softmax(scale * Q K^T + attn_bias), (N, T, S)."""
    scores_NTS = _scaled_product(q_NTK, k_NSK.transpose(1, 2), scale, attn_bias)
    return _softmax(scores_NTS).to(q_NTK.dtype)


def _softmax(scores_NTS: Tensor) -> Tensor:
    """Return softmax over the keys, in float32 or wider; short float32 scores are overwritten."""
    wide = torch.promote_types(scores_NTS.dtype, torch.float32)
    if scores_NTS.size(-1) >= VECTOR or scores_NTS.numel() == 0:
        return scores_NTS.softmax(dim=-1, dtype=wide)
    weights_NTS = scores_NTS.to(wide)
    weights_NTS.sub_(weights_NTS.amax(dim=-1, keepdim=True)).exp_()
    return weights_NTS.div_(weights_NTS.sum(dim=-1, keepdim=True))


def _softmax_backward(grad_NTS: Tensor, weights_NTS: Tensor) -> Tensor:
    """Return the gradient of the softmax's input, by the private fused kernel if this PyTorch has it."""
    fused = getattr(torch, "_softmax_backward_data", None)
    if fused is None or grad_NTS.size(-1) < VECTOR:
        return weights_NTS * (grad_NTS - (grad_NTS * weights_NTS).sum(dim=-1, keepdim=True))
    return fused(grad_NTS, weights_NTS, -1, weights_NTS.dtype)  # type: ignore[no-any-return]


def _attn_bias(allowed: Tensor | None, dtype: torch.dtype, shape: tuple[int, int, int, int]) -> Tensor | None:
    """Return 0 where a query may read a key and -inf elsewhere, (N, T, S)."""
    if allowed is None:
        return None
    attn_bias = torch.zeros_like(allowed, dtype=dtype).masked_fill_(~allowed, float("-inf"))
    return attn_bias.expand(shape).flatten(0, 1)


def _scaled_product(a: Tensor, b: Tensor, scale: float, start: Tensor | None) -> Tensor:
    """Return start + scale * a b in one pass."""
    if start is None:
        return torch.baddbmm(a.new_empty(()), a, b, beta=0, alpha=scale)
    return torch.baddbmm(start, a, b, alpha=scale)


# Dropout (5.4). PyTorch's draws one random number per element on a single core, which took a quarter of a training
# step. Here one 64-bit number decides four elements. The rate is rounded to a multiple of 2^-16, and the scale fits the
# rounded rate.

LEVELS = 1 << 16


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Zero each element with probability `rate` and scale the others to keep the mean.

    Args:
        rate: in [0, 1).
        training: if False, return x itself.
    """
    if not training or rate == 0.0:
        return x
    if not eager_on_cpu(x):
        return F.dropout(x, rate, True)
    keep, scale = _draw(x, rate)
    return x * keep * scale


def add_dropout(x: Tensor, y: Tensor, rate: float, training: bool) -> Tensor:
    """Return x + dropout(y), with product and sum in one pass.

    Args:
        rate, training: see `dropout`.
    """
    if not training or rate == 0.0:
        return x + y
    if not eager_on_cpu(x):
        return x + F.dropout(y, rate, True)
    keep, scale = _draw(y, rate)
    return torch.addcmul(x, y, keep, value=scale)


def _draw(x: Tensor, rate: float) -> tuple[Tensor, float]:
    """Return ones and zeros in the shape and type of x, and the factor that keeps the mean."""
    if not 0 <= rate < 1:
        raise ValueError(f"dropout rate {rate} must be in [0, 1)")
    dropped = min(round(rate * LEVELS), LEVELS - 1)
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    levels = draws.view(torch.int16)[: x.numel()].view(x.shape)
    # The comparison writes into the type of x: a boolean mask would need another pass to convert it.
    keep = torch.ge(levels, dropped - LEVELS // 2, out=torch.empty(x.shape, dtype=x.dtype, device=x.device))
    return keep, LEVELS / (LEVELS - dropped)
