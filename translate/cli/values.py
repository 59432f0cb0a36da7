"""Values of options without pydantic.

Typer converts each value with pydantic, whose import takes as long as translating a sentence. Most values are defaults
or text, which need no validation.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# Any: typer has no public name for the types of a parameter.


def without_pydantic(param: Any) -> None:
    """Let a parameter of a command take text, paths and its default unchanged, and leave the rest to typer."""
    if hasattr(param, "type_descriptor") and not param.required:
        param.process_value = partial(_value, param, param.process_value)


def _value(param: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """Return the converted value of a parameter that is not required.

    Args:
        param: the parameter.
        convert: typer's conversion.
        ctx: the context of the command.
        value: None, the default, or what the user wrote.
    """
    if value is None:
        return () if param.multiple or param.nargs == -1 else None
    annotation, declared = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    if value is param.default:
        return value
    if declared.parser is not None:
        return declared.parser(value)
    if annotation == list[str]:
        return [*value]
    return annotation(value) if annotation in (str, Path) else convert(ctx, value)
