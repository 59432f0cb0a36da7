"""The encoder and the decoder as ONNX graphs, with the inputs and outputs of Hugging Face Optimum and Transformers.js.

One graph of the decoder serves all steps. The keys and values of a step join those of the steps before, which are an
input and empty in the first step. Keys and values of the encoder's output are computed for the positions that the input
lacks: for all of them in the first step, for none later. So the graph has no branches.

Dimension key: B batch, S source positions, T target positions, P target positions before them, D d_model, H heads,
W head width, V vocabulary.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.config import ModelConfig
from transformer.embedding import sinusoids
from translate.models.conversion import Affine, Array, head_width, projections

_OPSET, _IR_VERSION = 17, 8  # of ONNX; the first with layer normalisation, and the version of its files
_NEVER = -1e4  # added before a softmax, it makes a probability of 0, and it fits into 16 bits
_SAME, _END = 0, 2**62  # of `Reshape`: the size that it had; of `Slice`: as far as there is something
_KINDS = ("key", "value")
_LENGTHS = {  # of keys and values, before a step and after it
    "decoder": ("past_length", "length"),
    "encoder": ("past_source_length", "source_length"),
}
Shapes = Mapping[str, Sequence[int | str]]


def past_names(config: ModelConfig) -> list[str]:
    """Return the names of the decoder's inputs with keys and values, in the order of the outputs for the next step."""
    return [past(i, stack, kind) for i in range(config.n_decoder_layers) for stack in _LENGTHS for kind in _KINDS]


def past(layer: int, stack: str, kind: str) -> str:
    """Return the name of the input with the "key" or "value" of "decoder" or "encoder" positions in a decoder layer."""
    return f"past_key_values.{layer}.{stack}.{kind}"


def encoder(config: ModelConfig, tensors: Mapping[str, Array], n_positions: int) -> Any:
    """Return the `onnx.ModelProto` from `input_ids` and `attention_mask`, (B, S), to `last_hidden_state`, (B, S, D).

    Args:
        tensors: the model's tensors by their names in its state dict.
        n_positions: number of positions, for sinusoids.
    """
    graph = _Graph(config, tensors)
    position_S = graph.op("Range", 0, graph.size("input_ids", 1), 1)
    bias = graph.padding_bias("attention_mask")
    if config.window is not None:
        far = graph.op("Greater", graph.op("Abs", graph.distances(position_S, position_S)), config.window)
        bias = graph.op("Add", bias, graph.bias(far))
    x_BSD = graph.embed("input_ids", position_S, "src", n_positions)
    for name in (f"encoder.{i}" for i in range(config.n_encoder_layers)):

        def self_attend(x_BSD: str, name: str = name) -> str:
            attention = _Attention(graph, f"{name}.self_attn")
            return attention.read(*attention.project(x_BSD), bias)

        x_BSD = graph.residuals(x_BSD, name, self_attend, graph.feed_forward(f"{name}.feed_forward"))
    graph.final_norm(x_BSD, "encoder_norm", output="last_hidden_state")
    inputs = dict.fromkeys(("input_ids", "attention_mask"), ("batch", "source_length"))
    return graph.finished("encoder", inputs, {"last_hidden_state": ("batch", "source_length", config.d_model)})


