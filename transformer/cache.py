"""The keys and values of one decode: an explicit argument, owned by its caller.

Dimension key: B sentences, J hypotheses of each, N = B * J, H heads, T target positions so far, P >= T positions that
fit into the allocated memory, S source positions, K d_k, V d_v.

Keys and values are never moved. Beam search reorders hypotheses in every step, and to copy their keys and values would
cost more than to compute with them. Instead, all hypotheses of a sentence read the keys of all, and an additive
attention bias limits each hypothesis to its own past.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

_INITIAL_POSITIONS = 16  # allocated at first; doubled when they are full


@dataclass
class LayerCache:
    """Keys and values of one decoder layer; those of cross-attention belong to the source sentences."""

    cross_k: Tensor  # (B, H, S, K)
    cross_v: Tensor  # (B, H, S, V)
    self_k: Tensor | None = None  # (B, H, P * J, K)
    self_v: Tensor | None = None  # (B, H, P * J, V)

    def append(self, k_BHJK: Tensor, v_BHJV: Tensor, first: int, position: int) -> tuple[Tensor, Tensor]:
        """Write one position of every hypothesis; return the keys and values of positions first .. position.

        Args:
            k_BHJK, v_BHJV: keys and values of the new position.
            first: the first position to return.
            position: the new position; all before it are written.
        """
        n = k_BHJK.size(2)
        start, stop = first * n, (position + 1) * n
        if self.self_k is None or self.self_v is None:
            new = (x[:, :, :0].to(self.cross_k) for x in (k_BHJK, v_BHJV))
            self.self_k, self.self_v = (_resized(x, _INITIAL_POSITIONS * n) for x in new)
        elif self.self_k.size(2) < stop:
            self.self_k, self.self_v = (_resized(x, 2 * x.size(2)) for x in (self.self_k, self.self_v))
        self.self_k[:, :, stop - n : stop] = k_BHJK
        self.self_v[:, :, stop - n : stop] = v_BHJV
        return self.self_k[:, :, start:stop], self.self_v[:, :, start:stop]


class DecoderCache:
    """The state of one decode.

    Args:
        layers: the keys and values of the decoder layers.
        memory_allowed: which source positions hold tokens, (B, 1, 1, S).
        window: of restricted self-attention; None sees all positions.

    Attributes:
        length: T.
    """

    def __init__(self, layers: list[LayerCache], memory_allowed: Tensor, window: int | None) -> None:
        self.layers = layers
        self.length = 0
        self.window = window
        zeros_BS = torch.zeros_like(memory_allowed, dtype=layers[0].cross_k.dtype).flatten(0, 2)
        self._n_each = 0  # J; 0 before the first step
        self._cross_bias = zeros_BS.masked_fill_(~memory_allowed.flatten(0, 2), float("-inf"))  # (B, S)
        self._self_bias: Tensor | None = None  # (B, J, P * J): 0 for keys of a hypothesis and its ancestors, else -inf

    @property
    def n_sentences(self) -> int:
        """The number of sentences, B."""
        return self._cross_bias.size(0)

    @property
    def first(self) -> int:
        """The first position that the next one may read."""
        return 0 if self.window is None else max(0, self.length - self.window)

    def attn_biases(self, n_heads: int) -> tuple[Tensor | None, Tensor]:
        """Return the attention biases of the next step: 0 where it may read and -inf elsewhere.

        That of self-attention is (B, H, J, positions * J), or None if all is allowed; that of cross-attention is
        (B, H, 1, S).
        """
        cross_bias = self._cross_bias[:, None, None].repeat(1, n_heads, 1, 1)
        if self._self_bias is None:
            return None, cross_bias
        n = self._self_bias.size(1)
        self_bias = self._self_bias[:, :, self.first * n : (self.length + 1) * n]
        return self_bias[:, None].repeat(1, n_heads, 1, 1), cross_bias

    def advance(self, n_hypotheses: int) -> None:
        """Prepare the next position of `n_hypotheses` (N) hypotheses; call it before the layers append to it.

        ValueError unless every sentence has the same number of hypotheses in every step.
        """
        n, rest = divmod(n_hypotheses, max(1, self.n_sentences))
        if rest or n != (self._n_each or n):
            raise ValueError(
                f"{n_hypotheses} hypotheses for {self.n_sentences} sentences: give every sentence the same number in "
                "every step"
            )
        self._n_each = n
        if n == 1:
            return
        if self._self_bias is None:
            self._self_bias = self._cross_bias.new_full((self.n_sentences, n, _INITIAL_POSITIONS * n), float("-inf"))
        elif self._self_bias.size(2) < (self.length + 1) * n:
            self._self_bias = _resized(self._self_bias, 2 * self._self_bias.size(2), float("-inf"))
        self._self_bias[:, :, self.length * n : (self.length + 1) * n].diagonal(dim1=1, dim2=2).zero_()

    def reorder(self, index_N: Tensor) -> None:
        """Let hypothesis n continue hypothesis index_N[n] of the same sentence."""
        if self._self_bias is not None:
            _, n, size = self._self_bias.shape
            self._self_bias = self._self_bias.view(-1, size).index_select(0, index_N).view(-1, n, size)

    def keep(self, index_B: Tensor) -> None:
        """Keep only these sentences; the call of `reorder` that follows selects the biases of self-attention."""
        moved = (index_B != torch.arange(len(index_B), device=index_B.device)).nonzero()[:, 0]
        source = index_B[moved]

        def kept(x: Tensor) -> Tensor:
            # In place: only rows that move are copied.
            return x.index_copy_(0, moved, x[source])[: len(index_B)]

        self._cross_bias = kept(self._cross_bias)
        for layer in self.layers:
            layer.cross_k, layer.cross_v = kept(layer.cross_k), kept(layer.cross_v)
            if layer.self_k is not None and layer.self_v is not None:
                layer.self_k, layer.self_v = kept(layer.self_k), kept(layer.self_v)


def _resized(x: Tensor, size: int, fill: float = 0.0) -> Tensor:
    """Return a copy with `size` entries along the third axis; new entries are `fill`."""
    resized = x.new_full((*x.shape[:2], size, *x.shape[3:]), fill)
    resized[:, :, : x.size(2)] = x
    return resized
