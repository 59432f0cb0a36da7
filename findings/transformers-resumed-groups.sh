#!/usr/bin/env bash
# A Trainer of transformers 5 that groups by length and resumes gives some sentences twice in an epoch, others never.
#
# Guess: training that resumes from a checkpoint inside an epoch goes on with the examples that are left of it, as
#        the Trainer skips what was seen, with `train_sampling_strategy="group_by_length"` as with the random
#        sampler.
# Miss:  so it is with the random sampler, whose order depends on the seed and the number of the epoch, and in the
#        first epoch. The sampler that groups draws on, from epoch to epoch, and no checkpoint holds where it is. A
#        resumed run begins its second or third epoch with the order of the first, skips as many batches as were seen
#        of another order, and so repeats some examples and leaves as many out; later epochs are others, too.
#        Translation is where lengths differ most and grouping saves most, and long epochs are the ones that are
#        interrupted.
. "$(dirname "$0")/environment.sh" torch==2.13.0 transformers==5.23.0 accelerate==1.15.0 numpy==2.4.6
python - 2>transformers.log <<'PYTHON' || { cat transformers.log >&2; exit 1; }
import torch
from finding import expect
from torch.nn.utils.rnn import pad_sequence
from transformers import PrinterCallback, Trainer, TrainingArguments

SENTENCES = [{"input_ids": [number, *[1] * (number % 7)]} for number in range(20)]
STEPS = 10  # in an epoch, of two sentences each


class Model(torch.nn.Module):
    """A model that writes down the first token, which is the number, of each sentence that it is trained on."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.seen = []

    def forward(self, input_ids):
        self.seen += input_ids[:, 0].tolist()
        return {"loss": (self.weight * input_ids).mean()}


def collate(batch):
    return {"input_ids": pad_sequence([torch.tensor(each["input_ids"]) for each in batch], batch_first=True)}


def train(strategy, checkpoint=None):
    """Return the numbers of the sentences of three epochs, or of what is left of them after a checkpoint."""
    arguments = TrainingArguments(
        strategy, per_device_train_batch_size=2, num_train_epochs=3, save_steps=5, train_sampling_strategy=strategy,
        use_cpu=True, report_to=[], disable_tqdm=True, logging_strategy="no", remove_unused_columns=False,
    )  # fmt: skip
    model = Model()
    trainer = Trainer(model, arguments, train_dataset=SENTENCES, data_collator=collate)
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=checkpoint and f"{strategy}/checkpoint-{checkpoint}")
    return model.seen


for strategy, different in [("random", [20, 20, 20]), ("group_by_length", [20, 14, 17])]:
    unbroken = train(strategy)
    for epoch, stated in enumerate(different, start=1):
        step = STEPS * epoch - 5
        resumed = unbroken[: 2 * step] + train(strategy, step)
        sentences = resumed[2 * STEPS * (epoch - 1) : 2 * STEPS * epoch]
        seen = len(sentences), len(set(sentences)), resumed == unbroken
        expect(f"{strategy}, resumed in epoch {epoch}: sentences, different ones, same order as without a break", seen,
               (20, stated, stated == 20))
PYTHON
