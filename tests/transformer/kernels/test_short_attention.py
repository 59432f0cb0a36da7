"""The private softmax kernel against its public equivalent."""

import pytest
import torch

from transformer.kernels.short_attention import attend_short


def gradients() -> list[torch.Tensor]:
    torch.manual_seed(5)
    q, k, v = (torch.randn(2, 3, 17, 7, requires_grad=True) for _ in range(3))
    out = attend_short(q, k, v, torch.ones(17, 17, dtype=torch.bool).tril())
    return list(torch.autograd.grad(out.square().sum(), (q, k, v)))


def test_without_the_private_softmax_kernel_gradients_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = gradients()
    monkeypatch.delattr(torch, "_softmax_backward_data")
    torch.testing.assert_close(gradients(), expected)
