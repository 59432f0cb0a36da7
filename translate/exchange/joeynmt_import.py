"""A JoeyNMT 2 folder with a Transformer, as a model folder of this project.

    config.yaml                      settings
    best.ckpt, latest.ckpt           weights; the first that exists
    src_vocab.txt, trg_vocab.txt     the pieces of each language, one a line
    the `model_file` of config.yaml  SentencePiece

Post-norm, pre-norm and positions are those of this project; the norms have another epsilon.

Source: joeynmt/transformer_layers.py, encoders.py, decoders.py, model.py, vocabulary.py and search.py of JoeyNMT.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.config import SearchConfig
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK
from translate.errors import UserError
from translate.exchange.foreign_model import ForeignFolder, Names, Tables, Tensors, build, joint_vocabulary, shown
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec

_FILES = ("best.ckpt", "latest.ckpt")
_SPECIAL = {UNK: "unk", PAD: "pad", BOS: "bos", EOS: "eos"}  # in the order of their ids in JoeyNMT
_SPECIAL_PIECES = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
_NORM_EPS = 1e-6
_MAX_VALUES = 10_000  # of config.yaml; JoeyNMT writes about a hundred
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
    "type": ("transformer", None),
    "alpha": (1.0, None),
    "activation": ("relu", "swish", None),
    "layer_norm": ("post", "pre"),  # the default depends on JoeyNMT's version, so it must be given
}
_LANGUAGE: dict[str, tuple[object, ...]] = {
    "level": ("bpe", None),
    "tokenizer_type": ("sentencepiece", None),
    "lowercase": (False, None),
    "normalize": (False, None),
}
_SUPPORTED_IN_SEARCH: dict[str, tuple[object, ...]] = {
    "repetition_penalty": (-1, 1, None),
    "no_repeat_ngram_size": (-1, 0, None),
    "generate_unk": (True, None),
}
_EQUAL = ("hidden_size", "num_heads", "ff_size", "layer_norm", "activation")


def import_joeynmt(folder: Path, to: Path, *, source: str | None = None, target: str | None = None) -> None:
    """Write the model folder `to`.

    Args:
        source, target: language codes; None takes those of config.yaml.

    Raises UserError if the folder is damaged or uses a feature that is not supported here, or if `to` exists.
    """
    theirs = ForeignFolder(folder, "JoeyNMT")
    settings = _settings(theirs)
    data, src = settings["data"], settings["data"]["src"]
    source, target = theirs.languages(source or src.get("lang"), target or data["trg"].get("lang"))
    tokenizers = theirs.read_tokenizers(_tokenizer(folder, data, "src"), _tokenizer(folder, data, "trg"))
    named = _optional(theirs.path / "config.yaml", data, "special_symbols")
    special = {our_id: named.get(f"{name}_token", _SPECIAL_PIECES[name]) for our_id, name in _SPECIAL.items()}
    if other := next((piece for piece in special.values() if not isinstance(piece, str)), None):
        raise theirs.unsupported(f"the special symbol {shown(other)}")
    source_ids, target_ids = (_vocabulary(theirs, f"{side}_vocab.txt", special) for side in ("src", "trg"))
    # JoeyNMT lets SentencePiece write nothing but pieces of its vocabulary.
    vocabulary = joint_vocabulary(source_ids, target_ids, tokenizers, special, limited=True)
    tensors = Tensors(folder, theirs.load_checkpoint(_FILES).get("model_state"))
    embeddings = [tensors[f"{side}_embed.lut.weight"] for side in ("src", "trg")]
    tables = Tables(embeddings[0], embeddings[1], tensors["decoder.output_layer.weight"])
    model = build(_architecture(settings["model"]), tensors, _NAMES, tables, vocabulary)
    tensors.require_all_used((".pe.pe",))
    longest = src.get("max_length")
    longest = longest if isinstance(longest, int) and longest > 0 else None
    spec = TranslationSpec(source, target, _decoding(theirs, settings), max_source_tokens=longest)
    model_folder.save(model, vocabulary.tokenizer, spec, to)


def _settings(theirs: ForeignFolder) -> Mapping[str, Any]:
    """Return config.yaml; UserError for a setting that is not supported."""
    import yaml

    path = theirs.path / "config.yaml"
    try:
        settings = yaml.safe_load(theirs.read("config.yaml"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: the thirteenth month
        raise UserError(f"{path}: damaged; copy the folder again") from error
    if _n_values(settings) > _MAX_VALUES:
        raise UserError(f"{path}: its aliases stand for more than {_MAX_VALUES:,} values; write the settings out")
    data, model = _section(path, settings, "data"), _section(path, settings, "model")
    for side in ("src", "trg"):
        language, where = _section(path, data, side), f"data.{side}."
        theirs.require(language, _LANGUAGE, where=where)
        pretokenizers = {"pretokenizer": ("none", None)}
        theirs.require(_optional(path, language, "tokenizer_cfg"), pretokenizers, where=f"{where}tokenizer_cfg.")
    special: dict[str, tuple[object, ...]] = {"lang_tags": ([], None), "sep_token": (None,)}
    theirs.require(_optional(path, data, "special_symbols"), special, where="data.special_symbols.")
    stacks = {stack: _section(path, model, stack) for stack in ("encoder", "decoder")}
    for stack, values in stacks.items():
        theirs.require(values, _STACK, where=f"model.{stack}.")
        embeddings = _section(path, values, "embeddings")
        theirs.require(embeddings, {"scale": (True,)}, where=f"model.{stack}.embeddings.")
    flat = {f"model.{stack}.{name}": value for stack, values in stacks.items() for name, value in values.items()}
    theirs.require_equal(flat, _EQUAL, "model.{stack}.{name}")
    return settings  # type: ignore[no-any-return]


def _n_values(settings: object) -> int:
    """Return the number of values with what aliases stand for; the count ends above _MAX_VALUES."""
    waiting, n = [settings], 0
    while waiting and n <= _MAX_VALUES:
        value = waiting.pop()
        n += 1
        if isinstance(value, Mapping):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set):
            waiting += value
    return n


def _section(path: Path, values: object, name: str) -> Mapping[str, Any]:
    """Return a table of the settings; UserError if it is missing."""
    found = values.get(name) if isinstance(values, Mapping) else None
    if not isinstance(found, Mapping):
        raise UserError(f"{path}: has no section {name!r}, as JoeyNMT 2 writes it")
    return found


def _optional(path: Path, values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table of the settings, empty if it is missing or null; UserError if the value is no table."""
    return {} if values.get(name) is None else _section(path, values, name)


