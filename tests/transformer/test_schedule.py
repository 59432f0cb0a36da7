"""The schedule against equation 3 and the paper's numbers, and properties of its shape."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.schedule import cooldown, inverse_sqrt_lr, noam_lr

PAPER = json.loads((Path(__file__).parent / "paper.json").read_text(encoding="utf-8"))

steps = st.integers(1, 1_000_000)
warmups = st.integers(1, 20_000)
peaks = st.floats(1e-6, 1.0)


@given(step=steps, d_model=st.integers(1, 4096), warmup=warmups)
def test_noam_is_equation_3(step: int, d_model: int, warmup: int) -> None:
    expected = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    assert noam_lr(step, d_model=d_model, warmup_steps=warmup) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("d_model", [512, 1024])
def test_the_peak_has_the_papers_value(d_model: int) -> None:
    assert noam_lr(4000, d_model=d_model, warmup_steps=4000) == pytest.approx(PAPER["peak_lr"][str(d_model)], abs=5e-9)


@pytest.mark.parametrize(("d_model", "step", "printed"), [(512, 100_000, 1.3975e-4), (1024, 300_000, 5.7054e-5)])
def test_the_rate_at_the_papers_last_step(d_model: int, step: int, printed: float) -> None:
    assert f"{noam_lr(step, d_model=d_model, warmup_steps=4000):.4e}" == f"{printed:.4e}"


@given(step=steps, peak=peaks, warmup=warmups)
def test_no_step_exceeds_the_peak_which_stands_at_the_last_step_of_the_warmup(
    step: int, peak: float, warmup: int
) -> None:
    assert inverse_sqrt_lr(warmup, peak=peak, warmup_steps=warmup) == peak
    assert 0 < inverse_sqrt_lr(step, peak=peak, warmup_steps=warmup) <= peak


@given(peak=peaks, warmup=st.integers(2, 20_000), data=st.data())
def test_the_warmup_is_a_straight_line_through_zero(peak: float, warmup: int, data: st.DataObject) -> None:
    step = data.draw(st.integers(1, warmup))
    expected = float(Fraction(peak) * step / warmup)
    assert inverse_sqrt_lr(step, peak=peak, warmup_steps=warmup) == pytest.approx(expected, rel=1e-12)


@given(peak=peaks, warmup=warmups, later=st.integers(0, 500_000))
def test_four_times_the_steps_halve_the_rate_after_the_warmup(peak: float, warmup: int, later: int) -> None:
    step = warmup + later
    here, there = (inverse_sqrt_lr(n, peak=peak, warmup_steps=warmup) for n in (step, 4 * step))
    assert there == pytest.approx(here / 2, rel=1e-12)


@given(step=steps, d_model=st.integers(1, 4096), warmup=warmups)
def test_noam_is_the_inverse_square_root_with_the_papers_peak(step: int, d_model: int, warmup: int) -> None:
    peak = d_model**-0.5 * warmup**-0.5
    expected = inverse_sqrt_lr(step, peak=peak, warmup_steps=warmup)
    assert noam_lr(step, d_model=d_model, warmup_steps=warmup) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("step", [0, -3])
def test_steps_count_from_one(step: int) -> None:
    with pytest.raises(ValueError, match="steps count from 1"):
        noam_lr(step, d_model=512, warmup_steps=4000)


def test_a_warmup_of_no_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="warmup_steps = 0 must be at least 1"):
        noam_lr(1, d_model=512, warmup_steps=0)
    with pytest.raises(ValueError, match="warmup_steps = 0 must be at least 1"):
        inverse_sqrt_lr(1, peak=1.0, warmup_steps=0)


@pytest.mark.parametrize(("step", "share"), [(0, 0.5), (101, 0.5), (1, -0.5), (1, 2.0)])
def test_a_cooldown_beyond_its_range_is_refused(step: int, share: float) -> None:
    """The factor would be negative, and training would climb."""
    with pytest.raises(ValueError, match="must be"):
        cooldown(step, last_step=100, share=share)


def test_a_width_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="d_model = 0 must be at least 1"):
        noam_lr(1, d_model=0, warmup_steps=1)


@given(last=st.integers(1, 100_000), share=st.floats(0, 1), data=st.data())
def test_the_cooldown_is_linear_and_reaches_zero_one_step_after_the_last(
    last: int, share: float, data: st.DataObject
) -> None:
    step = data.draw(st.integers(1, last))
    n_steps = round(share * last)
    factor = cooldown(step, last_step=last, share=share)
    if step <= last - n_steps:
        assert factor == 1
    else:
        assert factor == pytest.approx(float(Fraction(last + 1 - step, n_steps)), rel=1e-12)
        assert factor > 0
