"""One update (sections 5.3 and 5.4): the loss of its batches, the gradient, and a step of the optimizer.

The loss is a mean over the target tokens of the whole update, however the update is split into micro-batches: sums and
counts are kept together and divided once.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from transformer.config import ModelConfig
from transformer.cost import forward_flops
from transformer.loss import linear_divergence, linear_smoothed_nll
from transformer.model import Transformer
from translate.corpus.batches import Batch, halves
from translate.errors import Say, UserError
from translate.machine import is_out_of_memory, release_memory
from translate.training.distributed import SINGLE_PROCESS, Ranks, full


@dataclass(frozen=True)
class Updater:
    """The updates of one model.

    Attributes:
        label_smoothing: the epsilon of 5.4.
        dtype: type of matrix products; see `precision`.
        clip_norm: largest norm of the gradient; None does not clip.
        splitter: runs the batches, and may halve those that do not fit into memory.
        r_drop: see `batch_loss`.
    """

    model: Transformer
    optimizer: torch.optim.Optimizer
    label_smoothing: float
    dtype: torch.dtype
    clip_norm: float | None = None
    splitter: "OomSplitter" = field(default_factory=lambda: UNSPLIT)
    ranks: Ranks = SINGLE_PROCESS
    r_drop: float = 0.0

    def step(self, micro_batches: Sequence[Batch], lr: float) -> "Update":
        """Update the parameters once; if loss or gradient is not finite, leave them and the optimizer unchanged.

        The host reads nothing from the device and does not wait for it; see `read_stats`.

        Args:
            micro_batches: the batches of this rank; loss, gradient and counts are summed over all ranks.
        """
        parameters = list(self.model.parameters())
        n_src = sum(batch.n_src_tokens for batch in micro_batches)
        n_tgt = sum(batch.n_tgt_tokens for batch in micro_batches)
        n_src, n_tgt = map(int, self.ranks.sum(n_src, n_tgt))
        losses_2 = self.ranks.sum_tensor(self._backward(micro_batches, n_tgt))
        self.ranks.sum_gradients(parameters)
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self.clip_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.clip_norm, norm)
        update = Update(torch.cat([losses_2, full(norm).to(losses_2)[None]]), n_src + n_tgt)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.found_inf = (~update.finite).float()  # type: ignore[attr-defined]
        self.optimizer.step()
        self._discard_gradients()
        return update

    def _backward(self, micro_batches: Sequence[Batch], n_tokens: int) -> Tensor:
        """Add up the gradients of the smoothed loss; return that loss and the negative log-likelihood, in float64.

        Both are divided by `n_tokens`, the target tokens of the whole update.
        """

        def one(batch: Batch) -> Tensor:
            loss_sum, nll_sum = batch_loss(self.model, batch, self.label_smoothing, self.dtype, self.r_drop)
            (loss_sum / n_tokens).backward()  # type: ignore[no-untyped-call]
            return torch.stack([loss_sum.detach(), nll_sum.detach()]).double() / n_tokens

        losses = self.splitter.each(micro_batches, one, undo=self._discard_gradients)
        return torch.stack(losses).sum(dim=0)

    def _discard_gradients(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)

    def warm_up(self, batch: Batch) -> None:
        """Claim the memory of the largest batch to expect: allocator and `splitter` learn its size.

        A GPU computes gradients and discards them. On a CPU that would take as long as an update; there the forward
        pass is computed, as the backward pass releases its memory while it claims more, and gradients get memory.
        Parameters, optimizer and random generators stay unchanged.
        """

        def claim(batch: Batch) -> Tensor:
            loss, _ = batch_loss(self.model, batch, self.label_smoothing, self.dtype, self.r_drop)
            if loss.is_cuda:
                loss.backward()  # type: ignore[no-untyped-call]
            else:
                _ = [torch.empty_like(parameter) for parameter in self.model.parameters()]
            return loss.detach()

        self.model.train()
        with torch.random.fork_rng([batch.src.device] if batch.src.is_cuda else []):
            self.splitter.each([batch], claim, undo=self._discard_gradients)
        self._discard_gradients()


@dataclass(frozen=True)
class Update:
    """One update, whose statistics are still on the device.

    Attributes:
        values_3: loss, nll and grad_norm of `StepStats`, in float64.
        n_tokens: source and target tokens of all ranks together, padding not counted.
    """

    values_3: Tensor
    n_tokens: int

    @property
    def finite(self) -> Tensor:
        """`StepStats.finite`, on the device."""
        return self.values_3.isfinite().all()


@dataclass(frozen=True)
class StepStats:
    """Statistics of one update over all ranks.

    Attributes:
        loss, nll: mean smoothed loss and mean negative log-likelihood, nats a target token.
        grad_norm: norm of the gradient before clipping.
    """

    loss: float
    nll: float
    grad_norm: float

    @property
    def finite(self) -> bool:
        """Whether all three are finite, and so the parameters were updated."""
        return all(map(math.isfinite, (self.loss, self.nll, self.grad_norm)))


def read_stats(updates: Sequence[Update]) -> list[StepStats]:
    """Return the statistics of the updates; the host waits for the device, once for all of them."""
    return [StepStats(*row) for row in torch.stack([update.values_3 for update in updates]).tolist()] if updates else []


def batch_loss(
    model: Transformer, batch: Batch, label_smoothing: float, dtype: torch.dtype, r_drop: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return smoothed loss and negative log-likelihood of a batch, each a sum over its target tokens.

    With R-Drop, both are means of two passes with other dropout, and the loss also has the divergence of their outputs:
    half of equation 4 of Liang et al. (2021).

    Args:
        batch: sentence pairs on the model's device.
        label_smoothing: the epsilon of 5.4.
        dtype: type of matrix products; see `precision`.
        r_drop: weight of the divergence, alpha in the article; 0 makes a single pass.
    """
    src_BS, tgt_in_BT, tgt_out_P, index_N = batch.src, batch.tgt_in, batch.tgt_out.flatten(), batch.tgt_index
    if r_drop:
        index_N = torch.cat((index_N, index_N + len(tgt_out_P)))
        src_BS, tgt_in_BT, tgt_out_P = (torch.cat((side, side)) for side in (src_BS, tgt_in_BT, tgt_out_P))
    with precision(src_BS.device, dtype):
        states_BTD = model.decode_states(tgt_in_BT, model.encode(src_BS))
    # By number: for a mask, the host would wait for the device to know how many tokens there are.
    states_ND = states_BTD.flatten(0, 1).index_select(0, index_N).to(dtype)
    weight_VD, bias_V = model.output_weight, model.output_bias_V
    loss, nll = linear_smoothed_nll(states_ND, weight_VD, tgt_out_P.index_select(0, index_N), label_smoothing, bias_V)
    if not r_drop:
        return loss, nll
    first_ND, second_ND = states_ND.chunk(2)
    return loss / 2 + r_drop / 4 * linear_divergence(first_ND, second_ND, weight_VD, bias_V), nll / 2


