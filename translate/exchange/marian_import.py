"""A Hugging Face Marian folder, such as those of OPUS-MT, as a model folder of this project.

The network is the one of `marian_folder`, read the other way: the inverse permutation of the channels. The ids change:
padding, beginning, end and unknown come first here. Marian has one token for padding and the beginning, so both get its
embedding.

Marian cuts text with the tokenizer of the source and looks the pieces up in a vocabulary of both languages. Here both
become one SentencePiece model: what only the target has is never made of text. A piece that the vocabulary lacks is
unknown to Marian; here it has an id of its own with the embedding of the unknown, and is never said.

Dimension key: V vocabulary, D d_model, T target positions.
"""

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from transformer.config import Activation, ConfigError, ModelConfig
from transformer.model import Transformer
from translate.config.schema import DecodingConfig
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from translate.errors import UserError
from translate.exchange.marian_folder import TOLERANCE, MarianFolder, State, block_order, quiet_transformers
from translate.exchange.new_folder import new_folder
from translate.exchange.sentencepiece_model import CONTROL, UNKNOWN, pieces, rearranged
from translate.exchange.verification import Ids, Proof, compare, require_equal, teacher_forced
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec

_NEVER = -1e4  # a bias that makes a probability of 0, and a number in 16 bits too
_WANTED: dict[str, tuple[object, ...]] = {
    "model_type": ("marian",),
    "activation_function": ("relu", "swish", "silu"),
    "scale_embedding": (True,),
    "normalize_before": (False, None),
    "normalize_embedding": (False, None),
    "add_final_layer_norm": (False, None),
    "static_position_embeddings": (True, None),
    "forced_bos_token_id": (None,),
}


@dataclass(frozen=True)
class Vocabulary:
    """Ids here and there.

    Attributes:
        names: pieces by our id.
        theirs: Marian's id by our id; PAD and BOS share one.
        n_shared: ids from here on are pieces that Marian takes for unknown.
    """

    names: list[str]
    theirs: list[int]
    n_shared: int

    @property
    def ours(self) -> dict[int, int]:
        """Our id by Marian's id."""
        return {self.theirs[i]: i for i in range(self.n_shared) if i != BOS}


def import_marian(
    folder: Path, to: Path, texts: Sequence[str], *, source: str | None = None, target: str | None = None
) -> Proof:
    """Write the model folder `to` and check it on `texts`, through the package `transformers`.

    Args:
        folder: the Marian folder: config.json, weights, source.spm, vocab.json.
        to: the new model folder.
        texts: sentences for the check.
        source, target: languages; None takes what the folder says.

    Raises UserError if the folder is damaged, if it asks for what is not known here, which is named, if `to` exists, or
    if the models differ; then nothing is left at `to`.
    """
    config = _config(folder)
    vocabulary = _vocabulary(folder, config)
    tokenizer = Tokenizer(rearranged(_read(folder / "source.spm"), vocabulary.names))
    model = _model(config, vocabulary, _weights(folder))
    spec = _spec(folder, config, source, target)
    with new_folder(to) as new:
        model_folder.write_model(model, tokenizer, spec, new)
        parts = ModelFolder.open(new)
        proof = compare(
            parts,
            _Renumbered(folder, vocabulary, tokenizer),
            partial(_shared_logits, parts.model, vocabulary),
            texts,
            config.max_position_embeddings,
        )
        require_equal(proof, TOLERANCE, "logits")
    return proof


def has_own_target_tokenizer(folder: Path) -> bool:
    """Whether the target language is cut into pieces by another tokenizer than the source, which is not kept."""
    return (folder / "target.spm").is_file() and _read(folder / "target.spm") != _read(folder / "source.spm")


def _config(folder: Path) -> Any:
    """Marian's config; UserError names what is not supported."""
    values = _json(folder / "config.json")
    if values.get("model_type") != "marian":
        raise UserError(f"{folder}: is no Hugging Face Marian folder: model_type = {values.get('model_type')!r}")
    with quiet_transformers() as transformers:
        config = transformers.MarianConfig.from_pretrained(folder, local_files_only=True)
    for name, wanted in _WANTED.items():
        if (value := getattr(config, name, wanted[-1])) not in wanted:
            raise _unsupported(folder, f"{name} = {value!r}")
    for name in ("attention_heads", "ffn_dim"):
        if (one := getattr(config, f"encoder_{name}")) != (other := getattr(config, f"decoder_{name}")):
            raise _unsupported(folder, f"encoder_{name} = {one} with decoder_{name} = {other}")
    if config.decoder_vocab_size not in (None, config.vocab_size):
        raise _unsupported(folder, f"decoder_vocab_size = {config.decoder_vocab_size} with another source vocabulary")
    if config.decoder_start_token_id != config.pad_token_id:
        raise _unsupported(folder, f"decoder_start_token_id = {config.decoder_start_token_id}, which is not padding")
    return config


