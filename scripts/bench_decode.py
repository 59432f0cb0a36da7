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
    hf                  MarianMTModel.generate of Hugging Face transformers, --batch sentences; only every fifth line
                        is timed
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from contenders import Answer, Contender, ask_each, median_ratio, peak_mb, progress

from translate.commands.messages import say
from translate.evaluation.scores import corpus_bleu
from translate.inference.engine import TorchEngine
from translate.inference.translator import Translator
from translate.machine import tune_malloc
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder
from translate.training.environment import commit, processor_name

MAX_EXTRA = 50
N_SINGLE = 50  # sentences that are translated one at a time

Run = Callable[[Sequence[str]], list[str]]
Results = dict[str, Answer]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; with --work, be one contender that answers each line on stdin."""
    argv = sys.argv[1:] if argv is None else list(argv)
    args = parse_args(argv)
    if args.work:
        return work(args)
    with tempfile.TemporaryDirectory() as folder:
        checked = Path(folder) / "checked"
        checked.write_text("\n".join(args.source.read_text(encoding="utf-8").split("\n")[:N_SINGLE]), encoding="utf-8")
        for name in args.against:
            command = [sys.executable, "-m", "translate", "export", args.model, "--to", f"{folder}/{name}"]
            subprocess.run([*command, "--format", *FORMATS[name], "--sentences", str(checked)], check=True)
        contenders = {
            name: Contender([sys.executable, __file__, *argv, "--exports", folder, "--work", name])
            for name in ["ours", "ours-bf16", *args.against]
        }
        results = measured(args, contenders, folder)
    print_table(results)
    print(json.dumps(record(args, results)))
    return 0


FORMATS = {"ct2": ("ctranslate2",), "ct2-int8": ("ctranslate2", "--int8"), "hf": ("marian",)}


def parse_args(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; the record contains most of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="run or model folder")
    parser.add_argument("source", type=Path, help="lines to translate")
    parser.add_argument("reference", type=Path, help="their translations")
    parser.add_argument("--against", nargs="+", choices=list(FORMATS), default=[], metavar="NAME")
    parser.add_argument("--beam", type=int, default=5, help="beam size (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="sentences in a batch of others (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")
    parser.add_argument("--exports", help=argparse.SUPPRESS)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def measured(args: argparse.Namespace, contenders: dict[str, Contender], folder: str) -> Results:
    """Return quality, measured once, and speed, measured in interleaved rounds.

    Args:
        args: the options.
        contenders: processes by name.
        folder: of the exported models.
    """
    rounds: dict[str, list[dict[str, Answer]]] = {"all": [], "single": []}
    cold: dict[str, list[float]] = {"ours": [], **({"ct2": []} if "ct2" in contenders else {})}
    with progress(len(contenders) * (2 * args.rounds + 1)) as bar:
        quality = ask_each(contenders, "score", bar)  # also warms up
        for _ in range(args.rounds):
            for task, answers in rounds.items():
                answers.append(ask_each(contenders, task, bar))
            for name, seconds in cold.items():
                seconds.append(cold_start(args, name, folder))
    for contender in contenders.values():
        contender.close()
    rates = {name: [answers[name]["rate"] for answers in rounds["all"]] for name in contenders}
    singles = {name: [answers[name]["ms"] for answers in rounds["single"]] for name in contenders}
    return {
        name: {
            "sentences_per_s": round(statistics.median(rates[name]), 1),
            "sentences_per_s_least": round(min(rates[name]), 1),
            "sentences_per_s_most": round(max(rates[name]), 1),
            "ours_is_times": median_ratio(rates["ours"], rates[name]),
            "ours_bf16_is_times": median_ratio(rates["ours-bf16"], rates[name]),
            "single_ms": round(statistics.median(singles[name]), 1),
            **quality[name],
            **({"cold_s": round(statistics.median(cold[name]), 2)} if name in cold else {}),
        }
        for name in contenders
    }


def record(args: argparse.Namespace, results: Results) -> dict[str, object]:
    """Return the record: settings, machine and results."""
    return {
        "kind": "bench_decode",
        "commit": commit(),
        **{key: str(getattr(args, key)) for key in ("model", "source")},
        **{key: getattr(args, key) for key in ("beam", "batch", "rounds")},
        "length_penalty": "average",
        "processor": processor_name(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "contenders": results,
    }


def print_table(contenders: Results) -> None:
    """Print one line for each contender."""
    columns = ("sentences_per_s", "ours_is_times", "ours_bf16_is_times", "single_ms", "cold_s", "bleu", "peak_mb")
    print(f"{'contender':11}" + "".join(f"{column:>20}" for column in columns))
    for name, values in contenders.items():
        print(f"{name:11}" + "".join(f"{values.get(column, ''):>20}" for column in columns))


def cold_start(args: argparse.Namespace, name: str, folder: str) -> float:
    """Return the seconds of a new process that translates one sentence."""
    line = args.source.read_text(encoding="utf-8").split("\n")[0]
    chosen = ["--model", args.model] if name == "ours" else ["--model", f"{folder}/{name}", "--engine", "ctranslate2"]
    command = [sys.executable, "-m", "translate", "text", *chosen, "--beam", str(args.beam), line]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def work(args: argparse.Namespace) -> int:
    """Be one contender: load the model, then answer each line on stdin."""
    source, reference = (path.read_text(encoding="utf-8").splitlines() for path in (args.source, args.reference))
    folder = model_folder.resolve(Path(args.model), say)
    run = {"ours": ours, "ours-bf16": ours, "hf": hugging_face}.get(args.work, ctranslate2)(args, folder)
    timed = source[::5] if args.work == "hf" else source
    for task in sys.stdin:
        if task.strip() == "score":
            answer = {"bleu": round(corpus_bleu(run(source), reference), 2), "peak_mb": round(peak_mb())}
        elif task.strip() == "single":
            answer = {"ms": statistics.median(seconds_of(run, [line]) * 1e3 for line in source[:N_SINGLE])}
        else:
            answer = {"rate": len(timed) / seconds_of(run, timed)}
        print(json.dumps(answer), flush=True)
    return 0


def seconds_of(run: Run, lines: Sequence[str]) -> float:
    """Return the seconds that translating `lines` takes."""
    begin = time.perf_counter()
    run(lines)
    return time.perf_counter() - begin


def ours(args: argparse.Namespace, folder: Path) -> Run:
    """Return this toolkit's translator, one sentence a line."""
    tune_malloc()
    engine = TorchEngine(ModelFolder.open(folder), "bf16" if args.work == "ours-bf16" else "fp32")
    translator = Translator(engine, beam_size=args.beam, length_penalty="average")
    return lambda lines: [translation.text for translation in translator.translate(lines)]


