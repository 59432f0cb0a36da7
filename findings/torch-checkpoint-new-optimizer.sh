#!/usr/bin/env bash
# torch.distributed.checkpoint loads no moments into the `state_dict` of an optimizer that has not made a step.
#
# Guess: `load({"model": model.state_dict(), "optimizer": optimizer.state_dict()})` and `load_state_dict` continue a
#        training as the same with `torch.save` and `torch.load` does, or an error says that entries of the checkpoint
#        have no place.
# Miss:  `load` fills the entries that are there, and a new optimizer has none but its groups: the learning rate comes
#        back, so that it looks as if all was restored, but the moments and the number of steps do not, and the run goes
#        on with a cold Adam. `get_optimizer_state_dict` makes the entries first, and with it all of them come back. An
#        entry that the checkpoint lacks is an error, one that only the checkpoint has is passed over.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - 2>torch.log <<'PYTHON' || { cat torch.log >&2; exit 1; }
import torch
import torch.distributed.checkpoint as checkpoint
from finding import expect
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict


def new(learning_rate):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    return model, torch.optim.AdamW(model.parameters(), lr=learning_rate)


def train(model, optimizer, updates):
    for _ in range(updates):
        optimizer.zero_grad()
        model(torch.tensor([[1.0, 2.0, 3.0]])).square().sum().backward()
        optimizer.step()
    return model.weight.tolist()


model, optimizer = new(0.25)
train(model, optimizer, 3)
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
torch.save(state, "whole.pt")
checkpoint.save(state, checkpoint_id="plain")
state = {"model": model.state_dict(), "optimizer": get_optimizer_state_dict(model, optimizer)}
checkpoint.save(state, checkpoint_id="made")
unbroken = train(model, optimizer, 3)


def resumed(restore):
    """Return how many parameters have moments, the learning rate, and whether training goes on as without a break."""
    model, optimizer = new(0.5)
    restore(model, optimizer)
    moments, rate = len(optimizer.state), optimizer.param_groups[0]["lr"]
    return moments, rate, train(model, optimizer, 3) == unbroken


def from_file(model, optimizer):
    state = torch.load("whole.pt")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


def plain(model, optimizer):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    checkpoint.load(state, checkpoint_id="plain")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


def made_first(model, optimizer):
    state = {"model": model.state_dict(), "optimizer": get_optimizer_state_dict(model, optimizer)}
    checkpoint.load(state, checkpoint_id="made")
    set_optimizer_state_dict(model, optimizer, state["optimizer"])


expect("torch.load: moments, learning rate, as without a break", resumed(from_file), (2, 0.25, True))
expect("torch.distributed.checkpoint", resumed(plain), (0, 0.25, False))
expect("with get_optimizer_state_dict", resumed(made_first), (2, 0.25, True))
PYTHON
