"""Embeddings: scaled, added to positions, with dropout on the sum."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import TINY, random_ids
from transformer.config import ModelConfig, Positions
from transformer.embedding import Embedding, PositionEncoding
from transformer.kernels.dropout import dropout
from transformer.positions import sinusoids

ORDERS = pytest.mark.parametrize("order", ["sinusoidal", "sinusoidal-blocks"])


def embedding(config: ModelConfig = TINY) -> tuple[Embedding, PositionEncoding]:
    modules = Embedding(config).eval(), PositionEncoding(config)
    for module in modules:
        module.initialise()
    return modules


@ORDERS
def test_a_token_is_its_scaled_row_plus_its_position(order: Positions) -> None:
    module, positions = embedding(dataclasses.replace(TINY, positions=order))
    ids_BT = random_ids(3, 5)
    expected = math.sqrt(TINY.d_model) * module.weight_VD[ids_BT] + sinusoids(5, TINY.d_model, order)
    torch.testing.assert_close(module(ids_BT, positions(0, 5)), expected)


def test_learned_positions_are_added_unscaled() -> None:
    module, positions = embedding(dataclasses.replace(TINY, positions="learned"))
    ids_BT = random_ids(3, 5)
    expected = math.sqrt(TINY.d_model) * module.weight_VD[ids_BT] + positions.table_TD[2:7]
    torch.testing.assert_close(module(ids_BT, positions(2, 5)), expected)


@pytest.mark.parametrize("kind", ["sinusoidal", "sinusoidal-blocks", "learned"])
@given(n=st.integers(1, 13), cut=st.integers(0, 12))
def test_embedding_in_two_parts_equals_embedding_at_once(kind: Positions, n: int, cut: int) -> None:
    _, positions = embedding(dataclasses.replace(TINY, positions=kind))
    cut = min(cut, n)
    assert torch.equal(torch.cat((positions(0, cut), positions(cut, n - cut))), positions(0, n))


@ORDERS
@given(start=st.integers(0, 60), n=st.integers(1, 60))
def test_sinusoids_continue_beyond_the_stored_table(order: Positions, start: int, n: int) -> None:
    _, positions = embedding(dataclasses.replace(TINY, positions=order))
    torch.testing.assert_close(positions(start, n), sinusoids(start + n, TINY.d_model, order)[start:])


def test_learned_positions_end_at_max_length() -> None:
    _, positions = embedding(dataclasses.replace(TINY, positions="learned"))
    positions(0, TINY.max_length)
    with pytest.raises(ValueError, match="position 13 is beyond max_length = 13"):
        positions(10, 4)


def test_sinusoids_are_not_stored_with_the_weights() -> None:
    assert list(embedding()[1].state_dict()) == []
    assert list(embedding(dataclasses.replace(TINY, positions="learned"))[1].state_dict()) == ["table_TD"]


def test_scaled_embeddings_start_with_unit_variance() -> None:
    """This is the scale of the positions added to them, whose mean square is 1/2."""
    module, positions = embedding(ModelConfig(vocab_size=2000, d_model=128, positions="learned"))
    scaled = module.scale * module.weight_VD
    assert scaled.var().item() == pytest.approx(1, rel=0.02)
    assert scaled.mean().item() == pytest.approx(0, abs=0.01)
    assert positions.table_TD.var().item() == pytest.approx(1 / 128, rel=0.02)


def test_dropout_acts_on_the_sum_of_token_and_position() -> None:
    module, positions = embedding(dataclasses.replace(TINY, dropout=0.4))
    ids_BT, position_TD = random_ids(3, 5), positions(0, 5)
    whole = module(ids_BT, position_TD)
    torch.manual_seed(1)
    trained = module.train()(ids_BT, position_TD)
    torch.manual_seed(1)
    assert torch.equal(trained, dropout(whole, 0.4, training=True))


def test_only_rows_that_were_read_receive_gradients() -> None:
    module, positions = embedding()
    module(torch.tensor([[5, 7, 5]]), positions(0, 3)).sum().backward()
    touched = module.weight_VD.grad.abs().sum(dim=1).nonzero()[:, 0]
    assert touched.tolist() == [5, 7]
    torch.testing.assert_close(module.weight_VD.grad[5], 2 * module.weight_VD.grad[7])


def test_under_autocast_embeddings_have_the_autocast_dtype() -> None:
    (module, positions), ids_BT = embedding(), random_ids(3, 5)
    with torch.autocast("cpu", torch.bfloat16):
        out = module(ids_BT, positions(0, 5))
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out, module(ids_BT, positions(0, 5)).bfloat16())
