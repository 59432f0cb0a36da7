"""Export to a CTranslate2 folder that also contains the tokenizer.

Position encodings are stored as a table, because CTranslate2's own sinusoids begin at position 1 and order the channels
differently. Padding and bos get an output bias of -10,000, so that they are never produced.

Dimension key: D d_model, T positions.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange.ctranslate2_engine import package
from translate.exchange.projections import head_width, projections
from translate.exchange.verification import Ids, Proof, compare, require_equal, token_log_probs
from translate.files import new_folder
from translate.models.folder import ModelFolder, writing

TOLERANCE = 1e-4  # of the log-probability of a token, in nats or relative
TOLERANCE_INT8 = 0.05  # of the mean; 8 bits change the log-probabilities a little

_POSITIONS = 1024  # at least, for sinusoids, which have no limit
_NEVER = -1e4  # a bias that makes a probability of 0 and fits into 16 bits


def export(folder: ModelFolder, to: Path, texts: Sequence[str], *, int8: bool = False) -> Proof:
    """Write the folder `to` and compare it with the original.

    Args:
        folder: the model.
        to: the new folder.
        texts: sentences for the comparison.
        int8: store the weights as 8-bit integers; the float32 export is compared first.

    Raises UserError if the package `ctranslate2` is not installed, if CTranslate2 has no such architecture, if `to`
    exists, or if the models differ; then nothing is left at `to`.
    """
    config = folder.model.config
    if config.window is not None:
        raise UserError(f"CTranslate2 has no model.window, and this model has {config.window}; it cannot be exported")
    head_width(config)
    package()
    with writing(to), new_folder(to) as new:
        proof = _written(folder, new, None, texts)
        require_equal(proof, TOLERANCE, "log-probabilities of tokens")
        if int8:
            proof = _written(folder, new, "int8", texts)
            if not proof.mean <= TOLERANCE_INT8:
                raise UserError(
                    f"the log-probabilities of tokens differ by {proof.mean:.2f} on average once the weights are int8; "
                    "leave --int8 out"
                )
        folder.tokenizer.save(new / "tokenizer.model")
        folder.spec.save(new / "translation.json")
    return proof


def _written(folder: ModelFolder, new: Path, quantisation: str | None, texts: Sequence[str]) -> Proof:
    """Write the model into the folder `new` and compare it with the original."""
    specification = _specification(folder.model, folder.tokenizer)
    specification.validate()
    specification.optimize(quantization=quantisation)
    specification.save(str(new))
    exported = CTranslate2Folder(new, folder.tokenizer)
    return compare(folder, exported, token_log_probs, texts, n_positions(folder.model.config))


def n_positions(config: ModelConfig) -> int:
    """Return the number of positions of an export: all learned ones, or enough sinusoids for every sentence."""
    return config.max_length if config.positions == "learned" else max(config.max_length, _POSITIONS)


def _specification(model: Transformer, tokenizer: Tokenizer) -> Any:
    """Return the model as CTranslate2's specification object."""
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
    encoder, decoder, width = specification.encoder, specification.decoder, head_width(config)
    for stack, words, embedding, positions, layers, norm in (
        (encoder, encoder.embeddings[0], model.src_embedding, model.src_positions, model.encoder, model.encoder_norm),
        (decoder, decoder.embeddings, model.tgt_embedding, model.tgt_positions, model.decoder, model.decoder_norm),
    ):
        words.weight = _array(embedding.weight_VD)
        stack.position_encodings.encodings = _array(positions(0, n_positions(config)))
        _put_layers(stack.layer, layers, width)  # type: ignore[arg-type]
        if isinstance(norm, nn.LayerNorm):
            _put_norm(stack.layer_norm, norm)
    bias = torch.zeros(config.vocab_size) if model.output_bias_V is None else model.output_bias_V.detach().clone()
    bias[[config.pad, config.bos]] = _NEVER
    _put(specification.decoder.projection, model.output_weight, bias)
    return specification


def _put_layers(theirs: Sequence[Any], layers: Iterable[EncoderLayer | DecoderLayer], width: int) -> None:
    """Copy all layers of a stack; a sub-layer owns the norm after it or, in pre-norm models, before it."""
    for layer, our_layer in zip(theirs, layers, strict=True):
        sub_layers = [layer.self_attention, layer.ffn]
        _put_attention(layer.self_attention, our_layer.self_attn, width, together=[["q", "k", "v"], ["o"]])
        if isinstance(our_layer, DecoderLayer):
            sub_layers.insert(1, layer.attention)
            _put_attention(layer.attention, our_layer.cross_attn, width, together=[["q"], ["k", "v"], ["o"]])
        _put(layer.ffn.linear_0, our_layer.feed_forward.w_1.weight, our_layer.feed_forward.w_1.bias)
        _put(layer.ffn.linear_1, our_layer.feed_forward.w_2.weight, our_layer.feed_forward.w_2.bias)
        for sub_layer, residual in zip(sub_layers, our_layer.residuals, strict=True):
            _put_norm(sub_layer.layer_norm, residual.norm)  # type: ignore[arg-type]


def _put_attention(theirs: Any, attention: MultiHeadAttention, width: int, together: list[list[str]]) -> None:
    """Copy the projections; those that read the same positions become one matrix."""
    projected = projections(attention, width)
    for linear, names in zip(theirs.linear, together, strict=True):
        fused = [projected[name] for name in names]
        _put(linear, torch.cat([part.weight for part in fused]), torch.cat([part.bias for part in fused]))


def _put(linear: Any, weight: Tensor, bias: Tensor) -> None:
    linear.weight, linear.bias = _array(weight), _array(bias)


def _put_norm(theirs: Any, norm: nn.LayerNorm) -> None:
    theirs.gamma, theirs.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> Any:
    """Return a copy as a NumPy array, because CTranslate2 quantises in place."""
    return tensor.detach().float().clone(memory_format=torch.contiguous_format).numpy()


class CTranslate2Folder:
    """A CTranslate2 folder loaded by CTranslate2; a `verification.Exported`."""

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        engine = package()
        self.tokenizer = tokenizer
        self.ids: Sequence[int] = range(tokenizer.vocab_size)
        self.translator = engine.Translator(str(folder), device="cpu", intra_threads=torch.get_num_threads())

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return token ids without eos; the tokenizer is the original one."""
        return self.tokenizer.encode_batch(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids."""
        return self.tokenizer.decode(ids)

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """Return the log-probability of each target token and of eos, (T + 1) for each pair."""
        scored = self.translator.score_batch(self._pieces(src), self._pieces(tgt), max_input_length=0)
        return [torch.tensor(result.log_probs) for result in scored]

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        """Return greedy outputs without eos, of at most limit - 1 tokens."""
        settings = {"beam_size": 1, "max_input_length": 0, "min_decoding_length": 0}
        results = self.translator.translate_batch(self._pieces(src), max_decoding_length=limit - 1, **settings)
        return [self.tokenizer.ids(result.hypotheses[0]) for result in results]

    def _pieces(self, sentences: Ids) -> list[list[str]]:
        return [self.tokenizer.pieces(ids) for ids in sentences]
