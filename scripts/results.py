#!/usr/bin/env python3
"""RESULTS.md from records, and records from runs: no published number is typed by hand.

    python scripts/results.py add runs/multi30k-de-en     # scored run -> scripts/results/multi30k-de-en.json
    python scripts/results.py                             # scripts/results/*.json -> the tables of RESULTS.md

A run must have been scored by `translate evaluate` first.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "scripts" / "results"
PAGE = ROOT / "RESULTS.md"
BEGIN, END = "<!-- made by scripts/results.py from scripts/results/ -->", "<!-- end -->"


def main(argv: Sequence[str] | None = None) -> int:
    """Add records of the named runs, if any; then rebuild the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command")
    add = commands.add_parser("add", help="make a record of a scored run")
    add.add_argument("run", type=Path, nargs="+")
    args = parser.parse_args(argv)
    RECORDS.mkdir(exist_ok=True)
    for run in args.run if args.command == "add" else ():
        path = RECORDS / f"{run.name}.json"
        path.write_text(json.dumps(record_of(run), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    PAGE.write_text(rebuilt(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def record_of(run: Path) -> dict[str, Any]:
    """What a run was, on what, for how long, and how well it scores."""
    manifest = _json(run / "manifest.json")
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").split("\n") if line]
    final = next(record for record in reversed(metrics) if record["kind"] == "final")
    last = next(record for record in reversed(metrics) if record["kind"] == "train")
    first = manifest["starts"][0]
    return {
        "kind": "training",
        "name": run.name,
        "command": " ".join(["translate", *first["command"][1:]]),
        "commit": first["commit"],
        "uncommitted_changes": first["uncommitted_changes"],
        "date": first["time"][:10],
        "starts": len(manifest["starts"]),
        "machine": first["machine"],
        "dtype": manifest["dtype"],
        "versions": first["versions"],
        "seed": manifest["seed"],
        "parameters": manifest["parameters"],
        "inputs": manifest["data"]["inputs"],
        "steps": final["step"],
        "epochs": final["epoch"],
        "tokens": last["tokens"],
        "seconds": final["seconds"],
        "valid": {key: final[key] for key in ("nll", "perplexity", "bleu")},
        "averaged": final["averaged"],
        "scores": {name: _without_text(scores) for name, scores in _json(run / "scores.json").items()},
    }


def _without_text(scores: dict[str, Any]) -> dict[str, Any]:
    """Corpora keep their licences, so no sentence of theirs stands in a record."""
    return {key: value for key, value in scores.items() if key != "sample"}


def rebuilt(page: str) -> str:
    """The page with its tables made anew from all records."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    records = [_json(path) for path in sorted(RECORDS.glob("*.json"))]
    runs = table([record for record in records if record["kind"] == "training"])
    speeds = speed_table([record for record in records if record["kind"] == "bench_train"])
    decoding = decoding_table([record for record in records if record["kind"] == "bench_decode"])
    sizes = size_table([record for record in records if record["kind"] == "bench_prepare"])
    parts = (BEGIN, runs, "## Training speed", speeds, "## Decoding speed", decoding, "## Large corpora", sizes)
    return before + "\n\n".join(part.strip() for part in parts) + f"\n\n{END}{after}"


def table(records: Sequence[dict[str, Any]]) -> str:
    """One row for each run and test set."""
    lines = [
        "| run | parameters | trained on | updates | training time | test set | lines | BLEU | chrF | TER | commit |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        for name, scores in record["scores"].items():
            machine = record["machine"]
            cells = [
                f"[{record['name']}](scripts/results/{record['name']}.json)",
                f"{record['parameters'] / 1e6:.2f} M",
                f"{machine['processor']}, {_counted(machine['threads'])}"
                if machine["device"] == "cpu"
                else machine["device"],
                f"{record['steps']:,}",
                f"{record['seconds'] / 60:.0f} min",
                name,
                f"{scores['lines']:,}",
                *(f"{scores[metric]['score']:.1f}" for metric in ("bleu", "chrf", "ter")),
                str(record["commit"])[:9],
            ]
            lines.append(f"| {' | '.join(cells)} |")
    signatures = dict.fromkeys(
        f"{metric}: `{scores[metric]['signature']}`  "
        for record in records
        for scores in record["scores"].values()
        for metric in ("bleu", "chrf", "ter")
    )
    lines += ["", *signatures] if signatures else []
    return "\n".join(lines) + "\n"


def speed_table(records: Sequence[dict[str, Any]]) -> str:
    """One row for each contender of each benchmark of training; a record's ratios are medians over its rounds."""
    lines = [
        "| sizes | machine | products | contender | tokens/s | GFLOP/s | of the product rate | peak memory | ours is |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        for name, contender in record["contenders"].items():
            cells = [
                record["preset"],
                f"{record['processor']}, {_counted(record['threads'])}",
                record["products"],
                name,
                f"{contender['tokens_per_s']:,}",
                f"{contender['gflops']:,.0f}",
                f"{contender['share_of_product_rate']:.0%}",
                f"{contender['peak_mb'] / 1e3:.1f} GB",
                f"{contender['ours_is_times']:.2f} times as fast" if name != "ours" else "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def decoding_table(records: Sequence[dict[str, Any]]) -> str:
    """One row for each contender of each benchmark of decoding; ratios are medians over rounds."""
    lines = [
        "| model | machine | beam | engine | sentences/s | ours is | in bf16 | one sentence | from start | BLEU |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        for name, contender in record["contenders"].items():
            cells = [
                Path(record["model"]).name,
                f"{record['processor']}, {_counted(record['threads'])}",
                str(record["beam"]),
                name,
                f"{contender['sentences_per_s']:,.0f}",
                f"{contender['ours_is_times']:.2f} times as fast",
                f"{contender['ours_bf16_is_times']:.2f} times",
                f"{contender['single_ms']:.0f} ms",
                f"{contender['cold_s']:.1f} s" if "cold_s" in contender else "",
                f"{contender['bleu']:.1f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def size_table(records: Sequence[dict[str, Any]]) -> str:
    """One row for each size of each benchmark of preparation."""
    lines = [
        "| pairs | machine | prepared in | pairs/s | peak memory | on disk | start of training | its memory |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        for row in record["rows"]:
            cells = [
                f"{row['pairs']:,}{' (extrapolated)' if row.get('extrapolated') else ''}",
                f"{record['processor']}, {_counted(record['threads'])}",
                f"{row['pairs'] / row['pairs_per_s'] / 60:,.0f} min",
                f"{row['pairs_per_s']:,}",
                f"{row['peak_mb'] / 1e3:.2f} GB" if row["peak_mb"] else "",
                f"{row['pairs'] * row['disk_bytes_per_pair'] / 1e9:.2f} GB",
                f"{row['start_s']:.1f} s",
                f"{row['start_peak_mb'] / 1e3:.2f} GB",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _counted(n_threads: int) -> str:
    return f"{n_threads} thread" + "s" * (n_threads != 1)


def _json(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


if __name__ == "__main__":
    sys.exit(main())
