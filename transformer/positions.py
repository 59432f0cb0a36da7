"""Position encodings: section 3.5.

Dimension key: T positions, D d_model.
"""

import math

import torch
from torch import Tensor

from transformer.config import Positions


def sinusoids(n: int, d_model: int, order: Positions = "sinusoidal", start: int = 0) -> Tensor:
    """Encodings of positions start .. start + n - 1, (T, D) in float32.

    "sinusoidal" is the paper: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same.
    "sinusoidal-blocks" is the authors' code (tensor2tensor): all sines, then all cosines, and the exponent is
    i / (d_model / 2 - 1), so that the longest wavelength is 10000 * 2 pi exactly.
    """
    n_waves = d_model // 2
    position_T1 = torch.arange(start, start + n, dtype=torch.float64)[:, None]
    wave = torch.arange(n_waves, dtype=torch.float64)
    exponent = wave / n_waves if order == "sinusoidal" else wave / max(n_waves - 1, 1)
    angle = position_T1 * torch.exp(-math.log(10000.0) * exponent)
    parts = (angle.sin(), angle.cos())
    # float64 until here: in float32 the angle of a far position loses digits that the sine then needs.
    encoding = torch.stack(parts, dim=-1).flatten(1) if order == "sinusoidal" else torch.cat(parts, dim=-1)
    return encoding.float()
