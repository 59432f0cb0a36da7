"""Scores of given outputs equal those of the search and of the model on whole sentences."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import TINY, VARIANTS, toy_model
from transformer.search.model_step import translate_ids
from transformer.search.scoring import score_ids

MODELS = {name: toy_model(config) for name, config in VARIANTS.items()}
IDS = st.lists(st.integers(3, TINY.vocab_size - 1), max_size=7)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_scoring_agrees_with_the_search_on_its_outputs(model) -> None:
    src = [[5, 6, 7, 8], [9], [4, 3]]
    found = [h for (h,) in translate_ids(model, src, max_extra=5)]
    for h, scores in zip(found, score_ids(model, src, [h.tokens for h in found]), strict=True):
        assert len(scores) == len(h.tokens) + 1
        assert sum(scores) == pytest.approx(h.log_prob, abs=1e-3)


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=4))
def test_no_score_depends_on_its_batch(pairs: list[tuple[list[int], list[int]]]) -> None:
    model = MODELS["paper"]
    together = score_ids(model, *zip(*pairs, strict=True))
    for (src, tgt), scores in zip(pairs, together, strict=True):
        assert score_ids(model, [src], [tgt])[0] == pytest.approx(scores, abs=1e-4)


def test_probabilities_of_all_continuations_sum_to_one() -> None:
    """Padding and bos have probability 0."""
    model, src, prefix = MODELS["paper"], [5, 9], [7, 4]
    words = range(3, TINY.vocab_size)
    after = score_ids(model, [src] * len(words), [[*prefix, word] for word in words])
    end = score_ids(model, [src], [prefix])[0][-1]
    assert math.exp(end) + sum(math.exp(scores[2]) for scores in after) == pytest.approx(1.0, abs=1e-5)


def test_scores_are_the_models_logits() -> None:
    model, src, tgt = MODELS["pre-norm"], [5, 9, 6], [7, 4]
    logits = model(torch.tensor([[*src, TINY.eos]]), torch.tensor([[TINY.bos, *tgt]]))[0].detach()
    words = [i for i in range(TINY.vocab_size) if i not in (TINY.pad, TINY.bos)]
    expected = [
        float(row[token] - torch.tensor([float(row[w]) for w in words]).logsumexp(0))
        for row, token in zip(logits, [*tgt, TINY.eos], strict=True)
    ]
    assert score_ids(model, [src], [tgt])[0] == pytest.approx(expected, abs=1e-4)


def test_scoring_no_pairs_returns_no_scores() -> None:
    assert score_ids(MODELS["paper"], [], []) == []


@pytest.mark.parametrize(("n_sources", "n_targets"), [(1, 3), (3, 1), (0, 3), (3, 5)])
def test_sources_and_targets_of_unequal_number_are_refused(n_sources: int, n_targets: int) -> None:
    """One source would be broadcast to all targets."""
    with pytest.raises(ValueError, match=f"{n_sources} sources but {n_targets} targets"):
        score_ids(MODELS["paper"], [[3, 4]] * n_sources, [[5]] * n_targets)
