"""Packed weights, whole or in parts, give the same products."""

import pytest
import torch
from torch.nn import functional as F

from tests.toys import TINY, VARIANTS, random_ids, toy_model
from transformer.config import ModelConfig
from transformer.kernels import packed_linear
from transformer.kernels.packed_linear import Linear, Packed, can_pack

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


def test_full_precision_is_not_packed_and_packing_keeps_gradients() -> None:
    model = toy_model(TINY)
    model.pack()
    assert not any(module._packed for module in model.modules() if isinstance(module, Linear))
    half = toy_model(TINY).bfloat16()
    half.pack()
    half(random_ids(3, 5), random_ids(3, 7)).float().sum().backward()
    assert all(parameter.grad is not None for parameter in half.parameters())


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
    packed_linear._packing_works.cache_clear()
    try:
        model = toy_model(TINY).bfloat16()
        model.pack()
        assert not model.is_packed
        with torch.inference_mode():
            assert model(random_ids(3, 5), random_ids(3, 7)).isfinite().all()
    finally:
        packed_linear._packing_works.cache_clear()
