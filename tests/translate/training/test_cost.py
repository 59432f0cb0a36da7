"""The cost of a training is its own and, where it was fine-tuned, also that of its parents."""

import json
import shutil
from dataclasses import asdict

import pytest

from translate.training.checkpoint import TrainState
from translate.training.cost import Cost, cost_of, cost_of_model
from translate.training.parent import Parent
from translate.training.run import Run
from translate.training.speed import update_flops


def write_run(run: Run, *lines: dict, parent: dict | None = None) -> Run:
    run.folder.mkdir()
    run.manifest.write_text(json.dumps({"parent": parent}), encoding="utf-8")
    run.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return run


LINES = (
    {"kind": "train", "step": 3, "seconds": 1.5, "tokens": 70},
    {"kind": "checkpoint", "step": 3, "seconds": 2.0, "tokens": 70, "flops": 5e9},
    {"kind": "final", "step": 7, "seconds": 5.0, "tokens": 190, "flops": 11e9},
)


def test_a_chain_of_runs_adds_up(tmp_path):
    first = write_run(Run(tmp_path / "first"), *LINES)
    assert cost_of(first) == (Cost(5.0, 190, 11e9),) * 2
    assert cost_of(first, last_step=3)[0] == Cost(2.0, 70, 5e9)
    assert cost_of_model(first.checkpoints / "step-00000003") == Cost(2.0, 70, 5e9)
    parent = {"cost": {"seconds": 5.0, "tokens": 190, "flops": 11e9}}
    second = write_run(Run(tmp_path / "second"), *LINES, parent=parent)
    assert cost_of(second) == (Cost(5.0, 190, 11e9), Cost(10.0, 380, 22e9))
    assert cost_of_model(second.model) == Cost(10.0, 380, 22e9)


def test_what_is_unknown_makes_the_sum_unknown(tmp_path):
    run = write_run(Run(tmp_path / "run"), LINES[0], parent={"path": "gone"})
    assert cost_of(run) == (Cost(1.5, 70, None), Cost())
    assert cost_of_model(tmp_path / "elsewhere/model") == Cost()


def test_a_run_counts_the_operations_of_its_updates_also_when_it_was_stopped(toy):
    toy.trainer("whole").train()
    toy.trainer("run", max_steps=5).train()
    trainer = toy.trainer("run", resume=True)
    trainer.train()
    updates = trainer.feed.updates(TrainState().position)
    expected = sum(update_flops(trainer.model.config, next(updates)[0]) for _ in range(12))
    assert trainer.state.n_flops == expected
    own, total = cost_of(trainer.run)
    assert own == total
    assert own.flops == pytest.approx(expected, rel=1e-3)
    assert (own.tokens, own.flops) == (cost_of(Run(toy.folder / "whole"))[0].tokens, own.flops)


def test_a_parent_without_its_run_directory_has_an_unknown_cost(toy):
    trainer = toy.trainer("run", max_steps=4)
    trainer.train()
    assert Parent.open(trainer.run.folder, print).record["cost"] == asdict(cost_of(trainer.run)[1])
    shutil.copytree(trainer.run.model, toy.folder / "copied")
    assert Parent.open(toy.folder / "copied", print).record["cost"] == asdict(Cost())
