#!/usr/bin/env python3
"""Measure training speed on this machine: a table, then one JSON record as the last line.

    python scripts/bench_train.py                                     # this toolkit alone
    python scripts/bench_train.py --against torch hf hf-malloc        # side by side; hf needs the extra `bench`
    python scripts/bench_train.py --preset paper-base --prepared prepared/multi30k-de-en

Contenders train the same sizes on the same batches with the same fused AdamW, each in its own process, in turns: a
slow moment of the machine affects them all. Tokens are those of source and target without padding. FLOPs are three
times those of the forward pass, without padding. Without --prepared, sentences are random, with lengths like captions.

    ours        this toolkit's update
    torch       torch.nn.Transformer in a plain loop, malloc tuned as ours is
    hf          MarianMTModel of Hugging Face transformers in a plain loop, as it comes
    hf-malloc   the same with malloc tuned

    ours-preload   this toolkit's update with the allocator that `translate doctor` names; it makes a difference in
                   long rounds of many shapes: --prepared, and some hundred --steps

Precision: parameters, gradients and Adam's state are float32. In bf16, all run under autocast, and matrix products are
bf16. On a CPU, ours also keeps the residual stream, the norms and the softmax of the loss in bf16; the softmax of
attention is float32. The others keep the residual stream, the norms and the softmax of the loss in float32.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from contenders import Contender, ask_each, median_ratio, peak_mb, progress
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import ModelConfig
from transformer.cost import training_flops_per_step
from transformer.model import Transformer
from transformer.positions import sinusoids
from transformer.presets import resolve
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, EncodedPairs, Pairs, Sampler, collate
from translate.corpus.prepare import Prepared
from translate.exchange.marian_folder import marian_config
from translate.machine import (
    better_allocator,
    choose_device,
    choose_dtype,
    keep_kernels,
    product_rate,
    tune_malloc,
)
from translate.training.environment import commit, processor_name
from translate.training.step import precision, train_step

LR = 1e-4

Update = Callable[[Batch], None]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; with --work, be one contender that answers each line on stdin."""
    argv = sys.argv[1:] if argv is None else list(argv)
    args = parse_args(argv)
    if args.work:
        return work(args)
    names = ["ours", *args.against]
    command = [sys.executable, __file__, *argv, "--work"]
    contenders = {name: Contender([*command, name], environment(name)) for name in names}
    with progress(len(names) * (args.rounds + 1)) as bar:
        facts = ask_each(contenders, "warm-up", bar)
        rounds = [ask_each(contenders, f"round {i + 1}", bar) for i in range(args.rounds)]
    for contender in contenders.values():
        contender.close()
    seconds = {name: [answers[name]["seconds"] for answers in rounds] for name in names}
    print(json.dumps(report(args, facts, seconds)))
    return 0


def parse_args(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; the record contains most of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", nargs="+", choices=list(MAKERS)[1:], default=[], metavar="NAME")
    parser.add_argument("--preset", default="small", help="model (default: %(default)s)")
    parser.add_argument("--prepared", type=Path, metavar="FOLDER", help="take batches from this prepared corpus")
    parser.add_argument("--vocab-size", type=int, default=8000, help="default: %(default)s")
    parser.add_argument("--dropout", type=float, default=0.1, help="default: %(default)s")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="padded tokens a side (default: %(default)s)")
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="updates in a round (default: %(default)s)")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def environment(name: str) -> dict[str, str]:
    """Return the environment variables of a contender's process."""
    if not name.endswith("-preload"):
        return dict(os.environ)
    if (library := better_allocator()) is None:
        raise SystemExit(f"{name}: no allocator to preload is installed, or one is preloaded already")
    return os.environ | {"LD_PRELOAD": library}


