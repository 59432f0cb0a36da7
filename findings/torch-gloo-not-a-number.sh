#!/usr/bin/env bash
# `all_reduce` with MAX or MIN over Gloo keeps or drops a NaN according to the process and the position that have it.
#
# Guess: the result is NaN wherever a process has NaN, as `torch.maximum` and `torch.minimum` of the tensors give it,
#        and as the sum does.
# Miss:  the comparison keeps the left operand if either is NaN, and which process is left depends on the part of the
#        tensor. Of two processes, a NaN of the first survives at the beginning of a tensor and is gone at the end; for
#        the second it is the other way round, so in a tensor of one element it is always gone. A check that takes the
#        largest loss or gradient norm over all processes so that they skip or stop an update together sees the NaN of
#        one process and not that of another, in a test with a NaN in the first process as it should be.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
cat >gloo.py <<'PYTHON'
import sys

import torch
import torch.distributed as dist
from finding import expect

rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=2)


def nan_where(operation, process, elements):
    """Return which elements are NaN after a reduction where all of one process's are; the others are 1."""
    values = torch.full((elements,), float("nan") if rank == process else 1.0)
    dist.all_reduce(values, operation)
    return values.isnan().tolist()


T, F = True, False
for name, process, alone, of_four in [
    ("SUM", 0, [T], [T, T, T, T]),
    ("SUM", 1, [T], [T, T, T, T]),
    ("MAX", 0, [T], [T, T, F, F]),
    ("MAX", 1, [F], [F, F, T, T]),
    ("MIN", 0, [T], [T, T, F, F]),
    ("MIN", 1, [F], [F, F, T, T]),
]:
    seen = [nan_where(getattr(dist.ReduceOp, name), process, elements) for elements in [1, 4]]
    if rank == 0:
        expect(f"{name}, NaN in process {process}: NaN of one element, of four", seen, [alone, of_four])
one, nan = torch.ones(1), torch.full((1,), float("nan"))
if rank == 0:
    seen = [torch.maximum(left, right).isnan().item() for left, right in [(one, nan), (nan, one)]]
    expect("torch.maximum, NaN on the right, on the left: NaN", seen, [T, T])
dist.barrier()
dist.destroy_process_group()
PYTHON
python gloo.py 1 "$PWD/meeting" &
python gloo.py 0 "$PWD/meeting"
wait $!
