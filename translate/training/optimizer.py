"""The optimizers, Adam (5.3) and Muon, and a moving average of the parameters.

Muon: orthogonalised momentum for the matrices of layers (Jordan et al., 2024); Adam for everything else. Adam scales
each number of a matrix by itself. Muon moves it by the orthogonal matrix nearest to its momentum, U V^T for the
momentum U S V^T: directions with small gradients are learned as fast as the others. Updates are scaled to the root mean
square that Adam's have (Liu et al., 2025, section 2.2), so both share one learning rate.

Dimension key: N matrices of one shape, A rows, B columns, A <= B.
"""

import inspect
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from transformer.attention import MultiHeadAttention
from transformer.checkpoint_io import load_tensors
from transformer.kernels import Linear
from translate.config.schema import TrainingConfig

MOMENTUM = 0.95
RMS = 0.2  # of Adam's updates, in units of the learning rate

# Step t maps every singular value s to a s + b s^3 + c s^5 with the t-th coefficients. They bring the values nearest to
# 1 in the worst case, for values up to 1.01 times those of the step before, as beyond its range a step grows fast and
# bf16 rounds (Amsel et al., 2025, "The Polar Express"). Three steps map values between 0.01 and 1 to values between
# 0.71 and 1.27; with Jordan's coefficients, the same in each step, five map them to values between 0.68 and 1.21.
COEFFICIENTS = ((8.0934, -23.6204, 17.4462), (3.6006, -2.6418, 0.5105), (2.6350, -1.9190, 0.4306))
MARGIN = 1.01


def new_optimizer(model: nn.Module, config: TrainingConfig, dtype: torch.dtype = torch.float32) -> torch.optim.AdamW:
    """Return Adam as in 5.3 with decoupled weight decay, or Muon; `Updater.step` sets the learning rate of each step.

    Args:
        dtype: type of matrix products.
    """
    betas, eps, weight_decay = config.adam_betas, config.adam_eps, config.weight_decay
    if config.optimizer == "muon":
        return Muon(model, dtype, betas=betas, eps=eps, weight_decay=weight_decay)
    return AdamW(model.parameters(), lr=0.0, betas=betas, eps=eps, weight_decay=weight_decay, fused=True)


class AdamW(torch.optim.AdamW):
    """PyTorch's AdamW without the wrappers of its methods that import the compiler, TorchDynamo, at the first call.

    That import took half of the time from a prepared corpus to the first update.

    Attributes:
        found_inf: 1.0 on the device lets the next step change nothing, 0.0 and None do not. The host need not know.
    """

    found_inf: Tensor | None = None

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = inspect.unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Optimizer.load_state_dict)
    step = torch.no_grad()(inspect.unwrap(torch.optim.AdamW.step))