def precision(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Return a context that computes in `dtype`; parameters, gradients and Adam's moments stay float32.

    With bfloat16 on a CPU, all activations are bfloat16: the residual stream, norms, and in `batch_loss` the logits and
    their softmax. CUDA computes norms in float32. Sums over tokens are float32 everywhere.
    """
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype=dtype)


T = TypeVar("T")
Shape = tuple[int, int, int]  # sentences, source positions, target positions


class OomSplitter:
    """Runs a computation on batches, and halves those that do not fit into memory.

    The loss of an update is a sum over tokens that is divided once, so splitting its batches changes the gradient only
    by rounding and by the random numbers of dropout. Each rank splits its own batches.

    Args:
        say: receives a message at the first failure.
        halves: whether batches may be halved; otherwise a lack of memory is raised as it comes.

    Attributes:
        n_splits: number of failures, each followed by halving.
    """

    def __init__(self, say: Say, *, halves: bool = True) -> None:
        self.n_splits = 0
        self._say, self._halves = say, halves
        self._failed: list[Shape] = []

    def each(self, batches: Sequence[Batch], act: Callable[[Batch], T], undo: Callable[[], None]) -> list[T]:
        """Return `act(batch)` for every batch, or for every portion of a batch that does not fit.

        Args:
            act: the computation. If it runs out of memory, the failed portion is halved and everything is done again;
                later batches of that size are halved at once.
            undo: discards the effects of all calls of `act` so far; a failed backward pass leaves partial gradients.

        Raises UserError if a single sentence does not fit.
        """
        while True:
            results: list[T] = []
            for portion in (portion for batch in batches for portion in self._portions(batch)):
                if (result := self._attempt(act, portion)) is None:
                    undo()
                    self._remember(portion)
                    break
                results.append(result)
            else:
                return results

    def _portions(self, batch: Batch) -> Iterator[Batch]:
        """Yield the batch in portions smaller than any that has failed."""
        n, s, t = _shape(batch)
        if n > 1 and any(n >= rows and s >= src and t >= tgt for rows, src, tgt in self._failed):
            for half in halves(batch):
                yield from self._portions(half)
        else:
            yield batch

    def _attempt(self, act: Callable[[Batch], T], batch: Batch) -> T | None:
        """Return `act(batch)`, or None if memory does not suffice; its allocations are then released."""
        try:
            return act(batch)
        except (RuntimeError, MemoryError) as error:
            if not self._halves or not is_out_of_memory(error):
                raise
            return None

    def _remember(self, portion: Batch) -> None:
        n, s, t = shape = _shape(portion)
        if n == 1:
            raise UserError(
                f"a sentence pair of {s} and {t} tokens does not fit into memory by itself; lower training.max_tokens, "
                "or set training.checkpoint_activations = true"
            )
        release_memory()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if not self._failed:
            self._say(
                f"a batch of {n} x ({s} + {t}) tokens does not fit into memory: batches of this size are halved, "
                "and the update stays the same; a lower training.batch_tokens, with a higher accumulate, is faster"
            )
        self.n_splits += 1
        self._failed.append(shape)


def _shape(batch: Batch) -> Shape:
    return batch.src.size(0), batch.src.size(1), batch.tgt_in.size(1)


UNSPLIT: OomSplitter = OomSplitter(print, halves=False)


MAX_SKIPPED = 20  # updates in a row without a finite loss, after which a run does not recover


@dataclass
class Meter:
    """Counts of the work and time of updates; their statistics stay on the device until `read_stats`, without a wait.

    Attributes:
        clock: returns seconds.
        unread: the updates since the last read.
        n_skipped: updates in a row whose loss or gradient was not finite; it stays at MAX_SKIPPED.
        unsaved_flops: operations of this rank since the last save.
        tokens, flops, seconds: source and target tokens of all ranks, operations of this one and time of the updates
            since the last line of the metrics, without validation and saving.
    """

    clock: Callable[[], float] = time.monotonic
    unread: list[Update] = field(default_factory=list)
    n_skipped: int = 0
    unsaved_flops: int = 0
    tokens: int = 0
    flops: int = 0
    seconds: float = 0.0

    def add(self, update: Update, flops: int, seconds: float) -> None:
        """Count an update that took `flops` operations of this rank, and `seconds`."""
        self.unread.append(update)
        self.tokens += update.n_tokens
        self.flops += flops
        self.unsaved_flops += flops
        self.seconds += seconds

    def read_stats(self) -> list[StepStats]:
        """Return the statistics of the updates since the last call; the host waits for the device."""
        start = self.clock()
        found = read_stats(self.unread)
        self.seconds += self.clock() - start
        for stats in found:
            if self.n_skipped < MAX_SKIPPED:  # once reached, the run ends, also if a finite update followed
                self.n_skipped = 0 if stats.finite else self.n_skipped + 1
        self.unread = []
        return found

    def speed(self, peak: float) -> dict[str, object]:
        """Return tokens per second of all ranks, FLOP/s of this one and their share `mfu` of its peak; begin anew.

        Args:
            peak: measured FLOP/s of this rank's device in matrix products.
        """
        flops_per_s = self.flops / self.seconds if self.seconds else 0.0
        tokens_per_s = round(self.tokens / self.seconds) if self.seconds else 0
        self.tokens, self.flops, self.seconds = 0, 0, 0.0
        return {
            "tokens_per_s": tokens_per_s,
            "flops_per_s": float(f"{flops_per_s:.4g}"),
            "mfu": round(flops_per_s / peak, 4),
        }


def update_flops(config: ModelConfig, batches: Sequence[Batch]) -> int:
    """Return the operations of an update on these batches: three times `cost.forward_flops` of every sentence pair.

    Padding, dropout, softmax, norms, the optimizer and the recomputation of activation checkpointing are not counted.
    """
    # A polynomial of the lengths, so an array of lengths gives an array of counts.
    counts = (forward_flops(config, cast(int, batch.src_lengths), cast(int, batch.tgt_lengths)) for batch in batches)
    return 3 * sum(int(flops_B.sum()) for flops_B in cast(Iterator[np.ndarray], counts))
