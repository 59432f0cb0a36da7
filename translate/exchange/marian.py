"""Hugging Face Marian folders, such as those of OPUS-MT: export for `MarianMTModel` and `MarianTokenizer`, and import.

Marian's sinusoids have the paper's frequencies, but all sines come before all cosines, while the paper's alternate. The
order of the channels of the residual stream does not matter to linear layers and layer normalisation if all use the
same order. So permuting the channels of every matrix and vector that reads or writes the stream converts one model into
the other without changing the function.

An import changes the ids: padding, bos, eos and unknown come first here. Marian usually begins the output with padding,
so our bos gets its embedding. Marian cuts text with the tokenizer of its language and looks the pieces up in a
vocabulary of both languages. Here both tokenizers have all pieces, and produce those that they produced before. A piece
that the vocabulary lacks is unknown to Marian; here it has its own id with the embedding of the unknown token, and no
probability in the output.

A model that translates into several languages reads a piece such as ">>deu<<" first, which names the target language.

Dimension key: V vocabulary, D d_model, T target positions.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import ModelConfig, SearchConfig
from transformer.model import Transformer
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from translate.errors import UserError, optional_package
from translate.exchange.foreign_model import (
    ForeignFolder,
    Names,
    Tables,
    Tensors,
    Vocabulary,
    build,
    joint_vocabulary,
    shown,
)
from translate.exchange.verification import Ids, Proof, compare, require_equal, teacher_forced
from translate.files import new_folder, write_json
from translate.models import folder as model_folder
from translate.models.conversion import Affine, head_width, projections
from translate.models.folder import LanguageError, ModelFolder, TranslationSpec, writing
from translate.models.registry import known_languages
from translate.text.languages import lookup, shortest

TOLERANCE = 1e-5  # of logits, relative to the largest one of a sentence

SETTINGS = {  # of Marian's config and of ours
    "vocab_size": "vocab_size",
    "d_model": "d_model",
    "encoder_attention_heads": "n_heads",
    "encoder_ffn_dim": "d_ff",
    "encoder_layers": "n_encoder_layers",
    "decoder_layers": "n_decoder_layers",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation_dropout": "ffn_dropout",
    "max_position_embeddings": "max_length",
    "activation_function": "activation",
}

_READ_STREAM = tuple(
    f"{name}.weight" for name in ("embed_tokens", "shared", "lm_head", "q_proj", "k_proj", "v_proj", "fc1")
)
_WRITE_STREAM = tuple(f"{name}.{part}" for name in ("out_proj", "fc2", "layer_norm") for part in ("weight", "bias"))

# What `transformers` takes for a setting that config.json lacks, from its MarianConfig.
DEFAULTS: dict[str, int | float | str | None] = {
    "vocab_size": 58101,
    "decoder_vocab_size": None,
    "d_model": 1024,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
    "encoder_layers": 12,
    "decoder_layers": 12,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "max_position_embeddings": 1024,
    "activation_function": "gelu",
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "pad_token_id": 58100,
    "decoder_start_token_id": 58100,
    "eos_token_id": 0,
}

State = dict[str, Tensor]
_SIDES = ("source", "target")
_LANGUAGE_TAG = re.compile(r">>([A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*)<<")
_FILES = ("model.safetensors", "pytorch_model.bin")
_SUPPORTED: dict[str, tuple[object, ...]] = {
    "activation_function": ("relu", "swish", "silu"),
    "scale_embedding": (True,),
    "normalize_before": (False, None),
    "normalize_embedding": (False, None),
    "add_final_layer_norm": (False, None),
    "static_position_embeddings": (True, None),
    "forced_bos_token_id": (None,),
}
_SUPPORTED_IN_SEARCH: dict[str, tuple[object, ...]] = {
    "no_repeat_ngram_size": (0, None),
    "encoder_no_repeat_ngram_size": (0, None),
    "repetition_penalty": (1.0, None),
}


def export(folder: ModelFolder, to: Path, texts: Sequence[str]) -> Proof:
    """Write the folder `to` and compare it with the original.

    Raises UserError if the package `transformers` is not installed, if Marian has no such architecture, if `to`
    exists, or if the models differ; then nothing is left at `to`.
    """
    config = folder.model.config
    _check(config)
    with writing(to), new_folder(to) as new:
        _write_tokenizer(folder.tokenizer, folder.spec, config, new)
        _write_model(folder.model, folder.spec.decoding, new)
        proof = compare(folder, MarianFolder(new), teacher_forced, texts, config.max_length)
        require_equal(proof, TOLERANCE, "logits")
    return proof


def import_marian(
    folder: Path, to: Path, texts: Sequence[str], *, source: str | None = None, target: str | None = None
) -> Proof | None:
    """Compare the imported model with the original in the package `transformers`, then write the folder `to`.

    Without that package nothing is compared, and the result is None.

    Args:
        folder: the Marian folder: config.json, weights, source.spm, target.spm, vocab.json.
        source, target: language codes; None takes those of the folder.

    Raises UserError if the folder is damaged or uses a feature that is not supported here, if `to` exists, or if the
    models differ; then nothing is left at `to`.
    """
    theirs = ForeignFolder(folder, "Marian")
    settings = _settings(theirs)
    ids = _ids_by_piece(theirs, settings)
    vocabulary = _vocabulary(theirs, settings, ids)
    model = _model(theirs, settings, vocabulary)
    spec = _spec(theirs, settings, _tags(ids), source, target).with_alignment_layer(model)
    ours, proof = ModelFolder(to, model, vocabulary.tokenizer, spec), None
    if find_spec("transformers"):
        with _loading(folder):
            original = _Original(folder, vocabulary)
        proof = compare(ours, original, original.shared_logits, texts, settings["max_position_embeddings"])
        require_equal(proof, TOLERANCE, "logits")
    model_folder.save(ours.model, ours.tokenizer, ours.spec, to)
    return proof


def _check(config: ModelConfig) -> None:
    """Raise UserError if Marian has no such architecture."""
    for name, wanted in (("norm", "post"), ("norm_eps", 1e-5), ("positions", "sinusoidal"), ("window", None)):
        if (value := getattr(config, name)) != wanted:
            raise UserError(
                f"Marian models have model.{name} = {wanted or 'none'}, and this one has {value}; export it with "
                "--format ctranslate2" + (", or train without" if name == "window" else "")
            )
    head_width(config)
    _transformers()


def _transformers() -> Any:
    """Import the package `transformers`; UserError if it is not installed."""
    return optional_package("transformers", "marian")


@contextmanager
def quiet_transformers() -> Iterator[Any]:
    """Yield the package `transformers` with its progress bars and warnings off."""
    transformers = _transformers()
    logging = transformers.utils.logging
    had_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield transformers
    finally:
        if had_bars:
            logging.enable_progress_bar()


def _write_tokenizer(tokenizer: Tokenizer, spec: TranslationSpec, config: ModelConfig, folder: Path) -> None:
    """Write the SentencePiece model of each language, their vocabulary and the tokenizer's settings."""
    pieces = tokenizer.tokens(range(tokenizer.vocab_size))
    tokenizer.save(folder / "source.spm")
    tokenizer.target.save(folder / "target.spm")
    write_json(folder / "vocab.json", {piece: i for i, piece in enumerate(pieces)})
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": spec.source,
        "target_lang": spec.target,
        "unk_token": pieces[tokenizer.unk],
        "eos_token": pieces[config.eos],
        "pad_token": pieces[config.pad],
        "model_max_length": config.max_length,
        "separate_vocabs": False,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # "</s>" in a text is no end, and "<pad>" no padding
    }
    write_json(folder / "tokenizer_config.json", settings)


