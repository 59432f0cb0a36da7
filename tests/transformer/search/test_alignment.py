"""Alignments are the model's attention weights and do not depend on the batch."""

import statistics

import pytest
import torch

from tests.toys import TINY, toy_model
from transformer.search.alignment import alignment, cross_attention

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
