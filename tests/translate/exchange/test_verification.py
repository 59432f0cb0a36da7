"""Which comparisons of an exchanged model with the original pass."""

import copy
import gc
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.translate.conftest import SENTENCES
from transformer.config import SearchConfig
from transformer.search.model_step import translate_ids
from translate.errors import UserError
from translate.exchange.verification import Ids, Proof, compare, require_equal, teacher_forced
from translate.models.folder import ModelFolder


@pytest.mark.parametrize("proof", [Proof(3, 1e-5, 1e-6, 0.0, 3), Proof(3, 2.6e-4, 1e-6, 2e-4, 3)])
def test_equal_models_pass(proof: Proof) -> None:
    """The second one differs by more than the tolerance, as the original does from its own values in float64."""
    require_equal(proof, 1e-4, "logits")


@pytest.mark.parametrize(
    "proof",
    [
        Proof(3, 1e-3, 1e-6, 1e-6, 3),
        Proof(3, 1e-2, 1e-6, 2e-4, 3),
        Proof(3, 0.0, 0.0, 0.0, 2),
        Proof(3, math.nan, math.nan, 0.0, 3),
        Proof(3, math.nan, math.nan, math.nan, 3),
    ],
)
def test_different_models_do_not(proof: Proof) -> None:
    with pytest.raises(UserError, match="the new model is not the original"):
        require_equal(proof, 1e-4, "logits")


class Same:
    """The model itself in place of an export; `live` counts the numbers of all tensors at the start of each batch."""

    def __init__(self, folder: ModelFolder) -> None:
        self.model, tokenizer = folder.model, folder.tokenizer
        self.ids: Sequence[int] = range(tokenizer.vocab_size)
        self.encode, self.decode = tokenizer.encode_batch, tokenizer.decode
        self.live: list[int] = []

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        self.live.append(sum(found.numel() for found in gc.get_objects() if type(found) is Tensor))
        found = translate_ids(self.model, src, SearchConfig(beam_size=1), max_lengths=[limit] * len(src))
        return [list(best[0].tokens) for best in found]

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        return teacher_forced(self.model, src, tgt)


@pytest.mark.parametrize("rows", [slice(None), slice(1)], ids=["everywhere", "in the embedding of padding"])
def test_a_model_that_diverged_is_named(rows: slice, parts: ModelFolder) -> None:
    diverged = replace(parts, model=copy.deepcopy(parts.model))
    with torch.no_grad():
        next(diverged.model.parameters())[rows] = math.nan
    with pytest.raises(UserError, match="its training diverged"):
        compare(diverged, Same(diverged), teacher_forced, SENTENCES[:3], parts.model.config.max_length)


def test_the_memory_of_a_comparison_does_not_grow_with_its_sentences(parts: ModelFolder) -> None:
    gc.freeze()  # what other tests have left is not counted
    same = Same(parts)
    proof = compare(parts, same, teacher_forced, SENTENCES[:123], parts.model.config.max_length)
    assert (proof.largest, proof.mean, proof.n_same) == (0, 0, 123)
    assert proof.rounding > 0
    assert len(same.live) == 7
    assert max(same.live[1:]) < 2 * min(same.live[1:]), same.live