def _write_model(model: Transformer, decoding: SearchConfig, folder: Path) -> None:
    """Write config, weights and decoding settings."""
    transformers, config = _transformers(), model.config
    marian = transformers.MarianMTModel(marian_config(config))
    state = marian_state(model)
    missing, unexpected = marian.load_state_dict(state, strict=False)
    if unexpected or any("embed_positions" not in name for name in missing):
        raise UserError(f"transformers {transformers.__version__} has other Marian weights; install another version")
    never = [[config.pad], [config.bos]]
    marian.generation_config = transformers.GenerationConfig(
        **generation_settings(decoding, config), bad_words_ids=never
    )
    with quiet_transformers():
        marian.save_pretrained(folder)


def generation_settings(decoding: SearchConfig, config: ModelConfig) -> dict[str, Any]:
    """Return the settings of generation_config.json for a search and an architecture."""
    settings: dict[str, Any] = {"max_length": config.max_length, **_ids(config)}
    if decoding.beam_size == 1:  # transformers saves none of the others then
        return settings
    return settings | {
        "num_beams": decoding.beam_size,
        # Marian divides by length^penalty, which is similar to the paper's ((5 + length) / 6)^alpha.
        "length_penalty": {"gnmt": decoding.alpha, "average": 1.0, "none": 0.0}[decoding.length_penalty],
        "early_stopping": True,  # once as many hypotheses have finished as the beam holds, as our search does
    }


