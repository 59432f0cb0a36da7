"""A model folder as the files of CTranslate2, written without PyTorch.

`ctranslate2.specs` writes such files too, but imports PyTorch wherever that is installed. That takes more than ten
times as long as writing a model here, and users wait for it when they translate their first sentence.

Position encodings are stored as a table, because CTranslate2's own sinusoids begin at position 1 and order the channels
differently. Padding and bos get an output bias of -10,000, so that they are never produced.

Source of names and layout: `TransformerSpec`, revision 7, in ctranslate2/specs.

Dimension key: D d_model, T positions, V vocabulary, H heads, K d_k, W head width of CTranslate2 and Marian.
"""

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.config import ModelConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.models.folder import CTRANSLATE2_FILE

Array = NDArray[np.float32]

_STORED_TYPES, _SCALE = {"F32": np.float32, "I8": np.int8, "BF16": np.uint16}, ".scale"  # of safetensors
_BINARY_VERSION, _REVISION = 6, 7
_TYPE_IDS = {"float32": 0, "int8": 1, "int16": 2}
_ACTIVATIONS = {"relu": 0, "swish": 2}
_NEVER = -1e4  # a bias that makes a probability of 0 and fits into 16 bits


def read_weights(path: Path) -> dict[str, Array]:
    """Return the tensors of model.safetensors in float32, as `transformer.checkpoint_io.load_tensors` does.

    Raises OSError, SafetensorError or ValueError if it is not one.
    """
    from safetensors import deserialize

    stored = {name: _array(tensor) for name, tensor in deserialize(path.read_bytes())}  # type: ignore[no-untyped-call]
    scaled = {name: name + _SCALE for name, array in stored.items() if array.dtype == np.int8}
    arrays = {
        name: array.astype(np.float32, copy=False) for name, array in stored.items() if name not in {*scaled.values()}
    }
    for name, scale in scaled.items():
        if scale not in stored or stored[name].shape[:1] != stored[scale].shape:
            raise ValueError(f"{path}: the tensor {name!r} is int8 without a scale for each row")
        arrays[name] *= stored[scale][:, None]
    return arrays


def _array(tensor: dict[str, Any]) -> NDArray[Any]:
    """Return a tensor of safetensors as an array; bf16 becomes float32."""
    if (kind := _STORED_TYPES.get(tensor["dtype"])) is None:
        raise ValueError(f"a tensor has the type {tensor['dtype']}, which models do not have")
    array: NDArray[Any] = np.frombuffer(tensor["data"], dtype=kind).reshape(tensor["shape"])
    if tensor["dtype"] == "BF16":  # the upper half of a float32
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def files(
    config: ModelConfig, arrays: Mapping[str, Array], tokenizer: Tokenizer, n_positions: int, *, int8: bool = False
) -> dict[str, bytes]:
    """Return the contents of the files of a CTranslate2 folder, by name.

    Args:
        arrays: the model's tensors by their names in its state dict.
        n_positions: size of the table of sinusoids; learned positions have their own.
        int8: store the matrices as 8-bit integers, the same ones that CTranslate2 makes when it loads matrices of
            float32 for int8 products.

    Raises UserError if CTranslate2 has no such architecture, if config and tensors do not belong together, or if a
    tensor is not finite.
    """
    if config.window is not None:
        raise UserError(f"CTranslate2 has no model.window, and this model has {config.window}; it cannot be exported")
    head_width(config)
    if config.positions == "learned":
        n_positions = config.max_length
    model = _Model(config, dict(arrays))
    model.put_all(n_positions)
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    settings = {
        "unk_token": pieces[tokenizer.unk],
        "bos_token": pieces[config.bos],
        "eos_token": pieces[config.eos],
        "decoder_start_token": pieces[config.bos],
        "add_source_bos": False,
        "add_source_eos": True,
        "layer_norm_epsilon": config.norm_eps,
        "multi_query_attention": False,
        "max_positions": n_positions,
    }
    return {
        CTRANSLATE2_FILE: _serialized(_quantised(model.variables) if int8 else model.variables, model.aliases),
        "config.json": json.dumps(settings, indent=2).encode() + b"\n",
        "shared_vocabulary.json": json.dumps(pieces, indent=2).encode(),
    }


@dataclass(frozen=True)
class Affine:
    """y = W x + b: weight (outputs, inputs), bias (outputs)."""

    weight: Array
    bias: Array


def head_width(config: ModelConfig) -> int:
    """Return d_model / n_heads, the head width of CTranslate2 and Marian; UserError if the model's heads are wider."""
    width, rest = divmod(config.d_model, config.n_heads)
    if rest or max(config.d_key, config.d_value) > width:
        raise UserError(
            f"this format has heads of d_model / n_heads = {config.d_model} / {config.n_heads}, and the model has "
            f"d_k = {config.d_key} and d_v = {config.d_value}, which do not fit; only narrower heads can be exported"
        )
    return width


