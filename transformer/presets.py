"""Architectures by name: the rows of table 3 of Vaswani et al. (2017) and other published recipes.

A preset lists the differences from the defaults of `ModelConfig`, as a blank in table 3 means "as base". It describes
the model only; batches, learning rates and label smoothing are in `configs/`. The two rows of table 3 that vary label
smoothing therefore use the preset `paper-base`.
"""

import difflib
from collections.abc import Mapping

from transformer.config import ConfigError, ModelConfig

Preset = Mapping[str, int | float | str | bool]

_BIG: Preset = {"d_model": 1024, "d_ff": 4096, "n_heads": 16}

PRESETS: Mapping[str, Preset] = {
    # Table 3, named by the value that varies.
    "paper-base": {},
    "paper-A1": {"n_heads": 1, "d_k": 512, "d_v": 512},
    "paper-A4": {"n_heads": 4, "d_k": 128, "d_v": 128},
    "paper-A16": {"n_heads": 16, "d_k": 32, "d_v": 32},
    "paper-A32": {"n_heads": 32, "d_k": 16, "d_v": 16},
    "paper-B16": {"d_k": 16},
    "paper-B32": {"d_k": 32},
    "paper-C-N2": {"n_encoder_layers": 2, "n_decoder_layers": 2},
    "paper-C-N4": {"n_encoder_layers": 4, "n_decoder_layers": 4},
    "paper-C-N8": {"n_encoder_layers": 8, "n_decoder_layers": 8},
    "paper-C-d256": {"d_model": 256, "d_k": 32, "d_v": 32},
    "paper-C-d1024": {"d_model": 1024, "d_k": 128, "d_v": 128},
    "paper-C-ff1024": {"d_ff": 1024},
    "paper-C-ff4096": {"d_ff": 4096},
    "paper-D-dropout0.0": {"dropout": 0.0},
    "paper-D-dropout0.2": {"dropout": 0.2},
    "paper-E": {"positions": "learned"},
    "paper-big": {**_BIG, "dropout": 0.3},
    # tensor2tensor, transformer_base_v2 and v3: the authors' code after the paper.
    "t2t-base": {
        "norm": "pre",
        "norm_eps": 1e-6,
        "positions": "sinusoidal-blocks",
        "attention_dropout": 0.1,
        "ffn_dropout": 0.1,
    },
    # fairseq, transformer_iwslt_de_en with the options of its IWSLT14 example.
    "iwslt14": {
        "d_ff": 1024,
        "n_heads": 4,
        "dropout": 0.3,
        "positions": "sinusoidal-blocks",
        "tying": "target",
        "attention_bias": True,
    },
    # fairseq, transformer_vaswani_wmt_en_de_big with --share-all-embeddings (Ott et al., 2018).
    "fairseq-wmt-big": {**_BIG, "dropout": 0.3, "positions": "sinusoidal-blocks", "attention_bias": True},
    # JoeyNMT, configs/transformer_iwslt14_deen_bpe.yaml; its one dropout rate also acts inside attention and network.
    "joey-iwslt14": {
        "d_model": 256,
        "d_ff": 1024,
        "n_heads": 4,
        "dropout": 0.3,
        "attention_dropout": 0.3,
        "ffn_dropout": 0.3,
        "norm": "pre",
        "norm_eps": 1e-6,
        "attention_bias": True,
    },
    # Sockeye, the WMT "large" tutorial: big with the toolkit's default dropout and order of norms.
    "sockeye-wmt-big": {**_BIG, "attention_dropout": 0.1, "ffn_dropout": 0.1, "norm": "pre"},
    # argos-train, config.yml for OpenNMT-py: one vocabulary, but its embeddings are not shared.
    "argos-base": {
        "attention_dropout": 0.1,
        "ffn_dropout": 0.1,
        "norm": "pre",
        "tying": "none",
        "attention_bias": True,
    },
    # Wu et al. (2021), transformer_tiny of the text-only Multi30k baseline, in fairseq.
    "multi30k-tiny": {
        "d_model": 128,
        "d_ff": 256,
        "n_heads": 4,
        "n_encoder_layers": 4,
        "n_decoder_layers": 4,
        "dropout": 0.3,
        "positions": "sinusoidal-blocks",
        "attention_bias": True,
    },
    # This project's own: `small` for corpora of about 100,000 pairs, `tiny` for demonstrations and tests.
    "small": {
        "d_model": 256,
        "d_ff": 1024,
        "n_heads": 4,
        "n_encoder_layers": 3,
        "n_decoder_layers": 3,
        "init_gain": 0.5,
    },
    "tiny": {"d_model": 128, "d_ff": 512, "n_heads": 4, "n_encoder_layers": 2, "n_decoder_layers": 2, "init_gain": 0.5},
}


def model_config(name: str, *, vocab_size: int) -> ModelConfig:
    """Return the preset `name` without changes; ConfigError with the nearest known name if it does not exist."""
    return resolve(name, {}, vocab_size)


def resolve(preset: str, overrides: Mapping[str, object], vocab_size: int) -> ModelConfig:
    """Return the preset with some fields replaced.

    Args:
        preset: its name.
        overrides: new values of fields; None keeps the preset's value.
        vocab_size: rows of the embedding.

    ConfigError if the preset or a field is unknown, or if the values do not describe a model.
    """
    if preset not in PRESETS:
        near = difflib.get_close_matches(preset, PRESETS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known presets: {', '.join(PRESETS)}"
        raise ConfigError(f"model.preset = {preset!r} is not a known preset; {hint}")
    given = {key: value for key, value in overrides.items() if value is not None}
    return ModelConfig.from_dict({**PRESETS[preset], **given, "vocab_size": vocab_size})
