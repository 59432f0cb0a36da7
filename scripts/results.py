#!/usr/bin/env python3
"""Build the tables of RESULTS.md and of docs/ from records, and records from scored runs and grids.

    python scripts/results.py runs/multi30k-de-en     # scored run -> scripts/results/multi30k-de-en.json
    python scripts/results.py experiments/norm        # grid -> scripts/results/grid-norm.json
    python scripts/results.py                         # scripts/results/*.json -> the tables of the pages

Score a run with `translate evaluate` before adding it. The parents of a run that began with a shipped model are those
on the card of the model. The records of benchmarks are made by `bench.py`, and their tables by its cases.
"""

import argparse
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import records as store
from harness import Case, all_cases, kind_of
from records import (
    UNKNOWN,
    Record,
    link,
    linked,
    machine_name,
    record_of,
    records,
    runs_of,
    score_cells,
    signatures,
    table,
)

from translate.experiments.table import spread
from translate.files import read_json, write_json, write_text
from translate.tables import rendered

ROOT = Path(__file__).resolve().parent.parent
PAGE, GRIDS, SERVE, SPEEDRUN = (
    ROOT / page for page in ("RESULTS.md", "docs/grids.md", "docs/serve.md", "docs/speedrun.md")
)
MODELS = ROOT / "translate" / "models"
BEGIN, END = "<!-- made by scripts/results.py from scripts/results/ -->", "<!-- end -->"

# The newest records of their kinds, for the summary: benchmarks have no date. All records are in the tables.
NEWEST = {"text": "bench-text-int8", "serve": "bench-serve"}

Hours = Counter[str]  # by unit: "core h" or "GPU h"


def main(argv: Sequence[str] | None = None) -> int:
    """Add records of the named runs, if any, and rebuild the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="*", help="a scored run, or the folder of a grid, to make a record of")
    store.RECORDS.mkdir(exist_ok=True)
    for run in parser.parse_args(argv).run:
        is_grid = (run / "table.json").exists()
        record = read_json(run / "table.json") if is_grid else record_of(run)
        path = store.RECORDS / f"{'grid-' if is_grid else ''}{record['name']}.json"
        write_json(path, record)
        print(f"wrote {path}")
    pages = {PAGE: results(), GRIDS: grids(), SERVE: sizes(), SPEEDRUN: speedruns()}
    for page, chapters in pages.items():
        write_text(page, rebuilt(page.read_text(encoding="utf-8"), chapters))
    return 0


def rebuilt(page: str, content: str) -> str:
    """Return the page with this content between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{content}\n\n{END}{after}"


# RESULTS.md


def results() -> str:
    """Return the chapters of RESULTS.md: a summary, then every record but those of grids."""
    runs = records("training")
    chapters = {
        "Summary": summary(),
        "History": HISTORY,
        "BLEU": score_table(runs, [row for record in records("published") for row in record["rows"]]),
        "chrF and TER": other_metrics(runs),
        "Training runs": run_table(runs),
        "Blind comparison": blind_table(records("blind")),
        "Probes": probe_table(records("probe")),
        **{case.title: chapter(name, case) for name, case in all_cases().items() if name != "sizing"},
    }
    return "\n\n".join(f"## {title}\n\n{content}" for title, content in chapters.items() if content)


def chapter(name: str, case: Case) -> str:
    """Return introduction and table of the records of a benchmark; "" without records."""
    found = table(row for record in records(kind_of(name, case)) for row in case.rows(record))
    return "\n\n".join(filter(None, [case.introduction, found])) if found else ""


HISTORY = """![BLEU of the models trained one after the other, by run and direction](docs/images/rounds.svg)

Each of these models began with the weights of one before it; the ninth of each direction was the last that shipped.
Then `de-en-3` and `en-de-3` were trained from scratch, in three stages, by one recipe, `configs/shipped` at commit
6baab8530, whose settings were completed between the stages. `de-en-5` and `en-de-6`, trained from scratch without
public evaluation sets, ship in their place. The loss on newstest2013 during the stages of `de-en-3` and `en-de-3`:

![Validation loss of the three stages of both directions, by tokens read](docs/images/learning.svg)

Drawn by `scripts/figures.py rounds` and `scripts/figures.py learning` from the records below."""


