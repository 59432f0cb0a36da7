#!/usr/bin/env bash
# Lightning resumes inside an epoch with the first batches of the data again, and leaves out the last ones.
#
# Guess: a run that resumes from a checkpoint inside an epoch goes on with the batches that are left of it, or begins
#        the epoch again.
# Miss:  it begins with the first batch, but runs only as many as were left. Without shuffling, a run interrupted after
#        7 of 10 batches sees the first three twice and the last three never; the number of updates and the epochs are
#        as without a break. A warning speaks of "unreliable results". With the loader of torchdata, which has a state,
#        the run goes on with what is left. Long epochs are the ones that are interrupted, and a corpus whose last part
#        is of another domain then lacks that part.
. "$(dirname "$0")/environment.sh" torch==2.13.0 lightning==2.6.6 torchdata==0.11.0 numpy==2.4.6
python - 2>lightning.log <<'PYTHON' || { cat lightning.log >&2; exit 1; }
import lightning
import torch
from finding import expect
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader


class Model(lightning.LightningModule):
    """A model that writes down the batches it is trained on."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.seen = []

    def training_step(self, batch, index):
        self.seen += batch.tolist()
        return self.weight.sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1.0)


def fit(loader, checkpoint=None):
    model, callback = Model(), ModelCheckpoint(loader.__name__, filename="{step}", every_n_train_steps=7)
    lightning.Trainer(
        accelerator="cpu", max_epochs=1, callbacks=[callback], logger=False, enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(model, loader(range(10)), ckpt_path=checkpoint and f"{loader.__name__}/step={checkpoint}.ckpt")  # fmt: skip
    return model.seen


for loader, left in [(DataLoader, [0, 1, 2]), (StatefulDataLoader, [7, 8, 9])]:
    expect(f"{loader.__name__}, without a break", fit(loader), list(range(10)))
    expect(f"{loader.__name__}, resumed after 7 batches", fit(loader, 7), left)
PYTHON
