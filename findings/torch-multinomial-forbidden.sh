#!/usr/bin/env bash
# PyTorch samples tokens of probability 0 when fewer tokens are allowed than it is asked for.
#
# Guess: `torch.multinomial(probs, 5)` without replacement raises a RuntimeError if only three probabilities are not 0, as
#        it does for a row of zeros and for more samples than entries.
# Miss:  after the three it returns two others, without a warning, and the same ones each time. The documentation asks for
#        as many entries that are not 0; nothing checks it on a CPU. Tokens that top-k or a list of forbidden words has
#        set to 0 come back as hypotheses of a stochastic beam, with log-probability -inf.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
from finding import expect

probs = torch.zeros(32000)
probs[[5, 7, 100]] = torch.tensor([0.5, 0.3, 0.2])
torch.manual_seed(0)
samples = [torch.multinomial(probs, 5).tolist() for _ in range(100)]
expect("first three", {tuple(sorted(sample[:3])) for sample in samples}, {(5, 7, 100)})
expect("last two", {tuple(sample[3:]) for sample in samples}, {(3, 1)})
expect("probabilities", probs[[3, 1]].tolist(), [0.0, 0.0])
for wrong, n in (("a row of zeros", torch.zeros(5)), ("more samples than entries", torch.ones(4))):
    try:
        expect(wrong, torch.multinomial(n, 5), None)
    except RuntimeError as error:
        expect(wrong, type(error).__name__, "RuntimeError")
PYTHON