def summary() -> str:
    """Return what a reader wants to know first: one row for each of the main results."""
    rows = [*_shipped_rows(), *_grid_rows(), *_benchmark_rows()]
    return table(dict(zip(("what", "result", "command", "machine", "record"), row, strict=True)) for row in rows)


Row = tuple[str, str, str, str, str]


def _shipped_rows() -> Iterator[Row]:
    for card in sorted(MODELS.glob("*/README.md")):
        for run in runs_of(card.read_text(encoding="utf-8"))[-1:]:
            if run:
                test_sets = ("tatoeba", "newstest2014", "ted-tst2012")
                scores = ", ".join(f"{name} {bleu(run['scores'][name])}" for name in test_sets if name in run["scores"])
                command = f"`{run['command']}` at {run['commit'][:9]}"
                shown = f"{scores}; {total_compute(run)} in all stages"
                yield f"`{card.parent.name}`, shipped", shown, command, machine_name(run["machine"]), link(run)


def _grid_rows() -> Iterator[Row]:
    seeds = {"seeds": "Multi30k, three seeds", "diversification": "Multi30k, data diversification, three seeds"}
    for grid in records("grid"):
        if grid["name"] in seeds:
            shown = ", ".join(f"{row['direction']} {row['BLEU test_2016_flickr']}" for row in grid["table"])
            yield seeds[grid["name"]], shown, *_place(grid)
        elif grid["name"] == "table3":
            ranks = [re.search(r"of (\w+) with .*: ([\d.]+), (\d+) rows", note) for note in grid["notes"]]
            shown = ", ".join(f"{rank[2]} ({rank[1]})" for rank in ranks if rank)
            yield "Table 3 at a small size", f"rank correlation with the paper: {shown}", *_place(grid)


def _place(grid: Record) -> tuple[str, str, str]:
    """Return command, machine and record of a grid."""
    machines = dict.fromkeys(machine_name(environment["machine"]) for environment in environments(grid))
    return command_of(grid), "; ".join(machines), link(grid)


def environments(grid: Record) -> list[Record]:
    """Return where each run of a grid was made: commit, versions and machine of each start, or of its scores.

    Older records have only the environment in which the run was scored.
    """
    runs = [run for row in grid["rows"] for run in row["seeds"].values() if "environment" in run]
    return [environment for run in runs for environment in run.get("trained") or [run["environment"]]]


def command_of(grid: Record) -> str:
    """Return the command that made a grid, with its commits and whether their files were changed."""
    files = [f"configs/{folder}/{grid['name']}.toml" for folder in ("grids", "paper")]
    file = next((file for file in files if (ROOT / file).exists()), files[0])
    command, made = f"translate experiment {file}", environments(grid)
    commits = [*dict.fromkeys(environment["commit"][:9] for environment in made)]
    if (ROOT / file).exists():
        found = f"`{command}` at {', '.join(commits)}"
    else:
        found = f"`git checkout {commits[0]} && {command}`, as the file has been removed since"
    n_changed = sum(environment["uncommitted_changes"] for environment in made)
    return f"{found}, {n_changed} of {len(made)} runs with uncommitted changes" if n_changed else found


def _benchmark_rows() -> Iterator[Row]:
    for name, case in all_cases().items():
        for of in records(kind_of(name, case)):
            if of["file"] == NEWEST.get(name, of["file"]) and (found := case.summary(of)):
                yield *found, f"`{of['command']}` at {of['commit'][:9]}", machine_name(of), link(of)


