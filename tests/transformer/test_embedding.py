"""Embeddings: scaled, at their positions, with dropout on the sum."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import TINY, random_ids
from transformer.config import ModelConfig, Positions
from transformer.embedding import Embedding
from transformer.kernels.dropout import dropout
from transformer.positions import sinusoids

ORDERS = pytest.mark.parametrize("order", ["sinusoidal", "sinusoidal-blocks"])


def embedding(config: ModelConfig = TINY) -> Embedding:
    module = Embedding(config).eval()
    module.initialise()
    return module


@ORDERS
def test_a_token_is_its_scaled_row_plus_its_position(order: Positions) -> None:
    module = embedding(dataclasses.replace(TINY, positions=order))
    ids_BT = random_ids(3, 5)
    expected = math.sqrt(TINY.d_model) * module.weight_VD[ids_BT] + sinusoids(5, TINY.d_model, order)
    torch.testing.assert_close(module(ids_BT), expected)


def test_learned_positions_are_added_unscaled() -> None:
    module = embedding(dataclasses.replace(TINY, positions="learned"))
    ids_BT = random_ids(3, 5)
    expected = math.sqrt(TINY.d_model) * module.weight_VD[ids_BT] + module.position_TD[2:7]
    torch.testing.assert_close(module(ids_BT, start=2), expected)


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-blocks", "learned"])
@given(n=st.integers(1, 13), cut=st.integers(0, 12))
def test_a_sentence_in_two_parts_is_embedded_as_in_one(positions: Positions, n: int, cut: int) -> None:
    module = embedding(dataclasses.replace(TINY, positions=positions))
    ids_BT = random_ids(2, n)
    cut = min(cut, n)
    parts = torch.cat((module(ids_BT[:, :cut]), module(ids_BT[:, cut:], start=cut)), dim=1)
    assert torch.equal(parts, module(ids_BT))


@ORDERS
@given(start=st.integers(0, 60), n=st.integers(1, 60))
def test_sinusoids_go_on_beyond_the_stored_table(order: Positions, start: int, n: int) -> None:
    module = embedding(dataclasses.replace(TINY, positions=order))
    torch.testing.assert_close(module.positions(start, n), sinusoids(start + n, TINY.d_model, order)[start:])


def test_learned_positions_end_where_they_end() -> None:
    module = embedding(dataclasses.replace(TINY, positions="learned"))
    module(random_ids(2, TINY.max_length))
    with pytest.raises(ValueError, match="position 13 is beyond max_length = 13"):
        module(random_ids(2, 4), start=10)


def test_sinusoids_are_no_weights() -> None:
    assert list(embedding().state_dict()) == ["weight_VD"]
    learned = embedding(dataclasses.replace(TINY, positions="learned"))
    assert sorted(learned.state_dict()) == ["position_TD", "weight_VD"]


def test_scaled_embeddings_start_with_unit_variance() -> None:
    """Hence as large as the positions that are added to them, whose mean square is 1/2."""
    config = ModelConfig(vocab_size=2000, d_model=128, positions="learned")
    module = embedding(config)
    scaled = module.scale * module.weight_VD
    assert scaled.var().item() == pytest.approx(1, rel=0.02)
    assert scaled.mean().item() == pytest.approx(0, abs=0.01)
    assert module.position_TD.var().item() == pytest.approx(1 / 128, rel=0.02)


def test_dropout_acts_on_the_sum_of_token_and_position() -> None:
    module = embedding(dataclasses.replace(TINY, dropout=0.4))
    ids_BT = random_ids(3, 5)
    whole = module(ids_BT)
    torch.manual_seed(1)
    trained = module.train()(ids_BT)
    torch.manual_seed(1)
    assert torch.equal(trained, dropout(whole, 0.4, training=True))


def test_only_rows_that_were_read_receive_gradients() -> None:
    module = embedding()
    module(torch.tensor([[5, 7, 5]])).sum().backward()
    touched = module.weight_VD.grad.abs().sum(dim=1).nonzero()[:, 0]
    assert touched.tolist() == [5, 7]
    torch.testing.assert_close(module.weight_VD.grad[5], 2 * module.weight_VD.grad[7])


def test_under_autocast_the_stream_takes_the_type_of_the_products() -> None:
    module, ids_BT = embedding(), random_ids(3, 5)
    with torch.autocast("cpu", torch.bfloat16):
        out = module(ids_BT)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out, module(ids_BT).bfloat16())
