#!/usr/bin/env bash
# Tied weights that PyTorch loads with `assign=True` stay one memory but become two parameters, and move twice a step.
#
# Guess: `load_state_dict(..., assign=True)` either keeps the tie, as embedding and output share one tensor in the file,
#        or breaks it, so that the two matrices differ after the first update.
# Miss:  each name gets a parameter of its own over the same memory. The matrices look tied, and stay equal for ever;
#        but there are twice as many parameters to count, each has its part of the gradient and its own state of Adam,
#        and both updates land in the one matrix: the first step of Adam with a rate of 0.1 moves it by 0.2. Fine-tuning
#        of a model that was built on the meta device, which needs `assign`, learns its embeddings at another rate.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
from finding import expect
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.output = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, ids):
        return self.output(self.embedding(ids))


torch.manual_seed(0)
torch.save(Model().state_dict(), "model.pt")
ids = torch.arange(5)
for assign, n_parameters, distance in ((False, 1, 0.1), (True, 2, 0.2)):
    model = Model()
    model.load_state_dict(torch.load("model.pt"), assign=assign)
    weights = list(model.parameters())
    before = weights[0].detach().clone()
    optimizer = torch.optim.Adam(weights, lr=0.1)
    nn.functional.cross_entropy(model(ids), ids).backward()
    optimizer.step()
    expect(f"assign={assign}, parameters", len(weights), n_parameters)
    expect("one memory", model.output.weight.data_ptr() == model.embedding.weight.data_ptr(), True)
    expect("largest move of a weight", round((weights[0] - before).abs().max().item(), 3), distance)
PYTHON
