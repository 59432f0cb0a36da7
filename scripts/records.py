"""Records, `scripts/results/*.json`: those of scored runs are made here, those of benchmarks by `harness.py`.

Each has a `kind`. A parent that is null in the record of a run is a run whose cost is not known.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from translate.errors import UserError
from translate.files import read_json
from translate.training.checkpoints import step_of
from translate.training.run import Run

RECORDS = Path(__file__).resolve().parent / "results"
UNKNOWN = "unknown"
SAME_SETS = {"multi30k-2016": "test_2016_flickr"}  # other names in experiment files
METRICS = {"bleu": "BLEU", "chrf": "chrF", "chrf++": "chrF++", "ter": "TER"}

Record = dict[str, Any]


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
        "parents": [*parents_on(card_before(run)), *parents],
        "valid": {key: end[key] for key in ("nll", "perplexity", "bleu")},
        "averaged": end["averaged"],
        # Corpora keep their licences, so records hold no sentences; a path would be that of one machine.
        "scores": {
            SAME_SETS.get(name, name): {key: value for key, value in scores.items() if key not in ("sample", "model")}
            for name, scores in read_json(scores_of(run)).items()
        },
    }


def scores_of(run: Path) -> Path:
    """Return the scores of a run, or those of its model in int8."""
    own, small = run / "scores.json", run / "int8" / "scores.json"
    return small if small.exists() and not own.exists() else own


def history(run: Path, last_step: int | None = None) -> Record:
    """Return command, commit, seed, machine and cost of a run up to an update; None is the last one.

    The command is without the options that name places, as they do not change the model. The manifest of a run of
    another program than `translate` names it as `program`, and has in `notes` how it differs from `translate train`.
    """
    manifest, state = read_json(run / "manifest.json"), state_of(run, last_step)
    first = manifest["starts"][0]
    command = [manifest.get("program", "translate"), *first["command"][1:]]
    return {
        "command": re.sub(r" --(run|prepared)[ =]\S+", "", " ".join(command)),
        "commit": first["commit"],
        "uncommitted_changes": any(start["uncommitted_changes"] for start in manifest["starts"]),
        "seed": manifest["seed"],
        "machine": first["machine"],
        "starts": len(manifest["starts"]),
        "steps": state["step"],
        "epochs": state["epoch"],
        "tokens": state["tokens"],
        "seconds": state["seconds"],
        **({"notes": manifest["notes"]} if "notes" in manifest else {}),
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


def parents_on(card: str) -> list[Record | None]:
    """Return command, commit, machine and cost of each run on a card, oldest first; None for one without a record."""
    keys = ("command", "commit", "machine", "steps", "tokens", "seconds")
    runs = runs_of(card)
    return [of and {key: of[key] for key in keys} for of in runs] or [None] * bool(card)


def runs_of(card: str) -> list[Record | None]:
    """Return the record of each run on a card, oldest first; None for one without a record."""
    known = {(of["command"], of["commit"][:9]): of for of in records("training")}
    runs = re.findall(r"^- `(.*?)`, commit (\w+), ", card, re.MULTILINE)
    return [known.get((command, commit[:9])) for command, commit in runs]


def records(kind: str) -> list[Record]:
    """Return the records of one kind, each with the name of its file; training runs newest first."""
    paths = sorted(RECORDS.glob("*.json"))
    found = [{"file": path.stem} | record for path in paths if (record := read_json(path))["kind"] == kind]
    return sorted(found, key=_age, reverse=True) if kind == "training" else found


def _age(run: Record) -> tuple[str, list[int], str]:
    """Return the date of a run, and the numbers in its name: several rounds may have one date."""
    return run["date"], [int(number) for number in re.findall(r"round(\d+)", run["name"])], run["name"]


# How a page shows a record


def machine_name(machine: Record) -> str:
    """Return the processor with processes and threads, or the GPU, such as "Xeon, 2 x 1 thread"."""
    processes, device = machine.get("processes", 1), machine.get("device", "cpu")
    times = f"{processes} x " if processes > 1 else ""
    if device != "cpu":
        return f"{times}{device}"
    return f"{machine['processor']}, {times}{machine['threads']} thread{'s' * (machine['threads'] != 1)}"


def model_name(record: Record) -> str:
    """Return the model of a benchmark with its layers and the commit that had it; later commits may have another."""
    return f"{record['model']} of commit {record['commit'][:9]}, {record.get('layers', UNKNOWN)} layers"


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


def signatures(scores: Iterable[Record]) -> list[str]:
    """Return the sacreBLEU signatures of scores, each once."""
    found = (f"{name} `{of[key]['signature']}`" for of in scores for key, name in METRICS.items() if key in of)
    return list(dict.fromkeys(found))
