"""Load the programs in scripts/, which is not a package, as modules."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

SCRIPTS = Path(__file__).parents[1] / "scripts"


def program(name: str) -> ModuleType:
    """Return scripts/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up the annotations of their fields here
    spec.loader.exec_module(module)
    return module


def case(name: str) -> ModuleType:
    """Return scripts/cases/NAME.py as a module; pytest has scripts/ on its path."""
    return importlib.import_module(f"cases.{name}")
