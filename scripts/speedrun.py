#!/usr/bin/env python3
"""Measure the time from raw files to marks of BLEU: Multi30k, German to English. docs/speedrun.md has the rules.

    python scripts/speedrun.py                                            # an attempt
    python scripts/speedrun.py --set training.lr=4e-3 --seeds 1 2 3 --against scripts/results/speedrun.json
    python scripts/speedrun.py --contenders ours hf torch --seeds 1 2 3 --write scripts/results/speedrun.json  # record

Each run is a process of its own, one after the other, so that each has the whole machine; seeds are the outer loop, so
that slow hours affect all contenders. `hf` and `torch` first run with each of --rates to the lowest mark,
but not longer than --tuning-minutes; the rate that reaches it first, or else has the highest BLEU, is used for all
seeds. A finished run is kept in --folder, in a folder for its code and settings, and the same command continues after
the last one. With --write, contenders of the file that do not run now stay in it; with --against, the file is written
only if a mark is beaten. Progress goes to stderr, the record to stdout.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from harness import machine
from race import BEAM, CONTENDERS, NEAR, Task, run

from translate.config.load import load
from translate.config.schema import ExperimentConfig
from translate.errors import UserError
from translate.files import json_sha256, read_json, write_json
from translate.machine import git, set_up_threads

MARKS = (33.5, 35.1, 41.0)
CODE = ("transformer", "translate", "scripts/race.py", "scripts/peers.py")
SEEDS = 3  # of a record, at least
SAME = ("processor", "threads", "torch")  # of times that are compared
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
    parser.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="settings of ours")
    parser.add_argument(
        "--set-all",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="settings of all, to try this out",
    )
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
        record, former = measured(args)
    except UserError as error:
        print(f"speedrun: {error}", file=sys.stderr)
        return 2
    if args.write and (former is None or beaten(record, former)):
        write_json(args.write, record)
    print(json.dumps(record))
    return 0


def measured(args: argparse.Namespace) -> tuple[Record, Record | None]:
    """Return the record, after the runs that are not in the folder yet, and the one to beat.

    Other contenders stay from the record in the file that is to be written.
    """
    set_up_threads()
    contenders = args.contenders
    settings = {"hours": args.hours, "tuning_minutes": args.tuning_minutes, "rates": args.rates}
    here = {**machine(), **settings}
    how = {name: {**here, "settings": experiment(args, name).model_dump(mode="json")} for name in contenders}
    rules: Record = {"marks": sorted(args.marks), "beam": BEAM, "near": NEAR}
    kept = read_record(args.write, rules, here) if args.write and args.write.exists() else None
    former = read_record(args.against, rules, here) if args.against else None
    folders = {
        name: args.folder / f"{name}-{json_sha256([rules, settings, one['settings'], code()])[:10]}"
        for name, one in how.items()
    }
    base = Task("", args.seeds[0], None, tuple(rules["marks"]), args.hours, "")
    others = [name for name in contenders if name != "ours"]
    tuning = {name: [finished(folders[name], task) for task in tuning_tasks(base, name, args)] for name in others}
    rates = {name: best_rate(runs) for name, runs in tuning.items()}
    tasks = [replace(base, contender=name, seed=seed, lr=rates.get(name)) for seed in args.seeds for name in contenders]
    record: Record = {
        "kind": "speedrun",
        **rules,
        "contenders": how,
        "tuning": [run for runs in tuning.values() for run in runs],
        "runs": [finished(folders[task.contender], task) for task in tasks],
    }
    if kept:
        stay = [name for name in kept["contenders"] if name not in how]
        record["contenders"] = {name: kept["contenders"][name] for name in stay} | how
        for part in ("tuning", "runs"):
            record[part] = [run for run in kept[part] if run["contender"] in stay] + record[part]
    record["p"] = {name: p_values(record, "ours", record, name) for name in record["contenders"] if name != "ours"}
    return record, former


def read_record(path: Path, rules: Record, here: Record) -> Record:
    """Return a record; UserError if the file is none, or if its times cannot stand beside those of this machine."""
    try:
        record = read_json(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as a record: {error}") from error
    if record.get("kind") != "speedrun":
        raise UserError(f"{path}: is no record of a speedrun")
    differing = [key for key, value in rules.items() if record[key] != value]
    differing += [key for key in SAME for other in record["contenders"].values() if other[key] != here[key]]
    if differing:
        raise UserError(f"{path}: was measured with another {differing[0]}; name another file")
    return record


def code() -> list[str | None]:
    """Return what tells one state of the code from another: its hashes at this commit, and the changes since."""
    return [git("rev-parse", *(f"HEAD:{part}" for part in CODE)), git("diff", "HEAD", "--", *CODE)]


def beaten(record: Record, former: Record) -> bool:
    """Say for each mark whether a record beats a former one; True if it does at one and is slower at none."""
    reasons = {mark: incomparable(record, former, mark) for mark in map(str, record["marks"])}
    p = p_values(record, "ours", former, "ours")
    corrected = holm({mark: p[mark] for mark, reason in reasons.items() if reason is None})
    verdicts = []
    for mark, reason in reasons.items():
        if reason is not None:
            print(f"mark {mark}: not beaten: {reason}", file=sys.stderr)
            continue
        now, before = (statistics.geometric_mean(times(of, "ours", mark)) for of in (record, former))
        found = "beaten" if now < before else "slower"
        verdicts.append(found if corrected[mark] < 0.05 else "not beaten")
        shown = f"{now:.0f} s, before {before:.0f} s, p = {corrected[mark]:.3f}"
        print(f"mark {mark}: {shown}: {verdicts[-1]}", file=sys.stderr)
    return "beaten" in verdicts and "slower" not in verdicts


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Return p-values with Holm's correction for the number of tests."""
    corrected, largest = {}, 0.0
    for n_before, mark in enumerate(sorted(p, key=p.__getitem__)):
        largest = max(largest, min(1.0, p[mark] * (len(p) - n_before)))
        corrected[mark] = largest
    return corrected


