"""Equation 1 against plain Python sums, PyTorch's fused kernel and PyTorch's multi-head attention.

Every mask is True where reading is allowed, and no row is empty.
"""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from tests.toys import TINY, scramble
from transformer.attention import (
    MultiHeadAttention,
    attend,
    attend_fast,
    attention_weights,
    causal_mask,
    decoder_mask,
    encoder_mask,
    padding_mask,
    window_mask,
)
from transformer.config import ModelConfig
from transformer.kernels import dropout

SIZES = st.integers(1, 7)
N_KEYS = SIZES | st.integers(15, 19)  # shorter and longer than a vector of the CPU
SEEDS = st.integers(0, 2**32)
KERNELS = pytest.mark.parametrize("kernel", [attend, attend_fast, F.scaled_dot_product_attention])
Problem = tuple[Tensor, Tensor, Tensor, Tensor]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Queries, keys, values and a mask without empty rows, of any shape."""
    b, h, t, d_k, d_v, s = *(draw(SIZES) for _ in range(5)), draw(N_KEYS)
    torch.manual_seed(draw(SEEDS))
    allowed = torch.rand(b, 1, t, s) < draw(st.floats(0, 1))
    allowed[..., draw(st.integers(0, s - 1))] = True
    return torch.randn(b, h, t, d_k), torch.randn(b, h, s, d_k), torch.randn(b, h, s, d_v), allowed


def written_out(q: list[list[float]], k: list[list[float]], v: list[list[float]], allowed: list[list[bool]]) -> Tensor:
    """Equation 1 for one head as sums of Python floats (float64)."""
    rows = []
    for query, row in zip(q, allowed, strict=True):
        factors = [
            math.exp(sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query))) if may else 0.0
            for key, may in zip(k, row, strict=True)
        ]
        rows.append(
            [sum(f * value[i] for f, value in zip(factors, v, strict=True)) / sum(factors) for i in range(len(v[0]))]
        )
    return torch.tensor(rows)


@KERNELS
@given(problem=problems())
def test_attention_is_equation_1(kernel, problem: Problem) -> None:
    q, k, v, allowed = problem
    out = kernel(q, k, v, allowed)
    for b in range(q.size(0)):
        for h in range(q.size(1)):
            expected = written_out(*(x[b, h].tolist() for x in (q, k, v)), allowed[b, 0].tolist())
            torch.testing.assert_close(out[b, h], expected, rtol=1e-5, atol=1e-5)


@given(problem=problems())
def test_written_out_and_fused_kernel_agree(problem: Problem) -> None:
    q, k, v, allowed = problem
    fused = F.scaled_dot_product_attention
    torch.testing.assert_close(attend(q, k, v, allowed), fused(q, k, v, allowed), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(attend(q, k, v, None), fused(q, k, v, None), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("own", [attend, attend_fast])
@given(problem=problems())
def test_gradients_of_own_and_fused_kernels_agree(own, problem: Problem) -> None:
    *inputs, allowed = problem
    gradients = []
    for kernel in (own, F.scaled_dot_product_attention):
        leaves = [x.clone().requires_grad_() for x in inputs]
        out = kernel(*leaves, allowed)
        gradients.append(torch.autograd.grad(out.square().sum(), leaves))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


@KERNELS
@given(problem=problems(), seed=SEEDS)
def test_a_key_that_is_not_allowed_has_exactly_zero_influence(kernel, problem: Problem, seed: int) -> None:
    q, k, v, allowed = problem
    before = kernel(q, k, v, allowed)
    torch.manual_seed(seed)
    s = int(torch.randint(k.size(2), ()))
    k[:, :, s], v[:, :, s] = 100 * torch.randn(2, 1)
    blind = ~allowed[:, 0, :, s]  # (B, T): the queries that may not read key s
    assert torch.equal(kernel(q, k, v, allowed).transpose(1, 2)[blind], before.transpose(1, 2)[blind])


@KERNELS
@given(problem=problems(), seed=SEEDS)
def test_the_order_of_the_keys_does_not_matter(kernel, problem: Problem, seed: int) -> None:
    q, k, v, allowed = problem
    order = torch.randperm(k.size(2), generator=torch.Generator().manual_seed(seed))
    permuted = kernel(q, k[:, :, order], v[:, :, order], allowed[..., order])
    torch.testing.assert_close(permuted, kernel(q, k, v, allowed), rtol=1e-5, atol=1e-5)


@given(problem=problems())
def test_weights_are_a_distribution_over_the_allowed_keys(problem: Problem) -> None:
    q, k, _, allowed = problem
    weights = attention_weights(q, k, allowed)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(q.shape[:-1]))
    assert bool((weights >= 0).all())
    assert bool((weights.masked_select(~allowed) == 0).all())


def test_scores_of_any_size_give_finite_weights() -> None:
    q, k = 1e18 * torch.randn(3, 1, 5, 7), 1e18 * torch.randn(3, 1, 11, 7)
    weights = attention_weights(q, k, None)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 1, 5))


@KERNELS
def test_a_masked_key_has_no_weight_even_if_all_other_scores_are_very_low(kernel) -> None:
    """A large negative number in place of -inf would fail here."""
    q, k = torch.full((1, 1, 1, 4), 1e5), torch.tensor([-1e5, 0.0])[:, None].expand(1, 1, 2, 4)
    allowed = torch.tensor([[[[True, False]]]])
    assert kernel(q, k, torch.tensor([[[[3.0], [5.0]]]]), allowed).item() == 3


def test_scaling_keeps_the_variance_of_scores_at_one() -> None:
    """Footnote 4: a dot product of d_k standard normal pairs has variance d_k."""
    q, k = torch.randn(2, 1, 1, 3000, 512)
    log_weights = attention_weights(q, k, None).log()
    assert (log_weights - log_weights.mean(dim=-1, keepdim=True)).var().item() == pytest.approx(1, abs=0.02)


def test_dropout_acts_on_the_weights() -> None:
    q, k, v = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 13)
    torch.manual_seed(1)
    out = attend(q, k, v, None, 0.4)
    torch.manual_seed(1)
    torch.testing.assert_close(out, dropout(attention_weights(q, k, None), 0.4, training=True) @ v)


@given(problem=problems(), seed=SEEDS)
def test_dropout_of_the_weights_lets_no_forbidden_key_through(problem: Problem, seed: int) -> None:
    q, k, v, allowed = problem
    outs = []
    for _ in range(2):
        torch.manual_seed(seed)
        outs.append(attend_fast(q, k, v, allowed, 0.3))
        s = seed % k.size(2)
        k[:, :, s], v[:, :, s] = 100.0, -100.0
    blind = ~allowed[:, 0, :, s]
    assert torch.equal(*(out.transpose(1, 2)[blind] for out in outs))


def attention(config: ModelConfig, seed: int = 0) -> MultiHeadAttention:
    torch.manual_seed(seed)
    module = MultiHeadAttention(config)
    scramble(module, seed)
    return module


@given(b=SIZES, t=SIZES, s=SIZES, h=SIZES, d_head=SIZES, bias=st.booleans(), seed=SEEDS)
def test_multi_head_attention_is_that_of_torch(
    b: int, t: int, s: int, h: int, d_head: int, bias: bool, seed: int
) -> None:
    config = ModelConfig(vocab_size=7, d_model=h * d_head, n_heads=h, positions="learned", attention_bias=bias)
    ours = attention(config, seed % 2**31)
    theirs = nn.MultiheadAttention(config.d_model, h, bias=bias, batch_first=True)
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.w_qkv.weight,
            "out_proj.weight": ours.w_o.weight,
            **({"in_proj_bias": ours.w_qkv.bias, "out_proj.bias": ours.w_o.bias} if bias else {}),
        }
    )
    x, memory = torch.randn(b, t, config.d_model), torch.randn(b, s, config.d_model)
    allowed = torch.rand(b, 1, t, s) < 0.5
    allowed[..., 0] = True
    weights: list[Tensor] = []
    out = ours.read(ours.queries(x), *ours.keys_values(memory), allowed, weights)
    # PyTorch's mask is True where forbidden, with one copy for every sentence and head.
    forbidden = (~allowed).expand(b, h, t, s).flatten(0, 1)
    expected, expected_weights = theirs(x, memory, memory, attn_mask=forbidden, average_attn_weights=False)
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(weights[0], expected_weights, rtol=1e-5, atol=1e-5)


def test_heads_may_have_any_widths() -> None:
    """Concat(head_1 .. head_h) W^O with d_k = 5 and d_v = 7; d_model = 14 is not divisible by 3 heads."""
    module = attention(TINY)
    x_BTD = torch.randn(2, 9, TINY.d_model)
    w_q, w_k, w_v = module.w_qkv.weight.split([15, 15, 21])
    heads = []
    for i in range(3):
        q, k = x_BTD @ w_q[5 * i : 5 * i + 5].T, x_BTD @ w_k[5 * i : 5 * i + 5].T
        v = x_BTD @ w_v[7 * i : 7 * i + 7].T
        heads.append(torch.softmax(q @ k.mT / math.sqrt(5), dim=-1) @ v)
    expected = torch.cat(heads, dim=-1) @ module.w_o.weight.T
    torch.testing.assert_close(module(x_BTD, None), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bias", [False, True])
def test_one_product_and_two_products_give_the_same_projections(bias: bool) -> None:
    """Cross-attention projects queries separately from keys and values; self-attention in one product."""
    module = attention(dataclasses.replace(TINY, attention_bias=bias))
    x_BTD = torch.randn(3, 5, TINY.d_model)
    torch.testing.assert_close(module.project(x_BTD), (module.queries(x_BTD), *module.keys_values(x_BTD)))


def test_self_attention_equals_attention_with_its_own_keys_and_values() -> None:
    module = attention(TINY)
    x_BTD, allowed = torch.randn(3, 5, TINY.d_model), torch.ones(5, 5, dtype=torch.bool).tril()[None, None]
    apart = module.read(module.queries(x_BTD), *module.keys_values(x_BTD), allowed)
    torch.testing.assert_close(module(x_BTD, allowed), apart)


def test_returning_the_weights_changes_no_output() -> None:
    module = attention(TINY)
    x_BTD, weights_out = torch.randn(3, 5, TINY.d_model), []
    assert torch.equal(module(x_BTD, None, weights_out), module(x_BTD, None))
    assert [weights.shape for weights in weights_out] == [(3, 3, 5, 5)]


def test_attention_dropout_acts_in_training_only() -> None:
    module = attention(dataclasses.replace(TINY, attention_dropout=0.5))
    x_BTD = torch.randn(3, 5, TINY.d_model)
    evaluated = module.eval()(x_BTD, None)
    assert torch.equal(module(x_BTD, None), evaluated)
    trained = module.train()(x_BTD, None)
    assert not torch.allclose(trained, evaluated)
    module.dropout = 0.0
    assert torch.equal(module(x_BTD, None), evaluated)


@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_each_projection_is_initialised_xavier_uniform_with_its_own_fans(gain: float) -> None:
    """One matrix holds W^Q, W^K and W^V, but each has its own fan-out; the gain applies to V and O only."""
    config = ModelConfig(vocab_size=7, d_model=98, n_heads=3, d_k=19, d_v=41, attention_bias=True, init_gain=gain)
    module = MultiHeadAttention(config)
    module.initialise()
    weights = (*module.w_qkv.weight.split([57, 57, 123]), module.w_o.weight)
    for weight, factor in zip(weights, (1.0, 1.0, gain, gain), strict=True):
        bound = factor * math.sqrt(6 / sum(weight.shape))
        assert weight.abs().max().item() == pytest.approx(bound, rel=0.01)
        assert weight.abs().max().item() <= bound
        assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    assert not module.w_qkv.bias.any()
    assert not module.w_o.bias.any()


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_causal_is_equivalent_to_a_causal_mask(rate: float) -> None:
    q, k, v = torch.randn(3, 2, 3, 5, 7)
    torch.manual_seed(1)
    out = attend_fast(q, k, v, None, rate, causal=True)
    torch.manual_seed(1)
    torch.testing.assert_close(out, attend(q, k, v, causal_mask(5), rate))


def test_the_fused_kernel_reads_the_same_mask() -> None:
    """True means allowed, as in PyTorch's kernel; its attention layers use the opposite."""
    q, k, v = torch.randn(3, 1, 1, 5, 7)
    only_first = torch.zeros(1, 1, 5, 5, dtype=torch.bool)
    only_first[..., 0] = True
    for kernel in (attend, attend_fast, F.scaled_dot_product_attention):
        torch.testing.assert_close(kernel(q, k, v, only_first), v[:, :, :1].expand_as(v))


