#!/usr/bin/env python3
"""Build the tables of RESULTS.md and of docs/ from records, and records from scored runs and grids.

    python scripts/results.py runs/multi30k-de-en     # scored run -> scripts/results/multi30k-de-en.json
    python scripts/results.py experiments/norm        # grid -> scripts/results/grid-norm.json
    python scripts/results.py                         # scripts/results/*.json -> the tables of the pages

Score a run with `translate evaluate` before adding it. The parents of a run that began with a shipped model are those
on the card of the model. A parent that is null in a record is a run whose cost is not known.
"""

import argparse
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from translate.errors import UserError
from translate.experiments.table import spread
from translate.files import read_json, write_json, write_text
from translate.tables import rendered
from translate.training.checkpoints import step_of
from translate.training.run import Run

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "scripts" / "results"
PAGE, GRIDS, SERVE, SPEEDRUN = (
    ROOT / page for page in ("RESULTS.md", "docs/grids.md", "docs/serve.md", "docs/speedrun.md")
)
MODELS = ROOT / "translate" / "models"
BEGIN, END = "<!-- made by scripts/results.py from scripts/results/ -->", "<!-- end -->"
UNKNOWN = "unknown"
SAME_SETS = {"multi30k-2016": "test_2016_flickr"}  # other names in experiment files
METRICS = {"bleu": "BLEU", "chrf": "chrF", "chrf++": "chrF++", "ter": "TER"}

# The newest records of their kinds, for the summary: benchmarks have no date. All records are in the tables.
NEWEST = ("bench-text-int8", "bench-serve")

Record = dict[str, Any]
Hours = Counter[str]  # by unit: "core h" or "GPU h"


