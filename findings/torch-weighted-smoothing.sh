#!/usr/bin/env bash
# With class weights and label smoothing, PyTorch's `cross_entropy` has its least value for predictions of a rare class.
#
# Guess: the loss of an example is its smoothed loss times the weight of its label. Weights then say how much an example
#        counts, and the best prediction for it is the same as without them: 0.93 for its label, of three classes with a
#        smoothing of 0.1.
# Miss:  each term of the sum over classes has the weight of that class, so the little mass that smoothing gives to a
#        heavy class is multiplied too. With weights 1, 1 and 100, as for a class that 1 % of examples have, the best
#        prediction for an example of the first class is 0.22 for it and 0.78 for the third. A classifier of languages
#        or of errors that is trained so finds the rare class everywhere.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - <<'PYTHON'
import torch
import torch.nn.functional as F
from finding import expect

label = torch.tensor([0])


def best(weights, smoothing):
    """Return the distribution with the least loss for the label, found by gradient descent."""
    logits = torch.zeros(1, 3, requires_grad=True)
    optimizer = torch.optim.SGD([logits], lr=0.3)
    for _ in range(2_000):
        optimizer.zero_grad()
        F.cross_entropy(logits, label, torch.tensor(weights), label_smoothing=smoothing).backward()
        optimizer.step()
    return [round(p, 2) for p in logits.softmax(-1)[0].tolist()]


expect("best without weights", best([1.0, 1.0, 1.0], 0.1), [0.93, 0.03, 0.03])
expect("best with a weight of 100 for the third", best([1.0, 1.0, 100.0], 0.1), [0.22, 0.01, 0.78])
expect("with weights and no smoothing, the label is best", best([1.0, 1.0, 100.0], 0.0)[0] > 0.99, True)
PYTHON
