"""Start of training of a deep, narrow Transformer: post-norm with two initial gains, and pre-norm.

    python scripts/bench.py initial [--steps 300] --out scripts/results/initial.json

Trains 6 + 6 layers of the `tiny` preset on the built-in grammar, once for each setting, with the same batches. The
record has the loss of each step, and the gradient of each layer's parameters before the first.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from harness import Case
from records import Record, linked
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

SETTINGS: dict[str, tuple[Norm, float]] = {
    "post-norm, gain 1": ("post", 1.0),
    "post-norm, gain 0.5": ("post", 0.5),
    "pre-norm, gain 1": ("pre", 1.0),
}
BATCH, VOCABULARY, PEAK, WARMUP, SMOOTHING = 64, 2_000, 2e-3, 150, 0.1
Pairs = list[tuple[list[int], list[int]]]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--steps", type=int, default=300, help="updates per setting (default: %(default)s)")


def run(args: argparse.Namespace) -> Record:
    """Train with each setting."""
    text = list(generate("train", args.steps * BATCH, 1))
    tokenizer = train((side for pair in text for side in pair), TokenizerConfig(vocab_size=VOCABULARY))
    pairs = [(tokenizer.encode(source), tokenizer.encode(target)) for source, target in text]
    return {"runs": {name: trained(name, pairs, args.steps) for name in SETTINGS}}


def trained(name: str, pairs: Pairs, steps: int) -> dict[str, list[float]]:
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


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield one row for each setting."""
    for name, run in record["runs"].items():
        yield {
            "setting": linked(name, record),
            "machine": record["processor"],
            "loss, mean of the last ten steps": f"{sum(run['loss'][-10:]) / 10:.2f}",
            "gradient of decoder layers 1 and 6": f"{run['gradient'][6]:.2f}, {run['gradient'][11]:.2f}",
            "command": f"`{record['command']}`",
        }


CASE = Case("Initial values", options, run, rows)
