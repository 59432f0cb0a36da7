#!/usr/bin/env python3
"""Measure decoding speed beside other engines: a table, then one JSON record as the last line.

    python scripts/bench_decode.py runs/multi30k-de-en data/test.de data/test.en
    python scripts/bench_decode.py runs/multi30k-de-en data/test.de data/test.en --against ct2 ct2-int8 hf --beam 5

Contenders translate the same lines with the same weights, each in its own process, in turns: a slow moment of the
machine affects them all. All divide log-probabilities by the length and have the same limit (source tokens + 50). Ours
reads and writes text; the others get token ids, so their time does not include tokenizing. Cold start is the time of a
new process that translates one sentence.

    ours, ours-bf16     this toolkit in float32 and in bf16
    ct2, ct2-int8       CTranslate2 on the exported model, in float32 and int8: --batch sentences for each core
    hf, hf-bf16         MarianMTModel.generate of Hugging Face transformers, --batch sentences of similar length: malloc
                        tuned, attention unfused, which is faster for sentences on a CPU, and a search that stops like
                        the others

With --curve, it measures BLEU and lines/s at beams 1, 2 and 4 instead, on any number of test sets, from text to text:

    python scripts/bench_decode.py --curve de-en data/tatoeba/test.de.gz data/tatoeba/test.en.gz \\
        data/test/newstest2014.de.gz data/test/newstest2014.en.gz > curve.txt
    tail -n 1 curve.txt > scripts/results/bench-curve.json && python scripts/figures.py curve

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
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from contenders import Answer, answer_tasks, layers, machine, median_ratio, peak_mb, started
from results import curve_table, decoding_table

from transformer.search.model_step import pad_batch
from translate.corpus.tokenizer import Tokenizer
from translate.errors import say
from translate.evaluation.scores import corpus_bleu
from translate.files import read_lines
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator
from translate.machine import tune_malloc
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec
from translate.models.registry import locate
from translate.text.translation import EngineName, TranslationOptions

MAX_EXTRA = 50
N_SINGLE = 50  # sentences that are translated one at a time
N_WARM = 32  # lines that are translated before a measurement of the curve
FORMATS = {"ct2": ("ctranslate2",), "ct2-int8": ("ctranslate2", "--int8"), "hf": ("marian",), "hf-bf16": ("marian",)}

Run = Callable[[tuple[str, ...]], list[str]]


def main() -> int:
    """Measure and print; with --work, be one contender that answers each line on stdin."""
    args = parse_args()
    if args.curve:
        return curve_work(args) if args.work else curve(args)
    if args.work:
        return work(args)
    with tempfile.TemporaryDirectory() as folder:
        checked = Path(folder) / "checked"
        checked.write_text("\n".join(list(read_lines(args.files[0]))[:N_SINGLE]), encoding="utf-8")
        for name in args.against:
            command = [sys.executable, "-m", "translate", "export", args.model, "--out", f"{folder}/{name}"]
            subprocess.run([*command, "--format", *FORMATS[name], "--sentences", str(checked)], check=True)
        results = measured(args, folder)
    settings = {key: getattr(args, key) for key in ("model", "beam", "batch", "rounds")}
    settings |= {"source": str(args.files[0]), "length_penalty": "average"}
    record = {"kind": "bench_decode", **settings, **machine(), "contenders": results}
    print(decoding_table([record]))
    print(json.dumps(record))
    return 0


def parse_args() -> argparse.Namespace:
    """Return the options; the record contains most of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="run or model folder")
    parser.add_argument("files", type=Path, nargs="+", help="lines to translate, then their translations")
    parser.add_argument("--against", nargs="+", choices=list(FORMATS), default=[], metavar="NAME")
    parser.add_argument("--beam", type=int, default=5, help="beam size (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="sentences in a batch of others (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")
    parser.add_argument("--curve", action="store_true", help="BLEU against lines/s; several pairs of files")
    parser.add_argument("--folder", action="append", default=[], help="with --curve: one more model; may be repeated")
    parser.add_argument("--lines", type=int, default=1000, help="with --curve: of each file (default: %(default)s)")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 2, 4], help="with --curve (default: 1 2 4)")
    parser.add_argument("--exports", help=argparse.SUPPRESS)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if len(args.files) % 2 or (len(args.files) > 2 and not args.curve):
        parser.error("expected a file of lines and one of their translations; several pairs only with --curve")
    return args


