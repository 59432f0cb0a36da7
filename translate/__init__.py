"""Train a Transformer on your own text and translate with it.

Names are imported on first use, so importing the package does not import PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from translate.errors import UserError
    from translate.inference.columns import ColumnTranslator
    from translate.inference.translator import Translator
    from translate.text.translation import Document, Opening, Search, Translation

    __version__: str

DISTRIBUTION = "transformer-translate"  # whose package this is; `translate.program` looks for it

_HOMES = {
    "ColumnTranslator": "inference.columns",
    "Document": "text.translation",
    "Opening": "text.translation",
    "Search": "text.translation",
    "Translation": "text.translation",
    "Translator": "inference.translator",
    "UserError": "errors",
}

__all__ = [
    "ColumnTranslator",
    "Document",
    "Opening",
    "Search",
    "Translation",
    "Translator",
    "UserError",
    "__version__",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"translate.{_HOMES[name]}"), name)
    if name == "__version__":
        return _version()
    raise AttributeError(f"module 'translate' has no attribute {name!r}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:  # used from a source tree that is not installed
        return "not installed"
