"""Embeddings and position encodings: sections 3.4 and 3.5.

Dimension key: B batch, T positions, D d_model, V vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import ModelConfig
from transformer.kernels.dropout import dropout
from transformer.positions import sinusoids


class Embedding(nn.Module):
    """dropout(sqrt(d_model) * E[token] + PE[position]) (3.4, 3.5, 5.4)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.scale = config.d_model**0.5
        self.weight_VD = nn.Parameter(torch.empty(config.vocab_size, config.d_model))
        if config.positions == "learned":
            self.position_TD = nn.Parameter(torch.empty(config.max_length, config.d_model))
        else:
            table_TD = sinusoids(config.max_length, config.d_model, config.positions)
            self.register_buffer("sinusoids_TD", table_TD, persistent=False)

    def forward(self, ids_BT: Tensor, start: int = 0) -> Tensor:
        """Embed tokens that stand at positions start, start + 1, ..., (B, T, D)."""
        x_BTD = F.embedding(ids_BT, self.weight_VD) * self.scale + self.positions(start, ids_BT.size(1))
        device = ids_BT.device.type
        if torch.is_autocast_enabled(device):
            # On a CPU the residual stream then keeps this type; else every sub-layer would convert it.
            x_BTD = x_BTD.to(torch.get_autocast_dtype(device))
        return dropout(x_BTD, self.config.dropout, self.training)

    def positions(self, start: int, n: int) -> Tensor:
        """Encodings of n positions, (T, D); ValueError beyond the last learned one, sinusoids go on for ever."""
        if start + n <= self.config.max_length:
            table_TD = self.position_TD if self.config.positions == "learned" else self.sinusoids_TD
            return table_TD[start : start + n]  # type: ignore[index]
        if self.config.positions == "learned":
            raise ValueError(f"position {start + n - 1} is beyond max_length = {self.config.max_length}")
        return sinusoids(n, self.config.d_model, self.config.positions, start).to(self.weight_VD)

    def initialise(self) -> None:
        """N(0, 1 / d_model), so that scaled embeddings have unit variance; likewise for learned positions."""
        nn.init.normal_(self.weight_VD, std=self.scale**-1)
        if self.config.positions == "learned":
            nn.init.normal_(self.position_TD, std=self.scale**-1)
