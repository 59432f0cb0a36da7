"""Separate projections give the same attention for every head width."""

import dataclasses

import pytest
import torch
from torch import Tensor, nn

from tests.toys import TINY, scramble
from transformer.attention import MultiHeadAttention, attend
from transformer.config import ModelConfig
from translate.errors import UserError
from translate.models.projections import Affine, head_width, projections

WIDE = dataclasses.replace(TINY, d_model=21, positions="learned")  # room for 3 heads of 7


def attention_by_parts(parts: dict[str, Affine], x_BTD: Tensor, n_heads: int) -> Tensor:
    """Self-attention in plain Python, with heads of equal width."""

    def heads(part: Affine) -> Tensor:
        y_BTE = x_BTD @ torch.as_tensor(part.weight).T + torch.as_tensor(part.bias)
        return y_BTE.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    read = attend(heads(parts["q"]), heads(parts["k"]), heads(parts["v"]), None)
    return read.transpose(1, 2).flatten(2) @ torch.as_tensor(parts["o"].weight).T + torch.as_tensor(parts["o"].bias)


def affine(linear: nn.Linear) -> Affine:
    bias = torch.zeros(linear.out_features, dtype=torch.float64) if linear.bias is None else linear.bias
    return Affine(linear.weight.detach().numpy(), bias.detach().numpy())


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize(("d_k", "d_v"), [(7, 7), (5, 7), (7, 3), (2, 4)])
def test_padding_the_heads_changes_nothing(d_k: int, d_v: int, biases: bool) -> None:
    config = ModelConfig(
        vocab_size=5, d_model=21, n_heads=3, d_k=d_k, d_v=d_v, attention_bias=biases, positions="learned"
    )
    attention = MultiHeadAttention(config).double().eval()
    attention.initialise()
    scramble(attention)
    x_BTD = torch.randn(2, 4, 21, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    parts = projections(affine(attention.w_qkv), affine(attention.w_o), config)
    assert all(part.weight.shape == (21, 21) and part.bias.shape == (21,) for part in parts.values())
    torch.testing.assert_close(attention_by_parts(parts, x_BTD, 3), attention(x_BTD, None))


@pytest.mark.parametrize("config", [TINY, dataclasses.replace(WIDE, d_k=8)])
def test_heads_that_do_not_fit_are_refused(config: ModelConfig) -> None:
    with pytest.raises(UserError, match="do not fit"):
        head_width(config)
