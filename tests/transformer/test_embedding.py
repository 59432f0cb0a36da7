"""Embeddings: scaled, added to positions, with dropout on the sum; sinusoids against the paper's formula in float64."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import TINY, random_ids
from transformer.config import ModelConfig, Positions
from transformer.embedding import Embedding, PositionEncoding, sinusoids
from transformer.kernels import dropout

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


LENGTHS = st.integers(1, 20)
WIDTHS = st.integers(1, 20).map(lambda n: 2 * n)
STARTS = st.integers(0, 100_000)


def interleaved(position: int, d_model: int) -> list[float]:
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same angle."""
    angles = [position / 10000 ** (2 * i / d_model) for i in range(d_model // 2)]
    return [f(angle) for angle in angles for f in (math.sin, math.cos)]


def blocks(position: int, d_model: int) -> list[float]:
    """The authors' code: all sines, then all cosines, with frequencies from 1 down to 1 / 10000 in equal ratios."""
    n = d_model // 2
    angles = [position * 10000 ** -(i / (n - 1) if n > 1 else 0.0) for i in range(n)]
    return [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]


@given(LENGTHS, WIDTHS, STARTS)
def test_the_default_is_the_papers_formula(n: int, d_model: int, start: int) -> None:
    expected = torch.tensor([interleaved(position, d_model) for position in range(start, start + n)])
    torch.testing.assert_close(sinusoids(n, d_model, start=start), expected, rtol=0, atol=1e-7)


@given(LENGTHS, WIDTHS, STARTS)
def test_the_variant_is_the_authors_block_order(n: int, d_model: int, start: int) -> None:
    expected = torch.tensor([blocks(position, d_model) for position in range(start, start + n)])
    torch.testing.assert_close(sinusoids(n, d_model, "sinusoidal-blocks", start), expected, rtol=0, atol=1e-7)


@ORDERS
@given(n=LENGTHS, d_model=WIDTHS, start=STARTS)
def test_sinusoids_from_a_later_start_are_a_slice_of_the_full_table(
    order: Positions, n: int, d_model: int, start: int
) -> None:
    start %= 50
    assert torch.equal(sinusoids(n, d_model, order, start), sinusoids(start + n, d_model, order)[start:])


@ORDERS
@given(position=st.integers(0, 500), offset=st.integers(0, 500), n_waves=st.integers(2, 9))
def test_an_offset_is_the_same_rotation_at_every_position(
    order: Positions, position: int, offset: int, n_waves: int
) -> None:
    """Section 3.5: PE(pos + k) is a linear function of PE(pos) that depends only on k."""

    def waves(start: int) -> torch.Tensor:
        row = sinusoids(1, 2 * n_waves, order, start)[0].double()
        sines, cosines = (row[0::2], row[1::2]) if order == "sinusoidal" else row.split(n_waves)
        return torch.complex(cosines, sines)

    torch.testing.assert_close(waves(position) * waves(offset), waves(position + offset), rtol=0, atol=1e-6)


def wavelengths(order: Positions, d_model: int) -> torch.Tensor:
    """Wavelengths computed from the angles of position 1, which are unambiguous."""
    row = sinusoids(2, d_model, order)[1].double()
    sines, cosines = (row[0::2], row[1::2]) if order == "sinusoidal" else row.split(d_model // 2)
    return 2 * math.pi / torch.atan2(sines, cosines)


@ORDERS
def test_wavelengths_are_a_geometric_progression_from_two_pi(order: Positions) -> None:
    lengths = wavelengths(order, 512)
    ratios = lengths[1:] / lengths[:-1]
    assert lengths[0].item() == pytest.approx(2 * math.pi)
    torch.testing.assert_close(ratios, ratios[:1].expand_as(ratios), rtol=1e-5, atol=0)


def test_the_longest_wavelength_is_that_of_the_paper_or_one_ratio_below() -> None:
    """The paper states up to 10000 * 2 pi; its formula ends one ratio below, the authors' code reaches it."""
    longest = 10000 * 2 * math.pi
    assert wavelengths("sinusoidal-blocks", 512)[-1].item() == pytest.approx(longest, rel=1e-5)
    assert wavelengths("sinusoidal", 512)[-1].item() == pytest.approx(longest * 10000 ** (-2 / 512), rel=1e-5)


@ORDERS
def test_position_zero_is_sines_of_zero_and_cosines_of_zero(order: Positions) -> None:
    row = sinusoids(1, 6, order)[0].tolist()
    assert row == ([0, 1, 0, 1, 0, 1] if order == "sinusoidal" else [0, 0, 0, 1, 1, 1])
