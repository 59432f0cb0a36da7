#!/usr/bin/env bash
# The maximum of a row with a NaN is a number in ONNX Runtime, and maybe not the largest; ArgMax and TopK differ.
#
# Guess: ReduceMax, ReduceMin, ArgMax and TopK of a row with a NaN take the NaN, wherever it stands, as the functions of
#        PyTorch and NumPy do that are exported to them.
# Miss:  on a CPU, ReduceMax and ArgMax leave the NaN out, if it is not at the very beginning. ReduceMax may leave out
#        other numbers with it: of 0 to 39 with a NaN at 1 it is 38, while ArgMax finds 39, and TopK takes the NaN.
#        Greedy search over logits that overflow so goes on with plausible words, a beam takes the broken one, and a
#        check of the maximum for NaN, which is right before the export, finds nothing.
. "$(dirname "$0")/environment.sh" numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0
python - <<'PYTHON'
import numpy as np
from finding import expect
from onnx import TensorProto, helper
from onnxruntime import InferenceSession

N = 40


def run(operator, logits, **attributes):
    """Return the last output of an operator over the last axis."""
    is_topk, kind = operator == "TopK", TensorProto.INT64 if operator in ("ArgMax", "TopK") else TensorProto.FLOAT
    outputs = ["values", "y"] if is_topk else ["y"]
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "k"] if is_topk else ["x"], outputs, **attributes)],
        "row",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, logits.shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [helper.make_tensor("k", TensorProto.INT64, [1], [1])] if is_topk else [],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return InferenceSession(model.SerializeToString()).run(None, {"x": logits})[0].ravel()


maxima = []
for at in (1, 2, N // 2, N - 1):
    logits = np.arange(N, dtype=np.float32)[None]
    logits[0, at] = np.nan
    best = N - 2 if at == N - 1 else N - 1
    expect(f"NaN at {at}, NumPy's max and argmax", (str(logits.max()), int(logits.argmax())), ("nan", at))
    maxima.append(run("ReduceMax", logits).item())
    expect(f"ReduceMax is a number, {maxima[-1]}", bool(np.isfinite(maxima[-1])), True)
    expect("ReduceMin is a number", bool(np.isfinite(run("ReduceMin", logits)).all()), True)
    expect("ArgMax", run("ArgMax", logits, axis=-1).item(), best)
    expect("TopK", run("TopK", logits).item(), at)
    expect("Softmax is NaN", bool(np.isnan(run("Softmax", logits)).all()), True)
expect("ReduceMax is the largest number of each row", maxima == [N - 1, N - 1, N - 1, N - 2], False)
PYTHON
