"""Encoder and decoder layers, with the feed-forward network: sections 3.1 and 3.3, figure 1.

Dimension key: B batch, T target positions, S source positions, D d_model, J hypotheses of a sentence in decoding.
"""

from collections.abc import Callable

from torch import Tensor, nn

from transformer.attention import MultiHeadAttention
from transformer.cache import DecoderCache, LayerCache
from transformer.config import ModelConfig
from transformer.kernels import LayerNorm, Linear, add_dropout, dropout


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, equation 2, at every position; the activation may also be swish."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.w_1 = Linear(config.d_model, config.d_ff, activation=config.activation)
        self.w_2 = Linear(config.d_ff, config.d_model)
        self.dropout = config.ffn_dropout
        self.init_gain = config.init_gain

    def forward(self, x_BTD: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.w_2(dropout(self.w_1(x_BTD), self.dropout, self.training))  # type: ignore[no-any-return]

    def initialise(self) -> None:
        """Xavier uniform weights with `init_gain`, zero biases."""
        for linear in (self.w_1, self.w_2):
            nn.init.xavier_uniform_(linear.weight, self.init_gain)
            nn.init.zeros_(linear.bias)


class Residual(nn.Module):
    """A residual connection around a sub-layer, with dropout (5.4) and layer normalisation.

    post: LayerNorm(x + Dropout(Sublayer(x))), as in the paper (3.1)
    pre:  x + Dropout(Sublayer(LayerNorm(x))), with a final norm after the stack
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = LayerNorm(config.d_model, eps=config.norm_eps)
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

    def forward(self, x_BSD: Tensor, allowed: Tensor, attn_weights_out: list[Tensor] | None = None) -> Tensor:
        """Process all source positions at once, (B, S, D).

        Args:
            allowed: mask of self-attention; see `encoder_mask`.
            attn_weights_out: receives the attention weights, (B, H, S, S).
        """
        x_BSD = self.residuals[0](x_BSD, lambda x: self.self_attn(x, allowed, attn_weights_out))
        return self.residuals[1](x_BSD, self.feed_forward)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Masked self-attention, encoder-decoder attention, feed-forward; each inside a residual (figure 1 right)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attn = MultiHeadAttention(config)
        self.cross_attn = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.residuals = nn.ModuleList(Residual(config) for _ in range(3))

    def forward(
        self,
        x_BTD: Tensor,
        memory_BSD: Tensor,
        self_allowed: Tensor | None,
        memory_allowed: Tensor,
        self_attn_weights_out: list[Tensor] | None = None,
        cross_attn_weights_out: list[Tensor] | None = None,
    ) -> Tensor:
        """Process all target positions at once, (B, T, D).

        Args:
            self_allowed: mask of self-attention; None is the causal mask.
            memory_allowed: mask of cross-attention, (B, 1, 1, S).
            self_attn_weights_out: receives the weights of self-attention, (B, H, T, T).
            cross_attn_weights_out: receives the weights of cross-attention, (B, H, T, S).
        """

        def self_attend(x_BTD: Tensor) -> Tensor:
            causal = self_allowed is None
            return self.self_attn(x_BTD, self_allowed, self_attn_weights_out, causal=causal)  # type: ignore[no-any-return]

        def cross_attend(x_BTD: Tensor) -> Tensor:
            keys, values = self.cross_attn.keys_values(memory_BSD)
            queries = self.cross_attn.queries(x_BTD)
            return self.cross_attn.read(queries, keys, values, memory_allowed, cross_attn_weights_out)

        return self._sublayers(x_BTD, self_attend, cross_attend)

    def step(
        self, x_BJD: Tensor, layer_cache: LayerCache, cache: DecoderCache, self_bias: Tensor | None, cross_bias: Tensor
    ) -> Tensor:
        """Process one more position of every hypothesis, (B, J, D); its keys and values join the cache.

        The hypotheses of a sentence share the cached keys and values; the matrix products treat them as J query
        positions.

        Args:
            layer_cache: keys and values of this layer.
            cache: the cache that `layer_cache` belongs to.
            self_bias, cross_bias: see `DecoderCache.attn_biases`.
        """

        def self_attend(x_BJD: Tensor) -> Tensor:
            q, k, v = self.self_attn.project(x_BJD)
            return self.self_attn.read_step(q, *layer_cache.append(k, v, cache.first, cache.length), self_bias)

        def cross_attend(x_BJD: Tensor) -> Tensor:
            queries = self.cross_attn.queries(x_BJD)
            return self.cross_attn.read_step(queries, layer_cache.cross_k, layer_cache.cross_v, cross_bias)

        return self._sublayers(x_BJD, self_attend, cross_attend)

    def _sublayers(
        self, x: Tensor, self_attend: Callable[[Tensor], Tensor], cross_attend: Callable[[Tensor], Tensor]
    ) -> Tensor:
        x = self.residuals[0](x, self_attend)
        x = self.residuals[1](x, cross_attend)
        return self.residuals[2](x, self.feed_forward)  # type: ignore[no-any-return]
