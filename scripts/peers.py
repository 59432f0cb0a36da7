"""Other libraries, with the sizes, dropout and initial values of a model of this toolkit: what it is compared with."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.config import ModelConfig
from transformer.embedding import sinusoids
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch
from translate.corpus.tokenizer import Tokenizer
from translate.exchange.marian import marian_config
from translate.training.optimizer import new_optimizer
from translate.training.update import precision

# On a CPU, where sentences are short for it, PyTorch's fused attention makes an update 1.5 times as long.
FUSED = torch.cuda.is_available()
KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
ATTENTION = sdpa_kernel(KERNELS if FUSED else [SDPBackend.MATH])

PlainUpdate = Callable[[Batch, float], None]  # of a batch, with a learning rate
Maker = Callable[[ModelConfig, torch.device, torch.dtype], tuple[nn.Module, PlainUpdate]]


def plain_loop(
    kind: Callable[[ModelConfig], nn.Module], config: ModelConfig, device: torch.device, dtype: torch.dtype
) -> tuple[nn.Module, PlainUpdate]:
    """Return a model that maps a batch to its loss, and its update in a plain loop.

    Args:
        kind: makes the model.
        config, device, dtype: see `ours`.
    """
    model = kind(config).to(device).train()
    optimizer = new_optimizer(model, TrainingConfig())

    def update(batch: Batch, lr: float) -> None:
        for group in optimizer.param_groups:
            group["lr"] = lr
        with precision(device, dtype):
            loss = model(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, update


class PlainTorch(nn.Module):
    """torch.nn.Transformer between an embedding and a tied projection, with the dropout and initial values of ours."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)  # its own, 1, is too large for tied logits
        sizes = (config.d_model, config.n_heads, config.n_encoder_layers, config.n_decoder_layers, config.d_ff)
        self.transformer = nn.Transformer(*sizes, config.dropout, batch_first=True)
        for layer in (*self.transformer.encoder.layers, *self.transformer.decoder.layers):
            configure(layer, config)
        self.register_buffer("positions", sinusoids(config.max_length, config.d_model), persistent=False)
        self.scale, self.dropout = config.d_model**0.5, config.dropout

    def embed(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, d_model)."""
        positions = self.positions[: ids.size(1)]  # type: ignore[index]
        return F.dropout(self.embedding(ids) * self.scale + positions, self.dropout, self.training)

    def forward(self, batch: Batch) -> Tensor:
        """Return the mean loss of the target tokens."""
        logits = self.logits(self.decode(batch.tgt_in, self.encode(batch.src), batch.src == 0)).flatten(0, 1)
        return F.cross_entropy(logits, batch.tgt_out.flatten(), ignore_index=0, label_smoothing=0.1)

    @ATTENTION
    def encode(self, src_BS: Tensor) -> Tensor:
        """(B, S) -> (B, S, d_model)."""
        return self.transformer.encoder(  # type: ignore[no-any-return]
            self.embed(src_BS), src_key_padding_mask=src_BS == 0
        )

    @ATTENTION
    def decode(self, tgt_BT: Tensor, memory_BSD: Tensor, padding_BS: Tensor) -> Tensor:
        """Return the decoder's output, (B, T, d_model); `padding_BS` is True at the padding of the source."""
        return self.transformer.decoder(  # type: ignore[no-any-return]
            self.embed(tgt_BT),
            memory_BSD,
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(tgt_BT.size(1), tgt_BT.device).isinf(),
            tgt_is_causal=True,
            memory_key_padding_mask=padding_BS,
        )

    def logits(self, states: Tensor) -> Tensor:
        """(..., d_model) -> (..., V)."""
        return F.linear(states, self.embedding.weight)


def configure(layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, config: ModelConfig) -> None:
    """Give a layer of nn.Transformer the dropout and the initial values of an architecture.

    Its own dropout is also applied to attention weights and inner activations, and Xavier values without a smaller gain
    do not train 6 + 6 post-norm layers (docs/grids.md, initialisation).
    """
    layer.dropout.p = config.ffn_dropout
    gain = config.init_gain
    for attention in layer.children():
        if isinstance(attention, nn.MultiheadAttention):
            attention.dropout = config.attention_dropout
            for weight, its_gain in zip(attention.in_proj_weight.data.chunk(3), (1.0, 1.0, gain), strict=True):
                nn.init.xavier_uniform_(weight, its_gain)
            nn.init.xavier_uniform_(attention.out_proj.weight, gain)
    for linear in (layer.linear1, layer.linear2):
        nn.init.xavier_uniform_(linear.weight, gain)
        nn.init.zeros_(linear.bias)


class HuggingFace(nn.Module):
    """MarianMTModel with label smoothing, as `Trainer` adds it: the model's own loss has none.

    Args:
        fused: whether attention is the library's default.
    """

    def __init__(self, config: ModelConfig, fused: bool = FUSED) -> None:
        from transformers import MarianMTModel

        super().__init__()
        self.model = MarianMTModel(marian_config(config))
        self.model.set_attn_implementation("sdpa" if fused else "eager")

    def forward(self, batch: Batch) -> Tensor:
        """Return the mean loss of the target tokens."""
        found = self.model(input_ids=batch.src, attention_mask=batch.src != 0, decoder_input_ids=batch.tgt_in)
        logits, tgt = found.logits.flatten(0, 1), batch.tgt_out.flatten()
        return F.cross_entropy(logits, tgt, ignore_index=0, label_smoothing=0.1)


def searched(translator: Any, tokenizer: Tokenizer, ids: Sequence[Sequence[int]], **settings: Any) -> list[str]:
    """Return the translations of a translator of CTranslate2.

    Args:
        translator: CTranslate2's own.
        tokenizer: of the model.
        ids: token ids of each line.
        settings: of its `translate_batch`.
    """
    results = translator.translate_batch([tokenizer.tokens(of_line) for of_line in ids], **settings)
    return [tokenizer.decode(tokenizer.ids(result.hypotheses[0])) for result in results]
