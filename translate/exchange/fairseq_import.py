"""A folder of fairseq, with a Transformer for translation, as a model folder of this project.

    model.pt, checkpoint_best.pt     weights and settings; the first that is there
    dict.de.txt, dict.en.txt         the pieces of each language, a line each
    *.model                          SentencePiece

There the source ends with the end and the target begins with it, so it lends its embedding to our beginning. Positions
are counted from 2, for padding has the id 1; as this project counts from 0, they come as a table, as learned ones do.
The sinusoids have all sines first, as in the authors' code.

Source: fairseq/models/transformer, fairseq/modules and fairseq/data/dictionary.py of fairseq.
"""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer.config import ModelConfig
from transformer.positions import sinusoids
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

_FILES = ("model.pt", "checkpoint_best.pt", "averaged_model.pt", "checkpoint_last.pt")
_SPECIAL = {PAD: "<pad>", BOS: "</s>", EOS: "</s>", UNK: "<unk>"}
_FIRST = ("<s>", "<pad>", "</s>", "<unk>")  # ids 0 to 3, which no dictionary lists
_FIRST_POSITION = 2
_NAMES = Names(
    attentions={"encoder": ("self_attn",), "decoder": ("self_attn", "encoder_attn")},
    projections=("q_proj", "k_proj", "v_proj", "out_proj"),
    network=("fc1", "fc2"),
    norms={
        "encoder": ("self_attn_layer_norm", "final_layer_norm"),
        "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
    },
)
_WANTED: dict[str, tuple[object, ...]] = {
    "task": ("translation",),
    "activation_fn": ("relu", "swish"),
    "no_scale_embedding": (False,),
    "layernorm_embedding": (False,),
    "no_token_positional_embeddings": (False,),
    "no_cross_attention": (False,),
    "cross_self_attention": (False,),
    "no_decoder_final_norm": (False,),
    "adaptive_input": (False,),
    "adaptive_softmax_cutoff": (None, ""),
}
_EQUAL = ("embed_dim", "ffn_embed_dim", "attention_heads", "normalize_before", "learned_pos")


def import_fairseq(folder: Path, to: Path, *, source: str | None = None, target: str | None = None) -> None:
    """Write the model folder `to`.

    Args:
        folder: of fairseq.
        to: the new model folder.
        source, target: languages; None takes what the checkpoint says.

    Raises UserError if the folder is damaged, if it asks for what is not known here, which is named, or if `to` exists.
    """
    checkpoint = read_checkpoint(_checkpoint(folder), [Namespace])
    settings = _settings(folder, checkpoint)
    source, target = source or settings.get("source_lang"), target or settings.get("target_lang")
    if not source or not target:
        raise UserError(f"{folder}: does not say its languages; name them with --source and --target")
    tokenizer = read_file(_tokenizer(folder), "the tokenizer")
    sides = [_dictionary(folder / f"dict.{language}.txt") for language in (source, target)]
    vocabulary = joined(sides[0], sides[1], made_pieces(tokenizer), _SPECIAL)
    tensors = Tensors(folder, checkpoint.get("model"))
    tables = _tables(tensors, settings)
    assert tables.positions is not None
    config = _config(folder, settings, len(vocabulary.names), len(tables.positions[0]))
    model = build(config, tensors, _NAMES, tables, vocabulary)
    tensors.require_all_used((".version", "_float_tensor"))
    # Scores are divided by the length there, unless it is told otherwise when it translates.
    decoding = DecodingConfig(beam_size=5, length_penalty="average")
    write(
        model,
        tokenizer,
        vocabulary,
        TranslationSpec(source, target, decoding, max_source_tokens=config.max_length - 1),
        to,
    )


def _checkpoint(folder: Path) -> Path:
    found = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if found is None:
        raise UserError(f"{folder}: has none of {', '.join(_FILES)}; copy the checkpoint into it")
    return found


def _tokenizer(folder: Path) -> Path:
    found = sorted(folder.glob("*.model"))
    if len(found) != 1:
        raise UserError(
            f"{folder}: has {len(found)} files *.model, and needs one, the SentencePiece model of its source; other "
            "tokenizers are not supported here"
        )
    return found[0]