def decoder(config: ModelConfig, tensors: Mapping[str, Array], n_positions: int) -> Any:
    """Return the `onnx.ModelProto` of one or more decoding steps.

    Its inputs are `input_ids`, (B, T), `encoder_attention_mask`, (B, S), `encoder_hidden_states`, (B, S, D), and those
    of `past_names`, (B, H, P or S, W). Its outputs are `logits`, (B, T, V), and those inputs of the next step, named
    "present" instead of "past_key_values".

    Args:
        tensors, n_positions: as for `encoder`.
    """
    graph = _Graph(config, tensors)
    n_before, n_cached = graph.size(past(0, "decoder", "key"), 2), graph.size(past(0, "encoder", "key"), 2)
    n = graph.op("Add", n_before, graph.size("input_ids", 1))
    position_T = graph.op("Range", n_before, n, 1)
    distances = graph.distances(position_T, graph.op("Range", 0, n, 1))
    self_bias = graph.bias(graph.op("Less", distances, 0))
    if config.window is not None:
        self_bias = graph.op("Add", self_bias, graph.bias(graph.op("Greater", distances, config.window)))
    cross_bias = graph.padding_bias("encoder_attention_mask")
    start = graph.op("Unsqueeze", n_cached, [0])
    rest_BSD = graph.op("Slice", "encoder_hidden_states", start, [_END], [1])
    x_BTD = graph.embed("input_ids", position_T, "tgt", n_positions)
    for i in range(config.n_decoder_layers):
        name = f"decoder.{i}"

        def self_attend(x_BTD: str, i: int = i, name: str = name) -> str:
            attention = _Attention(graph, f"{name}.self_attn")
            q, k, v = attention.project(x_BTD)
            return attention.read(q, *graph.with_past(i, "decoder", k, v), self_bias)

        def cross_attend(x_BTD: str, i: int = i, name: str = name) -> str:
            attention = _Attention(graph, f"{name}.cross_attn")
            q, k, v = attention.heads("q", x_BTD), attention.heads("k", rest_BSD), attention.heads("v", rest_BSD)
            return attention.read(q, *graph.with_past(i, "encoder", k, v), cross_bias)

        x_BTD = graph.residuals(x_BTD, name, self_attend, cross_attend, graph.feed_forward(f"{name}.feed_forward"))
    graph.logits(graph.final_norm(x_BTD, "decoder_norm"))
    source, target = ("batch", "source_length"), ("batch", "target_length")
    inputs = {
        "input_ids": target,
        "encoder_attention_mask": source,
        "encoder_hidden_states": (*source, config.d_model),
        **_cache_shapes(config, 0),
    }
    present = {_present(name): axes for name, axes in _cache_shapes(config, 1).items()}
    return graph.finished("decoder", inputs, {"logits": (*target, config.vocab_size), **present})


def _present(name: str) -> str:
    return name.replace("past_key_values", "present")


def _cache_shapes(config: ModelConfig, when: int) -> Shapes:
    """Return the axes of keys and values before (0) or after (1) a step."""
    heads, width = config.n_heads, head_width(config)
    return {name: ("batch", heads, _LENGTHS[name.split(".")[2]][when], width) for name in past_names(config)}


