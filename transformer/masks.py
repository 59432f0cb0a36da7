"""Every mask of the model is made here: boolean, and True means "query t may read key s".

Dimension key: B batch, T query positions, S key positions; axes of size 1 broadcast over heads and queries.

No row is ever empty: softmax over nothing has no meaning (NaN written out, zeros in a fused kernel).
"""

import torch
from torch import Tensor


def padding_mask(ids_BS: Tensor, pad: int) -> Tensor:
    """Keys that hold a token, (B, 1, 1, S); ValueError where a row is nothing but padding."""
    allowed_BS = ids_BS != pad
    if not bool(allowed_BS.any(dim=1).all()):
        raise ValueError("a sentence of nothing but padding has nothing to attend to")
    return allowed_BS[:, None, None, :]


def causal_mask(n: int, device: torch.device | None = None) -> Tensor:
    """Position t reads positions s <= t (3.1: masked decoder self-attention), (1, 1, n, n)."""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()[None, None]


def window_mask(n: int, window: int, device: torch.device | None = None) -> Tensor:
    """Position t reads positions at most `window` away (table 1: restricted self-attention), (1, 1, n, n)."""
    position = torch.arange(n, device=device)
    return ((position[:, None] - position[None, :]).abs() <= window)[None, None]


def encoder_mask(padding_B11S: Tensor, window: int | None = None) -> Tensor:
    """Mask of encoder self-attention, (B, 1, 1, S), or (B, 1, S, S) where a window restricts it."""
    if window is None:
        return padding_B11S
    n, device = padding_B11S.size(-1), padding_B11S.device
    # A padded position far from every token would see nothing; it reads itself, and nobody reads it.
    return (padding_B11S & window_mask(n, window, device)) | torch.eye(n, dtype=torch.bool, device=device)


def decoder_mask(n: int, window: int | None = None, device: torch.device | None = None) -> Tensor:
    """Mask of decoder self-attention, (1, 1, n, n).

    Padding stands to the right of a sentence, hence in the future of its every token: the causal mask covers it.
    """
    allowed_11TT = causal_mask(n, device)
    return allowed_11TT if window is None else allowed_11TT & window_mask(n, window, device)
