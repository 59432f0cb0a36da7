#!/usr/bin/env bash
# `torch.set_flush_denormal(True)` flushes only that part of a tensor which the calling thread computes.
#
# Guess: the switch is for the process: all operations of PyTorch on a CPU flush from then on, in all threads.
# Miss:  it sets a register of the calling thread, which new threads inherit and old ones do not. After any operation
#        that was divided among two threads, half of a product is 0 and half is not, for equal inputs. So the switch is
#        whole only if it is set before the first operation. Set later, in a notebook or after a model was loaded, tiny
#        numbers stay slow in other threads, and results depend on which thread had which part.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
cat >flush.py <<'PYTHON'
import sys

import numpy as np
import torch
from finding import expect

torch.set_num_threads(2)
tiny = torch.from_numpy(np.full(1_000_000, 1e-39, np.float32))  # NumPy fills it, so that no thread of PyTorch starts
when, stated = sys.argv[1], int(sys.argv[2])
if when == "after the first operation":
    tiny * 1
expect("supported", torch.set_flush_denormal(True), True)
bits = (tiny * 1).view(torch.int32)  # as floats, they would be compared by the thread that flushes
expect(f"zeros of 1,000,000, set {when}", int((bits == 0).sum()), stated)
PYTHON
python flush.py "before the first operation" 1000000
python flush.py "after the first operation" 500000