def main(argv: Sequence[str] | None = None) -> int:
    """Add records of the named runs, if any, and rebuild the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="*", help="a scored run, or the folder of a grid, to make a record of")
    RECORDS.mkdir(exist_ok=True)
    for run in parser.parse_args(argv).run:
        is_grid = (run / "table.json").exists()
        record = read_json(run / "table.json") if is_grid else record_of(run)
        path = RECORDS / f"{'grid-' if is_grid else ''}{record['name']}.json"
        write_json(path, record)
        print(f"wrote {path.relative_to(ROOT)}")
    pages = {PAGE: results(), GRIDS: grids(), SERVE: sizes(), SPEEDRUN: speedruns()}
    for page, chapters in pages.items():
        write_text(page, rebuilt(page.read_text(encoding="utf-8"), chapters))
    return 0


def record_of(run: Path) -> Record:
    """Return the settings, data, cost and scores of a run."""
    manifest, config, end = read_json(run / "manifest.json"), read_json(run / "config.json"), state_of(run)
    *parents, own = (history(*part) for part in lineage(run))
    return {
        "kind": "training",
        "name": run.name,
        "languages": f"{config['data']['source']}-{config['data']['target']}",
        **own,
        "versions": manifest["starts"][0]["versions"],
        **{key: manifest[key] for key in ("dtype", "parameters")},
        "date": manifest["starts"][0]["time"][:10],
        "pairs": manifest["data"]["counts"]["kept"],
        "inputs": manifest["data"]["inputs"],
        "parents": [*recorded(card_before(run)), *parents],
        "valid": {key: end[key] for key in ("nll", "perplexity", "bleu")},
        "averaged": end["averaged"],
        # Corpora keep their licences, so records hold no sentences; a path would be that of one machine.
        "scores": {
            SAME_SETS.get(name, name): {key: value for key, value in scores.items() if key not in ("sample", "model")}
            for name, scores in read_json(_scores(run)).items()
        },
    }


def _scores(run: Path) -> Path:
    """Return the scores of a run, or those of its model in int8."""
    own, small = run / "scores.json", run / "int8" / "scores.json"
    return small if small.exists() and not own.exists() else own


def history(run: Path, last_step: int | None = None) -> Record:
    """Return command, commit, seed, machine and cost of a run up to an update; None is the last one.

    The command is without the options that name places, as they do not change the model.
    """
    manifest, state = read_json(run / "manifest.json"), state_of(run, last_step)
    first = manifest["starts"][0]
    return {
        "command": re.sub(r" --(run|prepared)[ =]\S+", "", " ".join(["translate", *first["command"][1:]])),
        "commit": first["commit"],
        "uncommitted_changes": any(start["uncommitted_changes"] for start in manifest["starts"]),
        "seed": manifest["seed"],
        "machine": first["machine"],
        "starts": len(manifest["starts"]),
        "steps": state["step"],
        "epochs": state["epoch"],
        "tokens": state["tokens"],
        "seconds": state["seconds"],
    }


def state_of(run: Path, last_step: int | None = None) -> Record:
    """Return the latest value of each metric of a run up to an update; None is the last one."""
    state: Record = {}
    for line in Run(run).records():
        if last_step is None or line["step"] <= last_step:
            state |= line
    return state


def lineage(run: Path, last_step: int | None = None) -> list[tuple[Path, int | None]]:
    """Return the runs that made a model, oldest first, each with its last update; None is the end of the run.

    A model with a card may be at the beginning of the chain. UserError for another model that belongs to no run.
    """
    own = (run, last_step)
    parent = read_json(run / "manifest.json").get("parent")
    if not parent:
        return [own]
    folder = Path(parent["path"])
    is_checkpoint = folder.parent.name == "checkpoints"
    before, step = (folder.parents[1], step_of(folder)) if is_checkpoint else (folder.parent, None)
    if (before / "manifest.json").exists():
        return [*lineage(before, step), own]
    if (folder / "README.md").exists():
        return [own]
    raise UserError(f"{run}: began with {folder}, which belongs to no run; restore the run that made it")


def card_before(run: Path) -> str:
    """Return the card of the shipped model that the chain of a run began with; "" if it began with random weights."""
    first, _ = lineage(run)[0]
    parent = read_json(first / "manifest.json").get("parent")
    return (Path(parent["path"]) / "README.md").read_text(encoding="utf-8") if parent else ""


def recorded(card: str) -> list[Record | None]:
    """Return command, commit, machine and cost of each run on a card, oldest first; None for one without a record."""
    keys = ("command", "commit", "machine", "steps", "tokens", "seconds")
    runs = runs_of(card)
    return [of and {key: of[key] for key in keys} for of in runs] or [None] * bool(card)


def runs_of(card: str) -> list[Record | None]:
    """Return the record of each run on a card, oldest first; None for one without a record."""
    known = {(of["command"], of["commit"][:9]): of for of in records("training")}
    runs = re.findall(r"^- `(translate .*?)`, commit (\w+), ", card, re.MULTILINE)
    return [known.get((command, commit[:9])) for command, commit in runs]


def records(kind: str) -> list[Record]:
    """Return the records of one kind, each with the name of its file; training runs newest first."""
    paths = sorted(RECORDS.glob("*.json"))
    found = [{"file": path.stem} | record for path in paths if (record := read_json(path))["kind"] == kind]
    return sorted(found, key=_age, reverse=True) if kind == "training" else found


def _age(run: Record) -> tuple[str, list[int], str]:
    """Return the date of a run, and the numbers in its name: several rounds may have one date."""
    return run["date"], [int(number) for number in re.findall(r"round(\d+)", run["name"])], run["name"]


def rebuilt(page: str, content: str) -> str:
    """Return the page with this content between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{content}\n\n{END}{after}"


def results() -> str:
    """Return the chapters of RESULTS.md: a summary, then every record but those of grids."""
    runs = records("training")
    chapters = {
        "Summary": summary(),
        "History": HISTORY,
        "BLEU": score_table(runs, [row for record in records("published") for row in record["rows"]]),
        "chrF and TER": other_metrics(runs),
        "Training runs": run_table(runs),
        "Reranking by the model of the other direction": check_table(records("bench_confidence")),
        "Checks of `translate text`": guard_table(records("bench_guards")),
        "Glossary": terms_table(records("bench_terms")),
        "Practical sentences and phrases": practical_table(records("bench_practical")),
        "Blind comparison": blind_table(records("blind")),
        "Training speed": speed_table(records("bench_train")),
        "Initial values": initial_table(records("bench_initial")),
        "Probes": probe_table(records("probe")),
        "Decoding speed": decoding_table(records("bench_decode")),
        "Quality at every speed": CURVE + curves if (curves := curve_table(records("bench_curve"))) else "",
        "Start, single sentences and files": text_table(records("bench_text")),
        "Server": server_table(records("bench_serve")),
        "Large corpora": size_table(records("bench_prepare")),
    }
    return "\n\n".join(f"## {title}\n\n{content}" for title, content in chapters.items() if content)


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
    notes += [f"- Not run: `{name}`, {reason}." for name, reason in record["skipped"].items()]
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