def _ids(config: ModelConfig) -> dict[str, int]:
    """Return the special token ids for generation."""
    start, end = config.bos, config.eos
    ids = {"pad": config.pad, "bos": start, "decoder_start": start, "eos": end, "forced_eos": end}
    return {f"{name}_token_id": i for name, i in ids.items()}


def marian_config(config: ModelConfig) -> Any:
    """Return the `MarianConfig` of an architecture."""
    return _transformers().MarianConfig(**marian_settings(config))


def marian_settings(config: ModelConfig) -> dict[str, Any]:
    """Return the settings of config.json for an architecture."""
    return {theirs: getattr(config, ours) for theirs, ours in SETTINGS.items()} | {
        "decoder_vocab_size": config.vocab_size,
        "decoder_attention_heads": config.n_heads,
        "decoder_ffn_dim": config.d_ff,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": config.tying == "all",
        "tie_word_embeddings": config.tying != "none",
        **_ids(config),
    }


def marian_state(model: Transformer) -> State:
    """Return the weights under Marian's names, without the position table, which Marian computes."""
    bias_V = model.output_bias_V
    state = {
        "model.encoder.embed_tokens.weight": model.src_embedding.weight_VD,
        "model.decoder.embed_tokens.weight": model.tgt_embedding.weight_VD,
        "lm_head.weight": model.output_weight,
        "final_logits_bias": torch.zeros(1, model.config.vocab_size) if bias_V is None else bias_V[None],
    }
    if model.config.tying == "all":
        state["model.shared.weight"] = model.src_embedding.weight_VD
    for stack, layers, attentions in (
        ("encoder", model.encoder, {"self_attn": "self_attn"}),
        ("decoder", model.decoder, {"self_attn": "self_attn", "encoder_attn": "cross_attn"}),
    ):
        for i, layer in enumerate(layers):
            parts: dict[str, Any] = {"fc1": layer.feed_forward.w_1, "fc2": layer.feed_forward.w_2}  # type: ignore[union-attr]
            norms = [*(f"{name}_layer_norm" for name in attentions), "final_layer_norm"]
            parts |= {name: residual.norm for name, residual in zip(norms, layer.residuals, strict=True)}  # type: ignore[arg-type]
            for name, ours in attentions.items():
                attention = getattr(layer, ours)
                projected = projections(_affine(attention.w_qkv), _affine(attention.w_o), model.config)
                parts |= {f"{name}.{key}_proj": projected[key[0]] for key in ("q", "k", "v", "out")}
            for name, part in parts.items():
                state[f"model.{stack}.layers.{i}.{name}.weight"] = torch.as_tensor(part.weight)
                state[f"model.{stack}.layers.{i}.{name}.bias"] = torch.as_tensor(part.bias)
    return reordered({name: tensor.detach() for name, tensor in state.items()}, block_order)


def _affine(linear: nn.Linear) -> Affine:
    bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias.detach()
    return Affine(linear.weight.detach().numpy(), bias.numpy())


def block_order(d_model: int) -> Tensor:
    """Return the index in our residual stream of each channel of Marian's: all sines, then all cosines, (D)."""
    return torch.cat((torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)))


def reordered(state: Mapping[str, Tensor], order: Callable[[int], Tensor]) -> State:
    """Permute the channels of the residual stream.

    Args:
        state: weights under Marian's names.
        order: the permutation of `d_model` channels: new channel i is the old channel order(d_model)[i].
    """
    found = {}
    for name, tensor in state.items():
        if name.endswith(_READ_STREAM) and tensor.ndim == 2:  # a wrong shape is refused when it is loaded
            tensor = tensor[:, order(tensor.size(1))]
        elif name.endswith(_WRITE_STREAM) and tensor.ndim:
            tensor = tensor[order(tensor.size(0))]
        found[name] = tensor.contiguous()
    return found


