"""A random Transformer of one layer and eleven tokens, saved by CTranslate2's own specification."""

import numpy as np
from ctranslate2.specs import transformer_spec

D_MODEL, N_HEADS, D_FF = 12, 3, 24
VOCABULARY = ["<unk>", "<s>", "</s>", *"abcdefgh"]


def save(folder: str, **config: int) -> None:
    """Save the model; `config` is for `TransformerSpec.from_config`. The weights are the same each time."""
    rng = np.random.default_rng(0)
    spec = transformer_spec.TransformerSpec.from_config((1, 1), N_HEADS, pre_norm=False, **config)

    def linear(layer, n_out, n_in):
        layer.weight = rng.normal(size=(n_out, n_in), scale=0.5).astype("float32")
        layer.bias = np.zeros(n_out, "float32")

    def norm(layer):
        layer.gamma, layer.beta = np.ones(D_MODEL, "float32"), np.zeros(D_MODEL, "float32")

    for side in (spec.encoder, spec.decoder):
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = rng.normal(size=(len(VOCABULARY), D_MODEL)).astype("float32")
        side.position_encodings.encodings = rng.normal(size=(32, D_MODEL)).astype("float32")
        [layer] = side.layer
        linear(layer.self_attention.linear[0], 3 * D_MODEL, D_MODEL)
        linear(layer.self_attention.linear[1], D_MODEL, D_MODEL)
        norm(layer.self_attention.layer_norm)
        if side is spec.decoder:
            linear(layer.attention.linear[0], D_MODEL, D_MODEL)
            linear(layer.attention.linear[1], 2 * D_MODEL, D_MODEL)
            linear(layer.attention.linear[2], D_MODEL, D_MODEL)
            norm(layer.attention.layer_norm)
        linear(layer.ffn.linear_0, D_FF, D_MODEL)
        linear(layer.ffn.linear_1, D_MODEL, D_FF)
        norm(layer.ffn.layer_norm)
    linear(spec.decoder.projection, len(VOCABULARY), D_MODEL)
    spec.register_source_vocabulary(VOCABULARY)
    spec.register_target_vocabulary(VOCABULARY)
    spec.validate()
    spec.save(folder)
