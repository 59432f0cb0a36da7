"""Encoder and decoder layers against PyTorch's with the same weights, and the residual around each sub-layer.

The feed-forward network is equation 2: two linear layers with a ReLU between them, for each position on its own.
"""

import dataclasses
import math

import pytest
import torch
from torch import Tensor, nn

from tests.toys import TINY, scramble
from transformer.attention import MultiHeadAttention, decoder_mask, encoder_mask, padding_mask
from transformer.config import ModelConfig, Norm
from transformer.kernels import dropout
from transformer.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from transformer.model import Transformer

NORMS = pytest.mark.parametrize("norm", ["post", "pre"])
BIASES = pytest.mark.parametrize("bias", [False, True], ids=["without bias", "with bias"])
TIGHT = {"rtol": 1e-5, "atol": 1e-5}

# PyTorch's layers cannot set the widths of keys and values.
PLAIN = dataclasses.replace(TINY, d_model=18, d_k=None, d_v=None)
SRC_BS = torch.tensor([[5, 6, 7, 8, 2], [9, 2, 0, 0, 0], [4, 3, 2, 0, 0]])
TGT_BT = torch.tensor([[1, 3, 4, 5, 6, 7, 8], [1, 9, 0, 0, 0, 0, 0], [1, 4, 5, 6, 0, 0, 0]])
SRC_TOKENS, TGT_TOKENS = SRC_BS.ne(PLAIN.pad), TGT_BT.ne(PLAIN.pad)


def plain(norm: Norm, bias: bool, n_layers: int = 1) -> ModelConfig:
    return dataclasses.replace(
        PLAIN, norm=norm, norm_eps=0.02, attention_bias=bias, n_encoder_layers=n_layers, n_decoder_layers=n_layers
    )


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copy the weights; biases that ours lacks are set to zero."""
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.w_qkv.weight)
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        for linear, bias in ((ours.w_qkv, theirs.in_proj_bias), (ours.w_o, theirs.out_proj.bias)):
            bias.zero_() if linear.bias is None else bias.copy_(linear.bias)


def copy_layer(
    ours: EncoderLayer | DecoderLayer, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
) -> None:
    copy_attention(ours.self_attn, theirs.self_attn)
    if isinstance(ours, DecoderLayer):
        copy_attention(ours.cross_attn, theirs.multihead_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.w_1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.w_2.state_dict())
    for i, residual in enumerate(ours.residuals, 1):
        getattr(theirs, f"norm{i}").load_state_dict(residual.norm.state_dict())


def options(config: ModelConfig) -> dict[str, object]:
    """The same architecture as arguments of PyTorch's layers."""
    return {
        "d_model": config.d_model,
        "nhead": config.n_heads,
        "dim_feedforward": config.d_ff,
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": config.norm == "pre",
        "layer_norm_eps": config.norm_eps,
    }


@NORMS
@BIASES
def test_the_encoder_layer_is_that_of_torch(norm: Norm, bias: bool) -> None:
    config = plain(norm, bias)
    ours, theirs = EncoderLayer(config).eval(), nn.TransformerEncoderLayer(**options(config))
    scramble(ours)
    copy_layer(ours, theirs)
    x_BSD = torch.randn(*SRC_BS.shape, config.d_model)
    expected = theirs(x_BSD, src_key_padding_mask=~SRC_TOKENS)
    out = ours(x_BSD, encoder_mask(padding_mask(SRC_BS, config.pad)))
    torch.testing.assert_close(out[SRC_TOKENS], expected[SRC_TOKENS], **TIGHT)


@NORMS
@BIASES
def test_the_decoder_layer_is_that_of_torch(norm: Norm, bias: bool) -> None:
    config = plain(norm, bias)
    ours, theirs = DecoderLayer(config).eval(), nn.TransformerDecoderLayer(**options(config))
    scramble(ours)
    copy_layer(ours, theirs)
    x_BTD, memory_BSD = torch.randn(*TGT_BT.shape, config.d_model), torch.randn(*SRC_BS.shape, config.d_model)
    future = torch.ones(7, 7, dtype=torch.bool).triu(1)
    expected = theirs(x_BTD, memory_BSD, tgt_mask=future, memory_key_padding_mask=~SRC_TOKENS)
    out = ours(x_BTD, memory_BSD, decoder_mask(7), padding_mask(SRC_BS, config.pad))
    torch.testing.assert_close(out, expected, **TIGHT)
    torch.testing.assert_close(ours(x_BTD, memory_BSD, None, padding_mask(SRC_BS, config.pad)), expected, **TIGHT)


