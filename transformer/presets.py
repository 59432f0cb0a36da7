"""Architectures by name: the rows of table 3 of Vaswani et al. (2017) and other published recipes.

`presets.toml` lists the differences of each from the defaults of `ModelConfig`, as a blank in table 3 means "as base".
A preset describes the model only; batches, learning rates and label smoothing are in `configs/`.
"""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path

from transformer.config import ConfigError, ModelConfig

PRESETS: Mapping[str, Mapping[str, object]] = tomllib.loads(
    Path(__file__).with_name("presets.toml").read_text(encoding="utf-8")
)


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
