#!/usr/bin/env python3
"""Start of training of a deep, narrow Transformer: post-norm with two initial gains, and pre-norm.

    python scripts/bench_initial.py [--steps 300]

Trains 6 + 6 layers of the `tiny` preset on the built-in grammar, once for each setting, with the same batches. Prints
one JSON record: the loss of each step, and the gradient of each layer's parameters before the first.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from tqdm import tqdm

from transformer.config import Norm, model_config
from transformer.loss import smoothed_nll
from transformer.model import Transformer
from transformer.schedule import inverse_sqrt_lr
from transformer.search.model_step import pad_batch, source_batch, target_batch
from translate.config.schema import TokenizerConfig
from translate.corpus.grammar import generate
from translate.corpus.tokenizer import train
from translate.training.run import commit, processor_name

SETTINGS: dict[str, tuple[Norm, float]] = {
    "post-norm, gain 1": ("post", 1.0),
    "post-norm, gain 0.5": ("post", 0.5),
    "pre-norm, gain 1": ("pre", 1.0),
}
BATCH, VOCABULARY, PEAK, WARMUP, SMOOTHING = 64, 2_000, 2e-3, 150, 0.1
Pairs = list[tuple[list[int], list[int]]]


def main(argv: Sequence[str] | None = None) -> int:
    """Train with each setting and print the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300, help="updates per setting (default: %(default)s)")
    steps = parser.parse_args(argv).steps
    text = list(generate("train", steps * BATCH, 1))
    tokenizer = train((side for pair in text for side in pair), TokenizerConfig(vocab_size=VOCABULARY))
    pairs = [(tokenizer.encode(source), tokenizer.encode(target)) for source, target in text]
    runs = {name: run(name, pairs, steps) for name in SETTINGS}
    record = {
        "kind": "bench_initial",
        "command": f"python scripts/bench_initial.py --steps {steps}",
        "commit": commit(),
    }
    print(json.dumps(record | {"processor": processor_name(), "torch": torch.__version__, "runs": runs}, indent=2))
    return 0


def run(name: str, pairs: Pairs, steps: int) -> dict[str, list[float]]:
    """Return the loss of each step in nats per token, and the norm of each layer's gradient in the first batch."""
    norm, gain = SETTINGS[name]
    torch.manual_seed(1)
    config = model_config("tiny", vocab_size=VOCABULARY)
    config = replace(config, norm=norm, init_gain=gain, n_encoder_layers=6, n_decoder_layers=6)
    model = Transformer(config).train()
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    losses, gradients = [], list[float]()
    for step in tqdm(range(1, steps + 1), desc=name):
        optimizer.param_groups[0]["lr"] = inverse_sqrt_lr(step, peak=PEAK, warmup_steps=WARMUP)
        loss = loss_of(model, pairs[(step - 1) * BATCH : step * BATCH])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        gradients = gradients or [gradient_of(layer) for layer in (*model.encoder, *model.decoder)]
        optimizer.step()
        losses.append(round(loss.item(), 4))
    return {"loss": losses, "gradient": gradients}


def loss_of(model: Transformer, pairs: Pairs) -> Tensor:
    """Return the mean label-smoothed loss over the target tokens of a batch."""
    source, target = source_batch(model, [s for s, _ in pairs]), target_batch(model, [t for _, t in pairs])
    expected = pad_batch([[*t, model.config.eos] for _, t in pairs], model.config.pad)
    is_token = expected != model.config.pad
    logits = model(source, target)[is_token]
    return smoothed_nll(logits, expected[is_token], SMOOTHING) / is_token.sum()


def gradient_of(layer: torch.nn.Module) -> float:
    """Return the norm of the gradient of all parameters of a layer."""
    squares = [parameter.grad.square().sum().item() for parameter in layer.parameters() if parameter.grad is not None]
    return round(math.sqrt(sum(squares)), 6)


if __name__ == "__main__":
    sys.exit(main())
