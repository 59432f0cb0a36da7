"""A fairseq folder with a Transformer for translation, as a model folder of this project.

    model.pt, checkpoint_best.pt     weights and settings; the first that exists
    dict.de.txt, dict.en.txt         the pieces of each language, one a line
    *.model                          SentencePiece

In fairseq the source ends with eos and the target begins with it, so our bos gets the embedding of eos. Positions are
counted from 2, because padding has the id 1; this project counts from 0, so they are imported as a table of learned
positions. In a sinusoid all sines come before all cosines, as in the authors' code.

Source: fairseq/models/transformer, fairseq/modules and fairseq/data/dictionary.py of fairseq.
"""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer.config import SearchConfig
from transformer.embedding import sinusoids
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK
from translate.errors import UserError
from translate.exchange.foreign_model import ForeignFolder, Names, Tables, Tensors, build, joint_vocabulary, shown
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec

_MAX_POSITIONS = 1 << 20  # a table for more would not fit into memory
_FILES = ("model.pt", "checkpoint_best.pt", "averaged_model.pt", "checkpoint_last.pt")
_SPECIAL = {PAD: "<pad>", BOS: "</s>", EOS: "</s>", UNK: "<unk>"}
_FIRST = ("<s>", "<pad>", "</s>", "<unk>")  # ids 0 to 3, which no dictionary lists
_FIRST_POSITION = 2
_OFF = (False, None)
_SUPPORTED: dict[str, tuple[object, ...]] = {
    "task": ("translation", None),
    "activation_fn": ("relu", "swish", None),
    "no_scale_embedding": _OFF,
    "layernorm_embedding": _OFF,
    "no_token_positional_embeddings": _OFF,
    "no_cross_attention": _OFF,
    "cross_self_attention": _OFF,
    "no_decoder_final_norm": _OFF,
    "adaptive_input": _OFF,
    "adaptive_softmax_cutoff": (None, ""),
}
_EQUAL = ("embed_dim", "ffn_embed_dim", "attention_heads", "normalize_before", "learned_pos")


def import_fairseq(folder: Path, to: Path, *, source: str | None = None, target: str | None = None) -> None:
    """Write the model folder `to`.

    Args:
        source, target: language codes; None takes those of the checkpoint.

    Raises UserError if the folder is damaged or uses a feature that is not supported here, or if `to` exists.
    """
    theirs = ForeignFolder(folder, "fairseq")
    checkpoint = theirs.load_checkpoint(_FILES, [Namespace])
    settings = _settings(theirs, checkpoint)
    own = settings.get("source_lang"), settings.get("target_lang")  # in the names of the dictionaries
    source, target = theirs.languages(source or own[0], target or own[1])
    tokenizer, _ = theirs.read_tokenizers(_tokenizer(folder), _tokenizer(folder))
    dictionaries = [_dictionary(theirs, f"dict.{own[i] or given}.txt") for i, given in enumerate((source, target))]
    vocabulary = joint_vocabulary(dictionaries[0], dictionaries[1], (tokenizer, tokenizer), _SPECIAL)
    tensors = Tensors(folder, checkpoint.get("model"))
    positions = _positions(theirs, tensors, settings)
    target_VD = tensors["decoder.embed_tokens.weight"]
    outputs = ("decoder.output_projection.weight", "decoder.embed_out", "decoder.embed_tokens.weight")
    tables = Tables(tensors["encoder.embed_tokens.weight"], target_VD, tensors.first(outputs), positions)
    architecture = _architecture(settings) | {"max_length": len(positions[0])}
    model = build(architecture, tensors, Names(), tables, vocabulary)
    tensors.require_all_used((".version", "_float_tensor"))
    # fairseq divides scores by the length unless its command line says otherwise.
    decoding = SearchConfig(beam_size=5, length_penalty="average")
    spec = TranslationSpec(source, target, decoding, max_source_tokens=model.config.max_length - 1)
    model_folder.save(model, vocabulary.tokenizer, spec, to)


def _tokenizer(folder: Path) -> str:
    """Return the name of the folder's only SentencePiece model."""
    found = sorted(path.name for path in folder.glob("*.model"))
    if len(found) != 1:
        raise UserError(
            f"{folder}: has {len(found)} files *.model, and needs one, the SentencePiece model of its source; other "
            "tokenizers are not supported here"
        )
    return found[0]


