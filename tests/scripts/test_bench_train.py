"""The training benchmark, on a tiny model."""

import json
import subprocess
import sys

import pytest

from tests.programs import SCRIPTS


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
