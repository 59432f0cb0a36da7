#!/usr/bin/env python3
"""Measure training speed on this machine: a table, then one JSON record as the last line.

    python scripts/bench_train.py                                     # this toolkit alone
    python scripts/bench_train.py --against torch hf hf-tuned         # side by side; hf needs the extra `bench`
    python scripts/bench_train.py --preset paper-base --prepared prepared/multi30k-de-en

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
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from contenders import Answer, answer_tasks, machine, median_ratio, peak_mb, started
from results import speed_table
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.config import ModelConfig, model_config
from transformer.embedding import Embedding, sinusoids
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, Sampler, collate
from translate.corpus.prepare import EncodedPairs, Prepared
from translate.exchange.marian import marian_config
from translate.machine import choose_device, choose_dtype, keep_kernels, product_rate, tune_malloc
from translate.training.optimizer import new_optimizer
from translate.training.update import Updater, precision, update_flops

LR = 1e-4
CLOCK = (
    "processor: time of all threads, for a machine with other work, where wall time says little (default: %(default)s)"
)

# On a CPU, where sentences are short for it, PyTorch's fused attention makes an update 1.5 times as long.
FUSED = torch.cuda.is_available()
KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
ATTENTION = sdpa_kernel(KERNELS if FUSED else [SDPBackend.MATH])

Update = Callable[[Batch, float], None]  # of a batch, with a learning rate
Maker = Callable[[ModelConfig, torch.device, torch.dtype], tuple[nn.Module, Update]]


def main() -> int:
    """Measure and print; with --work, be one contender that answers each line on stdin."""
    args = parse_args()
    if args.work:
        return work(args)
    commands = {name: [sys.executable, *sys.argv, "--work", name] for name in ("ours", *args.against)}
    with started(commands, args.rounds + 1) as ask_each:
        facts = ask_each("warm-up")
        rounds = [ask_each(f"round {i + 1}") for i in range(args.rounds)]
    seconds = {name: [answers[name]["seconds"] for answers in rounds] for name in commands}
    record = report(args, facts, seconds)
    print(speed_table([record]))
    print(json.dumps(record))
    return 0


def parse_args() -> argparse.Namespace:
    """Return the options; the record contains most of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", nargs="+", choices=list(MAKERS)[1:], default=[], metavar="NAME")
    parser.add_argument("--preset", default="small", help="model (default: %(default)s)")
    parser.add_argument("--prepared", metavar="FOLDER", help="take batches from this prepared corpus")
    parser.add_argument("--vocab-size", type=int, default=8000, help="default: %(default)s")
    parser.add_argument("--dropout", type=float, default=0.1, help="default: %(default)s")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="padded tokens a side (default: %(default)s)")
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="updates in a round (default: %(default)s)")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall", help=CLOCK)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser.parse_args()


