"""Packages that are needed for one format only."""

from importlib import import_module
from typing import Any

from translate.errors import UserError


def optional_package(name: str, extra: str) -> Any:  # Any: mypy checks alike whether or not the package is installed
    """Import a package; UserError names the extra to install if it is missing or broken."""
    try:
        return import_module(name)
    except (ImportError, OSError) as error:  # OSError: a shared library is missing
        command = f"pip install '.[{extra}]'"
        raise UserError(f"this needs the package {name}: {command} in a clone of this project") from error
