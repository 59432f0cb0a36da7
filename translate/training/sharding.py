"""Parameters, gradients and Adam's moments divided over the ranks (FSDP2), for models that one GPU does not hold.

The rest of the engine knows whole models only: it saves, validates and averages the model and the optimizer that it was
given. Where they are divided, updates work on a sharded twin, and the whole ones, which then live in main memory, are
brought up to date when somebody is going to read them.
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from transformer.model import Transformer
from translate.errors import UserError

NewOptimizer = Callable[[Transformer], torch.optim.Optimizer]


class Replica:
    """Every rank holds all; updates work on the model and the optimizer themselves.

    Attributes:
        model, optimizer: what updates work on.
        device: where they compute.
    """

    def __init__(self, model: Transformer, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer = model, optimizer
        self.device = next(model.parameters()).device

    def gather(self) -> None:
        """Bring the whole model and the whole optimizer up to date; all ranks call it together."""

    def scatter(self) -> None:
        """Take over what the whole model and the whole optimizer hold; all ranks call it together."""


class Shards(Replica):
    """Every rank holds its part of each tensor; layers are put together when they are computed and dropped again.

    Args:
        model, optimizer: the whole ones, on the CPU; after `gather` those of rank 0 hold all, those of the others the
            parameters.
        new_optimizer: makes one for the sharded twin.
        device: where the twin computes.
    """

    def __init__(
        self,
        model: Transformer,
        optimizer: torch.optim.Optimizer,
        new_optimizer: NewOptimizer,
        device: torch.device,
    ) -> None:
        from torch.distributed import get_rank
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

        if not hasattr(FSDPModule, "set_force_sum_reduction_for_comms"):
            raise UserError('training.parallel = "fsdp" needs a newer PyTorch, such as 2.11; upgrade it, or take "ddp"')
        self._whole, self._whole_optimizer, self._keeps_moments = model, optimizer, get_rank() == 0
        twin = copy.deepcopy(model).to(device)
        mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
        for module in (*twin.encoder, *twin.decoder, twin):
            part = fully_shard(module, mesh=mesh)
            # Sums: the loss is divided by the tokens of all ranks, and by nothing else. Gloo has no other reduction.
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)
        for name in ("encode", "decode_states"):  # training enters by these and not by `forward`
            register_fsdp_forward_method(twin, name)
        self.model, self.optimizer, self.device = twin, new_optimizer(twin), device

    def gather(self) -> None:
        """Bring the whole model up to date, and on rank 0 the whole optimizer too."""
        for whole, part in zip(self._whole.parameters(), self.model.parameters(), strict=True):
            whole.data.copy_(full(part.detach()))
            moments = {name: full(value).to(whole.device) for name, value in self.optimizer.state.get(part, {}).items()}
            if self._keeps_moments:
                self._whole_optimizer.state[whole] = moments

    def scatter(self) -> None:
        """Take over what rank 0's whole model and optimizer hold."""
        from torch.distributed.tensor import DTensor, distribute_tensor

        for whole, part in zip(self._whole.parameters(), self.model.parameters(), strict=True):
            assert isinstance(part, DTensor)
            mesh, placements = part.device_mesh, part.placements

            def divide(value: Tensor) -> DTensor:
                return distribute_tensor(value.detach().to(self.device), mesh, placements)  # noqa: B023

            part.to_local().detach().copy_(divide(whole).to_local())
            self.optimizer.state[part] = {
                name: divide(value) if value.shape == whole.shape else value.clone()
                for name, value in self._whole_optimizer.state.get(whole, {}).items()
            }


def full(tensor: Tensor) -> Tensor:
    """The whole of a tensor that is divided over ranks, which all must ask for together; others as they are."""
    whole = getattr(tensor, "full_tensor", None)
    return tensor if whole is None else whole()
