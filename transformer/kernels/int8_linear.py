"""Linear layers whose products are computed in int8 in training, forward and backward, on a CPU.

Dimension key: N tokens, C tokens of one chunk, D inputs, E outputs.

CPUs with VNNI multiply int8 about four times as fast as float32. Each factor of a product is rounded to 255 levels. The
levels are scaled along the axis that is not summed: rows of the left factor, columns of the right one. So one token
with a large gradient does not coarsen the levels of the others, and the scales can be applied to the result (Wortsman
et al., 2023, section 2; there the gradient of the weights stays in half precision). Sums are exact, in int32.

    y  = x W^T    rows of x are tokens, rows of W are outputs
    dx = dy W     rows of dy are tokens, columns of W are inputs
    dW = dy^T x   columns of dy are outputs, columns of x are inputs

Parameters, gradients and everything between the products stay float32. Without gradients, products are float32, too.
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

LEVELS = 127
MAX_TOKENS = 2**31 // LEVELS**2  # the sum of more products could overflow

P = ParamSpec("P")
R = TypeVar("R")

Quantised = tuple[Tensor, Tensor]  # int8 numbers and their scales


def int8_linear(x: Tensor, weight_ED: Tensor, bias_E: Tensor | None) -> Tensor:
    """Return x W^T + b with products in int8, (..., D) -> (..., E); first-order gradients only.

    Args:
        x: the input, float32.
        weight_ED: W.
        bias_E: b, or None.
    """
    y_NE = _Int8Linear.apply(x.flatten(0, -2), weight_ED, bias_E)  # type: ignore[no-untyped-call]
    return y_NE.view(*x.shape[:-1], -1)  # type: ignore[no-any-return]


@functools.cache
def int8_works() -> bool:
    """Return whether this CPU and this PyTorch multiply int8 exactly; without VNNI, sums saturate at 16 bits."""
    try:
        largest = torch.full((16, 256), LEVELS, dtype=torch.int8)
        return bool((torch._int_mm(largest, -largest.T) == -256 * LEVELS**2).all())
    except (AttributeError, RuntimeError):
        return False


class _Int8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, weight_ED: Tensor, bias_E: Tensor | None) -> Tensor:
        ctx.has_bias = bias_E is not None
        # torch.compile compiles anew for tensors that require gradients, and gives up after eight times.
        x_ND, weight_ED = x_ND.detach(), weight_ED.detach()
        # Gradients need columns; made now, as the int8 copy of x takes a quarter of the memory until then.
        ctx.save_for_backward(*_fused(by_columns)(x_ND), *_fused(by_columns)(weight_ED))
        x_q, x_scale_N1 = _fused(by_rows)(x_ND)
        weight_q, weight_scale_E1 = _fused(by_rows)(weight_ED)
        y_NE: Tensor = _fused(scaled)(_multiply(x_q, weight_q.T), x_scale_N1, weight_scale_E1.T, bias_E)
        return y_NE

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x_q, x_scale_1D, weight_q, weight_scale_1D = ctx.saved_tensors
        grad_x, grad_weight, grad_bias = None, None, None
        if ctx.needs_input_grad[0]:
            grad_q, grad_scale_N1 = _fused(by_rows)(grads[0])
            grad_x = _fused(scaled)(_multiply(grad_q, weight_q), grad_scale_N1, weight_scale_1D)
        if ctx.needs_input_grad[1]:
            grad_q, grad_scale_1E = _fused(by_columns)(grads[0])
            grad_weight = sum(
                _fused(scaled)(_multiply(grad_CE.T, x_CD), grad_scale_1E.T, x_scale_1D)
                for grad_CE, x_CD in zip(grad_q.split(MAX_TOKENS), x_q.split(MAX_TOKENS), strict=True)
            )
        if ctx.has_bias and ctx.needs_input_grad[2]:
            grad_bias = grads[0].sum(dim=0)
        return grad_x, grad_weight, grad_bias


def by_rows(matrix: Tensor) -> Quantised:
    """Return the matrix in int8, with a scale for each row, (rows, 1)."""
    return _quantised(matrix, matrix.abs().amax(dim=1, keepdim=True))


def by_columns(matrix: Tensor) -> Quantised:
    """Return the matrix in int8, with a scale for each column, (1, columns)."""
    return _quantised(matrix, matrix.abs().amax(dim=0, keepdim=True))


def _multiply(left: Tensor, right: Tensor) -> Tensor:
    """Return the product in int32."""
    # PyTorch 2.13 misreads a transposed row or column, whose strides could be those of either.
    return torch._int_mm(
        *(x.clone(memory_format=torch.contiguous_format) if 1 in x.shape else x for x in (left, right))
    )


def scaled(product: Tensor, row_scale: Tensor, column_scale: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return an int32 product in float32, with the scales of its rows, (rows, 1), and columns, (1, columns)."""
    product = product * row_scale * column_scale
    return product if bias is None else product + bias


def _quantised(matrix: Tensor, largest: Tensor) -> Quantised:
    # Padding has gradients of zero: without the lower bound, a row of zeros would be divided by zero.
    scale = largest.clamp(min=torch.finfo(torch.float32).tiny * LEVELS) / LEVELS
    return (matrix * (1 / scale)).round().to(torch.int8), scale


@functools.cache
def _fused(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function compiled to few passes over memory, or itself where there is no C++ compiler."""
    return torch.compile(function, dynamic=True) if _compiles() else function


@functools.cache
def _compiles() -> bool:
    """Return whether torch.compile works here: it needs a C++ compiler."""
    try:
        torch.compile(torch.neg)(torch.zeros(3))
    except (ImportError, RuntimeError):
        return False
    return True