def _settings(theirs: ForeignFolder, checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings in one dictionary; UserError for one that is not supported."""
    sections = {"": checkpoint.get("args")}
    if sections == {"": None} and isinstance(cfg := checkpoint.get("cfg"), Mapping):
        sections = {"task": cfg.get("task"), "arch": cfg.get("model")}
    settings: dict[str, Any] = {}
    for name, section in sections.items():
        values = vars(section) if isinstance(section, Namespace) else section
        for key, value in values.items() if isinstance(values, Mapping) else ():
            if key in ("encoder", "decoder") and isinstance(value, Mapping):
                settings |= {f"{key}_{inner}": setting for inner, setting in value.items()}
            else:
                settings[name if key == "_name" else key] = value
    if "encoder_embed_dim" not in settings:
        raise UserError(f"{theirs.path}: its checkpoint does not contain the sizes of a Transformer")
    theirs.require(settings, _SUPPORTED)
    theirs.require_equal(settings, _EQUAL, "{stack}_{name}")
    return settings


def _dictionary(theirs: ForeignFolder, name: str) -> dict[str, int]:
    """Return the ids of a language by piece."""
    ids = {piece: i for i, piece in enumerate(_FIRST)}
    for n, line in enumerate(theirs.read_lines(name), start=1):
        piece, _, count = line.rpartition(" ")
        if not line.strip():
            continue
        if not piece or not count.isdigit() or piece in ids:
            raise UserError(
                f"{theirs.path / name}, line {n}: is not a new piece followed by its count; copy the file again"
            )
        ids[piece] = len(ids)
    return ids


def _positions(theirs: ForeignFolder, tensors: Tensors, settings: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Return the position encodings of encoder and decoder, (T, D) each; the shorter side gives their number."""
    n = min(_n_positions(theirs, settings, f"max_{side}_positions") for side in ("source", "target"))
    d_model = settings["encoder_embed_dim"]
    width = tensors["encoder.embed_tokens.weight"].shape[-1:]
    if isinstance(d_model, bool) or not isinstance(d_model, int) or (d_model,) != tuple(width):
        raise theirs.unsupported(f"encoder_embed_dim = {shown(d_model)} with embeddings of {tuple(width)} values")
    if not settings.get("encoder_learned_pos"):
        if d_model % 2:
            raise theirs.unsupported(f"encoder_embed_dim = {d_model}, which is odd")
        table_TD = sinusoids(n, d_model, "sinusoidal-blocks", start=_FIRST_POSITION)
        return table_TD, table_TD
    learned = [tensors[f"{side}.embed_positions.weight"][_FIRST_POSITION:] for side in ("encoder", "decoder")]
    n = min(n, *map(len, learned))
    return learned[0][:n], learned[1][:n]


def _n_positions(theirs: ForeignFolder, settings: Mapping[str, Any], name: str) -> int:
    """Return the value of a setting; UserError if no token and its eos would fit."""
    n = settings.get(name)
    n = 1024 if n is None or (isinstance(n, int) and n == 0) else n
    if isinstance(n, bool) or not isinstance(n, int) or not 2 <= n <= _MAX_POSITIONS:
        raise theirs.unsupported(f"{name} = {shown(n)}")
    return n


def _architecture(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a ModelConfig, sizes of the tables aside."""
    return {
        "d_model": settings["encoder_embed_dim"],
        "n_heads": settings.get("encoder_attention_heads"),
        "d_ff": settings.get("encoder_ffn_embed_dim"),
        "n_encoder_layers": settings.get("encoder_layers"),
        "n_decoder_layers": settings.get("decoder_layers"),
        "dropout": settings.get("dropout", 0.1),
        "attention_dropout": settings.get("attention_dropout", 0.0),
        "ffn_dropout": settings.get("activation_dropout") or settings.get("relu_dropout") or 0.0,
        "norm": "pre" if settings.get("encoder_normalize_before") else "post",
        "positions": "learned",
        "activation": settings.get("activation_fn") or "relu",
    }
