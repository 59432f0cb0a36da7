"""Training by several processes (ranks) that torchrun starts, each with its share of every update.

    torchrun --nproc-per-node 2 -m translate train CONFIG

All ranks hold the same parameters and the same position in the data. The sampler yields one stream of micro-batches,
which go to the ranks in turn, so every rank makes the same number of updates and no batch is used twice. Losses and
gradients are sums over tokens; they are summed over ranks and divided once. Rank 0 alone writes.

Gradients are reduced after the backward passes, without `DistributedDataParallel`: it wraps `forward`, but training
calls `encode` and `decode_states`; it averages, but we sum; and it needs the same number of backward passes on all
ranks, which differs if one rank halves a batch to fit its memory.

With FSDP2 the ranks divide parameters, gradients and Adam's moments, for models that do not fit on one GPU. Checkpoints
and averages need the whole model and optimizer, which stay in main memory; updates and validations use a sharded copy.
The two exchange their values before a save and after a load.
"""

import copy
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.errors import UserError
from translate.machine import choose_device
from translate.training.optimizer import new_optimizer

BUCKET = 2**25  # gradient values in one message: large for the network, small beside the state of the model
# A message that takes longer has failed; a machine without power closes no connection.
TIMEOUT = timedelta(hours=1)
PATIENCE = timedelta(days=30)  # the same while rank 0 alone works, for it may prepare a corpus

T = TypeVar("T")


class RankLostError(UserError):
    """Another process of the run has ended, so this one cannot continue."""


