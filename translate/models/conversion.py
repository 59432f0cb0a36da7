"""A model folder in the format of CTranslate2, by the specifications of that package.

Position encodings are stored as a table, because CTranslate2's own sinusoids begin at position 1 and order the channels
differently. Padding and bos get an output bias of -10,000, so that they are never produced.

`ctranslate2.specs` imports PyTorch wherever that is installed, which takes much longer than a conversion. A conversion
needs numpy alone, so this module is also a program that hides PyTorch from it.

Dimension key: D d_model, T positions, V vocabulary, H heads, K d_k, W head width of CTranslate2 and Marian.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.config import CheckpointError, ModelConfig, load_config
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError, reason, say
from translate.models.folder import TranslationSpec

Array = NDArray[np.float32]

_STORED_TYPES, _SCALE = {"F32": np.float32, "I8": np.int8, "BF16": np.uint16}, ".scale"  # of safetensors
_NEVER = -1e4  # a bias that makes a probability of 0 and fits into 16 bits
_MEAN = 0  # number of alignment heads of which CTranslate2 returns the mean of all


def convert_folder(folder: Path, to: Path, n_positions: int, *, int8: bool) -> None:
    """Write the files of CTranslate2 for a model folder into the folder `to`; other arguments are those of `convert`.

    PyTorch is imported if translation.json has no alignment layer. Raises UserError or CheckpointError if a file is
    damaged, and as `convert`.
    """
    from safetensors import SafetensorError

    spec, config, path = TranslationSpec.load(folder), load_config(folder), folder / "model.safetensors"
    require_supported(config)
    try:
        tensors = read_weights(path)
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"{path}: the file is damaged or truncated ({error}); copy the model again") from error
    if spec.alignment_layer is None:
        if "torch" not in sys.modules:
            say(f"preparing {folder} for its first use, which takes some seconds")
        from transformer.checkpoint_io import load_model

        spec = spec.with_alignment_layer(load_model(folder))
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    convert(config, tensors, tokenizer, spec.alignment_layer, to, n_positions, int8=int8)


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


def convert(
    config: ModelConfig,
    tensors: Mapping[str, Array],
    tokenizer: Tokenizer,
    alignment_layer: int | None,
    to: Path,
    n_positions: int,
    *,
    int8: bool = False,
) -> None:
    """Write the files of CTranslate2 into the folder `to`.

    Args:
        tensors: the model's tensors by their names in its state dict.
        alignment_layer: index of the decoder layer whose cross-attention, the mean of the heads, is returned; None is
            the last one.
        n_positions: size of the table of sinusoids; learned positions have their own.
        int8: store the matrices as 8-bit integers, the same ones that CTranslate2 makes when it loads matrices of
            float32 for int8 products.

    Raises UserError if CTranslate2 has no such architecture, if config and tensors do not belong together, or if a
    tensor is not finite, and OSError.
    """
    from ctranslate2.specs import Activation, TransformerSpec

    require_supported(config)
    spec = TransformerSpec.from_config(
        (config.n_encoder_layers, config.n_decoder_layers),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation={"relu": Activation.RELU, "swish": Activation.SWISH}[config.activation],
        alignment_layer=-1 if alignment_layer is None else alignment_layer,
        alignment_heads=_MEAN,
    )
    if config.positions == "learned":
        n_positions = config.max_length
    _Filling(config, dict(tensors)).fill(spec, n_positions)
    tokens = tokenizer.tokens(range(tokenizer.vocab_size))
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.unk_token, spec.config.eos_token = tokens[tokenizer.unk], tokens[config.eos]
    spec.config.bos_token = spec.config.decoder_start_token = tokens[config.bos]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = config.norm_eps
    spec.config.add_attribute("max_positions", n_positions)
    spec.validate()
    spec.optimize("int8" if int8 else None)
    spec.save(str(to))


def require_supported(config: ModelConfig) -> None:
    """Raise UserError if CTranslate2 has no such architecture."""
    if config.window is not None:
        raise UserError(f"CTranslate2 has no model.window, and this model has {config.window}; it cannot be exported")
    head_width(config)


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
class _Filling:
    """Fills a specification from the tensors of a model.

    Attributes:
        rest: the tensors that are not used yet.
    """

    config: ModelConfig
    rest: dict[str, Array]

    def fill(self, spec: Any, n_positions: int) -> None:
        """Fill a `TransformerSpec`; UserError if a tensor is missing, is left, has another shape or is not finite."""
        config = self.config
        for name, stack, table in (("encoder", spec.encoder, "src"), ("decoder", spec.decoder, "tgt")):
            if config.positions == "learned":
                encodings = self._take(f"{table}_positions.table_TD", n_positions, config.d_model)
            else:
                encodings = _sinusoids(n_positions, config)
            stack.position_encodings.encodings = encodings
            for i, layer in enumerate(stack.layer):
                self._fill_layer(layer, f"{name}.{i}")
            if config.norm == "pre":
                self._fill_norm(stack.layer_norm, f"{name}_norm")
        self._fill_embeddings(spec.encoder.embeddings[0], spec.decoder.embeddings, spec.decoder.projection)
        if self.rest:
            raise UserError(f"the tensor {min(self.rest)!r} is not part of this model")

    def _take(self, name: str, *shape: int) -> Array:
        """Return a copy of a tensor, which is then used; CTranslate2 quantises in place."""
        array = self.rest.pop(name, None)
        if array is None or array.shape != shape:
            raise UserError(f"the tensor {name!r} is missing or has another shape than {shape}")
        if not np.isfinite(array).all():  # CTranslate2 would take NaN for 0, in relu and in int8, and translate
            raise UserError(
                f"the tensor {name!r} is not finite because the training diverged; use an earlier checkpoint"
            )
        return array.copy()

    def _affine(self, name: str, n_out: int, n_in: int, *, bias: bool = True) -> Affine:
        weight = self._take(f"{name}.weight", n_out, n_in)
        return Affine(weight, self._take(f"{name}.bias", n_out) if bias else np.zeros(n_out, np.float32))

    def _fill_embeddings(self, source: Any, target: Any, output: Any) -> None:
        """Fill the embeddings and the output projection, which may share one matrix."""
        config, n, width = self.config, self.config.vocab_size, self.config.d_model
        source.weight = target.weight = output.weight = self._take("src_embedding.weight_VD", n, width)
        if config.tying != "all":
            target.weight = output.weight = self._take("untied_tgt_embedding.weight_VD", n, width)
        if config.tying == "none":
            output.weight = self._take("untied_output.weight", n, width)
        output.bias = self._take("output_bias_V", n) if config.output_bias else np.zeros(n, np.float32)
        output.bias[[config.pad, config.bos]] = _NEVER

    def _fill_layer(self, layer: Any, name: str) -> None:
        """Fill a layer; a sub-layer owns the norm after it or, in pre-norm models, before it."""
        sub_layers = [layer.self_attention, layer.ffn]
        self._fill_attention(layer.self_attention, f"{name}.self_attn", "qkv", "o")
        if hasattr(layer, "attention"):  # of the decoder
            sub_layers.insert(1, layer.attention)
            self._fill_attention(layer.attention, f"{name}.cross_attn", "q", "kv", "o")
        inner, outer = self.config.d_ff, self.config.d_model
        _fill_linear(layer.ffn.linear_0, [self._affine(f"{name}.feed_forward.w_1", inner, outer)])
        _fill_linear(layer.ffn.linear_1, [self._affine(f"{name}.feed_forward.w_2", outer, inner)])
        for n, sub_layer in enumerate(sub_layers):
            self._fill_norm(sub_layer.layer_norm, f"{name}.residuals.{n}.norm")

    def _fill_attention(self, attention: Any, name: str, *together: str) -> None:
        """Fill the projections; those that read the same positions are one matrix."""
        config, bias = self.config, self.config.attention_bias
        n_qk, n_v = config.n_heads * config.d_key, config.n_heads * config.d_value
        projected = projections(
            self._affine(f"{name}.w_qkv", 2 * n_qk + n_v, config.d_model, bias=bias),
            self._affine(f"{name}.w_o", config.d_model, n_v, bias=bias),
            config,
        )
        for linear, names in zip(attention.linear, together, strict=True):
            _fill_linear(linear, [projected[part] for part in names])

    def _fill_norm(self, norm: Any, name: str) -> None:
        norm.gamma = self._take(f"{name}.weight", self.config.d_model)
        norm.beta = self._take(f"{name}.bias", self.config.d_model)


def _fill_linear(linear: Any, parts: Sequence[Affine]) -> None:
    """Fill a layer with affine maps of the same input, one below the other."""
    linear.weight = np.concatenate([part.weight for part in parts])
    linear.bias = np.concatenate([part.bias for part in parts])


def _sinusoids(n: int, config: ModelConfig) -> Array:
    """Return `transformer.embedding.sinusoids(n, ...)` of an architecture, (T, D)."""
    n_waves, paper = config.d_model // 2, config.positions == "sinusoidal"
    exponent = np.arange(n_waves) / (n_waves if paper else max(n_waves - 1, 1))
    angle = np.arange(n)[:, None] * np.exp(-math.log(10000.0) * exponent)
    waves = (np.sin(angle), np.cos(angle))
    encoding = np.stack(waves, axis=-1).reshape(n, -1) if paper else np.concatenate(waves, axis=-1)
    return encoding.astype(np.float32)


def _program(folder: str, to: str, n_positions: str, precision: str) -> int:
    """Convert a model folder, without PyTorch if possible; print what the user did wrong, and return an exit code."""
    try:
        if TranslationSpec.load(Path(folder)).alignment_layer is not None:
            sys.modules["torch"] = None  # type: ignore[assignment]  # its import fails
        convert_folder(Path(folder), Path(to), int(n_positions), int8=precision == "int8")
    except (UserError, CheckpointError) as error:
        print(error)
    except OSError as error:
        print(f"{to}: cannot be written: {reason(error)}")
    else:
        return 0
    return 2


if __name__ == "__main__":
    sys.exit(_program(*sys.argv[1:]))
