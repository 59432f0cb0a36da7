#!/usr/bin/env bash
# With Lightning's averaging of weights, whatever is saved before the average starts holds the untrained weights.
#
# Guess: with `EMAWeightAveraging(update_starting_at_step=...)` the model is as without the callback until that step:
#        validation, checkpoints and the end of `fit` have the trained weights.
# Miss:  the average is a copy of the weights from before the first update, and takes their place during validation, in
#        checkpoints and at the end from the beginning. Until it starts, every validation scores the untrained model (or
#        that from which a fine-tuning began), so that early stopping sees no progress; the `state_dict` of a checkpoint
#        is that model, and after a `fit` that ends before the step, all training is gone from the module.
. "$(dirname "$0")/environment.sh" torch==2.13.0 lightning==2.6.6 numpy==2.4.6
python - 2>lightning.log <<'PYTHON' || { cat lightning.log >&2; exit 1; }
import lightning
import torch
from finding import expect
from lightning.pytorch.callbacks import EMAWeightAveraging, ModelCheckpoint
from torch.utils.data import DataLoader

STEPS = 4  # in an epoch


class Model(lightning.LightningModule):
    """A weight that begins at 0 and grows by 1 in each update."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.validated = []

    def training_step(self, batch, index):
        return -self.weight.sum()

    def validation_step(self, batch, index):
        self.validated.append(self.weight.item())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1.0)


def fit(start):
    """Train two epochs; return the weight in the two validations, in the two checkpoints, and at the end."""
    model, checkpoint = Model(), ModelCheckpoint(f"start{start}", filename="{epoch}", save_top_k=-1)
    callbacks = [checkpoint] + ([] if start is None else [EMAWeightAveraging(decay=0.5, update_starting_at_step=start)])
    lightning.Trainer(
        accelerator="cpu", max_epochs=2, callbacks=callbacks, logger=False, num_sanity_val_steps=0,
        enable_progress_bar=False, enable_model_summary=False,
    ).fit(model, DataLoader(range(STEPS)), DataLoader(range(1)))  # fmt: skip
    saved = [torch.load(f"start{start}/epoch={epoch}.ckpt")["state_dict"]["weight"].item() for epoch in range(2)]
    return model.validated, saved, model.weight.item()


expect("no average: validated, saved, at the end", fit(None), ([4.0, 8.0], [4.0, 8.0], 8.0))
expect("an average from update 6 on", fit(6), ([0.0, 7.5], [0.0, 7.5], 7.5))
expect("an average from update 100 on", fit(100), ([0.0, 0.0], [0.0, 0.0], 0.0))
PYTHON
