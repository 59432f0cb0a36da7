"""Averaging checkpoints gives a model with their mean weights and refuses checkpoints of different models."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from transformer.model import Transformer
from translate.commands.main import main
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import train
from translate.files import json_sha256
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder
from translate.training import checkpoints


def member(parts: ModelFolder, folder: Path, seed: int, scheduled: bool = True, **more: bool) -> Path:
    """Write a checkpoint with random weights."""
    torch.manual_seed(seed)
    folder.mkdir(parents=True)
    model_folder.write_model(Transformer(parts.model.config), parts.tokenizer, parts.spec, folder)
    hashes = {path.name: checkpoints.sha256(path) for path in folder.iterdir()}
    state = {"format": checkpoints.FORMAT, "scheduled": scheduled, "state": {}, "sha256": hashes, **more}
    state["digest"] = json_sha256(state)
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder


def mean(folders: list[Path]) -> dict[str, torch.Tensor]:
    weights = [load_file(folder / "model.safetensors") for folder in folders]
    return {name: torch.stack([w[name].double() for w in weights]).mean(0).float() for name in weights[0]}


def test_the_weights_are_the_mean(parts: ModelFolder, tmp_path: Path) -> None:
    folders = [member(parts, tmp_path / str(seed), seed) for seed in (3, 5, 7)]
    assert main(["average", *map(str, folders), "--out", str(tmp_path / "mean")]) == 0
    opened = ModelFolder.open(tmp_path / "mean")
    assert opened.spec == parts.spec
    torch.testing.assert_close(load_file(tmp_path / "mean" / "model.safetensors"), mean(folders))


def test_a_model_that_is_named_twice_is_refused(
    parts: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [member(parts, tmp_path / "run" / "checkpoints" / f"step-{n:08}", n) for n in (3, 5)]
    monkeypatch.chdir(tmp_path)
    assert main(["average", "run", str(steps[1]), "--out", "mean"]) == 2
    assert "step-00000005: would count twice" in capsys.readouterr().err
    assert not Path("mean").exists()


def test_a_run_directory_selects_its_last_scheduled_checkpoints(
    parts: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [member(parts, tmp_path / "run" / "checkpoints" / f"step-{n:08}", n, n != 7) for n in (2, 3, 5, 7)]
    assert main(["average", str(tmp_path / "run"), "--last", "2", "--out", str(tmp_path / "mean")]) == 0
    torch.testing.assert_close(load_file(tmp_path / "mean" / "model.safetensors"), mean(steps[1:3]))
    assert main(["average", str(tmp_path / "run"), "--last", "9", "--out", str(tmp_path / "all")]) == 0
    assert "fewer than --last 9" in capsys.readouterr().err


def test_an_earlier_end_of_a_prolonged_run_is_left_out_as_in_training(parts: ModelFolder, tmp_path: Path) -> None:
    ends = {2: False, 3: True, 5: False, 7: True}
    steps = [
        member(parts, tmp_path / "run" / "checkpoints" / f"step-{n:08}", n, at_end=at_end) for n, at_end in ends.items()
    ]
    assert main(["average", str(tmp_path / "run"), "--last", "3", "--out", str(tmp_path / "mean")]) == 0
    expected = mean([steps[0], steps[2], steps[3]])
    torch.testing.assert_close(load_file(tmp_path / "mean" / "model.safetensors"), expected)


def test_other_models_are_refused(parts: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = member(parts, tmp_path / "a", 3)
    wide = Transformer(replace(parts.model.config, d_ff=9))
    (tmp_path / "b").mkdir()
    model_folder.write_model(wide, parts.tokenizer, parts.spec, tmp_path / "b")
    stranger = member(parts, tmp_path / "c", 5)
    words = [f"Wort{i} Ding{i * i}" for i in range(99)]
    train(words, TokenizerConfig(vocab_size=331)).save(stranger / "tokenizer.model")
    (stranger / "state.json").unlink()
    french = member(parts, tmp_path / "d", 7)
    replace(parts.spec, source="fr").save(french)
    (french / "state.json").unlink()
    for other, reason in ((tmp_path / "b", "architecture"), (stranger, "tokenizer"), (french, "languages")):
        assert main(["average", str(first), str(other), "--out", str(tmp_path / "mean")]) == 2
        err = capsys.readouterr().err
        assert reason in err
        assert err.count("\n") == 1
    assert not (tmp_path / "mean").exists()


def test_a_foreign_tensor_is_refused(parts: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(shutil.copytree(parts.folder, tmp_path / "a"))
    save_file({"x": torch.zeros(3)}, folder / "model.safetensors")
    assert main(["average", str(parts.folder), str(folder), "--out", str(tmp_path / "mean")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_checkpoint_that_was_changed_is_refused(
    parts: ModelFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [member(parts, tmp_path / str(seed), seed) for seed in (3, 5)]
    weights = folders[1] / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert main(["average", *map(str, folders), "--out", str(tmp_path / "mean")]) == 2
    assert f"{weights}: the file was changed or damaged" in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()
