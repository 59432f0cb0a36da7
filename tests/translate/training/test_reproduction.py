"""A repeated run ends bit-identical, also after kills; where it cannot, it is refused or warned about."""

import copy
import json
import shutil
from pathlib import Path

import pytest
import torch

from tests.translate.training.conftest import before_update, interrupt
from translate.commands import train
from translate.commands.main import EXIT_MISTAKE, main
from translate.commands.train import EXIT_DIFFERENT, TrainOptions
from translate.training.reproduction import Original, first_difference
from translate.training.run import Run, environment


@pytest.fixture(autouse=True)
def in_the_folder_of_the_toy(toy, monkeypatch) -> None:
    monkeypatch.chdir(toy.folder)


def trained(toy, name: str, *, resume: bool = False, from_model: Path | None = None, **training: object) -> Path:
    """Train the toy experiment with the command, in runs/NAME on prepared/toy."""
    settings = {**toy.settings, "training": {**toy.settings["training"], **training}}
    Path("toy.json").write_text(json.dumps(settings), encoding="utf-8")
    run = Path("runs") / name
    train.run(TrainOptions(config=Path("toy.json"), run=run, resume=resume, from_model=from_model))
    return run


def edit(path: Path, change) -> None:
    values = json.loads(path.read_text(encoding="utf-8"))
    change(values)
    path.write_text(json.dumps(values), encoding="utf-8")


def weights(run: Path) -> bytes:
    return (run / "model/model.safetensors").read_bytes()


def test_a_run_is_repeated_bit_for_bit_and_the_result_is_reported(toy, capsys):
    run = trained(toy, "a", precision="auto")
    assert main(["train", "--reproduce", "runs/a"]) == 0
    again = Path("runs/a-again")
    assert weights(again) == weights(run)
    assert "identical to that of" in capsys.readouterr().err
    record = json.loads((again / "reproduction.json").read_text(encoding="utf-8"))
    assert (record["identical"], record["first_difference"]) == (True, None)
    assert record["run"] == str(run.resolve())
    assert "identical to that of" in (again / "card.md").read_text(encoding="utf-8")
    assert not Path("prepared/a-again").exists()


def test_a_killed_and_extended_run_can_be_repeated_by_a_killed_run(toy, monkeypatch):
    """Unscheduled checkpoints and an earlier end in the metrics do not count as a difference."""
    with monkeypatch.context() as stopped:
        before_update(6, interrupt, stopped)
        with pytest.raises(KeyboardInterrupt):
            trained(toy, "a", max_steps=7, log_every=3)
    trained(toy, "a", max_steps=7, log_every=3, resume=True)
    run = trained(toy, "a", log_every=3, resume=True)
    with monkeypatch.context() as stopped:
        before_update(7, interrupt, stopped)
        assert main(["train", "--reproduce", "runs/a", "--run", "b"]) == 130
    assert not Path("b/model").exists()
    assert main(["train", "--reproduce", "runs/a", "--run", "b"]) == EXIT_MISTAKE
    assert main(["train", "--reproduce", "runs/a", "--run", "b", "--resume"]) == 0
    assert weights(Path("b")) == weights(run)


def test_a_run_whose_cooldown_moved_when_it_was_resumed_is_warned_about(toy, capsys):
    trained(toy, "a", max_steps=4, cooldown=0.5)
    trained(toy, "a", max_steps=6, cooldown=0.5, resume=True)
    capsys.readouterr()
    assert main(["train", "--reproduce", "runs/a"]) == EXIT_DIFFERENT
    assert "may differ from runs/a: " in (said := capsys.readouterr().err)
    assert "its cooldown was moved at step 4" in said
    assert main(["train", "--reproduce", "runs/a-again"]) == 0
    assert "cooldown was moved" not in capsys.readouterr().err


def test_a_run_that_differs_is_reported_with_the_first_difference(toy, monkeypatch, capsys):
    trained(toy, "a")
    before_update(6, lambda: torch.rand(1), monkeypatch)  # shifts dropout's random numbers from there on
    assert main(["train", "--reproduce", "runs/a"]) == EXIT_DIFFERENT
    said = capsys.readouterr().err
    assert "not identical" in said
    assert "of the train line of step 6" in said
    assert "final nll" in said
    assert "not identical" in Path("runs/a-again/card.md").read_text(encoding="utf-8")


def test_a_fine_tuned_run_is_repeated_only_from_its_own_parent(toy):
    parent = trained(toy, "parent", max_steps=4)
    run = trained(toy, "tuned", from_model=parent)
    assert main(["train", "--reproduce", "runs/tuned"]) == 0
    assert weights(Path("runs/tuned-again")) == weights(run)
    trained(toy, "other", max_steps=1)
    shutil.copy("runs/other/model/model.safetensors", parent / "model/model.safetensors")
    assert main(["train", "--reproduce", "runs/tuned", "--run", "b"]) == EXIT_MISTAKE


def test_reproducing_uses_the_precision_of_the_original_run(toy, monkeypatch):
    monkeypatch.setattr("translate.machine.bf16_pays", lambda device: True)
    trained(toy, "a", precision="auto")
    monkeypatch.setattr("translate.machine.bf16_pays", lambda device: False)
    assert main(["train", "--reproduce", "runs/a"]) == 0


