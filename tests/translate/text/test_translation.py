"""The check of dataclass fields accepts only values that match the annotations."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import pytest

from translate.text.translation import Bounds, check


@dataclass
class Sizes:
    rule: ClassVar[object] = None
    width: Annotated[int, Bounds(ge=2, le=5)] = 3
    share: float = 0.5
    kind: Literal["a", "b"] = "a"
    limit: Annotated[int, Bounds(ge=1)] | None = None


@pytest.mark.parametrize("values", [{}, {"width": 2}, {"width": 5, "share": 1}, {"kind": "b", "limit": 10**9}])
def test_valid_values_are_accepted(values: dict[str, object]) -> None:
    check(Sizes(**values))


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("width", 1, "an integer, at least 2 and at most 5"),
        ("width", 6, "at most 5"),
        ("width", True, "an integer"),
        ("width", 3.0, "an integer"),
        ("share", float("nan"), "a number"),
        ("share", "0.5", "a number"),
        ("kind", "c", "'a' or 'b'"),
        ("limit", 0, "an integer, at least 1 or none"),
    ],
)
def test_the_first_value_that_does_not_fit_is_named(name: str, value: object, wanted: str) -> None:
    with pytest.raises(ValueError, match=f"{name} = .*: should be .*{wanted}"):
        check(Sizes(**{name: value}))
