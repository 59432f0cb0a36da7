"""Data-parallel training: processes (ranks) that torchrun starts, each with its share of every update.

    torchrun --nproc-per-node 2 -m translate train CONFIG

All ranks hold the same parameters and the same position in the data. The sampler yields one stream of micro-batches,
which go to the ranks in turn, so every rank makes the same number of updates and no batch is used twice. Losses and
gradients are sums over tokens; they are summed over ranks and divided once. Rank 0 alone writes.

Gradients are reduced after the backward passes, without `DistributedDataParallel`: it wraps `forward`, but training
calls `encode` and `decode_states`; it averages, but we sum; and it needs the same number of backward passes on all
ranks, which differs if one rank halves a batch to fit its memory.
"""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from translate.errors import Say, UserError

BUCKET = 2**25  # gradient values in one message: large for the network, small beside the state of the model
BEAT = 1.0  # seconds between heartbeats
SUSPECT = 5  # own heartbeats without one of another rank after which a failed message is blamed on that rank
SILENT = 45  # the same, after which a rank is lost even if no message fails: a power failure closes no connection
PATIENCE = timedelta(days=30)  # timeout of messages; long, as other ranks wait while rank 0 prepares a corpus

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

    def __init__(self, rank: int = 0, size: int = 1, watch: "Watch | None" = None) -> None:
        self.rank, self.size, self._watch = rank, size, watch

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0, which prepares, writes and prints for all."""
        return self.rank == 0

    def seed(self, seed: int, step: int) -> None:
        """Seed the generators of every rank but the first; the numbers depend on seed, step and rank alone."""
        if not self.is_first:
            torch.manual_seed(int(np.random.SeedSequence([seed, step, self.rank]).generate_state(1, np.uint64)[0]))

    def watch(self) -> None:
        """Start sending heartbeats; end this process if another one sends none for long."""
        if self._watch is not None:
            self._watch.start()

    def sum(self, *values: float) -> list[float]:
        """Return the sum of each value over all ranks, in float64."""
        if self.size == 1:
            return list(values)
        totals = torch.tensor(values, dtype=torch.float64)
        self._together(lambda: dist.all_reduce(totals))
        return totals.tolist()

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

    def first(self, act: Callable[[], T]) -> T:
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
            self._together(lambda: dist.broadcast_object_list(message, src=0, device=torch.device("cpu")))
        if not message[1]:
            raise SystemExit(2)
        return message[0]  # type: ignore[return-value]

    def _together(self, send: Callable[[], object]) -> None:
        """Exchange a message; RankLostError, with the number of the lost rank, if it fails."""
        try:
            send()
        except RuntimeError as error:  # the class of all errors of torch.distributed
            raise RankLostError(_sentence(self._watch.suspects() if self._watch else [])) from error


ALONE = Ranks()


class Watch:
    """A thread that exchanges heartbeats with the other ranks through the run's store.

    Under torchrun the store belongs to torchrun, so it outlives the ranks.

    Args:
        store: the key-value store of the run.
        rank: the number of this process.
        size: the number of processes.
        say: receives a message before the thread ends the process.
    """

    def __init__(self, store: "dist.Store", rank: int, size: int, say: Say) -> None:  # type: ignore[name-defined]
        self._store, self._say = store.clone(), say  # its own connection: the other may be busy
        self._key, self._others = f"alive/{rank}", [other for other in range(size) if other != rank]
        self._heard: dict[int, bytes] = {}  # last heartbeat of each other rank
        # Own heartbeats since then; a clock would also count a pause of this process, as by Ctrl-Z.
        self._missed = dict.fromkeys(self._others, 0)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ranks", daemon=True)

    def start(self) -> None:
        """Send the first heartbeat, wait for those of the others, and start the thread."""
        self._store.set(self._key, "0")
        self._heard = {rank: self._store.get(f"alive/{rank}") for rank in self._others}
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; the others must know that this process ends."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def silent(self, beats: int) -> list[int]:
        """Return the ranks without a heartbeat during the last `beats` of this one."""
        return [rank for rank, missed in self._missed.items() if missed > beats]

    def suspects(self) -> list[int]:
        """Return the ranks to blame for a failed message: wait until heartbeats are missing, or give up."""
        deadline = time.monotonic() + 3 * SUSPECT * BEAT
        while self._thread.is_alive() and not self.silent(SUSPECT) and time.monotonic() < deadline:
            time.sleep(BEAT / 4)
        return self.silent(SUSPECT)

    def _run(self) -> None:
        for beat in itertools.count(1):
            if self._stop.wait(BEAT):
                return
            try:
                self._store.set(self._key, str(beat))
                self._listen()
            except RuntimeError:  # the process that holds the store has ended
                self._missed = {0: SILENT + 1}
            if lost := self.silent(SILENT):
                self._say(_sentence(lost))
                # The main thread waits for an answer that will not come, and no exception can reach it there.
                os._exit(1)

    def _listen(self) -> None:
        signs = self._store.multi_get([f"alive/{rank}" for rank in self._others])
        for rank, sign in zip(self._others, signs, strict=True):
            self._missed[rank] = self._missed[rank] + 1 if sign == self._heard[rank] else 0
            self._heard[rank] = sign


@contextmanager
def joined(say: Say) -> Iterator[Ranks]:
    """Yield the ranks that torchrun started, or this process alone, and set the CUDA device of this process.

    Args:
        say: receives messages of the heartbeat thread.

    Raises UserError if there are fewer devices than processes.
    """
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    from torch.distributed.rendezvous import rendezvous

    backend = _claim_device()
    store, rank, size = next(iter(rendezvous("env://", timeout=timedelta(minutes=10))))
    # Restarted processes meet in the store of those before them.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = dist.PrefixStore(f"attempt-{attempt}", store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=PATIENCE)
    watch = Watch(store, rank, size, say)
    try:
        ranks = Ranks(rank, size, watch)
        yield ranks
        ranks.sum(0.0)  # wait for all, as a rank that has left counts as lost
    finally:
        watch.stop()
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


def _sentence(lost: list[int]) -> str:
    """Return the message about lost ranks."""
    names = " and ".join(f"rank {rank}" for rank in lost) or "another rank"
    verb = "were" if len(lost) > 1 else "was"
    return f"{names} {verb} lost, so this one stops; restart with the same command and --resume"
