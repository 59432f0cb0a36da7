#!/usr/bin/env bash
# Two gradients of PyTorch on a CPU stop growing at 256 equal rows in bf16: those of embeddings and of layer norms.
#
# Guess: sums over rows are accumulated in float32 and rounded once, as those of matrix products, `sum` and the bias of a
#        linear layer are. A token that occurs 10,000 times in a batch has a gradient of 9984, 10,000 in bf16.
# Miss:  the backward passes of `nn.Embedding` (also written `weight[ids]`) and of `nn.LayerNorm` add one row after
#        another in bf16, in which 256 + 1 is 256. The norm does so with a float32 gain and bias too, as autocast has
#        them, and returns the lost sum as float32. `index_select` and `nn.RMSNorm` are exact. In training, frequent
#        words and norms learn from a part of their gradient; with more threads there are more parts to sum.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
OMP_NUM_THREADS=1 python - <<'PYTHON'
import torch
from finding import expect
from torch import nn

ROWS, WIDTH = 10_000, 8
ids = torch.zeros(ROWS, dtype=torch.long)
rows = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0)).bfloat16()


def summed(output: torch.Tensor, parameter: torch.Tensor) -> float:
    """Return the gradient of a number that has the gradient 1 in each row."""
    output.backward(torch.ones_like(output))
    return parameter.grad.flatten()[0].item()


def matrix() -> torch.Tensor:
    return torch.zeros(3, WIDTH, dtype=torch.bfloat16, requires_grad=True)


linear, embedding = nn.Linear(WIDTH, WIDTH).bfloat16(), nn.Embedding(3, WIDTH).bfloat16()
expect("bias of a linear layer", summed(linear(rows), linear.bias), 9984.0)
weight = matrix()
expect("index_select", summed(weight.index_select(0, ids), weight), 9984.0)
expect("nn.Embedding", summed(embedding(ids), embedding.weight), 256.0)
weight = matrix()
expect("weight[ids]", summed(weight[ids], weight), 256.0)
norm = nn.LayerNorm(WIDTH)
with torch.autocast("cpu", dtype=torch.bfloat16):
    normed = norm(rows)
expect("bias of a norm under autocast, and its type", (summed(normed, norm.bias), norm.bias.grad.dtype),
       (256.0, torch.float32))
norm.zero_grad()
expect("bias of a norm of the same rows in float32", summed(norm(rows.float()), norm.bias), 10000.0)
PYTHON
