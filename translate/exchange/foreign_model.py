"""A model folder of another toolkit: its files, settings, vocabulary and weights, and the network made of them.

Errors name the file and the setting. Toolkits name the parts of a layer differently (`Names`), and most have one
vocabulary for each language. A model here has one vocabulary of all pieces (`Vocabulary`). A piece that the source
vocabulary lacks gets the embedding of the unknown token; a piece that the target vocabulary lacks gets an output bias
that makes its probability zero.

Dimension key: V vocabulary, D d_model, T positions.
"""

import json
import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from google.protobuf.message import DecodeError
from safetensors.torch import load_file
from sentencepiece import SentencePieceProcessor
from sentencepiece import sentencepiece_model_pb2 as protocol
from torch import Tensor

from transformer.config import ConfigError, ModelConfig, SearchConfig
from transformer.model import Transformer
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from translate.errors import UserError, reason
from translate.models.folder import NoLanguagesError
from translate.options import is_language_code
from translate.text.translation import decoding

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
Supported = Mapping[str, Collection[object]]
State = dict[str, Tensor]

_PLAIN = (bool, int, float, str, list, type(None))  # types of settings: others, such as tensors, have no plain `==`
_NEVER = -1e4  # a bias that makes a probability of 0 and fits into 16 bits
_NO_TOKENIZER = "the tokenizer is not a SentencePiece model, or is damaged; copy the folder again"
_SPECIAL = {PAD: "<pad>", BOS: "<s>", EOS: "</s>", UNK: "<unk>"}
_ATTENTIONS = {"encoder": ("self_attn",), "decoder": ("self_attn", "cross_attn")}
_Piece = protocol.ModelProto.SentencePiece
_SPECIAL_TYPES = {PAD: _Piece.CONTROL, BOS: _Piece.CONTROL, EOS: _Piece.CONTROL, UNK: _Piece.UNKNOWN}


