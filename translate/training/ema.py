"""An exponential moving average of the parameters, in float32; often a better model than the parameters themselves.

Update t changes the average s to s + (1 - d) (p - s), with d = min(decay, (1 + t) / (10 + t)). The smaller d of the
first updates lets the average forget the random initialisation quickly.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from transformer.checkpoint_io import load_tensors


class Ema:
    """The average of one model's parameters; starts as a copy of them.

    Args:
        model: the model to average; no reference to it is kept.
        decay: weight of the old average in each update, in (0, 1).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._shadow = {name: p.detach().float().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Add the parameters after update number `step`, counted from 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self._shadow.values()), [p.detach().float() for p in model.parameters()], 1 - decay)

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
