#!/usr/bin/env bash
# `torch.multinomial` without replacement returns tokens of probability zero if there are too few others.
#
# Guess: with fewer positive weights than samples it raises an error, as it does if all weights are zero.
# Miss:  on a CPU it fills up with indices of weight zero, without a warning; if there are several, it takes the same ones
#        for each seed. Several different continuations that are drawn after top-k or top-p, which set the weights of
#        other tokens to zero, may therefore include a token that the filter had excluded.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
from finding import expect

weights = torch.tensor([0.5, 0.0, 0.0, 0.5])
drawn = set()
for seed in range(100):
    torch.manual_seed(seed)
    drawn.add(tuple(sorted(torch.multinomial(weights, 3).tolist())))
expect("three tokens drawn, sorted, in 100 trials", drawn, {(0, 2, 3)})
try:
    torch.multinomial(torch.zeros(4), 1)
    raised = False
except RuntimeError:
    raised = True
expect("all weights zero is an error", raised, True)
try:
    torch.multinomial(weights, 5)
    raised = False
except RuntimeError:
    raised = True
expect("more samples than tokens is an error", raised, True)
PYTHON