def projections(qkv: Affine, o: Affine, config: ModelConfig) -> dict[str, Affine]:
    """Return the projections "q", "k", "v" and "o" of the same attention with heads of width d_model / n_heads.

    Narrower heads are padded with zeros, which changes no scalar product. The scale 1 / sqrt(d_k) of equation 1 becomes
    1 / sqrt(width), so W^Q is multiplied by sqrt(width / d_k).

    Args:
        qkv: the three projections, one below the other.
        o: the output projection.
        config: the architecture; UserError if its heads are wider.
    """
    width, n_heads, n_qk = head_width(config), config.n_heads, config.n_heads * config.d_key
    weights, biases = (np.split(array, [n_qk, 2 * n_qk]) for array in (qkv.weight, qkv.bias))
    q, k, v = (
        Affine(_wider(weight, n_heads, width), _wider(bias[:, None], n_heads, width)[:, 0])
        for weight, bias in zip(weights, biases, strict=True)
    )
    if config.d_key != width:
        scale = qkv.weight.dtype.type((width / config.d_key) ** 0.5)
        q = Affine(q.weight * scale, q.bias * scale)
    o_DHV = o.weight.reshape(len(o.weight), n_heads, config.d_value)
    o_DHW = np.pad(o_DHV, ((0, 0), (0, 0), (0, width - config.d_value)))
    return {"q": q, "k": k, "v": v, "o": Affine(o_DHW.reshape(len(o.weight), -1), o.bias)}


def _wider(rows: Array, n_heads: int, width: int) -> Array:
    """(H * K, D) -> (H * W, D): pad each head with rows of zeros."""
    heads = rows.reshape(n_heads, -1, rows.shape[1])
    return np.pad(heads, ((0, 0), (0, width - heads.shape[1]), (0, 0))).reshape(-1, rows.shape[1])