class MarianFolder:
    """A Marian folder loaded by `transformers`; a `verification.Exported`."""

    def __init__(self, folder: Path) -> None:
        with quiet_transformers() as transformers:
            self.tokenizer = transformers.MarianTokenizer.from_pretrained(folder, local_files_only=True)
            # The comparison is in float32, also for weights that are stored in 16 bits.
            settings = {"local_files_only": True, "dtype": torch.float32}
            self.model = transformers.MarianMTModel.from_pretrained(folder, **settings).eval()
        self.ids: Sequence[int] = range(self.model.config.vocab_size)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return token ids without eos."""
        return [ids[:-1] for ids in self.tokenizer(list(texts))["input_ids"]]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """Return the logits after each target position, (T + 1, V) for each pair."""
        settings = self.model.config
        starts = [[settings.decoder_start_token_id, *ids] for ids in tgt]
        padded = self.tokenizer.pad({"input_ids": starts}, return_tensors="pt")["input_ids"]
        logits = self.model(**self._batch(src), decoder_input_ids=padded).logits
        return [row[: len(ids)] for row, ids in zip(logits, starts, strict=True)]

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        """Return greedy outputs without eos, of at most limit - 1 tokens."""
        end = self.model.config.eos_token_id
        outputs = self.model.generate(
            **self._batch(src), num_beams=1, do_sample=False, max_length=limit + 1, forced_eos_token_id=end
        )
        return [ids[1 : ids.index(end)] for ids in outputs.tolist()]

    def _batch(self, src: Ids) -> Any:
        ends = [[*ids, self.model.config.eos_token_id] for ids in src]
        return self.tokenizer.pad({"input_ids": ends}, return_tensors="pt")


@contextmanager
def _loading(folder: Path) -> Iterator[None]:
    """Raise UserError if `transformers` cannot load the folder in this block; a damaged file can fail in any way."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{folder}: transformers cannot load it ({reason}); copy the folder again") from error


def _settings(theirs: ForeignFolder) -> dict[str, Any]:
    """Return the settings of config.json, with defaults; UserError for one that is not supported."""
    stored = theirs.read_json("config.json")
    if (kind := stored.get("model_type")) != "marian":
        raise UserError(f"{theirs.path}: is not a Hugging Face Marian folder: model_type = {kind!r}")
    settings = {**DEFAULTS, **stored}
    for name, default in DEFAULTS.items():
        kinds = (int, float) if isinstance(default, float) else (type(default),)
        if default is not None and type(settings[name]) not in kinds and not name.endswith("_token_id"):
            raise theirs.unsupported(f"{name} = {shown(settings[name])}")
    theirs.require(settings, _SUPPORTED)
    theirs.require_equal(settings, ("attention_heads", "ffn_dim"), "{stack}_{name}")
    if settings["decoder_vocab_size"] not in (None, settings["vocab_size"]):
        raise theirs.unsupported(f"decoder_vocab_size = {shown(settings['decoder_vocab_size'])}")
    return settings


