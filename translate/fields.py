"""Check the fields of a dataclass, for values that are needed before pydantic could be imported.

Importing pydantic takes about as long as translating a sentence.
"""

from dataclasses import dataclass, fields
from math import isfinite
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest number that a field may have, for `Annotated`; None is no limit."""

    ge: float
    le: float | None = None


def check(instance: "DataclassInstance") -> None:
    """Raise ValueError for the first field whose value does not fit its annotation.

    An annotation is a class, a Literal, `Annotated` with `Bounds`, or a union of these. A bool is not
    a number; an int is a float; a float must be finite.
    """
    hints = get_type_hints(type(instance), include_extras=True)
    for name in (field.name for field in fields(instance)):
        if not _fits(value := getattr(instance, name), hints[name]):
            raise ValueError(f"{name} = {value!r}: should be {_wanted(hints[name])}")


def _fits(value: Any, hint: Any) -> bool:
    match get_origin(hint):
        case origin if origin is Annotated:
            kind, bounds = get_args(hint)
            return _fits(value, kind) and value >= bounds.ge and (bounds.le is None or value <= bounds.le)
        case origin if origin is Literal:
            return value in get_args(hint)
        case origin if origin in (Union, UnionType):
            return any(_fits(value, option) for option in get_args(hint))
    if hint is float:
        return type(value) in (int, float) and isfinite(value)
    return type(value) is hint


def _wanted(hint: Any) -> str:
    """Return the values that fit a type, in words."""
    if get_origin(hint) is Annotated:
        kind, bounds = get_args(hint)
        return f"{_wanted(kind)}, at least {bounds.ge}" + ("" if bounds.le is None else f" and at most {bounds.le}")
    if get_origin(hint) is Literal:
        return " or ".join(repr(choice) for choice in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_wanted(option) for option in get_args(hint))
    return {type(None): "none", int: "an integer", float: "a number", str: "text"}.get(hint, f"a {hint.__name__}")