def score_table(runs: Sequence[Record], published: Sequence[Record]) -> str:
    """Return one row for each run and published system, with one column of BLEU for each test set."""
    test_sets = {name: f"{name} ({scores['lines']:,})" for run in runs for name, scores in run["scores"].items()}
    rows = []
    for system in (*runs, *published):
        scores, note = system["scores"], f" ({system['unlike']})" if system.get("unlike") else ""
        is_run = "commit" in system
        row = {
            "system": link(system) if is_run else f"{system['system']}: {system['source']}",
            "languages": system["languages"],
            "parameters": f"{system['parameters'] / 1e6:.2f} M" if system["parameters"] else UNKNOWN,
            "training pairs": f"{system['pairs']:,}" if system["pairs"] else UNKNOWN,
            "seed": str(system.get("seed", UNKNOWN)),
            "compute with parents": total_compute(system) if is_run else UNKNOWN,
        }
        rows.append(
            row | {head: bleu(scores[name]) + note if name in scores else "" for name, head in test_sets.items()}
        )
    return table(rows)


def blind_table(records: Iterable[Record]) -> str:
    """Return one row for each sheet that a reader answered without knowing the systems."""
    return table(
        {
            "system": linked(record["after"], record),
            "compared with": record["before"],
            "set": record["set"],
            "reader": record["reader"],
            "better, worse, equal": f"{record['better']}, {record['worse']}, {record['equal']}",
            "p": f"{record['p']:.4f}",
        }
        for record in records
    )


def probe_table(records: Iterable[Record]) -> str:
    """Return one row for each short run that chose a setting of a long one."""
    return table(
        {
            "question": linked(record["question"], record),
            "run": name,
            "s an update": f"{run['seconds_per_update']:.2f}",
            "nats a token after updates": ", ".join(f"{nll:.2f} after {step}" for step, nll in run["nll"].items()),
        }
        for record in records
        for name, run in record["runs"].items()
    )


def bleu(score: float | Record) -> str:
    """Return a run's BLEU with one decimal place and its precision if that is not fp32; a published BLEU unchanged."""
    if not isinstance(score, dict):
        return str(score)
    return f"{score['bleu']['score']:.1f}" + (f" ({score['precision']})" if "precision" in score else "")


def other_metrics(runs: Sequence[Record]) -> str:
    """Return one row of chrF / TER for each run, and the sacreBLEU signatures of all metrics."""
    names = dict.fromkeys(name for run in runs for name in run["scores"])
    rows = [
        {"run": link(run)} | {name: " / ".join(_marked(score_cells(run["scores"].get(name, {})))) for name in names}
        for run in runs
    ]
    return "\n\n".join([table(rows), *signatures(scores for run in runs for scores in run["scores"].values())])


def _marked(cells: dict[str, str]) -> Iterator[str]:
    """Yield all scores but BLEU; chrF++ has its name because older records have chrF."""
    for metric, value in cells.items():
        if metric != "BLEU":
            yield f"{metric} {value}" if metric == "chrF++" else value


def run_table(runs: Iterable[Record]) -> str:
    """Return the machine and the cost of each run."""
    return table(
        {
            "run": link(run),
            "updates": f"{run['steps']:,}",
            "tokens": f"{run['tokens']:,}",
            "trained on": machine_name(run["machine"]),
            "time": f"{run['seconds'] / 60:.0f} min",
            "compute": hours(compute(run)),
            "with parents": total_compute(run),
            "commit": str(run["commit"])[:9],
        }
        for run in runs
    )


def compute(run: Record) -> Hours:
    """Return the core hours or GPU hours of a run without its parents."""
    machine = run["machine"]
    on_cpu = machine["device"] == "cpu"
    # Starts with other threads than the first are known of some runs only.
    parts = run.get("parts", [{"threads": machine["threads"], "seconds": run["seconds"]}])
    hours = machine["processes"] * sum((part["threads"] if on_cpu else 1) * part["seconds"] for part in parts) / 3600
    return Counter({"core h" if on_cpu else "GPU h": hours})


def total_compute(run: Record) -> str:
    """Return the compute of a run and the runs that it continues, "over ..." if one of those has no record."""
    known = [parent for parent in run["parents"] if parent]
    total = hours(sum(map(compute, known), compute(run)))
    return total if known == run["parents"] else f"over {total}"


def hours(amount: Hours) -> str:
    """Return hours by unit, such as "2.6 core h"."""
    return " + ".join(f"{value:.1f} {unit}" for unit, value in amount.items())


# Other pages


