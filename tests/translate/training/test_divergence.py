"""Divergence is told at its first sign, counted, and ended; what is saved is finite."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from translate.errors import UserError
from translate.training import checkpoint
from translate.training.divergence import MAX_SKIPPED, Divergence
from translate.training.step import StepStats

GOOD, BAD = (StepStats(loss, loss, 1.0, 3, 5) for loss in (2.0, float("nan")))


@pytest.mark.parametrize(("lr", "precision"), [(1e3, "fp32"), (1e6, "bf16"), (1e38, "fp32")])
def test_whatever_the_learning_rate_the_user_is_told_and_what_is_saved_is_finite(toy, lr, precision):
    trainer = toy.trainer("run", lr=lr, precision=precision, max_steps=60)
    try:
        trainer.train()
    except UserError as error:
        assert f"{MAX_SKIPPED} updates in a row; state is saved; lower training.lr" in str(error)  # noqa: PT017
        assert trainer.checkpoints.saved_step == trainer.state.step
    warnings = "\n".join(line for line in toy.said if line.startswith("warning: "))
    assert "so training diverges; lower training.lr" in warnings
    assert ("was not finite at step" in warnings) == (trainer.state.n_skipped > 0)
    folders = checkpoint.checkpoints(trainer.run.checkpoints)
    assert folders
    for folder in folders:
        assert all(tensor.isfinite().all() for tensor in load_file(folder / "model.safetensors").values())
    lines = map(json.loads, trainer.run.metrics.read_text(encoding="utf-8").splitlines())
    assert [line["skipped"] for line in lines if line["kind"] == "train"][-1] == trainer.state.n_skipped


def test_parameters_that_are_not_finite_never_replace_a_checkpoint(toy, monkeypatch):
    trainer = toy.trainer("run", keep_last=1, average_last=1)
    update = trainer._update

    def spoil(batches):
        stats = update(batches)
        if trainer.state.step == 7:
            with torch.no_grad():
                trainer.model.src_embedding.weight_VD[3, 5] = float("inf")
        return stats

    monkeypatch.setattr(trainer, "_update", spoil)
    with pytest.raises(UserError, match="no longer finite at step 8, so nothing is saved beyond step 4; lower"):
        trainer.train()
    assert [path.name for path in trainer.run.checkpoints.iterdir()] == ["step-00000004"]


def test_one_good_update_ends_the_count():
    said: list[str] = []
    divergence = Divergence(said.append, vocab_size=7)
    for step in range(1, MAX_SKIPPED):
        divergence.see_update(step, BAD)
    assert divergence.failure is None
    divergence.see_update(MAX_SKIPPED, GOOD)
    assert divergence.skipped == 0
    for step in range(MAX_SKIPPED):
        divergence.see_update(step, BAD)
    assert "20 updates in a row" in divergence.failure
    assert len(said) == 1
    assert "at step 1," in said[0]


@pytest.mark.parametrize("nll", [math.log(7), 1e9, float("inf"), float("nan")])
def test_no_better_than_random_guessing_is_told_once(nll):
    said: list[str] = []
    divergence = Divergence(said.append, vocab_size=7)
    divergence.see_validation(3, math.log(7) - 1e-6)
    assert not said
    divergence.see_validation(5, nll)
    divergence.see_validation(6, nll)
    assert len(said) == 1
    assert "at step 5 " in said[0]
