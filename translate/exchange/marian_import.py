"""A Hugging Face Marian folder, such as those of OPUS-MT, as a model folder of this project.

The network is the one of `marian_folder`, with the inverse permutation of the channels. The ids change: padding, bos,
eos and unknown come first here. Marian usually begins the output with padding, so our bos gets its embedding.

Marian cuts text with the tokenizer of the source language and looks the pieces up in a vocabulary of both languages.
Here one SentencePiece model has all pieces. It never produces a piece that only the target language has. A piece that
the vocabulary lacks is unknown to Marian; here it has its own id with the embedding of the unknown token, and no
probability in the output.

Dimension key: V vocabulary, T target positions.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer.model import Transformer
from translate.config.decoding import DecodingConfig
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK
from translate.errors import Say, UserError
from translate.exchange.foreign_folder import ForeignFolder
from translate.exchange.foreign_model import Names, Tables, Tensors, Vocabulary, build, joined
from translate.exchange.marian_folder import (
    SETTINGS,
    TOLERANCE,
    MarianFolder,
    block_order,
    quiet_transformers,
    reordered,
)
from translate.exchange.verification import Ids, Proof, compare, require_equal, teacher_forced
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec

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


def import_marian(
    folder: Path, to: Path, texts: Sequence[str], say: Say, *, source: str | None = None, target: str | None = None
) -> Proof:
    """Compare the imported model with the original in the package `transformers`, then write the folder `to`.

    Args:
        folder: the Marian folder: config.json, weights, source.spm, vocab.json.
        to: the new model folder.
        texts: sentences for the comparison.
        say: receives a note if the target language has another tokenizer, which is not kept.
        source, target: language codes; None takes those of the folder.

    Raises UserError if the folder is damaged or uses a feature that is not supported here, if `to` exists, or if the
    models differ; then nothing is left at `to`.
    """
    theirs = ForeignFolder(folder, "Marian")
    config = _config(theirs)
    vocabulary = _vocabulary(theirs, config, theirs.read_tokenizer("source.spm", "target.spm", say))
    model = _model(theirs, config, vocabulary)
    ours = ModelFolder(to, model, vocabulary.tokenizer, _spec(theirs, config, source, target))
    with _loading(folder):
        original = _Original(folder, vocabulary)
    proof = compare(ours, original, original.shared_logits, texts, config.max_position_embeddings)
    require_equal(proof, TOLERANCE, "logits")
    model_folder.save(ours.model, ours.tokenizer, ours.spec, to)
    return proof


@contextmanager
def _loading(folder: Path) -> Iterator[None]:
    """Raise UserError if `transformers` cannot load the folder in this block; a damaged file can fail in any way."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{folder}: transformers cannot load it ({reason}); copy the folder again") from error


def _config(theirs: ForeignFolder) -> Any:
    """Return Marian's config; UserError for a setting that is not supported."""
    kind = theirs.read_json("config.json").get("model_type")
    if kind != "marian":
        raise UserError(f"{theirs.path}: is not a Hugging Face Marian folder: model_type = {kind!r}")
    with quiet_transformers() as transformers, _loading(theirs.path):
        config = transformers.MarianConfig.from_pretrained(theirs.path, local_files_only=True)
    theirs.require(vars(config), _SUPPORTED)
    theirs.require_equal(vars(config), ("attention_heads", "ffn_dim"), "{stack}_{name}")
    if config.decoder_vocab_size not in (None, config.vocab_size):
        raise theirs.unsupported(f"decoder_vocab_size = {config.decoder_vocab_size} with another source vocabulary")
    return config


def _vocabulary(theirs: ForeignFolder, config: Any, tokenizer: bytes) -> Vocabulary:
    """Return our ids: four special ones, Marian's others in their order, and the pieces that are unknown to Marian."""
    if theirs.read_json("tokenizer_config.json", optional=True).get("separate_vocabs"):
        raise theirs.unsupported("separate_vocabs = true")
    ids: dict[str, int] = theirs.read_json("vocab.json")
    if not _are_ids(*ids.values()) or sorted(ids.values()) != list(range(config.vocab_size)):
        raise UserError(f"{theirs.path}: vocab.json does not name the {config.vocab_size} tokens of config.json")
    codes = [piece for piece in ids if piece.startswith(">>") and piece.endswith("<<")]
    if codes:
        raise theirs.unsupported(f"several target languages, as {codes[0]} in its vocabulary shows")
    if "<unk>" not in ids:
        raise theirs.unsupported("no piece <unk>")
    pad, start, end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    by_id = {i: piece for piece, i in ids.items()}
    if not _are_ids(pad, start, end) or len({pad, end, ids["<unk>"]}) < 3 or not {pad, start, end} <= by_id.keys():
        raise theirs.unsupported(f"pad_token_id = {pad}, decoder_start_token_id = {start} and eos_token_id = {end}")
    return joined(ids, ids, tokenizer, {PAD: by_id[pad], BOS: by_id[start], EOS: by_id[end], UNK: "<unk>"})


def _are_ids(*values: object) -> bool:
    return all(isinstance(value, int) for value in values)


def _model(theirs: ForeignFolder, config: Any, vocabulary: Vocabulary) -> Transformer:
    """Return the network with its weights, the channels of the residual stream in the paper's order."""
    state = theirs.load_checkpoint(_FILES)
    tensors = Tensors(theirs.path, reordered(state, lambda d_model: block_order(d_model).argsort()))
    shared = "model.shared.weight"
    source = tensors.first(("model.encoder.embed_tokens.weight", shared))
    fallbacks = (shared,) * config.share_encoder_decoder_embeddings
    target = tensors.first(("model.decoder.embed_tokens.weight", *fallbacks))
    output = target if config.tie_word_embeddings else tensors["lm_head.weight"]
    values = {ours: getattr(config, name) for name, ours in SETTINGS.items()}
    if config.activation_function == "silu":
        values["activation"] = "swish"
    tables = Tables(source, target, output, output_bias=tensors["final_logits_bias"].flatten())
    return build(values, tensors, Names(prefix="model."), tables, vocabulary)


def _spec(theirs: ForeignFolder, config: Any, source: str | None, target: str | None) -> TranslationSpec:
    """Return the languages and the nearest decoding section."""
    tokenizer = theirs.read_json("tokenizer_config.json", optional=True)
    source, target = theirs.languages(source or tokenizer.get("source_lang"), target or tokenizer.get("target_lang"))
    settings = theirs.read_json("config.json") | theirs.read_json("generation_config.json", optional=True)
    theirs.require(settings, _SUPPORTED_IN_SEARCH)
    default = DecodingConfig()
    beam_size, power = settings.get("num_beams") or default.beam_size, settings.get("length_penalty")
    # Marian divides scores by length^power, by default 1. The paper's ((5 + length) / 6)^alpha is similar for a
    # positive power. A negative power multiplies scores by the length; no rule of this project does that.
    rule = "average" if power in (None, 1) else "none" if power == 0 else None
    values = {"beam_size": beam_size, **({"length_penalty": rule} if rule else {"alpha": power})}
    decoding = theirs.decoding(values, f"num_beams = {beam_size!r} and length_penalty = {power!r}")
    return TranslationSpec(source, target, decoding, max_source_tokens=config.max_position_embeddings - 1)


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
            model: our network.
            src, tgt: our token ids without bos and eos.
        """
        return [logits[:, EOS : self.n_shared] for logits in teacher_forced(model, src, tgt)]
