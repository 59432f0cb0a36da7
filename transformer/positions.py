"""Position encodings: section 3.5.

Dimension key: T positions, D d_model.
"""

import math

import torch
from torch import Tensor

from transformer.config import Positions


def sinusoids(n: int, d_model: int, order: Positions = "sinusoidal", start: int = 0) -> Tensor:
    """Return the encodings of positions start .. start + n - 1, (T, D) in float32.

    Args:
        n: number of positions.
        d_model: width D; must be even.
        order: "sinusoidal" is the paper: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the
            same. "sinusoidal-blocks" is the authors' code (tensor2tensor): all sines, then all cosines, with exponent
            i / (d_model / 2 - 1), so that the longest wavelength is exactly 10000 * 2 pi.
        start: the first position.
    """
    n_waves = d_model // 2
    position_T1 = torch.arange(start, start + n, dtype=torch.float64)[:, None]
    wave = torch.arange(n_waves, dtype=torch.float64)
    exponent = wave / n_waves if order == "sinusoidal" else wave / max(n_waves - 1, 1)
    # float64: in float32, large angles lose digits that the sine needs.
    angle = position_T1 * torch.exp(-math.log(10000.0) * exponent)
    waves = (angle.sin(), angle.cos())
    encoding = torch.stack(waves, dim=-1).flatten(1) if order == "sinusoidal" else torch.cat(waves, dim=-1)
    return encoding.float()
