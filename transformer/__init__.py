"""The Transformer of "Attention Is All You Need" (Vaswani et al., 2017) in PyTorch.

Names are imported on first use, so importing the package does not import PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformer.checkpoint_io import load_model, save_model
    from transformer.config import CheckpointError, ConfigError, ModelConfig, SearchConfig, model_config
    from transformer.model import Transformer
    from transformer.search.model_step import translate_ids

__all__ = ["CheckpointError", "ConfigError", "ModelConfig", "SearchConfig", "Transformer"]
__all__ += ["load_model", "model_config", "save_model", "translate_ids"]

_MODULES = {
    "checkpoint_io": ("load_model", "save_model"),
    "config": ("CheckpointError", "ConfigError", "ModelConfig", "SearchConfig", "model_config"),
    "model": ("Transformer",),
    "search.model_step": ("translate_ids",),
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"transformer.{module}"), name)
    raise AttributeError(f"module 'transformer' has no attribute {name!r}")
