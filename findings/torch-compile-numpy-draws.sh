#!/usr/bin/env bash
# In a function that `torch.compile` compiles, NumPy draws from PyTorch's generator, and `np.random.seed` does nothing.
#
# Guess: `np.random.rand()` in a compiled function draws anew at each call and gives the numbers that
#        `np.random.seed(0)` promises, as without compilation; so does `random.random()` with its own seed.
# Miss:  `random` does. NumPy's functions become those of PyTorch, also with the backend "eager", and there is no
#        message: two runs with NumPy's seed drop other words, a run that is resumed with NumPy's state restored goes on
#        with other ones, and each draw moves PyTorch's generator on, so that the dropout behind it changes as well.
#        With `torch._dynamo.config.use_numpy_random_stream = True` the draws are NumPy's.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
OMP_NUM_THREADS=1 python - 2>/dev/null <<'PYTHON'
import random

import numpy as np
import torch
from finding import expect


def drop(ids):
    """Return the ids without those that a draw chooses, as a word dropout does."""
    return ids * torch.as_tensor(np.random.rand(8) > 0.3)


def scale(x):
    return x * random.random()


def draws(function, x, seed):
    """Return what three calls give after a seed."""
    seed(0)
    return [function(x).tolist() for _ in range(3)]


ids = torch.arange(1, 9)
for backend in ("eager", "aot_eager"):
    torch._dynamo.reset()
    compiled = torch.compile(drop, backend=backend)
    torch.manual_seed(1)
    own, first, second = (draws(function, ids, np.random.seed) for function in (drop, compiled, compiled))
    expect(f"{backend}, NumPy's seed, as without compilation", first == own, False)
    expect(f"{backend}, NumPy's seed, twice the same", first == second, False)
    again = [draws(compiled, ids, torch.manual_seed) for _ in range(2)]
    expect(f"{backend}, PyTorch's seed, twice the same", again[0] == again[1], True)
    behind = []
    for function in (drop, compiled):
        torch.manual_seed(0)
        function(ids)
        behind.append(torch.rand(1).item())
    expect(f"{backend}, PyTorch's next number is the same", behind[0] == behind[1], False)
    x = torch.ones(1)
    alike = draws(torch.compile(scale, backend=backend), x, random.seed) == draws(scale, x, random.seed)
    expect(f"{backend}, seed of Python's random, as without compilation", alike, True)

torch._dynamo.reset()
torch._dynamo.config.use_numpy_random_stream = True
streams = [draws(function, ids, np.random.seed) for function in (drop, torch.compile(drop, backend="eager"))]
expect("use_numpy_random_stream, as without compilation", streams[0] == streams[1], True)
PYTHON
