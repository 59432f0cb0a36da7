"""Several processes that train one model, each on its share of every update; torchrun starts them and calls them ranks.

    torchrun --nproc-per-node 2 -m translate train CONFIG

All ranks hold the same parameters and the same position in the data. The micro-batches of an update come in a row from
the one stream of the sampler and are dealt out in turns, so that every rank makes the same number of updates and no
batch is met twice. Losses and gradients are sums over tokens; they are summed over ranks and divided once. Rank 0 alone
writes.

Gradients are reduced after the backward passes and not by `DistributedDataParallel`, which wraps `forward` where our
loss enters by `encode` and `decode_states`, averages where we sum, and ties the number of messages to the number of
backward passes, which differs where a rank has to halve a batch for want of memory.
"""

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

from translate.errors import UserError

BUCKET = 2**25  # numbers in one message of gradients: large enough for the network, small beside the model's state
BEAT = 1.0  # seconds between signs of life
SUSPECT = 5.0  # seconds of silence that name a rank as lost once a message to it has failed
SILENT = 45.0  # seconds of silence that are proof by themselves: a machine without power closes no connection
PATIENCE = timedelta(days=30)  # of messages: others wait while rank 0 prepares a corpus; the dead are found by silence

T = TypeVar("T")
Say = Callable[[str], None]


class RankLostError(UserError):
    """Another process of the run has ended, so this one cannot go on."""


class Ranks:
    """The processes of one run as one of them sees them; by default there is one, which needs no process group.

    Every method but the properties is called by all ranks in the same order. RankLostError if one of them is gone.

    Attributes:
        rank: the number of this process, from 0.
        size: how many there are.
    """

    def __init__(self, rank: int = 0, size: int = 1, watch: "Watch | None" = None) -> None:
        self.rank, self.size, self._watch = rank, size, watch

    @property
    def is_first(self) -> bool:
        """Whether this process prepares, validates, writes and talks for all."""
        return self.rank == 0

    def seed(self, seed: int, step: int) -> None:
        """Give every rank but the first random numbers of its own, a pure function of seed, step and rank."""
        if not self.is_first:
            torch.manual_seed(int(np.random.SeedSequence([seed, step, self.rank]).generate_state(1, np.uint64)[0]))

    def watch(self) -> None:
        """From now on tell the others that this process lives, and end it where one of them is silent for long."""
        if self._watch is not None:
            self._watch.start()

    def sum(self, *values: float) -> list[float]:
        """Each value summed over all ranks, in float64."""
        if self.size == 1:
            return list(values)
        totals = torch.tensor(values, dtype=torch.float64)
        self._together(lambda: dist.all_reduce(totals))
        return totals.tolist()

    def any(self, *flags: bool) -> list[bool]:
        """For each flag, whether it is set on any rank."""
        return [n > 0 for n in self.sum(*flags)]

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its sum over ranks: the same bits on all of them. Sharded ones are sums already."""
        if self.size == 1:
            return
        for gradients in _buckets(p for p in parameters if not hasattr(p, "full_tensor")):
            flat = torch.cat([gradient.flatten() for gradient in gradients])
            self._together(lambda flat=flat: dist.all_reduce(flat))  # type: ignore[misc]
            for gradient, total in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
                gradient.copy_(total.view_as(gradient))

    def copy_from_first(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite every tensor by that of rank 0."""
        for tensor in tensors if self.size > 1 else ():
            self._together(lambda tensor=tensor: dist.broadcast(tensor.detach(), src=0))  # type: ignore[misc]

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all ranks by rank: on the CPU and of one shape."""
        if self.size == 1:
            return [tensor]
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        self._together(lambda: dist.all_gather(found, tensor))
        return found

    def first(self, act: Callable[[], T]) -> T:
        """What `act` returns on rank 0, on all ranks; it runs there alone, and the others wait.

        Where it raises, it does so on rank 0, which reports it; the others leave with SystemExit, in silence.
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

    def lead(self, act: Callable[[], T], follow: Callable[[], T]) -> T:
        """`act` on rank 0 and then, if it did not raise, `follow` on the others; each has its own result."""
        made: list[T] = []
        self.first(lambda: made.append(act()))
        return made[0] if self.is_first else follow()

    def _together(self, send: Callable[[], object]) -> None:
        """Exchange a message; RankLostError, with the name of the lost one, if a rank does not answer any more."""
        try:
            send()
        except RuntimeError as error:  # the class of all errors of torch.distributed
            raise RankLostError(_sentence(self._watch.suspects() if self._watch else [])) from error


