"""An ensemble of table models: against the mean in plain Python, and with the same model several times."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import TableStep, table_row
from transformer.config import SearchConfig
from transformer.search.beam import beam_search
from transformer.search.ensemble import EnsembleStep, Mean

BOS, EOS, V = 1, 2, 5
MEANS: list[Mean] = ["log-probs", "probs"]


@pytest.mark.parametrize("mean", MEANS)
@given(a=st.integers(0, 500), b=st.integers(0, 500))
def test_the_ensemble_mean_equals_its_formula_in_plain_python(mean: Mean, a: int, b: int) -> None:
    rows = [table_row(seed, (BOS,), V) for seed in (a, b)]
    if mean == "probs":
        expected = [math.log((math.exp(x) + math.exp(y)) / 2) for x, y in zip(*rows, strict=True)]
    else:
        product = [math.exp((x + y) / 2) for x, y in zip(*rows, strict=True)]
        expected = [math.log(p / sum(product)) for p in product]
    found = EnsembleStep([TableStep([a], V), TableStep([b], V)], mean)(torch.tensor([BOS]))
    assert found[0].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("mean", MEANS)
@given(seeds=st.lists(st.integers(0, 500), min_size=1, max_size=3), beam_size=st.integers(1, 4))
def test_an_ensemble_of_three_equal_models_equals_the_model(mean: Mean, seeds: list[int], beam_size: int) -> None:
    """Also when sentences leave the batch and hypotheses are reordered."""
    lengths = [3 + i for i in range(len(seeds))]

    def search(step):  # type: ignore[no-untyped-def]
        return beam_search(step, lengths, SearchConfig(beam_size=beam_size, n_best=beam_size))

    alone = search(TableStep(seeds, V))
    together = search(EnsembleStep([TableStep(seeds, V) for _ in range(3)], mean))
    assert [[h.tokens for h in own] for own in together] == [[h.tokens for h in own] for own in alone]
    assert [h.log_prob for own in together for h in own] == pytest.approx(
        [h.log_prob for own in alone for h in own], abs=1e-4
    )


def test_one_member_can_rule_a_token_out_by_log_probabilities_alone() -> None:
    class Muted(TableStep):
        def __call__(self, token_N):  # type: ignore[no-untyped-def]
            log_prob_NV = super().__call__(token_N)
            log_prob_NV[:, 3] = float("-inf")
            return log_prob_NV.log_softmax(dim=1)

    token = torch.tensor([BOS])
    both = [EnsembleStep([TableStep([1], V), Muted([2], V)], mean)(token)[0, 3].isfinite().item() for mean in MEANS]
    assert both == [False, True]


def test_a_misspelt_mean_is_refused() -> None:
    with pytest.raises(ValueError, match="log-probs, probs"):
        EnsembleStep([TableStep([3], V)], "prob")  # type: ignore[arg-type]
