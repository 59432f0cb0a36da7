#!/usr/bin/env bash
# With FSDP2, `.item()` of a norm, sum or maximum of a sharded parameter is that of the process's own part.
#
# Guess: a DTensor behaves as the whole tensor does, so `parameter.grad.norm().item()` is the norm of the whole
#        gradient, the same number in all processes, or an error.
# Miss:  reductions that leave a result to be combined (norm, sum, mean, max, all, count_nonzero) hold the process's own
#        part, and `item`, `float` and `bool` give that without a word: only `full_tensor()` combines. Those that need
#        all parts at once (var, std, argmax, and the root of the sum of squares) give the value of the whole. So logged
#        norms are too small, a threshold differs from the one given, and with `isfinite(gradient).all()` one process
#        skips an update that the other makes. `clip_grad_norm_` of PyTorch returns the norm of the whole.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
cat >sharded.py <<'PYTHON'
import sys

import torch
import torch.distributed as dist
from finding import expect
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=2)
model = torch.nn.Linear(1, 4, bias=False)
model.weight.data = torch.tensor([[0.0], [3.0], [float("inf")], [4.0]])
fully_shard(model, mesh=init_device_mesh("cpu", (2,)))  # the first process has 0 and 3, the second inf and 4
weight = model.weight.detach()
finite = weight.clamp(max=0.0) + weight.clamp(max=4.0)  # 0, 3, 4, 4

for what, value, parts, whole in [
    ("norm", finite.norm(), [3.0, 32**0.5], 41**0.5),
    ("sum", finite.sum(), [3.0, 8.0], 11.0),
    ("mean", finite.mean(), [1.5, 4.0], 2.75),
    ("max", finite.max(), [3.0, 4.0], 4.0),
    ("all finite", weight.isfinite().all(), [True, False], False),
    ("root of the sum of squares", finite.square().sum().sqrt(), [41**0.5, 41**0.5], 41**0.5),
    ("var", finite.var(), [3.5833333] * 2, 3.5833333),
]:
    items = [None, None]
    dist.all_gather_object(items, value.item())
    combined = value.full_tensor().item()
    if rank == 0:
        seen, stated = ([round(number, 4) for number in numbers] for numbers in (items, parts))
        expect(f"{what}, `item` in each process", seen, stated)
        expect(f"{what}, whole", round(combined, 4), round(whole, 4))
dist.barrier()
dist.destroy_process_group()
PYTHON
python sharded.py 1 "$PWD/meeting" &
python sharded.py 0 "$PWD/meeting"
wait $!
