#!/usr/bin/env bash
# Packing in Grain gives all token numbers the integer type of the first example, and larger numbers come out as others.
#
# Guess: arrays of different integer types are promoted, as by `np.concatenate` and by Grain's own batches, or refused.
# Miss:  each packed row is made with the type of the first example that comes into it, and the others are written into
#        it: with uint16 there, which corpora with a small vocabulary are kept in, 70,000 becomes 4464, a number of
#        another word, without an error or a warning. The other way round nothing is lost, so whether the data are right
#        depends on the order, which a shuffle changes with each seed. First fit, best fit, and concatenating do the
#        same.
. "$(dirname "$0")/environment.sh" grain==0.2.18 numpy==2.4.6
python - 2>grain.log <<'PYTHON' || { cat grain.log >&2; exit 1; }
import grain
import numpy as np
from finding import expect
from grain.experimental import BestFitPackIterDataset, ConcatThenSplitIterDataset, FirstFitPackIterDataset

small, large = np.array([1, 2, 3], np.uint16), np.array([70_000, 70_001], np.int32)


def source(*examples):
    return grain.MapDataset.source([{"tokens": example} for example in examples]).to_iter_dataset()


def packed(kind, *examples, **options):
    (row,) = kind(source(*examples), length_struct={"tokens": 5}, **options)
    return row["tokens"].ravel().tolist()


expect("NumPy", np.concatenate([small, large]).tolist(), [1, 2, 3, 70_000, 70_001])
(batch,) = source(small[:2], large).batch(2)
expect("a batch of Grain", batch["tokens"].tolist(), [[1, 2], [70_000, 70_001]])
for kind, options in (
    (FirstFitPackIterDataset, {"num_packing_bins": 1}),
    (BestFitPackIterDataset, {"num_packing_bins": 1}),
    (ConcatThenSplitIterDataset, {}),
):
    expect(f"{kind.__name__}, small ones first", packed(kind, small, large, **options), [1, 2, 3, 4464, 4465])
    expect(f"{kind.__name__}, large ones first", packed(kind, large, small, **options), [70_000, 70_001, 1, 2, 3])
PYTHON