HISTORY = """![BLEU of the models trained one after the other, by run and direction](docs/images/rounds.svg)

Each of these models began with the weights of one before it; the ninth of each direction was the last that shipped. The
models that ship now were trained from scratch, in three stages, by [one recipe](configs/shipped), whose settings
were completed between the stages. The loss on newstest2013 during these stages:

![Validation loss of the three stages of both directions, by tokens read](docs/images/learning.svg)

Drawn by `scripts/figures.py rounds` and `scripts/figures.py learning` from the records below."""


CURVE = """![BLEU over lines per second, for each engine and beam size](docs/images/curve.svg)

From text to text, on the first lines of each test set. "CTranslate2" is driven directly, with the same weights in int8
and the same beam. Drawn by `scripts/figures.py curve` from the record of the table below.

"""


def grids() -> str:
    """Return the chapters of docs/grids.md: the notes that all grids share, then one table for each."""
    found = records("grid")
    shared = [note for note in found[0]["notes"] if all(note in grid["notes"] for grid in found)] if found else []
    chapters = [f"## {grid['name']}\n\n{grid_table(grid, shared)}" for grid in found]
    return "\n\n".join(["\n".join(f"- {note}" for note in shared), *chapters])


def sizes() -> str:
    """Return the tables of docs/serve.md: load and memory of a server, with the record of each."""
    found = [part for record in records("sizing") for part in _sizes(record)]
    return "\n\n".join(found) or "These commands make the tables; they have not run yet."


def _sizes(record: Record) -> Iterator[str]:
    place = f"{record['processor']}, commit {record['commit'][:9]}, record {link(record, '../')}"
    yield f"{record['clients']} clients, {place}:"
    yield table(
        {
            "threads": str(row["threads"]),
            "alignments": "of every sentence" if row["alignment"] else "`--no-alignment`",
            "sentences/s": f"{row['per_second']:.0f}",
            "median": f"{row['p50_ms']} ms",
            "peak memory": f"{row['peak_mb']} MB",
        }
        for row in record["load"]
    )
    yield "Resident memory of one process with the default options:"
    yield table({"step": name, "MB": str(mb)} for name, mb in record["memory"].items())


def summary() -> str:
    """Return what a reader wants to know first: one row for each of the main results."""
    rows = [*_shipped_rows(), *_grid_rows(), *_speed_rows()]
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


def _speed_rows() -> Iterator[Row]:
    for of in records("bench_train"):
        if (
            "hf-malloc" in of["contenders"]
        ):  # with fused attention, slow for sentences on a CPU: its ratios are too high
            continue
        ours, *others = of["contenders"].items()
        ratios = ", ".join(f"{other['ours_is_times']:.2f} times `{name}`" for name, other in others)
        shown = f"{ours[1]['tokens_per_s']:,} tokens/s in {of['products']}: {ratios}; [what differs](#notes)"
        yield f"Training, {of['preset']}", shown, made_by(of, training_command(of)), machine_name(of), link(of)
    for of in records("bench_decode"):
        shown = ", ".join(f"`{name}` {each['sentences_per_s']:,.0f}" for name, each in of["contenders"].items())
        command = made_by(of, f"python scripts/bench_decode.py {of['model']} SOURCE REFERENCE --beam {of['beam']}")
        yield f"Decoding, beam {of['beam']}", f"sentences/s: {shown}", command, machine_name(of), link(of)
    for of in _newest("bench_text"):
        shown = f"{of['start']['later_s']:.2f} s from start to output, {of['sentence']['ours_ms']:.1f} ms a sentence"
        command = made_by(of, f"python scripts/bench_text.py {of['model']} FILE")
        yield "`translate text`", shown, command, machine_name(of), link(of)
    for of in _newest("bench_serve"):
        shown = f"{of['clients']['per_second']:.0f} sentences/s for {of['clients']['n']} clients"
        command = made_by(of, f"python scripts/bench_serve.py {of['model']}")
        yield "`translate serve`", shown, command, machine_name(of), link(of)
    for of in records("bench_prepare"):
        row = of["rows"][-1]
        minutes = row["pairs"] / row["pairs_per_s"] / 60
        shown = f"{row['pairs']:,} pairs in {minutes:,.0f} min and {row['peak_mb'] / 1e3:.1f} GB"
        command = made_by(of, "python scripts/bench_prepare.py")
        yield "`translate prepare`", shown, command, machine_name(of), link(of)


