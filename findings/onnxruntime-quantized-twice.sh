#!/usr/bin/env bash
# ONNX Runtime, up to 1.31.1, quantises a matrix that two nodes of a model read into another matrix, without a message.
#
# Guess: the outputs of a model after `quantize_dynamic` are close to those before, also where two layers share their
#        weights, which the ONNX file has once, under one name.
# Miss:  a `Gemm` with transB = 1, which is what PyTorch's `Linear` is exported as, becomes a `MatMul`, and its matrix is
#        transposed in its place. If a second `Gemm` reads it, it is transposed twice, so both layers get it the wrong
#        way round. If a `Gather` reads it, as in a language model whose output is tied to its embedding, the embeddings
#        are columns instead of rows. A square matrix shows nothing but wrong outputs; with another one, the session
#        cannot be created. 1.32.0 makes a copy. A matrix for each node is right everywhere.
. "$(dirname "$0")/environment.sh" onnx==1.22.0 onnxruntime==1.31.1
python - <<'PYTHON'
import logging

import numpy as np
import onnx
from finding import expect
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import InferenceSession
from onnxruntime.quantization import quantize_dynamic

logging.disable()  # the advice to simplify the graph first, which changes nothing here
rng = np.random.default_rng(0)
w, x = rng.normal(size=(16, 16)).astype(np.float32), rng.normal(size=(5, 16)).astype(np.float32)
ids = np.array([3, 1, 4, 15, 9])


def correlation(expected, feed, kind, *nodes):
    """Return how the outputs before and after quantisation correlate with those of NumPy."""
    value = helper.make_tensor_value_info
    inputs = [value(name, kind, array.shape) for name, array in feed.items()]
    weights = [numpy_helper.from_array(w, name) for name in ("w", "copy") if any(name in node.input for node in nodes)]
    graph = helper.make_graph(nodes, "graph", inputs, [value("y", TensorProto.FLOAT, [5, 16])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
    quantize_dynamic("model.onnx", "quantized.onnx")
    outputs = [InferenceSession(name).run(None, feed)[0] for name in ("model.onnx", "quantized.onnx")]
    return tuple(round(float(np.corrcoef(one.ravel(), expected.ravel())[0, 1]), 1) for one in outputs)


def linear(inputs, output):
    """Return a node like the `Linear` of PyTorch."""
    return helper.make_node("Gemm", inputs, [output], transB=1)


real, integer = TensorProto.FLOAT, TensorProto.INT64
once = correlation(x @ w.T, {"x": x}, real, linear(["x", "w"], "y"))
expect("a layer used once", once, (1.0, 1.0))
twice = correlation(x @ w.T @ w.T, {"x": x}, real, linear(["x", "w"], "h"), linear(["h", "w"], "y"))
expect("a layer used twice", twice, (1.0, 0.2))
copied = correlation(x @ w.T @ w.T, {"x": x}, real, linear(["x", "w"], "h"), linear(["h", "copy"], "y"))
expect("a layer and its copy", copied, (1.0, 1.0))
embedding = helper.make_node("Gather", ["w", "ids"], ["h"])
tied = correlation(w[ids] @ w.T, {"ids": ids}, integer, embedding, linear(["h", "w"], "y"))
expect("an embedding tied to the output", tied, (1.0, 0.2))
PYTHON
