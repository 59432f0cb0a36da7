"""Every mask is True where reading is allowed, and no row is empty."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from transformer.masks import causal_mask, decoder_mask, encoder_mask, padding_mask, window_mask

PAD = 3
SIZES = st.integers(1, 9)
WINDOWS = st.none() | st.integers(1, 9)


@st.composite
def padded_ids(draw: st.DrawFn) -> Tensor:
    """Sentences of at least one token, padded on the right."""
    lengths = draw(st.lists(SIZES, min_size=1, max_size=5))
    ids_BS = torch.full((len(lengths), max(lengths)), PAD)
    for row, n in zip(ids_BS, lengths, strict=True):
        row[:n] = torch.arange(n) + PAD + 1
    return ids_BS


def self_attention(x_BTK: Tensor, allowed: Tensor | None, is_causal: bool = False) -> Tensor:
    x_B1TK = x_BTK[:, None]
    return F.scaled_dot_product_attention(x_B1TK, x_B1TK, x_B1TK, attn_mask=allowed, is_causal=is_causal)


@given(SIZES)
def test_the_causal_mask_is_what_pytorch_calls_causal(n: int) -> None:
    x = torch.randn(2, n, 5)
    torch.testing.assert_close(self_attention(x, causal_mask(n)), self_attention(x, None, is_causal=True))


@given(padded_ids())
def test_masked_padding_gives_the_same_result_as_no_padding(ids_BS: Tensor) -> None:
    x_BSK = torch.randn(*ids_BS.shape, 5)
    out = self_attention(x_BSK, padding_mask(ids_BS, PAD))
    for b, n in enumerate(ids_BS.ne(PAD).sum(dim=1).tolist()):
        torch.testing.assert_close(out[b, :, :n], self_attention(x_BSK[b : b + 1, :n], None)[0])


@given(SIZES, SIZES)
def test_a_window_reaches_equally_far_to_both_sides(n: int, window: int) -> None:
    mask = window_mask(n, window)[0, 0]
    assert mask.tolist() == [[abs(t - s) <= window for s in range(n)] for t in range(n)]


@given(SIZES, WINDOWS)
def test_the_decoder_reads_the_past_within_the_window(n: int, window: int | None) -> None:
    mask = decoder_mask(n, window)[0, 0]
    reach = n if window is None else window
    assert mask.tolist() == [[t - reach <= s <= t for s in range(n)] for t in range(n)]


@given(padded_ids(), WINDOWS)
def test_the_encoder_reads_tokens_within_the_window(ids_BS: Tensor, window: int | None) -> None:
    n = ids_BS.size(1)
    mask = encoder_mask(padding_mask(ids_BS, PAD), window)[:, 0].expand(-1, n, n)
    for ids, rows in zip(ids_BS.tolist(), mask.tolist(), strict=True):
        for t, row in enumerate(rows):
            if ids[t] != PAD:
                assert row == [ids[s] != PAD and (window is None or abs(t - s) <= window) for s in range(n)]


@given(padded_ids(), WINDOWS)
def test_only_padding_itself_may_read_padding(ids_BS: Tensor, window: int | None) -> None:
    n = ids_BS.size(1)
    mask = encoder_mask(padding_mask(ids_BS, PAD), window)[:, 0].expand(-1, n, n)
    others = ~torch.eye(n, dtype=torch.bool)
    assert not (mask & others & ids_BS.eq(PAD)[:, None, :]).any()


@given(padded_ids(), WINDOWS)
def test_no_row_is_empty(ids_BS: Tensor, window: int | None) -> None:
    masks = (
        padding_mask(ids_BS, PAD),
        encoder_mask(padding_mask(ids_BS, PAD), window),
        decoder_mask(ids_BS.size(1), window),
    )
    for mask in masks:
        assert mask.dtype == torch.bool
        assert mask.any(dim=-1).all()


@given(padded_ids())
def test_the_causal_mask_covers_padding_on_the_right(ids_BS: Tensor) -> None:
    """So the decoder needs no padding mask: for real tokens, the causal mask already excludes padding."""
    causal = causal_mask(ids_BS.size(1))
    both = causal & padding_mask(ids_BS, PAD)
    tokens = ids_BS.ne(PAD)[:, None, :, None]
    assert torch.equal(both & tokens, causal & tokens)


def test_a_sentence_of_padding_only_is_refused() -> None:
    ids_BS = torch.tensor([[5, 6, 7], [PAD, PAD, PAD]])
    with pytest.raises(ValueError, match="only padding"):
        padding_mask(ids_BS, PAD)


def test_masks_on_other_devices_are_built_without_reading_values() -> None:
    """Tensors on the "meta" device have no values; on a GPU, reading one would synchronise."""
    assert padding_mask(torch.ones(2, 3, dtype=torch.long, device="meta"), PAD).shape == (2, 1, 1, 3)
