"""The training benchmark gives every contender the same optimizer."""

import json
import subprocess
import sys

import pytest
import torch

from tests.programs import SCRIPTS, program

bench = program("bench_train")


def test_the_optimizer_is_fused_adam_with_the_settings_of_the_paper() -> None:
    optimizer = bench.new_adam(torch.nn.Linear(2, 3))
    assert optimizer.defaults["fused"]
    assert (optimizer.defaults["betas"], optimizer.defaults["eps"]) == ((0.9, 0.98), 1e-9)
    assert optimizer.defaults["weight_decay"] == 0


@pytest.mark.slow
def test_contenders_are_timed_and_named_on_stderr() -> None:
    options = ["--preset", "tiny", "--against", "torch", "--rounds", "2", "--steps", "2", "--batch-tokens", "128"]
    command = [sys.executable, str(SCRIPTS / "bench_train.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "torch: round 2" in done.stderr
    record = json.loads(done.stdout.splitlines()[-1])
    assert list(record["contenders"]) == ["ours", "torch"]
    assert record["optimizer"] == "fused AdamW"
    assert record["contenders"]["ours"]["ours_is_times"] == 1
    assert record["contenders"]["torch"]["tokens_per_s"] > 0