@dataclass
class _Model:
    """The variables of CTranslate2, filled from the tensors of a model.

    Attributes:
        rest: the tensors that are not used yet.
        variables: values by CTranslate2's names.
        aliases: names of variables that equal another one, with that one's name.
    """

    config: ModelConfig
    rest: dict[str, Array]
    variables: dict[str, NDArray[Any]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def put_all(self, n_positions: int) -> None:
        """Fill all variables; UserError if a tensor is missing, is left, has another shape or is not finite."""
        config = self.config
        for stack, n_layers, tables in (
            ("encoder", config.n_encoder_layers, "src_positions"),
            ("decoder", config.n_decoder_layers, "tgt_positions"),
        ):
            self._put_settings(stack)
            self._put_positions(stack, tables, n_positions)
            for i in range(n_layers):
                self._put_layer(stack, i)
            if config.norm == "pre":
                self._put_norm(f"{stack}/layer_norm", f"{stack}_norm")
        self._put_embeddings()
        if self.rest:
            raise UserError(f"the tensor {min(self.rest)!r} is not part of this model")

    def _take(self, name: str, *shape: int) -> Array:
        """Return a tensor, which is then used."""
        array = self.rest.pop(name, None)
        if array is None or array.shape != shape:
            raise UserError(f"the tensor {name!r} is missing or has another shape than {shape}")
        if not np.isfinite(array).all():  # CTranslate2 would take NaN for 0, in relu and in int8, and translate
            raise UserError(
                f"the tensor {name!r} is not finite because the training diverged; use an earlier checkpoint"
            )
        return array

    def _affine(self, name: str, n_out: int, n_in: int, *, bias: bool) -> Affine:
        weight = self._take(f"{name}.weight", n_out, n_in)
        return Affine(weight, self._take(f"{name}.bias", n_out) if bias else np.zeros(n_out, np.float32))

    def _put_settings(self, stack: str) -> None:
        config = self.config
        flags = {"pre_norm": config.norm == "pre", "scale_embeddings": True}
        if stack == "decoder":
            flags |= {"start_from_zero_embedding": False}
        for name, value in {"activation": _ACTIVATIONS[config.activation], **flags}.items():
            self.variables[f"{stack}/{name}"] = np.array(value, np.int8)
        self.variables[f"{stack}/num_heads"] = np.array(config.n_heads, np.int16)

    def _put_positions(self, stack: str, table: str, n_positions: int) -> None:
        name, config = f"{stack}/position_encodings/encodings", self.config
        if config.positions == "learned":
            self.variables[name] = self._take(f"{table}.table_TD", n_positions, config.d_model)
        elif stack == "encoder":
            self.variables[name] = _sinusoids(n_positions, config)
        else:
            self.aliases[name] = "encoder/position_encodings/encodings"

    def _put_embeddings(self) -> None:
        """Put the embeddings and the output projection, which may share one matrix."""
        config, shape = self.config, (self.config.vocab_size, self.config.d_model)
        source, target, output = "encoder/embeddings_0/weight", "decoder/embeddings/weight", "decoder/projection/weight"
        self.variables[source] = self._take("src_embedding.weight_VD", *shape)
        if config.tying == "all":
            self.aliases[target] = self.aliases[output] = source
        else:
            self.variables[target] = self._take("untied_tgt_embedding.weight_VD", *shape)
            if config.tying == "target":
                self.aliases[output] = target
            else:
                self.variables[output] = self._take("untied_output.weight", *shape)
        bias_V = self._take("output_bias_V", shape[0]).copy() if config.output_bias else np.zeros(shape[0], np.float32)
        bias_V[[config.pad, config.bos]] = _NEVER
        self.variables["decoder/projection/bias"] = bias_V

    def _put_layer(self, stack: str, i: int) -> None:
        """Put a layer; a sub-layer owns the norm after it or, in pre-norm models, before it."""
        config, theirs, ours = self.config, f"{stack}/layer_{i}", f"{stack}.{i}"
        self._put_attention(f"{theirs}/self_attention", f"{ours}.self_attn", ["qkv", "o"])
        if stack == "decoder":
            self._put_attention(f"{theirs}/attention", f"{ours}.cross_attn", ["q", "kv", "o"])
        inner, outer = (config.d_ff, config.d_model), (config.d_model, config.d_ff)
        for n, shape in enumerate((inner, outer)):
            self._put(f"{theirs}/ffn/linear_{n}", self._affine(f"{ours}.feed_forward.w_{n + 1}", *shape, bias=True))
        sub_layers = ["self_attention", *(["attention"] if stack == "decoder" else []), "ffn"]
        for n, name in enumerate(sub_layers):
            self._put_norm(f"{theirs}/{name}/layer_norm", f"{ours}.residuals.{n}.norm")

    def _put_attention(self, theirs: str, ours: str, together: Sequence[str]) -> None:
        """Put the projections; those that read the same positions become one matrix."""
        config, bias = self.config, self.config.attention_bias
        n_qk, n_v = config.n_heads * config.d_key, config.n_heads * config.d_value
        projected = projections(
            self._affine(f"{ours}.w_qkv", 2 * n_qk + n_v, config.d_model, bias=bias),
            self._affine(f"{ours}.w_o", config.d_model, n_v, bias=bias),
            config,
        )
        for n, names in enumerate(together):
            fused = [projected[name] for name in names]
            whole = Affine(np.concatenate([part.weight for part in fused]), np.concatenate([p.bias for p in fused]))
            self._put(f"{theirs}/linear_{n}", whole)

    def _put(self, theirs: str, affine: Affine) -> None:
        self.variables[f"{theirs}/weight"], self.variables[f"{theirs}/bias"] = affine.weight, affine.bias

    def _put_norm(self, theirs: str, ours: str) -> None:
        self.variables[f"{theirs}/gamma"] = self._take(f"{ours}.weight", self.config.d_model)
        self.variables[f"{theirs}/beta"] = self._take(f"{ours}.bias", self.config.d_model)


def _sinusoids(n: int, config: ModelConfig) -> Array:
    """Return `transformer.embedding.sinusoids(n, ...)` of an architecture, (T, D)."""
    n_waves, paper = config.d_model // 2, config.positions == "sinusoidal"
    exponent = np.arange(n_waves) / (n_waves if paper else max(n_waves - 1, 1))
    angle = np.arange(n)[:, None] * np.exp(-math.log(10000.0) * exponent)
    waves = (np.sin(angle), np.cos(angle))
    encoding = np.stack(waves, axis=-1).reshape(n, -1) if paper else np.concatenate(waves, axis=-1)
    return encoding.astype(np.float32)


def _quantised(variables: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the variables with matrices as integers from -127 to 127 and the factor of each row."""
    found = dict(variables)
    for name, value in variables.items():
        if name.endswith("/weight"):
            largest = np.abs(value).max(axis=1)
            factor = (127 / np.where(largest > 0, largest, 127)).astype(np.float32)
            found[name], found[f"{name}_scale"] = np.rint(value * factor[:, None]).astype(np.int8), factor
    return found


def _serialized(variables: Mapping[str, NDArray[Any]], aliases: Mapping[str, str]) -> bytes:
    """Return the bytes of model.bin."""
    parts = [struct.pack("<I", _BINARY_VERSION), _text("TransformerSpec"), struct.pack("<I", _REVISION)]
    parts.append(struct.pack("<I", len(variables)))
    for name, value in sorted(variables.items()):
        shape = struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape)
        parts += [_text(name), shape, struct.pack("<BI", _TYPE_IDS[value.dtype.name], value.nbytes), value.tobytes()]
    parts.append(struct.pack("<I", len(aliases)))
    parts += [_text(name) for pair in sorted(aliases.items()) for name in pair]
    return b"".join(parts)


def _text(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"
