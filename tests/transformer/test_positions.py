"""Sinusoids against the paper's formula, computed with Python floats (float64)."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import Positions
from transformer.positions import sinusoids

LENGTHS = st.integers(1, 20)
WIDTHS = st.integers(1, 20).map(lambda n: 2 * n)
STARTS = st.integers(0, 100_000)
ORDERS = pytest.mark.parametrize("order", ["sinusoidal", "sinusoidal-blocks"])


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
