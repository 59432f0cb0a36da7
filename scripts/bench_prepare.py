#!/usr/bin/env python3
"""Measure preparing a large corpus and starting to train on it: a table, then one JSON record as the last line.

    python scripts/bench_prepare.py                       # 1 and 5 million pairs; 10 minutes and 5 GB of disk
    python scripts/bench_prepare.py --pairs 20000 100000

Sentences are artificial: pseudo-words of one to four syllables in Zipf's proportions, 200,000 for each language, with
lengths like those of news (median 14 words). `translate prepare` prepares each size in its own process, and another
process opens it as training does. Memory is the largest resident set of the process.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from contenders import machine, peak_mb
from results import size_table
from tqdm import tqdm

from translate.corpus.batches import Position, Sampler, collate
from translate.corpus.prepare import Prepared

WORDS = 200_000
CONFIG = Path(__file__).resolve().parent / "data" / "bench-prepare.toml"
Row = dict[str, float]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every size and print; with --open, be the process that starts training."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = [1_000_000, 5_000_000]
    parser.add_argument("--pairs", type=int, nargs="+", default=sizes, metavar="N", help="default: %(default)s")
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.open:
        print(json.dumps(opened(args.open)))
        return 0
    rows = [measure(n) for n in tqdm(sorted(args.pairs), unit=" sizes")]
    record = {"kind": "bench_prepare", **machine(), "rows": rows}
    print(size_table([record]))
    print(json.dumps(record))
    return 0


def measure(n_pairs: int) -> Row:
    """Prepare `n_pairs` and start to train on them; return the row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed, side in enumerate(("de", "en")):
            write_sentences(folder / f"train.{side}.gz", n_pairs, seed)
        begin = time.monotonic()
        peak = peak_mb_of([sys.executable, "-m", "translate", "prepare", str(CONFIG), "--out", "prepared"], folder)
        seconds = time.monotonic() - begin
        start = subprocess.check_output([sys.executable, __file__, "--open", folder / "prepared"])
        size = sum(path.stat().st_size for path in (folder / "prepared").iterdir())
        return {
            "pairs": n_pairs,
            "pairs_per_s": round(n_pairs / seconds),
            "peak_mb": peak,
            "disk_bytes_per_pair": round(size / n_pairs),
            **json.loads(start),
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


def peak_mb_of(command: Sequence[str], folder: Path) -> float:
    """Run a command and return its largest resident set in MB; SystemExit if it fails."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_mb(process.pid))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return peak


def opened(folder: Path) -> Row:
    """Return the seconds from a prepared folder to the first batch, and the memory, torch included."""
    begin = time.monotonic()
    pairs = Prepared.open(folder).train
    index, _ = next(Sampler(pairs, batch_tokens=4096, max_tokens=256, seed=1).stream(Position()))
    collate(pairs, index, pad=0, bos=1, eos=2)
    seconds = time.monotonic() - begin
    return {"start_s": round(seconds, 2), "start_peak_mb": peak_mb()}


if __name__ == "__main__":
    sys.exit(main())