@dataclass(frozen=True)
class ForeignFolder:
    """A folder that another toolkit wrote; every method raises UserError for a file or setting that it cannot use.

    Attributes:
        toolkit: name of the toolkit, for messages.
    """

    path: Path
    toolkit: str

    def unsupported(self, what: str) -> UserError:
        """Return the error for a model with a feature that this project does not have."""
        return UserError(
            f"{self.path}: this {self.toolkit} model has {what}, which is not supported here; it cannot be imported"
        )

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        path = self.path / name
        try:
            return path.read_bytes()
        except (OSError, ValueError) as error:  # ValueError: a null byte in the name
            cause = reason(error) if isinstance(error, OSError) else error
            raise UserError(f"{path}: cannot be read: {cause}; a {self.toolkit} folder needs it") from error

    def read_tokenizers(self, source: str, target: str) -> tuple[bytes, bytes]:
        """Return the tokenizers of both languages; without a file for the target, it is that of the source."""
        names = (source, target if (self.path / target).is_file() else source)
        first, second = (sentencepiece_file(self.read(name), self.path / name) for name in names)
        return first, second

    def read_lines(self, name: str) -> list[str]:
        """Return the lines of a UTF-8 file without their ends."""
        try:
            return [line.removesuffix("\r") for line in self.read(name).decode("utf-8").split("\n")]
        except UnicodeDecodeError as error:
            raise UserError(f"{self.path / name}: not UTF-8 text; copy it again") from error

    def read_json(self, name: str, *, optional: bool = False) -> dict[str, Any]:
        """Return the object of a JSON file, an empty one if an `optional` file is missing."""
        if optional and not (self.path / name).is_file():
            return {}
        try:
            values = json.loads(self.read(name))
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise UserError(f"{self.path / name}: damaged; copy the folder again")
        return values

    def load_checkpoint(self, names: Sequence[str], allowed: Sequence[type] = ()) -> Mapping[str, Any]:
        """Return the contents of a safetensors file or a file of `torch.save`.

        Args:
            names: file names; the first that exists is read.
            allowed: classes that may be unpickled beside tensors and plain values.
        """
        path = next((self.path / name for name in names if (self.path / name).is_file()), None)
        if path is None:
            raise UserError(f"{self.path}: has none of {', '.join(names)}; copy the checkpoint into it")
        if path.suffix == ".safetensors":
            try:
                return load_file(path)
            except Exception as error:  # a damaged file can fail in any way
                raise UserError(f"{path}: is damaged or truncated ({error}); copy it again") from error
        try:
            with torch.serialization.safe_globals(list(allowed)):
                found = torch.load(path, map_location="cpu", weights_only=True)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {reason(error)}") from error
        except Exception as error:  # a damaged file can make the unpickler fail in any way
            raise UserError(
                f"{path}: is damaged, or holds more than tensors and settings, which is not loaded because it could "
                "be a program; copy it again, or save it without its training state"
            ) from error
        if not isinstance(found, Mapping):
            raise UserError(f"{path}: is not a {self.toolkit} checkpoint")
        return found

    def require(self, settings: Mapping[str, Any], supported: Supported, *, where: str = "") -> None:
        """Check that every setting in `supported` has a supported value; a missing one counts as None.

        Args:
            where: prefix of the names in messages, such as "model.encoder.".
        """
        for name, values in supported.items():
            if not isinstance(value := settings.get(name), _PLAIN) or value not in values:
                raise self.unsupported(f"{where}{name} = {shown(value)}")

    def require_equal(self, settings: Mapping[str, Any], names: Sequence[str], pattern: str) -> None:
        """Check that encoder and decoder have the same settings.

        Args:
            pattern: the full name of a setting, such as "{stack}_{name}".
        """
        for name in names:
            encoder, decoder = (pattern.format(stack=stack, name=name) for stack in ("encoder", "decoder"))
            one, other = settings.get(encoder), settings.get(decoder)
            if not isinstance(one, _PLAIN) or not isinstance(other, _PLAIN) or one != other:
                raise self.unsupported(f"{encoder} = {shown(one)} with {decoder} = {shown(other)}")

    def languages(self, source: object, target: object) -> tuple[str, str]:
        """Return both languages; NoLanguagesError if one is missing or is no code of a language."""
        for language in (source, target):
            if not is_language_code(language):
                raise NoLanguagesError(
                    f"{self.path}: does not name its languages; name the source and the target language"
                )
        return str(source), str(target)

    def decoding(self, values: Mapping[str, Any], settings: str) -> SearchConfig:
        """Return the decoding section for `values`; UserError names the toolkit's `settings` if they are invalid."""
        try:
            return decoding(values)
        except (TypeError, ValueError) as error:
            raise self.unsupported(settings) from error


@dataclass(frozen=True)
class Vocabulary:
    """The pieces of an imported model and their ids in the other toolkit.

    Attributes:
        tokenizer: the toolkit's tokenizer of the source language with our ids, and that of the target as its `target`.
        source, target: ids in the toolkit's source and target vocabulary by our id.
        in_target: whether the target vocabulary has the piece, by our id.
        sizes: number of tokens in the toolkit's source and target vocabularies.
    """

    tokenizer: Tokenizer
    source: list[int]
    target: list[int]
    in_target: list[bool]
    sizes: tuple[int, int]


def sentencepiece_file(content: bytes, name: Path | str) -> bytes:
    """Return the content of a SentencePiece model file; UserError names the file if it is none, or damaged."""
    try:
        produced(content)
        SentencePieceProcessor(model_proto=content)
    except (UserError, ValueError, RuntimeError) as error:
        raise UserError(f"{name}: is not a SentencePiece model, or is damaged; copy it again") from error
    return content