PAD = 3
LENGTHS = st.integers(1, 9)
WINDOWS = st.none() | st.integers(1, 9)


@st.composite
def padded_ids(draw: st.DrawFn) -> Tensor:
    """Sentences of at least one token, padded on the right."""
    lengths = draw(st.lists(LENGTHS, min_size=1, max_size=5))
    ids_BS = torch.full((len(lengths), max(lengths)), PAD)
    for row, n in zip(ids_BS, lengths, strict=True):
        row[:n] = torch.arange(n) + PAD + 1
    return ids_BS


def self_attention(x_BTK: Tensor, allowed: Tensor | None, is_causal: bool = False) -> Tensor:
    x_B1TK = x_BTK[:, None]
    return F.scaled_dot_product_attention(x_B1TK, x_B1TK, x_B1TK, attn_mask=allowed, is_causal=is_causal)


@given(LENGTHS)
def test_the_causal_mask_is_what_pytorch_calls_causal(n: int) -> None:
    x = torch.randn(2, n, 5)
    torch.testing.assert_close(self_attention(x, causal_mask(n)), self_attention(x, None, is_causal=True))


@given(padded_ids())
def test_masked_padding_gives_the_same_result_as_no_padding(ids_BS: Tensor) -> None:
    x_BSK = torch.randn(*ids_BS.shape, 5)
    out = self_attention(x_BSK, padding_mask(ids_BS, PAD))
    for b, n in enumerate(ids_BS.ne(PAD).sum(dim=1).tolist()):
        torch.testing.assert_close(out[b, :, :n], self_attention(x_BSK[b : b + 1, :n], None)[0])