def ctranslate2(args: argparse.Namespace, folder: Path) -> Run:
    """Return CTranslate2's `translate_batch` on token ids."""
    import ctranslate2 as engine

    tokenizer = ModelFolder.open(folder).tokenizer
    n_workers = os.cpu_count() or 1
    where = f"{args.exports}/{args.work}"
    translator = engine.Translator(where, device="cpu", inter_threads=n_workers, intra_threads=1)

    def run(lines: Sequence[str]) -> list[str]:
        pieces = [tokenizer.pieces(ids) for ids in encoded[tuple(lines)]]
        results = translator.translate_batch(
            pieces,
            beam_size=args.beam,
            length_penalty=1.0,
            max_batch_size=args.batch,
            max_input_length=0,
            max_decoding_length=max(map(len, pieces)) + MAX_EXTRA,
        )
        return [tokenizer.decode(tokenizer.ids(result.hypotheses[0])) for result in results]

    encoded = Encoded(tokenizer.encode_batch)
    return run


def hugging_face(args: argparse.Namespace, folder: Path) -> Run:
    """Return Hugging Face's `generate` on batches of similar length."""
    from translate.exchange.marian_folder import quiet_transformers

    with quiet_transformers() as transformers:
        model = transformers.MarianMTModel.from_pretrained(f"{args.exports}/hf", local_files_only=True).eval()
    tokenizer = ModelFolder.open(folder).tokenizer
    encoded = Encoded(tokenizer.encode_batch)
    end, pad = model.config.eos_token_id, model.config.pad_token_id

    @torch.inference_mode()
    def run(lines: Sequence[str]) -> list[str]:
        ids = encoded[tuple(lines)]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        texts = [""] * len(ids)
        for start in range(0, len(order), args.batch):
            batch = order[start : start + args.batch]
            width = max(len(ids[i]) for i in batch) + 1
            src = torch.tensor([[*ids[i], end, *[pad] * (width - 1 - len(ids[i]))] for i in batch])
            outputs = model.generate(
                input_ids=src,
                attention_mask=src != pad,
                num_beams=args.beam,
                do_sample=False,
                length_penalty=1.0,
                max_length=width + MAX_EXTRA,
            )
            for i, output in zip(batch, outputs.tolist(), strict=True):
                texts[i] = tokenizer.decode([token for token in output[1:] if token not in (end, pad)])
        return texts

    return run


class Encoded(dict[tuple[str, ...], list[list[int]]]):
    """A cache of the token ids of lines, so that repeated lines are tokenized once."""

    def __init__(self, encode: Callable[[Sequence[str]], list[list[int]]]) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, lines: tuple[str, ...]) -> list[list[int]]:
        self[lines] = self._encode(lines)
        return self[lines]


if __name__ == "__main__":
    sys.exit(main())
