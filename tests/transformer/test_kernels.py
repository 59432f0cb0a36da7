"""Packed weights, whole or in parts, give the same products; the private softmax kernel equals its public equivalent;
a decoding step is equation 1; gradients of norms in half precision are those in full precision.

Dropout has the statistics that define it, since the random generator is our own.
"""

import copy
import math
import pickle
from dataclasses import replace
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from tests.toys import TINY, VARIANTS, random_ids, toy_model
from transformer import kernels
from transformer.attention import attend
from transformer.config import ModelConfig
from transformer.kernels import Linear, Packed, add_dropout, attend_short, attend_step, can_pack, dropout

PACKS = pytest.mark.skipif(
    not can_pack(torch.zeros(1, dtype=torch.bfloat16)), reason="this processor does not multiply in bf16"
)


@pytest.mark.parametrize("bias", [True, False])
def test_parts_of_a_product_equal_slices_of_the_whole(bias: bool) -> None:
    linear = Linear(5, 7, bias=bias, n_first=3)
    x = torch.randn(2, 4, 5)
    parts = torch.cat((linear(x, "first"), linear(x, "rest")), dim=-1)
    torch.testing.assert_close(parts, linear(x))
    assert linear(x, "first").size(-1) == 3


@PACKS
@pytest.mark.parametrize("shape", [(1, 33), (7, 33), (3, 5, 33)])
@pytest.mark.parametrize("bias", [True, False])
def test_packed_weights_give_the_same_products(shape: tuple[int, ...], bias: bool) -> None:
    x, weight = torch.randn(shape).bfloat16(), torch.randn(17, 33).bfloat16()
    b = torch.randn(17).bfloat16() if bias else None
    torch.testing.assert_close(Packed(weight, b)(x), F.linear(x, weight, b))
    torch.testing.assert_close(Packed(weight[3:9], None)(x), F.linear(x, weight)[..., 3:9])
    for name, function in (("relu", F.relu), ("swish", F.silu)):
        torch.testing.assert_close(Packed(weight, b, name)(x), function(F.linear(x, weight, b)), rtol=0.02, atol=0.02)


@PACKS
@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
def test_a_packed_model_gives_the_same_logits(config: ModelConfig) -> None:
    plain, packed = (toy_model(config).bfloat16() for _ in range(2))
    packed.pack()
    src_BS, tgt_BT = random_ids(3, 5), random_ids(3, 7)
    with torch.inference_mode():
        torch.testing.assert_close(packed(src_BS, tgt_BT), plain(src_BS, tgt_BT), rtol=0.05, atol=0.2)
        caches = [model.new_cache(model.encode(src_BS)) for model in (packed, plain)]
        for t in range(7):
            one, other = (model.decode_step(tgt_BT[:, t], c) for model, c in zip((packed, plain), caches, strict=True))
            torch.testing.assert_close(one, other, rtol=0.05, atol=0.2)


@PACKS
def test_a_copy_of_a_packed_model_gives_the_same_logits() -> None:
    model = toy_model(TINY).bfloat16()
    model.pack()
    src_BS, tgt_BT = random_ids(3, 5), random_ids(3, 7)
    with torch.inference_mode():
        assert torch.equal(copy.deepcopy(model)(src_BS, tgt_BT), model(src_BS, tgt_BT))


@PACKS
@pytest.mark.parametrize("change", ["load", "train", "convert"])
def test_packed_weights_are_dropped_when_the_weights_change(change: str) -> None:
    model, other = toy_model(TINY).bfloat16(), toy_model(TINY, seed=1).bfloat16()
    src_BS, tgt_BT = random_ids(3, 5), random_ids(3, 7)
    model.pack()
    if change == "load":
        model.load_state_dict(other.state_dict())
    elif change == "train":
        model.train()
        with torch.no_grad():
            for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
                ours.copy_(theirs)
        model.eval()
    else:
        model, other = model.float(), toy_model(TINY).bfloat16().float()
    assert not model.is_packed
    with torch.inference_mode():
        assert torch.equal(model(src_BS, tgt_BT), other(src_BS, tgt_BT))


@PACKS
def test_a_packed_model_can_be_pickled() -> None:
    model = toy_model(TINY).bfloat16()
    model.pack()
    again = pickle.loads(pickle.dumps(model))
    src_BS, tgt_BT = random_ids(3, 5), random_ids(3, 7)
    with torch.inference_mode():
        assert torch.equal(again(src_BS, tgt_BT), model(src_BS, tgt_BT))


@pytest.mark.parametrize("rate", [-0.5, 1.0, 2.0])
def test_a_rate_of_dropout_beyond_its_range_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="dropout rate"):
        dropout(torch.ones(3), rate, training=True)


