"""One update: sections 5.3 and 5.4.

The loss is a mean over the target tokens of the whole update, however the update is split into micro-batches: sums and
counts are kept together and divided once.
"""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.kernels.int8_linear import int8_works
from transformer.kernels.packed_linear import Linear
from transformer.loss import linear_smoothed_nll
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch
from translate.errors import UserError
from translate.training.distributed import ALONE, Ranks, full
from translate.training.memory import OomSplitter
from translate.training.muon import Muon


@dataclass(frozen=True)
class StepStats:
    """Statistics of one update over all ranks.

    Attributes:
        loss, nll: mean smoothed loss and mean negative log-likelihood, nats a target token.
        grad_norm: norm of the gradient before clipping.
        n_tokens: source and target tokens together, padding not counted.
    """

    loss: float
    nll: float
    grad_norm: float
    n_tokens: int

    @property
    def finite(self) -> bool:
        """Whether loss and gradient were finite, and so the parameters were updated."""
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)


def new_optimizer(model: nn.Module, config: TrainingConfig, dtype: torch.dtype = torch.float32) -> torch.optim.AdamW:
    """Return Adam as in 5.3 with decoupled weight decay, or Muon; `Updater.step` sets the learning rate of each step.

    Args:
        model: the model.
        config: the section [training].
        dtype: type of matrix products; see `precision`.
    """
    betas, eps, weight_decay = config.adam_betas, config.adam_eps, config.weight_decay
    if config.optimizer == "muon":
        return Muon(model, activation_dtype(dtype), betas=betas, eps=eps, weight_decay=weight_decay)
    return torch.optim.AdamW(model.parameters(), lr=0.0, betas=betas, eps=eps, weight_decay=weight_decay, fused=True)


def activation_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the type of activations between products of `dtype`: float32 for int8, else `dtype`."""
    return torch.float32 if dtype == torch.int8 else dtype


def require_products(dtype: torch.dtype, device: torch.device) -> None:
    """UserError if `device` cannot train with matrix products of `dtype`."""
    if dtype == torch.int8 and not (device.type == "cpu" and int8_works()):
        raise UserError('training.precision = "int8" needs a CPU that multiplies int8 exactly (VNNI); use "auto"')


def precision(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Return a context that computes in `dtype`; parameters, gradients and Adam's moments stay float32.

    With bfloat16 on a CPU, all activations are bfloat16: the residual stream, norms, and in `batch_loss` the logits and
    their softmax. CUDA computes norms in float32. Sums over tokens are float32 everywhere. With int8, only the products
    of the layers' linear maps are in int8 (see `Linear.int8`), and everything else is float32.
    """
    dtype = activation_dtype(dtype)
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype=dtype)


