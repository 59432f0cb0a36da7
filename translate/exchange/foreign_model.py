"""The weights of another toolkit's Transformer under our names.

Toolkits differ in how they call the parts of a layer (`Names`) and in the tokens that they know. Most have a vocabulary
for each language; here there is one, of all pieces (`Vocabulary`). What a side lacks is unknown there, and what the
target lacks is never said.

Dimension key: V vocabulary, D d_model, T positions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from transformer.config import ConfigError, ModelConfig
from transformer.model import Transformer
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from translate.errors import UserError
from translate.exchange.new_folder import new_folder
from translate.exchange.sentencepiece_model import CONTROL, UNKNOWN, pieces, rearranged
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec

State = dict[str, Tensor]

_NEVER = -1e4  # a bias that makes a probability of 0, and a number in 16 bits too
_SPECIAL = {PAD: "<pad>", BOS: "<s>", EOS: "</s>", UNK: "<unk>"}
_ATTENTIONS = {"encoder": ("self_attn",), "decoder": ("self_attn", "cross_attn")}


@dataclass(frozen=True)
class Vocabulary:
    """Ids here and there.

    Attributes:
        names: pieces by our id.
        source, target: their ids of a language by our id.
        said: by our id, whether the target language has it.
        sizes: how many tokens the source and the target have there.
    """

    names: list[str]
    source: list[int]
    target: list[int]
    said: list[bool]
    sizes: tuple[int, int]


def joined(
    source: Mapping[str, int], target: Mapping[str, int], made: Iterable[str], special: Mapping[int, str]
) -> Vocabulary:
    """One vocabulary of two.

    Args:
        source, target: their ids by piece.
        made: pieces that the tokenizer makes of text.
        special: what they call our PAD, BOS, EOS and UNK; two may be one.

    KeyError if a special token is missing.
    """
    taken = {*_SPECIAL.values(), *special.values()}
    words = [name for name in dict.fromkeys([*source, *target, *made]) if name not in taken]
    ids = [
        [*(side[special[i]] for i in _SPECIAL), *(side.get(word, side[special[UNK]]) for word in words)]
        for side in (source, target)
    ]
    said = [*(True for _ in _SPECIAL), *(word in target for word in words)]
    return Vocabulary([*_SPECIAL.values(), *words], ids[0], ids[1], said, (len(source), len(target)))


class Tensors:
    """The tensors of a checkpoint by name, in float32. UserError for one that is asked for and not there."""

    def __init__(self, folder: Path, state: object) -> None:
        if not isinstance(state, Mapping) or not all(isinstance(tensor, Tensor) for tensor in state.values()):
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
        return self._state[name].float()

    def require_all_used(self, ignored: Sequence[str]) -> None:
        """UserError for a tensor that nothing was made of, unless its name ends with one of `ignored`."""
        rest = [name for name in self._state if name not in self._used and not name.endswith(tuple(ignored))]
        if rest:
            raise UserError(f"{self.folder}: its model has a part {rest[0]}, which is not supported here")


@dataclass(frozen=True)
class Names:
    """How a toolkit calls the parts of its layers.

    Attributes:
        attentions: of a layer of the "encoder" and of the "decoder".
        projections: of queries, keys, values and the output of an attention.
        network: the two layers of the feed-forward network.
        norms: of a layer, in the order of the sub-layers.
    """

    attentions: Mapping[str, tuple[str, ...]]
    projections: tuple[str, str, str, str]
    network: tuple[str, str]
    norms: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Tables:
    """Matrices with a row for each token of a language, (V, D), and learned positions of both sides, (T, D)."""

    source: Tensor
    target: Tensor
    output: Tensor
    positions: tuple[Tensor, Tensor] | None = None


def build(config: ModelConfig, tensors: Tensors, names: Names, tables: Tables, vocabulary: Vocabulary) -> Transformer:
    """The network with its weights, in eval mode; what is equal is tied. UserError if the parts do not fit together."""
    if (len(tables.source), len(tables.target)) != vocabulary.sizes:
        raise UserError(
            f"{tensors.folder}: its vocabularies have {vocabulary.sizes[0]} and {vocabulary.sizes[1]} tokens, and its "
            f"weights {len(tables.source)} and {len(tables.target)}; they do not belong together"
        )
    tied = torch.equal(tables.target, tables.output)
    one = vocabulary.source == vocabulary.target and torch.equal(tables.source, tables.target)
    alike = tables.positions is None or torch.equal(*tables.positions)
    tying = "all" if tied and one and alike else "target" if tied else "none"
    own = replace(config, tying=tying, output_bias=not all(vocabulary.said))  # type: ignore[arg-type]
    model = Transformer(own)
    try:
        model.load_state_dict(_layers(own, tensors, names) | _embeddings(own, tables, vocabulary))
    except RuntimeError as error:
        raise UserError(
            f"{tensors.folder}: its weights and its settings do not belong together; copy the folder again"
        ) from error
    return model.eval()


def _embeddings(config: ModelConfig, tables: Tables, vocabulary: Vocabulary) -> State:
    state = {"src_embedding.weight_VD": tables.source[vocabulary.source]}
    if config.tying != "all":
        state["own_tgt_embedding.weight_VD"] = tables.target[vocabulary.target]
    if config.tying == "none":
        state["own_output.weight"] = tables.output[vocabulary.target]
    if config.output_bias:
        state["output_bias_V"] = torch.tensor([0.0 if said else _NEVER for said in vocabulary.said])
    if tables.positions is not None:
        state["src_embedding.position_TD"] = tables.positions[0]
        if config.tying != "all":
            state["own_tgt_embedding.position_TD"] = tables.positions[1]
    return state


def _layers(config: ModelConfig, tensors: Tensors, names: Names) -> State:
    state: State = {}
    for stack, depth in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        for i in range(depth):
            theirs, ours = f"{stack}.layers.{i}.", f"{stack}.{i}."
            for own, other in zip(_ATTENTIONS[stack], names.attentions[stack], strict=True):
                state |= _attention(tensors, f"{theirs}{other}.", f"{ours}{own}.", names.projections)
            for own, other in zip(("w_1", "w_2"), names.network, strict=True):
                state |= _affine(tensors, f"{theirs}{other}", f"{ours}feed_forward.{own}")
            for n, norm in enumerate(names.norms[stack]):
                state |= _affine(tensors, f"{theirs}{norm}", f"{ours}residuals.{n}.norm")
        if config.norm == "pre":
            state |= _affine(tensors, f"{stack}.layer_norm", f"{stack}_norm")
    return state


def _attention(tensors: Tensors, theirs: str, ours: str, names: tuple[str, str, str, str]) -> State:
    """W^Q, W^K and W^V one below the other; some checkpoints have them so."""
    *read, written = (f"{theirs}{name}" for name in names)
    state = _affine(tensors, written, f"{ours}w_o")
    for part in ("weight", "bias"):
        whole = f"{theirs}in_proj_{part}"
        apart = [] if whole in tensors else [tensors[f"{name}.{part}"] for name in read]
        state[f"{ours}w_qkv.{part}"] = torch.cat(apart) if apart else tensors[whole]
    return state


def _affine(tensors: Tensors, theirs: str, ours: str) -> State:
    return {f"{ours}.{part}": tensors[f"{theirs}.{part}"] for part in ("weight", "bias")}


def read_checkpoint(path: Path, allowed: Sequence[type] = ()) -> Mapping[str, object]:
    """What a file of `torch.save` holds; nothing is unpickled but tensors, plain values and the classes `allowed`.

    UserError if the file is missing, damaged, or holds more.
    """
    try:
        with torch.serialization.safe_globals(list(allowed)):
            found = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # what is damaged can make the unpickler fail in any way
        raise UserError(
            f"{path}: is damaged, or holds more than weights and settings, which is not loaded, for it could be a "
            "program; save it again without the state of its training"
        ) from error
    if not isinstance(found, Mapping):
        raise UserError(f"{path}: is no checkpoint of this toolkit")
    return found


def made_pieces(tokenizer: bytes) -> list[str]:
    """What a SentencePiece model makes of text; UserError if it is none."""
    return [piece for piece, (_, kind) in pieces(tokenizer).items() if kind not in (UNKNOWN, CONTROL)]


def write(model: Transformer, tokenizer: bytes, vocabulary: Vocabulary, spec: TranslationSpec, to: Path) -> None:
    """Make the model folder `to`, which opens; UserError if there is something."""
    with new_folder(to) as new:
        model_folder.write_model(model, Tokenizer(rearranged(tokenizer, vocabulary.names)), spec, new)
        ModelFolder.open(new)


def read_file(path: Path, what: str) -> bytes:
    """The bytes of a file that a folder must have; UserError names what it is."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; it is {what}") from error


def configured(folder: Path, values: Mapping[str, object]) -> ModelConfig:
    """A ModelConfig with biases in its attentions; UserError if there is no such model."""
    try:
        return ModelConfig.from_dict({"attention_bias": True, **values})
    except ConfigError as error:
        raise UserError(f"{folder}: cannot be imported: {error}") from error
