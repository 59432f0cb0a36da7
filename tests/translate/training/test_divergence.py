"""Divergence is reported at its first sign, counted, and ended; saved values are finite."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from translate.errors import UserError
from translate.training import checkpoints
from translate.training.reporting import guessing_warning
from translate.training.train import MAX_UNREAD
from translate.training.update import MAX_SKIPPED, Update, Updater

GOOD, BAD = (Update(torch.tensor([loss, loss, 1.0]), 8) for loss in (2.0, float("nan")))


@pytest.mark.parametrize(("lr", "precision"), [(1e3, "fp32"), (1e6, "bf16"), (1e38, "fp32")])
def test_at_any_learning_rate_divergence_is_reported_and_saved_values_are_finite(toy, lr, precision):
    trainer = toy.trainer("run", lr=lr, precision=precision, max_steps=60)
    try:
        trainer.train()
    except UserError as error:
        assert f"{MAX_SKIPPED} updates in a row; state is saved; lower training.lr" in str(error)  # noqa: PT017
        assert trainer.parts.checkpoints.saved_step == trainer.state.step
    warnings = "\n".join(line for line in toy.said if line.startswith("warning: "))
    assert "so training diverges; lower training.lr" in warnings
    assert ("was not finite at step" in warnings) == (trainer.state.n_skipped > 0)
    folders = checkpoints.folders(trainer.run.checkpoints)
    assert folders
    for folder in folders:
        assert all(tensor.isfinite().all() for tensor in load_file(folder / "model.safetensors").values())
    lines = map(json.loads, trainer.run.metrics.read_text(encoding="utf-8").splitlines())
    assert [line["skipped"] for line in lines if line["kind"] == "train"][-1] == trainer.state.n_skipped


def test_parameters_that_are_not_finite_never_replace_a_checkpoint(toy):
    trainer = toy.trainer("run", keep_last=1, average_last=1)

    @torch.no_grad()
    def spoil() -> None:
        trainer.model.src_embedding.weight_VD[3, 5] = float("inf")

    trainer.before_update(8, spoil)
    with pytest.raises(UserError, match="no longer finite at step 8, so nothing is saved beyond step 4; lower"):
        trainer.train()
    assert [path.name for path in trainer.run.checkpoints.iterdir()] == ["step-00000004"]


def test_one_good_update_ends_the_count(toy, monkeypatch):
    trainer = toy.trainer("run", max_steps=3 * MAX_SKIPPED, valid_every=100)
    stats = iter([*[BAD] * (MAX_SKIPPED - 1), GOOD, *[BAD] * MAX_SKIPPED])
    monkeypatch.setattr(Updater, "step", lambda self, batches, lr: next(stats))
    with pytest.raises(UserError, match="20 updates in a row"):
        trainer.train()
    assert trainer.state.step == 2 * MAX_SKIPPED
    (warning,) = (line for line in toy.said if "was not finite" in line)
    assert "at step 1," in warning


def test_a_run_without_reports_notices_divergence_too(toy, monkeypatch):
    trainer = toy.trainer("run", max_steps=3 * MAX_UNREAD, valid_every=1000, log_every=1000)
    monkeypatch.setattr(Updater, "step", lambda self, batches, lr: BAD)
    with pytest.raises(UserError, match="20 updates in a row"):
        trainer.train()
    assert trainer.state.step == trainer.state.n_skipped == MAX_UNREAD


@pytest.mark.parametrize("nll", [math.log(7), 1e9, float("inf"), float("nan")])
def test_a_loss_no_better_than_random_guessing_is_named(nll):
    assert guessing_warning(3, math.log(7) - 1e-6, vocab_size=7) is None
    assert "at step 5 " in guessing_warning(5, nll, vocab_size=7)