def _ids_by_piece(theirs: ForeignFolder, settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the vocabulary of both languages."""
    if theirs.read_json("tokenizer_config.json", optional=True).get("separate_vocabs"):
        raise theirs.unsupported("separate_vocabs = true")
    ids: dict[str, int] = theirs.read_json("vocab.json")
    if not _are_ids(*ids.values()) or sorted(ids.values()) != list(range(settings["vocab_size"])):
        n = settings["vocab_size"]
        raise UserError(f"{theirs.path}: vocab.json does not name the {n} tokens of config.json; copy the folder again")
    if "<unk>" not in ids:
        raise theirs.unsupported("no piece <unk>")
    return ids


def _vocabulary(theirs: ForeignFolder, settings: Mapping[str, Any], ids: Mapping[str, int]) -> Vocabulary:
    """Return our ids: four special ones, Marian's others in their order, and the pieces that are unknown to Marian."""
    pad, start, end = (settings[f"{name}_token_id"] for name in ("pad", "decoder_start", "eos"))
    by_id = {i: piece for piece, i in ids.items()}
    if not _are_ids(pad, start, end) or len({pad, end, ids["<unk>"]}) < 3 or not {pad, start, end} <= by_id.keys():
        raise theirs.unsupported(f"pad_token_id = {pad}, decoder_start_token_id = {start} and eos_token_id = {end}")
    tokenizers = theirs.read_tokenizers("source.spm", "target.spm")
    return joint_vocabulary(ids, ids, tokenizers, {PAD: by_id[pad], BOS: by_id[start], EOS: by_id[end], UNK: "<unk>"})


def _are_ids(*values: object) -> bool:
    return all(isinstance(value, int) for value in values)


def _tags(ids: Mapping[str, int]) -> dict[str, str]:
    """Return the piece that stands for each target language, by its code."""
    tags: dict[str, str] = {}
    for piece in ids:
        if found := _LANGUAGE_TAG.fullmatch(piece):
            tags.setdefault(shortest(found[1]), piece)
    return tags


def _model(theirs: ForeignFolder, settings: Mapping[str, Any], vocabulary: Vocabulary) -> Transformer:
    """Return the network with its weights, the channels of the residual stream in the paper's order."""
    state = theirs.load_checkpoint(_FILES)
    Tensors(theirs.path, state)  # refuses what is not a tensor
    tensors = Tensors(theirs.path, reordered(state, lambda d_model: block_order(d_model).argsort()))
    shared = "model.shared.weight"
    source = tensors.first(("model.encoder.embed_tokens.weight", shared))
    fallbacks = (shared,) * settings["share_encoder_decoder_embeddings"]
    target = tensors.first(("model.decoder.embed_tokens.weight", *fallbacks))
    output = target if settings["tie_word_embeddings"] else tensors["lm_head.weight"]
    values = {ours: settings[name] for name, ours in SETTINGS.items()}
    if values["activation"] == "silu":
        values["activation"] = "swish"
    tables = Tables(source, target, output, output_bias=tensors["final_logits_bias"].flatten())
    return build(values, tensors, Names(prefix="model."), tables, vocabulary)


def _spec(
    theirs: ForeignFolder, config: Mapping[str, Any], tags: dict[str, str], source: str | None, target: str | None
) -> TranslationSpec:
    """Return the languages and the nearest decoding section."""
    tokenizer = theirs.read_json("tokenizer_config.json", optional=True)
    own = [shortest(code) if isinstance(code := tokenizer.get(f"{side}_lang"), str) else code for side in _SIDES]
    one_tag = next(iter(tags)) if len(tags) == 1 else None
    target = target and (lookup(target, tags) or target)
    for given, named in zip((source, target), own, strict=True):
        if given not in (None, named, *tags) and named in known_languages():
            raise LanguageError(f"{theirs.path}: is for {named}, not {given}; leave the languages out")
    languages = theirs.languages(source or own[0], target or one_tag or own[1])
    if target and tags and target not in tags:
        raise LanguageError(f"{theirs.path}: translates into {', '.join(tags)}, not {target}; choose one of these")
    # As in transformers, config.json says how to search only without generation_config.json; then 1 is the default.
    generation = theirs.path / "generation_config.json"
    settings = theirs.read_json(generation.name if generation.is_file() else "config.json")
    theirs.require(settings, _SUPPORTED_IN_SEARCH)
    beam_size, power = settings.get("num_beams") or 1, settings.get("length_penalty")
    # Marian divides scores by length^power, by default 1. The paper's ((5 + length) / 6)^alpha is similar for a
    # positive power. A negative power multiplies scores by the length; no rule of this project does that.
    rule = "average" if power in (None, 1) else "none" if power == 0 else None
    values = {"beam_size": beam_size, **({"length_penalty": rule} if rule else {"alpha": power})}
    decoding = theirs.decoding(values, f"num_beams = {beam_size!r} and length_penalty = {power!r}")
    longest = config["max_position_embeddings"] - 1
    return TranslationSpec(*languages, decoding, max_source_tokens=longest, tags=tags)


class _Original(MarianFolder):
    """The Marian folder as `transformers` loads it; its logits are those of eos and all words, in our order."""

    def __init__(self, folder: Path, vocabulary: Vocabulary) -> None:
        super().__init__(folder)
        self.ids = vocabulary.source
        self.n_shared = sum(vocabulary.in_target)

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """Return the logits of eos and all words after each target position, (T + 1, V) for each pair."""
        return [logits[:, self.ids[EOS : self.n_shared]] for logits in super().values(src, tgt)]

    def shared_logits(self, model: Transformer, src: Ids, tgt: Ids) -> list[Tensor]:
        """Return our logits in the columns of `values`.

        Args:
            src, tgt: our token ids without bos and eos.
        """
        return [logits[:, EOS : self.n_shared] for logits in teacher_forced(model, src, tgt)]
