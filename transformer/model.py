"""The Transformer: section 3, figure 1.

Dimension key: B batch, S source positions, T target positions, D d_model, V vocabulary, N hypotheses in decoding.

Token ids in, logits out. The target begins with bos; the source ends with eos; padding is on the right.

Under `torch.autocast` the parameters stay in float32. The embeddings start the residual stream in the autocast type.
On a CPU, all activations then have this type: the residual stream, the outputs of the norms, and the logits. On CUDA,
autocast computes norms in float32, and with post-norm the residual stream is float32 from the first norm on.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from transformer.attention import MultiHeadAttention, decoder_mask, encoder_mask, padding_mask
from transformer.cache import DecoderCache, LayerCache
from transformer.config import ModelConfig
from transformer.embedding import Embedding, PositionEncoding
from transformer.kernels import LayerNorm, Linear, Packable, Packed, can_pack
from transformer.layers import DecoderLayer, EncoderLayer, FeedForward


@dataclass(frozen=True)
class Memory:
    """The encoder's output for a batch of sentences.

    Attributes:
        states: the output, (B, S, D).
        allowed: which positions hold tokens, (B, 1, 1, S).
    """

    states: Tensor
    allowed: Tensor


@dataclass(frozen=True)
class AttentionMaps:
    """Attention weights by layer: encoder (B, H, S, S), decoder (B, H, T, T), cross (B, H, T, S)."""

    encoder: list[Tensor] = field(default_factory=list)
    decoder: list[Tensor] = field(default_factory=list)
    cross: list[Tensor] = field(default_factory=list)


class Transformer(Packable):
    """Encoder-decoder of section 3; `encode` and `decode` are its halves, `forward` their composition.

    Attributes:
        keeps_activations: keep the layers' activations for the backward pass. If False, only each layer's input is
            kept and the rest is computed a second time: less memory, a third more work, bitwise the same gradients.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.keeps_activations = True
        self.packed = {}
        # Tied matrices are one parameter under one name (3.4), never two names for the same storage.
        self.src_embedding = Embedding(config)
        self.untied_tgt_embedding = None if config.tying == "all" else Embedding(config)
        self.untied_output = (
            None if config.tying != "none" else nn.Linear(config.d_model, config.vocab_size, bias=False)
        )
        # Only tokens are tied: each side has its own learned positions. Sinusoids are the same for both.
        self.src_positions = PositionEncoding(config)
        self.tgt_positions = PositionEncoding(config) if config.positions == "learned" else self.src_positions
        self.output_bias_V = nn.Parameter(torch.zeros(config.vocab_size)) if config.output_bias else None
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = LayerNorm(config.d_model, eps=config.norm_eps) if pre else nn.Identity()
        self.decoder_norm = LayerNorm(config.d_model, eps=config.norm_eps) if pre else nn.Identity()
        if not self.output_weight.is_meta:  # such a weight has no values, and drawing them would import the compiler
            initialise(self)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.output_weight.device

    @property
    def tgt_embedding(self) -> Embedding:
        """The target embedding: the source's if they are tied."""
        return self.src_embedding if self.untied_tgt_embedding is None else self.untied_tgt_embedding

    @property
    def output_weight(self) -> Tensor:
        """The pre-softmax matrix, (V, D): that of the target embedding if they are tied (3.4)."""
        return self.tgt_embedding.weight_VD if self.untied_output is None else self.untied_output.weight

    def forward(self, src_BS: Tensor, tgt_BT: Tensor) -> Tensor:
        """Return logits of the token after each target position, (B, T, V)."""
        return self.decode(tgt_BT, self.encode(src_BS))

    def encode(self, src_BS: Tensor, maps: AttentionMaps | None = None) -> Memory:
        """Encode the source; `maps` receives the attention weights. ValueError for an empty sentence (on a CPU)."""
        x_BSD = self.src_embedding(src_BS, self.src_positions(0, src_BS.size(1)))
        padding_B11S = padding_mask(src_BS, self.config.pad)
        allowed = encoder_mask(padding_B11S, self.config.window)
        for layer in self.encoder:
            x_BSD = self._through(layer, x_BSD, allowed, None if maps is None else maps.encoder)
        return Memory(self.encoder_norm(x_BSD), padding_B11S)

    def decode(self, tgt_BT: Tensor, memory: Memory) -> Tensor:
        """Return logits for all target positions at once, (B, T, V); position t sees targets up to t and the memory."""
        return self.logits(self.decode_states(tgt_BT, memory))

    def decode_states(self, tgt_BT: Tensor, memory: Memory, maps: AttentionMaps | None = None) -> Tensor:
        """Return the decoder's output before the pre-softmax matrix, (B, T, D).

        Args:
            tgt_BT: target tokens, from bos.
            maps: receives the attention weights.
        """
        n, window = tgt_BT.size(1), self.config.window
        x_BTD = self.tgt_embedding(tgt_BT, self.tgt_positions(0, n))
        # Flash attention accepts no explicit mask, but knows the causal one.
        allowed = None if window is None else decoder_mask(n, window, tgt_BT.device)
        weights_out = (None, None) if maps is None else (maps.decoder, maps.cross)
        for layer in self.decoder:
            x_BTD = self._through(layer, x_BTD, memory.states, allowed, memory.allowed, *weights_out)
        return self.decoder_norm(x_BTD)  # type: ignore[no-any-return]

    def _through(self, layer: nn.Module, *inputs: Tensor | list[Tensor] | None) -> Tensor:
        """Return a layer's output; a second computation draws the same dropout."""
        records = any(isinstance(x, list) for x in inputs)  # computed twice, it would record its weights twice
        if self.keeps_activations or records or not torch.is_grad_enabled():
            return layer(*inputs)  # type: ignore[no-any-return]
        return checkpoint(layer, *inputs, use_reentrant=False)  # type: ignore[no-any-return]

    def logits(self, states: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        if self.packed and not torch.is_grad_enabled():
            return self.packed["output"](states)
        return F.linear(states, self.output_weight, self.output_bias_V)

    @property
    def is_packed(self) -> bool:
        """True if `pack` found a packed format that pays."""
        return bool(self.packed)

    def pack(self) -> None:
        """Copy the weights into the processor's own format if that pays.

        The copy is dropped if the model is moved, converted, trained or loaded; weights must not change otherwise.
        """
        if not can_pack(self.output_weight):
            return
        for module in self.modules():
            if isinstance(module, Linear):
                module.pack("all")
        for layer in self.decoder:
            layer.cross_attn.w_qkv.pack("first", "rest")  # type: ignore[union-attr, operator]
        self.packed = {"output": Packed(self.output_weight, self.output_bias_V)}

    def attention_maps(self, src_BS: Tensor, tgt_BT: Tensor) -> AttentionMaps:
        """Return the attention weights of every layer and head; call in eval mode."""
        maps = AttentionMaps()
        self.decode_states(tgt_BT, self.encode(src_BS, maps), maps)
        return maps

    @torch.no_grad()
    def new_cache(self, memory: Memory) -> DecoderCache:
        """Return an empty cache, without gradients; the keys and values of the memory are computed once, here."""
        layers = [
            LayerCache(*(x.contiguous() for x in layer.cross_attn.keys_values(memory.states)))  # type: ignore[operator, union-attr]
            for layer in self.decoder
        ]
        return DecoderCache(layers, memory.allowed, self.config.window)

    @torch.no_grad()
    def decode_step(self, token_N: Tensor, cache: DecoderCache) -> Tensor:
        """Return logits of the token after `token_N`, (N, V), without gradients, and add one position to the cache.

        N is B times the number of hypotheses of each sentence, which is the same in every step, those of a sentence
        side by side; ValueError otherwise.
        """
        cache.advance(token_N.size(0))
        self_bias, cross_bias = cache.attn_biases(self.config.n_heads)
        x_N1D = self.tgt_embedding(token_N[:, None], self.tgt_positions(cache.length, 1))
        x_BJD = x_N1D.view(cache.n_sentences, -1, x_N1D.size(-1))
        for layer, layer_cache in zip(self.decoder, cache.layers, strict=True):
            x_BJD = layer.step(x_BJD, layer_cache, cache, self_bias, cross_bias)  # type: ignore[operator]
        cache.length += 1
        return self.logits(self.decoder_norm(x_BJD).flatten(0, 1))


def initialise(model: Transformer) -> None:
    """Draw all initial values by the `initialise` of each module; norms keep gain 1 and bias 0.

    The paper does not describe initialisation. Embeddings follow the authors' code; matrices are Xavier uniform, each
    with its own fans.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention | FeedForward | Embedding | PositionEncoding):
            module.initialise()
    if model.untied_output is not None:
        nn.init.normal_(model.untied_output.weight, std=model.config.d_model**-0.5)