def incomparable(record: Record, former: Record, mark: str) -> str | None:
    """Return why the times of ours to a mark in two records cannot be compared; None if they can."""
    sides = {"this run": record, "the former record": former}
    for name, of in sides.items():
        runs = [run for run in of["runs"] if run["contender"] == "ours"]
        if len(runs) < SEEDS:
            return f"{name} has {len(runs)} of {SEEDS} seeds"
        if len(reached := times(of, "ours", mark)) < len(runs):
            return f"in {name}, {len(runs) - len(reached)} of {len(runs)} seeds did not reach it"
    return None


def experiment(args: argparse.Namespace, contender: str) -> ExperimentConfig:
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


def finished(kept: Path, task: Task) -> Record:
    """Return the record of a run from its folder in `kept`, after running it if it is not there."""
    rate, purpose = "" if task.lr is None else f"lr{task.lr:g}-", "tuning-" if task.tuning else ""
    folder = (kept / f"{rate}{purpose}seed{task.seed}").resolve()
    path = folder / "record.json"
    if not path.exists():
        # Nothing of a run that was cut off is used.
        kept.mkdir(parents=True, exist_ok=True)
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
    """Return the p-value of the difference in time of two contenders, by mark that all of their seeds reached.

    A mark that a seed missed has none: its time is unknown, and the others alone would look faster than they are.
    """
    sides = ((record, contender), (other_record, other))
    found = {}
    for mark in map(str, record["marks"]):
        pair = [times(of, name, mark) for of, name in sides]
        n_runs = [sum(run["contender"] == name for run in of["runs"]) for of, name in sides]
        if [len(side) for side in pair] == n_runs and min(n_runs) > 1:
            found[mark] = round(welch(*pair), 6)
    return found


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
