"""Equation 2: two linear layers with a ReLU between them, applied to each position separately."""

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from tests.toys import TINY, scramble
from transformer.config import ModelConfig
from transformer.feedforward import FeedForward
from transformer.kernels.dropout import dropout


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
    """The ReLU works in place and must keep the values that the backward pass needs."""
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