def test_a_deleted_corpus_is_prepared_again_in_another_folder(toy):
    trained(toy, "a")
    shutil.rmtree("prepared/toy")
    assert main(["train", "--reproduce", "runs/a"]) == 0
    assert Path("prepared/a-again").exists()
    assert not Path("prepared/toy").exists()


def test_a_corpus_of_another_experiment_is_not_overwritten(toy):
    trained(toy, "a")
    shutil.rmtree("prepared/toy")
    toy.settings["cleaning"] = {"max_words": 2}
    trained(toy, "other")
    before = Path("prepared/toy/manifest.json").read_bytes()
    assert main(["train", "--reproduce", "runs/a"]) == 0
    assert Path("prepared/toy/manifest.json").read_bytes() == before


def test_a_run_may_be_named_without_its_folder_like_other_runs(toy, capsys):
    trained(toy, "a", max_steps=2)
    assert main(["train", "--reproduce", "a"]) == 0
    assert Path("runs/a-again/reproduction.json").exists()
    for other in ("runs/a/model", "prepared/toy"):  # which have a config or a manifest too
        assert main(["train", "--reproduce", other]) == 2
        assert f"{other}: is not a run" in capsys.readouterr().err


REFUSED = {
    "a changed source": (lambda: Path("train.de").write_text("\n"), "train.de: not what runs/a was trained on"),
    "a changed prepared file": (lambda: _flip(Path("prepared/toy/train.src.ids.npy")), "train.src.ids.npy: changed"),
    "more processes": (
        lambda: edit(Path("runs/a/manifest.json"), lambda m: m["starts"][-1]["machine"].update(processes=3)),
        "torchrun --nproc-per-node 3",
    ),
    "no manifest": (lambda: Path("runs/a/manifest.json").unlink(), "manifest.json: missing or damaged"),
    "no final model": (lambda: shutil.rmtree("runs/a/model"), "has no final model to compare with"),
}


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("change", REFUSED)
def test_a_run_that_cannot_be_reproduced_is_refused_before_training(toy, change, capsys):
    trained(toy, "a", max_steps=2)
    act, words = REFUSED[change]
    act()
    capsys.readouterr()
    assert main(["train", "--reproduce", "runs/a"]) == EXIT_MISTAKE
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("translate:")]
    assert words in line
    assert not Path("runs/a-again/metrics.jsonl").exists()


@pytest.mark.parametrize(
    "arguments", [["toy.json"], ["--set", "training.seed=2"], ["--from", "runs/a"], ["--run", "runs/a", "--resume"]]
)
def test_reproduce_allows_no_other_settings_and_never_overwrites_the_run(toy, arguments):
    trained(toy, "a", max_steps=1)
    before = weights(Path("runs/a"))
    assert main(["train", "--reproduce", "runs/a", *arguments]) == EXIT_MISTAKE
    assert weights(Path("runs/a")) == before


def test_differences_that_may_change_bits_are_named_with_both_values(toy):
    original = Original.open(trained(toy, "a", max_steps=1))
    now = environment()
    original.manifest["starts"][0].update(uncommitted_changes=False)
    now["uncommitted_changes"] = False
    assert original.doubts(now) == []
    other = copy.deepcopy(now)
    other["versions"]["torch"] = "3.1"
    other["machine"]["threads"] = 7
    assert f"OMP_NUM_THREADS={now['machine']['threads']} sets as many threads as then" in original.doubts(other)
    other["machine"]["device"] = "H200"
    other["commit"] = "abc"
    doubts = original.doubts(other)
    torch_then, threads_then = now["versions"]["torch"], now["machine"]["threads"]
    assert f"torch {torch_then} then, 3.1 now" in doubts
    assert f"threads {threads_then} then, 7 now" in doubts
    assert f"commit {now['commit']} then, abc now" in doubts
    assert any("a GPU" in doubt for doubt in doubts)
    assert len(doubts) == 5
    assert original.doubts({**now, "uncommitted_changes": True}) == ["there are uncommitted changes"]


def test_the_first_difference_ignores_times_and_lines_of_one_run_only():
    train_line = {"kind": "train", "step": 3, "loss": 5.0, "seconds": 1.0, "mfu": 0.5}
    warnings = [{"kind": "warning", "step": 0, "about": about} for about in ("warm-up", "too long")]
    then = [
        *warnings,
        {"kind": "train", "step": 2, "loss": 7.0},
        train_line,
        {"kind": "valid", "step": 5, "bleu": None},
    ]
    now = [{**train_line, "seconds": 2.0, "mfu": 0.1}, {"kind": "valid", "step": 5, "bleu": None}, *warnings]
    assert first_difference(then, now) is None
    now[1] = {"kind": "valid", "step": 5, "bleu": 1.5}
    assert first_difference(then, now) == "bleu of the valid line of step 5, None then and 1.5 now"
    now[0] = {**now[0], "loss": 7.0}
    assert first_difference(then, now) == "loss of the train line of step 3, 5.0 then and 7.0 now"


def test_a_run_without_metrics_has_an_empty_list(tmp_path):
    assert Run(tmp_path).records() == []
