#!/usr/bin/env bash
# safetensors writes the same model with the same metadata as another file in each process.
#
# Guess: `save_file` sorts what it writes, so equal tensors and equal metadata are equal bytes, everywhere and always.
# Miss:  tensors are sorted; metadata has the order of a hash table whose seed is new each time. With one entry, such as
#        the {"format": "pt"} of transformers, nothing shows; with four there are up to 24 files. A model that records
#        its languages or its step so has another checksum after each save, and a cache or store that goes by checksums
#        keeps each copy.
. "$(dirname "$0")/environment.sh" safetensors==0.8.0 numpy==2.4.6
cat >save.py <<'PYTHON'
import hashlib, sys
import numpy as np
from safetensors.numpy import save

metadata = dict(zip(["format", "source", "target", "step"], ["pt", "de", "en", "1000"][: int(sys.argv[1])]))
tensors = {name: np.ones(3, "float32") for name in ("output", "embedding", "norm")}
print(hashlib.sha256(save(tensors, metadata)).hexdigest())
PYTHON
for _ in $(seq 12); do
    python save.py 1 >>one
    python save.py 4 >>four
done
python - <<'PYTHON'
from finding import expect

one, four = (set(open(name)) for name in ("one", "four"))
expect("files of 12 processes, with one entry", len(one), 1)
print(f"files of 12 processes, with four entries: {len(four)}")
expect("several files, with four entries", len(four) > 1, True)
PYTHON
