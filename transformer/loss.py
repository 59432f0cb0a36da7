"""Label-smoothed cross entropy: section 5.4.

Dimension key: N target tokens, C tokens of one chunk, P and F the same filled up, D d_model, V vocabulary.

Smoothed targets are those of the authors' code: 1 - epsilon on the reference token, epsilon / (V - 1) on all others.
Losses are sums over tokens; the caller divides once per update.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

CHUNK = 1024  # tokens per chunk; all N x V logits at once would be by far the largest tensor of training
# The last chunk is filled up to a multiple of this. On a CPU, oneDNN keeps what it prepares for every shape of a bf16
# product, half a megabyte, and the number of tokens is another one in every update.
ROWS = 64


def smoothed_nll(logits_NV: Tensor, target_N: Tensor, label_smoothing: float) -> Tensor:
    """Return -sum q log p over tokens and vocabulary, a scalar in float32: the definition, for reference and tests.

    Args:
        label_smoothing: epsilon of label smoothing, in [0, 1).

    Raises ValueError if there is not one target for each row of logits.
    """
    _check(logits_NV, target_N, label_smoothing)
    log_p_NV = logits_NV.float().log_softmax(dim=-1)
    others = label_smoothing / (logits_NV.size(-1) - 1)
    gold_N1 = log_p_NV.gather(1, target_N.view(len(log_p_NV), 1))
    return -(others * log_p_NV.sum() + (1 - label_smoothing - others) * gold_N1.sum())


def linear_smoothed_nll(
    states_ND: Tensor, weight_VD: Tensor, target_N: Tensor, label_smoothing: float, bias_V: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the smoothed and the plain negative log-likelihood of `states @ weight.T + bias`, sums in float32.

    Gradients, of first order only, flow through the first; the second is for reporting (perplexity is exp of its mean).
    Logits, softmax and the products with it have the type of the states (bf16 in training with bf16); sums over tokens
    are in float32. At most CHUNK rows of logits exist at a time.

    Args:
        states_ND: the decoder's output at the target positions.
        weight_VD: the pre-softmax matrix.
        label_smoothing: epsilon of label smoothing, in [0, 1).

    Raises ValueError if there is not one target for each state.
    """
    _check(states_ND, target_N, label_smoothing)
    if bias_V is not None:  # as one more column of the matrix, with ones in the states
        states_ND = torch.cat((states_ND, states_ND.new_ones(len(states_ND), 1)), dim=1)
        weight_VD = torch.cat((weight_VD, bias_V[:, None]), dim=1)
    need_grad = torch.is_grad_enabled() and (states_ND.requires_grad or weight_VD.requires_grad)
    with _without_autocast(states_ND.device.type):
        loss, nll = _LinearSmoothedNLL.apply(  # type: ignore[no-untyped-call]
            states_ND, weight_VD, target_N, label_smoothing, need_grad
        )
    return loss, nll


def _check(rows: Tensor, target_N: Tensor, label_smoothing: float) -> None:
    """Raise ValueError unless there is one target for each row, as other shapes would broadcast."""
    if target_N.shape != rows.shape[:1]:
        raise ValueError(f"targets {tuple(target_N.shape)} do not fit rows {tuple(rows.shape)}; give one for each row")
    if not 0 <= label_smoothing < 1:
        raise ValueError(f"label_smoothing = {label_smoothing} must be in [0, 1)")


def _without_autocast(device: str) -> AbstractContextManager[None]:
    """Return a block in which float32 sums are not converted."""
    if not torch.amp.is_autocast_available(device):
        return nullcontext()
    return torch.autocast(device, enabled=False)


class _LinearSmoothedNLL(torch.autograd.Function):
    """Projection, softmax, loss and both gradients in one pass over chunks of tokens.

    With c = epsilon / (V - 1) and g = 1 - epsilon - c,
        loss   = sum_n log Z_n - c sum_v z_nv - g z_n,target
        dL/dz  = softmax(z) - c - g [v = target]
    The constant c acts on all rows of the matrix alike and g on one row per token, so both are added outside the
    tensors of width V, which take part in two products and a softmax only. log Z is z - log softmax(z) at the target.
    """

    @staticmethod
    def forward(
        ctx: Any, states_ND: Tensor, weight_VD: Tensor, target_N: Tensor, label_smoothing: float, need_grad: bool
    ) -> tuple[Tensor, Tensor]:
        target_N1 = target_N.view(len(states_ND), 1)
        filled_PD = F.pad(states_ND, (0, 0, 0, -len(states_ND) % ROWS))
        weight = weight_VD.to(states_ND.dtype)
        row_sum_D = weight_VD.sum(dim=0, dtype=torch.float32)
        c = label_smoothing / (weight.size(0) - 1)
        g = 1 - label_smoothing - c
        nll = torch.zeros((), dtype=torch.float32, device=weight.device)
        gold_z_N = (states_ND.float() * weight[target_N]).sum(dim=-1)
        grad_states = torch.empty_like(filled_PD) if need_grad else None
        grad_weight = torch.zeros_like(weight_VD, dtype=torch.float32) if need_grad else None
        # All chunks share this memory: allocating blocks of this size costs more than the computation in them.
        logits, softmax = filled_PD.new_empty(2, min(CHUNK, len(filled_PD)), weight.size(0))
        for start in range(0, len(filled_PD), CHUNK):
            states, target = filled_PD[start : start + CHUNK], target_N1[start : start + CHUNK]
            z_FV = torch.mm(states, weight.T, out=logits[: states.size(0)])
            p_FV = torch.softmax(z_FV, dim=-1, out=softmax[: states.size(0)])
            log_p_C = _gold_log_softmax(z_FV[: len(target)], p_FV[: len(target)], target)
            nll -= log_p_C.sum()
            if grad_states is not None and grad_weight is not None:
                torch.mm(p_FV, weight, out=grad_states[start : start + CHUNK])
                grad_weight += p_FV.T @ states  # rows that fill up are zero and add nothing
        sum_z = states_ND.float() @ row_sum_D
        # log Z = z - log p at the target, so the loss is nll + (1 - g) z_target - c sum_v z.
        loss = nll + ((1 - g) * gold_z_N - c * sum_z).sum()
        if grad_states is not None and grad_weight is not None:
            grad_states = grad_states[: len(states_ND)]
            grad_states -= (c * row_sum_D + g * weight[target_N]).to(grad_states.dtype)
            grad_weight -= c * states_ND.sum(dim=0, dtype=torch.float32)
            grad_weight.index_add_(0, target_N, states_ND.float(), alpha=-g)
            ctx.save_for_backward(grad_states, grad_weight)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_states, grad_weight = ctx.saved_tensors
        return grads[0] * grad_states, grads[0] * grad_weight, None, None, None


