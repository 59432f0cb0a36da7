"""Decoding speed beside other engines.

    python scripts/bench.py decode runs/multi30k-de-en data/test.de data/test.en
    python scripts/bench.py decode runs/multi30k-de-en data/test.de data/test.en --against ct2 ct2-int8 hf --beam 5

Contenders translate the same lines with the same weights, each in its own process, in turns: a slow moment of the
machine affects them all. All divide log-probabilities by the length and have the same limit (source tokens + 50). Ours
reads and writes text; the others get token ids, so their time does not include tokenizing. Cold start is the time of a
new process that translates one sentence.

    ours, ours-bf16     this toolkit in float32 and in bf16
    ct2, ct2-int8       CTranslate2 on the exported model, in float32 and int8: --batch sentences for each core
    hf, hf-bf16         MarianMTModel.generate of Hugging Face transformers, --batch sentences of similar length: malloc
                        tuned, attention unfused, which is faster for sentences on a CPU, and a search that stops like
                        the others
"""

import argparse
import functools
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from harness import Answer, Case, Work, median_and_range, median_ratio, peak_mb, seconds_of, turns
from peers import searched
from records import Record, linked, machine_name

from transformer.search.model_step import pad_batch
from translate.errors import say
from translate.evaluation.scores import corpus_bleu
from translate.files import read_lines
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator
from translate.machine import tune_malloc
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder
from translate.text.translation import Search

MAX_EXTRA = 50
N_SINGLE = 50  # sentences that are translated one at a time
FORMATS = {"ct2": ("ctranslate2",), "ct2-int8": ("ctranslate2", "--int8"), "hf": ("marian",), "hf-bf16": ("marian",)}

Run = Callable[[tuple[str, ...]], list[str]]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options; the record contains most of them."""
    parser.add_argument("model", help="run or model folder")
    parser.add_argument("source", type=Path, help="lines to translate")
    parser.add_argument("reference", type=Path, help="their translations")
    parser.add_argument("--against", nargs="+", choices=list(FORMATS), default=[], metavar="NAME")
    parser.add_argument("--beam", type=int, default=5, help="beam size (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="sentences in a batch of others (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")
    parser.add_argument("--exports", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> Record:
    """Export the model for the other engines and measure."""
    with tempfile.TemporaryDirectory() as folder:
        checked = Path(folder) / "checked"
        checked.write_text("\n".join(list(read_lines(args.source))[:N_SINGLE]), encoding="utf-8")
        for name in args.against:
            command = [sys.executable, "-m", "translate", "export", args.model, "--out", f"{folder}/{name}"]
            subprocess.run([*command, "--format", *FORMATS[name], "--sentences", str(checked)], check=True)
        contenders = measured(args, folder)
    settings = {key: getattr(args, key) for key in ("model", "beam", "batch", "rounds")}
    return {**settings, "source": str(args.source), "length_penalty": "average", "contenders": contenders}


def measured(args: argparse.Namespace, folder: str) -> dict[str, Answer]:
    """Return quality, measured once, and speed, measured in interleaved rounds, of each contender.

    Args:
        args: the options.
        folder: of the exported models.
    """
    names = ["ours", "ours-bf16", *args.against]
    cold: dict[str, list[float]] = {name: [] for name in ("ours", "ct2") if name in names}
    rounds = []
    with turns(names, 2 * args.rounds + 1, "--exports", folder) as ask_each:
        quality = ask_each("score")  # also warms up
        for _ in range(args.rounds):
            rounds.append((ask_each("all"), ask_each("single")))
            for name, seconds in cold.items():
                seconds.append(seconds_of(functools.partial(start, args, name, folder)))
    rates = {name: [every[name]["rate"] for every, _ in rounds] for name in names}
    return {
        name: {
            **median_and_range("sentences_per_s", rates[name]),
            "ours_is_times": median_ratio(rates["ours"], rates[name]),
            "ours_bf16_is_times": median_ratio(rates["ours-bf16"], rates[name]),
            "single_ms": round(statistics.median(single[name]["ms"] for _, single in rounds), 1),
            **quality[name],
            **({"cold_s": round(statistics.median(cold[name]), 2)} if name in cold else {}),
        }
        for name in names
    }


def start(args: argparse.Namespace, name: str, folder: str) -> None:
    """Translate one sentence in a new process.

    Args:
        args: the options.
        name: "ours" or "ct2".
        folder: of the exported models.
    """
    line = next(iter(read_lines(args.source)))
    chosen = ["--model", args.model] if name == "ours" else ["--model", f"{folder}/{name}", "--engine", "ctranslate2"]
    command = [sys.executable, "-m", "translate", "text", *chosen, "--beam", str(args.beam), line]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def work(args: argparse.Namespace) -> Work:
    """Load the model of one contender."""
    source, reference = (tuple(read_lines(path)) for path in (args.source, args.reference))
    folder = model_folder.resolve(Path(args.model), say)
    runs = {"ours": ours, "ours-bf16": ours, "hf": hugging_face, "hf-bf16": hugging_face}
    run = runs.get(args.work, ctranslate2)(args, folder)

    def answer(task: str) -> Answer:
        if task == "score":
            return {"bleu": round(corpus_bleu(run(source), reference), 2), "peak_mb": peak_mb()}
        if task == "single":
            seconds = [seconds_of(functools.partial(run, (line,))) for line in source[:N_SINGLE]]
            return {"ms": 1e3 * statistics.median(seconds)}
        return {"rate": len(source) / seconds_of(functools.partial(run, source))}

    return answer


def ours(args: argparse.Namespace, folder: Path) -> Run:
    """Return this toolkit's translator, one sentence a line."""
    tune_malloc()
    engine = TorchEngine(ModelFolder.open(folder), "bf16" if args.work == "ours-bf16" else "fp32")
    translator = Translator(engine, Search(beam_size=args.beam, length_penalty="average"))
    return lambda lines: [translation.text for translation in translator.translate_lines(lines)]


