"""One update: sections 5.3 and 5.4.

The loss is a mean over the target tokens of the whole update, however it was split into micro-batches: sums and counts
travel together and are divided once.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.loss import linear_smoothed_nll
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch
from translate.training.distributed import ALONE, Ranks
from translate.training.memory import Memory
from translate.training.sharding import full


@dataclass(frozen=True)
class StepStats:
    """Of one update: mean smoothed loss and mean negative log-likelihood in nats a target token, gradient norm."""

    loss: float
    nll: float
    grad_norm: float
    n_src_tokens: int
    n_tgt_tokens: int

    @property
    def finite(self) -> bool:
        """Whether loss and gradient were finite, and hence the parameters updated."""
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)


def new_optimizer(model: Transformer, config: TrainingConfig) -> torch.optim.AdamW:
    """Adam as in 5.3; its learning rate is set anew for each step. Decay, where asked for, is decoupled."""
    return torch.optim.AdamW(
        model.parameters(),
        lr=0.0,
        betas=config.adam_betas,
        eps=config.adam_eps,
        weight_decay=config.weight_decay,
        fused=True,
    )


def precision(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Matrix products in `dtype`, weights and norms in float32."""
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype=dtype)


def batch_loss(model: Transformer, batch: Batch, smoothing: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Smoothed loss and negative log-likelihood of a batch, each a sum over its target tokens."""
    with precision(batch.src.device, dtype):
        states_BTD = model.decode_states(batch.tgt_in, model.encode(batch.src))
    tokens = batch.tgt_out != model.config.pad
    return linear_smoothed_nll(
        states_BTD[tokens].to(dtype), model.output_weight, batch.tgt_out[tokens], smoothing, model.output_bias_V
    )


def train_step(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    micro_batches: Sequence[Batch],
    *,
    lr: float,
    smoothing: float,
    clip_norm: float | None,
    dtype: torch.dtype,
    memory: Memory | None = None,
    ranks: Ranks = ALONE,
) -> StepStats:
    """One update of the parameters; where loss or gradient is not finite they stay untouched, and the stats say so.

    `micro_batches` are those of this rank; loss, gradient and counts are those of all ranks.
    """
    n_src = sum(batch.n_src_tokens for batch in micro_batches)
    n_tgt = sum(batch.n_tgt_tokens for batch in micro_batches)
    n_src, n_tgt = map(int, ranks.sum(n_src, n_tgt))
    loss, nll = ranks.sum(*backward(model, optimizer, micro_batches, n_tgt, smoothing, dtype, memory))
    ranks.sum_gradients(model.parameters())
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    if clip_norm is not None:
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), clip_norm, norm)
    stats = StepStats(loss, nll, full(norm).item(), n_src, n_tgt)
    if stats.finite:
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return stats


def backward(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    micro_batches: Sequence[Batch],
    n_tokens: int,
    smoothing: float,
    dtype: torch.dtype,
    memory: Memory | None = None,
) -> tuple[float, float]:
    """Leave the gradients of the smoothed loss over `n_tokens`; return that loss and the negative log-likelihood."""

    def one(batch: Batch) -> tuple[float, float]:
        loss_sum, nll_sum = batch_loss(model, batch, smoothing, dtype)
        (loss_sum / n_tokens).backward()  # type: ignore[no-untyped-call]
        return loss_sum.item() / n_tokens, nll_sum.item() / n_tokens

    if memory is None:
        losses = [one(batch) for batch in micro_batches]
    else:
        losses = memory.each(micro_batches, one, undo=lambda: optimizer.zero_grad(set_to_none=True))
    totals = torch.tensor(losses, dtype=torch.float64).sum(dim=0)
    return totals[0].item(), totals[1].item()


def rehearse(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    *,
    smoothing: float,
    dtype: torch.dtype,
    memory: Memory | None,
) -> None:
    """Forward and backward of a batch that leave no trace but in the memory's allocator, and in `memory` itself."""
    with torch.random.fork_rng([batch.src.device] if batch.src.is_cuda else []):
        backward(model, optimizer, [batch], batch.n_tgt_tokens, smoothing, dtype, memory)
    optimizer.zero_grad(set_to_none=True)


@torch.inference_mode()
def mean_nll(model: Transformer, batches: Iterable[Batch], dtype: torch.dtype) -> float:
    """Negative log-likelihood in nats a target token over held-out batches; perplexity is its exponential."""
    model.eval()
    total, n_tokens = 0.0, 0
    for batch in batches:
        total += batch_loss(model, batch, 0.0, dtype)[1].item()
        n_tokens += batch.n_tgt_tokens
    return total / n_tokens
