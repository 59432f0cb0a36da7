"""The moving average: its formula, no side effects when applied, and bit-identical resuming."""

import json

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from translate.errors import UserError
from translate.training import checkpoints
from translate.training.card import card
from translate.training.checkpoints import TrainState
from translate.training.optimizer import Ema


def test_the_average_equals_its_recurrence_in_plain_python():
    torch.manual_seed(0)
    model, decay = nn.Linear(3, 5), 0.7
    ema = Ema(model, decay)
    expected = model.weight.detach().double()
    for step in range(1, 30):
        with torch.no_grad():
            model.weight += torch.randn(5, 3)
        ema.update(model, step, torch.tensor(True))
        d = min(decay, (1 + step) / (10 + step))
        expected = d * expected + (1 - d) * model.weight.detach().double()
    with ema.applied(model):
        torch.testing.assert_close(model.weight.detach().double(), expected, rtol=1e-5, atol=1e-6)


def test_a_skipped_update_leaves_the_average_as_it_is():
    model = nn.Linear(3, 5)
    ema = Ema(model, 0.9)
    before = model.weight.detach().clone()
    with torch.no_grad():
        model.weight += 1
    ema.update(model, 7, torch.tensor(False))
    with ema.applied(model):
        assert model.weight.equal(before)
    ema.update(model, 7, torch.tensor(True))
    with ema.applied(model):
        assert not model.weight.equal(before)


def test_applying_the_average_has_no_side_effects_even_if_validation_fails():
    model = nn.Linear(3, 5)
    ema = Ema(model, 0.9)
    with torch.no_grad():
        model.weight *= 3
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    def fail() -> None:
        with ema.applied(model):
            assert not model.weight.equal(before["weight"])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert all(model.state_dict()[name].equal(tensor) for name, tensor in before.items())


def losses(run):
    """The last loss on the validation set by kind of line."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return {line["kind"]: line["nll"] for line in lines if line["kind"] in ("valid", "final")}


def test_the_average_changes_no_update_and_becomes_the_final_model(toy):
    toy.trainer("plain").train()
    toy.trainer("averaged", ema=0.9).train()
    last = "checkpoints/step-00000012"
    plain, averaged = (load_file(toy.folder / run / last / "model.safetensors") for run in ("plain", "averaged"))
    validated, of_average = (losses(toy.folder / run) for run in ("plain", "averaged"))
    assert of_average["valid"] == of_average["final"] != validated["valid"]
    assert all(plain[name].equal(averaged[name]) for name in plain)
    shadow = load_file(toy.folder / "averaged" / last / "ema.safetensors")
    final = load_file(toy.folder / "averaged/model/model.safetensors")
    assert all(shadow[name].equal(final[name]) for name in final)
    assert any(not shadow[name].equal(averaged[name]) for name in final)
    assert "ema.safetensors" in checkpoints.verify(toy.folder / "averaged" / last)["sha256"]
    for run, parts in (("plain", "the checkpoints of steps 8, 12"), ("averaged", "the moving average at step 12")):
        assert any(line.startswith("final model") and line.endswith(f"made of {parts}") for line in toy.said)
        assert f"| final model | made of {parts} |" in card(toy.folder / run)


def test_a_run_with_a_moving_average_resumes_bit_for_bit(toy):
    toy.trained("whole", ema=0.9)
    toy.trainer("halves", ema=0.9, max_steps=7).train()
    toy.trainer("halves", ema=0.9, resume=True).train()
    whole, halves = (load_file(toy.folder / run / "model/model.safetensors") for run in ("whole", "halves"))
    assert all(whole[name].equal(halves[name]) for name in whole)


def test_the_best_checkpoint_becomes_the_final_model_where_asked_for(toy):
    scores = iter([3.0, 7.0, 5.0, 0.0])
    settings = {"final": "best", "best_by": "bleu", "valid_bleu_sentences": 5}
    toy.trainer("run", score_bleu=lambda model, pairs: next(scores), **settings).train()
    best = load_file(toy.folder / "run/checkpoints/step-00000008/model.safetensors")
    final = load_file(toy.folder / "run/model/model.safetensors")
    assert all(best[name].equal(final[name]) for name in best)
    state = json.loads((toy.folder / "run/checkpoints/step-00000012/state.json").read_text(encoding="utf-8"))["state"]
    assert (state["best_score"], state["best_step"], state["stale_validations"]) == (7.0, 8, 1)


def test_best_by_bleu_needs_bleu(toy):
    with pytest.raises(UserError, match="best_by = .bleu.: needs translations; set training.valid_bleu_sentences"):
        toy.config(best_by="bleu", valid_bleu_sentences=0)


@pytest.mark.parametrize(
    ("scores", "best_step", "stale"),
    [((-2.0, -3.0, float("nan"), -2.0), 1, 3), ((10.0, 30.0, None, 30.0), 2, 2), ((float("-inf"), None), 0, 2)],
)
def test_the_best_score_is_the_first_of_the_highest_finite_ones(scores, best_step, stale):
    state = TrainState()
    for score in scores:
        state.step += 1
        state.see_validation(score)
    assert (state.best_step, state.stale_validations) == (best_step, stale)
    assert state.best_score == (scores[best_step - 1] if best_step else None)