def _settings(folder: Path, checkpoint: Mapping[str, object]) -> dict[str, Any]:
    """All settings side by side, those that are not supported refused."""
    cfg = checkpoint.get("cfg")
    parts = [checkpoint.get("args")]
    if parts == [None] and isinstance(cfg, Mapping):
        parts = [cfg.get("task"), cfg.get("model")]
    settings: dict[str, Any] = {}
    for part in parts:
        values = vars(part) if isinstance(part, Namespace) else part
        for key, value in values.items() if isinstance(values, Mapping) else ():
            if key in ("encoder", "decoder") and isinstance(value, Mapping):
                settings |= {f"{key}_{name}": inner for name, inner in value.items()}
            else:
                settings[key] = value
    if "encoder_embed_dim" not in settings:
        raise UserError(f"{folder}: its checkpoint does not say the sizes of a Transformer")
    settings["relu_dropout"] = settings.get("relu_dropout") or 0.0
    for name, wanted in _WANTED.items():
        if (value := settings.get(name, wanted[0])) not in wanted:
            raise _unsupported(folder, f"{name} = {value!r}")
    for name in _EQUAL:
        if (one := settings.get(f"encoder_{name}")) != (other := settings.get(f"decoder_{name}")):
            raise _unsupported(folder, f"encoder_{name} = {one!r} with decoder_{name} = {other!r}")
    return settings


def _unsupported(folder: Path, what: str) -> UserError:
    return UserError(f"{folder}: this fairseq model has {what}, which is not supported here; it cannot be imported")


def _dictionary(path: Path) -> dict[str, int]:
    """Ids by piece."""
    ids = {name: i for i, name in enumerate(_FIRST)}
    try:
        lines = read_file(path, "the dictionary of a language").decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text; copy it again") from error
    for n, line in enumerate(lines, start=1):
        piece, _, count = line.removesuffix("\r").rpartition(" ")
        if not line.strip():
            continue
        if not piece or not count.isdigit() or piece in ids:
            raise UserError(f"{path}, line {n}: is no new piece with its count; copy it again")
        ids[piece] = len(ids)
    return ids


def _tables(tensors: Tensors, settings: Mapping[str, Any]) -> Tables:
    target = tensors["decoder.embed_tokens.weight"]
    names = ("decoder.output_projection.weight", "decoder.embed_out")
    output = next((tensors[name] for name in names if name in tensors), target)
    return Tables(tensors["encoder.embed_tokens.weight"], target, output, _positions(tensors, settings))


def _positions(tensors: Tensors, settings: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Encodings of both sides; the shorter one says how many there are."""
    n = min(settings.get(f"max_{side}_positions") or 1024 for side in ("source", "target"))
    if not settings.get("encoder_learned_pos"):
        table_TD = sinusoids(n, settings["encoder_embed_dim"], "sinusoidal-blocks", start=_FIRST_POSITION)
        return table_TD, table_TD
    learned = [tensors[f"{side}.embed_positions.weight"][_FIRST_POSITION:] for side in ("encoder", "decoder")]
    n = min(n, *map(len, learned))
    return learned[0][:n], learned[1][:n]


def _config(folder: Path, settings: Mapping[str, Any], vocab_size: int, max_length: int) -> ModelConfig:
    if settings["encoder_embed_dim"] % 2 and not settings.get("encoder_learned_pos"):
        raise _unsupported(folder, f"encoder_embed_dim = {settings['encoder_embed_dim']}, which is odd")
    values = {
        "vocab_size": vocab_size,
        "d_model": settings["encoder_embed_dim"],
        "n_heads": settings.get("encoder_attention_heads"),
        "d_ff": settings.get("encoder_ffn_embed_dim"),
        "n_encoder_layers": settings.get("encoder_layers"),
        "n_decoder_layers": settings.get("decoder_layers"),
        "dropout": settings.get("dropout", 0.1),
        "attention_dropout": settings.get("attention_dropout", 0.0),
        "ffn_dropout": settings.get("activation_dropout") or settings["relu_dropout"],
        "norm": "pre" if settings.get("encoder_normalize_before") else "post",
        "positions": "learned",
        "max_length": max_length,
        "activation": settings.get("activation_fn", "relu"),
    }
    return configured(folder, values)
