"""The cost of a model: parameters, floating-point operations, and table 1 of Vaswani et al. (2017).

Operations are those of matrix products, two for each multiplication and addition. Products that a mask hides count too,
since a dense kernel computes them. Imports only `config`.
"""

import math
from dataclasses import dataclass

from transformer.config import ModelConfig


def parameters(config: ModelConfig) -> int:
    """Return the number of parameters; a shared matrix counts once."""
    return sum(parameters_by_part(config).values())


def parameters_by_part(config: ModelConfig) -> dict[str, int]:
    """Return the parameters of embedding, positions, encoder, decoder and output (pre-softmax) matrix (3.1 to 3.5)."""
    d, vocabulary = config.d_model, config.vocab_size * config.d_model
    n_embeddings = 1 if config.tying == "all" else 2
    attention, feed_forward, norm = _attention_parameters(config), _feed_forward_parameters(config), 2 * d
    last_norm = norm if config.norm == "pre" else 0
    return {
        "embedding": n_embeddings * vocabulary,
        "positions": 2 * config.max_length * d if config.positions == "learned" else 0,
        "encoder": config.n_encoder_layers * (attention + feed_forward + 2 * norm) + last_norm,
        "decoder": config.n_decoder_layers * (2 * attention + feed_forward + 3 * norm) + last_norm,
        "output": (vocabulary if config.tying == "none" else 0) + (config.vocab_size if config.output_bias else 0),
    }


def _attention_parameters(config: ModelConfig) -> int:
    """W^Q, W^K, W^V and W^O of all heads (3.2.2)."""
    d, n_k, n_v = config.d_model, config.n_heads * config.d_key, config.n_heads * config.d_value
    biases = 2 * n_k + n_v + d if config.attention_bias else 0
    return 2 * d * (n_k + n_v) + biases


def _feed_forward_parameters(config: ModelConfig) -> int:
    """W_1, b_1, W_2 and b_2 of equation 2 (3.3)."""
    return 2 * config.d_model * config.d_ff + config.d_ff + config.d_model


def forward_flops(config: ModelConfig, src_len: int, tgt_len: int) -> int:
    """Return the operations of one forward pass over a sentence pair.

    Args:
        src_len: source tokens, eos included.
        tgt_len: target tokens, bos included.
    """
    encoder_layer = _attention_flops(config, src_len, src_len) + _feed_forward_flops(config, src_len)
    decoder_layer = (
        _attention_flops(config, tgt_len, tgt_len)
        + _attention_flops(config, tgt_len, src_len)
        + _feed_forward_flops(config, tgt_len)
    )
    logits = 2 * tgt_len * config.d_model * config.vocab_size
    return config.n_encoder_layers * encoder_layer + config.n_decoder_layers * decoder_layer + logits


def _attention_flops(config: ModelConfig, n_queries: int, n_keys: int) -> int:
    """Project queries, keys, values and the result (3.2.2), then equation 1 for every query and key."""
    projections = config.d_model * (n_queries + n_keys)
    return 2 * config.n_heads * (config.d_key + config.d_value) * (projections + n_queries * n_keys)


def _feed_forward_flops(config: ModelConfig, n_tokens: int) -> int:
    """Both products of equation 2 at every position (3.3)."""
    return 4 * n_tokens * config.d_model * config.d_ff


def flops_per_token(config: ModelConfig, src_len: int, tgt_len: int) -> float:
    """Return the forward operations per target token; those of the encoder are divided among the target tokens.

    Args:
        src_len: source tokens, eos included.
        tgt_len: target tokens, bos included.
    """
    return forward_flops(config, src_len, tgt_len) / tgt_len


def training_flops_from_hardware(seconds: float, n_devices: int, sustained_flops: float) -> float:
    """Return the training operations by the estimate behind table 2, the product of the three arguments.

    Args:
        sustained_flops: operations per second of one device, such as the P100's 9.5e12 (footnote 5).
    """
    return seconds * n_devices * sustained_flops


@dataclass(frozen=True)
class LayerCost:
    """One row of table 1, up to constant factors.

    Attributes:
        operations: of the whole layer.
        sequential_operations: the minimum number of operations that cannot run in parallel.
        path_length: the longest path between two positions, in operations.
    """

    operations: float
    sequential_operations: float
    path_length: float


def self_attention_cost(n: int, d: int) -> LayerCost:
    """Return the cost of self-attention over n positions of width d (table 1, row 1)."""
    return LayerCost(n * n * d, 1, 1)


def recurrent_cost(n: int, d: int) -> LayerCost:
    """Return the cost of a recurrent layer over n positions of width d (table 1, row 2)."""
    return LayerCost(n * d * d, n, n)


def convolutional_cost(n: int, d: int, k: int) -> LayerCost:
    """Return the cost of dilated convolutions (table 1, row 3).

    Args:
        k: width of the kernel; ValueError below 2.
    """
    if k < 2:
        raise ValueError(f"k = {k}: a kernel needs a width of at least 2 to join positions")
    return LayerCost(k * n * d * d, 1, math.log(n, k))


def restricted_self_attention_cost(n: int, d: int, r: int) -> LayerCost:
    """Return the cost of restricted self-attention (table 1, row 4).

    Args:
        r: number of positions that each position reads; there are never more than `n`.
    """
    if r < 1:
        raise ValueError(f"r = {r}: a position reads at least itself")
    r = min(r, n)
    return LayerCost(r * n * d, 1, n / r)