class Ranks:
    """Communication between the processes of one run; the default is a single process without a process group.

    All ranks call the methods in the same order. They raise RankLostError if a rank has ended.

    Attributes:
        rank: the number of this process, from 0.
        size: the number of processes.
    """

    def __init__(self, rank: int = 0, size: int = 1, patient: "dist.ProcessGroup | None" = None) -> None:
        self.rank, self.size = rank, size
        self._patient = patient  # the group of the messages that wait for work of rank 0

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0, which prepares, writes and prints for all."""
        return self.rank == 0

    def seed(self, seed: int, step: int) -> None:
        """Seed the generators of every rank but the first; the numbers depend on seed, step and rank alone."""
        if not self.is_first:
            torch.manual_seed(int(np.random.SeedSequence([seed, step, self.rank]).generate_state(1, np.uint64)[0]))

    def wait(self) -> None:
        """Wait until all ranks are here."""
        self.sum(0.0)

    def sum(self, *values: float) -> list[float]:
        """Return the sum of each value over all ranks, in float64."""
        if self.size == 1:
            return list(values)
        totals = torch.tensor(values, dtype=torch.float64)
        self._together(lambda: dist.all_reduce(totals))
        return totals.tolist()

    def sum_tensor(self, tensor: Tensor) -> Tensor:
        """Return the sum of a tensor over all ranks, on its device; it may be changed."""
        if self.size > 1:
            self._together(lambda: dist.all_reduce(tensor))
        return tensor

    def any(self, *flags: bool) -> list[bool]:
        """Return for each flag whether it is set on any rank."""
        return [n > 0 for n in self.sum(*flags)]

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its sum over ranks, identical on all; sharded gradients are sums already."""
        if self.size == 1:
            return
        for gradients in _buckets(p for p in parameters if not hasattr(p, "full_tensor")):
            flat = torch.cat([gradient.flatten() for gradient in gradients])
            self._together(lambda flat=flat: dist.all_reduce(flat))  # type: ignore[misc]
            for gradient, total in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
                gradient.copy_(total.view_as(gradient))

    def copy_from_first(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite every tensor with that of rank 0."""
        for tensor in tensors if self.size > 1 else ():
            self._together(lambda tensor=tensor: dist.broadcast(tensor.detach(), src=0))  # type: ignore[misc]

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks, by rank; they are sent as pickles."""
        found = [value] * self.size
        if self.size > 1:
            self._together(lambda: dist.all_gather_object(found, value))
        return found

    def on_rank_0(self, act: Callable[[], T]) -> T:
        """Run `act` on rank 0 while the others wait, and return its result on all ranks.

        If it raises an exception, rank 0 raises it, and the others leave silently with SystemExit.
        """
        if self.size == 1:
            return act()
        message: list[T | None] = [None, None]  # the result, and whether there is one
        try:
            if self.is_first:
                message = [act(), True]  # type: ignore[list-item]
        finally:
            self._together(
                lambda: dist.broadcast_object_list(message, src=0, group=self._patient, device=torch.device("cpu"))
            )
        if not message[1]:
            raise SystemExit(2)
        return message[0]  # type: ignore[return-value]

    def _together(self, send: Callable[[], object]) -> None:
        """Exchange a message; RankLostError if it fails."""
        try:
            send()
        except RuntimeError as error:  # the class of all errors of torch.distributed
            raise RankLostError(
                "another process was lost, so this one stops; restart with the same command and --resume"
            ) from error


SINGLE_PROCESS = Ranks()


@contextmanager
def joined() -> Iterator[Ranks]:
    """Yield the ranks that torchrun started, or this process alone, and set the CUDA device of this process.

    Raises UserError if there are fewer devices than processes, or if the processes cannot meet.
    """
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield SINGLE_PROCESS
        return
    from torch.distributed.rendezvous import rendezvous

    backend = _claim_device()
    try:
        store, rank, size = next(iter(rendezvous("env://", timeout=timedelta(minutes=10))))
        # Restarted processes meet in the store of those before them.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"attempt-{attempt}", store)  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=TIMEOUT)
        ranks = Ranks(rank, size, dist.new_group(timeout=PATIENCE, backend="gloo"))
    except (ValueError, RuntimeError) as error:  # the classes of all errors of torch.distributed
        raise UserError(
            f"the processes of this run cannot meet ({str(error).splitlines()[0]}); start them with torchrun, with a "
            "free --master-port and a --master-addr that all can reach"
        ) from error
    yield ranks
    ranks.wait()  # a rank that has left counts as lost
    dist.destroy_process_group()


def _claim_device() -> str:
    """Choose the GPU of this process and return the backend: CPU tensors use gloo, CUDA tensors NCCL."""
    if not torch.cuda.is_available():
        return "gloo"
    local, n_devices = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if local >= n_devices:
        raise UserError(f"process {local} of this machine finds {n_devices} GPUs; lower --nproc-per-node")
    torch.cuda.set_device(local)
    return "cpu:gloo,cuda:nccl"


def _buckets(parameters: Iterable[torch.nn.Parameter]) -> Iterator[list[Tensor]]:
    """Yield all gradients in groups of about BUCKET values; missing ones become zeros, as ranks must send the same."""
    bucket: list[Tensor] = []
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        bucket.append(parameter.grad)
        if sum(gradient.numel() for gradient in bucket) >= BUCKET:
            yield bucket
            bucket = []
    if bucket:
        yield bucket


def full(tensor: Tensor) -> Tensor:
    """Return all of a tensor that is divided over ranks, which must call this together; others are returned as is."""
    whole = getattr(tensor, "full_tensor", None)
    return tensor if whole is None else whole()


class Replica:
    """The model and the optimizer that updates work on; each rank holds all of both.

    Attributes:
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
        make_optimizer: makes an optimizer for the sharded copy.
    """

    is_sharded = True

    def __init__(
        self,
        model: Transformer,
        optimizer: torch.optim.Optimizer,
        make_optimizer: Callable[[Transformer], torch.optim.Optimizer],
        device: torch.device,
    ) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

        if not hasattr(FSDPModule, "set_force_sum_reduction_for_comms"):
            raise UserError(
                'training.parallel = "fsdp" needs PyTorch 2.11 or newer; upgrade it, or set training.parallel = "ddp"'
            )
        self._whole, self._whole_optimizer, self._keeps_moments = model, optimizer, dist.get_rank() == 0
        sharded = copy.deepcopy(model)  # not moved as a whole: `fully_shard` moves and divides one layer after another
        mesh = init_device_mesh(device.type, (dist.get_world_size(),))
        for module in (*sharded.encoder, *sharded.decoder, sharded):
            part = fully_shard(module, mesh=mesh)
            # Sums, as the loss is divided by the tokens of all ranks already. Gloo has no other reduction.
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)
        for name in ("encode", "decode_states"):  # training calls these and not `forward`
            register_fsdp_forward_method(sharded, name)
        self.model, self.optimizer, self.device = sharded, make_optimizer(sharded), device

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
                    name: divide(value) if value.shape == whole.shape else value.to(self.device, copy=True)
                    for name, value in self._whole_optimizer.state.get(whole, {}).items()
                }
        if not self._keeps_moments:
            self._whole_optimizer.state.clear()

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
