#!/usr/bin/env bash
# A query that may see no key has 0 from PyTorch's attention, and the mean of all values after an export to ONNX.
#
# Guess: `F.scaled_dot_product_attention` with a Boolean mask gives the same in ONNX Runtime, if it is exported with
#        `torch.onnx.export(dynamo=True)`: also for a row of the mask that allows nothing, 0 in both or NaN in both.
# Miss:  the exporter writes the lowest number of float32, not minus infinity, for what is forbidden. Where all keys of
#        a row are forbidden, they are so alike, and each has the same weight, padding and later words too. The rows of
#        a padded query, or of a context that is missing, are such: a mean over positions that leaves them out by their
#        zeros has other values after the export. All other rows are the same, so a test without such a row passes.
. "$(dirname "$0")/environment.sh" torch==2.13.0 numpy==2.4.6 onnx==1.23.2 onnxscript==0.7.2 onnxruntime==1.32.0
OMP_NUM_THREADS=1 python - 2>/dev/null <<'PYTHON'
import onnxruntime
import torch
import torch.nn.functional as F
from finding import expect


class Attention(torch.nn.Module):
    def forward(self, query, key, value, allowed):
        return F.scaled_dot_product_attention(query, key, value, allowed)


torch.manual_seed(0)
query, key, value = torch.randn(1, 1, 3, 4), torch.randn(1, 1, 5, 4), torch.randn(1, 1, 5, 4)
allowed = torch.ones(1, 1, 3, 5, dtype=torch.bool).tril(1)
allowed[..., 1, :] = False
inputs = query, key, value, allowed
torch.onnx.export(Attention(), inputs, dynamo=True, verbose=False).save("model.onnx")
session = onnxruntime.InferenceSession("model.onnx")
names = [entry.name for entry in session.get_inputs()]
(output,) = session.run(None, dict(zip(names, (tensor.numpy() for tensor in inputs), strict=True)))
exported, own = torch.from_numpy(output)[0, 0], Attention()(*inputs)[0, 0]
alike = [torch.allclose(exported[row], own[row], atol=1e-5) for row in range(3)]
expect("rows that are the same", alike, [True, False, True])
expect("PyTorch, the row without keys is 0", own[1].tolist(), [0.0] * 4)
expect("ONNX Runtime, it is the mean of all values", torch.allclose(exported[1], value[0, 0].mean(0), atol=1e-5), True)
PYTHON