def training_command(of: Record) -> str:
    """Return the command of a benchmark of training, from its options."""
    options = " ".join(f"--{key} {of[key]}" for key in ("preset", "prepared", "rounds", "steps"))
    return f"python scripts/bench_train.py {options} --against {' '.join([*of['contenders']][1:])}"


def made_by(of: Record, without: str) -> str:
    """Return the command of a benchmark and its commit; records that have no command are given that of `without`."""
    return f"`{of.get('command', without)}` at {of['commit'][:9]}"


def _newest(kind: str) -> list[Record]:
    return [of for of in records(kind) if of["file"] in NEWEST]


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


def check_table(records: Iterable[Record]) -> str:
    """Return one row for each set that a shipped model translated, without and with reranking."""
    return table(
        {
            "model": linked(record["model"], record),
            "set": name,
            "lines": f"{found['alone']['lines']:,}",
            "BLEU alone": f"{found['alone']['bleu']:.1f}",
            "BLEU": f"{found['reranked']['bleu']:.1f}",
            "chrF alone": f"{found['alone']['chrf']:.1f}",
            "chrF": f"{found['reranked']['chrf']:.1f}",
            "suspicious": f"{found['reranked']['suspicious']['sentences']:,}",
            "of these below the median chrF": _share(found["reranked"]["suspicious"]),
        }
        for record in records
        for name, found in record["sets"].items()
    )


def guard_table(records: Iterable[Record]) -> str:
    """Return one row for each set that a model translated with the checks of `translate text` and without."""
    return table(
        {
            "model": linked(model_name(record), record),
            "set": name,
            "lines": f"{found['lines']:,}",
            "BLEU without": f"{found['no_checks']['bleu']:.2f}",
            "BLEU": f"{found['checks']['bleu']:.2f}",
            "chrF++ without": f"{found['no_checks']['chrf++']:.2f}",
            "chrF++": f"{found['checks']['chrf++']:.2f}",
            "different lines": str(found["different"]),
            "flags": ", ".join(f"{flag} {n}" for flag, n in found["flags"].items()),
        }
        for record in records
        for name, found in record["sets"].items()
    )


def terms_table(records: Iterable[Record]) -> str:
    """Return one row for each model: `translate text` with a glossary and without one."""
    return table(
        {
            "model": linked(f"{record['model']} of commit {record['commit'][:9]}", record),
            "set": record["set"],
            "terms": str(record["terms"]),
            "BLEU with and without them": f"{record['bleu']['terms']:.2f}, {record['bleu']['plain']:.2f}",
            "lines with terms": f"{record['with_terms']:,}",
            "of these with all terms": f"{record['lines_with_all_terms']['terms']:,}",
            "times the time": f"{record['time']['terms']['ratio']:.2f}",
            "note": record.get("note", ""),
        }
        for record in records
    )


def practical_table(records: Iterable[Record]) -> str:
    """Return one row for each model and list of sentences that no corpus has."""
    return table(
        {
            "model": linked(f"{record['model']} of commit {record['commit'][:9]}", record),
            "list": record["list"],
            "sentences": str(record["sentences"]),
            "chrF": f"{record['chrf']:.1f}",
            "lowest and highest topic": ", ".join(
                f"{topic} {record['topics'][topic]:.1f}"
                for topic in (choose(record["topics"], key=record["topics"].get) for choose in (min, max))
            ),
        }
        for record in records
    )


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


