"""Attention small enough to follow by hand, computed by the library's multi-head attention with given weights."""

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from transformer.attention import MultiHeadAttention, attention_weights, causal_mask
from transformer.config import ModelConfig

# The words "Hello", "shiny", "sun".
THREE_WORDS = torch.tensor([[0.34, 0.22, 0.54], [0.53, 0.34, 0.98], [0.29, 0.54, 0.93]])
SIX_WORDS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
Heads = Sequence[tuple[Tensor, Tensor, Tensor]]


def loaded(heads: Heads, w_o: Tensor) -> MultiHeadAttention:
    """Multi-head attention with the given W_i^Q, W_i^K (D, K), W_i^V (D, V) and W^O (H V, D)."""
    w_q, _, w_v = heads[0]
    config = ModelConfig(
        vocab_size=7, d_model=w_q.size(0), n_heads=len(heads), d_k=w_q.size(1), d_v=w_v.size(1), positions="learned"
    )
    module = MultiHeadAttention(config).eval()
    rows = [matrix.T for kind in zip(*heads, strict=True) for matrix in kind]
    module.load_state_dict({"w_qkv.weight": torch.cat(rows), "w_o.weight": w_o.T})
    return module


def without_projections() -> MultiHeadAttention:
    """Attention with identity projections; sqrt(d_k) in W^Q cancels the scaling."""
    identity = torch.eye(3)
    return loaded([(math.sqrt(3) * identity, identity, identity)], identity)


def test_shiny_among_three_words() -> None:
    (context,) = without_projections()(THREE_WORDS[None], None)
    torch.testing.assert_close(context[1], torch.tensor([0.3992, 0.3858, 0.8610]), rtol=0, atol=5e-4)


def test_the_second_of_six_words() -> None:
    weights: list[Tensor] = []
    (context,) = without_projections()(SIX_WORDS[None], None, weights)
    expected = torch.tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581])
    torch.testing.assert_close(weights[0][0, 0, 1], expected, rtol=0, atol=5e-5)
    torch.testing.assert_close(context[1], torch.tensor([0.4419, 0.6515, 0.5683]), rtol=0, atol=5e-5)


def test_scores_of_the_second_of_six_words_by_sum_and_by_softmax() -> None:
    q, k, _ = without_projections().project(SIX_WORDS[None])
    scores = (q @ k.transpose(-2, -1))[0, 0, 1] / math.sqrt(3)
    expected = torch.tensor([0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865])
    torch.testing.assert_close(scores, expected, rtol=0, atol=5e-5)
    by_sum = torch.tensor([0.1455, 0.2278, 0.2249, 0.1285, 0.1077, 0.1656])
    torch.testing.assert_close(scores / scores.sum(), by_sum, rtol=0, atol=5e-5)


def random_projections(n_heads: int) -> Heads:
    """Query, key and value matrix of each head, drawn in this order."""
    torch.manual_seed(123)
    return [(torch.rand(3, 2), torch.rand(3, 2), torch.rand(3, 2)) for _ in range(n_heads)]


def test_six_words_with_projections_and_scaling() -> None:
    heads_alone = torch.eye(2, 3)  # W^O appends a zero to the two numbers of the head
    (rows,) = loaded(random_projections(1), heads_alone)(SIX_WORDS[None], None)
    expected = [
        [0.2996, 0.8053],
        [0.3061, 0.8210],
        [0.3058, 0.8203],
        [0.2948, 0.7939],
        [0.2927, 0.7891],
        [0.2990, 0.8040],
    ]
    torch.testing.assert_close(rows[:, :2], torch.tensor(expected), rtol=0, atol=5e-5)
    assert not rows[:, 2].any()


def test_query_scores_and_weights_of_the_second_of_six_words_with_projections() -> None:
    q, k, _ = loaded(random_projections(1), torch.eye(2, 3)).project(SIX_WORDS[None])
    query = q[0, 0, 1]
    torch.testing.assert_close(query, torch.tensor([0.4306, 1.4551]), rtol=0, atol=5e-5)
    scores = torch.tensor([1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440])
    torch.testing.assert_close(k[0, 0] @ query, scores, rtol=0, atol=5e-5)
    weights = torch.tensor([0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820])
    torch.testing.assert_close(attention_weights(q, k, None)[0, 0, 1], weights, rtol=0, atol=5e-5)


def test_six_words_with_the_initial_values_of_linear_layers() -> None:
    torch.manual_seed(789)
    w_q, w_k, w_v = (torch.nn.Linear(3, 2, bias=False).weight.detach().T for _ in range(3))
    (rows,) = loaded([(w_q, w_k, w_v)], torch.eye(2, 3))(SIX_WORDS[None], None)
    expected = [
        [-0.0739, 0.0713],
        [-0.0748, 0.0703],
        [-0.0749, 0.0702],
        [-0.0760, 0.0685],
        [-0.0763, 0.0679],
        [-0.0754, 0.0693],
    ]
    torch.testing.assert_close(rows[:, :2], torch.tensor(expected), rtol=0, atol=5e-5)


def by_hand(words: Tensor, heads: Heads, causal: bool) -> list[list[float]]:
    """Concat(head_1 .. head_h) in Python floats (float64), one word at a time."""

    def product(word: list[float], matrix: Tensor) -> list[float]:
        return [sum(a * b for a, b in zip(word, column, strict=True)) for column in matrix.T.tolist()]

    rows: list[list[float]] = [[] for _ in words]
    for w_q, w_k, w_v in heads:
        queries, keys, values = ([product(word, w) for word in words.tolist()] for w in (w_q, w_k, w_v))
        for t, query in enumerate(queries):
            n = t + 1 if causal else len(keys)
            scores = [sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)) for key in keys[:n]]
            factors = [math.exp(score) for score in scores]
            rows[t] += [
                sum(f * value[i] for f, value in zip(factors, values[:n], strict=True)) / sum(factors)
                for i in range(w_v.size(1))
            ]
    return rows


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("causal", [False, True], ids=["all words", "earlier words"])
def test_masked_and_multi_head_forms_equal_plain_python_sums(n_heads: int, causal: bool) -> None:
    heads = random_projections(n_heads)
    w_o = torch.randn(2 * n_heads, 3)
    (rows,) = loaded(heads, w_o)(SIX_WORDS[None], causal_mask(6) if causal else None)
    torch.testing.assert_close(rows, torch.tensor(by_hand(SIX_WORDS, heads, causal)) @ w_o)


def test_masked_weights_are_the_unmasked_ones_renormalised() -> None:
    """Softmax over the first words equals the full softmax, cut off and renormalised."""
    w_q, w_k, _ = random_projections(1)[0]
    q, k = (SIX_WORDS @ w_q)[None, None], (SIX_WORDS @ w_k)[None, None]
    cut = attention_weights(q, k, None).tril()
    torch.testing.assert_close(attention_weights(q, k, causal_mask(6)), cut / cut.sum(dim=-1, keepdim=True))


def test_the_two_forms_differ_by_the_scaling_only() -> None:
    """The same words without and with division by sqrt(3): scaled weights are more even."""
    weights: list[Tensor] = []
    without_projections()(SIX_WORDS[None], None, weights)
    identity = torch.eye(3)
    loaded([(identity, identity, identity)], identity)(SIX_WORDS[None], None, weights)
    unscaled, scaled = (w[0, 0, 1] for w in weights)
    torch.testing.assert_close((SIX_WORDS @ SIX_WORDS[1]).softmax(dim=0), unscaled)
    assert scaled.var() < unscaled.var()
