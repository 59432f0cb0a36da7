"""Runs killed with SIGKILL at random moments, also during saves, end bit-identical to an uninterrupted run."""

import json
import os
from pathlib import Path

import pytest

from tests import forks
from translate.training.reporting import TIMED

KILLER = Path(__file__).with_name("killer.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="trainers are forks of a process that has torch")

SETTINGS = {
    "batch_tokens": 400,
    "precision": "bf16",
    "valid_every": 10,
    "valid_bleu_sentences": 3,
    "save_every": 4,
    "save_minutes": 0,
    "keep_last": 3,
    "average_last": 5,
}


def lines(run: Path) -> list[dict]:
    records = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [{key: value for key, value in record.items() if key not in TIMED} for record in records]


def contents(run: Path) -> dict[str, bytes]:
    """Every file of the model and the checkpoints except state.json, which contains times."""
    files = (*run.glob("model/*"), *run.glob("checkpoints/**/*"))
    return {
        str(path.relative_to(run)): path.read_bytes() for path in files if path.name != "state.json" and path.is_file()
    }


def states(run: Path) -> list[dict]:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(run.glob("checkpoints/*/state.json"))]
    return [{**meta["state"], "seconds": 0, "scheduled": meta["scheduled"]} for meta in found]


@pytest.mark.parametrize(("n_kills", "max_steps"), [(2, 40), pytest.param(30, 120, marks=pytest.mark.slow)])
def test_runs_killed_at_random_moments_end_bit_identical(write_experiment, tmp_path, n_kills, max_steps):
    """Model, optimizer, generators, position, best score and metrics, with dropout, bf16 and BLEU validation."""
    config = write_experiment(**SETTINGS, max_steps=max_steps)
    program = KILLER.read_text(encoding="utf-8")
    command = ["-c", program, str(config), str(tmp_path / "whole"), str(n_kills), "7"]
    done = forks.run(command, tmp_path, os.environ | {"OMP_NUM_THREADS": "1"}, timeout=550)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["kills"] == n_kills
    assert summary["in a save"] >= n_kills // 6
    whole = tmp_path / "whole"
    for i in range(summary["runs"]):
        run = tmp_path / f"killed-{i}"
        assert contents(run) == contents(whole)
        assert states(run) == states(whole)
        assert lines(run) == lines(whole)
    logs = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("killed-*.log"))
    summary["resumed"] = logs.count("resuming from")
    print(summary)
    assert summary["resumed"] >= n_kills // 2
