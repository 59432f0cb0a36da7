"""A grown model computes the function of the smaller one, and all its new weights can learn."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.toys import TINY, scramble
from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.training.growth import grow, may_grow

SMALL = replace(TINY, norm="pre", n_encoder_layers=2, n_decoder_layers=3)
SRC, TGT = torch.tensor([[5, 9, 3, 11, 4], [7, 6, 2, 0, 0]]), torch.tensor([[1, 8, 13], [1, 5, 10]])


def scrambled(config: ModelConfig) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(config).eval()
    scramble(model)
    return model


def grown(small: Transformer, config: ModelConfig) -> Transformer:
    torch.manual_seed(5)
    model = Transformer(config).eval()
    model.load_state_dict(grow(small.state_dict(), model.state_dict(), small.config, config))
    return model


def logits(model: Transformer) -> Tensor:
    with torch.no_grad():
        return model(SRC, TGT)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 7), st.integers(3, 7), st.integers(11, 19), st.booleans())
def test_a_grown_model_computes_the_same_logits(n_encoder_layers, n_decoder_layers, d_ff, biased):
    small = scrambled(replace(SMALL, attention_bias=biased))
    config = replace(small.config, n_encoder_layers=n_encoder_layers, n_decoder_layers=n_decoder_layers, d_ff=d_ff)
    torch.testing.assert_close(logits(grown(small, config)), logits(small), rtol=1e-5, atol=1e-5)


def test_a_wider_post_norm_model_computes_the_same_logits():
    small = scrambled(replace(SMALL, norm="post"))
    torch.testing.assert_close(
        logits(grown(small, replace(small.config, d_ff=17))), logits(small), rtol=1e-5, atol=1e-5
    )


def test_trained_layers_keep_their_order_and_copies_follow_them():
    small = scrambled(SMALL)
    large = grown(small, replace(SMALL, n_encoder_layers=5)).state_dict()
    name = "encoder.{}.self_attn.w_qkv.weight"
    sources = [
        next(i for i in range(2) if large[name.format(j)].equal(small.state_dict()[name.format(i)])) for j in range(5)
    ]
    assert sources == [0, 0, 0, 1, 1]
    is_new = [not large[f"encoder.{j}.self_attn.w_o.weight"].any() for j in range(5)]
    assert is_new == [False, True, True, False, True]


def test_every_new_weight_learns_within_two_updates():
    """Zero matrices stop gradients of what lies before them only until their own first update."""
    model = grown(scrambled(SMALL), replace(SMALL, n_encoder_layers=3, n_decoder_layers=4, d_ff=17))
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(SRC, TGT).flatten(0, 1), torch.arange(3, 9)).backward()
        optimizer.step()
    assert [name for name, parameter in model.named_parameters() if parameter.equal(before[name])] == []


@pytest.mark.parametrize(
    ("key", "value", "norm", "expected"),
    [
        ("d_ff", 17, "post", True),
        ("d_ff", 7, "pre", False),
        ("n_encoder_layers", 3, "pre", True),
        ("n_encoder_layers", 3, "post", False),
        ("n_decoder_layers", 4, "pre", True),
        ("n_decoder_layers", 2, "pre", False),
        ("d_model", 22, "pre", False),
    ],
)
def test_what_may_grow(key, value, norm, expected):
    small = replace(SMALL, norm=norm)
    assert may_grow(key, small, replace(small, **{key: value})) is expected
