"""Products with weights that stand in the order in which the processor multiplies.

Dimension key: D inputs, E outputs.

oneDNN brings a bf16 matrix into an order of its own at every product. A step of decoding multiplies few rows with all
weights, so that half of its time went there; packed once, the products are the same to the bit. Of an
activation that is part of a product the outcome is rounded once less.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import Activation

_FUNCTIONS = {"relu": F.relu, "swish": F.silu}


class Packed:
    """x W^T + b, and what an activation makes of it, with weights that no longer change; no gradients.

    Only where `can_pack` says so.
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
    """Whether packing pays here: in bf16, on a CPU that multiplies in it."""
    return (
        weight.dtype == torch.bfloat16
        and weight.device.type == "cpu"
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


Part = Literal["all", "first", "rest"]


class Linear(nn.Linear):
    """As `nn.Linear`, with an activation where one is named; a part of the outputs may be asked for.

    Args:
        n_in, n_out: D and E.
        bias: whether there is one.
        n_first: how many outputs are in the part "first".
        activation: what the outputs go through.
    """

    def __init__(
        self, n_in: int, n_out: int, bias: bool = True, n_first: int = 0, activation: Activation | None = None
    ) -> None:
        super().__init__(n_in, n_out, bias=bias)
        self.n_first = n_first
        self.activation = activation
        self._packed: dict[Part, Packed] = {}

    def pack(self, *parts: Part) -> None:
        """Multiply from now on with a packed copy of the weights wherever no gradients are asked for."""
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
