"""Toy models for tests. Sizes are odd and all different where possible, so that swapped axes fail."""

import dataclasses
import functools
import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.model import Transformer

TINY = ModelConfig(
    vocab_size=23, d_model=14, n_heads=3, d_k=5, d_v=7, d_ff=11, n_encoder_layers=2, n_decoder_layers=3, max_length=13
)

# The paper's architecture and one variant for each option.
VARIANTS: dict[str, ModelConfig] = {
    "paper": TINY,
    "pre-norm": dataclasses.replace(TINY, norm="pre"),
    "block order": dataclasses.replace(TINY, positions="sinusoidal-blocks"),
    "learned positions": dataclasses.replace(TINY, positions="learned"),
    "target tied": dataclasses.replace(TINY, tying="target"),
    "nothing tied": dataclasses.replace(TINY, tying="none", positions="learned"),
    "attention biases": dataclasses.replace(TINY, attention_bias=True),
    "output bias and swish": dataclasses.replace(TINY, output_bias=True, activation="swish"),
    "window": dataclasses.replace(TINY, window=2),
    "window and pre-norm": dataclasses.replace(TINY, window=1, norm="pre"),
}


def scramble(module: nn.Module, seed: int = 0) -> None:
    """Change every parameter, since zero biases and unit gains would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)


def toy_model(config: ModelConfig = TINY, seed: int = 0) -> Transformer:
    """Return a model in eval mode with random weights, biases and gains."""
    torch.manual_seed(seed)
    model = Transformer(config).eval()
    scramble(model, seed)
    return model


def random_ids(*shape: int, vocab_size: int = TINY.vocab_size, seed: int = 0) -> Tensor:
    """Return random ids of ordinary tokens, without padding, bos and eos."""
    return torch.randint(3, vocab_size, shape, generator=torch.Generator().manual_seed(seed))


@functools.cache
def table_row(seed: int, prefix: tuple[int, ...], vocab_size: int) -> tuple[float, ...]:
    """Return fixed pseudo-random log-probabilities of the token after `prefix`."""
    draw = random.Random(repr((seed, prefix)))
    logits = torch.tensor([draw.gauss(0, 1.5) for _ in range(vocab_size)])
    return tuple(logits.log_softmax(dim=0).tolist())


class TableStep:
    """A step function without a model: the next token depends on the sentence and the whole prefix.

    A search that confuses two hypotheses therefore gives wrong scores.
    """

    def __init__(self, seeds: Sequence[int], vocab_size: int) -> None:
        self.seeds = list(seeds)
        self.vocab_size = vocab_size
        self.prefixes: list[tuple[int, ...]] = []
        self.n_calls = 0

    def __call__(self, token_N: Tensor) -> Tensor:
        self.n_calls += 1
        tokens = token_N.tolist()
        prefixes = self.prefixes or [()] * len(tokens)
        self.prefixes = [(*prefix, token) for prefix, token in zip(prefixes, tokens, strict=True)]
        n_each = len(tokens) // len(self.seeds)
        return torch.tensor(
            [table_row(self.seeds[i // n_each], prefix, self.vocab_size) for i, prefix in enumerate(self.prefixes)]
        )

    def reorder(self, index_N: Tensor) -> None:
        self.prefixes = [self.prefixes[i] for i in index_N.tolist()]

    def keep(self, index_B: Tensor) -> None:
        self.seeds = [self.seeds[i] for i in index_B.tolist()]
