"""The Transformer of "Attention Is All You Need" (Vaswani et al., 2017) in PyTorch.

Names are imported on first use, so importing the package does not import PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformer.checkpoint_io import CheckpointError, load_model, save_model
    from transformer.config import ConfigError, ModelConfig
    from transformer.model import Transformer
    from transformer.search.model_step import translate_ids

_HOMES = {
    "CheckpointError": "checkpoint_io",
    "ConfigError": "config",
    "ModelConfig": "config",
    "Transformer": "model",
    "load_model": "checkpoint_io",
    "save_model": "checkpoint_io",
    "translate_ids": "search.model_step",
}

__all__ = [
    "CheckpointError",
    "ConfigError",
    "ModelConfig",
    "Transformer",
    "load_model",
    "save_model",
    "translate_ids",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"transformer.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'transformer' has no attribute {name!r}")
