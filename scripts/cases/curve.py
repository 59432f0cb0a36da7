"""BLEU over lines/s at several beam sizes, from text to text, on the first lines of any number of test sets.

    python scripts/bench.py curve de-en data/tatoeba/test data/test/newstest2014 --out scripts/results/bench-curve.json
    python scripts/figures.py curve

Contenders translate the same lines with the same weights, in turns.

    default             this toolkit as `translate text` runs it: by default CTranslate2, in int8 for a model that is
                        stored so
    pytorch             the same with --engine torch
    ctranslate2         CTranslate2 in int8, driven directly with the same weights and SentencePiece, sorted by length
                        by CTranslate2, --batch sentences at a time
    NAME                each folder of --folder, as `translate text` runs it; `translate import` makes one of OPUS-MT's
                        or another Marian model
"""

import argparse
import functools
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import (
    Answer,
    Case,
    Work,
    add_sets,
    median_and_range,
    median_ratio,
    model_facts,
    name_of,
    read_set,
    seconds_of,
    turns,
)
from peers import searched
from records import Record, linked, machine_name, model_name

from translate.errors import say
from translate.evaluation.scores import corpus_bleu
from translate.inference.translator import Translator
from translate.machine import tune_malloc
from translate.models.folder import TranslationSpec
from translate.models.registry import locate
from translate.text.translation import EngineName, Opening, Search

N_WARM = 32  # lines that are translated before a measurement
ENGINES: dict[str, EngineName] = {"pytorch": "torch", "ctranslate2": "ctranslate2"}
INTRODUCTION = """![BLEU over lines per second, for each engine and beam size](docs/images/curve.svg)

From text to text, on the first lines of each test set. "CTranslate2" is driven directly, with the same weights in int8
and the same beam. Drawn by `scripts/figures.py curve` from the record of the table below."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_sets(parser)
    parser.set_defaults(lines=1000)
    parser.add_argument("--folder", action="append", default=[], help="one more model; may be repeated")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 2, 4], help="default: 1 2 4")
    parser.add_argument("--batch", type=int, default=64, help="sentences at a time of CTranslate2 (default: 64)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")


def run(args: argparse.Namespace) -> Record:
    """Measure each contender at each beam size on each set."""
    names = ["default", "pytorch", "ctranslate2", *args.folder]
    tasks = [(i, beam) for i in range(len(args.sets)) for beam in args.beams]
    answers: dict[tuple[int, int], list[dict[str, Answer]]] = {task: [] for task in tasks}
    with turns(names, args.rounds * len(tasks)) as ask_each:
        for _ in range(args.rounds):
            for (i, beam), rounds in answers.items():
                rounds.append(ask_each(f"{i} {beam}"))
    return {
        **model_facts(args.model),
        **{key: getattr(args, key) for key in ("lines", "rounds", "batch")},
        "default_beam": TranslationSpec.load(locate(Path(args.model), say)).decoding.beam_size,
        "sets": {
            name_of(path): [point(who, beam, answers[i, beam]) for who in names for beam in args.beams]
            for i, path in enumerate(args.sets)
        },
    }


def point(name: str, beam: int, rounds: Sequence[dict[str, Answer]]) -> Record:
    """Return one point of the curve: medians of a contender's rounds, and the ratio to CTranslate2 of each round."""
    rates = [answers[name]["rate"] for answers in rounds]
    return {
        "contender": name,
        "beam": beam,
        "bleu": rounds[0][name]["bleu"],
        **median_and_range("lines_per_s", rates),
        "cpu_ms": round(statistics.median(answers[name]["cpu_ms"] for answers in rounds), 2),
        "of_ctranslate2": median_ratio(rates, [answers["ctranslate2"]["rate"] for answers in rounds]),
    }


def work(args: argparse.Namespace) -> Work:
    """Load one contender; it answers the number of a test set and a beam size with BLEU, rate and time."""
    tune_malloc()
    is_ctranslate2 = args.work == "ctranslate2"
    model = args.work if args.work in args.folder else args.model
    engine_name = ENGINES.get(args.work, "auto")
    first = Translator.load(model, opening=Opening(engine=engine_name, precision="int8" if is_ctranslate2 else None))
    engine: Any = first.engine
    sets = [tuple(zip(*read_set(args, path, engine.spec), strict=True)) for path in args.sets]

    def run(lines: Sequence[str], beam: int) -> list[str]:
        if is_ctranslate2:
            ids = engine.tokenizer.encode_batch(lines)
            settings = {"beam_size": beam, "length_penalty": 1.0, "max_batch_size": args.batch, "max_input_length": 0}
            limit = max(map(len, ids)) + first.sentence_search.config.max_extra
            return searched(engine.translator, engine.tokenizer, ids, **settings, max_decoding_length=limit)
        return list(Translator(engine, Search(beam_size=beam))(lines))

    def answer(task: str) -> Answer:
        i, beam = map(int, task.split())
        source, reference = sets[i]
        run(source[:N_WARM], beam)
        found: list[str] = []
        cpu = time.process_time()
        seconds = seconds_of(functools.partial(lambda: found.extend(run(source, beam))))
        cpu_ms = 1000 * (time.process_time() - cpu) / len(source)
        return {"bleu": round(corpus_bleu(found, reference), 2), "rate": len(source) / seconds, "cpu_ms": cpu_ms}

    return answer


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield one row for each point."""
    for name, points in record["sets"].items():
        for of in points:
            yield {
                "test set": linked(name, record),
                "model": f"{model_name(record)}, {record['lines']:,} lines",
                "machine": machine_name(record),
                "contender": Path(of["contender"]).name,
                "beam": f"{of['beam']} (default)" if is_default(of, record) else str(of["beam"]),
                "BLEU": f"{of['bleu']:.2f}",
                "lines/s": f"{of['lines_per_s']:,.0f}",
                "times CTranslate2": f"{of['of_ctranslate2']:.2f}",
            }


def is_default(point: Record, record: Record) -> bool:
    """Return whether a point is what a user gets without options."""
    return bool(point["contender"] == "default" and point["beam"] == record["default_beam"])


CASE = Case("Quality at every speed", options, run, rows, work, introduction=INTRODUCTION)
