"""Both forms of the loss against the divergence in plain Python, in value and gradient, with edge cases."""

import ctypes
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from tests.shapes import checked_shapes
from transformer import loss
from transformer.kernels import can_pack
from transformer.loss import linear_divergence, linear_smoothed_nll, smoothed_nll

SMOOTHINGS = st.floats(0, 0.9)
SEEDS = st.integers(0, 2**32)
Problem = tuple[Tensor, Tensor, Tensor]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """States, matrix and targets of any shape, with at least two words."""
    n, d, v = draw(st.integers(0, 11)), draw(st.integers(1, 7)), draw(st.integers(2, 13))
    torch.manual_seed(draw(SEEDS))
    scale = draw(st.sampled_from([0.1, 1.0, 4.0]))
    return scale * torch.randn(n, d), torch.randn(v, d), torch.randint(v, (n,))


def smoothed_targets(target_N: Tensor, n_words: int, smoothing: float) -> Tensor:
    """1 - epsilon on the reference, epsilon / (V - 1) on every other word, as in the authors' code."""
    q_NV = torch.full((len(target_N), n_words), smoothing / (n_words - 1), dtype=torch.float64)
    return q_NV.scatter(1, target_N[:, None], 1 - smoothing)


def entropy(n_words: int, smoothing: float) -> float:
    """Entropy of one smoothed target."""
    q = [1 - smoothing, *[smoothing / (n_words - 1)] * (n_words - 1)]
    return -sum(p * math.log(p) for p in q if p > 0)


def divergence_and_entropy(logits_NV: Tensor, target_N: Tensor, smoothing: float) -> Tensor:
    """sum KL(q || p) + H(q) in float64, which is the cross entropy between q and p."""
    q_NV = smoothed_targets(target_N, logits_NV.size(1), smoothing)
    p_NV = logits_NV.double().softmax(dim=1)
    kl = (torch.xlogy(q_NV, q_NV) - q_NV * p_NV.log()).sum()
    return kl + len(target_N) * entropy(logits_NV.size(1), smoothing)


