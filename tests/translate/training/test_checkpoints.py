"""Checkpoints are complete or absent, and saving never damages an earlier one."""

import dataclasses
import errno
import json
import os
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from transformer.config import CheckpointError
from translate.errors import UserError
from translate.files import json_sha256
from translate.training import checkpoints
from translate.training.checkpoints import name_of


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def save_at(trainer, step: int) -> Path:
    trainer.state.step = step
    trainer.parts.checkpoints.save(trainer.state, scheduled=True)
    return trainer.run.checkpoints / name_of(step)


NO_SPACE = "No space left on device"


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, NO_SPACE), SafetensorError(f"IoError: {NO_SPACE} (os error {errno.ENOSPC})")]
)
def test_a_full_disk_keeps_the_earlier_checkpoint_and_leaves_no_partial_one(toy, monkeypatch, error):
    trainer = toy.trainer("run")
    kept = save_at(trainer, 3)

    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(
        UserError,
        match="checkpoint: No space left on device; free space on the disk; earlier checkpoints are untouched",
    ):
        save_at(trainer, 5)
    assert names(trainer.run.checkpoints) == [kept.name]
    checkpoints.verify(kept)


def test_a_file_system_that_refuses_permissions_stops_no_checkpoint(toy, monkeypatch):
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    for name in ("chmod", "fchmod", "lchmod", "chown", "fchown"):
        monkeypatch.setattr(f"os.{name}", refused, raising=False)
    toy.trainer("run", max_steps=4).train()
    (saved,) = checkpoints.folders(toy.folder / "run/checkpoints")
    checkpoints.verify(saved)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_checkpoint_that_may_not_be_written_is_named_with_its_remedy(toy, monkeypatch, number):
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(checkpoints, "save_file", refused)
    with pytest.raises(UserError, match=rf"step-0*3: cannot save .*{os.strerror(number)}; change the permissions"):
        save_at(toy.trainer("run"), 3)


def test_a_checkpoint_is_on_the_disk_after_its_line_in_the_log(toy, monkeypatch):
    """After a power failure, there is no checkpoint that the log does not have, and none with an empty file."""
    synced: list[str] = []
    fsync = os.fsync

    def recorded(descriptor: int) -> None:
        synced.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", recorded)
    toy.trainer("run", max_steps=4).train()
    log = synced.index(str(toy.folder / "run/metrics.jsonl"))
    files = [Path(path).name for path in synced[log + 1 :] if "checkpoints" in path]
    (saved,) = checkpoints.folders(toy.folder / "run/checkpoints")
    assert {path.name for path in saved.iterdir()} <= set(files)
    assert not any("checkpoints" in path for path in synced[:log])


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "tokenizer.model", "config.json"])
def test_a_changed_or_missing_file_is_named(toy, name):
    folder = save_at(toy.trainer("run"), 3)
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-1])
    with pytest.raises(CheckpointError, match=rf"{name}: the file was changed or damaged"):
        checkpoints.verify(folder)
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=rf"{name}: the file is missing"):
        checkpoints.verify(folder)


@pytest.mark.parametrize("text", ["", "{}", "[]", "{nonsense", '{"format": 99}'])
def test_a_foreign_state_is_refused(toy, text):
    folder = save_at(toy.trainer("run"), 3)
    (folder / "state.json").write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"state\.json"):
        checkpoints.verify(folder)


def test_a_state_of_a_later_version_is_refused_in_one_sentence_and_kept(toy):
    trainer = toy.trainer("run", max_steps=4)
    trainer.train()
    path = trainer.run.checkpoints / "step-00000004/state.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    del meta["digest"]
    meta["state"]["mood"] = "good"
    path.write_text(json.dumps({**meta, "digest": json_sha256(meta)}), encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"state\.json: written by another version, .* mood; resume with the version"):
        toy.trainer("run", resume=True)
    assert path.read_bytes() == before


def test_a_checkpoint_restores_everything(toy):
    trainer = toy.trainer("run", max_steps=5, valid_every=2)
    trainer.train()
    drawn = torch.rand(7)
    other = toy.trainer("run", max_steps=5, valid_every=2, resume=True)
    assert dataclasses.replace(other.state, seconds=0) == dataclasses.replace(trainer.state, seconds=0)
    assert torch.rand(7).equal(drawn)
    a, b = (
        trainer.parts.checkpoints.optimizer.state_dict()["state"],
        other.parts.checkpoints.optimizer.state_dict()["state"],
    )
    for i in a:
        for name in a[i]:
            assert a[i][name].equal(b[i][name])


def test_a_step_that_is_damaged_again_is_set_aside_in_place_of_the_first(tmp_path):
    for content in ("first", "second"):
        folder = tmp_path / "step-00000003"
        folder.mkdir()
        (folder / "state.json").write_text(content, encoding="utf-8")
        aside = checkpoints.set_aside(folder)
        assert names(tmp_path) == [aside.name]
        assert (aside / "state.json").read_text(encoding="utf-8") == content


def test_pruning_keeps_the_given_checkpoints(tmp_path):
    folders = [tmp_path / name_of(step) for step in (1, 2, 3, 5, 7)]
    for folder in folders:
        folder.mkdir()
    checkpoints.prune(tmp_path, {folders[0], folders[3]})
    assert names(tmp_path) == ["step-00000001", "step-00000005"]


def test_a_leftover_of_a_killed_save_is_not_a_checkpoint_and_is_removed(toy):
    trainer = toy.trainer("run")
    kept = save_at(trainer, 3)
    root = trainer.run.checkpoints
    (root / ".step-00000005.partial").mkdir()
    assert checkpoints.folders(root) == [kept]
    checkpoints.prune(root, {kept})
    assert names(root) == [kept.name]
