"""Contenders of a benchmark: one process each, in turns, so that slow moments of the machine affect them all."""

import json
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from tqdm import tqdm

Answer = dict[str, float]


class Contender:
    """The process of one contender; it answers each line on its stdin with one line of JSON.

    Args:
        command: how to start it.
        variables: its environment; None is that of this process.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
        )

    def ask(self, task: str) -> Answer:
        """Return the answer to a task; SystemExit if the process has ended."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{task}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a contender ended early; its message is above")
        answer: Answer = json.loads(line)
        return answer

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()


def ask_each(contenders: Mapping[str, Contender], task: str, bar: Any) -> dict[str, Answer]:
    """Return the answers of all contenders to a task, one after the other.

    Args:
        contenders: processes by name.
        task: the line that each of them gets.
        bar: progress bar of `progress`; it shows the contender's name.
    """
    answers = {}
    for name, contender in contenders.items():
        bar.set_description(f"{name}: {task}")
        answers[name] = contender.ask(task)
        bar.update()
    return answers


def progress(total: int) -> Any:
    """Return a progress bar on stderr that counts tasks of contenders."""
    return tqdm(total=total, unit="task", bar_format="{desc:24}{percentage:3.0f}%|{bar}| {n}/{total} [{elapsed}]")


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """Return the median ratio of rounds: neighbours in time, so steadier than the ratio of the medians."""
    return round(statistics.median(a / b for a, b in zip(numerators, denominators, strict=True)), 2)


def peak_mb() -> float:
    """Return the largest resident memory of this process so far, in MB."""
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3  # Linux counts in KiB
