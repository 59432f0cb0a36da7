#!/usr/bin/env bash
# A sentence of padding alone is NaN in PyTorch's `nn.MultiheadAttention` under `no_grad`, and 0 with gradients.
#
# Guess: whether a row that may attend to nothing is NaN depends on `need_weights`: with weights the softmax is written
#        out and is NaN; without, the fused kernel gives 0, in training, in `eval()` and under `no_grad` alike.
# Miss:  in `eval()`, self-attention without gradients takes another path, whose softmax is NaN for that row; so it is
#        in a `TransformerEncoderLayer`. With an odd number of heads there is no such path, and the row is 0. A blank
#        line in a batch is harmless in a validation with gradients, or in a small model with 3 heads, and NaN in
#        translation.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6
python - 2>warnings.log <<'PYTHON'
import torch
from finding import expect
from torch import nn

torch.manual_seed(0)
attention = nn.MultiheadAttention(6, 2, batch_first=True)
odd = nn.MultiheadAttention(6, 3, batch_first=True).eval()
layer = nn.TransformerEncoderLayer(6, 2, 7, batch_first=True)
x_BTD = torch.randn(2, 5, 6)
padding_BT = torch.tensor([[False] * 5, [True] * 5])  # the second sentence is padding alone


def nan_rows(module, gradients, **options):
    with torch.set_grad_enabled(gradients):
        if module is not layer:
            y_BTD = module(x_BTD, x_BTD, x_BTD, key_padding_mask=padding_BT, **options)[0]
        else:
            y_BTD = layer(x_BTD, src_key_padding_mask=padding_BT)
    return y_BTD.isnan().any(dim=2).any(dim=1).tolist()


for gradients in (True, False):
    expect(f"train, gradients {gradients}", nan_rows(attention, gradients, need_weights=False), [False, False])
attention.eval(), layer.eval()
for gradients in (True, False):
    expect(f"weights, gradients {gradients}", nan_rows(attention, gradients, need_weights=True), [False, True])
    expect(f"eval, gradients {gradients}", nan_rows(attention, gradients, need_weights=False), [False, not gradients])
    expect(f"eval, three heads, gradients {gradients}", nan_rows(odd, gradients, need_weights=False), [False, False])
    expect(f"eval, encoder layer, gradients {gradients}", nan_rows(layer, gradients), [False, not gradients])
PYTHON