def _tokenizer(folder: Path, data: Mapping[str, Any], side: str) -> str:
    """Return the name of a language's SentencePiece model; config.yaml has the path that it was trained under."""
    path = folder / "config.yaml"
    name = _section(path, data[side], "tokenizer_cfg").get("model_file")
    if not isinstance(name, str):
        raise UserError(f"{path}: data.{side}.tokenizer_cfg names no model_file")
    return Path(name).name


def _vocabulary(theirs: ForeignFolder, name: str, special: Mapping[int, str]) -> dict[str, int]:
    """Return the ids of a language by piece; special pieces come first, in whichever line of the file they are."""
    pieces = dict.fromkeys([*special.values(), *filter(None, theirs.read_lines(name))])
    return {piece: i for i, piece in enumerate(pieces)}


def _architecture(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a ModelConfig, the size of the vocabulary aside."""
    encoder = model["encoder"]
    rate = encoder.get("dropout", 0.1)
    return {
        "d_model": encoder.get("hidden_size"),
        "n_heads": encoder.get("num_heads"),
        "d_ff": encoder.get("ff_size"),
        "n_encoder_layers": encoder.get("num_layers"),
        "n_decoder_layers": model["decoder"].get("num_layers"),
        "dropout": rate,
        "attention_dropout": rate,
        "ffn_dropout": rate,
        "norm": encoder["layer_norm"],
        "norm_eps": _NORM_EPS,
        "activation": encoder.get("activation") or "relu",
    }


def _decoding(theirs: ForeignFolder, settings: Mapping[str, Any]) -> SearchConfig:
    """Return the nearest decoding section; without a positive alpha JoeyNMT does not divide the scores."""
    testing = _optional(theirs.path / "config.yaml", settings, "testing")
    theirs.require(testing, _SUPPORTED_IN_SEARCH, where="testing.")
    size, alpha = testing.get("beam_size") or 1, testing.get("alpha", testing.get("beam_alpha")) or -1
    divides = not isinstance(alpha, int | float) or alpha > 0
    penalty = {"alpha": alpha} if divides else {"length_penalty": "none"}
    return theirs.decoding(
        {"beam_size": size} | penalty, f"testing.beam_size = {shown(size)} and beam_alpha = {shown(alpha)}"
    )