@dataclass
class _Graph:
    """A graph that grows node by node. Values are known by their names; each method returns the name of its result.

    Attributes:
        tensors: the model's tensors by their names in its state dict.
        weights: those that the graph uses, and constants.
    """

    config: ModelConfig
    tensors: Mapping[str, Array]
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)

    def op(
        self,
        kind: str,
        *inputs: str | float | Sequence[int],
        output: str = "",
        axis: int | None = None,
        perm: Sequence[int] | None = None,
        epsilon: float | None = None,
        transB: int | None = None,
    ) -> str:
        """Add a node of an operator; inputs that are no names are constants, and attributes have the names of ONNX."""
        from onnx import helper

        output = output or f"{kind}.{len(self.nodes)}"
        names = [x if isinstance(x, str) else self._constant(x) for x in inputs]
        attributes = {"axis": axis, "perm": perm, "epsilon": epsilon, "transB": transB}
        self.nodes.append(helper.make_node(kind, names, [output], output, **attributes))  # without those that are None
        return output

    def _constant(self, value: float | Sequence[int]) -> str:
        array = np.array(value, np.float32 if isinstance(value, float) else np.int64)
        return self.weight(f"constant.{array.dtype}.{array.tolist()}", array)

    def weight(self, name: str, array: NDArray[Any] | None = None) -> str:
        """Add a tensor of the model, or another array under this name."""
        if name not in self.weights:
            self.weights[name] = self.tensors[name] if array is None else array
        return name

    def size(self, x: str, axis: int) -> str:
        """Return the size of an axis, a scalar."""
        return self.op("Gather", self.op("Shape", x), axis)

    def distances(self, position_T: str, position_S: str) -> str:
        """Return how far each position s is before position t, (T, S)."""
        return self.op("Sub", self.op("Unsqueeze", position_T, [1]), self.op("Unsqueeze", position_S, [0]))

    def bias(self, forbidden: str) -> str:
        """Return an attention bias for a mask of what may not be read."""
        return self.op("Where", forbidden, _NEVER, 0.0)

    def padding_bias(self, mask_BS: str) -> str:
        """Return an attention bias for a mask that is 0 for padding and 1 for tokens, (B, 1, 1, S)."""
        return self.op("Unsqueeze", self.bias(self.op("Equal", mask_BS, 0)), [1, 2])

    def embed(self, ids_BT: str, position_T: str, side: str, n_positions: int) -> str:
        """Return sqrt(d_model) * E[token] + PE[position] (3.4, 3.5), (B, T, D)."""
        config, table = self.config, f"{side}_positions.table_TD"
        if config.positions != "learned":
            self.weight(table, sinusoids(n_positions, config.d_model, config.positions).numpy())
        embedding = self.weight("src_embedding.weight_VD" if side == "src" else self._target_embedding)
        x_BTD = self.op("Mul", self.op("Gather", embedding, ids_BT), config.d_model**0.5)
        return self.op("Add", x_BTD, self.op("Gather", self.weight(table), position_T))

    @property
    def _target_embedding(self) -> str:
        return "src_embedding.weight_VD" if self.config.tying == "all" else "untied_tgt_embedding.weight_VD"

    def logits(self, x_BTD: str) -> str:
        """Add the output `logits`, (B, T, V); padding and bos are never produced."""
        config = self.config
        bias_V = (
            np.array(self.tensors["output_bias_V"]) if config.output_bias else np.zeros(config.vocab_size, np.float32)
        )
        bias_V[[config.pad, config.bos]] = _NEVER
        weight = self.weight("untied_output.weight" if config.tying == "none" else self._target_embedding)
        x_ND = self.op("Reshape", x_BTD, [-1, config.d_model])
        x_NV = self.op("Gemm", x_ND, weight, self.weight("output_bias_V", bias_V), transB=1)
        shape = self.op("Concat", self.op("Shape", "input_ids"), [config.vocab_size], axis=0)
        return self.op("Reshape", x_NV, shape, output="logits")

    def linear(self, x: str, name: str, affine: Affine | None = None) -> str:
        """Return W x + b of the last axis, with the tensors of this name or others."""
        affine = affine or self.affine(name)
        product = self.op("MatMul", x, self.weight(f"{name}.weight", np.ascontiguousarray(affine.weight.T)))
        return self.op("Add", product, self.weight(f"{name}.bias", affine.bias))

    def affine(self, name: str) -> Affine:
        """Return the tensors of a linear layer, which may lack a bias."""
        weight = self.tensors[f"{name}.weight"]
        return Affine(weight, self.tensors.get(f"{name}.bias", np.zeros(len(weight), np.float32)))

    def feed_forward(self, name: str) -> Callable[[str], str]:
        """Return the network of equation 2, with the model's activation, as a sub-layer."""

        def apply(x: str) -> str:
            x = self.linear(x, f"{name}.w_1")
            x = self.op("Relu", x) if self.config.activation == "relu" else self.op("Mul", x, self.op("Sigmoid", x))
            return self.linear(x, f"{name}.w_2")

        return apply

    def residuals(self, x: str, name: str, *sublayers: Callable[[str], str]) -> str:
        """Return a layer's output: sub-layers with residual connections; norms follow them (3.1) or precede them."""
        for i, sublayer in enumerate(sublayers):
            norm = f"{name}.residuals.{i}.norm"
            if self.config.norm == "post":
                x = self._norm(self.op("Add", x, sublayer(x)), norm)
            else:
                x = self.op("Add", x, sublayer(self._norm(x, norm)))
        return x

    def final_norm(self, x: str, name: str, output: str = "") -> str:
        """Return the output of a stack: normalised, if the norms of its layers come first."""
        return self._norm(x, name, output) if self.config.norm == "pre" else self.op("Identity", x, output=output)

    def _norm(self, x: str, name: str, output: str = "") -> str:
        gain, bias = (self.weight(f"{name}.{part}") for part in ("weight", "bias"))
        return self.op("LayerNormalization", x, gain, bias, output=output, axis=-1, epsilon=self.config.norm_eps)

    def with_past(self, layer: int, stack: str, k_BHTW: str, v_BHTW: str) -> tuple[str, str]:
        """Return the keys and values of the steps before and new ones, (B, H, P + T, W) each; they are outputs, too."""
        k, v = (past(layer, stack, kind) for kind in _KINDS)
        return (
            self.op("Concat", k, k_BHTW, axis=2, output=_present(k)),
            self.op("Concat", v, v_BHTW, axis=2, output=_present(v)),
        )

    def finished(self, name: str, inputs: Shapes, outputs: Shapes) -> Any:
        """Return the `onnx.ModelProto`; inputs that end in "ids" or "mask" are integers."""
        from onnx import TensorProto, checker, helper, numpy_helper

        def declared(shapes: Shapes) -> list[Any]:
            integers = {key for key in shapes if key.endswith(("ids", "mask"))}
            kinds = {key: TensorProto.INT64 if key in integers else TensorProto.FLOAT for key in shapes}
            return [helper.make_tensor_value_info(key, kinds[key], [*axes]) for key, axes in shapes.items()]

        weights = [numpy_helper.from_array(array, key) for key, array in self.weights.items()]
        graph = helper.make_graph(self.nodes, name, declared(inputs), declared(outputs), weights)
        opset = helper.make_opsetid("", _OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION, producer_name="translate")
        checker.check_model(model)
        return model