class Muon(AdamW):
    """Muon for the matrices of `model`'s layers; AdamW for embeddings, norms and biases.

    W^Q, W^K and W^V share a parameter but are orthogonalised each on its own.

    Args:
        dtype: type of matrix products.
        betas, eps: of AdamW.
        weight_decay: of AdamW and of the matrices.
    """

    def __init__(
        self, model: nn.Module, dtype: torch.dtype, *, betas: tuple[float, float], eps: float, weight_decay: float
    ) -> None:
        self._heights = matrices(model)
        self._dtype = dtype
        rest = [parameter for parameter in model.parameters() if parameter not in self._heights]
        groups: list[dict[str, Any]] = [{"params": list(self._heights)}, {"params": rest}]
        super().__init__(groups, lr=0.0, betas=betas, eps=eps, weight_decay=weight_decay, fused=True)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update all parameters; the gradients of the matrices are discarded."""
        group, skipped = self.param_groups[0], self.found_inf
        if skipped is not None and skipped.device.type == "cpu":  # the host knows, and masks would take time
            if skipped:
                self.zero_grad()
                return
            skipped = None
        updates = defaultdict(list)
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            state = self.state[parameter]
            if not state:  # AdamW looks for `step` in every state that it loads
                state.update(momentum=torch.zeros_like(parameter), step=torch.zeros(()))
            ahead = ahead_of_momentum(parameter.grad, state["momentum"], skipped).to(self._dtype)
            if group["weight_decay"]:
                parameter.mul_(1 - group["lr"] * group["weight_decay"] * (1.0 if skipped is None else 1.0 - skipped))
            for matrix, update in zip(*(x.split(self._heights[parameter]) for x in (parameter, ahead)), strict=True):
                is_tall = matrix.size(0) > matrix.size(1)
                pair = (matrix.T, update.T) if is_tall else (matrix, update)
                updates[pair[0].shape].append(pair)
            parameter.grad = None  # AdamW skips parameters without a gradient
        for (_, n_columns), pairs in updates.items():
            directions_NAB = orthogonalised(torch.stack([update for _, update in pairs]))
            for (matrix, _), direction in zip(pairs, directions_NAB, strict=True):
                matrix.sub_(direction, alpha=group["lr"] * RMS * n_columns**0.5)
        super().step()


def ahead_of_momentum(gradient: Tensor, momentum: Tensor, skipped: Tensor | None = None) -> Tensor:
    """Move the momentum towards the gradient, in place, and return Nesterov's: the gradient moved towards it in turn.

    Args:
        skipped: 1.0 leaves the momentum unchanged and returns zeros, for any gradient; 0.0 and None do not.
    """
    if skipped is None:
        return gradient.lerp(momentum.lerp_(gradient, 1 - MOMENTUM), MOMENTUM)
    gradient = gradient.where(skipped == 0, 0.0)
    momentum.lerp_(gradient, (1 - MOMENTUM) * (1.0 - skipped))
    return gradient.lerp(momentum, MOMENTUM) * (1.0 - skipped)


def matrices(model: nn.Module) -> dict[Tensor, list[int]]:
    """Return the weights of linear maps in layers, each with the rows of the matrices that it holds."""
    heights = {part.weight: [part.weight.size(0)] for part in model.modules() if isinstance(part, Linear)}
    attentions = (part for part in model.modules() if isinstance(part, MultiHeadAttention))
    return heights | {attention.w_qkv.weight: attention.widths for attention in attentions}


def orthogonalised(matrices_NAB: Tensor) -> Tensor:
    """Return matrices with the same singular vectors and singular values near 1, by a Newton-Schulz iteration.

    Args:
        matrices_NAB: the matrices, no taller than wide; products have their type.
    """
    # A first scale, so that no square overflows or underflows; a second, much nearer to the largest singular value: the
    # fourth root of the sum of their fourth powers, which is the norm of x x^T.
    x_NAB: Tensor = matrices_NAB / matrices_NAB.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    square_NAA = x_NAB @ x_NAB.mT
    scale_N11 = (MARGIN**2 * square_NAA.norm(dim=(1, 2), keepdim=True)).clamp(min=1e-7).rsqrt()
    x_NAB, square_NAA = x_NAB * scale_N11, square_NAA * scale_N11.square()
    # In half precision, rounding of x x^T would hide the squares of small singular values.
    if x_NAB.size(2) >= 2 * x_NAB.size(1) and x_NAB.element_size() >= 4:
        return _product_of_steps(square_NAA) @ x_NAB
    for i, (a, b, c) in enumerate(COEFFICIENTS):
        if i > 0:
            square_NAA = x_NAB @ x_NAB.mT
        x_NAB = torch.baddbmm(x_NAB, _polynomial(square_NAA, b, c), x_NAB, beta=a)
    return x_NAB


def _product_of_steps(square_NAA: Tensor) -> Tensor:
    """Return Q with Q x = x after all steps; each step needs x x^T alone, so wide matrices are multiplied only twice.

    A step is x -> (a + P) x with P = `_polynomial(x x^T)`, and so x x^T -> (a + P) x x^T (a + P).

    Args:
        square_NAA: x x^T before the first step.
    """
    product_NAA = torch.eye(square_NAA.size(1), dtype=square_NAA.dtype, device=square_NAA.device).expand_as(square_NAA)
    for i, (a, b, c) in enumerate(COEFFICIENTS):
        polynomial_NAA = _polynomial(square_NAA, b, c)
        product_NAA = torch.baddbmm(product_NAA, polynomial_NAA, product_NAA, beta=a)
        if i < len(COEFFICIENTS) - 1:
            half_NAA = torch.baddbmm(square_NAA, polynomial_NAA, square_NAA, beta=a)
            square_NAA = torch.baddbmm(half_NAA, half_NAA, polynomial_NAA, beta=a)
    return product_NAA


def _polynomial(square_NAA: Tensor, b: float, c: float) -> Tensor:
    """Return b S + c S^2."""
    return torch.baddbmm(square_NAA, square_NAA, square_NAA, beta=b, alpha=c)


class Ema:
    """An exponential moving average of one model's parameters, in float32; often a better model than the parameters.

    It starts as a copy of them. Update t changes the average s to s + (1 - d) (p - s), with
    d = min(decay, (1 + t) / (10 + t)). The smaller d of the first updates lets the average forget the random
    initialisation quickly.

    Args:
        model: the model to average; no reference to it is kept.
        decay: weight of the old average in each update, in (0, 1).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._shadow = {name: p.detach().float().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int, taken: Tensor) -> None:
        """Add the parameters after update number `step`, counted from 1, unless the boolean `taken` is false."""
        weight = (1 - min(self.decay, (1 + step) / (10 + step))) * taken.float()
        for average, parameter in zip(self._shadow.values(), model.parameters(), strict=True):
            average.lerp_(parameter.detach().float(), weight)

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """Replace the model's parameters by the average within the context, and restore them exactly after it."""
        kept = {name: p.detach().clone() for name, p in model.named_parameters()}
        _copy(self._shadow, model)
        try:
            yield
        finally:
            _copy(kept, model)

    def save(self, path: Path) -> None:
        """Write the average as a safetensors file with the names of a model's weights."""
        save_file({name: tensor.contiguous() for name, tensor in self._shadow.items()}, path)

    def load(self, path: Path) -> None:
        """Restore a saved average of this model; CheckpointError if the file is damaged."""
        for name, tensor in load_tensors(path).items():
            self._shadow[name].copy_(tensor)


@torch.no_grad()
def _copy(tensors: dict[str, torch.Tensor], model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[name])
