"""Dropout: section 5.4.

On a CPU, PyTorch's dropout draws one random number per element on a single core, which took a quarter of a training
step. Here one 64-bit number decides four elements. The rate is rounded to a multiple of 2^-16, and the scale fits the
rounded rate.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

LEVELS = 1 << 16


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Zero each element with probability `rate` and scale the others to keep the mean.

    Args:
        x: the input.
        rate: in [0, 1).
        training: if False, return x itself.
    """
    if not training or rate == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, rate, True)
    keep, scale = _draw(x, rate)
    return x * keep * scale


def add_dropout(x: Tensor, y: Tensor, rate: float, training: bool) -> Tensor:
    """Return x + dropout(y), with product and sum in one pass.

    Args:
        x, y: the summands.
        rate, training: see `dropout`.
    """
    if not training or rate == 0.0:
        return x + y
    if x.device.type != "cpu":
        return x + F.dropout(y, rate, True)
    keep, scale = _draw(y, rate)
    return torch.addcmul(x, y, keep, value=scale)


def _draw(x: Tensor, rate: float) -> tuple[Tensor, float]:
    """Return ones and zeros in the shape and type of x, and the factor that keeps the mean."""
    dropped = min(round(rate * LEVELS), LEVELS - 1)
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    levels = draws.view(torch.int16)[: x.numel()].view(x.shape)
    # The comparison writes into the type of x: a boolean mask would need another pass to convert it.
    keep = torch.ge(levels, dropped - LEVELS // 2, out=torch.empty(x.shape, dtype=x.dtype))
    return keep, LEVELS / (LEVELS - dropped)