def grids() -> str:
    """Return the chapters of docs/grids.md: the notes that all grids share, then one table for each."""
    found = records("grid")
    shared = [note for note in found[0]["notes"] if all(note in grid["notes"] for grid in found)] if found else []
    chapters = [f"## {grid['name']}\n\n{grid_table(grid, shared)}" for grid in found]
    return "\n\n".join(["\n".join(f"- {note}" for note in shared), *chapters])


def grid_table(grid: Record, shared: Sequence[str] = ()) -> str:
    """Return the table of a grid, its command and record, and its notes without those that the page has already."""
    notes = [f"{command_of(grid)}, record {link(grid, '../')}", *(n for n in grid["notes"] if n not in shared)]
    return "\n\n".join([rendered(grid["table"], "github"), "\n".join(f"- {note}" for note in notes)])


def sizes() -> str:
    """Return the tables of docs/serve.md: load and memory of a server, with the record of each."""
    case, parts = all_cases()["sizing"], list[str]()
    for record in records(case.kind):
        place = f"{record['processor']}, commit {record['commit'][:9]}, record {link(record, '../')}"
        memory = table({"step": name, "MB": str(mb)} for name, mb in record["memory"].items())
        parts += [f"{record['clients']} clients, {place}:", table(case.rows(record))]
        parts += ["Resident memory of one process with the default options:", memory]
    return "\n\n".join(parts) or "These commands make the tables; they have not run yet."


def speedruns() -> str:
    """Return the table of contenders of docs/speedrun.md, one for each record."""
    return "\n\n".join(map(speedrun_table, records("speedrun"))) or "Not measured yet."


def speedrun_table(record: Record) -> str:
    """Return one row for each contender and mark: the time over the seeds that reached it, and its ratio to ours."""
    by_name: dict[str, list[Record]] = {}
    for run in record["runs"]:
        by_name.setdefault(run["contender"], []).append(run)
    rows = []
    for name, runs in by_name.items():
        for mark in map(str, record["marks"]):
            reached = [run["marks"][mark] for run in runs if mark in run["marks"]]
            p = record["p"].get(name, {}).get(mark)
            row = {
                "contender": name,
                "learning rate": " ".join(sorted({f"{run['lr']:g}" for run in runs if run["lr"]})),
                "mark": mark,
                "minutes": spread([one["seconds"] / 60 for one in reached]) or f"more than {shortest(runs)}",
                "seeds": f"{len(reached)} of {len(runs)}",
                "times ours": slowdown(runs, by_name.get("ours", []), mark),
                "p": "" if p is None else f"{p:.4f}",
                "test BLEU": spread([one["test_2016_flickr"] for one in reached]),
            }
            rows.append(row)
    commands: dict[str, list[str]] = {}
    for name, how in record["contenders"].items():
        place = f"`{how['command']}` at {how['commit'][:9]}, {machine_name(how)}"
        commands.setdefault(place, []).append(f"`{name}`")
    notes = [f"- {', '.join(names)}: {place}, record {link(record, '../')}" for place, names in commands.items()]
    return "\n\n".join([table(rows), "\n".join(notes)])


def shortest(runs: Sequence[Record]) -> float:
    """Return the minutes of the shortest of some runs, to one decimal, rounded down."""
    return float(min(run["seconds"] for run in runs)) // 6 / 10


def slowdown(runs: Sequence[Record], ours: Sequence[Record], mark: str) -> str:
    """Return the ratio of the geometric means of two contenders' times to a mark.

    A run that ended before the mark counts with the time at which it ended, so that the ratio is a lower bound. The
    text is empty if one of ours did not reach the mark, or if the bound says nothing.
    """
    if not ours or not all(mark in run["marks"] for run in ours):
        return ""
    ends = [[run["marks"].get(mark, run)["seconds"] for run in side] for side in (runs, ours)]
    theirs, mine = map(statistics.geometric_mean, ends)
    if all(mark in run["marks"] for run in runs):
        return f"{theirs / mine:.2f}"
    return f"more than {theirs / mine:.2f}" if theirs > mine else ""


if __name__ == "__main__":
    sys.exit(main())
