"""Preparing a large corpus, and starting to train on it.

    python scripts/bench.py prepare --out FILE            # 1, 5 and 20 million pairs; 8 GB of disk
    python scripts/bench.py prepare --pairs 20000 100000

The record in FILE grows by one size at a time; started again at the same commit, sizes that it has are not measured
again.

Sentences are artificial: pseudo-words of one to four syllables in Zipf's proportions, 200,000 for each language, with
lengths like those of news (median 14 words). `translate prepare` prepares each size in its own process, and another
process opens it as training does. Memory is that of the process and its workers together: the largest sum of their
resident sets, in which the libraries that they share count once for each.
"""

import argparse
import gzip
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from harness import Answer, Case, Work, machine, memory_mb, peak_mb, seconds_of, tree, turns
from records import Record, linked, machine_name
from tqdm import tqdm

from translate.corpus.batches import Position, Sampler, collate
from translate.corpus.prepare import Prepared
from translate.files import read_json, write_json

WORDS = 200_000
CONFIG = Path(__file__).resolve().parents[1] / "data" / "bench-prepare.toml"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    sizes = [1_000_000, 5_000_000, 20_000_000]
    parser.add_argument("--pairs", type=int, nargs="+", default=sizes, metavar="N", help="default: %(default)s")


def run(args: argparse.Namespace) -> Record:
    """Measure every size that the record of this commit does not have."""
    here = machine()
    before = read_json(args.out) if args.out and args.out.exists() else {}
    known = before["rows"] if before.get("commit") == here["commit"] else []
    rows = {row["pairs"]: row for row in known if row["pairs"] in args.pairs}
    for n in tqdm(sorted({*args.pairs} - {*rows}), unit=" sizes"):
        rows[n] = measure(n)
        if args.out:
            write_json(args.out, {"kind": "bench_prepare", **here, "rows": sorted_rows(rows)})
    return {"rows": sorted_rows(rows)}


def sorted_rows(rows: Mapping[int, Record]) -> list[Record]:
    """Return the rows in the order of their numbers of pairs."""
    return [rows[n] for n in sorted(rows)]


def measure(n_pairs: int) -> Record:
    """Prepare `n_pairs` and start to train on them; return the row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed, side in enumerate(("de", "en")):
            write_sentences(folder / f"train.{side}.gz", n_pairs, seed)
        begin, before = time.monotonic(), processor_seconds()
        peak = peak_mb_of([sys.executable, "-m", "translate", "prepare", str(CONFIG), "--out", "prepared"], folder)
        seconds, processor = time.monotonic() - begin, processor_seconds() - before
        prepared = folder / "prepared"
        with turns([str(prepared)], 1) as ask_each:
            start = ask_each("start of training")[str(prepared)]
        return {
            "pairs": n_pairs,
            "pairs_per_s": round(n_pairs / seconds),
            "pairs_per_processor_s": round(n_pairs / processor),
            "peak_mb": peak,
            "disk_bytes_per_pair": round(sum(path.stat().st_size for path in prepared.iterdir()) / n_pairs),
            **start,
        }


def write_sentences(path: Path, n: int, seed: int) -> None:
    """Write `n` artificial sentences, one a line.

    Args:
        path: the new file, compressed by gzip.
        n: number of sentences.
        seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    words = pseudo_words(rng)
    with gzip.open(path, "wb", compresslevel=1) as file:
        for start in range(0, n, 50_000):
            lengths = np.clip(rng.lognormal(2.6, 0.5, min(50_000, n - start)), 1, 80).astype(int)
            ranks = np.minimum(20 * rng.pareto(0.9, lengths.sum()), WORDS - 1).astype(int)
            ends = np.cumsum(lengths)
            sentences = (words[ranks[end - length : end]] for length, end in zip(lengths, ends, strict=True))
            file.write("".join(" ".join(sentence) + ".\n" for sentence in sentences).encode())


def pseudo_words(rng: np.random.Generator) -> np.ndarray:
    """Return different words of one to four syllables, (WORDS,)."""
    consonants = ["b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "w", "sch", "st"]
    vowels = ["a", "e", "i", "o", "u", "ei", "au"]
    syllables = np.array([c + v + e for c in consonants for v in vowels for e in ("", "n", "r", "t")], dtype=object)
    drawn = rng.choice(syllables, (2 * WORDS, 4))
    n_syllables = rng.choice([1, 2, 2, 3, 3, 4], 2 * WORDS)
    words = dict.fromkeys("".join(row[:k]) for row, k in zip(drawn, n_syllables, strict=True))
    return rng.permutation(np.array(list(words)[:WORDS], dtype=object))


def processor_seconds() -> float:
    """Return the processor time of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_mb_of(command: Sequence[str], folder: Path) -> float:
    """Run a command and return the largest resident set of its processes together, in MB; SystemExit if it fails."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = before = 0
    while process.poll() is None:
        now = sum(map(memory_mb, tree(process.pid)))
        # One measurement alone may count a process twice: a new one has the memory of its parent for some milliseconds.
        peak = max(peak, peak_mb(process.pid), min(before, now))
        before = now
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return peak


def work(args: argparse.Namespace) -> Work:
    """Measure the start of training on the prepared folder `args.work`."""

    def start() -> None:
        pairs = Prepared.open(Path(args.work)).train
        index, _ = next(Sampler(pairs, batch_tokens=4096, max_tokens=256, seed=1).stream(Position()))
        collate(pairs, index, pad=0, bos=1, eos=2)

    def answer(task: str) -> Answer:
        return {"start_s": round(seconds_of(start), 2), "start_peak_mb": peak_mb()}  # torch included

    return answer


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield one row for each size."""
    for row in record["rows"]:
        yield {
            "pairs": linked(f"{row['pairs']:,}", record),
            "machine": machine_name(record),
            "prepared in": f"{row['pairs'] / row['pairs_per_s'] / 60:,.0f} min",
            "pairs/s": f"{row['pairs_per_s']:,}",
            "pairs a processor second": f"{rate:,}" if (rate := row.get("pairs_per_processor_s")) else "",
            "peak memory": f"{row['peak_mb'] / 1e3:.2f} GB",
            "on disk": f"{row['pairs'] * row['disk_bytes_per_pair'] / 1e9:.2f} GB",
            "start of training": f"{row['start_s']:.1f} s",
            "its memory": f"{row['start_peak_mb'] / 1e3:.2f} GB",
        }


def summary(record: Record) -> tuple[str, str]:
    """Return time and memory of the largest size."""
    row = record["rows"][-1]
    minutes = row["pairs"] / row["pairs_per_s"] / 60
    return "`translate prepare`", f"{row['pairs']:,} pairs in {minutes:,.0f} min and {row['peak_mb'] / 1e3:.1f} GB"


CASE = Case("Large corpora", options, run, rows, work, summary)
