"""Linear layers whose weights are packed into the format in which oneDNN multiplies.

Dimension key: D inputs, E outputs.

Without packing, oneDNN converts a bf16 matrix in every product. A decoding step multiplies few rows with all weights,
so half of its time was spent on that. Packed products are bitwise the same. Fusing the activation saves one rounding.

Packing uses private operators of PyTorch. Where they are missing or have changed, `can_pack` is False and layers use
`F.linear`.
"""

import functools
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import Activation

_FUNCTIONS = {"relu": F.relu, "swish": F.silu}


class Packed:
    """activation(x W^T + b) with constant weights and no gradients.

    Args:
        weight_ED: W, which `can_pack` accepts.
        bias_E: b, or None.
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


Part = Literal["all", "first", "rest"]


class Linear(nn.Linear):
    """`nn.Linear` with an optional activation, which can compute a part of its outputs.

    Args:
        n_in, n_out: D and E.
        bias: add a bias.
        n_first: number of outputs in the part "first"; the others are the part "rest".
        activation: applied to the outputs.
    """

    def __init__(
        self, n_in: int, n_out: int, bias: bool = True, n_first: int = 0, activation: Activation | None = None
    ) -> None:
        super().__init__(n_in, n_out, bias=bias)
        self.n_first = n_first
        self.activation = activation
        self._packed: dict[Part, Packed] = {}

    def pack(self, *parts: Part) -> None:
        """Pack a copy of these weights and use it wherever no gradients are needed."""
        self._packed = {part: Packed(*self._rows(part), self.activation) for part in parts}

    def forward(self, x: Tensor, part: Part = "all") -> Tensor:
        """(..., D) -> (..., outputs of the part)."""
        if part in self._packed and not torch.is_grad_enabled():
            return self._packed[part](x)
        product = F.linear(x, *self._rows(part))
        return product if self.activation is None else _FUNCTIONS[self.activation](product)

    def _rows(self, part: Part) -> tuple[Tensor, Tensor | None]:
        if part == "all":
            return self.weight, self.bias
        rows = slice(0, self.n_first) if part == "first" else slice(self.n_first, None)
        return self.weight[rows], None if self.bias is None else self.bias[rows]
