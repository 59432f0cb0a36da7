"""Embeddings and position encodings: sections 3.4 and 3.5.

Dimension key: B batch, T positions, D d_model, V vocabulary.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import ModelConfig, Positions
from transformer.kernels import dropout


class Embedding(nn.Module):
    """dropout(sqrt(d_model) * E[token] + PE[position]) (3.4, 3.5, 5.4)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.scale = config.d_model**0.5
        self.weight_VD = nn.Parameter(torch.empty(config.vocab_size, config.d_model))

    def forward(self, ids_BT: Tensor, position_TD: Tensor) -> Tensor:
        """Embed tokens at positions with these encodings, (B, T, D); under autocast in the autocast type."""
        x_BTD = F.embedding(ids_BT, self.weight_VD) * self.scale + position_TD
        device = ids_BT.device.type
        if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
            # On a CPU the residual stream, norms included, then stays in this type; otherwise each sub-layer converts.
            x_BTD = x_BTD.to(torch.get_autocast_dtype(device))
        return dropout(x_BTD, self.dropout, self.training)

    def initialise(self) -> None:
        """Draw from N(0, 1 / d_model), so that scaled embeddings have unit variance."""
        nn.init.normal_(self.weight_VD, std=self.scale**-1)


def sinusoids(n: int, d_model: int, order: Positions = "sinusoidal", start: int = 0) -> Tensor:
    """Return the encodings of positions start .. start + n - 1, (T, D) in float32.

    Args:
        d_model: width D; must be even.
        order: "sinusoidal" is the paper: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the
            same. "sinusoidal-blocks" is the authors' code (tensor2tensor): all sines, then all cosines, with exponent
            i / (d_model / 2 - 1), so that the longest wavelength is exactly 10000 * 2 pi.
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


class PositionEncoding(nn.Module):
    """PE[position] of one side: sinusoids (3.5), or a learned table (row E of table 3)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        if config.positions == "learned":
            self.table_TD: Tensor = nn.Parameter(torch.empty(config.max_length, config.d_model))
        else:
            self.register_buffer("table_TD", torch.empty(config.max_length, config.d_model), persistent=False)
            self.initialise()

    def forward(self, start: int, n: int) -> Tensor:
        """Return the encodings of positions start .. start + n - 1, (T, D).

        ValueError beyond the last learned position; sinusoids have no end.
        """
        if start + n <= self.config.max_length:
            return self.table_TD[start : start + n]
        if self.config.positions == "learned":
            raise ValueError(f"position {start + n - 1} is beyond max_length = {self.config.max_length}")
        return sinusoids(n, self.config.d_model, self.config.positions, start).to(self.table_TD)

    def initialise(self) -> None:
        """Draw learned positions from N(0, 1 / d_model), or compute the sinusoids."""
        if self.config.positions == "learned":
            nn.init.normal_(self.table_TD, std=self.config.d_model**-0.5)
        elif not self.table_TD.is_meta:  # see `Transformer`
            self.table_TD.copy_(sinusoids(self.config.max_length, self.config.d_model, self.config.positions))
