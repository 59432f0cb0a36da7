"""Products in int8 stay within the rounding of their factors, and tokens do not disturb one another."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from transformer.kernels import int8_linear as kernel
from transformer.kernels.int8_linear import LEVELS, by_columns, by_rows, int8_linear, int8_works
from transformer.kernels.packed_linear import Linear

pytestmark = pytest.mark.skipif(not int8_works(), reason="this processor does not multiply int8 exactly")


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile nothing: that takes seconds, and one test compares both."""
    monkeypatch.setattr(kernel, "_compiles", lambda: False)
    kernel._fused.cache_clear()


def gradients(linear: object, x: Tensor, weight: Tensor, bias: Tensor | None, grad: Tensor) -> list[Tensor]:
    """Return the output and the gradients of all inputs."""
    inputs = [tensor.clone().requires_grad_() for tensor in (x, weight, bias) if tensor is not None]
    y = linear(*inputs, *([None] if bias is None else []))  # type: ignore[operator]
    return [y.detach(), *torch.autograd.grad(y, inputs, grad)]


def largest_error(left: Tensor, right: Tensor) -> Tensor:
    """Return the largest possible error of left @ right, if each factor is off by half a level."""
    half_left = left.abs().amax(dim=1, keepdim=True) / LEVELS / 2
    half_right = right.abs().amax(dim=0, keepdim=True) / LEVELS / 2
    ones_left, ones_right = torch.ones_like(left) * half_left, torch.ones_like(right) * half_right
    return left.abs() @ ones_right + ones_left @ right.abs() + ones_left @ ones_right


@given(seed=st.integers(0, 2**31), sizes=st.tuples(*[st.integers(1, 40)] * 3), spread=st.floats(0, 8))
def test_errors_are_within_half_a_level_of_each_factor(seed: int, sizes: tuple[int, int, int], spread: float) -> None:
    torch.manual_seed(seed)
    n, d, e = sizes
    scales_N1 = torch.exp(spread * torch.randn(n, 1))  # tokens whose gradients differ by orders of magnitude
    x, weight, grad = torch.randn(n, d), torch.randn(e, d), torch.randn(n, e) * scales_N1
    bounds = [largest_error(x, weight.T), largest_error(grad, weight), largest_error(grad.T, x)]
    for exact, rounded, bound in zip(
        gradients(F.linear, x, weight, None, grad), gradients(int8_linear, x, weight, None, grad), bounds, strict=True
    ):
        assert ((exact - rounded).abs() <= 1.001 * bound + 1e-30).all()


def test_integers_up_to_127_are_multiplied_exactly() -> None:
    x, weight, grad = (torch.randint(-LEVELS, LEVELS + 1, size).float() for size in ((5, 3), (7, 3), (5, 7)))
    for matrix in (x, weight, grad):  # with 127 in each row and column, the levels are the integers
        index = torch.arange(max(matrix.shape))
        matrix[index % matrix.size(0), index % matrix.size(1)] = LEVELS
    bias = torch.randn(7)
    for exact, rounded in zip(
        gradients(F.linear, x, weight, bias, grad), gradients(int8_linear, x, weight, bias, grad), strict=True
    ):
        torch.testing.assert_close(rounded, exact)


def test_a_token_does_not_depend_on_the_others() -> None:
    x, weight = torch.randn(5, 3), torch.randn(7, 3)
    alone = int8_linear(x[:1], weight, None)
    x[1:] *= 1e6
    torch.testing.assert_close(int8_linear(x, weight, None)[:1], alone, rtol=0, atol=0)


def test_zeros_stay_zeros() -> None:
    zeros = [torch.zeros(size) for size in ((2, 3, 5), (7, 5), (2, 3, 7))]
    for result in gradients(int8_linear, zeros[0], zeros[1], torch.zeros(7), zeros[2]):
        assert not result.any()


def test_more_tokens_than_a_sum_can_hold_are_summed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = torch.randn(7, 3), torch.randn(5, 3), None, torch.randn(7, 5)
    whole = gradients(int8_linear, *tensors)
    monkeypatch.setattr(kernel, "MAX_TOKENS", 3)
    for one, other in zip(whole, gradients(int8_linear, *tensors), strict=True):
        torch.testing.assert_close(one, other)
    assert LEVELS**2 * kernel.MAX_TOKENS < 2**31


def test_quantised_matrices_use_all_levels_of_their_axis() -> None:
    matrix = torch.randn(5, 7) * torch.logspace(-30, 30, 5)[:, None]
    values, scales = by_rows(matrix)
    assert (values.abs().amax(dim=1) == LEVELS).all()
    torch.testing.assert_close(values * scales, matrix, rtol=0, atol=matrix.abs().max().item() / LEVELS)
    columns, column_scales = by_columns(matrix.T)
    assert torch.equal(columns.T, values)
    assert torch.equal(column_scales.T, scales)


def test_only_products_with_gradients_are_rounded() -> None:
    linear, x = Linear(64, 7), torch.randn(3, 64)
    linear.int8 = True
    assert not torch.equal(linear(x), F.linear(x, linear.weight, linear.bias))
    with torch.no_grad():
        assert torch.equal(linear(x), F.linear(x, linear.weight, linear.bias))


def test_compiled_and_eager_kernels_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = torch.randn(33, 20), torch.randn(17, 20), torch.randn(17), torch.randn(33, 17)
    plain = gradients(int8_linear, *tensors)
    monkeypatch.undo()
    if not kernel._compiles():
        pytest.skip("no C++ compiler")
    kernel._fused.cache_clear()
    for one, other in zip(plain, gradients(int8_linear, *tensors), strict=True):
        torch.testing.assert_close(one, other, rtol=0.02, atol=0.05)  # a number between two levels may go either way
    kernel._fused.cache_clear()


def test_nothing_that_is_compiled_requires_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.compile would compile anew for it, and gives up after eight times."""
    seen: list[bool] = []

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*tensors: Tensor | None) -> Any:
            seen.extend(tensor.requires_grad for tensor in tensors if tensor is not None)
            return function(*tensors)

        return call

    monkeypatch.setattr(kernel, "_fused", watched)
    x, weight, bias, grad = torch.randn(5, 8), torch.randn(16, 8), torch.randn(16), torch.randn(5, 16)
    gradients(int8_linear, x, weight, bias, grad)
    # Biases always require gradients, so they cause no second version.
    assert seen.count(True) == 1
