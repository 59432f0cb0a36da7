"""How long `translate "..."` takes: start, first use, a sentence at a time, and files.

    python scripts/bench.py text de-en data/tatoeba/test.de.gz data/test/newstest2014.de.gz

    start     from the start of a process to the end of its output: a model that was converted before, and a first use
    sentence  one sentence at a time with a loaded model, beside CTranslate2 alone on the token ids of the same model
    file      sentences/s of both engines and of CTranslate2 alone on the first --lines lines of each file

Contenders take turns, so that slow moments of the machine affect them all; times are medians, ratios are of medians.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from harness import Case, model_facts, name_of, seconds_of
from records import Record, linked, machine_name, model_name

from translate.files import read_lines
from translate.inference.translator import Translator

SENTENCE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
BATCH = 64  # sentences of similar length in a batch of CTranslate2 alone


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="name of an installed model, or a folder")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="one sentence per line")
    parser.add_argument("--lines", type=int, default=1000, help="of each file (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")


def run(args: argparse.Namespace) -> Record:
    """Measure starts, sentences and files."""
    texts = {name_of(path): list(islice(read_lines(path), args.lines)) for path in args.files}
    return {
        **model_facts(args.model),
        "start": starts(args.model, args.rounds),
        "sentence": sentences(args.model, next(iter(texts.values()))[:100], args.rounds),
        "files": {name: file_speed(args.model, lines, args.rounds) for name, lines in texts.items()},
    }


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
    alone = Alone(translator)
    seconds: dict[str, list[float]] = {"ours_ms": [], "ct2_ms": []}
    for _ in range(rounds):
        total = dict.fromkeys(seconds, 0.0)
        for line, tokens in zip(lines, alone.tokens(lines), strict=True):
            total["ours_ms"] += seconds_of(partial(list, translator.translate_lines([line])))
            total["ct2_ms"] += seconds_of(partial(alone.translate, [tokens]))
        for name, value in total.items():
            seconds[name].append(1000 * value / len(lines))
    found = medians(seconds)
    return {**found, "ours_is_times": round(found["ours_ms"] / found["ct2_ms"], 3)}


def file_speed(model: str, lines: Sequence[str], rounds: int) -> dict[str, float]:
    """Return sentences per second: the default engine, PyTorch, and CTranslate2 alone."""
    translator = Translator.load(model)
    torch, alone = Translator.load(model, engine="torch"), Alone(translator)
    tokens = alone.tokens(lines)
    contenders: dict[str, Callable[[], object]] = {
        "ours": lambda: list(translator.translate_lines(lines)),
        "torch": lambda: list(torch.translate_lines(lines)),
        "ct2": lambda: alone.translate(tokens),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            seconds[name].append(seconds_of(run))
    return {name: round(len(lines) / statistics.median(times), 1) for name, times in seconds.items()}


class Alone:
    """CTranslate2 with the weights and the beam of a translator, from token ids to token ids."""

    def __init__(self, translator: Translator) -> None:
        engine: Any = translator.engine
        self._tokenizer, self._translator, self._beam = engine.tokenizer, engine.translator, translator.decoding

    def tokens(self, lines: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each line."""
        return [self._tokenizer.pieces(self._tokenizer.encode(line)) for line in lines]

    def translate(self, tokens: Sequence[Sequence[str]]) -> object:
        """Search as the engine does."""
        return self._translator.translate_batch(
            tokens, max_batch_size=BATCH, beam_size=self._beam.beam_size, length_penalty=self._beam.alpha
        )


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each list."""
    return {name: round(statistics.median(times), 3) for name, times in seconds.items()}


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield the row of a record; rates are sentences/s, in the order of the column."""
    yield {
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


def summary(record: Record) -> tuple[str, str]:
    """Return the time from start to output and that of a sentence."""
    start, sentence = record["start"]["later_s"], record["sentence"]["ours_ms"]
    return "`translate text`", f"{start:.2f} s from start to output, {sentence:.1f} ms a sentence"


CASE = Case("Start, single sentences and files", options, run, rows, summary=summary)
