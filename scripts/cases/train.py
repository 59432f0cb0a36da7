"""Training speed on this machine, beside other libraries.

    python scripts/bench.py train                                     # this toolkit alone
    python scripts/bench.py train --against torch hf hf-tuned         # side by side; hf needs the extra `bench`
    python scripts/bench.py train --preset paper-base --prepared prepared/multi30k-de-en

Contenders train the same sizes on the same batches with the same fused AdamW, each in its own process, in turns: a
slow moment of the machine affects them all. Tokens are those of source and target without padding. FLOPs are three
times those of the forward pass, without padding. Without --prepared, sentences are random, with lengths like captions.

    ours            this toolkit's update
    ours-float32    the same with the residual stream, the norms and the softmax of the loss in float32
    torch           torch.nn.Transformer in a plain loop, malloc tuned as ours is, attention unfused
    hf              MarianMTModel of Hugging Face transformers in a plain loop, as it comes
    hf-tuned        the same with malloc tuned and attention unfused, which is faster for sentences on a CPU

Precision: parameters, gradients and Adam's state are float32. In bf16, all run under autocast, and matrix products are
bf16. On a CPU, `ours` also keeps the residual stream, the norms and the softmax of the loss in bf16; the softmax of
attention is float32. The others keep all of these in float32, so `ours-float32` shows what that difference is worth.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from harness import Answer, Case, Work, median_ratio, peak_mb, seconds_of, turns
from peers import HuggingFace, Maker, PlainTorch, PlainUpdate, plain_loop
from records import UNKNOWN, Record, linked, machine_name
from torch import Tensor, nn

from transformer.config import ModelConfig, model_config
from transformer.embedding import Embedding
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, Sampler, collate
from translate.corpus.prepare import EncodedPairs, Prepared
from translate.machine import choose_device, choose_dtype, keep_kernels, product_rate, tune_malloc
from translate.training.optimizer import new_optimizer
from translate.training.update import Updater, update_flops

LR = 1e-4
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
CLOCK = (
    "processor: time of all threads, for a machine with other work, where wall time says little (default: %(default)s)"
)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options; the record contains most of them."""
    parser.add_argument("--against", nargs="+", choices=list(MAKERS)[1:], default=[], metavar="NAME")
    parser.add_argument("--preset", default="small", help="model (default: %(default)s)")
    parser.add_argument("--prepared", metavar="FOLDER", help="take batches from this prepared corpus")
    parser.add_argument("--vocab-size", type=int, default=8000, help="default: %(default)s")
    parser.add_argument("--dropout", type=float, default=0.1, help="default: %(default)s")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="padded tokens a side (default: %(default)s)")
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="updates in a round (default: %(default)s)")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help=CLOCK)


def run(args: argparse.Namespace) -> Record:
    """Measure all contenders in rounds."""
    names = ["ours", *args.against]
    with turns(names, args.rounds + 1) as ask_each:
        facts = ask_each("warm-up")
        rounds = [ask_each(f"round {i + 1}") for i in range(args.rounds)]
    device = choose_device()
    dtype = choose_dtype(args.precision, device)
    # The rate of one product, by wall time: nothing to compare processor time with.
    rate = product_rate(dtype, device) if args.clock == "wall" else None
    seconds = {name: [answers[name]["seconds"] for answers in rounds] for name in names}
    return {
        **{key: value for key, value in vars(args).items() if key not in ("work", "out")},
        **({"processor": torch.cuda.get_device_name()} if device.type == "cuda" else {}),
        "products": str(dtype).removeprefix("torch."),
        "optimizer": "fused AdamW",
        **({"product_gflops": round(rate / 1e9, 1)} if rate else {}),
        "padding": facts["ours"]["padding"],
        "contenders": {name: figures(facts[name], seconds[name], seconds["ours"], rate) for name in names},
    }


def figures(fact: Answer, seconds: list[float], ours: list[float], rate: float | None) -> Record:
    """Return the figures of one contender.

    Args:
        fact: its answer to "warm-up".
        seconds, ours: of each round, its own and those of this toolkit.
        rate: operations per second of one product.
    """
    median = statistics.median(seconds)
    return {
        "tokens_per_s": round(fact["tokens"] / median),
        "tokens_per_s_range": [round(fact["tokens"] / f(seconds)) for f in (max, min)],
        "gflops": round(fact["flops"] / median / 1e9, 1),
        **({"share_of_product_rate": round(fact["flops"] / median / rate, 3)} if rate else {}),
        "parameters": fact["parameters"],
        "peak_mb": fact["peak_mb"],
        "ours_is_times": median_ratio(seconds, ours),
    }


