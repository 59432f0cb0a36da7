"""Attention and its masks: section 3.2 of Vaswani et al. (2017).

Dimension key for every tensor name in this file:
  B batch   T query positions   S key positions   H heads   K d_k   V d_v   D d_model

Masks are boolean and say what is allowed: True means "query t may read key s". Axes of size 1 broadcast over heads and
queries. No row is empty: a softmax over nothing is NaN written out and zeros in fused kernels. All masks of the model
are made here, after the attention that reads them.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import ModelConfig
from transformer.kernels import (
    Linear,
    attend_short,
    attend_step,
    by_head,
    dropout,
    eager_on_cpu,
    fused_on_device,
    split_heads,
)


def attention_weights(q_BHTK: Tensor, k_BHSK: Tensor, allowed: Tensor | None) -> Tensor:
    """Return softmax(Q K^T / sqrt(d_k)), the first factor of equation 1, (B, H, T, S); each row sums to 1.

    Args:
        allowed: a mask that broadcasts to (B, H, T, S); None allows all.
    """
    scores_BHTS = (q_BHTK * q_BHTK.size(-1) ** -0.5) @ k_BHSK.transpose(-2, -1)
    if allowed is not None:
        scores_BHTS = scores_BHTS.masked_fill(~allowed, float("-inf"))
    return torch.softmax(scores_BHTS, dim=-1)


def attend(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, allowed: Tensor | None, rate: float = 0.0) -> Tensor:
    """Return equation 1 written out, softmax(Q K^T / sqrt(d_k)) V, (B, H, T, V).

    Args:
        allowed: a mask that broadcasts to (B, H, T, S); None allows all.
        rate: dropout rate of the attention weights.
    """
    return dropout(attention_weights(q_BHTK, k_BHSK, allowed), rate, training=True) @ v_BHSV


def attend_fast(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, allowed: Tensor | None, rate: float = 0.0, causal: bool = False
) -> Tensor:
    """Return equation 1 by the fastest kernel of the device.

    That is PyTorch's fused kernel, which never stores the T x S weights, where `fused_on_device` says so. On a CPU its
    backward pass is slow on short sentences.

    Args:
        allowed: a mask that broadcasts to (B, H, T, S); None allows all.
        rate: dropout rate of the attention weights.
        causal: apply the causal mask; unlike an explicit mask, it permits the flash kernel.
    """
    if fused_on_device(q_BHTK):
        return F.scaled_dot_product_attention(
            q_BHTK, k_BHSK, v_BHSV, attn_mask=allowed, dropout_p=rate, is_causal=causal
        )
    if causal:
        allowed = causal_mask(q_BHTK.size(2), q_BHTK.device)
    if rate or not eager_on_cpu(q_BHTK):
        return attend(q_BHTK, k_BHSK, v_BHSV, allowed, rate)
    return attend_short(q_BHTK, k_BHSK, v_BHSV, allowed)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1 .. head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (3.2.2).

    One matrix holds W^Q, W^K and W^V of all heads, so that self-attention projects with a single product.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.d_k, self.d_v = config.d_key, config.d_value
        self.dropout = config.attention_dropout
        self.init_gain = config.init_gain
        n_qk, n_v = self.n_heads * self.d_k, self.n_heads * self.d_v
        self.widths = [n_qk, n_qk, n_v]
        self.w_qkv = Linear(config.d_model, 2 * n_qk + n_v, bias=config.attention_bias, n_first=n_qk)
        self.w_o = Linear(n_v, config.d_model, bias=config.attention_bias)

    def forward(
        self,
        x_BTD: Tensor,
        allowed: Tensor | None,
        attn_weights_out: list[Tensor] | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """Return self-attention over x, (B, T, D).

        Args:
            allowed, attn_weights_out, causal: see `read`.
        """
        return self.read(*self.project(x_BTD), allowed, attn_weights_out, causal=causal)

    def project(self, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of the same positions: (B, H, T, K), (B, H, T, K), (B, H, T, V)."""
        q_BHTK, k_BHTK, v_BHTV = self._heads(self.w_qkv(x_BTD), self.d_k, self.d_k, self.d_v)
        return q_BHTK, k_BHTK, v_BHTV

    def queries(self, x_BTD: Tensor) -> Tensor:
        """Return queries alone, (B, H, T, K)."""
        return self._heads(self.w_qkv(x_BTD, "first"), self.d_k)[0]

    def keys_values(self, memory_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of other positions, such as the encoder's output: (B, H, S, K), (B, H, S, V)."""
        k_BHSK, v_BHSV = self._heads(self.w_qkv(memory_BSD, "rest"), self.d_k, self.d_v)
        return k_BHSK, v_BHSV

    def read(
        self,
        q_BHTK: Tensor,
        k_BHSK: Tensor,
        v_BHSV: Tensor,
        allowed: Tensor | None,
        attn_weights_out: list[Tensor] | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """Attend in every head and merge the heads by W^O, (B, T, D).

        Args:
            allowed: a mask that broadcasts to (B, H, T, S); None allows all.
            attn_weights_out: receives the attention weights, (B, H, T, S).
            causal: apply the causal mask in place of `allowed`.
        """
        if attn_weights_out is not None:
            mask = causal_mask(q_BHTK.size(2), q_BHTK.device) if causal else allowed
            attn_weights_out.append(attention_weights(q_BHTK, k_BHSK, mask))
        rate = self.dropout if self.training else 0.0
        return self._merge(attend_fast(q_BHTK, k_BHSK, v_BHSV, allowed, rate, causal))

    def read_step(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, attn_bias: Tensor | None) -> Tensor:
        """Return `read` for one decoding step, without gradients.

        Args:
            q_BHTK, k_BHSK, v_BHSV, attn_bias: see `attend_step`.
        """
        return self._merge(attend_step(q_BHTK, k_BHSK, v_BHSV, attn_bias))

    def _merge(self, heads_BHTV: Tensor) -> Tensor:
        return self.w_o(heads_BHTV.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def _heads(self, x_BTE: Tensor, *widths: int) -> tuple[Tensor, ...]:
        """Split the last axis, (B, T, sum of H * width), into parts of (B, H, T, width)."""
        if eager_on_cpu(x_BTE) and torch.is_grad_enabled():
            return split_heads(x_BTE, self.n_heads, widths)
        return tuple(part.transpose(1, 2) for part in by_head(x_BTE, self.n_heads, widths))

    def initialise(self) -> None:
        """Xavier uniform for W^Q, W^K, W^V and W^O, the latter two with `init_gain`; zero biases."""
        w_q, w_k, w_v = torch.split(self.w_qkv.weight, self.widths)
        for weight, gain in ((w_q, 1.0), (w_k, 1.0), (w_v, self.init_gain), (self.w_o.weight, self.init_gain)):
            nn.init.xavier_uniform_(weight, gain)
        for linear in (self.w_qkv, self.w_o):
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)


def padding_mask(ids_BS: Tensor, pad: int) -> Tensor:
    """Return which keys hold a token, (B, 1, 1, S).

    On a CPU, ValueError if a row holds only padding. Other devices are not checked, as that would synchronise them in
    every batch. Compiled and exported models are not checked either, as their graphs read no values. `pad_batch` and
    the batches of training end every sentence with eos, so no row is empty there.
    """
    allowed_BS = ids_BS != pad
    if eager_on_cpu(ids_BS) and not bool(allowed_BS.any(dim=1).all()):
        raise ValueError("a sentence holds only padding; give it at least eos")
    return allowed_BS[:, None, None, :]


def causal_mask(n: int, device: torch.device | None = None) -> Tensor:
    """Let position t read positions s <= t (3.1: masked decoder self-attention), (1, 1, n, n)."""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()[None, None]


def window_mask(n: int, window: int, device: torch.device | None = None) -> Tensor:
    """Let position t read positions at most `window` away (table 1: restricted self-attention), (1, 1, n, n)."""
    position = torch.arange(n, device=device)
    return ((position[:, None] - position[None, :]).abs() <= window)[None, None]


def encoder_mask(padding_B11S: Tensor, window: int | None = None) -> Tensor:
    """Return the mask of encoder self-attention, (B, 1, 1, S), or (B, 1, S, S) with a window."""
    if window is None:
        return padding_B11S
    n, device = padding_B11S.size(-1), padding_B11S.device
    # A padded position far from all tokens would read nothing, so it reads itself.
    return (padding_B11S & window_mask(n, window, device)) | torch.eye(n, dtype=torch.bool, device=device)


def decoder_mask(n: int, window: int | None = None, device: torch.device | None = None) -> Tensor:
    """Return the mask of decoder self-attention, (1, 1, n, n).

    Padding is to the right of a sentence, hence in the future of all its tokens, so the causal mask covers it.

    Args:
        window: largest distance that a position reads; None is no limit.
    """
    allowed_11TT = causal_mask(n, device)
    return allowed_11TT if window is None else allowed_11TT & window_mask(n, window, device)
