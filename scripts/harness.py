"""The harness of the benchmarks: `bench.py` runs a case, which is one file in `cases/` with one value CASE.

setup     `Case.options` adds the options of the case to those of all
run       `Case.run` measures. Contenders are processes of their own that take turns, see `turns`: a slow moment of
          the machine affects them all
record    what `run` returns, with `machine`; `Case.rows` says how a page shows it
"""

import argparse
import importlib
import itertools
import json
import pkgutil
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import cases
import torch
from records import Record, table
from tqdm import tqdm

from translate.corpus.sources import Pair
from translate.errors import say
from translate.files import read_json, read_lines, write_json
from translate.machine import n_cores, set_up_threads
from translate.models.folder import TranslationSpec
from translate.models.registry import locate
from translate.training.run import environment

Answer = Mapping[str, float]
Work = Callable[[str], Answer]  # of one contender, on one task
Row = Mapping[str, str]


@dataclass(frozen=True)
class Case:
    """One benchmark. The docstring of its file is its help.

    Attributes:
        title: the chapter of its records in RESULTS.md.
        options: adds its options to a parser.
        run: measures, and returns the record without the part that `machine` returns.
        rows: rows of a record in the table of the chapter, which all have the same columns.
        work: with contenders, makes what answers the tasks of the one that `args.work` names, in its own process.
        summary: what was measured, and the result in a few words, for the summary of RESULTS.md.
        introduction: text above the table.
        kind: of the records; "" is "bench_" with the name of the file.
    """

    title: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Record]
    rows: Callable[[Record], Iterable[Row]]
    work: Callable[[argparse.Namespace], Work] | None = None
    summary: Callable[[Record], tuple[str, str] | None] = lambda record: None
    introduction: str = ""
    kind: str = ""


def names() -> list[str]:
    """Return the names of all cases: those of their files."""
    return sorted(name for _, name, _ in pkgutil.iter_modules(cases.__path__))


def case_of(name: str) -> Case:
    """Return the case of a file."""
    found: Case = importlib.import_module(f"cases.{name}").CASE
    return found


def all_cases() -> dict[str, Case]:
    """Return every case by its name."""
    return {name: case_of(name) for name in names()}


def kind_of(name: str, case: Case) -> str:
    """Return the kind of the records of a case."""
    return case.kind or f"bench_{name}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one case: print its table and its record, and write the record with --out; with --work, be a contender."""
    first = argparse.ArgumentParser(description="Run a benchmark.")
    first.add_argument("case", choices=names())
    first.add_argument("options", nargs=argparse.REMAINDER, help="CASE --help lists them")
    chosen = first.parse_args(argv)
    case = case_of(chosen.case)
    args = parser_of(chosen.case, case).parse_args(chosen.options)
    if args.work is not None:
        assert case.work is not None
        return answer_tasks(case.work(args))
    here = machine(getattr(args, "threads", None))  # before a record that is written on the way changes the tree
    measured = case.run(args)
    record = {"kind": kind_of(chosen.case, case), **here, **measured}
    if shown := table(case.rows(record)):
        print(shown)
    if args.out:
        write_json(args.out, record)
    print(json.dumps(record, ensure_ascii=False))
    return 0


def parser_of(name: str, case: Case) -> argparse.ArgumentParser:
    """Return the parser of a case."""
    about = sys.modules[f"cases.{name}"].__doc__
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=f"bench.py {name}", description=about, formatter_class=raw)
    case.options(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the record to this file, too")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser


def machine(threads: int | None = None) -> Record:
    """Return the part of a record that says how and where it was measured.

    Args:
        threads: of the contenders, if they were told; else one for each core.
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


# Contenders


@contextmanager
def turns(names: Iterable[str], n_tasks: int, *more: str) -> Iterator[Callable[[str], dict[str, Answer]]]:
    """Start this benchmark once more for each contender; see `started`.

    Args:
        names: what `args.work` is in each.
        n_tasks: number of tasks.
        more: options that each process gets, too.
    """
    with started({name: [sys.executable, *sys.argv, *more, "--work", name] for name in names}, n_tasks) as ask_each:
        yield ask_each


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


def answer_tasks(work: Work) -> int:
    """Answer each task on stdin with one line of JSON; return the exit code of a contender's process."""
    for line in sys.stdin:
        print(json.dumps(work(line.strip())), flush=True)
    return 0


# Figures


def seconds_of(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that a call takes."""
    begin = clock()
    run()
    return clock() - begin


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """Return the median ratio of rounds: neighbours in time, so steadier than the ratio of the medians."""
    return round(statistics.median(a / b for a, b in zip(numerators, denominators, strict=True)), 2)


def median_and_range(name: str, rates: Sequence[float]) -> Record:
    """Return median, least and greatest of some rates, for a record."""
    found = {name: statistics.median(rates), f"{name}_least": min(rates), f"{name}_most": max(rates)}
    return {key: round(rate, 1) for key, rate in found.items()}


def peak_mb(pid: int | str = "self") -> int:
    """Return the largest resident set of a process in MB, 0 if it has ended; getrusage would include its parent's."""
    return memory_mb(pid, "VmHWM")


def memory_mb(pid: int | str, field: str = "VmRSS") -> int:
    """Return a size of a process in MB, by default its resident set; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").split("\n")
    except OSError:
        return 0
    return next((round(int(line.split()[1]) / 1e3) for line in lines if line.startswith(field)), 0)


def peak_mb_of_tree(pid: int) -> int:
    """Return the sum of the largest resident sets of a process and its descendants that run, in MB."""
    return sum(map(peak_mb, tree(pid)))


def tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text(encoding="ascii").split()
        except OSError:  # it has ended
            continue
        yield from itertools.chain.from_iterable(tree(int(child)) for child in children)


# Models and test sets


def model_facts(model: Path | str) -> Record:
    """Return name and layers of a model, such as "6 + 2", for a record."""
    config = read_json(locate(Path(model), say) / "config.json")["model"]
    return {"model": str(model), "layers": f"{config['n_encoder_layers']} + {config['n_decoder_layers']}"}


def add_sets(parser: argparse.ArgumentParser) -> None:
    """Add a model and test sets to a parser; see `read_set`."""
    parser.add_argument("model", help="name of a model, or a folder")
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET", help='a path without ".LANGUAGE" and the suffix')
    parser.add_argument("--suffix", default=".gz", help="end of the file names (default: %(default)s)")
    parser.add_argument("--lines", type=int, help="use only the first lines of each set")


def read_set(args: argparse.Namespace, path: Path, spec: TranslationSpec) -> list[Pair]:
    """Return the first pairs of a test set in the languages of a model.

    Args:
        args: the options of `add_sets`.
        path: of the set.
        spec: of the model.
    """
    sides = (read_lines(Path(f"{path}.{side}{args.suffix}")) for side in (spec.source, spec.target))
    return list(islice(zip(*sides, strict=True), args.lines))


def name_of(path: Path) -> str:
    """Return the name of a test set: its folder and its file."""
    return f"{path.parent.name}/{path.name}"