ALONE = Ranks()


class Watch:
    """A thread by which the ranks tell one another, through the store of the run, that they live.

    The store is torchrun's where torchrun started the ranks, and so outlives each of them.
    """

    def __init__(self, store: "dist.Store", rank: int, size: int, say: Say) -> None:  # type: ignore[name-defined]
        self._store, self._say = store.clone(), say  # a connection of its own: the other may be busy
        self._key, self._others = f"alive/{rank}", [other for other in range(size) if other != rank]
        self._heard: dict[int, tuple[bytes, float]] = {}  # the last sign of each other rank, and when it was new
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ranks", daemon=True)

    def start(self) -> None:
        """Give the first sign, wait for that of the others, and go on in a thread."""
        self._store.set(self._key, "0")
        now = time.monotonic()
        self._heard = {rank: (self._store.get(f"alive/{rank}"), now) for rank in self._others}
        self._thread.start()

    def stop(self) -> None:
        """No more signs; the others must have been told by other means."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def silent(self, seconds: float) -> list[int]:
        """Ranks that gave no sign for so long."""
        now = time.monotonic()
        return [rank for rank, (_, heard) in self._heard.items() if now - heard > seconds]

    def suspects(self) -> list[int]:
        """Who is to blame for a message that failed: waits until the silence of somebody tells, or gives up."""
        deadline = time.monotonic() + 3 * SUSPECT
        while self._thread.is_alive() and not self.silent(SUSPECT) and time.monotonic() < deadline:
            time.sleep(BEAT / 4)
        return self.silent(SUSPECT)

    def _run(self) -> None:
        beat, before = 0, time.monotonic()
        while not self._stop.wait(BEAT):
            beat += 1
            now = time.monotonic()
            self._forgive(now - before - BEAT)
            before = now
            try:
                self._store.set(self._key, str(beat))
                self._listen()
            except RuntimeError:  # the store is gone, and with it the process or the machine that kept it
                self._heard = {0: (b"", -SILENT)}
            if lost := self.silent(SILENT):
                self._say(_sentence(lost))
                # The main thread waits in a message that nobody will answer, and no exception reaches it there.
                os._exit(1)

    def _forgive(self, late: float) -> None:
        """A process that has been stopped for a while, as by Ctrl-Z, has heard nothing, whoever lived."""
        if late > SUSPECT:
            self._heard = {rank: (sign, heard + late) for rank, (sign, heard) in self._heard.items()}

    def _listen(self) -> None:
        signs = self._store.multi_get([f"alive/{rank}" for rank in self._others])
        now = time.monotonic()
        for rank, sign in zip(self._others, signs, strict=True):
            if sign != self._heard[rank][0]:
                self._heard[rank] = (sign, now)


@contextmanager
def joined(say: Say) -> Iterator[Ranks]:
    """The ranks that torchrun started, or this process alone; `say` takes what a thread has to tell the user.

    Sets the CUDA device of this process; UserError if there are fewer devices than processes.
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
        ranks.sum(0.0)  # nobody leaves before all are done: who has left is taken for lost
    finally:
        watch.stop()
    dist.destroy_process_group()


def _claim_device() -> str:
    """Take the GPU of this process, and name the backend: small values travel by CPU, gradients where they are."""
    if not torch.cuda.is_available():
        return "gloo"
    local, n_devices = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if local >= n_devices:
        raise UserError(f"process {local} of this machine finds {n_devices} GPUs; lower --nproc-per-node")
    torch.cuda.set_device(local)
    return "cpu:gloo,cuda:nccl"


def _buckets(parameters: Iterable[torch.nn.Parameter]) -> Iterator[list[Tensor]]:
    """All gradients in groups of about BUCKET numbers; zeros where a rank has none, as all must send the same."""
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


def _sentence(lost: list[int]) -> str:
    """What to tell the user of ranks that are gone."""
    names = " and ".join(f"rank {rank}" for rank in lost) or "another rank"
    verb = "were" if len(lost) > 1 else "was"
    return f"{names} {verb} lost, so this one stops; restart with the same command and --resume"