def _unsupported(folder: Path, what: str) -> UserError:
    return UserError(f"{folder}: this Marian model has {what}, which is not supported here; it cannot be imported")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; a Marian folder has such a file") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(_read(path))
    except ValueError as error:
        raise UserError(f"{path}: damaged; copy the folder again") from error
    if not isinstance(values, dict):
        raise UserError(f"{path}: damaged; copy the folder again")
    return values


def _tokenizer_config(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer_config.json"
    return _json(path) if path.is_file() else {}


def _vocabulary(folder: Path, config: Any) -> Vocabulary:
    """Our ids: the four special ones, Marian's others in their order, and what Marian takes for unknown."""
    if _tokenizer_config(folder).get("separate_vocabs"):
        raise _unsupported(folder, "separate_vocabs = true")
    ids: dict[str, int] = _json(folder / "vocab.json")
    if sorted(ids.values()) != list(range(config.vocab_size)):
        raise UserError(f"{folder}: vocab.json does not name the {config.vocab_size} tokens of config.json")
    codes = [piece for piece in ids if piece.startswith(">>") and piece.endswith("<<")]
    if codes:
        raise _unsupported(folder, f"several target languages, as {codes[0]} in its vocabulary shows")
    unknown = ids.get("<unk>")
    if unknown is None:
        raise _unsupported(folder, "no piece <unk>")
    special = {PAD: config.pad_token_id, BOS: config.pad_token_id, EOS: config.eos_token_id, UNK: unknown}
    if len(set(special.values())) < 3:
        raise _unsupported(folder, "one id for padding, the end or the unknown")
    by_id = {i: piece for piece, i in ids.items()}
    theirs = [*special.values(), *(i for i in by_id if i not in special.values())]
    names = [by_id[i] for i in theirs]
    names[BOS] = next(name for name in ("<s>", "<bos>", "<beginning>") if name not in ids)
    made = pieces(_read(folder / "source.spm"))
    lacking = [piece for piece, (_, kind) in made.items() if piece not in ids and kind not in (UNKNOWN, CONTROL)]
    return Vocabulary([*names, *lacking], [*theirs, *[unknown] * len(lacking)], len(names))


def _weights(folder: Path) -> State:
    """The tensors of the folder, in float32; nothing is ever unpickled but tensors."""
    safe, old = folder / "model.safetensors", folder / "pytorch_model.bin"
    try:
        state = load_file(safe) if safe.is_file() else torch.load(old, map_location="cpu", weights_only=True)
        return {name: tensor.float() for name, tensor in state.items()}
    except OSError as error:
        raise UserError(f"{folder}: has neither model.safetensors nor pytorch_model.bin; copy it again") from error
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, AttributeError, KeyError) as error:
        raise UserError(f"{folder}: its weights are damaged, or more than tensors; copy the folder again") from error


def _model(config: Any, vocabulary: Vocabulary, weights: State) -> Transformer:
    """The network with its weights."""
    shared = config.share_encoder_decoder_embeddings
    tying = "none" if not config.tie_word_embeddings else "all" if shared else "target"
    try:
        own = ModelConfig(
            vocab_size=len(vocabulary.names),
            d_model=config.d_model,
            n_heads=config.encoder_attention_heads,
            d_ff=config.encoder_ffn_dim,
            n_encoder_layers=config.encoder_layers,
            n_decoder_layers=config.decoder_layers,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            ffn_dropout=config.activation_dropout,
            max_length=config.max_position_embeddings,
            tying=tying,  # type: ignore[arg-type]
            attention_bias=True,
            output_bias=True,
            activation=config.activation_function if config.activation_function in get_args(Activation) else "swish",
        )
    except ConfigError as error:
        raise UserError(f"this Marian model cannot be imported: {error}") from error
    model = Transformer(own)
    try:
        model.load_state_dict(_state(own, vocabulary, weights, shared))
    except KeyError as error:
        raise UserError(f"the weights have no tensor {error}; copy the Marian folder again") from error
    except (RuntimeError, IndexError) as error:
        raise UserError("the weights and config.json of the Marian folder do not belong together; copy it") from error
    return model.eval()


def _state(config: ModelConfig, vocabulary: Vocabulary, weights: State, shared: bool) -> State:
    """Our names, with the channels of the stream in the paper's order."""
    order = block_order(config.d_model).argsort()
    rows = torch.tensor(vocabulary.theirs)
    bias_V = weights["final_logits_bias"].flatten()[rows]
    bias_V[vocabulary.n_shared :] = _NEVER
    state = {"output_bias_V": bias_V}
    common = "model.shared.weight"
    names: dict[str, tuple[str, ...]] = {}
    names["src_embedding.weight_VD"] = ("model.encoder.embed_tokens.weight", common)
    if config.tying != "all":
        names["own_tgt_embedding.weight_VD"] = ("model.decoder.embed_tokens.weight", *[common] * shared)
    if config.tying == "none":
        names["own_output.weight"] = ("lm_head.weight",)
    for ours, candidates in names.items():
        found = next((name for name in candidates if name in weights), candidates[0])
        state[ours] = weights[found][rows][:, order]
    for stack, depth, attentions in (
        ("encoder", config.n_encoder_layers, {"self_attn": "self_attn"}),
        ("decoder", config.n_decoder_layers, {"self_attn": "self_attn", "cross_attn": "encoder_attn"}),
    ):
        for i in range(depth):
            state |= _layer(weights, f"model.{stack}.layers.{i}.", f"{stack}.{i}.", attentions, order)
    return state


