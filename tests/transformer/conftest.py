"""Fixtures of the tests of the model library: one seed, and true names of shapes."""

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import ParamSpec

import pytest
import torch

from tests.shapes import checked_shapes

P = ParamSpec("P")


@contextmanager
def true_names() -> Iterator[None]:
    """Fail if a name such as x_BTD does not match the shape of its tensor."""
    with checked_shapes("transformer") as lies:
        yield
    assert not lies, "names lie about shapes: " + "; ".join(lies)


@pytest.fixture(autouse=True)
def true_names_of_the_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test one seed, and check the shape names of the library."""
    torch.manual_seed(0)
    if request.node.get_closest_marker("compiles"):  # the check would be called in every function of the compiler
        yield
        return
    generated = getattr(request.function, "hypothesis", None)
    if generated is None:
        with true_names():
            yield
    else:
        # Check examples separately; checking the search for examples too would double the time.
        monkeypatch.setattr(generated, "inner_test", watched(generated.inner_test))
        yield


def watched(test: Callable[P, None], n_checked: int = 3) -> Callable[P, None]:
    """Return the test with the check of shape names wrapped around its first examples; others differ in values."""
    n = itertools.count()

    @functools.wraps(test)
    def example(*args: P.args, **kwargs: P.kwargs) -> None:
        with true_names() if next(n) < n_checked else nullcontext():
            test(*args, **kwargs)

    return example
