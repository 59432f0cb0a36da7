#!/usr/bin/env bash
# PyTorch's DataLoader drops a column that the first example of a batch has not, and fails if the first alone has it.
#
# Guess: examples with different keys are an error, whichever comes first: a batch cannot have the column for some rows.
# Miss:  the keys of the first example are those of the batch. With optional columns, such as the domain of a sentence or
#        an alignment, a shuffled loader drops the column of most batches without a word, and ends with a KeyError in the
#        first batch that begins with a complete example; which batch that is depends on the seed.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
from finding import expect
from torch.utils.data import DataLoader

plain, complete = {"length": 3}, {"length": 5, "domain": 7}


def seen(examples):
    try:
        return [{name: column.tolist() for name, column in batch.items()} for batch in DataLoader(examples, batch_size=2)]
    except KeyError as error:
        return f"KeyError: {error}"


expect("the complete example is second", seen([plain, complete]), [{"length": [3, 5]}])
expect("the complete example is first", seen([complete, plain]), "KeyError: 'domain'")
expect("both are complete", seen([complete, complete]), [{"length": [5, 5], "domain": [7, 7]}])
PYTHON
