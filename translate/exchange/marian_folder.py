"""Export to a Hugging Face Marian folder, for `MarianMTModel` and `MarianTokenizer`.

Marian's sinusoids have the paper's frequencies, but all sines come before all cosines, while the paper's alternate. The
order of the channels of the residual stream does not matter to linear layers and layer normalisation if all use the
same order. So permuting the channels of every matrix and vector that reads or writes the stream converts one model into
the other without changing the function.

Dimension key: V vocabulary, D d_model.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.config.decoding import DecodingConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange.verification import Ids, Proof, compare, require_equal, teacher_forced
from translate.files import new_folder, write_json
from translate.models.ctranslate2_files import Affine, head_width, projections
from translate.models.folder import ModelFolder, TranslationSpec, writing
from translate.optional import optional_package

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

State = dict[str, Tensor]


def export(folder: ModelFolder, to: Path, texts: Sequence[str]) -> Proof:
    """Write the folder `to` and compare it with the original.

    Args:
        folder: the model.
        to: the new folder.
        texts: sentences for the comparison.

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
    """Write one SentencePiece model for both languages, its vocabulary and the tokenizer's settings."""
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    for name in ("source.spm", "target.spm"):
        tokenizer.save(folder / name)
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
    }
    write_json(folder / "tokenizer_config.json", settings)


def _write_model(model: Transformer, decoding: DecodingConfig, folder: Path) -> None:
    """Write config, weights and decoding settings."""
    transformers, config = _transformers(), model.config
    marian = transformers.MarianMTModel(marian_config(config))
    state = marian_state(model)
    missing, unexpected = marian.load_state_dict(state, strict=False)
    if unexpected or any("embed_positions" not in name for name in missing):
        raise UserError(f"transformers {transformers.__version__} has other Marian weights; install another version")
    marian.generation_config = transformers.GenerationConfig(
        num_beams=decoding.beam_size,
        # Marian divides by length^penalty, which is similar to the paper's ((5 + length) / 6)^alpha.
        length_penalty={"gnmt": decoding.alpha, "average": 1.0, "none": 0.0}[decoding.length_penalty],
        max_length=config.max_length,
        bad_words_ids=[[config.pad], [config.bos]],
        **_ids(config),
    )
    with quiet_transformers():
        marian.save_pretrained(folder)


def _ids(config: ModelConfig) -> dict[str, int]:
    """Return the special token ids for generation."""
    start, end = config.bos, config.eos
    ids = {"pad": config.pad, "bos": start, "decoder_start": start, "eos": end, "forced_eos": end}
    return {f"{name}_token_id": i for name, i in ids.items()}


def marian_config(config: ModelConfig) -> Any:
    """Return the `MarianConfig` of an architecture."""
    return _transformers().MarianConfig(
        **{theirs: getattr(config, ours) for theirs, ours in SETTINGS.items()},
        decoder_vocab_size=config.vocab_size,
        decoder_attention_heads=config.n_heads,
        decoder_ffn_dim=config.d_ff,
        scale_embedding=True,
        share_encoder_decoder_embeddings=config.tying == "all",
        tie_word_embeddings=config.tying != "none",
        **_ids(config),
    )


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
        if name.endswith(_READ_STREAM):
            tensor = tensor[:, order(tensor.size(1))]
        elif name.endswith(_WRITE_STREAM):
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
