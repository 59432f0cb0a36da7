"""A model as a CTranslate2 folder, with its tokenizer beside it.

Position encodings are written out: what CTranslate2 would compute by itself begins at position 1 and is in another
order. Padding and the beginning get a bias of minus ten thousand, so that they never follow: they are no words.

Dimension key: D d_model, T positions.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.embedding import Embedding, PositionEncoding
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange.ctranslate2_engine import package
from translate.exchange.new_folder import new_folder
from translate.exchange.projections import head_width, projections
from translate.exchange.verification import Ids, Proof, compare, require_equal, token_log_probs
from translate.models.folder import ModelFolder

TOLERANCE = 1e-4  # of the log-probability of a token, in nats or relative to it
TOLERANCE_INT8 = 0.05  # the same on average; 8 bits change what a model says a little

_POSITIONS = 1024  # at least; sinusoids have no end of their own
_NEVER = -1e4  # small enough to be a probability of 0, and a number in 16 bits too


def export(parts: ModelFolder, to: Path, texts: Sequence[str], *, int8: bool = False) -> Proof:
    """Write `to` and check it on `texts`: in float32, and with `int8` once more as it is stored.

    Raises UserError if the package `ctranslate2` is not there, if the architecture has no counterpart there, if `to`
    exists, or if the check fails; then nothing is left at `to`.
    """
    config = parts.model.config
    _check(config)
    package()
    with new_folder(to) as folder:
        proof = _written(parts, folder, None, texts)
        require_equal(proof, TOLERANCE, "log-probabilities of tokens")
        if int8:
            proof = _written(parts, folder, "int8", texts)
            if not proof.mean <= TOLERANCE_INT8:
                raise UserError(
                    f"the log-probabilities of tokens differ by {proof.mean:.2f} on average once the weights are int8; "
                    "leave --int8 out"
                )
        parts.tokenizer.save(folder / "tokenizer.model")
        parts.spec.save(folder / "translation.json")
    return proof


def _check(config: ModelConfig) -> None:
    """UserError where CTranslate2 has no such architecture."""
    if config.window is not None:
        raise UserError(f"CTranslate2 has no model.window, and this model has {config.window}; it cannot be exported")
    head_width(config)


def _written(parts: ModelFolder, folder: Path, quantisation: str | None, texts: Sequence[str]) -> Proof:
    """Write the model into `folder` and compare what is there with the original."""
    specification = _specification(parts.model, parts.tokenizer)
    specification.validate()
    specification.optimize(quantization=quantisation)
    specification.save(str(folder))
    exported = CTranslate2Folder(folder, parts.tokenizer, parts.model.config.eos)
    original = partial(token_log_probs, parts.model)
    return compare(parts, exported, original, texts, n_positions(parts.model.config))


def n_positions(config: ModelConfig) -> int:
    """How many positions an export has: all that were learned, or enough sinusoids for every sentence."""
    return config.max_length if config.positions == "learned" else max(config.max_length, _POSITIONS)


def _specification(model: Transformer, tokenizer: Tokenizer) -> Any:
    """The model in the terms of CTranslate2."""
    config = model.config
    specification = package().specs.TransformerSpec.from_config(
        (config.n_encoder_layers, config.n_decoder_layers),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=package().specs.common_spec.Activation[config.activation.upper()],
    )
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    specification.register_source_vocabulary(pieces)
    specification.register_target_vocabulary(pieces)
    settings = specification.config
    settings.bos_token = settings.decoder_start_token = pieces[config.bos]
    settings.eos_token, settings.unk_token = pieces[config.eos], pieces[tokenizer.unk]
    settings.add_source_eos = True
    settings.layer_norm_epsilon = config.norm_eps
    settings.add_attribute("max_positions", n_positions(config))
    _stack(
        specification.encoder,
        specification.encoder.embeddings[0],
        model.src_embedding,
        model.src_positions,
        model.encoder_norm,
    )
    _stack(
        specification.decoder,
        specification.decoder.embeddings,
        model.tgt_embedding,
        model.tgt_positions,
        model.decoder_norm,
    )
    _layers(specification.encoder.layer, model.encoder, head_width(config))  # type: ignore[arg-type]
    _layers(specification.decoder.layer, model.decoder, head_width(config))  # type: ignore[arg-type]
    bias = torch.zeros(config.vocab_size) if model.output_bias_V is None else model.output_bias_V.detach().clone()
    bias[[config.pad, config.bos]] = _NEVER
    _put(specification.decoder.projection, model.output_weight, bias)
    return specification


def _stack(stack: Any, words: Any, embedding: Embedding, positions: PositionEncoding, norm: nn.Module) -> None:
    """What stands before and after the layers of a stack."""
    words.weight = _array(embedding.weight_VD)
    stack.position_encodings.encodings = _array(positions(0, n_positions(positions.config)))
    if isinstance(norm, nn.LayerNorm):
        _put_norm(stack.layer_norm, norm)


def _layers(theirs: Sequence[Any], layers: Iterable[EncoderLayer | DecoderLayer], width: int) -> None:
    """All layers of a stack. A norm belongs to the sub-layer that it follows or, in pre-norm models, goes before."""
    for layer, our in zip(theirs, layers, strict=True):
        parts = [layer.self_attention, layer.ffn]
        _put_attention(layer.self_attention, our.self_attn, width, together=[["q", "k", "v"], ["o"]])
        if isinstance(our, DecoderLayer):
            parts.insert(1, layer.attention)
            _put_attention(layer.attention, our.cross_attn, width, together=[["q"], ["k", "v"], ["o"]])
        _put(layer.ffn.linear_0, our.feed_forward.w_1.weight, our.feed_forward.w_1.bias)
        _put(layer.ffn.linear_1, our.feed_forward.w_2.weight, our.feed_forward.w_2.bias)
        for part, residual in zip(parts, our.residuals, strict=True):
            _put_norm(part.layer_norm, residual.norm)  # type: ignore[arg-type]


def _put_attention(theirs: Any, attention: MultiHeadAttention, width: int, together: list[list[str]]) -> None:
    """The projections, those that read the same positions in one matrix."""
    parts = projections(attention, width)
    for linear, names in zip(theirs.linear, together, strict=True):
        fused = [getattr(parts, name) for name in names]
        _put(linear, torch.cat([part.weight for part in fused]), torch.cat([part.bias for part in fused]))


def _put(linear: Any, weight: Tensor, bias: Tensor) -> None:
    linear.weight, linear.bias = _array(weight), _array(bias)


def _put_norm(theirs: Any, norm: nn.LayerNorm) -> None:
    theirs.gamma, theirs.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> Any:
    """A NumPy array of its own: CTranslate2 quantises in place."""
    return tensor.detach().float().clone(memory_format=torch.contiguous_format).numpy()


class CTranslate2Folder:
    """A CTranslate2 folder as its own engine loads it; what the check talks to."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, eos: int) -> None:
        engine = package()
        self.tokenizer, self.eos = tokenizer, eos
        self.translator = engine.Translator(str(folder), device="cpu", intra_threads=torch.get_num_threads())
        pieces = tokenizer.pieces(range(tokenizer.vocab_size))
        self._ids = {piece: i for i, piece in enumerate(pieces)}

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids without the end; the tokenizer is the original one."""
        return self.tokenizer.encode_batch(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids."""
        return self.tokenizer.decode(ids)

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """Log-probability of each target token and of the end, (T + 1) for each pair."""
        scored = self.translator.score_batch(self._pieces(src), self._pieces(tgt), max_input_length=0)
        return [torch.tensor(result.log_probs) for result in scored]

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        """Greedy outputs without the end, at most limit - 1 tokens."""
        results = self.translator.translate_batch(
            self._pieces(src),
            beam_size=1,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=limit - 1,
        )
        return [[self._ids[piece] for piece in result.hypotheses[0]] for result in results]

    def _pieces(self, sentences: Ids) -> list[list[str]]:
        return [self.tokenizer.pieces(ids) for ids in sentences]
