#!/usr/bin/env python3
"""Measure the time from raw files to marks of BLEU: Multi30k, German to English. docs/speedrun.md has the rules.

    python scripts/speedrun.py --contenders ours                          # an attempt
    python scripts/speedrun.py --contenders ours hf torch joeynmt --joeynmt ~/joeynmt/bin/python \\
        --seeds 1 2 3 --write scripts/results/speedrun.json               # the record
    python scripts/speedrun.py --set training.lr=4e-3 --against scripts/results/speedrun.json

Each run is a process of its own, one after the other, so that each has the whole machine; seeds are the outer loop, so
that slow hours affect all contenders. `hf`, `torch` and `joeynmt` first run with each of --rates to the lowest mark,
but not longer than --tuning-minutes; the rate that reaches it first, or else has the highest BLEU, is used for all
seeds. A finished run is kept in --folder, and the same command continues after the last one. Progress goes to stderr,
the record to stdout.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from race import BEAM, CONTENDERS, NEAR, Task, run

from translate.config.load import load
from translate.errors import UserError
from translate.files import read_json, write_json
from translate.machine import set_up_threads
from translate.training.run import commit

MARKS = (33.5, 35.1, 41.0)
CONFIG = "configs/recipes/multi30k-speedrun.toml"
ROOT = Path(__file__).resolve().parent.parent

Record = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run what has not run yet and print the record; with --work, be one run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=["ours"], metavar="NAME")
    parser.add_argument("--marks", nargs="+", type=float, default=MARKS, metavar="BLEU")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], metavar="N")
    parser.add_argument(
        "--rates", nargs="+", type=float, default=[1e-3, 2e-3, 3e-3], metavar="LR", help="of the others"
    )
    parser.add_argument("--hours", type=float, default=2.0, help="limit of one run (default: %(default)s)")
    parser.add_argument("--tuning-minutes", type=float, default=30.0, help="limit of a run that tries a rate")
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="of the raw files (default: that of the experiment)"
    )
    parser.add_argument("--config", default=CONFIG, metavar="FILE", help="of all (default: %(default)s)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of ours")
    parser.add_argument(
        "--set-all", nargs="+", default=[], metavar="KEY=VALUE", help="settings of all, to try this out"
    )
    parser.add_argument("--joeynmt", metavar="PYTHON", help="the Python of an environment with JoeyNMT 2.3")
    parser.add_argument(
        "--folder", type=Path, default=Path("runs/speedrun"), help="finished runs (default: %(default)s)"
    )
    parser.add_argument("--against", type=Path, metavar="RECORD", help="a former record to beat")
    parser.add_argument("--write", type=Path, metavar="RECORD", help="write the record here, too")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.work:
        begin, task = json.loads(args.work)
        task = Task(**task | {"marks": tuple(task["marks"])})
        write_json(Path(task.folder) / "record.json", run(task, experiment(args, task.contender), begin))
        return 0
    try:
        record = measured(args)
    except UserError as error:
        print(f"speedrun: {error}", file=sys.stderr)
        return 2
    if args.write:
        write_json(args.write, record)
    print(json.dumps(record))
    return 0


def measured(args: argparse.Namespace) -> Record:
    """Return the record, after the runs that are not in the folder yet."""
    from contenders import machine

    skipped: dict[str, str] = {}
    if "joeynmt" in args.contenders and not args.joeynmt:
        skipped["joeynmt"] = "no environment was named with --joeynmt"
    contenders = [name for name in args.contenders if name not in skipped]
    for name in contenders:
        experiment(args, name)  # a mistake ends this now
    settings = {"marks": sorted(args.marks), "hours": args.hours, "config": args.config, "set": args.set}
    settings |= {"set_all": args.set_all, "rates": args.rates, "tuning_minutes": args.tuning_minutes}
    settings |= {"commit": commit()}
    args.folder.mkdir(parents=True, exist_ok=True)
    kept = args.folder / "settings.json"
    if kept.exists() and read_json(kept) != settings:
        raise UserError(f"{args.folder}: has runs with other settings or of another commit; name another --folder")
    write_json(kept, settings)
    set_up_threads()
    base = Task("", args.seeds[0], None, tuple(settings["marks"]), args.hours, "", args.joeynmt)
    others = [name for name in contenders if name != "ours"]
    tuning = {name: [finished(args, task) for task in tuning_tasks(base, name, args)] for name in others}
    rates = {name: best_rate(runs) for name, runs in tuning.items()}
    tasks = [replace(base, contender=name, seed=seed, lr=rates.get(name)) for seed in args.seeds for name in contenders]
    record = {
        "kind": "speedrun",
        "command": " ".join(["python scripts/speedrun.py", *sys.argv[1:]]),
        **machine(),
        **settings,
        "beam": BEAM,
        "near": NEAR,
        "settings": {name: experiment(args, name).model_dump(mode="json") for name in contenders},
        "skipped": skipped,
        "tuning": [run for runs in tuning.values() for run in runs],
        "runs": [finished(args, task) for task in tasks],
    }
    record["p"] = {name: p_values(record, "ours", record, name) for name in others}
    if args.against:
        former = read_json(args.against)
        record["p_against"] = p_values(record, "ours", former, "ours")
        for mark, p in record["p_against"].items():
            now, before = (statistics.fmean(times(of, "ours", mark)) for of in (record, former))
            verdict = "beaten" if now < before and p < 0.05 else "not beaten"
            print(f"mark {mark}: {now:.0f} s, before {before:.0f} s, p = {p:.3f}: {verdict}", file=sys.stderr)
    return record


def experiment(args: argparse.Namespace, contender: str) -> Any:
    """Return the experiment of a contender: the same for all, without --set."""
    own = [*args.set] if contender == "ours" else []
    data = [] if args.data is None else [f"data.root={json.dumps(str(args.data))}"]
    path = Path(args.config)
    return load(path if path.exists() else ROOT / path, [*own, *data, *args.set_all])


def tuning_tasks(base: Task, name: str, args: argparse.Namespace) -> list[Task]:
    """Return the runs of a contender that choose its learning rate: the first seed to the lowest mark."""
    tuning = replace(base, contender=name, marks=base.marks[:1], hours=args.tuning_minutes / 60, tuning=True)
    return [replace(tuning, lr=rate) for rate in args.rates]


def best_rate(runs: Sequence[Record]) -> float:
    """Return the learning rate that reached the mark first, or else the highest greedy BLEU."""

    def rank(run: Record) -> tuple[float, float]:
        return min((reached["seconds"] for reached in run["marks"].values()), default=math.inf), -best(run)

    return float(min(runs, key=rank)["lr"])


def best(run: Record) -> float:
    """Return the highest greedy BLEU of a run."""
    return max((check["greedy"] for check in run["checks"]), default=0.0)


def finished(args: argparse.Namespace, task: Task) -> Record:
    """Return the record of a run from its folder, after running it if it is not there."""
    rate, purpose = "" if task.lr is None else f"-{task.lr:g}", "-tuning" if task.tuning else ""
    folder = (args.folder / f"{task.contender}{rate}{purpose}-seed{task.seed}").resolve()
    path = folder / "record.json"
    if not path.exists():
        # Nothing of a run that was cut off is used.
        attempt = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
        work = json.dumps([time.monotonic(), asdict(replace(task, folder=str(attempt)))])
        if subprocess.run([sys.executable, *sys.argv, "--work", work]).returncode:
            raise UserError(f"{task.contender}, seed {task.seed}: the run failed; its message is above")
        attempt.rename(folder)
    record: Record = read_json(path)
    return record


def times(record: Record, contender: str, mark: str) -> list[float]:
    """Return the seconds to a mark of the seeds that reached it."""
    runs = [run for run in record["runs"] if run["contender"] == contender and mark in run["marks"]]
    return [run["marks"][mark]["seconds"] for run in runs]


def p_values(record: Record, contender: str, other_record: Record, other: str) -> dict[str, float]:
    """Return the p-value of the difference in time of two contenders, by mark that two seeds of each reached."""
    sides = {str(m): (times(record, contender, str(m)), times(other_record, other, str(m))) for m in record["marks"]}
    return {mark: round(welch(*pair), 6) for mark, pair in sides.items() if min(map(len, pair)) > 1}


def welch(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided p-value of Welch's t-test on the logarithms of two samples, as times differ by factors."""
    logs = [[math.log(value) for value in side] for side in (a, b)]
    parts = [statistics.variance(side) / len(side) for side in logs]
    difference = statistics.fmean(logs[0]) - statistics.fmean(logs[1])
    if not sum(parts):
        return float(difference == 0)
    t = abs(difference) / math.sqrt(sum(parts))
    freedom = sum(parts) ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, logs, strict=True))
    # The density of Student's t in terms of the angle atan(t / sqrt(freedom)) is cos^(freedom - 1), up to a constant.
    n, end = 10_000, math.atan(t / math.sqrt(freedom))

    def area(upper: float) -> float:
        return math.fsum(math.cos((i + 0.5) * upper / n) ** (freedom - 1.0) for i in range(n)) * upper / n

    return max(0.0, 1 - area(end) / area(math.pi / 2))


if __name__ == "__main__":
    sys.exit(main())
