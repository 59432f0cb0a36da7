"""The keys and values of one decode: an explicit argument, owned by whoever decodes.

Dimension key: B sentences, J hypotheses of each, side by side, N = B * J, H heads, T target positions so far, P >= T
positions that there is room for, S source positions, K d_k, V d_v.

What is written stays where it is. Hypotheses change places at every step of a beam search, and to move their keys and
values along would cost more than to compute with them; instead all hypotheses of a sentence read what all of them have
written, behind a barrier that leaves each its own past.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

_ROOM = 16  # positions that there is room for at first; doubled when they are full


@dataclass
class LayerCache:
    """Keys and values of one decoder layer. Cross-attention reads the sentence alone."""

    cross_k: Tensor  # (B, H, S, K)
    cross_v: Tensor  # (B, H, S, V)
    self_k: Tensor | None = None  # (B, H, P * J, K)
    self_v: Tensor | None = None  # (B, H, P * J, V)

    def append(self, k_BHJK: Tensor, v_BHJV: Tensor, first: int, position: int) -> tuple[Tensor, Tensor]:
        """Write one position of every hypothesis; return what stands at positions first .. position."""
        n = k_BHJK.size(2)
        start, stop = first * n, (position + 1) * n
        if self.self_k is None or self.self_v is None:
            self.self_k, self.self_v = (_widened(x[:, :, :0].to(self.cross_k), _ROOM * n) for x in (k_BHJK, v_BHJV))
        elif self.self_k.size(2) < stop:
            self.self_k, self.self_v = (_widened(x, 2 * x.size(2)) for x in (self.self_k, self.self_v))
        self.self_k[:, :, stop - n : stop] = k_BHJK
        self.self_v[:, :, stop - n : stop] = v_BHJV
        return self.self_k[:, :, start:stop], self.self_v[:, :, start:stop]


class DecoderCache:
    """All layers of one decode, and how far it has come.

    Attributes:
        layers: the keys and values.
        length: T.
    """

    def __init__(self, layers: list[LayerCache], memory_allowed: Tensor, window: int | None) -> None:
        """`memory_allowed` tells which source positions hold tokens, (B, 1, 1, S)."""
        self.layers = layers
        self.length = 0
        self.window = window
        self._memory = _barrier(memory_allowed, layers[0].cross_k.dtype).flatten(0, 2)  # (B, S)
        self._own: Tensor | None = None  # (B, J, P * J): 0 where a hypothesis wrote, or one that it continues

    @property
    def n_sentences(self) -> int:
        """B."""
        return self._memory.size(0)

    @property
    def first(self) -> int:
        """The earliest position that the next one may read."""
        return 0 if self.window is None else max(0, self.length - self.window)

    def barriers(self, n_heads: int) -> tuple[Tensor | None, Tensor]:
        """0 where the next position may read and -inf where not, once more for every head.

        Of self-attention, (B, H, J, positions * J), None where it may read all, and of cross-attention, (B, H, 1, S).
        """
        memory = self._memory[:, None, None].repeat(1, n_heads, 1, 1)
        if self._own is None:
            return None, memory
        n = self._own.size(1)
        own = self._own[:, :, self.first * n : (self.length + 1) * n]
        return own[:, None].repeat(1, n_heads, 1, 1), memory

    def advance(self, n_hypotheses: int) -> None:
        """Make place for one position more of `n_hypotheses`, N; called before the layers append theirs."""
        n = n_hypotheses // self.n_sentences
        if n == 1:
            return
        if self._own is None:
            self._own = self._memory.new_full((self.n_sentences, n, _ROOM * n), float("-inf"))
        elif self._own.size(2) < (self.length + 1) * n:
            self._own = _widened(self._own, 2 * self._own.size(2), float("-inf"))
        self._own[:, :, self.length * n : (self.length + 1) * n].diagonal(dim1=1, dim2=2).zero_()

    def reorder(self, index_N: Tensor) -> None:
        """Hypothesis n now continues hypothesis index_N[n]; it must belong to the same sentence."""
        if self._own is not None:
            _, n, room = self._own.shape
            self._own = self._own.view(-1, room).index_select(0, index_N).view(-1, n, room)

    def keep(self, index_B: Tensor) -> None:
        """Only these sentences go on. What their hypotheses have read is kept by `reorder`, which follows."""
        moved = (index_B != torch.arange(len(index_B), device=index_B.device)).nonzero()[:, 0]
        came_from = index_B[moved]

        def kept(x: Tensor) -> Tensor:
            # In place: only what takes another's room is copied.
            return x.index_copy_(0, moved, x[came_from])[: len(index_B)]

        self._memory = kept(self._memory)
        for layer in self.layers:
            layer.cross_k, layer.cross_v = kept(layer.cross_k), kept(layer.cross_v)
            if layer.self_k is not None and layer.self_v is not None:
                layer.self_k, layer.self_v = kept(layer.self_k), kept(layer.self_v)


def _barrier(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where a mask allows and -inf where not."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(~allowed, float("-inf"))


def _widened(x: Tensor, size: int, value: float = 0.0) -> Tensor:
    """The same with `size` entries along its third axis."""
    wide = x.new_full((*x.shape[:2], size, *x.shape[3:]), value)
    wide[:, :, : x.size(2)] = x
    return wide