def joint_vocabulary(
    source: Mapping[str, int],
    target: Mapping[str, int],
    tokenizers: tuple[bytes, bytes],
    special: Mapping[int, str],
    *,
    limited: bool = False,
) -> Vocabulary:
    """Join the vocabularies of both languages and the pieces of the tokenizers.

    Args:
        source, target: the toolkit's ids by piece.
        tokenizers: SentencePiece model files of both languages, which may be the same; UserError if one is none, see
            `sentencepiece_file`.
        special: the toolkit's names of our PAD, BOS, EOS and UNK; two of them may be one piece.
        limited: whether a tokenizer writes only pieces of the vocabulary of its language; see `rearranged`.

    Raises KeyError if a special piece is missing.
    """
    taken = {*_SPECIAL.values(), *special.values()}
    try:
        pieces = dict.fromkeys([*source, *target, *(piece for model in tokenizers for piece in produced(model))])
        words = [name for name in pieces if name not in taken]
        ours, other = (
            Tokenizer(rearranged(model, [*_SPECIAL.values(), *words], side if limited else None, side))
            for model, side in zip(tokenizers, (source, target), strict=True)
        )
        if other.serialized != ours.serialized:
            ours.target = other
    except ValueError as error:  # a piece is not UTF-8, or SentencePiece refuses the pieces
        raise UserError(_NO_TOKENIZER) from error
    ids = [
        [*(side[special[i]] for i in _SPECIAL), *(side.get(word, side[special[UNK]]) for word in words)]
        for side in (source, target)
    ]
    in_target = [*(True for _ in _SPECIAL), *(word in target for word in words)]
    return Vocabulary(ours, ids[0], ids[1], in_target, (len(source), len(target)))


def produced(serialized: bytes) -> list[str]:
    """Return the pieces that are not special, ordered by id; UserError if the file is not a SentencePiece model."""
    return [piece.piece for piece in _sentencepiece(serialized).pieces if piece.type not in _SPECIAL_TYPES.values()]


def rearranged(
    serialized: bytes, names: Sequence[str], written: Collection[str] | None = None, vocabulary: Collection[str] = ()
) -> bytes:
    """Return a model file that segments text as before, with other ids.

    Args:
        serialized: the model file; UserError if it is none.
        names: pieces by id, PAD, BOS, EOS and UNK first. They must include every piece that the model produces. Pieces
            that it does not have can be decoded, and encoding never produces them.
        written: the pieces of more than one character that encoding may produce, as `SetVocabulary` of SentencePiece
            limits it; others are divided. None allows all.
        vocabulary: the toolkit's pieces of this language. SentencePiece writes a character that it does not know as
            itself, and the toolkits look it up here, so a character that only this vocabulary has is a piece too.
    """
    model = _sentencepiece(serialized)
    known = {piece.piece: piece for piece in model.pieces if piece.type not in _SPECIAL_TYPES.values()}
    unused = _Piece(score=min(piece.score for piece in model.pieces) - 1, type=_Piece.UNUSED)
    entries = []
    for i, name in enumerate(names):
        old = _Piece(score=0.0, type=_SPECIAL_TYPES[i]) if i in _SPECIAL_TYPES else known.get(name, unused)
        kind = old.type
        if old is unused and len(name) == 1 and name in vocabulary and not model.trainer_spec.byte_fallback:
            kind = _Piece.NORMAL
        if written is not None and kind == _Piece.NORMAL and len(name) > 1 and name not in written:
            kind = _Piece.UNUSED
        entries.append(_Piece(piece=name, score=old.score, type=kind))
    del model.pieces[:]
    model.pieces.extend(entries)
    trainer = model.trainer_spec
    trainer.vocab_size = len(names)
    trainer.pad_id, trainer.bos_id, trainer.eos_id, trainer.unk_id = PAD, BOS, EOS, UNK
    trainer.pad_piece, trainer.bos_piece, trainer.eos_piece, trainer.unk_piece = names[: len(_SPECIAL_TYPES)]
    return bytes(model.SerializeToString())


def _sentencepiece(serialized: bytes) -> Any:
    """Return a SentencePiece model file as a protocol buffer."""
    try:
        model = protocol.ModelProto.FromString(serialized)
        if not model.pieces:
            raise DecodeError("no pieces")
    except DecodeError as error:
        raise UserError(_NO_TOKENIZER) from error
    return model


