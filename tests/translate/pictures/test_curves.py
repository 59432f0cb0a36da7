"""Drawings of positions and learning rates."""

import torch

from transformer.schedule import noam_lr
from translate.models.folder import ModelFolder
from translate.pictures.charts import SCHEDULES, SchedulePicture
from translate.pictures.embeddings import positions_picture


def test_positions_are_those_of_the_model(parts: ModelFolder) -> None:
    picture = positions_picture(parts)
    torch.testing.assert_close(picture.encodings, parts.model.src_positions(0, 61))
    assert len(picture.text().splitlines()) == 26


def test_learning_rates_are_equation_3() -> None:
    steps = [1, 4_000, 20_000]
    for (d_model, warmup), (_, rates) in zip(SCHEDULES, SchedulePicture().curves(steps), strict=True):
        assert rates == [noam_lr(step, d_model=d_model, warmup_steps=warmup) for step in steps]
    assert "6.9" in SchedulePicture().text()
