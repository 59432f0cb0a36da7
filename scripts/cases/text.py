"""How long `translate "..."` takes: start, first use, and a sentence at a time; files are measured by `curve`.

    python scripts/bench.py text de-en data/tatoeba/test.de.gz

    start     from the start of a process to the end of its output: a model that was converted before, and a first use
    sentence  one sentence at a time with a loaded model, beside CTranslate2 alone on the token ids of the same model

Contenders take turns, so that slow moments of the machine affect them all; times are medians, ratios are of medians.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from harness import Case, model_facts, seconds_of
from records import Record, linked, machine_name, model_name

from translate.files import read_lines
from translate.inference.translator import Translator

SENTENCE = "Kannst du mir helfen, diesen Satz zu übersetzen?"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="name of an installed model, or a folder")
    parser.add_argument("file", type=Path, help="one sentence per line")
    parser.add_argument("--lines", type=int, default=100, help="of the file (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")


def run(args: argparse.Namespace) -> Record:
    """Measure starts and sentences."""
    lines = list(islice(read_lines(args.file), args.lines))
    sentence = sentences(args.model, lines, args.rounds)
    return {**model_facts(args.model), "start": starts(args.model, args.rounds), "sentence": sentence}


def starts(model: str, rounds: int) -> dict[str, float]:
    """Return the seconds of a process that translates one sentence: the first one ever, and later ones."""
    seconds: dict[str, list[float]] = {"first_s": [], "later_s": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for times in seconds.values():
                command = [sys.executable, "-m", "translate", "--model", model, SENTENCE]
                environment = {**os.environ, "XDG_CACHE_HOME": cache}
                start = partial(subprocess.run, command, env=environment, check=True, stdout=subprocess.DEVNULL)
                times.append(seconds_of(start))
    return medians(seconds)


def sentences(model: str, lines: Sequence[str], rounds: int) -> dict[str, float]:
    """Return the milliseconds of a sentence; both contenders translate each line before the next."""
    translator = Translator.load(model)
    engine: Any = translator.engine
    settings = {
        "beam_size": translator.sentence_search.config.beam_size,
        "length_penalty": translator.sentence_search.config.alpha,
    }
    tokens = [engine.tokenizer.tokens(engine.tokenizer.encode(line)) for line in lines]
    seconds: dict[str, list[float]] = {"ours_ms": [], "ct2_ms": []}
    for _ in range(rounds):
        total = dict.fromkeys(seconds, 0.0)
        for line, of_line in zip(lines, tokens, strict=True):
            total["ours_ms"] += seconds_of(partial(list, translator.translate_lines([line])))
            total["ct2_ms"] += seconds_of(partial(engine.translator.translate_batch, [of_line], **settings))
        for name, value in total.items():
            seconds[name].append(1000 * value / len(lines))
    found = medians(seconds)
    return {**found, "ours_is_times": round(found["ours_ms"] / found["ct2_ms"], 3)}


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each list."""
    return {name: round(statistics.median(times), 3) for name, times in seconds.items()}


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield the row of a record."""
    yield {
        "model": linked(model_name(record), record),
        "machine": machine_name(record),
        "start to output": f"{record['start']['later_s']:.2f} s",
        "at the first use": f"{record['start']['first_s']:.2f} s",
        "one sentence": f"{record['sentence']['ours_ms']:.1f} ms",
        "CTranslate2 alone": f"{record['sentence']['ct2_ms']:.1f} ms",
    }


def summary(record: Record) -> tuple[str, str]:
    """Return the time from start to output and that of a sentence."""
    start, sentence = record["start"]["later_s"], record["sentence"]["ours_ms"]
    return "`translate text`", f"{start:.2f} s from start to output, {sentence:.1f} ms a sentence"


CASE = Case("Start and single sentences", options, run, rows, summary=summary)