@NORMS
@BIASES
def test_stacks_of_six_layers_are_those_of_torch(norm: Norm, bias: bool) -> None:
    """All of figure 1 between the embeddings and the output matrix, with the paper's N = 6."""
    config = plain(norm, bias, n_layers=6)
    model = Transformer(config).eval()
    for layer in (*model.encoder, *model.decoder):
        scramble(layer)
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**options(config)), 6, model.encoder_norm, enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**options(config)), 6, model.decoder_norm)
    for ours, theirs in ((model.encoder, encoder.layers), (model.decoder, decoder.layers)):
        for our_layer, their_layer in zip(ours, theirs, strict=True):
            copy_layer(our_layer, their_layer)
    memory = model.encode(SRC_BS)
    their_memory = encoder(model.src_embedding(SRC_BS, model.src_positions(0, 5)), src_key_padding_mask=~SRC_TOKENS)
    torch.testing.assert_close(memory.states[SRC_TOKENS], their_memory[SRC_TOKENS], **TIGHT)
    states = decoder(
        model.tgt_embedding(TGT_BT, model.tgt_positions(0, 7)),
        their_memory,
        tgt_mask=torch.ones(7, 7, dtype=torch.bool).triu(1),
        tgt_key_padding_mask=~TGT_TOKENS,
        memory_key_padding_mask=~SRC_TOKENS,
    )
    torch.testing.assert_close(model.decode_states(TGT_BT, memory)[TGT_TOKENS], states[TGT_TOKENS], **TIGHT)


@NORMS
def test_gradients_of_a_layer_are_those_of_torch(norm: Norm) -> None:
    config = plain(norm, bias=True)
    ours, theirs = DecoderLayer(config), nn.TransformerDecoderLayer(**options(config))
    ours.eval()
    scramble(ours)
    copy_layer(ours, theirs)
    x_BTD, memory_BSD = torch.randn(3, 7, config.d_model), torch.randn(3, 5, config.d_model)
    weight = torch.randn(3, 7, config.d_model)
    everything = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    (ours(x_BTD, memory_BSD, everything, everything) * weight).sum().backward()
    (theirs(x_BTD, memory_BSD) * weight).sum().backward()
    for our_attention, their_attention in (
        (ours.self_attn, theirs.self_attn),
        (ours.cross_attn, theirs.multihead_attn),
    ):
        torch.testing.assert_close(
            our_attention.w_qkv.weight.grad, their_attention.in_proj_weight.grad, rtol=1e-4, atol=1e-5
        )
    torch.testing.assert_close(ours.feed_forward.w_1.weight.grad, theirs.linear1.weight.grad, rtol=1e-4, atol=1e-5)


def residual(config: ModelConfig) -> Residual:
    module = Residual(config).eval()
    scramble(module)
    return module


def half(x: Tensor) -> Tensor:
    """An arbitrary sub-layer."""
    return 0.5 * x.roll(1, dims=-1) + 1


def test_post_norm_is_the_norm_of_the_sum() -> None:
    module, x_BTD = residual(TINY), torch.randn(3, 5, TINY.d_model)
    torch.testing.assert_close(module(x_BTD, half), module.norm(x_BTD + half(x_BTD)))


def test_pre_norm_leaves_the_stream_alone() -> None:
    module, x_BTD = residual(dataclasses.replace(TINY, norm="pre")), torch.randn(3, 5, TINY.d_model)
    torch.testing.assert_close(module(x_BTD, half), x_BTD + half(module.norm(x_BTD)))


@NORMS
def test_dropout_acts_on_the_output_of_the_sublayer(norm: Norm) -> None:
    """Section 5.4: before the sub-layer's output is added and normalised."""
    module = residual(dataclasses.replace(TINY, dropout=0.4, norm=norm)).train()
    x_BTD = torch.randn(3, 5, TINY.d_model)
    torch.manual_seed(1)
    out = module(x_BTD, half)
    torch.manual_seed(1)
    if norm == "post":
        expected = module.norm(x_BTD + dropout(half(x_BTD), 0.4, training=True))
    else:
        expected = x_BTD + dropout(half(module.norm(x_BTD)), 0.4, training=True)
    torch.testing.assert_close(out, expected)


@NORMS
def test_dropout_near_one_leaves_only_the_residual_path(norm: Norm) -> None:
    module = residual(dataclasses.replace(TINY, dropout=1 - 1e-9, norm=norm)).train()
    x_BTD = torch.randn(3, 5, TINY.d_model)
    torch.testing.assert_close(module(x_BTD, half), module.norm(x_BTD) if norm == "post" else x_BTD)