@given(problems(), SMOOTHINGS)
def test_both_forms_equal_the_divergence_in_plain_python(problem: Problem, smoothing: float) -> None:
    states, weight, target = problem
    logits = states.double() @ weight.double().T
    expected = divergence_and_entropy(logits, target, smoothing).float()
    torch.testing.assert_close(smoothed_nll(logits, target, smoothing), expected, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(linear_smoothed_nll(*problem, smoothing)[0], expected, rtol=1e-5, atol=1e-4)


@given(problems(), SMOOTHINGS)
def test_gradients_of_both_forms_are_those_of_the_divergence(problem: Problem, smoothing: float) -> None:
    states, weight, target = problem
    gradients = []
    for dtype, value in (
        (torch.float64, lambda s, w: divergence_and_entropy(s @ w.T, target, smoothing)),
        (torch.float32, lambda s, w: smoothed_nll(s @ w.T, target, smoothing)),
        (torch.float32, lambda s, w: linear_smoothed_nll(s, w, target, smoothing)[0]),
    ):
        leaves = [x.detach().to(dtype).requires_grad_() for x in (states, weight)]
        gradients.append([g.float() for g in torch.autograd.grad(value(*leaves), leaves)])
    expected, plain, fused = gradients
    torch.testing.assert_close(plain, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(fused, expected, rtol=1e-4, atol=1e-5)


def test_gradients_equal_finite_differences_of_the_loss() -> None:
    """Checks with finite differences, independent of any gradient formula."""
    torch.manual_seed(2)
    states, weight, target = torch.randn(3, 5), torch.randn(7, 5), torch.randint(7, (3,))
    leaves = [x.requires_grad_() for x in (states, weight)]
    gradients = torch.autograd.grad(linear_smoothed_nll(*leaves, target, 0.1)[0], leaves)
    h = 1e-2
    for leaf, gradient in zip(leaves, gradients, strict=True):
        direction = torch.randn_like(leaf)
        with torch.no_grad():
            ends = []
            for sign in (1, -1):
                leaf += sign * h * direction
                ends.append(float(linear_smoothed_nll(*leaves, target, 0.1)[0]))
                leaf -= sign * h * direction
        assert float((gradient * direction).sum()) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=2e-3, abs=2e-3)


@given(problems())
def test_without_smoothing_it_is_cross_entropy(problem: Problem) -> None:
    states, weight, target = problem
    expected = F.cross_entropy(states @ weight.T, target, reduction="sum")
    torch.testing.assert_close(smoothed_nll(states @ weight.T, target, 0.0), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(linear_smoothed_nll(*problem, 0.0)[0], expected, rtol=1e-5, atol=1e-4)


@given(problems(), SMOOTHINGS)
def test_the_reported_likelihood_is_never_smoothed(problem: Problem, smoothing: float) -> None:
    states, weight, target = problem
    expected = F.cross_entropy(states @ weight.T, target, reduction="sum")
    torch.testing.assert_close(linear_smoothed_nll(*problem, smoothing)[1], expected, rtol=1e-5, atol=1e-4)


@given(problems(), SMOOTHINGS)
def test_the_chunk_size_does_not_change_the_loss(problem: Problem, smoothing: float) -> None:
    whole, parts = [], []
    for results, chunk in ((whole, 1024), (parts, 3)):
        leaves = [x.clone().requires_grad_() for x in problem[:2]]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loss, "CHUNK", chunk)
            value, nll = linear_smoothed_nll(*leaves, problem[2], smoothing)
        results += [value.detach(), nll.detach(), *torch.autograd.grad(value, leaves)]
    torch.testing.assert_close(parts, whole, rtol=1e-5, atol=1e-4)


@given(st.integers(2, 50), st.floats(0.01, 0.9))
def test_the_minimum_is_the_entropy_of_the_smoothed_target(n_words: int, smoothing: float) -> None:
    """It is reached at p = q, where the gradient vanishes, so the loss of a perfect model is above 0."""
    target = torch.arange(n_words)
    logits = smoothed_targets(target, n_words, smoothing).log().requires_grad_()
    value = smoothed_nll(logits, target, smoothing)
    assert value.item() == pytest.approx(n_words * entropy(n_words, smoothing), rel=1e-5)
    assert torch.autograd.grad(value, logits)[0].abs().max() < 1e-6
    assert smoothed_nll(logits + 0.1 * torch.randn(n_words, n_words), target, smoothing) > value - 1e-4


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("size", [50.0, 88.0, 95.0, 100.0, 102.0, 103.5, 110.0, 1e3, 1e4])
def test_the_loss_is_correct_where_the_likelihood_underflows(size: float, smoothing: float) -> None:
    """As the reference's logit falls to -size, its probability underflows, but the loss stays correct."""
    states, weight = torch.tensor([[size], [size], [0.0]]), torch.tensor([[0.0], [-1.0], [-0.5]])
    target = torch.tensor([1, 0, 1])
    logits = states.double() @ weight.double().T
    value, nll = linear_smoothed_nll(states.requires_grad_(), weight.requires_grad_(), target, smoothing)
    expected = divergence_by_log_softmax(logits, target, smoothing)
    assert value.item() == pytest.approx(expected, rel=1e-6)
    assert nll.item() == pytest.approx(divergence_by_log_softmax(logits, target, 0.0), rel=1e-6)
    value.backward()
    assert bool(states.grad.isfinite().all() & weight.grad.isfinite().all())


def divergence_by_log_softmax(logits_NV: Tensor, target_N: Tensor, smoothing: float) -> float:
    """The cross entropy, even where p itself would underflow in float64."""
    q_NV = smoothed_targets(target_N, logits_NV.size(1), smoothing)
    return -float((q_NV * logits_NV.log_softmax(dim=1)).sum())


class Heap(ctypes.Structure):
    """The beginning and the end of what glibc returns from mallinfo2."""

    _fields_ = (("others", 7 * ctypes.c_size_t), ("bytes_in_use", ctypes.c_size_t), ("rest", 2 * ctypes.c_size_t))


@pytest.mark.skipif(not can_pack(torch.ones(1, dtype=torch.bfloat16)), reason="this machine has no products in bf16")
def test_numbers_of_tokens_share_what_is_kept_for_a_shape() -> None:
    """The number is another one in every update; oneDNN kept 1.6 MB for each, and an epoch had 900."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        pytest.skip("needs the statistics of the heap of glibc 2.33")
    mallinfo.restype = Heap
    states, weight = torch.randn(200, 64).bfloat16().requires_grad_(), torch.randn(301, 64)
    before = mallinfo().bytes_in_use
    for n in range(1, 200):
        linear_smoothed_nll(states[:n], weight, torch.randint(301, (n,)), 0.1)
    assert mallinfo().bytes_in_use - before < 60e6


def test_bfloat16_products_stay_close_to_float32() -> None:
    states, weight, target = torch.randn(50, 64), torch.randn(301, 64) / 8, torch.randint(301, (50,))
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        leaves = states.to(dtype).requires_grad_(), weight.clone().requires_grad_()
        value, nll = linear_smoothed_nll(*leaves, target, 0.1)
        assert value.dtype == nll.dtype == torch.float32
        gradients = torch.autograd.grad(value, leaves)
        assert [g.dtype for g in gradients] == [dtype, torch.float32]
        results.append([value.detach(), nll.detach(), *(g.float() for g in gradients)])
    for exact, rounded in zip(*results, strict=True):
        assert (rounded - exact).norm() < 0.01 * exact.norm()


@given(problems(), SMOOTHINGS)
def test_gradients_are_computed_only_if_requested(problem: Problem, smoothing: float) -> None:
    states, weight, target = problem
    with_gradient = linear_smoothed_nll(states.requires_grad_(), weight, target, smoothing)
    with torch.no_grad():
        without = linear_smoothed_nll(states, weight, target, smoothing)
    assert not without[0].requires_grad
    assert not with_gradient[1].requires_grad
    torch.testing.assert_close(without[0], with_gradient[0].detach())
    torch.testing.assert_close(without[1], with_gradient[1])


@given(problems(), SMOOTHINGS, st.floats(-3, 3))
def test_scaling_the_loss_scales_its_gradient(problem: Problem, smoothing: float, scale: float) -> None:
    """The caller divides by the number of tokens of an update."""
    states, weight, target = problem
    leaves = [x.requires_grad_() for x in (states, weight)]
    plain, scaled = (
        torch.autograd.grad(factor * linear_smoothed_nll(*leaves, target, smoothing)[0], leaves)
        for factor in (1.0, scale)
    )
    torch.testing.assert_close(scaled, tuple(scale * g for g in plain))


@given(problems(), SMOOTHINGS, SEEDS)
def test_losses_of_parts_add_up_to_the_loss_of_the_whole(problem: Problem, smoothing: float, seed: int) -> None:
    states, weight, target = problem
    cut = seed % (len(target) + 1)
    whole = linear_smoothed_nll(states, weight, target, smoothing)
    parts = [
        linear_smoothed_nll(states[part], weight, target[part], smoothing) for part in (slice(cut), slice(cut, None))
    ]
    for i in range(2):
        torch.testing.assert_close(parts[0][i] + parts[1][i], whole[i], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", [(1,), (2,), (4,), (3, 1), ()])
def test_another_number_of_targets_than_states_is_refused(shape: tuple[int, ...]) -> None:
    """Other shapes would broadcast."""
    states, weight, target = torch.randn(3, 5), torch.randn(7, 5), torch.zeros(shape, dtype=torch.long)
    with checked_shapes("nothing"), torch.no_grad():  # here the names of the library are false
        with pytest.raises(ValueError, match="do not fit rows"):
            linear_smoothed_nll(states, weight, target, 0.1)
        with pytest.raises(ValueError, match="do not fit rows"):
            smoothed_nll(states @ weight.T, target, 0.1)


@pytest.mark.parametrize("smoothing", [-0.5, 1.0, float("nan")])
def test_smoothing_beyond_a_distribution_is_refused(smoothing: float) -> None:
    with pytest.raises(ValueError, match=r"must be in \[0, 1\)"):
        linear_smoothed_nll(torch.randn(3, 5), torch.randn(7, 5), torch.tensor([1, 2, 3]), smoothing)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_changes_neither_loss_nor_gradients(dtype: torch.dtype) -> None:
    weight, target = torch.randn(7, 5, requires_grad=True), torch.tensor([1, 2, 6])
    states, other = (torch.randn(3, 5).to(dtype).requires_grad_() for _ in range(2))

    def losses() -> list[torch.Tensor]:
        found = [linear_smoothed_nll(states, weight, target, 0.1)[0], linear_divergence(states, other, weight)]
        return [*found, *torch.autograd.grad(found[0] + found[1], (states, weight))]

    plain = losses()
    with torch.autocast("cpu", torch.bfloat16):
        inside = losses()
    assert all(torch.equal(a, b) for a, b in zip(plain, inside, strict=True))


def test_second_order_gradients_are_refused() -> None:
    """The gradient is computed in the forward pass, so autograd would take it for a constant."""
    states, other, weight = torch.randn(3, 5, requires_grad=True), torch.randn(3, 5), torch.randn(7, 5)
    for value in (
        linear_smoothed_nll(states, weight, torch.tensor([1, 4, 2]), 0.1)[0],
        linear_divergence(states, other, weight),
    ):
        (gradient,) = torch.autograd.grad(value.square(), states, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            gradient.sum().backward()


def test_the_loss_of_no_tokens_is_zero() -> None:
    states, weight = torch.empty(0, 5, requires_grad=True), torch.randn(7, 5, requires_grad=True)
    value, nll = linear_smoothed_nll(states, weight, torch.empty(0, dtype=torch.long), 0.1)
    value.backward()
    assert value.item() == nll.item() == 0
    assert not weight.grad.any()
    assert smoothed_nll(torch.empty(0, 7), torch.empty(0, dtype=torch.long), 0.1).item() == 0


def test_a_bias_equals_a_bias_of_the_logits_in_value_and_gradient() -> None:
    """The bias is computed as a column of ones, which does not change the result."""
    generator = torch.Generator().manual_seed(5)
    states, weight, bias = (torch.randn(shape, generator=generator).requires_grad_() for shape in ((7, 3), (11, 3), 11))
    target = torch.tensor([0, 3, 10, 5, 5, 2, 1])
    own = torch.autograd.grad(linear_smoothed_nll(states, weight, target, 0.1, bias)[0], (states, weight, bias))
    plain = torch.autograd.grad(smoothed_nll(states @ weight.T + bias, target, 0.1), (states, weight, bias))
    for one, other in zip(own, plain, strict=True):
        torch.testing.assert_close(one, other)


@given(problem=problems(), chunk=st.integers(1, 12), with_bias=st.booleans())
def test_the_divergence_and_its_gradients_are_those_of_both_kl_divergences(
    problem: Problem, chunk: int, with_bias: bool
) -> None:
    first, weight, _ = problem
    bias = [torch.randn(len(weight), dtype=torch.float64)] if with_bias else []
    inputs = [first.double(), torch.randn_like(first).double(), weight.double(), *bias]
    ours, theirs = ([tensor.clone().requires_grad_() for tensor in inputs] for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss, "CHUNK", chunk)
        value = linear_divergence(*ours)
    log_p, log_q = (F.linear(x, *theirs[2:]).log_softmax(dim=-1) for x in theirs[:2])
    expected = sum(F.kl_div(a, b, log_target=True, reduction="sum") for a, b in ((log_p, log_q), (log_q, log_p)))
    torch.testing.assert_close(value.double(), expected, rtol=1e-4, atol=1e-5)
    (2 * value).backward()
    (2 * expected).backward()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-4)


def test_equal_outputs_do_not_diverge() -> None:
    states, weight = torch.randn(5, 3, requires_grad=True), torch.randn(7, 3)
    value = linear_divergence(states, states.detach().clone(), weight)
    value.backward()
    assert value == 0
    assert states.grad is not None
    assert states.grad.abs().max() < 1e-6
