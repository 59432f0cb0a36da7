"""The learning rate as a pure function of the step: section 5.3 of Vaswani et al. (2017).

Steps count from 1. Imports the standard library only.
"""

import math


def noam_lr(step: int, *, d_model: int, warmup_steps: int) -> float:
    """Return equation 3: d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5); its peak is at `warmup_steps`.

    The paper's base model reaches 6.99e-4, big 4.94e-4.

    Args:
        step: number of the update, from 1; ValueError if below.
        warmup_steps: updates until the peak, at least 1; ValueError if below.
    """
    if d_model < 1:
        raise ValueError(f"d_model = {d_model} must be at least 1")
    return inverse_sqrt_lr(step, peak=1.0, warmup_steps=warmup_steps) / math.sqrt(d_model * warmup_steps)


def inverse_sqrt_lr(step: int, *, peak: float, warmup_steps: int) -> float:
    """Return the shape of equation 3 with a free peak: linear up to `peak` at `warmup_steps`, then as step^-0.5.

    Args:
        step: number of the update, from 1; ValueError if below.
        warmup_steps: updates until the peak, at least 1; ValueError if below.
    """
    if step < 1:
        raise ValueError(f"step = {step}: steps count from 1")
    if warmup_steps < 1:
        raise ValueError(f"warmup_steps = {warmup_steps} must be at least 1")
    return peak * min(step / warmup_steps, math.sqrt(warmup_steps / step))


def cooldown(step: int, *, last_step: int, share: float) -> float:
    """Return a factor for the learning rate: 1, and over the last steps a linear decay to 1 / their number.

    Not in the paper, which averages checkpoints instead. It helps most if training ends long before the inverse square
    root is small (Zhai et al. 2022, "Scaling Vision Transformers", 3.5).

    Args:
        step: number of the update, from 1 to `last_step`; ValueError otherwise.
        share: of the steps that decay, in [0, 1]; ValueError otherwise.
    """
    if not 1 <= step <= last_step:
        raise ValueError(f"step = {step} must be from 1 to last_step = {last_step}")
    if not 0 <= share <= 1:
        raise ValueError(f"share = {share} must be in [0, 1]")
    n_steps = round(share * last_step)
    return min(1.0, (last_step - step + 1) / n_steps) if n_steps else 1.0
