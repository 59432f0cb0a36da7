"""All attention masks of the model. They are boolean; True means "query t may read key s".

Dimension key: B batch, T query positions, S key positions; axes of size 1 broadcast over heads and queries.

No row is empty: a softmax over nothing is NaN written out and zeros in fused kernels.
"""

import torch
from torch import Tensor


def padding_mask(ids_BS: Tensor, pad: int) -> Tensor:
    """Return which keys hold a token, (B, 1, 1, S).

    On a CPU, ValueError if a row holds only padding. Other devices are not checked, as that would synchronise them in
    every batch; `pad_batch` and the batches of training end every sentence with eos, so no row is empty there.
    """
    allowed_BS = ids_BS != pad
    if ids_BS.device.type == "cpu" and not bool(allowed_BS.any(dim=1).all()):
        raise ValueError("a sentence holds only padding; give it at least eos")
    return allowed_BS[:, None, None, :]


def causal_mask(n: int, device: torch.device | None = None) -> Tensor:
    """Let position t read positions s <= t (3.1: masked decoder self-attention), (1, 1, n, n)."""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()[None, None]


def window_mask(n: int, window: int, device: torch.device | None = None) -> Tensor:
    """Let position t read positions at most `window` away (table 1: restricted self-attention), (1, 1, n, n).

    Args:
        n: number of positions.
        window: largest distance.
        device: of the mask.
    """
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
        n: number of target positions.
        window: largest distance that a position reads; None is no limit.
        device: of the mask.
    """
    allowed_11TT = causal_mask(n, device)
    return allowed_11TT if window is None else allowed_11TT & window_mask(n, window, device)
