"""A corpus that changes during a run is detected, even if its size stays the same."""

import os

import pytest

from translate.errors import UserError
from translate.training import checkpoint, data_files
from translate.training.run import Run


def flip(path):
    """Change the last byte but keep the size and the time."""
    status, data = path.stat(), bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_file_that_changed_between_starts_is_named(toy):
    toy.trainer("run", max_steps=8).train()
    flip(toy.folder / "prepared/train.tgt.ids.npy")
    with pytest.raises(UserError, match=r"train.tgt.ids.npy: changed since .*run began"):
        toy.trainer("run", resume=True)
    flip(toy.folder / "prepared/train.tgt.ids.npy")
    toy.trainer("run", resume=True).train()


def test_a_file_that_changes_in_training_ends_it_after_a_complete_step(toy, monkeypatch):
    """The step is validated and saved, so that the run ends as if it had not been interrupted."""
    toy.trainer("whole").train()
    trainer = toy.trainer("run")
    update = trainer._update

    def spoil_at_six(batches):
        if trainer.state.step == 5:
            os.utime(toy.folder / "prepared/train.src.ids.npy", ns=(1, 1))
        return update(batches)

    monkeypatch.setattr(trainer, "_update", spoil_at_six)
    with pytest.raises(UserError, match="train.src.ids.npy: has changed while .* is saved"):
        trainer.train()
    steps = [checkpoint.step_of(folder) for folder in checkpoint.checkpoints(toy.folder / "run/checkpoints")]
    assert steps[-1] == trainer.state.step == 8
    toy.trainer("run", resume=True).train()
    weights = [(toy.folder / name / "model/model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]
    scores = [[r["nll"] for r in Run(toy.folder / name).records() if r["kind"] == "valid"] for name in ("whole", "run")]
    assert scores[0] == scores[1]


def test_a_changed_input_is_named_at_resume(toy):
    toy.trainer("run").train()
    for name, line in (("train.de", "rot rot rot rot\n"), ("train.en", "red red red red\n")):
        with (toy.folder / name).open("a", encoding="utf-8") as file:
            file.write(line)
    with pytest.raises(UserError, match=r"other data \(train.de, train.en\)"):
        toy.trainer("run", resume=True)


def test_a_file_that_was_deleted_has_changed(tmp_path):
    (tmp_path / "a").write_text("a", encoding="utf-8")
    watched = data_files.Watched(tmp_path, ["a"])
    assert watched.changed() is None
    (tmp_path / "a").unlink()
    assert watched.changed() == tmp_path / "a"
