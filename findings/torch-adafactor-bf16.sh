#!/usr/bin/env bash
# `torch.optim.Adafactor` hardly moves a bf16 model whose gradients are below 0.01.
#
# Guess: the step depends on the scale of the gradient no more than Adam's does: it is the learning rate times the size
#        of the weights, down to the 1e-30 that the paper adds to squares; so in bf16, up to rounding.
# Miss:  the default of the first `eps` is the machine epsilon of the weights' type, squared, as the least variance.
#        That is 1e-14 in float32, but 6e-5 in bf16: gradients below 0.0078 are divided by 0.0078. With gradients of
#        0.001 a step is an eighth of what the learning rate says, with 0.0001 an eightieth. `eps=(1e-15, 1e-3)` mends
#        it.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
from finding import expect

signs = (-1.0) ** torch.arange(32 * 32).view(32, 32)


def share(gradient, dtype, **options):
    """Return the first step as a share of the step that the learning rate says, rounded."""
    weight = torch.nn.Parameter(torch.zeros(32, 32, dtype=dtype))
    step = torch.optim.Adafactor([weight], lr=0.5, **options)  # of weights of size 0, the second eps is taken: 0.001
    weight.grad = (gradient * signs).to(dtype)
    step.step()
    return round(float(weight.detach().float().abs().mean()) / (0.5 * 0.001), 2)


for gradient, in_bf16 in ((1.0, 1.0), (0.001, 0.13), (0.0001, 0.01)):
    expect(f"float32, gradient {gradient}", share(gradient, torch.float32), 1.0)
    expect(f"bf16, gradient {gradient}", share(gradient, torch.bfloat16), in_bf16)
    expect(f"bf16, gradient {gradient}, eps=1e-15", share(gradient, torch.bfloat16, eps=(1e-15, 1e-3)), 1.0)
PYTHON