@given(LENGTHS, LENGTHS)
def test_a_window_reaches_equally_far_to_both_sides(n: int, window: int) -> None:
    mask = window_mask(n, window)[0, 0]
    assert mask.tolist() == [[abs(t - s) <= window for s in range(n)] for t in range(n)]


@given(LENGTHS, WINDOWS)
def test_the_decoder_reads_the_past_within_the_window(n: int, window: int | None) -> None:
    mask = decoder_mask(n, window)[0, 0]
    reach = n if window is None else window
    assert mask.tolist() == [[t - reach <= s <= t for s in range(n)] for t in range(n)]


@given(padded_ids(), WINDOWS)
def test_the_encoder_reads_tokens_within_the_window(ids_BS: Tensor, window: int | None) -> None:
    n = ids_BS.size(1)
    mask = encoder_mask(padding_mask(ids_BS, PAD), window)[:, 0].expand(-1, n, n)
    for ids, rows in zip(ids_BS.tolist(), mask.tolist(), strict=True):
        for t, row in enumerate(rows):
            if ids[t] != PAD:
                assert row == [ids[s] != PAD and (window is None or abs(t - s) <= window) for s in range(n)]


@given(padded_ids(), WINDOWS)
def test_only_padding_itself_may_read_padding(ids_BS: Tensor, window: int | None) -> None:
    n = ids_BS.size(1)
    mask = encoder_mask(padding_mask(ids_BS, PAD), window)[:, 0].expand(-1, n, n)
    others = ~torch.eye(n, dtype=torch.bool)
    assert not (mask & others & ids_BS.eq(PAD)[:, None, :]).any()


