#!/usr/bin/env bash
# Autocast of a CPU leaves softmax, layer norm and sums in bf16, and a product of a matrix and a vector in float32.
#
# Guess: as on a GPU, `torch.autocast` computes softmax, log-softmax, layer norm and sums in float32, whatever their
#        input, and all products in bf16.
# Miss:  with "cpu", these stay in the type of their input, which is bf16 behind a linear layer; only the losses
#        (`cross_entropy`, `nll_loss`, `mse_loss`) become float32. `mv`, `dot` and `outer` of float32 are not cast at all,
#        while `matmul`, `einsum` and attention are. A score that is read from `log_softmax` under autocast has three
#        digits on a CPU. The same code, trained on a GPU, has them in float32.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
from finding import expect
from torch.nn import functional as F

matrix, vector, target = torch.randn(3, 3), torch.randn(3), torch.tensor([0, 1, 2])
with torch.autocast("cpu", torch.bfloat16):
    logits = F.linear(matrix, matrix)
    types = {
        "linear": logits,
        "softmax": logits.softmax(-1),
        "log_softmax": logits.log_softmax(-1),
        "logsumexp": logits.logsumexp(-1),
        "layer_norm": F.layer_norm(logits, (3,)),
        "sum": logits.sum(),
        "cross_entropy": F.cross_entropy(logits, target),
        "nll_loss": F.nll_loss(logits.log_softmax(-1), target),
        "mse_loss": F.mse_loss(logits, logits),
        "einsum": torch.einsum("ij,kj->ik", matrix, matrix),
        "mv": torch.mv(matrix, vector),
        "dot": torch.dot(vector, vector),
        "outer": torch.outer(vector, vector),
    }
in_float32 = {"cross_entropy", "nll_loss", "mse_loss", "mv", "dot", "outer"}
for name, value in types.items():
    expect(name, str(value.dtype), "torch.float32" if name in in_float32 else "torch.bfloat16")
PYTHON
