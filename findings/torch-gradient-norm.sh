#!/usr/bin/env bash
# The norm that PyTorch clips by is 4 % too small on a CPU for a float32 matrix as large as the embeddings of NLLB.
#
# Guess: `clip_grad_norm_` computes the norm of a float32 gradient to five digits, whatever its size.
# Miss:  `vector_norm` adds the squares one after another in a few float32 sums, which lose more the larger they get.
#        For 256,000 x 1,024 random values the norm is 3.7 % too small, so the clipped gradient is longer than
#        `max_norm`; for 32,000 x 1,024 it is 0.2 %. The norm of the norms of rows, and `square().sum().sqrt()`, are
#        right to five digits.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
from finding import expect

torch.manual_seed(0)
part = torch.randn(1_000, 1_024)
gradient = part.repeat(256, 1)
exact = part.double().norm().item() * 256**0.5


def wrong(norm):
    """Return the relative error of a norm."""
    return abs(norm.item() / exact - 1)


expect("error of the norm is above 1 %", wrong(torch.linalg.vector_norm(gradient)) > 0.01, True)
expect("that of the norm of rows is below 0.01 %", wrong(gradient.norm(dim=1).norm()) < 1e-4, True)
expect("that of the root of the sum of squares is", wrong(gradient.square().sum().sqrt()) < 1e-4, True)
weight = torch.nn.Parameter(gradient)
weight.grad = gradient.clone()
torch.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
expect("the clipped gradient is longer than 1.01", weight.grad.norm(dim=1).norm().item() > 1.01, True)
PYTHON
