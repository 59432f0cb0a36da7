"""The coverage penalty on toy models, against equation 14 in plain Python and all possible outputs."""

import dataclasses
import functools
import itertools
import math
from typing import get_args

import pytest
import torch

from tests.toys import TINY, toy_model
from transformer.config import Hypothesis, LengthRule, SearchConfig, length_penalty
from transformer.model import Transformer
from transformer.search.coverage import with_coverage
from transformer.search.model_step import translate_ids
from transformer.search.scoring import score_ids

MODELS = [toy_model(seed=seed) for seed in (0, 1)]
SRC = [[5, 6, 7, 8], [9], [4, 3, 9, 9, 11]]
FOUND = [
    [Hypothesis([7, 4, 9], -1.0, -0.9), Hypothesis([], -2.0, -2.0)],
    [],
    [Hypothesis([5], -3.0, -2.5), Hypothesis([5, 5, 6, 8, 4, 3], -4.0, -2.4), Hypothesis([9, 8], -4.0, -2.3)],
]


def plain_penalty(models: list[Transformer], src: list[int], tgt: list[int], beta: float) -> float:
    """Equation 14 for one sentence, in plain Python."""
    source, target = torch.tensor([[*src, TINY.eos]]), torch.tensor([[TINY.bos, *tgt]])
    heads = [head for model in models for head in model.attention_maps(source, target).cross[-1][0].tolist()]
    total = 0.0
    for i in range(len(src)):
        share = sum(head[j][i] for head in heads for j in range(len(tgt) + 1)) / len(heads)
        total += math.log(min(share, 1.0))
    return beta * total


@pytest.mark.parametrize("models", [MODELS[:1], MODELS], ids=len)
@pytest.mark.parametrize("cells", [2**20, 90])
def test_the_penalty_is_equation_14_and_ranks(
    models: list[Transformer], cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources and targets in the batch have different lengths; few cells split the batch."""
    monkeypatch.setattr("transformer.search.coverage._CELLS", cells)
    for src, before, after in zip(SRC, FOUND, with_coverage(models, SRC, FOUND, 0.7), strict=True):
        expected = {tuple(h.tokens): plain_penalty(models, src, h.tokens, 0.7) for h in before}
        assert len(after) == len(before)
        for h in after:
            assert h.coverage == pytest.approx(expected[tuple(h.tokens)], abs=1e-5)
            assert h.coverage < 0
            assert h.score == pytest.approx(next(b.score for b in before if b.tokens == h.tokens) + h.coverage)
        assert [h.score for h in after] == sorted((h.score for h in after), reverse=True)


def test_the_coverage_penalty_can_change_the_order() -> None:
    found = [[Hypothesis([], -1.0, -1.0), Hypothesis([7, 4, 9, 6, 5], -1.1, -1.1)]]
    assert [h.tokens for h in with_coverage(MODELS, SRC[:1], found, 0.0)[0]] == [[], [7, 4, 9, 6, 5]]
    assert [h.tokens for h in with_coverage(MODELS, SRC[:1], found, 9.0)[0]] == [[7, 4, 9, 6, 5], []]
    assert with_coverage(MODELS, [], [], 1.0) == []


SMALL = toy_model(dataclasses.replace(TINY, vocab_size=6, tying="none"), seed=4)


@functools.cache
def plain_scores(src: tuple[int, ...], tgt: tuple[int, ...]) -> tuple[float, float]:
    """Log-probability of an output of the small model, and its penalty for a beta of 1."""
    return sum(score_ids(SMALL, [src], [tgt])[0]), plain_penalty([SMALL], [*src], [*tgt], 1.0)


@pytest.mark.parametrize("rule", get_args(LengthRule))
@pytest.mark.parametrize("beta", [0.2, 3.0])
def test_an_unpruned_beam_finds_the_best_output(rule: LengthRule, beta: float) -> None:
    outputs = [list(output) for n in range(3) for output in itertools.product(range(3, 6), repeat=n)]
    src = [[3, 5, 4], [5]]
    found = translate_ids(
        SMALL, src, SearchConfig(beam_size=16, n_best=16, alpha=0.8, length_penalty=rule), max_lengths=[3, 3]
    )
    ranked = with_coverage([SMALL], src, found, beta)
    for ids, own in zip(src, ranked, strict=True):
        plain = [plain_scores(tuple(ids), tuple(output)) for output in outputs]
        scores = [
            log_prob / length_penalty(len(output) + 1, 0.8, rule) + beta * penalty
            for output, (log_prob, penalty) in zip(outputs, plain, strict=True)
        ]
        expected = sorted(zip(scores, outputs, strict=True), reverse=True)
        assert [h.tokens for h in own] == [output for _, output in expected]
        assert [h.score for h in own] == pytest.approx([score for score, _ in expected], abs=1e-4)