def work(args: argparse.Namespace) -> Work:
    """Warm up one contender; it answers "warm-up" with the size of a round, and any other task with its seconds."""
    if args.work != "hf":
        tune_malloc()
        keep_kernels()
    torch.manual_seed(0)
    device = choose_device()
    config = model_config(args.preset, {"dropout": args.dropout}, vocab_size=args.vocab_size)
    batches = [batch.to(device) for batch in some_batches(args)]
    model, update = MAKERS[args.work](config, device, choose_dtype(args.precision, device))

    def train() -> None:
        for batch in batches:
            update(batch, LR)
        if device.type == "cuda":
            torch.cuda.synchronize()

    train()  # allocator and kernel caches warm up; not measured
    n_padded = sum(batch.src.numel() + batch.tgt_in.numel() for batch in batches)
    n_tokens = sum(batch.n_src_tokens + batch.n_tgt_tokens for batch in batches)
    fact = {
        "tokens": n_tokens,
        "padding": round(1 - n_tokens / n_padded, 4),
        "flops": update_flops(config, batches),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_mb": round(torch.cuda.max_memory_allocated() / 1e6) if device.type == "cuda" else peak_mb(),
    }
    return lambda task: fact if task == "warm-up" else {"seconds": seconds_of(train, CLOCKS[args.clock])}


def ours(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> tuple[nn.Module, PlainUpdate]:
    """Return this toolkit's model and update.

    Args:
        config: the architecture.
        device: where to train.
        dtype: of matrix products.
    """
    model = Transformer(config).to(device).train()
    updater = Updater(model, new_optimizer(model, TrainingConfig()), label_smoothing=0.1, dtype=dtype)

    def update(batch: Batch, lr: float) -> None:
        updater.step([batch], lr)

    return model, update


def ours_in_float32(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> tuple[nn.Module, PlainUpdate]:
    """Return `ours` with what the other contenders keep in float32: residual stream, norms, softmax of the loss.

    It changes this process for good, as a contender has one of its own.
    """
    embed, softmax = Embedding.forward, torch.softmax

    def embed_in_float32(self: Embedding, ids_BT: Tensor, position_TD: Tensor) -> Tensor:
        with torch.autocast(ids_BT.device.type, enabled=False):
            return embed(self, ids_BT, position_TD)

    def softmax_in_float32(z: Tensor, dim: int, out: Tensor) -> Tensor:
        return out.copy_(softmax(z, dim=dim, dtype=torch.float32))

    mock.patch.object(Embedding, "forward", embed_in_float32).start()  # the first value of the residual stream
    mock.patch.object(torch, "softmax", softmax_in_float32).start()  # of `linear_smoothed_nll`
    return ours(config, device, dtype)


MAKERS: dict[str, Maker] = {
    "ours": ours,
    "ours-float32": ours_in_float32,
    "torch": partial(plain_loop, PlainTorch),
    "hf": partial(plain_loop, partial(HuggingFace, fused=True)),
    "hf-tuned": partial(plain_loop, HuggingFace),
}


def some_batches(args: argparse.Namespace) -> list[Batch]:
    """Return the batches of a round: the first of a prepared corpus, or random tokens of median length 12."""
    if args.prepared:
        prepared = Prepared.open(Path(args.prepared))
        if prepared.tokenizer.vocab_size > args.vocab_size:
            raise SystemExit(f"{args.prepared}: has {prepared.tokenizer.vocab_size} pieces; say so with --vocab-size")
        return first_batches(prepared.train, args)
    rng = np.random.default_rng(0)
    n_pairs = args.steps * args.batch_tokens // 8
    src_lengths = np.clip(rng.lognormal(2.5, 0.35, n_pairs), 3, 60).astype(int)
    tgt_lengths = np.clip(src_lengths * rng.normal(1.0, 0.12, n_pairs), 3, 60).astype(int)
    src, tgt = ([rng.integers(4, args.vocab_size, k).tolist() for k in side] for side in (src_lengths, tgt_lengths))
    return first_batches(EncodedPairs.of(src, tgt), args)


def first_batches(pairs: EncodedPairs, args: argparse.Namespace) -> list[Batch]:
    """Return the first batches of the first epoch."""
    index = Sampler(pairs, args.batch_tokens, min(256, args.batch_tokens), 0).batches(0)[: args.steps]
    return [collate(pairs, i, pad=0, bos=1, eos=2) for i in index]


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield one row for each contender; ratios are medians over the rounds."""
    for name, of in record["contenders"].items():
        yield {
            "sizes": linked(record["preset"], record),
            "machine": machine_name(record) + (", processor time" if record.get("clock") == "processor" else ""),
            "products": of.get("products", record["products"]),
            "contender": name,
            "tokens/s": f"{of['tokens_per_s']:,}",
            "GFLOP/s": f"{of['gflops']:,.0f}",
            "of the product rate": f"{share:.0%}" if (share := of.get("share_of_product_rate")) else "",
            "peak memory": f"{of['peak_mb'] / 1e3:.1f} GB",
            "ours is": f"{of['ours_is_times']:.2f} times as fast" if name != "ours" else "",
            "optimizer": record.get("optimizer", UNKNOWN),
        }


def summary(record: Record) -> tuple[str, str] | None:
    """Return the rate of ours and the ratios; None for a record whose contenders were not tuned as ours is."""
    if "hf-malloc" in record["contenders"]:  # with fused attention, which is slow for sentences on a CPU
        return None
    ours, *others = record["contenders"].items()
    ratios = ", ".join(f"{of['ours_is_times']:.2f} times `{name}`" for name, of in others)
    shown = f"{ours[1]['tokens_per_s']:,} tokens/s in {record['products']}: {ratios}; [what differs](#notes)"
    by = " by processor time" if record.get("clock") == "processor" else ""
    return f"Training, {record['preset']}{by}", shown


CASE = Case("Training speed", options, run, rows, work, summary)