@given(padded_ids(), WINDOWS)
def test_no_row_is_empty(ids_BS: Tensor, window: int | None) -> None:
    masks = (
        padding_mask(ids_BS, PAD),
        encoder_mask(padding_mask(ids_BS, PAD), window),
        decoder_mask(ids_BS.size(1), window),
    )
    for mask in masks:
        assert mask.dtype == torch.bool
        assert mask.any(dim=-1).all()


@given(padded_ids())
def test_the_causal_mask_covers_padding_on_the_right(ids_BS: Tensor) -> None:
    """So the decoder needs no padding mask: for real tokens, the causal mask already excludes padding."""
    causal = causal_mask(ids_BS.size(1))
    both = causal & padding_mask(ids_BS, PAD)
    tokens = ids_BS.ne(PAD)[:, None, :, None]
    assert torch.equal(both & tokens, causal & tokens)


def test_a_sentence_of_padding_only_is_refused() -> None:
    ids_BS = torch.tensor([[5, 6, 7], [PAD, PAD, PAD]])
    with pytest.raises(ValueError, match="only padding"):
        padding_mask(ids_BS, PAD)


def test_masks_on_other_devices_are_built_without_reading_values() -> None:
    """Tensors on the "meta" device have no values; on a GPU, reading one would synchronise."""
    assert padding_mask(torch.ones(2, 3, dtype=torch.long, device="meta"), PAD).shape == (2, 1, 1, 3)
