#!/usr/bin/env bash
# A checkpoint whose metric is nan makes Orbax delete the best ones, and is itself kept as the best.
#
# Guess: `CheckpointManager` with `best_fn` and `max_to_keep` counts nan as worse than any number, or refuses it.
# Miss:  it sorts the checkpoints by their metrics, and a nan, which is neither less nor greater, stays where it is, at
#        the end, where the best are. A run that diverges has lost each good model after `max_to_keep` evaluations.
#        After a single nan, the best checkpoint so far can be deleted for a worse one, and `best_step` names one that
#        is not the best. There is no warning, for losses with "min" as for scores with "max".
. "$(dirname "$0")/environment.sh" orbax-checkpoint==0.12.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
python - 2>orbax.log <<'PYTHON' || { cat orbax.log >&2; exit 1; }
import math
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import orbax.checkpoint as ocp
from finding import expect

nan = math.nan


def kept(mode, *metrics):
    """Save a checkpoint for each metric, keep two; return the metrics of those that are left, and of the best."""
    options = ocp.CheckpointManagerOptions(max_to_keep=2, best_fn=lambda saved: saved["metric"], best_mode=mode,
                                           enable_async_checkpointing=False)
    with ocp.CheckpointManager(Path(mkdtemp(dir=".")).resolve(), options=options) as manager:
        for step, metric in enumerate(metrics):
            manager.save(step, args=ocp.args.StandardSave({"weight": np.ones(2)}), metrics={"metric": metric})
        return str([metrics[step] for step in manager.all_steps()]), metrics[manager.best_step()]


expect("losses without nan", kept("min", 3.0, 2.0, 1.0, 4.0, 1.5), ("[1.0, 1.5]", 1.0))
left, best = kept("min", 3.0, 2.0, 1.0, nan, nan)
expect("losses, the last two are nan: left", left, "[nan, nan]")
expect("losses, the last two are nan: the best is nan", math.isnan(best), True)
expect("losses with one nan", kept("min", 3.0, 2.0, 1.0, nan, 1.5, 1.6), ("[1.5, 1.6]", 1.5))
expect("scores with one nan", kept("max", 0.1, 0.2, 0.9, nan, 0.5, 0.4), ("[0.5, 0.4]", 0.5))
PYTHON