def batch_loss(model: Transformer, batch: Batch, smoothing: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return smoothed loss and negative log-likelihood of a batch, each a sum over its target tokens.

    Args:
        model: the model, in train or eval mode.
        batch: sentence pairs on the model's device.
        smoothing: the epsilon of 5.4.
        dtype: type of matrix products; see `precision`.
    """
    with precision(batch.src.device, dtype):
        states_BTD = model.decode_states(batch.tgt_in, model.encode(batch.src))
    tokens = batch.tgt_out != model.config.pad
    return linear_smoothed_nll(
        states_BTD[tokens].to(activation_dtype(dtype)),
        model.output_weight,
        batch.tgt_out[tokens],
        smoothing,
        model.output_bias_V,
    )


@dataclass(frozen=True)
class Updater:
    """The updates of one model.

    Attributes:
        model, optimizer: what to update.
        smoothing: the epsilon of 5.4.
        dtype: type of matrix products; see `precision`.
        clip_norm: largest norm of the gradient; None does not clip.
        splitter: halves batches that do not fit into memory; None lets them fail.
        ranks: the processes that train together.
    """

    model: Transformer
    optimizer: torch.optim.Optimizer
    smoothing: float
    dtype: torch.dtype
    clip_norm: float | None = None
    splitter: OomSplitter | None = None
    ranks: Ranks = ALONE

    def __post_init__(self) -> None:
        for part in self.model.modules():
            if isinstance(part, Linear):
                part.int8 = self.dtype == torch.int8

    def step(self, micro_batches: Sequence[Batch], lr: float) -> StepStats:
        """Update the parameters once; if loss or gradient is not finite, leave them unchanged.

        Args:
            micro_batches: the batches of this rank; loss, gradient and counts are summed over all ranks.
            lr: learning rate.
        """
        parameters = list(self.model.parameters())
        n_src = sum(batch.n_src_tokens for batch in micro_batches)
        n_tgt = sum(batch.n_tgt_tokens for batch in micro_batches)
        n_src, n_tgt = map(int, self.ranks.sum(n_src, n_tgt))
        loss, nll = self.ranks.sum(*self._backward(micro_batches, n_tgt))
        self.ranks.sum_gradients(parameters)
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self.clip_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.clip_norm, norm)
        stats = StepStats(loss, nll, full(norm).item(), n_src + n_tgt)
        if stats.finite:
            for group in self.optimizer.param_groups:
                group["lr"] = lr
            self.optimizer.step()
        self._discard_gradients()
        return stats

    def warm_up(self, batch: Batch) -> None:
        """Compute and discard the gradients of the largest batch to expect: allocator and `splitter` learn its size.

        Parameters, optimizer and random generators stay unchanged.
        """
        self.model.train()
        with torch.random.fork_rng([batch.src.device] if batch.src.is_cuda else []):
            self._backward([batch], batch.n_tgt_tokens)
        self._discard_gradients()

    def _backward(self, micro_batches: Sequence[Batch], n_tokens: int) -> tuple[float, float]:
        """Add up the gradients of the smoothed loss; return that loss and the negative log-likelihood.

        Both are divided by `n_tokens`, the target tokens of the whole update.
        """

        def one(batch: Batch) -> tuple[float, float]:
            loss_sum, nll_sum = batch_loss(self.model, batch, self.smoothing, self.dtype)
            (loss_sum / n_tokens).backward()  # type: ignore[no-untyped-call]
            return loss_sum.item() / n_tokens, nll_sum.item() / n_tokens

        if self.splitter is None:
            losses = [one(batch) for batch in micro_batches]
        else:
            losses = self.splitter.each(micro_batches, one, undo=self._discard_gradients)
        totals = torch.tensor(losses, dtype=torch.float64).sum(dim=0)
        return totals[0].item(), totals[1].item()

    def _discard_gradients(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)


@torch.no_grad()
def mean_nll(
    model: Transformer,
    batches: Sequence[Batch],
    dtype: torch.dtype,
    ranks: Ranks = ALONE,
    splitter: OomSplitter | None = None,
) -> float:
    """Return the negative log-likelihood of held-out batches in nats a target token; its exponential is perplexity.

    Args:
        model: in eval mode afterwards; it may be sharded.
        batches: all batches, the same on all ranks; each rank computes its share.
        dtype: type of matrix products; see `precision`.
        ranks: the processes that share the work.
        splitter: halves batches that do not fit into memory; None lets them fail.
    """

    def one(batch: Batch) -> float:
        return batch_loss(model, batch, 0.0, dtype)[1].item()

    model.eval()
    total, n_tokens = 0.0, 0
    for start in range(0, len(batches), ranks.size):
        i = start + ranks.rank
        # A sharded model needs all ranks in every pass, so a rank without a batch repeats the last one uncounted.
        batch = batches[min(i, len(batches) - 1)]
        nll = one(batch) if splitter is None else sum(splitter.each([batch], one, undo=lambda: None))
        if i < len(batches):
            total, n_tokens = total + nll, n_tokens + batch.n_tgt_tokens
    total, n = ranks.sum(total, n_tokens)
    return total / n
