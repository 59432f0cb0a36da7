#!/usr/bin/env bash
# Grain's loader drops the examples that do not divide among the processes, with `drop_remainder=False` too.
#
# Guess: the documentation of `ShardOptions` holds: with `drop_remainder=False`, which is the default, the remaining
#        examples go to the first processes, one to each. One epoch has each example once.
# Miss:  the sampler gives the first processes longer parts, but `DataLoader` ends each after the whole number of
#        examples per process. Of 15 sentences on 8 processes 7 are never read, always the last of the longer parts; of
#        11 on 3 processes, two. Of two epochs, the first processes do not end the second. A score over a small test set
#        on several hosts leaves out sentences without a warning. `MapDataset` with a slice for each process,
#        `[rank::8]`, loses none.
. "$(dirname "$0")/environment.sh" grain==0.2.18 numpy==2.4.6
python - 2>grain.log <<'PYTHON' || { cat grain.log >&2; exit 1; }
import grain
from finding import expect


def read(n_examples, n_processes, n_epochs=1):
    """Return what each process reads."""

    def part(rank):
        options = grain.sharding.ShardOptions(rank, n_processes, drop_remainder=False)
        sampler = grain.samplers.IndexSampler(n_examples, shard_options=options, num_epochs=n_epochs)
        source = list(range(n_examples))
        return list(grain.DataLoader(data_source=source, sampler=sampler, operations=[], worker_count=0))

    return [part(rank) for rank in range(n_processes)]


def missing(parts, n_examples):
    return sorted(set(range(n_examples)) - {n for part in parts for n in part})


expect("12 on 3 processes", read(12, 3), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
expect("11 on 3 processes", read(11, 3), [[0, 1, 2], [4, 5, 6], [8, 9, 10]])
expect("11 on 3 processes, never read", missing(read(11, 3), 11), [3, 7])
expect("15 on 8 processes, never read", missing(read(15, 8), 15), [1, 3, 5, 7, 9, 11, 13])
expect("7 on 3 processes, two epochs", read(7, 3, 2), [[0, 1, 2, 0], [3, 4, 3, 4], [5, 6, 5, 6]])
slices = [list(grain.MapDataset.source(range(15))[rank::8]) for rank in range(8)]
expect("15 in 8 slices, never read", missing(slices, 15), [])
PYTHON
