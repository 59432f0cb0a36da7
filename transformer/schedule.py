"""The learning rate as a pure function of the step: section 5.3 of Vaswani et al. (2017).

Steps count from 1. Reads on its own: standard library only.
"""

import math


def noam_lr(step: int, *, d_model: int, warmup_steps: int) -> float:
    """Equation 3: d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5), at its peak in step `warmup_steps`.

    The paper's base model reaches 6.99e-4, big 4.94e-4. ValueError for a step or a warmup below 1.
    """
    return inverse_sqrt_lr(step, peak=1.0, warmup_steps=warmup_steps) / math.sqrt(d_model * warmup_steps)


def inverse_sqrt_lr(step: int, *, peak: float, warmup_steps: int) -> float:
    """The shape of equation 3 with a free peak: a line from 0 up to `peak` at `warmup_steps`, then as step^-0.5."""
    if step < 1:
        raise ValueError(f"step = {step}: steps count from 1")
    if warmup_steps < 1:
        raise ValueError(f"warmup_steps = {warmup_steps} must be at least 1")
    return peak * min(step / warmup_steps, math.sqrt(warmup_steps / step))


def cooldown(step: int, *, last_step: int, share: float) -> float:
    """A factor for either: 1 until the last `share` of the steps, in which it falls in a line to 1 / their number.

    Not of the paper, which averages checkpoints to the same end; worth more where training ends long before the
    inverse square root is small (Zhai et al. 2022, "Scaling Vision Transformers", 3.5).
    """
    n_steps = round(share * last_step)
    return min(1.0, (last_step - step + 1) / n_steps) if n_steps else 1.0
