#!/usr/bin/env bash
# PyArrow cuts a text at its first NUL if the text comes in a NumPy array of strings.
#
# Guess: NumPy drops NULs at the end of a string, since it pads with them; NULs inside stay.
# Miss:  NumPy keeps them, but `pa.array` of the same array ends each text at the first one, without an error. From a
#        list or an array of objects the text is whole. Functions over batches that return `np.array(texts)` lose the rest
#        of a sentence in which a damaged file has such a character.
. "$(dirname "$0")/environment.sh" pyarrow==26.0.1 numpy==2.4.6
python - <<'PYTHON'
import numpy as np
import pyarrow as pa
from finding import expect

texts = ["begin\0end", "whole"]
expect("in NumPy", np.array(texts).tolist(), texts)
expect("PyArrow, from NumPy strings", pa.array(np.array(texts)).to_pylist(), ["begin", "whole"])
expect("PyArrow, from NumPy objects", pa.array(np.array(texts, dtype=object)).to_pylist(), texts)
PYTHON