class _Attention:
    """Multi-head attention (3.2.2) in a graph, with heads of width d_model / n_heads, as the peers have them."""

    def __init__(self, graph: _Graph, name: str) -> None:
        self.graph, self.name = graph, name
        self._projections = projections(graph.affine(f"{name}.w_qkv"), graph.affine(f"{name}.w_o"), graph.config)

    def project(self, x_BTD: str) -> tuple[str, str, str]:
        """Return queries, keys and values of the same positions, (B, H, T, W) each."""
        return self.heads("q", x_BTD), self.heads("k", x_BTD), self.heads("v", x_BTD)

    def heads(self, part: str, x_BTD: str) -> str:
        """Return the queries, keys or values of every head, (B, H, T, W)."""
        graph, config = self.graph, self.graph.config
        x = graph.linear(x_BTD, f"{self.name}.{part}", self._projections[part])
        x = graph.op("Reshape", x, [_SAME, _SAME, config.n_heads, head_width(config)])
        return graph.op("Transpose", x, perm=[0, 2, 1, 3])

    def read(self, q: str, k: str, v: str, bias: str) -> str:
        """Return equation 1 of every head, softmax(Q K^T / sqrt(d_k) + bias) V, merged by W^O, (B, T, D)."""
        graph, config = self.graph, self.graph.config
        scores = graph.op(
            "MatMul", graph.op("Mul", q, head_width(config) ** -0.5), graph.op("Transpose", k, perm=[0, 1, 3, 2])
        )
        weights = graph.op("Softmax", graph.op("Add", scores, bias), axis=-1)
        x = graph.op("Transpose", graph.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        x = graph.op("Reshape", x, [_SAME, _SAME, config.d_model])
        return graph.linear(x, f"{self.name}.o", self._projections["o"])
