"""Contenders of a benchmark: one process each, in turns, so that slow moments of the machine affect them all."""

import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from translate.files import read_json
from translate.machine import n_cores, set_up_threads
from translate.models.registry import locate
from translate.training.run import environment

Answer = dict[str, float]


@contextmanager
def started(commands: Mapping[str, Sequence[str]], n_tasks: int) -> Iterator[Callable[[str], dict[str, Answer]]]:
    """Start the contenders and yield a function that returns the answers of all of them to one task.

    Args:
        commands: command of each contender by name; its process answers each line on stdin with one line of JSON.
        n_tasks: number of tasks, for the progress bar on stderr.

    The function raises SystemExit if a process has ended. As with `translate`, the idle threads of all contenders sleep
    soon: beside other work, threads that spin made each update several times as long.
    """
    set_up_threads()
    with ExitStack() as stack:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        processes: dict[str, subprocess.Popen[str]] = {
            name: stack.enter_context(subprocess.Popen(command, text=True, **pipes))  # type: ignore[call-overload]
            for name, command in commands.items()
        }
        layout = "{desc:24}{percentage:3.0f}%|{bar}| {n}/{total} [{elapsed}]"
        bar = stack.enter_context(tqdm(total=n_tasks * len(commands), bar_format=layout))

        def ask_each(task: str) -> dict[str, Answer]:
            answers = {}
            for name, process in processes.items():
                bar.set_description(f"{name}: {task}")
                print(task, file=process.stdin, flush=True)
                assert process.stdout
                if not (line := process.stdout.readline()):
                    raise SystemExit("a contender ended early; its message is above")
                answers[name] = json.loads(line)
                bar.update()
            return answers

        yield ask_each


def answer_tasks(answer: Callable[[str], Mapping[str, float]]) -> int:
    """Answer each task on stdin with one line of JSON; return the exit code of a contender's process."""
    for line in sys.stdin:
        print(json.dumps(answer(line.strip())), flush=True)
    return 0


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """Return the median ratio of rounds: neighbours in time, so steadier than the ratio of the medians."""
    return round(statistics.median(a / b for a, b in zip(numerators, denominators, strict=True)), 2)


def peak_mb(pid: int | str = "self") -> int:
    """Return the largest resident set of a process in MB, 0 if it has ended; getrusage would include its parent's."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").split("\n")
    except OSError:
        return 0
    return next((round(int(line.split()[1]) / 1e3) for line in lines if line.startswith("VmHWM")), 0)


def layers(model: Path) -> str:
    """Return the numbers of encoder and decoder layers of a model, such as "6 + 2"."""
    config = read_json(locate(model, print) / "config.json")["model"]
    return f"{config['n_encoder_layers']} + {config['n_decoder_layers']}"


def machine(threads: int | None = None) -> dict[str, Any]:
    """Return the part of a record that says how and where it was measured.

    Args:
        threads: of the contenders, if they were told.
    """
    here = environment()
    versions = {name: version(name) for name in ("transformers", "ctranslate2") if find_spec(name)}
    return {
        "command": shlex.join(["python", f"scripts/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "commit": here["commit"],
        "uncommitted_changes": here["uncommitted_changes"],
        "processor": here["machine"]["processor"],
        "threads": threads or n_cores(),  # not those of this process, which may not compute
        "torch": torch.__version__,
        "versions": here["versions"] | versions,
    }
