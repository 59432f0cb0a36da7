#!/usr/bin/env bash
# PyTorch on a CPU keeps half a megabyte for every shape of a bf16 product, until the process ends.
#
# Guess: a product of another number of rows needs other loop bounds and at most another small kernel, so a thousand
#        shapes, as batches of sentences have, leave a few megabytes behind, in bf16 as in float32.
# Miss:  float32 leaves 4 kB a shape. In bf16 oneDNN makes a kernel for each, and its cache keeps 1,024 of them by default,
#        0.6 MB each, for products of 0.1 MB. Training that enlarges the cache, so that kernels are not made again, grows
#        by gigabytes in an epoch, which looks like a leak. Needs a CPU with AVX-512, as others take another path.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
OMP_NUM_THREADS=1 python - <<'PYTHON'
import os

import torch
from finding import expect


def megabytes() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def kept(dtype: torch.dtype) -> float:
    """Return the growth of the process in MB for each shape of a product."""
    weight = torch.ones(256, 256, dtype=dtype)
    torch.ones(7, 256, dtype=dtype) @ weight
    before = megabytes()
    for n_rows in range(100, 1100):
        torch.ones(n_rows, 256, dtype=dtype) @ weight
    return (megabytes() - before) / 1000


if not torch.backends.cpu.get_cpu_capability().startswith("AVX512"):
    raise SystemExit("this needs a CPU with AVX-512")
single, half, again = kept(torch.float32), kept(torch.bfloat16), kept(torch.bfloat16)
print(f"MB a shape: {single:.3f} in float32, {half:.3f} in bf16, {again:.3f} for the same shapes again")
expect("float32 keeps less than 0.05 MB a shape", single < 0.05, True)
expect("bf16 keeps more than 0.3 MB a shape", half > 0.3, True)
expect("the same shapes keep nothing more", again < 0.05, True)
PYTHON
