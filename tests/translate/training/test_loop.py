"""The training loop: the files of a run, and that an interrupted run ends as if it had not been interrupted."""

import itertools
import json
import math
import os
import signal
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from transformer.search.alignment import sharpest_layer
from translate.corpus.batches import Position
from translate.errors import UserError
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec
from translate.training import checkpoints
from translate.training.card import card
from translate.training.reporting import TIMED
from translate.training.update import Updater


def metrics(folder: Path, kind: str) -> list[dict]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").split("\n")
    return [record for record in map(json.loads, filter(None, lines)) if record["kind"] == kind]


def without_time(records: list[dict]) -> list[dict]:
    return [{k: v for k, v in record.items() if k not in TIMED} for record in records]


def assert_same_weights(a: Path, b: Path) -> None:
    left, right = load_file(a / "model.safetensors"), load_file(b / "model.safetensors")
    assert left.keys() == right.keys()
    for name in left:
        assert left[name].equal(right[name]), name


def test_a_run_learns_and_reports_its_progress(toy):
    toy.trainer("run", max_steps=60, valid_every=20).train()
    run = toy.folder / "run"
    losses = [record["loss"] for record in metrics(run, "train")]
    assert len(losses) == 60
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])
    assert [record["step"] for record in metrics(run, "valid")] == [20, 40, 60]
    (final,) = metrics(run, "final")
    assert final["perplexity"] == pytest.approx(math.exp(final["nll"]))
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == 1
    assert manifest["parameters"] == sum(t.numel() for t in load_file(run / "model/model.safetensors").values())
    (start,) = manifest["starts"]
    assert start["command"] == sys.argv
    assert start["versions"]["torch"] == torch.__version__
    assert all(len(digest) == 64 for digest in manifest["data"]["inputs"].values())


def test_updates_have_the_learning_rate_of_the_log_with_warm_up_and_cooldown(toy, monkeypatch):
    used, step = [], Updater.step

    def recorded(self, batches, lr):
        used.append(lr)
        return step(self, batches, lr)

    monkeypatch.setattr(Updater, "step", recorded)
    toy.trainer("run", cooldown=0.25).train()
    plain = [0.01 * min(n / 10, (10 / n) ** 0.5) for n in range(1, 13)]
    assert used == pytest.approx([*plain[:10], plain[10] * 2 / 3, plain[11] / 3])
    assert [record["lr"] for record in metrics(toy.folder / "run", "train")] == used


def test_updates_have_the_settings_of_the_experiment(toy):
    trainer = toy.trainer(
        "run", label_smoothing=0.3, clip_norm=0.7, r_drop=1.5, adam_betas=[0.7, 0.9], adam_eps=1e-5, weight_decay=0.2
    )
    updater = trainer.parts.updater
    assert (updater.label_smoothing, updater.clip_norm, updater.r_drop) == (0.3, 0.7, 1.5)
    for group in updater.optimizer.param_groups:
        assert (group["betas"], group["eps"], group["weight_decay"]) == ((0.7, 0.9), 1e-5, 0.2)


def test_the_seed_decides_the_initial_weights_and_the_order_of_the_batches(toy):
    def start(name: str, seed: int) -> tuple[torch.Tensor, list[list[int]]]:
        trainer = toy.trainer(name, seed=seed)
        return trainer.model.output_weight.detach(), [index.tolist() for index in trainer.parts.feed.sampler.batches(0)]

    (weights, order), (same_weights, same_order), (others, other_order) = start("a", 3), start("b", 3), start("c", 4)
    assert weights.equal(same_weights)
    assert order == same_order
    assert not weights.equal(others)
    assert order != other_order


