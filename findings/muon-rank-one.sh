#!/usr/bin/env bash
# `torch.optim.Muon` turns a gradient of rank one into an update of several directions.
#
# Guess: orthogonalising a gradient of rank one gives an update of rank one with a singular value near 1; directions
#        that the gradient does not have stay untouched, whatever its size.
# Miss:  the iteration runs in bf16, and each of its five steps multiplies a small singular value by up to 3.4445, nearly
#        500 in all. What rounding adds in empty directions grows to the order of the true one: in a 64 x 64 matrix the
#        update has further singular values of half the size of the first. In float64 the same steps leave one.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
from finding import expect

torch.manual_seed(0)
gradient = torch.outer(torch.randn(64), torch.randn(64))
weight = torch.nn.Parameter(torch.zeros(64, 64))
weight.grad = gradient.clone()
torch.optim.Muon([weight], lr=1.0, weight_decay=0.0).step()
update = torch.linalg.svdvals(weight.detach().double())

exact = gradient.double() / gradient.double().norm()
for _ in range(5):
    square = exact @ exact.T
    exact = 3.4445 * exact + (-4.775 * square + 2.0315 * square @ square) @ exact
reference = torch.linalg.svdvals(exact)

print("singular values:", [round(value, 3) for value in update[:6].tolist()])
expect("rank of the gradient", int(torch.linalg.matrix_rank(gradient)), 1)
expect("singular values above 0.1 in float64", int((reference > 0.1).sum()), 1)
expect("more than one above 0.1 in the update", int((update > 0.1).sum()) > 1, True)
PYTHON