def ctranslate2(args: argparse.Namespace, folder: Path) -> Run:
    """Return CTranslate2's `translate_batch` on token ids."""
    import ctranslate2 as engine

    tokenizer = ModelFolder.open(folder).tokenizer
    encoded = functools.cache(tokenizer.encode_batch)  # repeated lines are tokenized once
    where, n_workers = f"{args.exports}/{args.work}", os.cpu_count() or 1
    translator = engine.Translator(where, device="cpu", inter_threads=n_workers, intra_threads=1)
    settings = {"beam_size": args.beam, "length_penalty": 1.0, "max_batch_size": args.batch, "max_input_length": 0}

    def run(lines: tuple[str, ...]) -> list[str]:
        limit = max(map(len, encoded(lines))) + MAX_EXTRA
        return searched(translator, tokenizer, encoded(lines), **settings, max_decoding_length=limit)

    return run


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


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield one row for each contender; ratios are medians over rounds."""
    for name, of in record["contenders"].items():
        yield {
            "model": linked(Path(record["model"]).name, record),
            "machine": machine_name(record),
            "beam": str(record["beam"]),
            "engine": name,
            "sentences/s": f"{of['sentences_per_s']:,.0f}",
            "ours (fp32) / this": f"{of['ours_is_times']:.2f}",
            "ours (bf16) / this": f"{of['ours_bf16_is_times']:.2f}",
            "one sentence": f"{of['single_ms']:.0f} ms",
            "from start": f"{of['cold_s']:.1f} s" if "cold_s" in of else "",
            "BLEU": f"{of['bleu']:.1f}",
        }


def summary(record: Record) -> tuple[str, str]:
    """Return the rate of each contender."""
    shown = ", ".join(f"`{name}` {of['sentences_per_s']:,.0f}" for name, of in record["contenders"].items())
    return f"Decoding, beam {record['beam']}", f"sentences/s: {shown}"


CASE = Case("Decoding speed", options, run, rows, work, summary)