def test_a_resume_that_moves_the_cooldown_is_reported(toy):
    def warnings() -> list[str]:
        found = [line for line in toy.said if "training.cooldown counts from it" in line]
        toy.said.clear()
        return found

    toy.trainer("run", max_steps=10, cooldown=0.5).train()
    toy.trainer("run", max_steps=10, cooldown=0.5, resume=True).train()
    assert not warnings()
    toy.trainer("run", max_steps=15, cooldown=0.5, resume=True).train()
    (warning,) = warnings()
    old, new = ([r["lr"] for r in metrics(toy.folder / "run", "train")][i] for i in (9, 10))
    assert f"was {old:.3g} at step 10, and is {new:.3g} at the next" in warning
    toy.trainer("run", max_steps=15, cooldown=0.5, resume=True).train()
    toy.trainer("run", max_steps=12, cooldown=0.5, resume=True)  # has ended
    toy.trainer("plain", max_steps=10).train()
    toy.trainer("plain", max_steps=15, resume=True).train()
    assert not warnings()


@pytest.mark.parametrize(
    ("first_end", "save_every", "last_step", "averaged"),
    [(8, 5, 15, [8, 10, 15]), (7, 7, 14, [4, 14]), (7, 4, 12, [4, 8, 12])],
)
def test_checkpoints_count_by_the_schedule_that_saved_them(toy, first_end, save_every, last_step, averaged):
    """With another number of processes, an epoch has other steps."""
    settings = {"keep_last": 3, "average_last": 3}
    toy.trainer("run", max_steps=first_end, **settings).train()
    trainer = toy.trainer("run", resume=True, max_steps=last_step, **settings)
    trainer.replace(schedule=replace(trainer.parts.schedule, save_every=save_every, valid_every=save_every))
    trainer.train()
    assert metrics(toy.folder / "run", "final")[-1]["averaged"] == averaged


def test_the_final_model_is_the_mean_of_the_last_scheduled_checkpoints(toy):
    toy.trainer("run").train()
    (final,) = metrics(toy.folder / "run", "final")
    assert final["averaged"] == [8, 12]
    parts = [load_file(toy.folder / f"run/checkpoints/step-0000{n:04d}/model.safetensors") for n in (8, 12)]
    for name, tensor in load_file(toy.folder / "run/model/model.safetensors").items():
        torch.testing.assert_close(tensor, (parts[0][name] + parts[1][name]) / 2)


