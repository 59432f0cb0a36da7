"""The steps for a GPU run on a CPU at toy size, and each ends with its record."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = (
    "data.train=[{kind='grammar',split='train',pairs=300}] data.valid.pairs=7 data.test.grammar.pairs=7 "
    "tokenizer.vocab_size=400 model.n_encoder_layers=1 model.n_decoder_layers=1"
)
TOY = {
    "PYTHON": sys.executable,
    "CONFIG": "configs/demo.toml",
    "SETTINGS": " ".join(f"--set {setting}" for setting in SETTINGS.split()),
    "BENCH": "--preset tiny --rounds 1 --steps 1",
    "UPDATES": "10",
    "LIMIT": "1",
}


def step(*arguments: str, out: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **TOY, "OUT": str(out)}
    return subprocess.run(
        ["scripts/gpu.sh", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )


def record(*arguments: str, out: Path) -> dict[str, Any]:
    done = step(*arguments, out=out)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found == json.loads((out / f"{arguments[0]}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_the_check_compares_losses_and_measures_the_rate_of_training(tmp_path: Path) -> None:
    found = record("check", out=tmp_path)
    assert found["loss_cpu"] == pytest.approx(found["loss_here"], rel=0.01)
    assert len(found["loss_cpu"]) == 2
    assert found["training"]["contenders"]["ours"]["tokens_per_s"] > 0


@pytest.mark.slow
def test_a_teacher_is_trained_in_its_time_compressed_and_not_trained_again(tmp_path: Path) -> None:
    found = record("teacher", "de-en", out=tmp_path)
    assert found["updates"] == 60
    assert found["nll"]
    assert (tmp_path / "teacher-de-en" / "int8" / "model.safetensors").exists()
    assert record("teacher", "de-en", out=tmp_path) == found


def test_an_unknown_step_is_refused_in_one_sentence(tmp_path: Path) -> None:
    done = step("student", out=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gpu.sh: student is no step; name check, teacher or table3\n"
