#!/usr/bin/env bash
# Of equal scores, PyTorch's `topk` takes others than `argmax`, and which ones depends on the size of the vocabulary.
#
# Guess: on a CPU the first of equal values comes first, from `argmax` as from `topk`, for any length; `sort` keeps their
#        order without `stable=True`, too.
# Miss:  `argmax` takes the first, index 0. Of 12,000 equal values, `topk` returns 0, 1, 2 if asked for three, and 3, 4, 1,
#        0, 2 if asked for five; the largest of 17 is index 10; of 64 it is index 0, but the two largest are 42 and 43.
#        `sort` changes their order. In bf16, where the best tokens often have equal scores, a beam of one is not greedy
#        search, and a larger beam may lose what a smaller one keeps.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
OMP_NUM_THREADS=1 python - <<'PYTHON'
import torch
from finding import expect

for n, k, taken in ((17, 1, [10]), (64, 1, [0]), (64, 2, [42, 43]), (12_000, 3, [0, 1, 2]), (12_000, 5, [3, 4, 1, 0, 2])):
    equal = torch.zeros(n)
    expect(f"argmax of {n}", equal.argmax().item(), 0)
    expect(f"topk({k}) of {n}", equal.topk(k).indices.tolist(), taken)
scores = torch.arange(12_000).remainder(3).float()
plain, stable = (scores.sort(descending=True, stable=stable).indices for stable in (False, True))
expect("sort keeps the order of equal values", torch.equal(plain, stable), False)
PYTHON
