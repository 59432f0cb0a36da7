#!/usr/bin/env python3
"""Training speed of this toolkit on this machine: one JSON record, the last line of the output.

    python scripts/bench_train.py --preset small --rounds 5

Sentences are random, with lengths like those of captions, so that nothing has to be downloaded. Tokens are those of
source and target without padding; FLOPs are the model's, three times the forward pass.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence

import numpy as np
import torch

from transformer.cost import training_flops_per_step
from transformer.model import Transformer
from transformer.presets import resolve
from translate.config import TrainingConfig
from translate.corpus.batches import Batch, EncodedPairs, Sampler, collate
from translate.training.machine import choose_device, choose_dtype, product_rate, tune_malloc
from translate.training.run import processor_name
from translate.training.step import new_optimizer, train_step


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="small", help="model (default: %(default)s)")
    parser.add_argument("--vocab-size", type=int, default=8000, help="default: %(default)s")
    parser.add_argument("--dropout", type=float, default=0.1, help="default: %(default)s")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="padded tokens a side (default: %(default)s)")
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="updates in a round (default: %(default)s)")
    args = parser.parse_args(argv)
    tuned = tune_malloc()
    torch.manual_seed(0)
    device = choose_device()
    dtype = choose_dtype(args.precision, device)
    config = resolve(args.preset, {"dropout": args.dropout}, args.vocab_size)
    model = Transformer(config).to(device).train()
    optimizer = new_optimizer(model, TrainingConfig())
    batches = [batch.to(device) for batch in random_batches(args.vocab_size, args.batch_tokens, args.steps)]

    def run_round() -> float:
        start = time.perf_counter()
        for batch in batches:
            train_step(model, optimizer, [batch], lr=1e-4, smoothing=0.1, clip_norm=None, dtype=dtype)
        return time.perf_counter() - start

    run_round()  # the allocator and the kernels settle; not measured
    seconds = [run_round() for _ in range(args.rounds)]
    median = statistics.median(seconds)
    n_tokens = sum(batch.n_src_tokens + batch.n_tgt_tokens for batch in batches)
    n_padded = sum(batch.src.numel() + batch.tgt_in.numel() for batch in batches)
    flops = sum(training_flops_per_step(config, *shape_of(batch)) for batch in batches)
    rate = product_rate(dtype, device)
    record = {
        "kind": "bench_train",
        **vars(args),
        "processor": torch.cuda.get_device_name() if device.type == "cuda" else processor_name(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "malloc_tuned": tuned,
        "products": str(dtype).removeprefix("torch."),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "tokens_per_s": round(n_tokens / median),
        "tokens_per_s_range": [round(n_tokens / max(seconds)), round(n_tokens / min(seconds))],
        "padding": round(1 - n_tokens / n_padded, 4),
        "gflops": round(flops / median / 1e9, 1),
        "product_gflops": round(rate / 1e9, 1),
        "share_of_product_rate": round(flops / median / rate, 3),
    }
    print(json.dumps(record))
    return 0


def shape_of(batch: Batch) -> tuple[int, int, int]:
    """Pairs, and padded lengths of source and target."""
    return batch.src.size(0), batch.src.size(1), batch.tgt_in.size(1)


def random_batches(vocab_size: int, batch_tokens: int, n: int) -> list[Batch]:
    """Batches of random tokens in pairs of similar lengths, median 12."""
    rng = np.random.default_rng(0)
    n_pairs = n * batch_tokens // 8
    src_lengths = np.clip(rng.lognormal(2.5, 0.35, n_pairs), 3, 60).astype(int)
    tgt_lengths = np.clip(src_lengths * rng.normal(1.0, 0.12, n_pairs), 3, 60).astype(int)
    src, tgt = ([rng.integers(4, vocab_size, k).tolist() for k in side] for side in (src_lengths, tgt_lengths))
    pairs = EncodedPairs(src, tgt)
    index = Sampler(pairs, batch_tokens, 64, 0).batches(0)[:n]
    return [collate(pairs, i, pad=0, bos=1, eos=2) for i in index]


if __name__ == "__main__":
    sys.exit(main())