def report(args: argparse.Namespace, facts: dict[str, Answer], seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Return the record.

    Args:
        args: the options.
        facts: answers of each contender to "warm-up".
        seconds: of each round, by contender.
    """
    device = choose_device()
    dtype = choose_dtype(args.precision, device)
    # The rate of one product, by wall time: nothing to compare processor time with.
    rate = product_rate(dtype, device) if args.clock == "wall" else None
    contenders = {}
    for name, fact in facts.items():
        median = statistics.median(seconds[name])
        contenders[name] = {
            "products": str(dtype).removeprefix("torch."),
            "tokens_per_s": round(fact["tokens"] / median),
            "tokens_per_s_range": [round(fact["tokens"] / f(seconds[name])) for f in (max, min)],
            "gflops": round(fact["flops"] / median / 1e9, 1),
            **({"share_of_product_rate": round(fact["flops"] / median / rate, 3)} if rate else {}),
            "parameters": fact["parameters"],
            "peak_mb": fact["peak_mb"],
            "ours_is_times": median_ratio(seconds[name], seconds["ours"]),
        }
    return {
        "kind": "bench_train",
        **{key: value for key, value in vars(args).items() if key != "work"},
        **machine(),
        **({"processor": torch.cuda.get_device_name()} if device.type == "cuda" else {}),
        "products": str(dtype).removeprefix("torch."),
        "optimizer": "fused AdamW",
        **({"product_gflops": round(rate / 1e9, 1)} if rate else {}),
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
    config = model_config(args.preset, {"dropout": args.dropout}, vocab_size=args.vocab_size)
    batches = [batch.to(device) for batch in some_batches(args)]
    model, update = MAKERS[args.work](config, device, choose_dtype(args.precision, device))
    for batch in batches:  # allocator and kernel caches warm up; not measured
        update(batch, LR)
    n_padded = sum(batch.src.numel() + batch.tgt_in.numel() for batch in batches)
    n_tokens = sum(batch.n_src_tokens + batch.n_tgt_tokens for batch in batches)
    fact = {
        "tokens": n_tokens,
        "padding": round(1 - n_tokens / n_padded, 4),
        "flops": update_flops(config, batches),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_mb": round(torch.cuda.max_memory_allocated() / 1e6) if device.type == "cuda" else peak_mb(),
    }

    clock = time.process_time if args.clock == "processor" else time.perf_counter

    def answer(task: str) -> Answer:
        if task == "warm-up":
            return fact
        begin = clock()
        for batch in batches:
            update(batch, LR)
        if device.type == "cuda":
            torch.cuda.synchronize()
        return {"seconds": clock() - begin}

    return answer_tasks(answer)


def ours(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> tuple[nn.Module, Update]:
    """Return this toolkit's model and update.

    Args:
        config: the architecture.
        device: where to train.
        dtype: of matrix products.
    """
    model = Transformer(config).to(device).train()
    updater = Updater(model, new_optimizer(model, TrainingConfig()), smoothing=0.1, dtype=dtype)

    def update(batch: Batch, lr: float) -> None:
        updater.step([batch], lr)

    return model, update


def ours_in_float32(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> tuple[nn.Module, Update]:
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


def plain_loop(
    kind: Callable[[ModelConfig], nn.Module], config: ModelConfig, device: torch.device, dtype: torch.dtype
) -> tuple[nn.Module, Update]:
    """Return a model that maps a batch to its loss, and its update in a plain loop.

    Args:
        kind: makes the model.
        config, device, dtype: see `ours`.
    """
    model = kind(config).to(device).train()
    optimizer = new_optimizer(model, TrainingConfig())

    def update(batch: Batch, lr: float) -> None:
        for group in optimizer.param_groups:
            group["lr"] = lr
        with precision(device, dtype):
            loss = model(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, update


class PlainTorch(nn.Module):
    """torch.nn.Transformer between an embedding and a tied projection, with the dropout and initial values of ours."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)  # its own, 1, is too large for tied logits
        sizes = (config.d_model, config.n_heads, config.n_encoder_layers, config.n_decoder_layers, config.d_ff)
        self.transformer = nn.Transformer(*sizes, config.dropout, batch_first=True)
        for layer in (*self.transformer.encoder.layers, *self.transformer.decoder.layers):
            configure(layer, config)
        self.register_buffer("positions", sinusoids(config.max_length, config.d_model), persistent=False)
        self.scale, self.dropout = config.d_model**0.5, config.dropout

    def embed(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, d_model)."""
        positions = self.positions[: ids.size(1)]  # type: ignore[index]
        return F.dropout(self.embedding(ids) * self.scale + positions, self.dropout, self.training)

    def forward(self, batch: Batch) -> Tensor:
        """Return the mean loss of the target tokens."""
        logits = self.logits(self.decode(batch.tgt_in, self.encode(batch.src), batch.src == 0)).flatten(0, 1)
        return F.cross_entropy(logits, batch.tgt_out.flatten(), ignore_index=0, label_smoothing=0.1)

    @ATTENTION
    def encode(self, src_BS: Tensor) -> Tensor:
        """(B, S) -> (B, S, d_model)."""
        return self.transformer.encoder(  # type: ignore[no-any-return]
            self.embed(src_BS), src_key_padding_mask=src_BS == 0
        )

    @ATTENTION
    def decode(self, tgt_BT: Tensor, memory_BSD: Tensor, padding_BS: Tensor) -> Tensor:
        """Return the decoder's output, (B, T, d_model); `padding_BS` is True at the padding of the source."""
        return self.transformer.decoder(  # type: ignore[no-any-return]
            self.embed(tgt_BT),
            memory_BSD,
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(tgt_BT.size(1), tgt_BT.device).isinf(),
            tgt_is_causal=True,
            memory_key_padding_mask=padding_BS,
        )

    def logits(self, states: Tensor) -> Tensor:
        """(..., d_model) -> (..., V)."""
        return F.linear(states, self.embedding.weight)


def configure(layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, config: ModelConfig) -> None:
    """Give a layer of nn.Transformer the dropout and the initial values of an architecture.

    Its own dropout is also applied to attention weights and inner activations, and Xavier values without a smaller gain
    do not train 6 + 6 post-norm layers (docs/grids.md, initialisation).
    """
    layer.dropout.p = config.ffn_dropout
    gain = config.init_gain
    for attention in layer.children():
        if isinstance(attention, nn.MultiheadAttention):
            attention.dropout = config.attention_dropout
            for weight, its_gain in zip(attention.in_proj_weight.data.chunk(3), (1.0, 1.0, gain), strict=True):
                nn.init.xavier_uniform_(weight, its_gain)
            nn.init.xavier_uniform_(attention.out_proj.weight, gain)
    for linear in (layer.linear1, layer.linear2):
        nn.init.xavier_uniform_(linear.weight, gain)
        nn.init.zeros_(linear.bias)


class HuggingFace(nn.Module):
    """MarianMTModel with label smoothing, as `Trainer` adds it: the model's own loss has none.

    Args:
        fused: whether attention is the library's default.
    """

    def __init__(self, config: ModelConfig, fused: bool = FUSED) -> None:
        from transformers import MarianMTModel

        super().__init__()
        self.model = MarianMTModel(marian_config(config))
        self.model.set_attn_implementation("sdpa" if fused else "eager")

    def forward(self, batch: Batch) -> Tensor:
        """Return the mean loss of the target tokens."""
        found = self.model(input_ids=batch.src, attention_mask=batch.src != 0, decoder_input_ids=batch.tgt_in)
        logits, tgt = found.logits.flatten(0, 1), batch.tgt_out.flatten()
        return F.cross_entropy(logits, tgt, ignore_index=0, label_smoothing=0.1)


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


if __name__ == "__main__":
    sys.exit(main())