def measured(args: argparse.Namespace, folder: str) -> dict[str, Answer]:
    """Return quality, measured once, and speed, measured in interleaved rounds, of each contender.

    Args:
        args: the options.
        folder: of the exported models.
    """
    names = ["ours", "ours-bf16", *args.against]
    commands = {name: [sys.executable, *sys.argv, "--exports", folder, "--work", name] for name in names}
    cold: dict[str, list[float]] = {name: [] for name in ("ours", "ct2") if name in names}
    rounds = []
    with started(commands, 2 * args.rounds + 1) as ask_each:
        quality = ask_each("score")  # also warms up
        for _ in range(args.rounds):
            rounds.append((ask_each("all"), ask_each("single")))
            for name, seconds in cold.items():
                seconds.append(cold_start(args, name, folder))
    rates = {name: [every[name]["rate"] for every, _ in rounds] for name in names}
    return {
        name: {
            "sentences_per_s": round(statistics.median(rates[name]), 1),
            "sentences_per_s_least": round(min(rates[name]), 1),
            "sentences_per_s_most": round(max(rates[name]), 1),
            "ours_is_times": median_ratio(rates["ours"], rates[name]),
            "ours_bf16_is_times": median_ratio(rates["ours-bf16"], rates[name]),
            "single_ms": round(statistics.median(single[name]["ms"] for _, single in rounds), 1),
            **quality[name],
            **({"cold_s": round(statistics.median(cold[name]), 2)} if name in cold else {}),
        }
        for name in names
    }


def cold_start(args: argparse.Namespace, name: str, folder: str) -> float:
    """Return the seconds of a new process that translates one sentence.

    Args:
        args: the options.
        name: "ours" or "ct2".
        folder: of the exported models.
    """
    line = next(iter(read_lines(args.files[0])))
    chosen = ["--model", args.model] if name == "ours" else ["--model", f"{folder}/{name}", "--engine", "ctranslate2"]
    command = [sys.executable, "-m", "translate", "text", *chosen, "--beam", str(args.beam), line]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def work(args: argparse.Namespace) -> int:
    """Be one contender: load the model, then answer each line on stdin."""
    lines, reference = (list(read_lines(path)) for path in args.files)
    folder, source = model_folder.resolve(Path(args.model), say), tuple(lines)
    runs = {"ours": ours, "ours-bf16": ours, "hf": hugging_face, "hf-bf16": hugging_face}
    run = runs.get(args.work, ctranslate2)(args, folder)

    def answer(task: str) -> Answer:
        if task == "score":
            return {"bleu": round(corpus_bleu(run(source), reference), 2), "peak_mb": peak_mb()}
        if task == "single":
            return {"ms": statistics.median(seconds_of(run, (line,)) * 1e3 for line in source[:N_SINGLE])}
        return {"rate": len(source) / seconds_of(run, source)}

    return answer_tasks(answer)


def seconds_of(run: Run, lines: tuple[str, ...]) -> float:
    """Return the seconds that translating `lines` takes."""
    begin = time.perf_counter()
    run(lines)
    return time.perf_counter() - begin


def ours(args: argparse.Namespace, folder: Path) -> Run:
    """Return this toolkit's translator, one sentence a line."""
    tune_malloc()
    engine = TorchEngine(ModelFolder.open(folder), "bf16" if args.work == "ours-bf16" else "fp32")
    translator = Translator(engine, TranslationOptions(beam_size=args.beam, length_penalty="average"))
    return lambda lines: [translation.text for translation in translator.translate_lines(lines)]


def ctranslate2(args: argparse.Namespace, folder: Path) -> Run:
    """Return CTranslate2's `translate_batch` on token ids."""
    import ctranslate2 as engine

    tokenizer = ModelFolder.open(folder).tokenizer
    encoded = functools.cache(tokenizer.encode_batch)  # repeated lines are tokenized once
    where, n_workers = f"{args.exports}/{args.work}", os.cpu_count() or 1
    translator = engine.Translator(where, device="cpu", inter_threads=n_workers, intra_threads=1)

    return lambda lines: searched(translator, tokenizer, encoded(lines), args.beam, args.batch)


def searched(translator: Any, tokenizer: Tokenizer, ids: Sequence[Sequence[int]], beam: int, batch: int) -> list[str]:
    """Return the translations of a translator of CTranslate2.

    Args:
        translator: CTranslate2's own.
        tokenizer: of the model.
        ids: token ids of each line.
        beam: beam size.
        batch: sentences at a time.
    """
    pieces = [tokenizer.pieces(of_line) for of_line in ids]
    results = translator.translate_batch(
        pieces,
        beam_size=beam,
        length_penalty=1.0,
        max_batch_size=batch,
        max_input_length=0,
        max_decoding_length=max(map(len, pieces)) + MAX_EXTRA,
    )
    return [tokenizer.decode(tokenizer.ids(result.hypotheses[0])) for result in results]


