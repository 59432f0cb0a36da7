"""TensorBoard shows every number of the metrics once, and using it does not change the run."""

import importlib.util
import json
import math

import pytest

from tests.translate.training.conftest import interrupt
from translate.errors import UserError
from translate.training import reporting
from translate.training.reporting import TensorBoard
from translate.training.run import Run

needs_the_extra = pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="an extra")


def points(run: Run) -> dict[str, list[tuple[int, float]]]:
    """All points of the event files, including those that a reader would purge."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    found: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(run.tensorboard.iterdir()):
        for event in EventFileLoader(str(path)).Load():
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.tensor.float_val[0]))
    return found


def expected(run: Run) -> dict[str, list[tuple[int, float]]]:
    """The numbers of metrics.jsonl, in the order of its lines."""
    found: dict[str, list[tuple[int, float]]] = {}
    for record in map(json.loads, run.metrics.read_text(encoding="utf-8").splitlines()):
        for key, value in record.items():
            if key not in ("step", "epoch", "seconds") and isinstance(value, int | float):
                found.setdefault(f"{record['kind']}/{key}", []).append((record["step"], value))
    return found


def assert_same(run: Run) -> None:
    shown, written = points(run), expected(run)
    assert shown.keys() == written.keys()
    for tag, curve in written.items():
        assert [step for step, _ in shown[tag]] == [step for step, _ in curve], tag
        assert [value for _, value in shown[tag]] == pytest.approx([value for _, value in curve], rel=1e-6), tag


@needs_the_extra
def test_every_number_of_the_metrics_is_a_point(toy):
    toy.trainer("run", tensorboard=True).train()
    run = Run(toy.folder / "run")
    assert_same(run)
    assert {"train/loss", "train/lr", "valid/nll", "final/perplexity"} <= points(run).keys()


@needs_the_extra
def test_a_resumed_run_has_neither_duplicate_nor_discarded_points(toy):
    """Steps 5 and 6 are lost with the process and repeated; so is the final model."""
    trainer = toy.trainer("run", tensorboard=True)
    trainer.before_update(7, interrupt)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    run = Run(toy.folder / "run")
    assert max(step for step, _ in points(run)["train/loss"]) == 6
    toy.trainer("run", resume=True, tensorboard=True).train()
    assert_same(run)
    toy.trainer("run", resume=True, tensorboard=True).train()
    assert [step for step, _ in points(run)["final/nll"]] == [12]
    assert_same(run)


@needs_the_extra
def test_curves_may_begin_in_the_middle_of_a_run_and_are_whole(toy):
    toy.trainer("run", max_steps=5).train()
    assert not (toy.folder / "run/tensorboard").exists()
    toy.trainer("run", resume=True, tensorboard=True).train()
    assert_same(Run(toy.folder / "run"))


@needs_the_extra
def test_other_files_are_kept_and_values_that_are_not_finite_are_no_points(tmp_path):
    run = Run(tmp_path)
    run.tensorboard.mkdir()
    (run.tensorboard / "notes.txt").write_text("mine", encoding="utf-8")
    board = TensorBoard(run)
    board.add({"kind": "train", "step": 3, "seconds": 1.5, "loss": math.nan, "bleu": None, "flops": math.inf, "lr": 7})
    (run.tensorboard / "notes.txt").rename(tmp_path / "notes.txt")
    assert points(run) == {"train/lr": [(3, 7.0)]}


@needs_the_extra
def test_tensorboard_does_not_change_the_run(toy):
    toy.trainer("plain").train()
    toy.trainer("drawn", tensorboard=True).train()
    a, b = (toy.folder / name / "model/model.safetensors" for name in ("plain", "drawn"))
    assert a.read_bytes() == b.read_bytes()


def test_a_missing_package_is_reported_before_preparation(toy, monkeypatch, capsys):
    from translate.commands.main import main

    monkeypatch.setattr(reporting.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install '\.\[tensorboard\]'"):
        reporting.require_tensorboard()
    monkeypatch.chdir(toy.folder)
    (toy.folder / "toy.json").write_text(json.dumps(toy.settings), encoding="utf-8")
    assert main(["train", "toy.json", "--set", "training.tensorboard=true"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (toy.folder / "prepared").exists()