def _layer(weights: State, theirs: str, ours: str, attentions: dict[str, str], order: Tensor) -> State:
    """One layer: attentions, feed-forward network, norms."""
    state: State = {}
    for name, other in attentions.items():
        read = [f"{theirs}{other}.{part}_proj" for part in "qkv"]
        state[f"{ours}{name}.w_qkv.weight"] = torch.cat([weights[f"{part}.weight"][:, order] for part in read])
        state[f"{ours}{name}.w_qkv.bias"] = torch.cat([weights[f"{part}.bias"] for part in read])
        state[f"{ours}{name}.w_o.weight"] = weights[f"{theirs}{other}.out_proj.weight"][order]
        state[f"{ours}{name}.w_o.bias"] = weights[f"{theirs}{other}.out_proj.bias"][order]
    state[f"{ours}feed_forward.w_1.weight"] = weights[f"{theirs}fc1.weight"][:, order]
    state[f"{ours}feed_forward.w_1.bias"] = weights[f"{theirs}fc1.bias"]
    state[f"{ours}feed_forward.w_2.weight"] = weights[f"{theirs}fc2.weight"][order]
    state[f"{ours}feed_forward.w_2.bias"] = weights[f"{theirs}fc2.bias"][order]
    for i, norm in enumerate([*(f"{other}_layer_norm" for other in attentions.values()), "final_layer_norm"]):
        for part in ("weight", "bias"):
            state[f"{ours}residuals.{i}.norm.{part}"] = weights[f"{theirs}{norm}.{part}"][order]
    return state


def _spec(folder: Path, config: Any, source: str | None, target: str | None) -> TranslationSpec:
    """Languages, and how the folder decodes, as near as the search here comes to it."""
    settings, path = _tokenizer_config(folder), folder / "generation_config.json"
    source, target = source or settings.get("source_lang"), target or settings.get("target_lang")
    if not source or not target:
        raise UserError(f"{folder}: does not say its languages; name them with --source and --target")
    own = _json(folder / "config.json") | (_json(path) if path.is_file() else {})
    usual = DecodingConfig()
    beam_size, power = own.get("num_beams") or usual.beam_size, own.get("length_penalty")
    # It divides by length^power, of which alpha is a near relative; 1 is its default.
    named = "average" if power in (None, 1) else "none" if power == 0 else None
    decoding = usual.model_copy(update={"length_penalty": named} if named else {"alpha": power})
    decoding = decoding.model_copy(update={"beam_size": beam_size})
    return TranslationSpec(source, target, decoding, max_source_tokens=config.max_position_embeddings - 1)


class _Renumbered:
    """The Marian folder, as `transformers` loads it, under our ids."""

    def __init__(self, folder: Path, vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
        self.marian, self.vocabulary, self.tokenizer = MarianFolder(folder), vocabulary, tokenizer

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Our ids of each text where they mean the same to Marian, else what Marian makes of it."""
        found = []
        for ids, theirs in zip(self.tokenizer.encode_batch(texts), self.marian.encode(texts), strict=True):
            equal = self._theirs([ids]) == [theirs]
            found.append(ids if equal else [self.vocabulary.ours[i] for i in theirs])
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids; Marian writes what it does not know as its name, which is no text."""
        if UNK in ids or max(ids, default=0) >= self.vocabulary.n_shared:
            return self.tokenizer.decode(ids)
        return self.marian.decode(self._theirs([ids])[0])

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """Logits after each target position, of the end and all words, (T + 1, V) for each pair."""
        columns = self.vocabulary.theirs[EOS : self.vocabulary.n_shared]
        return [logits[:, columns] for logits in self.marian.values(self._theirs(src), self._theirs(tgt))]

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        """Greedy outputs without the end, at most limit - 1 tokens."""
        return [[self.vocabulary.ours[i] for i in ids] for ids in self.marian.greedy(self._theirs(src), limit)]

    def _theirs(self, sentences: Ids) -> list[list[int]]:
        return [[self.vocabulary.theirs[i] for i in ids] for ids in sentences]


def _shared_logits(model: Transformer, vocabulary: Vocabulary, src: Ids, tgt: Ids) -> list[Tensor]:
    """Logits as `_Renumbered.values` has them."""
    return [logits[:, EOS : vocabulary.n_shared] for logits in teacher_forced(model, src, tgt)]
