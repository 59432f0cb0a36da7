#!/usr/bin/env bash
# One improbable token makes the perplexity of torchmetrics and torcheval infinite, in float16 one of 1 in 30 million.
#
# Guess: both take the logarithm of the softmax in one step, as `cross_entropy` does, so that perplexity is its
#        exponential for all logits.
# Miss:  both compute the softmax first and its logarithm afterwards, in the type of the logits. In float32 a token
#        whose logit is 104 below the best has probability 0, and the perplexity of the whole corpus is infinite. It
#        takes one such token, as a confident model gives for a wrong reference. In float16, 18 below is enough, which
#        is usual; in bf16 the limit is that of float32.
. "$(dirname "$0")/environment.sh" torch==2.13.0 torchmetrics==1.9.0 torcheval==0.0.7 numpy==2.4.6
python - <<'PYTHON'
import torch
import torcheval.metrics.functional as torcheval
from finding import expect
from torch.nn.functional import cross_entropy
from torchmetrics.functional.text import perplexity

target = torch.zeros(1, 1_000, dtype=torch.long)
target[0, 500] = 1  # the one token that the model finds improbable


def perplexities(logit, dtype):
    """Return the exponential of cross-entropy, then what torchmetrics and torcheval say, of 1,000 tokens."""
    logits = torch.tensor([logit, 0.0, 0.0, 0.0], dtype=dtype).repeat(1, 1_000, 1)
    values = (
        cross_entropy(logits[0].float(), target[0]).exp(),
        perplexity(logits, target),
        torcheval.perplexity(logits, target),
    )
    return [round(value.item(), 2) for value in values]


expect("float32, logit 90 below", perplexities(90.0, torch.float32), [1.09, 1.09, 1.09])
expect("float32, logit 110 below", perplexities(110.0, torch.float32), [1.12, float("inf"), float("inf")])
expect("float16, logit 18 below", perplexities(18.0, torch.float16), [1.02, float("inf"), float("inf")])
PYTHON
