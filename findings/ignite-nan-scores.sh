#!/usr/bin/env bash
# With one score that is nan, Ignite never saves a better model again, or never stops.
#
# Guess: nan is no improvement: the best models stay, later better ones replace the worst, and a run whose scores are
#        all nan ends when the patience does.
# Miss:  a checkpoint with a score of nan, which is saved as long as there are fewer than `n_saved`, stays as the worst
#        one, and no score is above it: with `n_saved=2`, a nan in the second evaluation freezes the folder after the
#        third. `EarlyStopping` takes nan for an improvement, and so the score after it: a run that has diverged goes on
#        to its last epoch, and a single nan makes it forget the best score. There is no warning. An evaluation without
#        words, or an overflow in the first epoch, is enough.
. "$(dirname "$0")/environment.sh" pytorch-ignite==0.5.5 torch==2.13.0 numpy==2.4.6
python - 2>ignite.log <<'PYTHON'
import math
import re
from pathlib import Path
from tempfile import mkdtemp

import torch
from finding import expect
from ignite.engine import Engine, Events
from ignite.handlers import EarlyStopping, ModelCheckpoint

nan = math.nan


def run(scores, n_saved=1, patience=100):
    """Train for as many epochs as there are scores; return the last epoch, and those whose model is kept."""
    trainer, evaluator = Engine(lambda *_: None), Engine(lambda *_: None)
    folder = mkdtemp(dir=".")

    def score(_):
        return scores[trainer.state.epoch - 1]

    checkpoint = ModelCheckpoint(folder, score_function=score, score_name="score", n_saved=n_saved,
                                 global_step_transform=lambda *_: trainer.state.epoch)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: evaluator.run([0]))
    evaluator.add_event_handler(Events.COMPLETED, checkpoint, {"model": torch.nn.Linear(1, 1)})
    evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(patience, score, trainer))
    trainer.run([0], max_epochs=len(scores))
    kept = sorted(int(re.match(r"model_(\d+)_", path.name)[1]) for path in Path(folder).iterdir())
    return trainer.state.epoch, kept


expect("growing scores", run([0.1, 0.2, 0.3, 0.4, 0.5]), (5, [5]))
expect("the first is nan", run([nan, 0.2, 0.3, 0.4, 0.5]), (5, [1]))
expect("two kept, growing scores", run([0.1, 0.2, 0.3, 0.4, 0.5], n_saved=2), (5, [4, 5]))
expect("two kept, the second is nan", run([0.1, nan, 0.3, 0.4, 0.5], n_saved=2), (5, [2, 3]))
expect("falling scores, patience 3", run([0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1], patience=3), (4, [1]))
expect("nan from the second on, patience 3", run([0.5] + 6 * [nan], patience=3), (7, [1]))
expect("nan in the third, patience 3", run([0.5, 0.4, nan, 0.2, 0.1, 0.1, 0.1], patience=3), (7, [1]))
PYTHON
