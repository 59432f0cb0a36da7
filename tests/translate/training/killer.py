"""Run `translate train --resume` repeatedly, kill it with SIGKILL at random moments, and print a summary.

    python killer.py CONFIG WHOLE N_KILLS SEED      runs WHOLE (never killed), then killed-0, killed-1, ... beside it

Torch is imported once and every trainer is a fork, which is a real process without the seconds of a start.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

# Nothing is computed here, so torch has no threads that a fork would lose.
import sacrebleu  # noqa: F401

import translate.commands.train
import translate.evaluation.scores
import translate.training.train  # noqa: F401
from translate.commands.main import main

LIMIT = 120.0  # seconds; longer than any run


def start(run: Path, *arguments: str) -> int:
    """Fork a process that runs the command line and logs beside the run; return its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        log = os.open(run.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = main(arguments)
    finally:
        os._exit(code)


def train(config: str, run: Path) -> int:
    """Fork a process that starts or resumes training; return its id."""
    return start(run, "train", config, "--run", str(run), "--prepared", str(run.with_name("prepared")), "--resume")


def ended(pid: int, until: Callable[[], bool]) -> bool:
    """Wait until the process ends successfully or `until` is true; return True if it ended."""
    limit = time.monotonic() + LIMIT
    while not until():
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, "the run failed; see its log"
            return True
        assert time.monotonic() < limit, "the run hangs"
        time.sleep(0.0002)
    return False


def half_saved(run: Path) -> set[tuple[str, int]]:
    """Folders of unfinished saves with modification times, which tell old ones from new ones."""
    found = set()
    for path in (*run.glob("checkpoints/.step-*"), *run.glob(".model.*")):
        try:
            found.add((path.name, path.stat().st_mtime_ns))
        except FileNotFoundError:  # renamed in between
            continue
    return found


def kill_once(config: str, run: Path, moment: float, pause: float | None) -> str:
    """Start the run and kill it after `moment` seconds; return "ended" if it ended before, else where it was killed.

    With a `pause`, wait for the next save after `moment` and kill it `pause` seconds into the save.
    """
    old = half_saved(run)
    moment += time.monotonic()
    pid = train(config, run)
    if ended(pid, lambda: time.monotonic() > moment and (pause is None or bool(half_saved(run) - old))):
        return "ended"
    time.sleep(pause or 0.0)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) == 0:
        return "ended"
    return "in a save" if half_saved(run) - old else "elsewhere"


def measure(config: str, whole: Path) -> tuple[float, float]:
    """Run the training without kills; return the seconds before its first step and from there to its end."""
    assert ended(start(whole, "prepare", config, "--out", str(whole.with_name("prepared"))), lambda: False)
    begun = time.monotonic()
    assert ended(train(config, whole), lambda: False)
    seconds = time.monotonic() - begun
    training = json.loads((whole / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])["seconds"]
    return seconds - training, training


def campaign(config: str, whole: Path, n_kills: int, seed: int) -> dict[str, float]:
    """Kill `n_kills` times, over as many runs as needed, and let the last run end.

    Every sixth kill comes before training resumes, every second one during a save, the others at any moment.
    """
    draw = random.Random(seed)
    starting, training = measure(config, whole)
    counts: Counter[str] = Counter()
    begun = time.monotonic()
    where, kills = "", 0
    while kills < n_kills or where != "ended":
        moment = draw.uniform(0, starting) if kills % 6 == 5 else starting + draw.uniform(0, 0.5 * training)
        pause = draw.uniform(0, 0.006) if kills % 2 == 0 else None  # so that kills hit different files
        if kills == n_kills:
            moment = LIMIT
        where = kill_once(config, whole.with_name(f"killed-{counts['ended']}"), moment, pause)
        counts[where] += 1
        kills = counts["in a save"] + counts["elsewhere"]
    return {
        "kills": kills,
        "in a save": counts["in a save"],
        "runs": counts["ended"],
        "seconds": time.monotonic() - begun,
    }


if __name__ == "__main__":
    print(json.dumps(campaign(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