def _gold_log_softmax(z_CV: Tensor, p_CV: Tensor, target_C1: Tensor) -> Tensor:
    """Return log softmax(z) at the target, (C,), also where p = softmax(z) underflows."""
    if p_CV.device.type == "cpu":  # elsewhere the test for underflow would synchronise the device in every chunk
        gold_p = p_CV.gather(1, target_C1)[:, 0].float()
        if bool((gold_p >= torch.finfo(p_CV.dtype).tiny).all()):
            return gold_p.log()
    # The largest probability is at least 1 / V and never underflows.
    top_C1 = z_CV.argmax(dim=-1, keepdim=True)
    log_p_C1 = z_CV.gather(1, target_C1).float() - z_CV.gather(1, top_C1).float() + p_CV.gather(1, top_C1).float().log()
    return log_p_C1[:, 0]


def linear_divergence(first_ND: Tensor, second_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None = None) -> Tensor:
    """Return sum KL(p || q) + KL(q || p) over tokens, a scalar in float32, for the softmax p and q of two outputs.

    R-Drop (Liang et al., 2021) reduces it between two passes with other dropout. Not in the paper. Gradients are of
    first order only. Products have the type of the states; at most CHUNK rows of logits of each exist at a time.

    Args:
        first_ND, second_ND: the decoder's output at the same target positions in two passes.
        weight_VD: the pre-softmax matrix.
    """
    with _without_autocast(first_ND.device.type):
        return _LinearDivergence.apply(first_ND, second_ND, weight_VD, bias_V)  # type: ignore[no-any-return, no-untyped-call]


class _LinearDivergence(torch.autograd.Function):
    """Projection, softmax, divergence and all gradients in one pass over chunks of tokens.

    With d = log p - log q, the divergence of a token is sum_v (p - q) d, and
        dD/dz_p = p (d - sum_v p d) + p - q
        dD/dz_q = q (sum_v q d - d) + q - p
    """

    @staticmethod
    def forward(ctx: Any, first_ND: Tensor, second_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None) -> Tensor:
        weight = weight_VD.to(first_ND.dtype)
        bias = None if bias_V is None else bias_V.to(first_ND.dtype)
        divergence = torch.zeros((), dtype=torch.float32, device=weight.device)
        grads = torch.empty_like(first_ND), torch.empty_like(second_ND)
        grad_weight = torch.zeros_like(weight_VD, dtype=torch.float32)
        grad_bias = None if bias_V is None else torch.zeros_like(bias_V, dtype=torch.float32)
        for start in range(0, len(first_ND), CHUNK):
            rows = slice(start, start + CHUNK)
            sides = first_ND[rows], second_ND[rows]
            log_p_CV, log_q_CV = (F.linear(x_CD, weight, bias).float().log_softmax(dim=-1) for x_CD in sides)
            d_CV, p_CV, q_CV = log_p_CV - log_q_CV, log_p_CV.exp(), log_q_CV.exp()
            difference_CV = p_CV - q_CV
            divergence += (difference_CV * d_CV).sum()
            p_grad_CV = p_CV * (d_CV - (p_CV * d_CV).sum(dim=-1, keepdim=True)) + difference_CV
            q_grad_CV = q_CV * ((q_CV * d_CV).sum(dim=-1, keepdim=True) - d_CV) - difference_CV
            for x_CD, grad_CV, grad_ND in zip(sides, (p_grad_CV, q_grad_CV), grads, strict=True):
                grad_ND[rows] = grad_CV.to(weight.dtype) @ weight
                grad_weight += grad_CV.to(weight.dtype).T @ x_CD
                if grad_bias is not None:
                    grad_bias += grad_CV.sum(dim=0)
        ctx.save_for_backward(*grads, grad_weight, grad_bias)
        return divergence

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return tuple(None if grad is None else grads[0] * grad for grad in ctx.saved_tensors)
