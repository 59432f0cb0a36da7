#!/usr/bin/env bash
# Persistent workers change the order of a PyTorch DataLoader from the second epoch on.
#
# Guess: with `shuffle=True` and a seeded generator, the order depends on the seed and the number of the epoch, not on
#        `num_workers` and `persistent_workers`, which are about speed.
# Miss:  so it is without persistent workers, for any number of workers. With them each epoch from the second on has
#        another order: a loader draws a seed for its workers from the same generator before the order of each epoch, and
#        for workers that stay it does so once. A run that is repeated, or resumed after some epochs, with this switch set
#        otherwise sees other batches, although seed and data are the same.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
from finding import expect
from torch.utils.data import DataLoader


def epochs(n_workers, persistent=False):
    generator = torch.Generator().manual_seed(1)
    loader = DataLoader(
        range(10), batch_size=None, shuffle=True, generator=generator, num_workers=n_workers,
        persistent_workers=persistent,
    )
    return [[int(n) for n in loader] for _ in range(3)]


plain = epochs(0)
print("three epochs:", plain)
expect("two workers have the same epochs", epochs(2) == plain, True)
kept = epochs(2, persistent=True)
print("with persistent workers:", kept)
expect("epochs that are the same with persistent workers", [a == b for a, b in zip(kept, plain)], [True, False, False])
expect("the number of persistent workers changes nothing", epochs(1, persistent=True) == kept, True)
PYTHON
