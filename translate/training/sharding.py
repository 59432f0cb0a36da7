"""Parameters, gradients and Adam's moments divided over the ranks (FSDP2), for models that do not fit on one GPU.

Checkpoints and averages need the whole model and optimizer. With FSDP these stay in main memory; updates and
validations use a sharded copy. The two exchange their values before a save and after a load.
"""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.errors import UserError
from translate.machine import choose_device
from translate.training.distributed import Ranks, full
from translate.training.step import new_optimizer


class Replica:
    """The model and the optimizer that updates work on; each rank holds all of both.

    Attributes:
        model, optimizer: what updates work on.
        device: the device of the model.
        is_sharded: whether each rank holds a part only.
    """

    is_sharded = False

    def __init__(self, model: Transformer, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer = model, optimizer
        self.device = next(model.parameters()).device

    def gather(self) -> None:
        """Bring the whole model and optimizer up to date; all ranks call this together."""

    def scatter(self, *, moments: bool = True) -> None:
        """Take over the values of the whole model, and Adam's `moments`; all ranks call this together."""

    @contextmanager
    def evaluating(self) -> Iterator[Transformer]:
        """Yield the model in eval mode; all ranks call this together and make the same number of forward passes."""
        yield self.model.eval()


class Shards(Replica):
    """A sharded copy of a model: a rank holds a part of each tensor, and layers are assembled while they compute.

    Args:
        model, optimizer: the whole ones, on the CPU. After `gather` all ranks have the parameters, and rank 0 alone the
            moments.
        new_optimizer: makes an optimizer for the sharded copy.
        device: the device of the sharded copy.
    """

    is_sharded = True

    def __init__(
        self,
        model: Transformer,
        optimizer: torch.optim.Optimizer,
        new_optimizer: Callable[[Transformer], torch.optim.Optimizer],
        device: torch.device,
    ) -> None:
        from torch.distributed import get_rank
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

        if not hasattr(FSDPModule, "set_force_sum_reduction_for_comms"):
            raise UserError(
                'training.parallel = "fsdp" needs PyTorch 2.11 or newer; upgrade it, or set training.parallel = "ddp"'
            )
        self._whole, self._whole_optimizer, self._keeps_moments = model, optimizer, get_rank() == 0
        sharded = copy.deepcopy(model)  # not moved as a whole: `fully_shard` moves and divides one layer after another
        mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
        for module in (*sharded.encoder, *sharded.decoder, sharded):
            part = fully_shard(module, mesh=mesh)
            # Sums, as the loss is divided by the tokens of all ranks already. Gloo has no other reduction.
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)
        for name in ("encode", "decode_states"):  # training calls these and not `forward`
            register_fsdp_forward_method(sharded, name)
        self.model, self.optimizer, self.device = sharded, new_optimizer(sharded), device

    def gather(self) -> None:
        """Bring the whole model up to date, and on rank 0 the whole optimizer too."""
        for whole, part in zip(self._whole.parameters(), self.model.parameters(), strict=True):
            whole.data.copy_(full(part.detach()))
            moments = {name: full(value).to(whole.device) for name, value in self.optimizer.state.get(part, {}).items()}
            if self._keeps_moments:
                self._whole_optimizer.state[whole] = moments

    def scatter(self, *, moments: bool = True) -> None:
        """Take over the parameters of rank 0, and the moments, which all ranks must hold."""
        from torch.distributed.tensor import DTensor, distribute_tensor

        for whole, part in zip(self._whole.parameters(), self.model.parameters(), strict=True):
            assert isinstance(part, DTensor)
            mesh, placements = part.device_mesh, part.placements

            def divide(value: Tensor) -> DTensor:
                return distribute_tensor(value.detach().to(self.device), mesh, placements)  # noqa: B023

            part.to_local().detach().copy_(divide(whole).to_local())
            if moments:
                self.optimizer.state[part] = {
                    name: divide(value) if value.shape == whole.shape else value.clone()
                    for name, value in self._whole_optimizer.state.get(whole, {}).items()
                }

    @contextmanager
    def evaluating(self) -> Iterator[Transformer]:
        """Yield the sharded model in eval mode; it is divided again afterwards."""
        yield self.model.eval()
        # Without a backward pass the parameters outside of layers stay assembled.
        self.model.reshard()  # type: ignore[operator]


def replica_of(model: Transformer, optimizer: torch.optim.Optimizer, config: TrainingConfig, ranks: Ranks) -> Replica:
    """Return what updates work on: the model itself, or with FSDP a sharded copy.

    Args:
        model, optimizer: the whole ones.
        config: the section [training].
        ranks: the processes that train together; a single process never divides its model.

    Raises UserError for settings that need the whole model on every rank.
    """
    if config.parallel == "ddp" or ranks.size == 1:
        return Replica(model, optimizer)
    conflicts = {
        "ema": config.ema is not None,
        "best_by": config.best_by == "bleu",
        "optimizer": config.optimizer == "muon",
    }
    for key, is_one in conflicts.items():
        if is_one:
            raise UserError(
                f"training.{key} = {json.dumps(getattr(config, key))} needs the whole model on every process; set "
                'training.parallel = "ddp", or change the key'
            )
    return Shards(model, optimizer, lambda sharded: new_optimizer(sharded, config), choose_device())