@pytest.mark.parametrize("settings", [{}, {"subword_dropout": 0.3}, {"optimizer": "muon"}], ids=str)
def test_a_stopped_run_resumes_bit_for_bit(toy, settings):
    """SIGTERM ends the current step, saves outside the schedule, and does not change later steps."""
    toy.trained("whole", **settings)
    trainer = toy.trainer("halves", **settings)
    trainer.before_update(6, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert trainer.state.step == 6
    toy.trainer("halves", resume=True, **settings).train()
    assert "(step 6)" in "".join(toy.said)
    assert_same_weights(toy.folder / "whole/model", toy.folder / "halves/model")
    for kind in ("train", "valid", "final"):
        a, b = (without_time(metrics(toy.folder / name, kind)) for name in ("whole", "halves"))
        assert a == b


def test_a_resumed_run_keeps_its_type_of_products(toy, monkeypatch):
    """Another machine, or another load, may measure that the other type is faster."""
    for pays in (True, False):
        monkeypatch.setattr("translate.machine.bf16_pays", lambda device, pays=pays: pays)
        trainer = toy.trainer("run", precision="auto", max_steps=4 if pays else 8, resume=not pays)
        assert trainer.parts.plan.dtype == trainer.parts.updater.dtype == torch.bfloat16
        trainer.train()


def test_a_run_killed_before_its_first_checkpoint_restarts_with_the_same_random_numbers(toy):
    """Measuring the speed of precisions must not advance the random generators."""
    first = toy.trainer("run", precision="auto")
    drawn = torch.rand(5)
    first.run.log({"kind": "train", "step": 1})
    toy.trainer("run", resume=True, precision="auto")
    assert torch.rand(5).equal(drawn)


def test_settings_may_change_after_a_first_start_that_failed(toy):
    with pytest.raises(UserError, match="no sentence pair"):
        toy.trainer("run", max_tokens=2)
    toy.trainer("run").train()


def test_learned_positions_must_reach_the_longest_sentence(toy):
    toy.settings["model"] |= {"positions": "learned", "max_length": 7}
    with pytest.raises(UserError, match="max_length = 7 is too small for sentences of up to 20 tokens, which"):
        toy.trainer("run")


def test_a_run_keeps_the_newest_the_best_and_the_last_of_the_schedule(toy):
    toy.trainer("run", max_steps=19, save_minutes=1e-9, keep_last=2).train()
    best = min(metrics(toy.folder / "run", "valid"), key=lambda record: record["nll"])
    kept = {checkpoints.step_of(folder) for folder in checkpoints.folders(toy.folder / "run/checkpoints")}
    assert kept == {16, 19, best["step"]}


def test_a_run_killed_after_its_last_save_still_prunes_old_checkpoints(toy, monkeypatch):
    def folders(name: str) -> set[int]:
        return {checkpoints.step_of(folder) for folder in checkpoints.folders(toy.folder / name / "checkpoints")}

    settings = {"max_steps": 20, "keep_last": 2}
    toy.trained("whole", **settings)
    trainer = toy.trainer("killed", **settings)
    prune = checkpoints.prune

    def die_at_the_end(root, keep):
        if trainer.state.step == 20:
            raise InterruptedError
        prune(root, keep)

    monkeypatch.setattr(checkpoints, "prune", die_at_the_end)
    with pytest.raises(InterruptedError):
        trainer.train()
    monkeypatch.undo()
    assert folders("killed") > folders("whole")
    toy.trainer("killed", resume=True, **settings).train()
    assert folders("killed") == folders("whole")


def test_a_run_is_locked_by_one_process(toy):
    trainer = toy.trainer("run")
    with trainer.run.locked(), pytest.raises(UserError, match="another process trains there"), trainer.run.locked():
        pass


def test_a_full_disk_at_the_end_loses_no_checkpoint(toy, monkeypatch):
    trainer = toy.trainer("run")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    fill = partial(monkeypatch.setattr, model_folder, "write_model", full)
    trainer.before("checkpoints", "load_final", fill)
    with pytest.raises(UserError, match="No space left on device"):
        trainer.train()
    monkeypatch.undo()
    assert not (toy.folder / "run/model").exists()
    toy.trainer("run", resume=True).train()
    assert (toy.folder / "run/model/model.safetensors").exists()


def test_timed_saves_come_between_scheduled_ones(toy):
    toy.trainer("run", max_steps=7, save_minutes=1e-9).train()
    assert [record["step"] for record in metrics(toy.folder / "run", "checkpoint")] == [1, 2, 3, 4, 5, 6, 7]
    assert metrics(toy.folder / "run", "final")[0]["averaged"] == [4, 7]
    toy.trainer("other", max_steps=7, save_minutes=0).train()
    assert [record["step"] for record in metrics(toy.folder / "other", "checkpoint")] == [4, 7]


def test_timed_saves_are_minutes_apart(toy):
    ticks = itertools.count(7e5, 3.0)  # each look at the clock takes three seconds
    trainer = toy.trainer("run", max_steps=40, valid_every=100, save_minutes=1)
    trainer.replace(clock=lambda: next(ticks))
    trainer.train()
    steps = [record["seconds"] for record in metrics(toy.folder / "run", "train")]
    saves = [0.0, *(record["seconds"] for record in metrics(toy.folder / "run", "checkpoint")[:-1])]  # the last ends it
    apart = [after - before for before, after in itertools.pairwise(saves)]
    assert len(apart) > 3
    assert all(60 < seconds < 60 + 3 * steps[0] for seconds in apart)


def test_an_existing_run_is_not_started_again(toy):
    toy.trainer("run").train()
    with pytest.raises(UserError, match=r"continue with --resume, or name another --run"):
        toy.trainer("run")


def test_a_run_with_other_settings_is_refused_by_name_of_the_setting(toy):
    toy.trainer("run").train()
    with pytest.raises(
        UserError, match=r"other settings \(training.lr, training.seed\); continue with those in .*json"
    ):
        toy.trainer("run", resume=True, lr=0.02, seed=2)
    with pytest.raises(UserError, match=r"other settings \(training.lr\); name another --run$"):
        toy.trainer("run", lr=0.02)


def test_a_run_may_be_extended(toy):
    toy.trained("whole")
    toy.trainer("run", max_steps=10).train()
    toy.trainer("run", resume=True, max_steps=12).train()
    assert_same_weights(toy.folder / "whole/model", toy.folder / "run/model")


def test_a_run_may_go_on_with_more_or_fewer_checkpoints(toy):
    toy.trained("whole")
    toy.trainer("run", max_steps=10, keep_last=5).train()
    toy.trainer("run", resume=True, keep_last=1, save_minutes=1e-9).train()
    assert_same_weights(toy.folder / "whole/model", toy.folder / "run/model")
    assert len(checkpoints.folders(toy.folder / "run/checkpoints")) < 4


@pytest.mark.parametrize("settings", [{"patience": 3}, {"log_every": 5}])
def test_a_run_may_go_on_with_other_settings_that_change_no_update(toy, settings):
    toy.trained("whole")
    toy.trainer("run", max_steps=10).train()
    toy.trainer("run", resume=True, max_steps=12, **settings).train()
    assert_same_weights(toy.folder / "whole/model", toy.folder / "run/model")


def test_the_time_of_a_run_is_that_of_all_its_starts(toy):
    """Not counted is the time in between."""
    ticks = itertools.count(7e5, 3.0)  # each look at the clock takes three seconds

    def seconds(max_steps: int, *, resume: bool) -> float:
        trainer = toy.trainer("run", max_steps=max_steps, resume=resume)
        trainer.replace(clock=lambda: next(ticks))
        trainer.train()
        *_, last = trainer.run.records()
        return last["seconds"]

    first = seconds(5, resume=False)
    assert 0 < first < 500
    for _ in range(1000):
        next(ticks)
    assert 2 * first < seconds(11, resume=True) < 3 * first


def test_the_settings_of_the_search_may_change_without_another_update(toy):
    toy.trainer("run").train()
    weights = (toy.folder / "run/model/model.safetensors").read_bytes()
    toy.settings["decoding"] = {"beam_size": 7, "alpha": 1.5}
    toy.trainer("run", resume=True).train()
    decoding = json.loads((toy.folder / "run/model/translation.json").read_text(encoding="utf-8"))["decoding"]
    assert (decoding["beam_size"], decoding["alpha"]) == (7, 1.5)
    assert (toy.folder / "run/model/model.safetensors").read_bytes() == weights


def test_the_final_model_names_its_alignment_layer_and_a_checkpoint_does_not(toy, monkeypatch):
    monkeypatch.setattr("transformer.search.alignment.sharpest_layer", sharpest_layer)
    toy.settings["model"]["n_decoder_layers"] = 2
    toy.trainer("run").train()
    final = ModelFolder.open(toy.folder / "run/model")
    assert final.spec.alignment_layer == sharpest_layer(final.model)
    for checkpoint in (toy.folder / "run/checkpoints").glob("step-*"):
        assert TranslationSpec.load(checkpoint).alignment_layer is None


def test_a_folder_that_is_not_a_run_is_never_changed(toy):
    (toy.folder / "letters").mkdir()
    (toy.folder / "letters/to-mother.txt").write_text("Liebe Mutter", encoding="utf-8")
    with pytest.raises(UserError, match="is not a run"):
        toy.trainer("letters")


def test_patience_ends_a_run_that_no_longer_improves(toy):
    toy.trainer("run", max_steps=400, valid_every=2, lr=1e-12, patience=3).train()
    steps = [record["step"] for record in metrics(toy.folder / "run", "valid")]
    assert steps[-1] < 400
    (said,) = (line for line in toy.said if "training.patience" in line)
    best = steps[-1] - 3 * 2
    assert said == (
        f"ended at step {steps[-1]} of 400 by training.patience: 3 validations without a better score since step {best}"
    )
    assert "ended by training.patience" in card(toy.folder / "run")


def test_a_run_that_ends_at_its_last_step_does_not_blame_patience(toy):
    toy.trainer("run", max_steps=8, valid_every=2, lr=1e-12, patience=3).train()  # both at once
    assert [record["step"] for record in metrics(toy.folder / "run", "final")] == [8]
    assert not any("training.patience" in line for line in toy.said)
    assert "ended by" not in card(toy.folder / "run")


def interrupt_after(trainer, step):
    """Train until Ctrl-C during a step."""
    trainer.before_update(step, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        trainer.train()


def test_an_interrupted_run_can_be_ended_where_it_is(toy):
    """It has no scheduled checkpoint, so the final model is that of its interruption."""
    settings = {"valid_every": 100, "warmup_steps": 1}
    trainer = toy.trainer("run", max_steps=100, **settings)
    interrupt_after(trainer, 7)
    ended = toy.trainer("run", resume=True, max_steps=5, **settings)
    ended.train()
    final = load_file(ended.run.model / "model.safetensors")
    last = load_file(ended.run.checkpoints / "step-00000007" / "model.safetensors")
    assert all(tensor.equal(last[name]) for name, tensor in final.items())


def test_a_run_that_is_ended_where_it_was_interrupted_is_one_with_fewer_steps(toy):
    toy.trained("whole", max_steps=7)
    trainer = toy.trainer("run")
    interrupt_after(trainer, 7)
    toy.trainer("run", resume=True, max_steps=7).train()
    assert metrics(toy.folder / "run", "final")[0]["averaged"] == [4, 7]
    assert_same_weights(toy.folder / "whole/model", toy.folder / "run/model")


def test_a_diverging_run_saves_its_state_and_stops_with_advice(toy):
    trainer = toy.trainer("run", max_steps=100)
    with torch.no_grad():
        trainer.model.src_embedding.weight_VD[:] = 1e38
    with pytest.raises(UserError, match=r"20 updates in a row; state is saved; lower training.lr"):
        trainer.train()
    assert checkpoints.folders(toy.folder / "run/checkpoints")
    assert trainer.state.n_skipped == 20


def test_pointless_settings_are_reported(toy):
    toy.trainer("run", warmup_steps=50).train()
    said = next(line for line in toy.said if "before the learning rate has risen to its peak" in line)
    assert said.endswith("lower it, or train longer or with smaller batches")
    with pytest.raises(UserError, match="training has no end"):
        toy.trainer("endless", max_steps=None)


def test_accumulation_trains_on_the_same_sentences_as_larger_batches(toy):
    trainer = toy.trainer("run", accumulate=3, max_steps=None, max_epochs=2)
    train = trainer.parts.prepared.train
    seen: Counter[tuple[int, ...]] = Counter()
    for group, position in trainer.parts.feed.updates(Position()):
        assert len(group) == 3
        last = [tuple(filter(None, row)) for batch in group for row in batch.src.tolist()]
        seen.update(last)
        if position.epoch == 1:
            break
    expected = Counter((*train.src(i).tolist(), trainer.model.config.eos) for i in range(train.n_pairs))
    assert seen >= expected
    # The group that crosses the end of the epoch may have up to two batches of the next.
    assert seen - expected <= Counter(last)


def test_an_unwritable_folder_is_named(toy, monkeypatch):
    mkdir = Path.mkdir

    def refuse(self: Path, *args: bool, **options: bool) -> None:
        if self.name == "run":
            raise PermissionError(13, "Permission denied", str(self))
        mkdir(self, *args, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(UserError, match="run: cannot write the run: Permission denied"):
        toy.trainer("run")


def test_recomputing_activations_changes_no_bit_of_a_run(toy):
    toy.settings["model"] |= {"dropout": 0.2}
    toy.trainer("kept").train()
    trainer = toy.trainer("computed-again", checkpoint_activations=True)
    assert not trainer.model.keeps_activations
    trainer.train()
    assert_same_weights(toy.folder / "kept/model", toy.folder / "computed-again/model")
