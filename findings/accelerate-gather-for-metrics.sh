#!/usr/bin/env bash
# Accelerate's `gather_for_metrics` loses results of the last batch, in a single process too.
#
# Guess: it leaves out the examples that were added so that each process has as many. One process has none of them, so
#        there it gives back what it is given.
# Miss:  the last batch is cut to the number of examples in the data set modulo the batch size, whatever was drawn and
#        whatever is gathered. With 10 examples and batches of 4 it keeps two: of 8 that a sampler draws two are lost,
#        of a batch sampler whose last batch is full two more, and of two hypotheses for each sentence the second half
#        of the last batch, so hypotheses and references no longer belong together. Scores of a sample or of n-best
#        lists are of fewer sentences than they seem, without a warning.
. "$(dirname "$0")/environment.sh" accelerate==1.15.0 torch==2.13.0 numpy==2.4.6
python - 2>accelerate.log <<'PYTHON' || { cat accelerate.log >&2; exit 1; }
from accelerate import Accelerator
from finding import expect
from torch.utils.data import BatchSampler, DataLoader, Subset

EXAMPLES = list(range(10))
accelerator = Accelerator(cpu=True)


class Batches(BatchSampler):
    """Batches of at most four, as a sampler that puts sentences of a length together has."""

    def __init__(self):
        super().__init__(EXAMPLES, batch_size=4, drop_last=False)

    def __iter__(self):
        return iter([[0, 1, 2, 3], [4, 5], [6, 7, 8, 9]])

    def __len__(self):
        return 3


def gathered(loader, results=lambda batch: batch):
    return [n for batch in accelerator.prepare(loader)
            for n in accelerator.gather_for_metrics(results(batch)).tolist()]  # fmt: skip


def two_hypotheses(batch):
    return batch.repeat_interleave(2)


expect("processes", accelerator.num_processes, 1)
expect("all", gathered(DataLoader(EXAMPLES, batch_size=4)), EXAMPLES)
expect("a subset of 8", gathered(DataLoader(Subset(EXAMPLES, range(8)), batch_size=4)), list(range(8)))
expect("a sampler of 8", gathered(DataLoader(EXAMPLES, batch_size=4, sampler=range(8))), list(range(6)))
expect("batches of 4, 2 and 4", gathered(DataLoader(EXAMPLES, batch_sampler=Batches())), list(range(8)))
hypotheses = gathered(DataLoader(EXAMPLES, batch_size=4), two_hypotheses)
expect("two hypotheses for each", hypotheses, sorted(2 * list(range(9))))
PYTHON
