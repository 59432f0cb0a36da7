"""Before the first update, a run is refused in one sentence if it could not end."""

import json
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
import torch

from translate.commands.main import main
from translate.corpus import prepare
from translate.errors import UserError
from translate.training import checkpoints
from translate.training.checkpoints import Checkpoints
from translate.training.train import preflight
from translate.training.update import Updater
from translate.training.validation import Validator

Usage = namedtuple("Usage", "total used free")  # noqa: PYI024 -- as shutil's


@pytest.mark.parametrize(
    "settings", [{}, {"optimizer": "muon"}, {"ema": 0.9}, {"optimizer": "muon", "ema": 0.9}], ids=str
)
def test_the_size_of_a_checkpoint_is_known_before_it_is_written(toy, settings):
    toy.settings["model"] |= {"d_model": 96, "d_ff": 300}
    trainer = toy.trainer("run", max_steps=1, **settings)
    expected = trainer.parts.checkpoints.size()
    trainer.train()
    (folder,) = checkpoints.folders(trainer.run.checkpoints)
    assert sum(path.stat().st_size for path in folder.iterdir()) == pytest.approx(expected, rel=0.05)


def test_a_disk_without_room_for_the_checkpoints_is_named_before_the_first_update(toy, monkeypatch):
    trainer = toy.trainer("run", max_steps=40, keep_last=3, average_last=7, valid_every=4)
    size = trainer.parts.checkpoints.size()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, 9 * size))
    with pytest.raises(UserError, match=r"run: checkpoints will take about .*lower training.keep_last") as error:
        preflight(trainer.state, trainer.parts)
    assert "\n" not in str(error.value)
    assert not trainer.run.metrics.exists()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, 10 * size))
    trainer = toy.trainer("run", max_steps=40, keep_last=3, average_last=7, valid_every=4)
    preflight(trainer.state, trainer.parts)
    trainer.train()
    # What is there already needs no more room.
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, 2 * size))
    trainer = toy.trainer("run", max_steps=50, keep_last=3, average_last=7, valid_every=4, resume=True)
    preflight(trainer.state, trainer.parts)


@pytest.mark.parametrize(
    ("source", "target", "said"), [("German", "en", 'data.source = "German"'), ("de", "english", 'write "en"')]
)
def test_the_name_of_a_language_is_no_code(toy, source, target, said):
    """With it, a model is made that `--from de --to en` does not find."""
    toy.settings["data"] |= {"source": source, "target": target}
    with pytest.raises(UserError, match=said):
        toy.trainer("run")
    assert not (toy.folder / "prepared").exists()


def test_codes_that_are_also_names_and_codes_of_ones_own_are_taken(toy):
    """Lao is lo in ISO 639-1 and lao in ISO 639-3."""
    toy.settings["data"] |= {"source": "lao", "target": "signs"}
    assert toy.trainer("run", max_steps=1).parts.trained.spec.source == "lao"


def test_a_short_run_needs_room_for_its_own_checkpoints_alone(toy, monkeypatch):
    trainer = toy.trainer("run", max_steps=4, keep_last=100, valid_every=4)
    size = trainer.parts.checkpoints.size()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, 4 * size))
    preflight(trainer.state, trainer.parts)


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("no memory"), RuntimeError("can't allocate memory"), MemoryError()]
)
def test_a_lack_of_memory_in_an_update_is_one_sentence(toy, monkeypatch, capsys, error):
    """The moments of Adam are made in the first update, outside of what halves batches."""

    def fail(self, batches, lr):
        raise error

    monkeypatch.chdir(toy.folder)
    Path("toy.json").write_text(json.dumps(toy.settings), encoding="utf-8")
    monkeypatch.setattr(Updater, "step", fail)
    assert main(["train", "toy.json"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "translate: runs/toy: the model and a batch do not fit into memory; lower training.batch_tokens or the sizes "
        "under [model], or set training.checkpoint_activations = true"
    )


@pytest.mark.parametrize("error", [RuntimeError("can't allocate memory"), MemoryError()])
def test_a_lack_of_memory_in_the_preparation_is_one_sentence(toy, monkeypatch, capsys, error):
    def fail(*arguments):
        raise error

    monkeypatch.chdir(toy.folder)
    Path("toy.json").write_text(json.dumps(toy.settings), encoding="utf-8")
    monkeypatch.setattr(prepare, "write_tokens", fail)
    assert main(["train", "toy.json"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "translate: prepared/toy: memory does not suffice to prepare it; lower tokenizer.max_sentences, or run "
        "translate prepare on a larger machine"
    )


@pytest.mark.parametrize("place", ["validator", "checkpoints"])
def test_a_lack_of_memory_in_a_validation_or_a_save_is_one_sentence(toy, monkeypatch, capsys, place):
    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.chdir(toy.folder)
    Path("toy.json").write_text(json.dumps(toy.settings), encoding="utf-8")
    monkeypatch.setattr(*{"validator": (Validator, "scores"), "checkpoints": (Checkpoints, "save")}[place], fail)
    assert main(["train", "toy.json"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("translate: runs/toy: the model and a batch do not fit")
