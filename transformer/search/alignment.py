"""Source tokens that target tokens come from, by cross-attention (3.2.3).

A layer that aligns attends to one word of the source; other layers attend to its eos or to many words. The sharpest
layers are therefore the best ones, and no labels are needed to find them. Several layers together link more words
correctly than one; the best single layer differs between models.

Dimension key: B sentences, L layers, H heads, S source positions, T target positions.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.config import SearchConfig
from transformer.model import Transformer
from transformer.search.model_step import source_batch, target_batch, translate_ids

_N_PROBES, _PROBE_LENGTH = 64, 10  # sentences of random tokens
_ROUNDS, _LEAST = 3, 1e-6  # of balancing


@torch.inference_mode()
def cross_attention(
    model: Transformer, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]], *, layer: int | None = None
) -> list[Tensor]:
    """Return the attention of each target token to each source token, (T, S) for each pair: the mean over the heads.

    The column of the source's eos is left out, so rows sum to less than 1.

    Args:
        model: should be in eval mode.
        src, tgt: token ids of each pair, without bos and eos.
        layer: index of the decoder layer; None is the mean over all layers, weighted for each pair by the square of
            `sharpness`. IndexError if there is no such layer.
    """
    pairs = _of_layers(model, src, tgt)
    return [_mean_of_layers(w_LTS).cpu() if layer is None else w_LTS[layer].cpu() for w_LTS in pairs]


def _of_layers(model: Transformer, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> list[Tensor]:
    """Return the attention of each layer, (L, T, S) for each pair, without the column of eos; the mean of the heads.

    Raises ValueError if the numbers of both sides differ.
    """
    if len(src) != len(tgt):
        raise ValueError(f"{len(src)} sources but {len(tgt)} targets")
    if not src:
        return []
    maps = model.attention_maps(source_batch(model, src), target_batch(model, tgt))
    weights_BLTS = torch.stack([weights_BHTS.mean(dim=1) for weights_BHTS in maps.cross], dim=1)
    return [w_LTS[:, : len(t), : len(s)] for w_LTS, s, t in zip(weights_BLTS, src, tgt, strict=True)]


def _mean_of_layers(weights_LTS: Tensor) -> Tensor:
    if not weights_LTS.numel():
        return weights_LTS[0]
    squares_L = sharpness(weights_LTS).square()
    return torch.einsum("l,lts->ts", squares_L / squares_L.sum(), weights_LTS)


def balanced(weights_LTS: Tensor) -> Tensor:
    """Return the squares of weights, balanced so that no source token is read by many target tokens; rows sum to 1.

    In turn, columns are divided by the square roots of their sums, and rows by their sums. A layer in which several
    tokens read the same one sharply does not align.
    """
    weights_LTS = weights_LTS.square() + _LEAST
    for _ in range(_ROUNDS):
        weights_LTS = weights_LTS / weights_LTS.sum(dim=1, keepdim=True).sqrt()
        weights_LTS = weights_LTS / weights_LTS.sum(dim=2, keepdim=True)
    return weights_LTS


def sharpness(weights_LTS: Tensor) -> Tensor:
    """Return how sharply the target tokens of each layer read, (L,): the mean of their greatest attention to one token.

    It is 0 if either side is empty.

    Args:
        weights_LTS: attention without the column of the source's eos.
    """
    return weights_LTS.amax(dim=2).mean(dim=1) if weights_LTS.numel() else weights_LTS.new_zeros(len(weights_LTS))


@torch.inference_mode()
def sharpest_layer(model: Transformer) -> int:
    """Return the index of the decoder layer that aligns, which is the sharpest one when `balanced`.

    Sentences of random tokens, with the model's own greedy outputs, show the difference too, so no text is needed.

    Args:
        model: should be in eval mode.
    """
    config, draw = model.config, random.Random(0)
    if config.n_decoder_layers == 1:
        return 0
    length = min(_PROBE_LENGTH, config.vocab_size // 2, (config.max_positions or 2 * _PROBE_LENGTH) // 2)
    src = [draw.sample(range(config.vocab_size), length) for _ in range(_N_PROBES)]
    found = translate_ids(model, src, SearchConfig(beam_size=1), max_lengths=[2 * length] * _N_PROBES)
    tgt = [hypotheses[0].tokens if hypotheses else [] for hypotheses in found]  # none if the model has diverged
    layers = map(balanced, _of_layers(model, src, tgt))
    sums_L = sum(len(t) * sharpness(w_LTS) for t, w_LTS in zip(tgt, layers, strict=True))
    return int(torch.as_tensor(sums_L).argmax())


def alignment(weights_TS: Tensor) -> list[tuple[int, int]]:
    """Return (source position, target position) of each target token and the source token it attends to most."""
    if not weights_TS.numel():
        return []
    return [(s, t) for t, s in enumerate(weights_TS.argmax(dim=1).tolist())]