def curve(args: argparse.Namespace) -> int:
    """Measure and print BLEU and lines/s of each contender at each beam size."""
    names = ["default", "pytorch", "ctranslate2", *args.folder]
    commands = {name: [sys.executable, *sys.argv, "--work", name] for name in names}
    sets = {f"{source.parent.name}/{source.name}": source for source in args.files[::2]}
    tasks = [(i, beam) for i in range(len(sets)) for beam in args.beams]
    answers: dict[tuple[int, int], list[dict[str, Answer]]] = {task: [] for task in tasks}
    with started(commands, args.rounds * len(tasks)) as ask_each:
        for _ in range(args.rounds):
            for (i, beam), rounds in answers.items():
                rounds.append(ask_each(f"{i} {beam}"))
    record = {
        "kind": "bench_curve",
        "model": args.model,
        "layers": layers(Path(args.model)),
        **{key: getattr(args, key) for key in ("lines", "rounds", "batch")},
        "default_beam": TranslationSpec.load(locate(Path(args.model), say)).decoding.beam_size,
        **machine(),
        "sets": {
            name: [point(who, beam, answers[i, beam]) for who in names for beam in args.beams]
            for i, name in enumerate(sets)
        },
    }
    print(curve_table([record]))
    print(json.dumps(record))
    return 0


def point(name: str, beam: int, rounds: list[dict[str, Answer]]) -> dict[str, object]:
    """Return one point of the curve: medians of a contender's rounds, and the ratio to CTranslate2 of each round."""
    rates = [answers[name]["rate"] for answers in rounds]
    return {
        "contender": name,
        "beam": beam,
        "bleu": rounds[0][name]["bleu"],
        "lines_per_s": round(statistics.median(rates), 1),
        "lines_per_s_least": round(min(rates), 1),
        "lines_per_s_most": round(max(rates), 1),
        "cpu_ms": round(statistics.median(answers[name]["cpu_ms"] for answers in rounds), 2),
        "of_ctranslate2": median_ratio(rates, [answers["ctranslate2"]["rate"] for answers in rounds]),
    }


def curve_work(args: argparse.Namespace) -> int:
    """Be one contender of the curve: answer the number of a test set and a beam size with BLEU, rate and time."""
    tune_malloc()
    texts = [list(islice(read_lines(path), args.lines)) for path in args.files]
    model = args.work if args.work in args.folder else args.model
    name: EngineName = {"pytorch": "torch", "ctranslate2": "ctranslate2"}.get(args.work, "auto")  # type: ignore[assignment]
    first = Translator.load(model, engine=name, precision="int8" if args.work == "ctranslate2" else None)

    engine: Any = first.engine

    def run(lines: list[str], beam: int) -> list[str]:
        if args.work == "ctranslate2":
            return searched(engine.translator, engine.tokenizer, engine.tokenizer.encode_batch(lines), beam, args.batch)
        options = replace(first.options, beam_size=beam)
        return Translator(engine, options)(lines)

    def answer(task: str) -> Answer:
        i, beam = map(int, task.split())
        source, reference = texts[2 * i : 2 * i + 2]
        run(source[:N_WARM], beam)
        begin, cpu = time.perf_counter(), time.process_time()
        hypotheses = run(source, beam)
        seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu
        bleu = round(corpus_bleu(hypotheses, reference), 2)
        return {"bleu": bleu, "rate": len(source) / seconds, "cpu_ms": 1000 * cpu_seconds / len(source)}

    return answer_tasks(answer)


def hugging_face(args: argparse.Namespace, folder: Path) -> Run:
    """Return Hugging Face's `generate` on batches of similar length."""
    from translate.exchange.marian import quiet_transformers

    tune_malloc()
    dtype = torch.bfloat16 if args.work == "hf-bf16" else torch.float32
    with quiet_transformers() as transformers:
        model = transformers.MarianMTModel.from_pretrained(
            f"{args.exports}/{args.work}", local_files_only=True, attn_implementation="eager", dtype=dtype
        ).eval()
    tokenizer = ModelFolder.open(folder).tokenizer
    encoded = functools.cache(tokenizer.encode_batch)  # repeated lines are tokenized once
    end, pad = model.config.eos_token_id, model.config.pad_token_id

    @torch.inference_mode()
    def run(lines: tuple[str, ...]) -> list[str]:
        ids = encoded(lines)
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        texts = [""] * len(ids)
        for start in range(0, len(order), args.batch):
            batch = order[start : start + args.batch]
            src = pad_batch([[*ids[i], end] for i in batch], pad)
            settings = {
                "num_beams": args.beam,
                "do_sample": False,
                "length_penalty": 1.0,
                "early_stopping": args.beam > 1,
            }
            limit = src.size(1) + MAX_EXTRA
            outputs = model.generate(input_ids=src, attention_mask=src != pad, max_length=limit, **settings)
            for i, output in zip(batch, outputs.tolist(), strict=True):
                texts[i] = tokenizer.decode([token for token in output[1:] if token not in (end, pad)])
        return texts

    return run


if __name__ == "__main__":
    sys.exit(main())