class Tensors:
    """The tensors of a checkpoint by name, in float32.

    Args:
        folder: where the checkpoint is, for messages.
        state: tensors by name; UserError if it is anything else.
    """

    def __init__(self, folder: Path, state: object) -> None:
        if not isinstance(state, Mapping) or not all(map(_is_dense, state.values())):
            raise UserError(f"{folder}: its checkpoint has no weights where they belong; copy the folder again")
        self.folder = folder
        self._state: State = dict(state)
        self._used = set[str]()

    def __contains__(self, name: str) -> bool:
        return name in self._state

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._state:
            raise UserError(f"{self.folder}: its checkpoint has no tensor {name}, so it is another kind of model")
        self._used.add(name)
        tensor = self._state[name]
        if not tensor.is_floating_point():
            kind = str(tensor.dtype).removeprefix("torch.")
            raise UserError(
                f"{self.folder}: its tensor {name} has the type {kind}, and weights are floats; copy it again"
            )
        if not (values := tensor.float()).isfinite().all():
            raise UserError(
                f"{self.folder}: its tensor {name} has values that are not finite, because the file is damaged or its "
                "training diverged; use another checkpoint"
            )
        return values

    def first(self, names: Sequence[str]) -> Tensor:
        """Return the first tensor that exists; UserError names the last one."""
        return self[next((name for name in names if name in self), names[-1])]

    def require_all_used(self, ignored: tuple[str, ...]) -> None:
        """Raise UserError for a tensor that was not read, unless its name ends with one of `ignored`."""
        unused = [name for name in self._state if name not in self._used and not name.endswith(ignored)]
        if unused:
            raise UserError(f"{self.folder}: its model has a part {unused[0]}, which is not supported here")


