"""Label-smoothed cross entropy: section 5.4.

Dimension key: N target tokens, C those of one chunk, D d_model, V vocabulary.

The smoothed target of the authors' code: 1 - epsilon on the reference token, epsilon / (V - 1) on every other one.
Losses are sums; whoever knows all tokens of an update divides once.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK = 1024  # tokens whose logits exist at one time: N x V would be the largest tensor of training by far


def smoothed_nll(logits_NV: Tensor, target_N: Tensor, smoothing: float) -> Tensor:
    """-sum q log p over tokens and vocabulary, a scalar, in float32: the definition, kept for reference and tests."""
    log_p_NV = logits_NV.float().log_softmax(dim=-1)
    others = smoothing / (logits_NV.size(-1) - 1)
    gold_N = log_p_NV.gather(1, target_N[:, None])[:, 0]
    return -(others * log_p_NV.sum() + (1 - smoothing - others) * gold_N.sum())


def linear_smoothed_nll(
    states_ND: Tensor, weight_VD: Tensor, target_N: Tensor, smoothing: float, bias_V: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Smoothed and plain negative log-likelihood of `states @ weight.T + bias`, each a sum over N tokens in float32.

    The first carries gradients to states, weight and bias; the second is for reporting (perplexity is exp of its mean).
    Products are taken in the type of the states. Never holds more than CHUNK rows of logits.
    """
    if bias_V is not None:  # one column more, which every state answers with 1
        states_ND = torch.cat((states_ND, states_ND.new_ones(len(states_ND), 1)), dim=1)
        weight_VD = torch.cat((weight_VD, bias_V[:, None]), dim=1)
    need_grad = torch.is_grad_enabled() and (states_ND.requires_grad or weight_VD.requires_grad)
    loss, nll = _LinearSmoothedNLL.apply(  # type: ignore[no-untyped-call]
        states_ND, weight_VD, target_N, smoothing, need_grad
    )
    return loss, nll


class _LinearSmoothedNLL(torch.autograd.Function):
    """Projection, softmax, loss and both gradients in one pass over chunks of tokens.

    With c = epsilon / (V - 1) and g = 1 - epsilon - c,
        loss   = sum_n log Z_n - c sum_v z_nv - g z_n,target
        dL/dz  = softmax(z) - c - g [v = target]
    The constant c acts on all rows of the matrix alike and g on one row a token: both are added outside the V-wide
    tensors, which see two products, a softmax and nothing else. log Z is z - log softmax(z) at the target.
    """

    @staticmethod
    def forward(
        ctx: Any, states_ND: Tensor, weight_VD: Tensor, target_N: Tensor, smoothing: float, need_grad: bool
    ) -> tuple[Tensor, Tensor]:
        weight = weight_VD.to(states_ND.dtype)
        row_sum_D = weight_VD.sum(dim=0, dtype=torch.float32)
        c = smoothing / (weight.size(0) - 1)
        g = 1 - smoothing - c
        nll = torch.zeros((), dtype=torch.float32, device=weight.device)
        gold_z_N = (states_ND.float() * weight[target_N]).sum(dim=-1)
        grad_states = torch.empty_like(states_ND) if need_grad else None
        grad_weight = torch.zeros_like(weight_VD, dtype=torch.float32) if need_grad else None
        # The same memory for every chunk: fresh blocks of this size cost more than what is computed in them.
        logits, softmax = states_ND.new_empty(2, min(CHUNK, states_ND.size(0)), weight.size(0))
        for start in range(0, states_ND.size(0), CHUNK):
            states, target = states_ND[start : start + CHUNK], target_N[start : start + CHUNK, None]
            z_CV = torch.mm(states, weight.T, out=logits[: states.size(0)])
            p_CV = torch.softmax(z_CV, dim=-1, out=softmax[: states.size(0)])
            log_p_C = _gold_log_softmax(z_CV, p_CV, target)
            nll -= log_p_C.sum()
            if grad_states is not None and grad_weight is not None:
                torch.mm(p_CV, weight, out=grad_states[start : start + CHUNK])
                grad_weight += p_CV.T @ states
        sum_z = states_ND.float() @ row_sum_D
        # log Z = z - log p at the target, so the loss is nll + (1 - g) z_target - c sum_v z.
        loss = nll + ((1 - g) * gold_z_N - c * sum_z).sum()
        if grad_states is not None and grad_weight is not None:
            grad_states -= (c * row_sum_D + g * weight[target_N]).to(grad_states.dtype)
            grad_weight -= c * states_ND.sum(dim=0, dtype=torch.float32)
            grad_weight.index_add_(0, target_N, states_ND.float(), alpha=-g)
            ctx.save_for_backward(grad_states, grad_weight)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_states, grad_weight = ctx.saved_tensors
        return grads[0] * grad_states, grads[0] * grad_weight, None, None, None


def _gold_log_softmax(z_CV: Tensor, p_CV: Tensor, target_C1: Tensor) -> Tensor:
    """log softmax(z) at the target, (C); from p where it has all its digits, from z where one underflows."""
    gold_p = p_CV.gather(1, target_C1)[:, 0].float()
    if bool((gold_p >= torch.finfo(p_CV.dtype).tiny).all()):
        return gold_p.log()
    return z_CV.float().log_softmax(dim=-1).gather(1, target_C1)[:, 0]