@pytest.mark.parametrize("n", [1, 5])
def test_a_post_norm_layer_starts_with_normal_outputs(n: int) -> None:
    """With initial gain 1 and bias 0, each position has mean 0 and variance 1."""
    config = dataclasses.replace(TINY, d_model=256)
    allowed = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    x_BTD, memory_BSD = 3 + 2 * torch.randn(3, n, 256), torch.randn(3, 7, 256)
    for out in (
        EncoderLayer(config).eval()(x_BTD, allowed),
        DecoderLayer(config).eval()(x_BTD, memory_BSD, allowed, allowed),
    ):
        torch.testing.assert_close(out.mean(dim=-1), torch.zeros(3, n), rtol=0, atol=1e-5)
        torch.testing.assert_close(out.var(dim=-1, correction=0), torch.ones(3, n), rtol=1e-3, atol=0)


def test_sublayers_come_in_the_order_of_figure_1(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, seen = DecoderLayer(TINY).eval(), []
    names = {layer.self_attn: "self-attention", layer.cross_attn: "encoder-decoder attention"}
    read = MultiHeadAttention.read
    monkeypatch.setattr(
        MultiHeadAttention, "read", lambda self, *a, **k: seen.append(names[self]) or read(self, *a, **k)
    )
    layer.feed_forward.register_forward_hook(lambda *_: seen.append("feed-forward"))
    allowed = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    layer(torch.randn(3, 5, TINY.d_model), torch.randn(3, 7, TINY.d_model), allowed, allowed)
    assert seen == ["self-attention", "encoder-decoder attention", "feed-forward"]


def test_both_attentions_of_a_decoder_layer_record_their_weights() -> None:
    layer = DecoderLayer(TINY).eval()
    x_BTD, memory_BSD = torch.randn(3, 5, TINY.d_model), torch.randn(3, 7, TINY.d_model)
    own: list[Tensor] = []
    cross: list[Tensor] = []
    everything = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    for mask in (decoder_mask(5), None):
        layer(x_BTD, memory_BSD, mask, everything, own, cross)
    assert [weights.shape for weights in own] == [(3, TINY.n_heads, 5, 5)] * 2
    assert [weights.shape for weights in cross] == [(3, TINY.n_heads, 5, 7)] * 2
    assert torch.equal(*own)


@pytest.fixture
def network() -> FeedForward:
    module = FeedForward(TINY).eval()
    scramble(module)
    return module


@pytest.fixture
def states() -> Tensor:
    return torch.randn(3, 5, TINY.d_model)


def test_it_is_equation_2(network: FeedForward, states: Tensor) -> None:
    w_1, b_1, w_2, b_2 = (p.double() for p in network.parameters())
    expected = torch.clamp(states.double() @ w_1.T + b_1, min=0) @ w_2.T + b_2
    torch.testing.assert_close(network(states), expected.float())


def test_swish_takes_the_place_of_the_rectifier_by_name(states: Tensor) -> None:
    network = FeedForward(dataclasses.replace(TINY, activation="swish")).eval()
    scramble(network)
    w_1, b_1, w_2, b_2 = (p.double() for p in network.parameters())
    inner = states.double() @ w_1.T + b_1
    torch.testing.assert_close(network(states), ((inner / (1 + (-inner).exp())) @ w_2.T + b_2).float())


def test_positions_do_not_influence_each_other(network: FeedForward, states: Tensor) -> None:
    changed = states.clone()
    changed[:, 2] += 1
    out, others = network(changed), [0, 1, 3, 4]
    assert torch.equal(out[:, others], network(states)[:, others])
    assert not torch.allclose(out[:, 2], network(states)[:, 2])


def test_the_input_is_not_modified(network: FeedForward, states: Tensor) -> None:
    before = states.clone()
    network(states)
    assert torch.equal(states, before)


def test_gradients_are_those_of_equation_2(network: FeedForward, states: Tensor) -> None:
    assert torch.autograd.gradcheck(network.double(), states.double().requires_grad_())


def test_dropout_acts_on_the_inner_layer_in_training_only(states: Tensor) -> None:
    network = FeedForward(dataclasses.replace(TINY, ffn_dropout=0.4))
    torch.manual_seed(1)
    out = network(states)
    torch.manual_seed(1)
    inner = dropout(torch.relu(network.w_1(states)), 0.4, training=True)
    torch.testing.assert_close(out, network.w_2(inner))
    assert torch.equal(network.eval()(states), network(states))


def test_the_papers_network_has_no_dropout_of_its_own(network: FeedForward, states: Tensor) -> None:
    assert torch.equal(network.train()(states), network.eval()(states))


@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_weights_start_xavier_uniform_and_biases_at_zero(gain: float) -> None:
    network = FeedForward(ModelConfig(vocab_size=7, d_model=98, n_heads=2, d_ff=157, init_gain=gain))
    network.initialise()
    bound = gain * math.sqrt(6 / (98 + 157))
    for linear in (network.w_1, network.w_2):
        assert bound * 0.99 < linear.weight.abs().max().item() <= bound
        assert linear.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
        assert not linear.bias.any()