def initial_table(records: Iterable[Record]) -> str:
    """Return one row for each setting of the benchmark of initial values."""
    return table(
        {
            "setting": linked(name, record),
            "machine": record["processor"],
            "loss, mean of the last ten steps": f"{sum(run['loss'][-10:]) / 10:.2f}",
            "gradient of decoder layers 1 and 6": f"{run['gradient'][6]:.2f}, {run['gradient'][11]:.2f}",
            "command": f"`{record['command']}`",
        }
        for record in records
        for name, run in record["runs"].items()
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


def _share(suspicious: Record) -> str:
    return f"{suspicious['below_median']:.0%}" if suspicious["sentences"] else ""


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


def signatures(scores: Iterable[Record]) -> list[str]:
    """Return the sacreBLEU signatures of scores, each once."""
    found = (f"{name} `{of[key]['signature']}`" for of in scores for key, name in METRICS.items() if key in of)
    return list(dict.fromkeys(found))


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


def machine_name(machine: Record) -> str:
    """Return the processor with processes and threads, or the GPU, such as "Xeon, 2 x 1 thread"."""
    processes, device = machine.get("processes", 1), machine.get("device", "cpu")
    times = f"{processes} x " if processes > 1 else ""
    if device != "cpu":
        return f"{times}{device}"
    return f"{machine['processor']}, {times}{machine['threads']} thread{'s' * (machine['threads'] != 1)}"


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


def speed_table(records: Iterable[Record]) -> str:
    """Return one row for each contender of each training benchmark; a record's ratios are medians over its rounds."""
    return table(
        {
            "sizes": linked(record["preset"], record),
            "machine": machine_name(record) + (", processor time" if record.get("clock") == "processor" else ""),
            "products": contender.get("products", record["products"]),
            "contender": name,
            "tokens/s": f"{contender['tokens_per_s']:,}",
            "GFLOP/s": f"{contender['gflops']:,.0f}",
            "of the product rate": f"{share:.0%}" if (share := contender.get("share_of_product_rate")) else "",
            "peak memory": f"{contender['peak_mb'] / 1e3:.1f} GB",
            "ours is": f"{contender['ours_is_times']:.2f} times as fast" if name != "ours" else "",
            "optimizer": record.get("optimizer", UNKNOWN),
        }
        for record in records
        for name, contender in record["contenders"].items()
    )


def decoding_table(records: Iterable[Record]) -> str:
    """Return one row for each contender of each decoding benchmark; ratios are medians over rounds."""
    return table(
        {
            "model": linked(Path(record["model"]).name, record),
            "machine": machine_name(record),
            "beam": str(record["beam"]),
            "engine": name,
            "sentences/s": f"{contender['sentences_per_s']:,.0f}",
            "ours (fp32) / this": f"{contender['ours_is_times']:.2f}",
            "ours (bf16) / this": f"{contender['ours_bf16_is_times']:.2f}",
            "one sentence": f"{contender['single_ms']:.0f} ms",
            "from start": f"{contender['cold_s']:.1f} s" if "cold_s" in contender else "",
            "BLEU": f"{contender['bleu']:.1f}",
        }
        for record in records
        for name, contender in record["contenders"].items()
    )


def curve_table(records: Iterable[Record]) -> str:
    """Return one row for each point of each curve of quality over speed."""
    return table(
        {
            "test set": linked(name, record),
            "model": f"{model_name(record)}, {record['lines']:,} lines",
            "machine": machine_name(record),
            "contender": Path(of["contender"]).name,
            "beam": f"{of['beam']} (default)" if is_default(of, record) else str(of["beam"]),
            "BLEU": f"{of['bleu']:.2f}",
            "lines/s": f"{of['lines_per_s']:,.0f}",
            "times CTranslate2": f"{of['of_ctranslate2']:.2f}",
        }
        for record in records
        for name, points in record["sets"].items()
        for of in points
    )


def is_default(point: Record, record: Record) -> bool:
    """Return whether a point of a curve is what a user gets without options."""
    return bool(point["contender"] == "default" and point["beam"] == record["default_beam"])


def model_name(record: Record) -> str:
    """Return the model of a benchmark with its layers and the commit that had it; later commits may have another."""
    return f"{record['model']} of commit {record['commit'][:9]}, {record.get('layers', UNKNOWN)} layers"


def text_table(records: Iterable[Record]) -> str:
    """Return one row for each benchmark of `translate text`; rates are sentences/s, in the order of the column."""
    return table(
        {
            "model": linked(model_name(record), record),
            "machine": machine_name(record),
            "start to output": f"{record['start']['later_s']:.2f} s",
            "at the first use": f"{record['start']['first_s']:.2f} s",
            "one sentence": f"{record['sentence']['ours_ms']:.1f} ms",
            "CTranslate2 alone": f"{record['sentence']['ct2_ms']:.1f} ms",
            **{
                f"{name}: default, PyTorch, CTranslate2 alone": f"{of['ours']:.0f}, {of['torch']:.0f}, {of['ct2']:.0f}"
                for name, of in record["files"].items()
            },
        }
        for record in records
    )


def server_table(records: Iterable[Record]) -> str:
    """Return one row for each benchmark of the server."""
    return table(
        {
            "model": linked(model_name(record), record),
            "reranked": "yes" if record.get("reranked") else "no",
            "machine": machine_name(record),
            "clients": str(record["clients"]["n"]),
            "sentences/s": f"{record['clients']['per_second']:.0f}",
            "of `translate text`": f"{record['ratio_to_file']:.0%}",
            "p50, p95": f"{record['clients']['p50_ms']}, {record['clients']['p95_ms']} ms",
            "p95 beside a book": f"{record['clients_beside_book']['p95_ms']} ms",
            "errors": str(record["clients"]["errors"] + record["clients_beside_book"]["errors"]),
            "memory": f"{min(record['memory_mb']):.0f} to {max(record['memory_mb']):.0f} MB over "
            f"{record['memory_requests']:,} requests",
        }
        for record in records
    )


def size_table(records: Iterable[Record]) -> str:
    """Return one row for each size of each benchmark of preparation."""
    return table(
        {
            "pairs": linked(f"{row['pairs']:,}", record),
            "machine": machine_name(record),
            "prepared in": f"{row['pairs'] / row['pairs_per_s'] / 60:,.0f} min",
            "pairs/s": f"{row['pairs_per_s']:,}",
            "peak memory": f"{row['peak_mb'] / 1e3:.2f} GB",
            "on disk": f"{row['pairs'] * row['disk_bytes_per_pair'] / 1e9:.2f} GB",
            "start of training": f"{row['start_s']:.1f} s",
            "its memory": f"{row['start_peak_mb'] / 1e3:.2f} GB",
        }
        for record in records
        for row in record["rows"]
    )


def grid_table(grid: Record, shared: Sequence[str] = ()) -> str:
    """Return the table of a grid, its command and record, and its notes without those that the page has already."""
    notes = [f"{command_of(grid)}, record {link(grid, '../')}", *(n for n in grid["notes"] if n not in shared)]
    return "\n\n".join([rendered(grid["table"], "github"), "\n".join(f"- {note}" for note in notes)])


def table(rows: Iterable[Mapping[str, str]]) -> str:
    """Return a Markdown table; all rows have the columns of the first. Without rows it is empty."""
    rows = list(rows)
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def link(record: Record, up: str = "") -> str:
    """Return a Markdown link to a record, from a page that is `up` from the root of the repository."""
    name = record.get("file") or record["name"]
    return f"[{name}]({up}scripts/results/{name}.json)"


def linked(text: str, record: Record) -> str:
    """Return a text that links to a record, or the text alone if the record is not stored."""
    return f"[{text}](scripts/results/{record['file']}.json)" if "file" in record else text


def score_cells(scores: Record) -> dict[str, str]:
    """Return the scores of a test set with one decimal place; none if it was not scored."""
    return {name: f"{scores[key]['score']:.1f}" for key, name in METRICS.items() if key in scores}


if __name__ == "__main__":
    sys.exit(main())