def test_full_precision_is_not_packed() -> None:
    model = toy_model(TINY)
    model.pack()
    assert not any(module.packed for module in model.modules() if isinstance(module, Linear))


@PACKS
def test_packing_keeps_gradients() -> None:
    half = toy_model(TINY).bfloat16()
    half.pack()
    assert half.is_packed
    half(random_ids(3, 5), random_ids(3, 7)).float().sum().backward()
    assert all(parameter.grad is not None for parameter in half.parameters())


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_of_norms_in_half_precision_are_summed_in_full_precision(norm: Literal["post", "pre"]) -> None:
    """In bf16, a sum of thousands of small numbers stops growing."""
    torch.manual_seed(0)
    x_ND = torch.randn(5003, TINY.d_model).bfloat16()
    grad_ND = (0.3 + torch.randn(5003, TINY.d_model)).bfloat16()
    for module in toy_model(replace(TINY, norm=norm)).modules():
        if not isinstance(module, nn.LayerNorm):
            continue
        gradients = []
        for dtype in (torch.bfloat16, torch.float64):
            part = copy.deepcopy(module).to(torch.float32 if dtype == torch.bfloat16 else dtype)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
                normed_ND = part(x_ND.to(dtype).requires_grad_())
            assert normed_ND.dtype == dtype
            normed_ND.backward(grad_ND.to(dtype))
            gradients.append([parameter.grad.double() for parameter in part.parameters()])
        for mixed, exact in zip(*gradients, strict=True):
            torch.testing.assert_close(mixed, exact, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("missing", ["_reorder_linear_weight", "_linear_pointwise", "_is_mkldnn_bf16_supported"])
def test_without_the_private_operators_nothing_is_packed(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of PyTorch may lack or rename them; products then use `F.linear`."""

    class Operators:
        def __getattr__(self, name: str) -> object:
            if name == missing:
                raise AttributeError(name)
            return getattr(mkldnn, name)

    mkldnn = torch.ops.mkldnn
    monkeypatch.setattr(torch.ops, "mkldnn", Operators())
    kernels._packing_works.cache_clear()
    try:
        model = toy_model(TINY).bfloat16()
        model.pack()
        assert not model.is_packed
        with torch.inference_mode():
            assert model(random_ids(3, 5), random_ids(3, 7)).isfinite().all()
    finally:
        kernels._packing_works.cache_clear()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@given(seed=st.integers(0, 2**32))
def test_a_decoding_step_reads_what_its_mask_allows_and_nothing_else(dtype: torch.dtype, seed: int) -> None:
    torch.manual_seed(seed)
    q, k, v = (torch.randn(3, 5, *shape).to(dtype) for shape in ((2, 7), (11, 7), (11, 6)))
    allowed = torch.rand(3, 5, 2, 11) < 0.5
    allowed[..., 0] = True
    attn_bias = torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, float("-inf"))
    out = attend_step(q, k, v, attn_bias)
    tolerance = {"rtol": 0.03, "atol": 0.03} if dtype == torch.bfloat16 else {}
    torch.testing.assert_close(out.float(), attend(q.float(), k.float(), v.float(), allowed), **tolerance)
    s = 1 + seed % 10
    k[:, :, s], v[:, :, s] = 100.0, -100.0
    blind = ~allowed[..., s]
    assert torch.equal(attend_step(q, k, v, attn_bias)[blind], out[blind])


def gradients() -> list[torch.Tensor]:
    torch.manual_seed(5)
    q, k, v = (torch.randn(2, 3, 17, 7, requires_grad=True) for _ in range(3))
    out = attend_short(q, k, v, torch.ones(17, 17, dtype=torch.bool).tril())
    return list(torch.autograd.grad(out.square().sum(), (q, k, v)))


def test_without_the_private_softmax_kernel_gradients_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = gradients()
    monkeypatch.delattr(torch, "_softmax_backward_data")
    torch.testing.assert_close(gradients(), expected)


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


def test_on_other_devices_the_same_share_is_dropped_or_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have PyTorch's dropout, which runs on a CPU as well."""
    monkeypatch.setattr(kernels, "eager_on_cpu", lambda x: False)
    x, y, rate = torch.full((N,), 3.0), torch.ones(N), 0.3
    for out in (dropout(y, rate, training=True), add_dropout(x, y, rate, training=True) - x):
        kept = out != 0
        assert abs(int((~kept).sum()) - N * rate) < 5 * math.sqrt(N * rate * (1 - rate))
        torch.testing.assert_close(out[kept], torch.full((int(kept.sum()),), 1 / (1 - rate)))


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
