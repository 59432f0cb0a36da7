"""Preparing a corpus and translating rows on a Ray cluster, beside the same commands without Ray.

    python scripts/bench.py cluster data/mono.de.gz --out FILE    # 1 million pairs, 3,000 rows

The pairs are those of `bench.py prepare`. A worker has one core; all nodes are processes of this machine, so more
workers than it has cores gain nothing. The processor time is that of the command, without that of the workers. Each
size is a new cluster, whose start is not measured. The manifest of every corpus, which has the digests of its files,
and the rows must be those that the command makes without Ray.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

from harness import Case, seconds_of
from records import Record, linked, machine_name
from tqdm import tqdm

from cases.prepare import CONFIG, processor_seconds, write_sentences
from translate.files import read_lines, write_text

WITHOUT = (0, 0)
CLUSTERS = [WITHOUT, (1, 1), (1, 2), (1, 4), (2, 1)]  # nodes, workers of each


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", type=Path, help="text to translate, one sentence per line")
    parser.add_argument("--model", default="de-en", help="name of a model, or a folder (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=1_000_000, metavar="N", help="default: %(default)s")
    parser.add_argument("--rows", type=int, default=3_000, metavar="N", help="default: %(default)s")


def run(args: argparse.Namespace) -> Record:
    """Measure every cluster, after the commands without Ray."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed, side in enumerate(("de", "en")):
            write_sentences(folder / f"train.{side}.gz", args.pairs, seed)
        lines = list(islice(read_lines(args.file), args.rows))
        write_text(folder / "rows.txt", "".join(f"{line}\n" for line in lines))
        measured = [measure(args, folder, nodes, workers) for nodes, workers in tqdm(CLUSTERS, unit=" clusters")]
    return {"pairs": args.pairs, "rows": len(lines), "model": args.model, "clusters": measured}


def measure(args: argparse.Namespace, folder: Path, nodes: int, workers: int) -> Record:
    """Return the seconds of both commands on one cluster, and digests of their outputs."""
    out = folder / f"{nodes}-{workers}"
    translated = out / "rows.txt"  # with Ray a folder, with a file for each that was read
    out.mkdir()
    prepare = ["prepare", str(CONFIG), "--out", str(out / "prepared")]
    text = ["text", "--model", args.model, "--input", "rows.txt", "--output", str(translated)]
    seconds = {}
    with cluster(nodes, workers) as chosen:
        for name, arguments in (("prepare", prepare), ("text", text)):
            before = processor_seconds()
            seconds[f"{name}_s"] = seconds_of(partial(translate, [*arguments, *chosen], folder))
            seconds[f"{name}_processor_s"] = processor_seconds() - before
    return {
        "nodes": nodes,
        "workers": workers,
        **{name: round(value, 1) for name, value in seconds.items()},
        "manifest": digest(out / "prepared" / "manifest.json"),
        "translation": digest(translated / "rows.txt" if translated.is_dir() else translated),
    }


@contextmanager
def cluster(nodes: int, workers: int) -> Iterator[list[str]]:
    """Start nodes with this number of workers each, and yield the options that name the cluster; none for no nodes."""
    with ExitStack() as held:
        if not nodes:
            yield []
            return
        from ray.cluster_utils import Cluster

        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        held.callback(made.shutdown)
        for _ in range(nodes):
            made.add_node(num_cpus=workers)
        made.wait_for_nodes()
        yield ["--ray", made.address]


def translate(arguments: Sequence[str], folder: Path) -> None:
    """Run a command; SystemExit with its messages if it fails."""
    done = subprocess.run([sys.executable, "-m", "translate", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with exit code {done.returncode}: {done.stderr}")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield one row for each cluster."""
    alone = record["clusters"][0]
    for row in record["clusters"]:
        nodes, workers = row["nodes"], row["workers"]
        yield {
            "cluster": linked(f"{nodes} x {workers} workers" if nodes else "without Ray", record),
            "machine": machine_name(record),
            "pairs/s": f"{record['pairs'] / row['prepare_s']:,.0f}",
            "processor time of the command": f"{row['prepare_processor_s']:.0f} s",
            "the same corpus": "yes" if row["manifest"] == alone["manifest"] else "NO",
            "rows/s": f"{record['rows'] / row['text_s']:,.1f}",
            "the same rows": "yes" if row["translation"] == alone["translation"] else "NO",
        }


CASE = Case("Clusters", options, run, rows)