def shown(value: object) -> str:
    """Return the beginning of a setting for a message."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # hexadecimal numbers may have any length, but decimal ones may not
        return "a number with too many digits"


def _is_dense(value: object) -> bool:
    """Return whether this is a tensor whose values are there."""
    return isinstance(value, Tensor) and value.layout == torch.strided and not value.is_meta


@dataclass(frozen=True)
class Names:
    """A toolkit's names for the parts of its layers; the defaults are those of fairseq and Marian.

    Attributes:
        attentions: attention layers of an "encoder" and of a "decoder" layer.
        projections: projections of queries, keys, values and the output of an attention layer.
        network: the two linear layers of the feed-forward network.
        norms: norms of a layer, in the order of its sub-layers.
    """

    prefix: str = ""
    attentions: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"encoder": ("self_attn",), "decoder": ("self_attn", "encoder_attn")}
    )
    projections: tuple[str, str, str, str] = ("q_proj", "k_proj", "v_proj", "out_proj")
    network: tuple[str, str] = ("fc1", "fc2")
    norms: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {
            "encoder": ("self_attn_layer_norm", "final_layer_norm"),
            "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
        }
    )


@dataclass(frozen=True)
class Tables:
    """The tensors of a checkpoint that belong to no layer.

    Attributes:
        source, target, output: one row for each token of a language, (V, D).
        positions: learned positions of encoder and decoder, (T, D) each.
        output_bias: bias of the output, (V); None for none.
    """

    source: Tensor
    target: Tensor
    output: Tensor
    positions: tuple[Tensor, Tensor] | None = None
    output_bias: Tensor | None = None


def build(
    settings: Mapping[str, object], tensors: Tensors, names: Names, tables: Tables, vocabulary: Vocabulary
) -> Transformer:
    """Return the network in eval mode; equal tables are tied.

    Args:
        settings: values of a ModelConfig that tables and vocabulary do not determine.

    Raises UserError if there is no such architecture, or if the tensors do not fit it or the vocabulary.
    """
    if any(table.dim() != 2 for table in (tables.source, tables.target, tables.output)):
        raise UserError(f"{tensors.folder}: its embeddings are no matrices; copy the folder again")
    if (len(tables.source), len(tables.target)) != vocabulary.sizes:
        raise UserError(
            f"{tensors.folder}: its vocabularies have {vocabulary.sizes[0]} and {vocabulary.sizes[1]} tokens, and its "
            f"weights {len(tables.source)} and {len(tables.target)}; they do not belong together"
        )
    tied = torch.equal(tables.target, tables.output)
    is_joint = vocabulary.source == vocabulary.target and torch.equal(tables.source, tables.target)
    has_bias = tables.output_bias is not None or not all(vocabulary.in_target)
    found = {
        "vocab_size": len(vocabulary.source),
        "tying": "all" if tied and is_joint else "target" if tied else "none",
        "output_bias": has_bias,
        "attention_bias": True,
    }
    try:
        config = ModelConfig.from_dict({**settings, **found})
    except ConfigError as error:
        raise UserError(f"{tensors.folder}: cannot be imported: {error}") from error
    mismatch = UserError(
        f"{tensors.folder}: its weights and its settings do not belong together; copy the folder again"
    )
    try:  # before the network is made, as settings may name any number of layers
        state = _layers(config, tensors, names) | _embeddings(config, tables, vocabulary)
    except (RuntimeError, IndexError) as error:
        raise mismatch from error
    try:
        with torch.device("meta"):  # which takes no memory
            sizes = {name: tensor.shape for name, tensor in Transformer(config).state_dict().items()}
    except (RuntimeError, TypeError) as error:  # TypeError: a size beyond 64 bits
        raise mismatch from error
    if any(name in state and state[name].shape != size for name, size in sizes.items()):
        raise mismatch
    try:
        model = Transformer(config)
    except (RuntimeError, TypeError, MemoryError) as error:  # TypeError: a size beyond 64 bits
        raise UserError(f"{tensors.folder}: a model of its sizes does not fit into memory") from error
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise mismatch from error
    return model.eval()


def _embeddings(config: ModelConfig, tables: Tables, vocabulary: Vocabulary) -> State:
    """The embeddings, the output and the positions."""
    state = {"src_embedding.weight_VD": tables.source[vocabulary.source]}
    if config.tying != "all":
        state["untied_tgt_embedding.weight_VD"] = tables.target[vocabulary.target]
    if config.tying == "none":
        state["untied_output.weight"] = tables.output[vocabulary.target]
    if config.output_bias:
        bias_V = torch.zeros(len(tables.output)) if tables.output_bias is None else tables.output_bias
        state["output_bias_V"] = bias_V[vocabulary.target].where(torch.tensor(vocabulary.in_target), _NEVER)
    if tables.positions is not None:
        state["src_positions.table_TD"] = tables.positions[0]
        state["tgt_positions.table_TD"] = tables.positions[1]
    return state


def _layers(config: ModelConfig, tensors: Tensors, names: Names) -> State:
    """All layers and, in pre-norm models, the norm after the last one."""
    state: State = {}
    for stack, depth in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        for i in range(depth):
            theirs, ours = f"{names.prefix}{stack}.layers.{i}.", f"{stack}.{i}."
            for our_name, name in zip(_ATTENTIONS[stack], names.attentions[stack], strict=True):
                state |= _attention(tensors, f"{theirs}{name}.", f"{ours}{our_name}.", names.projections)
            for our_name, name in zip(("w_1", "w_2"), names.network, strict=True):
                state |= _affine(tensors, f"{theirs}{name}", f"{ours}feed_forward.{our_name}")
            for n, name in enumerate(names.norms[stack]):
                state |= _affine(tensors, f"{theirs}{name}", f"{ours}residuals.{n}.norm")
        if config.norm == "pre":
            state |= _affine(tensors, f"{names.prefix}{stack}.layer_norm", f"{stack}_norm")
    return state


def _attention(tensors: Tensors, theirs: str, ours: str, names: tuple[str, str, str, str]) -> State:
    """One attention layer: W^Q, W^K and W^V become one matrix; in some checkpoints they already are."""
    *inputs, output = (f"{theirs}{name}" for name in names)
    state = _affine(tensors, output, f"{ours}w_o")
    for part in ("weight", "bias"):
        fused = f"{theirs}in_proj_{part}"
        state[f"{ours}w_qkv.{part}"] = (
            tensors[fused] if fused in tensors else torch.cat([tensors[f"{name}.{part}"] for name in inputs])
        )
    return state


def _affine(tensors: Tensors, theirs: str, ours: str) -> State:
    """Weight and bias of one layer."""
    return {f"{ours}.{part}": tensors[f"{theirs}.{part}"] for part in ("weight", "bias")}
