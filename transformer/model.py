"""The Transformer: section 3, figure 1.

Dimension key: B batch, S source positions, T target positions, D d_model, V vocabulary, N hypotheses in decoding.

Token ids in, logits out. The target begins with bos; the source ends with eos; padding stands to the right.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from transformer.attention import MultiHeadAttention
from transformer.cache import DecoderCache, LayerCache
from transformer.config import ModelConfig
from transformer.embedding import Embedding
from transformer.feedforward import FeedForward
from transformer.kernels.packed_linear import Linear, Packed, can_pack
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.masks import decoder_mask, encoder_mask, padding_mask


@dataclass(frozen=True)
class Memory:
    """What the encoder made of a batch of sentences: (B, S, D), and which positions hold tokens: (B, 1, 1, S)."""

    states: Tensor
    allowed: Tensor


@dataclass(frozen=True)
class AttentionMaps:
    """Attention weights by layer: encoder (B, H, S, S), decoder (B, H, T, T), cross (B, H, T, S)."""

    encoder: list[Tensor] = field(default_factory=list)
    decoder: list[Tensor] = field(default_factory=list)
    cross: list[Tensor] = field(default_factory=list)


class Transformer(nn.Module):
    """Encoder-decoder of section 3; `encode` and `decode` are its halves, `forward` their composition.

    Attributes:
        keeps_activations: whether the layers' inner values wait for the backward pass. Where they do not, only each
            layer's input is kept and the rest computed a second time: less memory, a third more work, the same bits.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.keeps_activations = True
        self.src_embedding = Embedding(config)
        # Tied matrices are one parameter under one name (3.4), never two names for the same storage.
        self.own_tgt_embedding = None if config.tying == "all" else Embedding(config)
        self.own_output = None if config.tying != "none" else nn.Linear(config.d_model, config.vocab_size, bias=False)
        self._packed_output: Packed | None = None
        self.output_bias_V = nn.Parameter(torch.zeros(config.vocab_size)) if config.output_bias else None
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps) if pre else nn.Identity()
        initialise(self)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.output_weight.device

    @property
    def tgt_embedding(self) -> Embedding:
        """The target embedding; the source's where they are tied."""
        return self.src_embedding if self.own_tgt_embedding is None else self.own_tgt_embedding

    @property
    def output_weight(self) -> Tensor:
        """The pre-softmax matrix; the target embedding's where they are tied (3.4), (V, D)."""
        return self.tgt_embedding.weight_VD if self.own_output is None else self.own_output.weight

    def forward(self, src_BS: Tensor, tgt_BT: Tensor) -> Tensor:
        """Logits of the token after each target position, (B, T, V)."""
        return self.decode(tgt_BT, self.encode(src_BS))

    def encode(self, src_BS: Tensor, maps: AttentionMaps | None = None) -> Memory:
        """Read the source; ValueError if a sentence is empty."""
        x_BSD = self.src_embedding(src_BS)
        padding_B11S = padding_mask(src_BS, self.config.pad)
        allowed = encoder_mask(padding_B11S, self.config.window)
        for layer in self.encoder:
            x_BSD = self._through(layer, x_BSD, allowed, None if maps is None else maps.encoder)
        return Memory(self.encoder_norm(x_BSD), padding_B11S)

    def decode(self, tgt_BT: Tensor, memory: Memory) -> Tensor:
        """Logits for all target positions at once, (B, T, V); position t sees targets up to t and the memory."""
        return self.logits(self.decode_states(tgt_BT, memory))

    def decode_states(self, tgt_BT: Tensor, memory: Memory, maps: AttentionMaps | None = None) -> Tensor:
        """The decoder's output before the pre-softmax matrix, (B, T, D)."""
        x_BTD = self.tgt_embedding(tgt_BT)
        allowed = decoder_mask(tgt_BT.size(1), self.config.window, tgt_BT.device)
        records = (None, None) if maps is None else (maps.decoder, maps.cross)
        for layer in self.decoder:
            x_BTD = self._through(layer, x_BTD, memory.states, allowed, memory.allowed, *records)
        return self.decoder_norm(x_BTD)  # type: ignore[no-any-return]

    def _through(self, layer: nn.Module, *inputs: Tensor | list[Tensor] | None) -> Tensor:
        """A layer's output; dropout draws the same numbers whenever the layer is computed."""
        if self.keeps_activations or not torch.is_grad_enabled():
            return layer(*inputs)  # type: ignore[no-any-return]
        return checkpoint(layer, *inputs, use_reentrant=False)  # type: ignore[no-any-return]

    def logits(self, states: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        if self._packed_output is not None and not torch.is_grad_enabled():
            return self._packed_output(states)
        return F.linear(states, self.output_weight, self.output_bias_V)

    @property
    def is_packed(self) -> bool:
        """Whether `pack` has had an effect."""
        return self._packed_output is not None

    def pack(self) -> None:
        """Prepare for products without gradients, where that pays; the weights have to stay as they are afterwards."""
        if not can_pack(self.output_weight):
            return
        for module in self.modules():
            if isinstance(module, Linear):
                module.pack("all")
        for layer in self.decoder:
            layer.cross_attn.w_qkv.pack("first", "rest")  # type: ignore[union-attr, operator]
        self._packed_output = Packed(self.output_weight, self.output_bias_V)

    def attention_maps(self, src_BS: Tensor, tgt_BT: Tensor) -> AttentionMaps:
        """The weights of every layer and head; call in eval mode."""
        maps = AttentionMaps()
        self.decode_states(tgt_BT, self.encode(src_BS, maps), maps)
        return maps

    def new_cache(self, memory: Memory) -> DecoderCache:
        """An empty cache; the keys and values of the memory are computed once, here."""
        layers = [
            LayerCache(*(x.contiguous() for x in layer.cross_attn.keys_values(memory.states)))  # type: ignore[operator, union-attr]
            for layer in self.decoder
        ]
        return DecoderCache(layers, memory.allowed, self.config.window)

    def decode_step(self, token_N: Tensor, cache: DecoderCache) -> Tensor:
        """Logits of the token after `token_N`, (N, V); N is B times the hypotheses per sentence. Grows the cache."""
        cache.advance(token_N.size(0))
        own, memory = cache.barriers(self.config.n_heads)
        x_N1D = self.tgt_embedding(token_N[:, None], start=cache.length)
        x_BJD = x_N1D.view(cache.n_sentences, -1, x_N1D.size(-1))
        for layer, layer_cache in zip(self.decoder, cache.layers, strict=True):
            x_BJD = layer.step(x_BJD, layer_cache, cache.first, cache.length, own, memory)  # type: ignore[operator]
        cache.length += 1
        return self.logits(self.decoder_norm(x_BJD).flatten(0, 1))


def initialise(model: Transformer) -> None:
    """Every initial value of a model: each module's `initialise` says its own; norms keep gain 1 and bias 0.

    The paper is silent. Embeddings as the authors' code; matrices Xavier uniform, each by its own fans.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention | FeedForward | Embedding):
            module.initialise()
    if model.own_output is not None:
        nn.init.normal_(model.own_output.weight, std=model.config.d_model**-0.5)
