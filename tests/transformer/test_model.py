"""The whole Transformer never sees the future or padding, and its output does not depend on how it is called."""

import copy
import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from tests.toys import TINY, VARIANTS, random_ids, toy_model
from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.loss import linear_smoothed_nll
from transformer.model import Memory, Transformer, initialise

MODELS = {name: toy_model(config) for name, config in VARIANTS.items()}
EACH_VARIANT = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
SEEDS = st.integers(0, 2**31)

SRC_BS = torch.tensor([[5, 6, 7, 8, 2], [9, 2, 0, 0, 0], [4, 3, 2, 0, 0]])
TGT_BT = random_ids(3, 7, seed=1)


def other_padding(model: Transformer) -> Transformer:
    """Return a copy of the model with another embedding of the padding token."""
    changed = copy.deepcopy(model)
    with torch.no_grad():
        for embedding in {changed.src_embedding, changed.tgt_embedding}:
            embedding.weight_VD[model.config.pad] = 100 * torch.randn(model.config.d_model)
    return changed


@EACH_VARIANT
@settings(max_examples=settings.default.max_examples // 8)
@given(t=st.integers(0, 5), seed=SEEDS)
def test_future_target_tokens_have_exactly_zero_influence(model: Transformer, t: int, seed: int) -> None:
    changed = TGT_BT.clone()
    changed[:, t + 1 :] = random_ids(3, 6 - t, seed=seed)
    before, after = model(SRC_BS, TGT_BT), model(SRC_BS, changed)
    assert torch.equal(after[:, : t + 1], before[:, : t + 1])


@EACH_VARIANT
def test_the_latest_target_token_has_influence(model: Transformer) -> None:
    """Without this, a decoder that ignores its input would pass the test above."""
    changed = TGT_BT.clone()
    changed[:, 3] = changed[:, 3] % 19 + 4
    differs = (model(SRC_BS, changed) - model(SRC_BS, TGT_BT)).abs().amax(dim=(0, 2)) > 1e-3
    assert differs.tolist()[:4] == [False, False, False, True]


@EACH_VARIANT
def test_no_gradient_comes_from_the_future(model: Transformer) -> None:
    x_BTD = torch.randn(3, 7, TINY.d_model, requires_grad=True)
    memory = model.encode(SRC_BS)
    out = model.decoder[0](x_BTD, memory.states, torch.ones(7, 7, dtype=torch.bool).tril(), memory.allowed)
    gradient = torch.autograd.grad(out[:, 3].sum(), x_BTD)[0]
    assert not gradient[:, 4:].any()


@EACH_VARIANT
def test_the_embedding_of_padding_has_exactly_zero_influence(model: Transformer) -> None:
    changed = other_padding(model)
    tgt_BT = TGT_BT.clone()
    tgt_BT[1, 4:] = model.config.pad
    states, changed_states = (m.decode_states(tgt_BT, m.encode(SRC_BS)) for m in (model, changed))
    tokens = tgt_BT != model.config.pad
    assert torch.equal(model.encode(SRC_BS).states[SRC_BS != 0], changed.encode(SRC_BS).states[SRC_BS != 0])
    assert torch.equal(states[tokens], changed_states[tokens])


@EACH_VARIANT
def test_the_decoder_never_reads_the_memory_of_padding(model: Transformer) -> None:
    memory = model.encode(SRC_BS)
    states = memory.states.clone()
    states[SRC_BS.eq(model.config.pad)] = 100 * torch.randn(model.config.d_model)
    assert torch.equal(model.decode(TGT_BT, Memory(states, memory.allowed)), model.decode(TGT_BT, memory))


@EACH_VARIANT
@settings(max_examples=settings.default.max_examples // 8)
@given(more_src=st.integers(0, 4), more_tgt=st.integers(0, 4))
def test_additional_padding_changes_no_output(model: Transformer, more_src: int, more_tgt: int) -> None:
    padded = model(F.pad(SRC_BS, (0, more_src)), F.pad(TGT_BT, (0, more_tgt)))
    torch.testing.assert_close(padded[:, :7], model(SRC_BS, TGT_BT), rtol=1e-4, atol=1e-4)


@EACH_VARIANT
def test_a_sentence_does_not_depend_on_its_batch(model: Transformer) -> None:
    together = model(SRC_BS, TGT_BT)
    for b, n in enumerate(SRC_BS.ne(0).sum(dim=1).tolist()):
        alone = model(SRC_BS[b : b + 1, :n], TGT_BT[b : b + 1])
        torch.testing.assert_close(alone[0], together[b], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_window_limits_the_positions_that_one_encoder_layer_reads(window: int) -> None:
    model = toy_model(dataclasses.replace(TINY, window=window, n_encoder_layers=1))
    src_BS = random_ids(1, 9)
    changed = src_BS.clone()
    changed[0, 4] = changed[0, 4] % 19 + 4
    differs = (model.encode(changed).states != model.encode(src_BS).states).any(dim=-1)[0]
    assert differs.tolist() == [abs(s - 4) <= window for s in range(9)]


@EACH_VARIANT
def test_an_empty_batch_has_empty_logits(model: Transformer) -> None:
    empty = SRC_BS[:0], TGT_BT[:0]
    with torch.no_grad():
        assert model(*empty).shape == (0, 7, TINY.vocab_size)
    model = copy.deepcopy(model)
    model(*empty).sum().backward()
    assert not any(bool(parameter.grad.any()) for parameter in model.parameters())


@EACH_VARIANT
def test_forward_is_the_decoder_after_the_encoder(model: Transformer) -> None:
    memory = model.encode(SRC_BS)
    logits = model.logits(model.decode_states(TGT_BT, memory))
    assert logits.shape == (3, 7, TINY.vocab_size)
    assert torch.equal(logits, model.decode(TGT_BT, memory))
    assert torch.equal(logits, model(SRC_BS, TGT_BT))


def test_logits_are_scalar_products_with_the_output_matrix() -> None:
    """Logits are not scaled: sqrt(d_model) applies to the embedding layers only (3.4)."""
    for model in MODELS.values():
        states = torch.randn(3, 5, TINY.d_model)
        bias = 0 if model.output_bias_V is None else model.output_bias_V
        torch.testing.assert_close(model.logits(states), states @ model.output_weight.T + bias)


def test_an_empty_source_is_refused() -> None:
    with pytest.raises(ValueError, match="only padding"):
        MODELS["paper"].encode(torch.tensor([[5, 2], [0, 0]]))


@pytest.mark.parametrize(
    ("tying", "n_matrices", "shared"), [("all", 1, True), ("target", 2, False), ("none", 3, False)]
)
def test_tied_matrices_are_one_parameter_under_one_name(tying, n_matrices: int, shared: bool) -> None:
    model = Transformer(dataclasses.replace(TINY, tying=tying))
    matrices = [p for p in model.parameters() if p.shape == (TINY.vocab_size, TINY.d_model)]
    assert len(matrices) == n_matrices
    assert len(model.state_dict()) == len(list(model.parameters()))
    assert (model.tgt_embedding.weight_VD is model.src_embedding.weight_VD) == shared
    assert (model.output_weight is model.tgt_embedding.weight_VD) == (tying != "none")


@pytest.mark.parametrize("tying", ["all", "target", "none"])
def test_each_side_has_its_own_learned_positions(tying) -> None:
    """The paper ties token embeddings only."""
    model = Transformer(dataclasses.replace(TINY, positions="learned", tying=tying))
    tables = [name for name, p in model.named_parameters() if p.shape == (TINY.max_length, TINY.d_model)]
    assert tables == ["src_positions.table_TD", "tgt_positions.table_TD"]
    model.encode(SRC_BS).states.sum().backward()
    assert model.tgt_positions.table_TD.grad is None
    assert model.src_positions.table_TD.grad is not None


def test_a_tied_matrix_receives_gradients_from_its_three_uses() -> None:
    """Its gradient is the sum of the gradients of three separate copies."""
    tied = toy_model(TINY)
    apart = Transformer(dataclasses.replace(TINY, tying="none")).eval()
    weights = tied.state_dict()
    weights["untied_tgt_embedding.weight_VD"] = weights["untied_output.weight"] = weights["src_embedding.weight_VD"]
    apart.load_state_dict(weights)
    for model in (tied, apart):
        model(SRC_BS, TGT_BT).logsumexp(dim=-1).sum().backward()
    parts = (apart.src_embedding.weight_VD, apart.tgt_embedding.weight_VD, apart.output_weight)
    torch.testing.assert_close(tied.output_weight.grad, sum(part.grad for part in parts), rtol=1e-4, atol=1e-4)
    assert all(bool(part.grad.any()) for part in parts)


@EACH_VARIANT
def test_attention_maps_are_distributions_that_respect_the_masks(model: Transformer) -> None:
    maps = model.attention_maps(SRC_BS, TGT_BT)
    shapes = {"encoder": (2, (3, 3, 5, 5)), "decoder": (3, (3, 3, 7, 7)), "cross": (3, (3, 3, 7, 5))}
    for name, (n_layers, shape) in shapes.items():
        layers: list[Tensor] = getattr(maps, name)
        assert [weights.shape for weights in layers] == [shape] * n_layers
        for weights in layers:
            torch.testing.assert_close(weights.sum(dim=-1), torch.ones(shape[:-1]))
    assert not any(weights.triu(1).any() for weights in maps.decoder)
    padding = SRC_BS.eq(0)[:, None, None].expand(3, 3, 7, 5)
    assert not any(weights[padding].any() for weights in maps.cross)


@EACH_VARIANT
def test_asking_for_attention_maps_changes_no_output(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = model.decode_states(TGT_BT, model.encode(SRC_BS))
    seen: list[Tensor] = []
    decode_states = model.decode_states
    monkeypatch.setattr(model, "decode_states", lambda *a: seen.append(decode_states(*a)))
    model.attention_maps(SRC_BS, TGT_BT)
    assert torch.equal(seen[0], expected)


def test_attention_maps_are_the_weights_that_were_used() -> None:
    """Recomputes the last layer's cross-attention from its recorded weights."""
    model = MODELS["paper"]
    memory, layer = model.encode(SRC_BS), model.decoder[-1]
    outputs: list[Tensor] = []
    handle = layer.cross_attn.w_o.register_forward_hook(lambda _m, inputs, _o: outputs.append(inputs[0]))
    weights = model.attention_maps(SRC_BS, TGT_BT).cross[-1]
    handle.remove()
    values = layer.cross_attn.keys_values(memory.states)[1]
    torch.testing.assert_close(outputs[0], (weights @ values).transpose(1, 2).flatten(2))


def test_training_differs_from_evaluation_by_dropout_only() -> None:
    model = toy_model()
    evaluated = model(SRC_BS, TGT_BT)
    assert torch.equal(model(SRC_BS, TGT_BT), evaluated)
    assert not torch.allclose(model.train()(SRC_BS, TGT_BT), evaluated)
    without = Transformer(dataclasses.replace(TINY, dropout=0.0)).train()
    without.load_state_dict(model.state_dict())
    assert torch.equal(without(SRC_BS, TGT_BT), evaluated)


def test_dropout_is_applied_where_section_5_4_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropout acts on the sums of embeddings and positions and on every sub-layer's output, nowhere else."""
    drawn: list[int] = []

    def draw(x: Tensor, rate: float) -> tuple[Tensor, float]:
        assert rate == TINY.dropout
        drawn.append(x.size(1))
        return torch.ones_like(x), 1.0

    monkeypatch.setattr("transformer.kernels._draw", draw)
    toy_model().train()(SRC_BS, TGT_BT)
    assert drawn == [5] * (1 + 2 * TINY.n_encoder_layers) + [7] * (1 + 3 * TINY.n_decoder_layers)


@EACH_VARIANT
def test_every_parameter_receives_a_gradient(model: Transformer) -> None:
    model = copy.deepcopy(model)
    model(SRC_BS, TGT_BT).logsumexp(dim=-1).sum().backward()
    silent = [name for name, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]
    assert silent == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_recomputed_activations_give_the_same_gradients_and_generator_state(dtype: torch.dtype) -> None:
    """With dropout everywhere, recomputation must draw the same masks bit for bit."""
    config = dataclasses.replace(TINY, dropout=0.3, attention_dropout=0.2, ffn_dropout=0.1)
    results, n_calls = [], []
    for keeps in (True, False):
        model = toy_model(config).train()
        model.keeps_activations = keeps
        calls = [layer.register_forward_pre_hook(lambda *_: n_calls.append(1)) for layer in model.encoder]
        torch.manual_seed(7)
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            logits = model(SRC_BS, TGT_BT)
        logits.float().square().sum().backward()
        results.append([logits, torch.rand(3), *(parameter.grad for parameter in model.parameters())])
        assert len(n_calls) == (1 if keeps else 3) * len(calls), "nothing was computed twice"
    for kept, computed_again in zip(*results, strict=True):
        assert torch.equal(kept, computed_again)


def test_attention_maps_are_recorded_once_when_activations_are_recomputed() -> None:
    model = toy_model()
    model.keeps_activations = False
    maps = model.attention_maps(SRC_BS, TGT_BT)
    sum(weights.square().sum() for weights in (*maps.encoder, *maps.decoder, *maps.cross)).backward()
    assert [len(maps.encoder), len(maps.decoder), len(maps.cross)] == [2, 3, 3]


def test_under_autocast_logits_stay_close() -> None:
    model = toy_model(dataclasses.replace(TINY, d_model=64, d_ff=128))
    exact = model(SRC_BS, TGT_BT)
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(SRC_BS, TGT_BT)
    assert logits.dtype == torch.bfloat16
    assert (logits.float() - exact).square().mean() < 1e-3 * exact.square().mean()


@pytest.mark.parametrize("window", [None, 2])
def test_on_other_devices_training_reads_no_value_and_needs_no_causal_mask(
    window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tensors on the "meta" device have no values. A causal flag instead of a mask permits flash attention."""
    calls: list[tuple[bool, bool]] = []
    rates: set[float] = set()
    fused = F.scaled_dot_product_attention

    def attend(*qkv: Tensor, attn_mask: Tensor | None, is_causal: bool, dropout_p: float) -> Tensor:
        calls.append((attn_mask is not None, is_causal))
        rates.add(dropout_p)
        return fused(*qkv, attn_mask=attn_mask, is_causal=is_causal)

    monkeypatch.setattr(F, "scaled_dot_product_attention", attend)
    with torch.device("meta"):
        model = Transformer(dataclasses.replace(TINY, window=window, attention_dropout=0.25)).train()
        states = model.decode_states(TGT_BT.to("meta"), model.encode(SRC_BS.to("meta")))
        loss, _ = linear_smoothed_nll(states.flatten(0, 1), model.output_weight, TGT_BT.flatten().to("meta"), 0.1)
        loss.backward()
    cross, own = (True, False), (True, False) if window else (False, True)
    assert calls == [(True, False)] * TINY.n_encoder_layers + [own, cross] * TINY.n_decoder_layers
    assert rates == {0.25}
    rates.clear()
    model.eval().encode(SRC_BS.to("meta"))
    assert rates == {0.0}


@pytest.mark.compiles
def test_an_exported_model_has_the_same_logits_for_every_batch_size_and_length() -> None:
    model, both = MODELS["paper"], {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    exported = torch.export.export(model, (SRC_BS, TGT_BT), dynamic_shapes=(both, both)).module()
    for src_BS, tgt_BT in (
        (SRC_BS, TGT_BT),
        (random_ids(2, 13), random_ids(2, 3)),
        (random_ids(4, 2), random_ids(4, 6)),
    ):
        torch.testing.assert_close(exported(src_BS, tgt_BT), model(src_BS, tgt_BT))


@pytest.mark.compiles
def test_the_forward_pass_compiles_to_one_graph_with_and_without_dropout() -> None:
    model = toy_model()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(SRC_BS, TGT_BT), model(SRC_BS, TGT_BT))
    model.train()
    assert not torch.equal(compiled(SRC_BS, TGT_BT), compiled(SRC_BS, TGT_BT))


WIDE = ModelConfig(vocab_size=300, d_model=96, d_ff=160, n_heads=4, n_encoder_layers=1, n_decoder_layers=1)


@pytest.mark.parametrize("tying", ["all", "target", "none"])
def test_embeddings_start_with_variance_one_over_d_model(tying) -> None:
    model = Transformer(dataclasses.replace(WIDE, tying=tying))
    for weight in (model.src_embedding.weight_VD, model.tgt_embedding.weight_VD, model.output_weight):
        assert weight.var().item() == pytest.approx(1 / 96, rel=0.05)
        assert weight.mean().item() == pytest.approx(0, abs=0.003)


def test_matrices_start_xavier_uniform_norms_neutral_and_biases_at_zero() -> None:
    model = Transformer(dataclasses.replace(WIDE, attention_bias=True, norm="pre"))
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif "norm" in name:
            assert parameter.eq(1).all(), name
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            for weight in (*module.w_qkv.weight.split(96), module.w_o.weight):
                assert 0.98 * math.sqrt(3 / 96) < weight.abs().max().item() <= math.sqrt(3 / 96)


def test_initial_logits_are_about_as_large_as_one() -> None:
    """The initial perplexity is near the vocabulary size, so neither softmax nor gradients are extreme."""
    model = Transformer(WIDE).eval()
    src_BS, tgt_BT = random_ids(5, 7, vocab_size=300), random_ids(5, 9, vocab_size=300, seed=1)
    loss = F.cross_entropy(model(src_BS, tgt_BT).flatten(0, 1), random_ids(45, vocab_size=300, seed=2))
    assert loss.item() == pytest.approx(math.log(300), abs=1)


@settings(max_examples=5)
@given(SEEDS)
def test_the_seed_determines_the_initial_weights(seed: int) -> None:
    def initial(seed: int) -> Transformer:
        torch.manual_seed(seed)
        return Transformer(TINY)

    one, same, other = initial(seed), initial(seed), initial(seed + 1)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.output_weight, other.output_weight)


def test_calls_add_no_attributes_to_the_modules() -> None:
    """Caches and records are passed as arguments, so calls add no attributes."""
    model = toy_model()
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    model.attention_maps(SRC_BS, TGT_BT)
    model.decode_step(torch.ones(3, dtype=torch.long), model.new_cache(model.encode(SRC_BS)))
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before


def test_a_model_made_without_memory_gets_its_sinusoids_from_initialise() -> None:
    model = toy_model(TINY)
    with torch.device("meta"):
        other = Transformer(TINY)
    other = other.to_empty(device="cpu").eval()
    initialise(other)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(SRC_BS, TGT_BT), model(SRC_BS, TGT_BT))
