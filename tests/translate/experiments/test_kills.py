"""A grid killed repeatedly with SIGKILL ends with the same table as one that was not."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.translate.experiments.conftest import GRID, write_grid

N_KILLS = 5
TIMED = {"seconds", "environment", "trained"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the processes of a grid are found in /proc"),
]


def start(folder: Path, out: str) -> "subprocess.Popen[bytes]":
    """Start the command in a process group of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "translate", "experiment", "norm.toml", "--out", out, "--jobs", "2"]
    log = (folder / f"{out}.log").open("ab")
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)


def untimed(value: Any) -> Any:
    """The table without values that differ between any two runs."""
    if isinstance(value, dict):
        return {key: untimed(one) for key, one in value.items() if key not in TIMED}
    return [untimed(one) for one in value] if isinstance(value, list) else value


def table(folder: Path, out: str) -> Any:
    return untimed(json.loads((folder / out / "table.json").read_text(encoding="utf-8")))


def n_lines(folder: Path) -> int:
    """Number of lines in the metrics of all runs."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("killed/runs/*/metrics.jsonl"))


def runs_of(process: "subprocess.Popen[bytes]") -> list[int]:
    """The processes of a grid's runs, each in a session of its own."""
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def started_until(folder: Path, lines: int) -> "subprocess.Popen[bytes]":
    """Start the grid, and return after `lines` new lines of metrics."""
    before, limit = n_lines(folder), time.monotonic() + 200
    process = start(folder, "killed")
    while n_lines(folder) < before + lines:
        assert process.poll() is None, "the grid ended before it was killed; make it longer"
        assert time.monotonic() < limit, "the grid hangs"
        time.sleep(0.01)
    return process


def kill_after_progress(folder: Path, lines: int, *, alone: bool) -> None:
    """Start the grid and kill it, alone or with its runs, after `lines` new lines of metrics."""
    process = started_until(folder, lines)
    for pid in [process.pid, *([] if alone else runs_of(process))]:
        os.kill(pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def write_long_grid(folder: Path, max_steps: int) -> None:
    """Write a grid of four runs that are validated and logged often."""
    times = {"max_steps": max_steps, "valid_every": 10, "log_every": 5, "save_minutes": 0}
    settings = "".join(f"training.{key} = {value}\n" for key, value in times.items())
    write_grid(folder, GRID.replace("[axes]", f"[settings]\n{settings}\n[axes]"))


def test_ctrl_c_saves_the_state_of_every_run(tmp_path: Path) -> None:
    """A terminal sends SIGINT to the whole process group."""
    write_long_grid(tmp_path, 100_000)
    process = started_until(tmp_path, 35)
    assert len(runs_of(process)) == 2
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    logs = [log.read_text(encoding="utf-8") for log in (tmp_path / "killed" / "logs").iterdir()]
    assert len(logs) == 2
    assert all("is saved" in log for log in logs)


def test_a_grid_of_four_runs_killed_five_times_ends_with_the_same_table(tmp_path: Path) -> None:
    """If only the command is killed, its runs save their state and stop; the next command waits for them."""
    write_long_grid(tmp_path, 200)
    assert start(tmp_path, "whole").wait(timeout=500) == 0
    draw = random.Random(3)
    for kill in range(N_KILLS):  # of at least 240 lines
        kill_after_progress(tmp_path, draw.randint(15, 35), alone=kill % 2 == 0)
    assert not (tmp_path / "killed" / "table.json").exists()
    assert start(tmp_path, "killed").wait(timeout=500) == 0
    assert table(tmp_path, "killed") == table(tmp_path, "whole")
    assert all(len(row["seeds"]) == 2 for row in table(tmp_path, "whole")["rows"])
