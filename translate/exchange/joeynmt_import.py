"""A folder of JoeyNMT 2, with a Transformer, as a model folder of this project.

    config.yaml                      settings
    best.ckpt, latest.ckpt           weights; the first that is there
    src_vocab.txt, trg_vocab.txt     the pieces of each language, a line each
    the `model_file` of config.yaml  SentencePiece

Post- and pre-norm are those of this project; positions are the paper's; norms have an epsilon of their own.

Source: joeynmt/transformer_layers.py, encoders.py, decoders.py, model.py, vocabulary.py and search.py of JoeyNMT.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.config import ModelConfig
from translate.config.schema import DecodingConfig
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK
from translate.errors import UserError
from translate.exchange.foreign_model import (
    Names,
    Tables,
    Tensors,
    build,
    configured,
    joined,
    made_pieces,
    read_checkpoint,
    read_file,
    write,
)
from translate.models.folder import TranslationSpec

_FILES = ("best.ckpt", "latest.ckpt")
_SPECIAL = {UNK: "unk", PAD: "pad", BOS: "bos", EOS: "eos"}  # in the order of their ids there
_USUAL = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
_NORM_EPS = 1e-6
_NAMES = Names(
    attentions={"encoder": ("src_src_att",), "decoder": ("trg_trg_att", "src_trg_att")},
    projections=("q_layer", "k_layer", "v_layer", "output_layer"),
    network=("feed_forward.pwff_layer.0", "feed_forward.pwff_layer.3"),
    norms={
        "encoder": ("layer_norm", "feed_forward.layer_norm"),
        "decoder": ("x_layer_norm", "dec_layer_norm", "feed_forward.layer_norm"),
    },
)
_STACK: dict[str, tuple[object, ...]] = {
    "type": ("transformer",),
    "alpha": (1.0,),
    "activation": ("relu", "swish"),
}
_LANGUAGE: dict[str, tuple[object, ...]] = {
    "level": ("bpe",),
    "tokenizer_type": ("sentencepiece",),
    "lowercase": (False,),
    "normalize": (False,),
}
_EQUAL = ("hidden_size", "num_heads", "ff_size", "layer_norm", "activation")


def import_joeynmt(folder: Path, to: Path, *, source: str | None = None, target: str | None = None) -> None:
    """Write the model folder `to`.

    Args:
        folder: of JoeyNMT.
        to: the new model folder.
        source, target: languages; None takes what config.yaml says.

    Raises UserError if the folder is damaged, if it asks for what is not known here, which is named, or if `to` exists.
    """
    settings = _settings(folder)
    data, stacks = _section(folder, settings, "data"), _section(folder, settings, "model")
    source, target = (
        source or _section(folder, data, "src").get("lang"),
        target or _section(folder, data, "trg").get("lang"),
    )
    if not source or not target:
        raise UserError(f"{folder}: does not say its languages; name them with --source and --target")
    tokenizer = read_file(_tokenizer(folder, data, "src"), "the tokenizer of the source")
    special = _special(folder, data)
    sides = [_vocabulary(folder / f"{side}_vocab.txt", special) for side in ("src", "trg")]
    vocabulary = joined(sides[0], sides[1], made_pieces(tokenizer), special)
    tensors = Tensors(folder, read_checkpoint(_checkpoint(folder)).get("model_state"))
    tables = Tables(
        tensors["src_embed.lut.weight"], tensors["trg_embed.lut.weight"], tensors["decoder.output_layer.weight"]
    )
    model = build(_config(folder, stacks, len(vocabulary.names)), tensors, _NAMES, tables, vocabulary)
    tensors.require_all_used((".pe.pe",))
    longest = _section(folder, data, "src").get("max_length")
    longest = longest if isinstance(longest, int) and longest > 0 else None
    write(
        model,
        tokenizer,
        vocabulary,
        TranslationSpec(source, target, _decoding(folder, settings), max_source_tokens=longest),
        to,
    )


def has_own_target_tokenizer(folder: Path) -> bool:
    """Whether the target language is cut into pieces by another tokenizer than the source, which is not kept."""
    data = _section(folder, _settings(folder), "data")
    source, target = (_tokenizer(folder, data, side) for side in ("src", "trg"))
    return target.is_file() and target.read_bytes() != source.read_bytes()


def _settings(folder: Path) -> Mapping[str, Any]:
    """What config.yaml says, that which is not supported refused."""
    import yaml

    path = folder / "config.yaml"
    try:
        settings = yaml.safe_load(read_file(path, "the settings of a JoeyNMT model"))
    except yaml.YAMLError as error:
        raise UserError(f"{path}: damaged; copy the folder again") from error
    data, stacks = _section(folder, settings, "data"), _section(folder, settings, "model")
    for side in ("src", "trg"):
        language = _section(folder, data, side)
        _require(folder, f"data.{side}", language, _LANGUAGE)
        _require(folder, f"data.{side}.tokenizer_cfg", language.get("tokenizer_cfg") or {}, {"pretokenizer": ("none",)})
    _require(
        folder, "data.special_symbols", data.get("special_symbols") or {}, {"lang_tags": ([],), "sep_token": (None,)}
    )
    encoder, decoder = (_section(folder, stacks, stack) for stack in ("encoder", "decoder"))
    for stack, own in (("encoder", encoder), ("decoder", decoder)):
        _require(folder, f"model.{stack}", own, _STACK)
        # What is usual depends on its version.
        _require(folder, f"model.{stack}", own, {"layer_norm": ("post", "pre")}, "not named")
        _require(folder, f"model.{stack}.embeddings", _section(folder, own, "embeddings"), {"scale": (True,)}, False)
    for name in _EQUAL:
        if (one := encoder.get(name)) != (other := decoder.get(name)):
            raise _unsupported(folder, f"model.encoder.{name} = {one!r} with model.decoder.{name} = {other!r}")
    return settings  # type: ignore[no-any-return]


def _section(folder: Path, values: object, name: str) -> Mapping[str, Any]:
    """A table of the settings; UserError if it is not there."""
    found = values.get(name) if isinstance(values, Mapping) else None
    if not isinstance(found, Mapping):
        raise UserError(f"{folder / 'config.yaml'}: has no section {name!r}, as JoeyNMT 2 writes it")
    return found


def _require(
    folder: Path, where: str, values: Mapping[str, Any], wanted: Mapping[str, tuple[object, ...]], usual: object = None
) -> None:
    """UserError for a value that is not supported; one that is not there is `usual`, or else the first wanted."""
    for name, allowed in wanted.items():
        if (value := values.get(name, allowed[0] if usual is None else usual)) not in allowed:
            raise _unsupported(folder, f"{where}.{name} = {value!r}")


def _unsupported(folder: Path, what: str) -> UserError:
    return UserError(f"{folder}: this JoeyNMT model has {what}, which is not supported here; it cannot be imported")


def _tokenizer(folder: Path, data: Mapping[str, Any], side: str) -> Path:
    """The SentencePiece model of a language, which stands in the folder wherever it was."""
    name = _section(folder, _section(folder, data, side), "tokenizer_cfg").get("model_file")
    if not isinstance(name, str):
        raise UserError(f"{folder / 'config.yaml'}: data.{side}.tokenizer_cfg names no model_file")
    return folder / Path(name).name


def _checkpoint(folder: Path) -> Path:
    found = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if found is None:
        raise UserError(f"{folder}: has neither {' nor '.join(_FILES)}; copy the checkpoint into it")
    return found


def _special(folder: Path, data: Mapping[str, Any]) -> dict[int, str]:
    """What unknown, padding, beginning and end are called."""
    named = data.get("special_symbols") or {}
    return {ours: str(named.get(f"{name}_token", _USUAL[name])) for ours, name in _SPECIAL.items()}


def _vocabulary(path: Path, special: Mapping[int, str]) -> dict[str, int]:
    """Ids by piece; the special ones come first, wherever they stand in the file."""
    try:
        lines = read_file(path, "the vocabulary of a language").decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text; copy it again") from error
    words = [line.removesuffix("\r") for line in lines]
    return {name: i for i, name in enumerate(dict.fromkeys([*special.values(), *filter(None, words)]))}


def _config(folder: Path, stacks: Mapping[str, Any], vocab_size: int) -> ModelConfig:
    encoder, decoder = stacks["encoder"], stacks["decoder"]
    rate = encoder.get("dropout", 0.1)
    values = {
        "vocab_size": vocab_size,
        "d_model": encoder.get("hidden_size"),
        "n_heads": encoder.get("num_heads"),
        "d_ff": encoder.get("ff_size"),
        "n_encoder_layers": encoder.get("num_layers"),
        "n_decoder_layers": decoder.get("num_layers"),
        "dropout": rate,
        "attention_dropout": rate,
        "ffn_dropout": rate,
        "norm": encoder["layer_norm"],
        "norm_eps": _NORM_EPS,
        "activation": encoder.get("activation", "relu"),
    }
    return configured(folder, values)


def _decoding(folder: Path, settings: Mapping[str, Any]) -> DecodingConfig:
    """How it decodes, as near as the search here comes to it; without an alpha, nothing is divided."""
    testing = settings.get("testing") or {}
    size, alpha = testing.get("beam_size") or 1, testing.get("beam_alpha") or -1
    try:
        size = max(1, size)
        if alpha > 0:
            return DecodingConfig(beam_size=size, alpha=float(alpha))
        return DecodingConfig(beam_size=size, length_penalty="none")
    except (TypeError, ValueError) as error:
        raise _unsupported(folder, f"testing.beam_size = {size!r} and testing.beam_alpha = {alpha!r}") from error
