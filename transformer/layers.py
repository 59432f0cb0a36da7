"""Encoder and decoder layers: section 3.1, figure 1.

Dimension key: B batch, T target positions, S source positions, D d_model, J hypotheses of a sentence in decoding.
"""

from collections.abc import Callable

from torch import Tensor, nn

from transformer.attention import MultiHeadAttention
from transformer.cache import LayerCache
from transformer.config import ModelConfig
from transformer.feedforward import FeedForward
from transformer.kernels.dropout import add_dropout


class Residual(nn.Module):
    """A residual connection around a sub-layer, with dropout (5.4) and layer normalisation.

    post: LayerNorm(x + Dropout(Sublayer(x))), the paper's (3.1)
    pre:  x + Dropout(Sublayer(LayerNorm(x))), the later habit; the stack then ends in a norm of its own
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.dropout = config.dropout
        self.post = config.norm == "post"

    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        out_BTD = sublayer(x_BTD if self.post else self.norm(x_BTD))
        x_BTD = add_dropout(x_BTD, out_BTD, self.dropout, self.training)
        return self.norm(x_BTD) if self.post else x_BTD


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward; each inside a residual (3.1, figure 1 left)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attn = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.residuals = nn.ModuleList(Residual(config) for _ in range(2))

    def forward(self, x_BSD: Tensor, allowed: Tensor, record: list[Tensor] | None = None) -> Tensor:
        """(B, S, D) -> (B, S, D); `record` receives the attention weights (B, H, S, S)."""
        x_BSD = self.residuals[0](x_BSD, lambda x: self.self_attn(x, allowed, record))
        return self.residuals[1](x_BSD, self.feed_forward)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Masked self-attention, encoder-decoder attention, feed-forward; each inside a residual (figure 1 right)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.window = config.window
        self.self_attn = MultiHeadAttention(config)
        self.cross_attn = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.residuals = nn.ModuleList(Residual(config) for _ in range(3))

    def forward(
        self,
        x_BTD: Tensor,
        memory_BSD: Tensor,
        self_allowed: Tensor,
        memory_allowed: Tensor,
        self_record: list[Tensor] | None = None,
        cross_record: list[Tensor] | None = None,
    ) -> Tensor:
        """All target positions at once, (B, T, D); records receive weights (B, H, T, T) and (B, H, T, S)."""

        def cross(x_BTD: Tensor) -> Tensor:
            keys, values = self.cross_attn.keys_values(memory_BSD)
            return self.cross_attn.read(self.cross_attn.queries(x_BTD), keys, values, memory_allowed, cross_record)

        x_BTD = self.residuals[0](x_BTD, lambda x: self.self_attn(x, self_allowed, self_record))
        x_BTD = self.residuals[1](x_BTD, cross)
        return self.residuals[2](x_BTD, self.feed_forward)  # type: ignore[no-any-return]

    def step(
        self, x_BJD: Tensor, cache: LayerCache, first: int, position: int, own: Tensor | None, memory: Tensor
    ) -> Tensor:
        """One more position of every hypothesis, (B, J, D); its keys and values join the cache.

        The hypotheses of one sentence share its memory, and what they have written: to the products they are so many
        query positions. Positions from `first` on may be read, within the barriers `own` and `memory`.
        """

        def self_attend(x_BJD: Tensor) -> Tensor:
            q, k, v = self.self_attn.project(x_BJD)
            return self.self_attn.read_step(q, *cache.append(k, v, first, position), own)

        def cross(x_BJD: Tensor) -> Tensor:
            return self.cross_attn.read_step(self.cross_attn.queries(x_BJD), cache.cross_k, cache.cross_v, memory)

        x_BJD = self.residuals[0](x_BJD, self_attend)
        x_BJD = self.residuals[1](x_BJD, cross)
        return self.residuals[2](x_BJD, self.feed_forward)  # type: ignore[no-any-return]
