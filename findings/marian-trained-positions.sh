#!/usr/bin/env bash
# Marian's option --transformer-train-position-embeddings has no effect.
#
# Guess: with the option, positions are trained instead of sinusoids, so the model has a table of positions as a further
#        tensor, as models of fairseq and BERT have.
# Miss:  the model has the same tensors and the same numbers as without it, though its settings say that positions are
#        trained: Marian reads another name than that of the option. A comparison of both kinds in Marian compares
#        sinusoids with sinusoids, and a converter that believes the settings looks for a table that is not there.
. "$(dirname "$0")/environment.sh" pymarian==1.12.42 numpy==2.4.6
for i in 1 2 3; do printf 'der hund schläft\ndie katze\n' >>train.de && printf 'the dog sleeps\nthe cat\n' >>train.en; done
cat >train.py <<'PYTHON'
import sys
from pymarian import Trainer

Trainer(
    "--type transformer --train-sets train.de train.en --vocabs de.yml en.yml --dim-emb 16 --transformer-heads 2 "
    "--transformer-dim-ffn 24 --enc-depth 1 --dec-depth 1 --after 3u --mini-batch 2 --maxi-batch 1 --max-length 20 "
    "--cpu-threads 1 --workspace 100 --seed 7 --optimizer adam --quiet "
    f"--model {sys.argv[1]}.npz --transformer-train-position-embeddings {sys.argv[1]}"
).train()
PYTHON
for value in false true; do python train.py $value >train.log 2>&1 || { tail -3 train.log >&2; exit 1; }; done
python - <<'PYTHON'
import numpy as np
from finding import expect

models = [np.load(f"{value}.npz") for value in ("false", "true")]
for model, value in zip(models, ("false", "true"), strict=True):
    lines = bytes(model["special:model.yml"]).decode().split("\n")
    stated = [line for line in lines if line.startswith("transformer-train-position")]
    expect("the settings say", stated, [f"transformer-train-position-embeddings: {value}"])
names = sorted(name for name in models[0].files if not name.startswith("special:"))
expect("the same tensors", names == sorted(name for name in models[1].files if not name.startswith("special:")), True)
expect("tensors with positions", [name for name in names if "pos" in name.lower()], [])
expect("the same numbers after three updates", all((models[0][name] == models[1][name]).all() for name in names), True)
PYTHON