def report(
    args: argparse.Namespace, facts: dict[str, dict[str, float]], seconds: dict[str, list[float]]
) -> dict[str, object]:
    """Print a table and return the record.

    Args:
        args: the options.
        facts: answers of each contender to "warm-up".
        seconds: of each round, by contender.
    """
    device = choose_device()
    dtype = choose_dtype(args.precision, device)
    rate = product_rate(dtype, device)
    contenders = {}
    print(f"{'contender':14}{'tokens/s':>10}{'GFLOP/s':>10}{'of products':>13}{'peak MB':>9}{'ours is':>9}")
    for name, fact in facts.items():
        median = statistics.median(seconds[name])
        contenders[name] = {
            "tokens_per_s": round(fact["tokens"] / median),
            "tokens_per_s_range": [round(fact["tokens"] / f(seconds[name])) for f in (max, min)],
            "gflops": round(fact["flops"] / median / 1e9, 1),
            "share_of_product_rate": round(fact["flops"] / median / rate, 3),
            "parameters": fact["parameters"],
            "peak_mb": fact["peak_mb"],
            "ours_is_times": median_ratio(seconds[name], seconds["ours"]),
        }
        c = contenders[name]
        print(
            f"{name:14}{c['tokens_per_s']:>10,}{c['gflops']:>10}{c['share_of_product_rate']:>13.1%}"
            f"{c['peak_mb']:>9,.0f}{c['ours_is_times']:>9}"
        )
    return {
        "kind": "bench_train",
        "commit": commit(),
        **{key: str(value) if isinstance(value, Path) else value for key, value in vars(args).items() if key != "work"},
        "processor": torch.cuda.get_device_name() if device.type == "cuda" else processor_name(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "products": str(dtype).removeprefix("torch."),
        "optimizer": "fused AdamW",
        "product_gflops": round(rate / 1e9, 1),
        "padding": facts["ours"]["padding"],
        "contenders": contenders,
    }


def work(args: argparse.Namespace) -> int:
    """Be one contender: warm up, answer "warm-up" with the size of a round, and any other line with its seconds."""
    if args.work != "hf":
        tune_malloc()
        keep_kernels()
    torch.manual_seed(0)
    device = choose_device()
    dtype = choose_dtype(args.precision, device)
    config = resolve(args.preset, {"dropout": args.dropout}, args.vocab_size)
    batches = [batch.to(device) for batch in some_batches(args)]
    model, update = MAKERS[args.work](config, device, dtype)
    for batch in batches:  # allocator and kernel caches warm up; not measured
        update(batch)
    n_padded = sum(batch.src.numel() + batch.tgt_in.numel() for batch in batches)
    n_tokens = sum(batch.n_src_tokens + batch.n_tgt_tokens for batch in batches)
    fact = {
        "tokens": n_tokens,
        "padding": round(1 - n_tokens / n_padded, 4),
        "flops": sum(flops(config, batch) for batch in batches),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_mb": torch.cuda.max_memory_allocated() / 1e6 if device.type == "cuda" else peak_mb(),
    }
    for task in sys.stdin:
        if task.strip() == "warm-up":
            print(json.dumps(fact), flush=True)
            continue
        begin = time.perf_counter()
        for batch in batches:
            update(batch)
        if device.type == "cuda":
            torch.cuda.synchronize()
        print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
    return 0


def new_adam(model: nn.Module) -> torch.optim.AdamW:
    """Return the optimizer of all contenders: the fused AdamW of `translate train`."""
    config = TrainingConfig()
    return torch.optim.AdamW(
        model.parameters(),
        lr=LR,
        betas=config.adam_betas,
        eps=config.adam_eps,
        weight_decay=config.weight_decay,
        fused=True,
    )


def ours(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> tuple[nn.Module, Update]:
    """Return this toolkit's model and update."""
    model = Transformer(config).to(device).train()
    optimizer = new_adam(model)

    def update(batch: Batch) -> None:
        train_step(model, optimizer, [batch], lr=LR, smoothing=0.1, clip_norm=None, dtype=dtype)

    return model, update


class PlainTorch(nn.Module):
    """torch.nn.Transformer between an embedding and a tied projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.transformer = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_encoder_layers,
            config.n_decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        self.register_buffer("positions", sinusoids(config.max_length, config.d_model), persistent=False)
        self.scale, self.dropout = config.d_model**0.5, config.dropout

    def embed(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, d_model)."""
        positions = self.positions[: ids.size(1)]  # type: ignore[index]
        return F.dropout(self.embedding(ids) * self.scale + positions, self.dropout, self.training)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Logits (B, T, V)."""
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.size(1), device=tgt.device).isinf()
        padding = src == 0
        states = self.transformer(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=causal,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return F.linear(states, self.embedding.weight)


def plain_torch(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> tuple[nn.Module, Update]:
    """Return torch.nn.Transformer in a plain loop."""
    model = PlainTorch(config).to(device).train()
    optimizer = new_adam(model)

    def update(batch: Batch) -> None:
        with precision(device, dtype):
            logits = model(batch.src, batch.tgt_in)
            loss = F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0, label_smoothing=0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()

    return model, update


def hugging_face(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> tuple[nn.Module, Update]:
    """Return MarianMTModel in a plain loop with its own loss."""
    from transformers import MarianMTModel

    model = MarianMTModel(marian_config(config))
    model.to(device).train()
    optimizer = new_adam(model)

    def update(batch: Batch) -> None:
        with precision(device, dtype):
            loss = model(
                input_ids=batch.src,
                attention_mask=batch.src != 0,
                decoder_input_ids=batch.tgt_in,
                labels=batch.tgt_out.masked_fill(batch.tgt_out == 0, -100),
            ).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, update


MAKERS = {"ours": ours, "torch": plain_torch, "hf": hugging_face, "hf-malloc": hugging_face, "ours-preload": ours}


def flops(config: ModelConfig, batch: Batch) -> int:
    """Return the floating-point operations of an update on the pairs of a batch, without padding."""
    lengths = ((ids != 0).sum(dim=1).tolist() for ids in (batch.src, batch.tgt_out))
    return sum(training_flops_per_step(config, 1, src, tgt) for src, tgt in zip(*lengths, strict=True))


def some_batches(args: argparse.Namespace) -> list[Batch]:
    """Return the batches of a round: the first of a prepared corpus, or random tokens of median length 12."""
    if args.prepared:
        prepared = Prepared.open(args.prepared)
        if prepared.tokenizer.vocab_size > args.vocab_size:
            raise SystemExit(f"{args.prepared}: has {prepared.tokenizer.vocab_size} pieces; say so with --vocab-size")
        return first_batches(prepared.train, args)
    rng = np.random.default_rng(0)
    n_pairs = args.steps * args.batch_tokens // 8
    src_lengths = np.clip(rng.lognormal(2.5, 0.35, n_pairs), 3, 60).astype(int)
    tgt_lengths = np.clip(src_lengths * rng.normal(1.0, 0.12, n_pairs), 3, 60).astype(int)
    src, tgt = ([rng.integers(4, args.vocab_size, k).tolist() for k in side] for side in (src_lengths, tgt_lengths))
    return first_batches(EncodedPairs(src, tgt), args)


def first_batches(pairs: Pairs, args: argparse.Namespace) -> list[Batch]:
    """Return the first batches of the first epoch."""
    index = Sampler(pairs, args.batch_tokens, min(256, args.batch_tokens), 0).batches(0)[: args.steps]
    return [collate(pairs, i, pad=0, bos=1, eos=2) for i in index]


if __name__ == "__main__":
    sys.exit(main())
