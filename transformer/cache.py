"""The keys and values of one decode: an explicit argument, owned by whoever decodes.

Dimension key: B sentences, N hypotheses (the same number for every sentence, side by side), H heads, T target positions
so far, S source positions, K d_k, V d_v.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class LayerCache:
    """Keys and values of one decoder layer.

    Cross-attention reads the sentence alone, so its part has one row per sentence and is never reordered.
    """

    cross_k: Tensor  # (B, H, S, K)
    cross_v: Tensor  # (B, H, S, V)
    self_k: Tensor | None = None  # (N, H, T, K)
    self_v: Tensor | None = None  # (N, H, T, V)

    @property
    def n_sentences(self) -> int:
        """B."""
        return self.cross_k.size(0)

    def append(self, k_NH1K: Tensor, v_NH1V: Tensor, window: int | None) -> tuple[Tensor, Tensor]:
        """Add one position; return the keys and values that it may read."""
        if self.self_k is None or self.self_v is None:
            self.self_k, self.self_v = k_NH1K, v_NH1V
        else:
            self.self_k = torch.cat((self.self_k, k_NH1K), dim=2)
            self.self_v = torch.cat((self.self_v, v_NH1V), dim=2)
        first = 0 if window is None else max(0, self.self_k.size(2) - window - 1)
        return self.self_k[:, :, first:], self.self_v[:, :, first:]


@dataclass
class DecoderCache:
    """All layers of one decode, and how far it has come."""

    layers: list[LayerCache]
    memory_allowed: Tensor  # (B, 1, 1, S)
    length: int = 0

    def reorder(self, index_N: Tensor) -> None:
        """Hypothesis n now continues hypothesis index_N[n]; it must belong to the same sentence."""
        for layer in self.layers:
            if layer.self_k is not None and layer.self_v is not None:
                layer.self_k = layer.self_k.index_select(0, index_N)
                layer.self_v = layer.self_v.index_select(0, index_N)

    def keep(self, index_B: Tensor) -> None:
        """Only these sentences go on. The hypotheses are kept by `reorder`."""
        self.memory_allowed = self.memory_allowed.index_select(0, index_B)
        for layer in self.layers:
            layer.cross_k = layer.cross_k.index_select(0, index_B)
            layer.cross_v = layer.cross_v.index_select(0, index_B)
