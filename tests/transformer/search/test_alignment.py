"""Alignments are the model's attention weights and do not depend on the batch."""

import dataclasses
import statistics

import pytest
import torch

from tests.toys import TINY, toy_model
from transformer.config import Positions
from transformer.search.alignment import alignment, cross_attention, sharpest_layer

MODEL = toy_model()
SRC, TGT = [[5, 6, 7, 8], [9], [4, 3]], [[7, 4, 9], [5, 5, 6, 8, 4], []]


@pytest.mark.parametrize("layer", [0, 1, 2, None])
def test_weights_are_the_mean_of_heads_and_of_layers_by_sharpness_without_eos(layer: int | None) -> None:
    for src, tgt, weights in zip(SRC, TGT, cross_attention(MODEL, SRC, TGT, layer=layer), strict=True):
        maps = MODEL.attention_maps(torch.tensor([[*src, TINY.eos]]), torch.tensor([[TINY.bos, *tgt]]))
        means = [weights[0].detach().mean(dim=0)[: len(tgt), : len(src)] for weights in maps.cross]
        squares = [statistics.mean(max(row) for row in mean.tolist()) ** 2 if tgt else 1.0 for mean in means]
        of_all = sum(square * mean for square, mean in zip(squares, means, strict=True)) / sum(squares)
        expected = of_all if layer is None else means[layer]
        assert weights.shape == (len(tgt), len(src))
        torch.testing.assert_close(weights, expected)
        assert bool((weights.sum(dim=1) < 1).all())


def test_each_target_token_is_linked_to_the_source_token_with_the_highest_weight() -> None:
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.1, 0.3]])
    assert alignment(weights) == [(1, 0), (0, 1)]
    assert alignment(torch.zeros(0, 3)) == alignment(torch.zeros(2, 0)) == []


def test_a_layer_that_does_not_exist_is_refused() -> None:
    with pytest.raises(IndexError):
        cross_attention(MODEL, SRC, TGT, layer=3)
    assert cross_attention(MODEL, [], []) == []


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_sharpest_layer_is_the_one_that_attends_to_single_tokens(layer: int, positions: Positions) -> None:
    model = toy_model(dataclasses.replace(TINY, positions=positions))
    width = TINY.n_heads * TINY.d_key
    with torch.no_grad():
        for i, block in enumerate(model.decoder):
            block.cross_attn.w_qkv.weight[:width] *= 30.0 if i == layer else 0.01
    before = torch.get_rng_state()
    assert sharpest_layer(model) == sharpest_layer(model) == layer
    assert torch.equal(torch.get_rng_state(), before)


def test_a_diverged_model_has_a_sharpest_layer_too() -> None:
    model = toy_model()
    with torch.no_grad():
        model.output_weight[:] = torch.nan
    assert 0 <= sharpest_layer(model) < TINY.n_decoder_layers


@pytest.mark.parametrize(("n_sources", "n_targets"), [(1, 3), (3, 1), (0, 3), (3, 5)])
def test_sides_of_unequal_number_are_refused(n_sources: int, n_targets: int) -> None:
    """One source would be that of each target, or an error of PyTorch's."""
    with pytest.raises(ValueError, match=f"{n_sources} sources but {n_targets} targets"):
        cross_attention(MODEL, [[3, 4]] * n_sources, [[5]] * n_targets)
