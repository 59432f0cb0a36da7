"""Dropout against the statistics that define it, since the random generator is our own."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.kernels.dropout import add_dropout, dropout

RATES = st.floats(0, 1, exclude_max=True)
SHAPES = st.lists(st.integers(0, 7), max_size=4)
SEEDS = st.integers(0, 2**32)
N = 1_000_000


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.3, 0.5, 0.9])
def test_the_share_of_dropped_elements_is_the_rate(rate: float) -> None:
    """A binomial count exceeds five standard deviations once in two million times."""
    dropped = int((dropout(torch.ones(N), rate, training=True) == 0).sum())
    assert abs(dropped - N * rate) < 5 * math.sqrt(N * rate * (1 - rate)) + N * 2**-17


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.3, 0.5, 0.9])
def test_dropout_preserves_the_mean(rate: float) -> None:
    mean = dropout(torch.ones(N), rate, training=True).mean(dtype=torch.float64).item()
    assert abs(mean - 1) < 5 * math.sqrt(rate / (1 - rate) / N) + 1e-6


@given(RATES, SHAPES, SEEDS)
def test_an_element_is_dropped_or_scaled(rate: float, shape: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    x = torch.randn(shape)
    out = dropout(x, rate, training=True)
    kept = out != 0
    # Rates are rounded to multiples of 2^-16; a rate just below 1 is rounded to the last multiple below 1.
    scale = 1 / max(1 - round(rate * 2**16) / 2**16, 2**-16)
    torch.testing.assert_close(out, torch.where(kept, x * scale, torch.zeros(())))


def test_neighbours_are_dropped_independently() -> None:
    """Four elements share one random number but must be dropped independently."""
    dropped = (dropout(torch.ones(N), 0.3, training=True) == 0).view(-1, 4).double()
    assert torch.corrcoef(dropped.T).sub(torch.eye(4)).abs().max().item() < 5 / math.sqrt(N / 4)


def test_every_position_of_a_tensor_is_sometimes_dropped() -> None:
    dropped = sum(dropout(torch.ones(3, 5, 7), 0.5, training=True) == 0 for _ in range(100))
    assert dropped.min() > 20
    assert dropped.max() < 80


@given(SEEDS)
def test_masks_depend_on_the_seed_and_differ_between_calls(seed: int) -> None:
    x = torch.ones(3, 5, 7)
    torch.manual_seed(seed)
    first, second = dropout(x, 0.5, training=True), dropout(x, 0.5, training=True)
    torch.manual_seed(seed)
    assert torch.equal(dropout(x, 0.5, training=True), first)
    assert not torch.equal(first, second)


@given(RATES)
def test_nothing_is_dropped_or_drawn_outside_training(rate: float) -> None:
    x, y = torch.randn(2, 3, 5)
    state = torch.get_rng_state()
    assert dropout(x, rate, training=False) is x
    assert dropout(x, 0.0, training=True) is x
    assert torch.equal(add_dropout(x, y, rate, training=False), x + y)
    assert torch.equal(add_dropout(x, y, 0.0, training=True), x + y)
    assert torch.equal(torch.get_rng_state(), state)


@given(RATES, SHAPES, SEEDS)
def test_the_sum_in_one_pass_is_the_sum(rate: float, shape: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    x, y = torch.randn(2, *shape)
    torch.manual_seed(seed)
    once = add_dropout(x, y, rate, training=True)
    torch.manual_seed(seed)
    torch.testing.assert_close(once, x + dropout(y, rate, training=True))


@given(RATES, SEEDS)
def test_the_gradient_is_the_mask_times_the_scale(rate: float, seed: int) -> None:
    torch.manual_seed(seed)
    x, y = torch.randn(2, 3, 5, 7)
    y.requires_grad_()
    x.requires_grad_()
    for out in (dropout(y, rate, training=True), add_dropout(torch.zeros(()), y, rate, training=True)):
        factor = (out / y).detach()
        torch.testing.assert_close(torch.autograd.grad(out.sum(), y)[0], factor)
    out = add_dropout(x, y, rate, training=True)
    assert torch.equal(torch.autograd.grad(out.sum(), x)[0], torch.ones(3, 5, 7))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_the_dtype_is_preserved(dtype: torch.dtype) -> None:
    x = torch.randn(3, 5, 7, dtype=dtype)
    assert dropout(x, 0.5, training=True).dtype == dtype
    assert add_dropout(x, x, 0.5, training=True).dtype == dtype


def test_a_strided_view_gets_the_same_dropout_as_its_copy() -> None:
    x = torch.randn(5, 7, 3).transpose(0, 2)
    torch.manual_seed(1)
    out = dropout(x, 0.5, training=True)
    torch.manual_seed(1)
    assert torch.equal(out, dropout(x.contiguous(), 0.5, training=True))


def test_the_input_is_not_modified() -> None:
    x, y = torch.ones(2, 3, 5)
    dropout(x, 0.5, training=True)
    add_dropout(x, y, 0.5, training=True)
    assert torch.equal(x, torch.ones(3, 5))
    assert torch.equal(y, torch.ones(3, 5))
