"""A Transformer for one sentence in plain torch functions: what the weights of other toolkits mean.

It is independent of this project. Parts are (weight, bias) pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sentencepiece
import torch
from torch import Tensor
from torch.nn import functional as F

Pair = tuple[Tensor, Tensor]


@dataclass
class Layer:
    attentions: list[dict[str, Pair]]  # keys "q", "k", "v", "o"; the second attention reads the source
    network: tuple[Pair, Pair]
    norms: list[Pair]


@dataclass
class Style:
    n_heads: int
    pre: bool
    eps: float
    activation: Callable[[Tensor], Tensor]


def attend(x: Tensor, memory: Tensor, parts: dict[str, Pair], n_heads: int, causal: bool) -> Tensor:
    q, k, v = F.linear(x, *parts["q"]), F.linear(memory, *parts["k"]), F.linear(memory, *parts["v"])
    heads = []
    for own_q, own_k, own_v in zip(*(part.chunk(n_heads, dim=1) for part in (q, k, v)), strict=True):
        scores = own_q @ own_k.T / own_q.size(1) ** 0.5
        if causal:
            scores = scores + torch.full_like(scores, float("-inf")).triu(1)
        heads.append(scores.softmax(dim=1) @ own_v)
    return F.linear(torch.cat(heads, dim=1), *parts["o"])


def norm(x: Tensor, pair: Pair, eps: float) -> Tensor:
    return F.layer_norm(x, x.shape[1:], *pair, eps=eps)


def stack(x: Tensor, memory: Tensor | None, layers: Sequence[Layer], last: Pair | None, style: Style) -> Tensor:
    """Apply all layers and the last norm, if there is one."""
    for layer in layers:
        for n, pair in enumerate(layer.norms):
            inner = norm(x, pair, style.eps) if style.pre else x
            if n < len(layer.attentions):
                read = inner if n == 0 or memory is None else memory
                out = attend(inner, read, layer.attentions[n], style.n_heads, causal=memory is not None and n == 0)
            else:
                first, second = layer.network
                out = F.linear(style.activation(F.linear(inner, *first)), *second)
            x = x + out if style.pre else norm(x + out, pair, style.eps)
    return x if last is None else norm(x, last, style.eps)


def spm(sentences: list[str], vocab_size: int) -> bytes:
    import io

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=model, vocab_size=vocab_size, minloglevel=2,
        hard_vocab_limit=False,
    )  # fmt: skip
    return model.getvalue()


def pieces_of(serialized: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=serialized)
    return [processor.id_to_piece(i) for i in range(3, processor.vocab_size())]


class Random:
    """Tensors with random values, by name."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.state: dict[str, Any] = {}

    def matrix(self, name: str, *shape: int) -> None:
        self.state[name] = torch.randn(shape, generator=self.generator) * 0.4

    def affine(self, name: str, n_out: int, n_in: int) -> None:
        self.matrix(f"{name}.weight", n_out, n_in)
        self.matrix(f"{name}.bias", n_out)

    def norm(self, name: str, n: int) -> None:
        self.matrix(f"{name}.weight", n)
        self.state[f"{name}.weight"] += 1.0
        self.matrix(f"{name}.bias", n)
