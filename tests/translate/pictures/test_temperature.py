"""Probabilities at temperatures."""

import pytest
import torch

from transformer.search.model_step import ModelStep, source_batch
from translate.models.folder import ModelFolder
from translate.pictures.search import TEMPERATURES, temperature_picture, with_temperature


def test_temperature_one_changes_nothing_low_ones_favour_the_best_and_high_ones_are_uniform() -> None:
    log_prob = torch.randn(11, generator=torch.Generator().manual_seed(0)).log_softmax(dim=0)
    torch.testing.assert_close(with_temperature(log_prob, 1.0).float(), log_prob.exp())
    assert with_temperature(log_prob, 1e-3)[log_prob.argmax()] == pytest.approx(1.0)
    torch.testing.assert_close(with_temperature(log_prob, 1e6).float(), torch.full((11,), 1 / 11), atol=1e-5, rtol=0)


def test_the_column_of_temperature_one_has_the_models_probabilities(parts: ModelFolder) -> None:
    picture = temperature_picture(parts, "der Hund", prefix="the")
    step = ModelStep(parts.model, source_batch(parts.model, [parts.tokenizer.encode("der Hund")]))
    step(torch.tensor([parts.model.config.bos]))
    for token in parts.tokenizer.encode("the"):
        (log_prob,) = step(torch.tensor([token]))
    one = TEMPERATURES.index(1.0)
    assert picture.rows[0][one] == pytest.approx(log_prob.exp().max().item(), rel=1e-4)
    for column in zip(*picture.rows, strict=True):
        assert sum(column) == pytest.approx(1.0)
