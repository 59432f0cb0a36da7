#!/usr/bin/env bash
# The Trainer of transformers 5 evaluates the averaged weights of a schedule-free optimizer, and saves the others.
#
# Guess: with `optim="schedule_free_adamw"` the model after `train()`, and each checkpoint, has the averaged weights,
#        which are the result of this method; the Trainer changes between the two kinds, as it offers the optimizer.
# Miss:  it changes to the average for an evaluation and back for the next step, and saves what is there at that
#        time. A checkpoint has the weights at which gradients are taken, unless an evaluation was in the same step,
#        as there is one in the last if there are any; without evaluations, so has the model after `train()`. The
#        loss in the log is not that of the checkpoint. With evaluations and checkpoints at different steps, a folder
#        has both kinds, and nothing tells them apart.
. "$(dirname "$0")/environment.sh" torch==2.13.0 transformers==5.23.0 accelerate==1.15.0 schedulefree==1.4.1 numpy==2.4.6
python - 2>transformers.log <<'PYTHON' || { cat transformers.log >&2; exit 1; }
import torch
from finding import expect
from safetensors.torch import load_file
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

EXAMPLES = [{"inputs": [i % 3 - 1.0, i % 5 - 2.0], "targets": [i % 4 - 1.0]} for i in range(24)]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(2, 1)

    def forward(self, inputs, targets):
        return {"loss": torch.nn.functional.mse_loss(self.linear(inputs), targets)}


def collate(batch):
    return {name: torch.tensor([example[name] for example in batch]) for name in batch[0]}


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


class Averages(TrainerCallback):
    """Write down the averaged weights at each checkpoint."""

    def __init__(self):
        self.weights = {}

    def on_save(self, arguments, state, control, model, optimizer, **_):
        optimizer = getattr(optimizer, "optimizer", optimizer)
        training = optimizer.param_groups[0]["train_mode"]
        optimizer.eval()
        self.weights[state.global_step] = weights(model)
        if training:
            optimizer.train()


def train(**evaluation):
    """Return at which steps a checkpoint has the averaged weights, and whether the model has them after `train()`."""
    arguments = TrainingArguments(
        "out", optim="schedule_free_adamw", lr_scheduler_type="constant", learning_rate=0.05, num_train_epochs=4,
        per_device_train_batch_size=4, save_steps=4, use_cpu=True, report_to=[], disable_tqdm=True,
        logging_strategy="no", remove_unused_columns=False, label_names=["targets"], **evaluation,
    )  # fmt: skip
    averages = Averages()
    trainer = Trainer(Model(), arguments, train_dataset=EXAMPLES, eval_dataset=EXAMPLES, data_collator=collate,
                      callbacks=[averages])
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    averaged = []
    for step, average in averages.weights.items():
        saved = Model()
        saved.load_state_dict(load_file(f"out/checkpoint-{step}/model.safetensors"))
        if torch.allclose(weights(saved), average, atol=1e-6):
            averaged.append(step)
    expect("checkpoints", list(averages.weights), [4, 8, 12, 16, 20, 24])
    return averaged, torch.allclose(weights(trainer.model), averages.weights[24], atol=1e-6)


expect("averaged checkpoints and model, without evaluation", train(), ([], False))
expect("the same with an evaluation at each fifth step", train(eval_strategy="steps", eval_steps=5), ([20, 24], True))
PYTHON
