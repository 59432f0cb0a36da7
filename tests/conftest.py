"""What every test of the suite gets without asking."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.shapes import checked_shapes

# How long examples take says more about the machine than about the code; and the same code must get the same verdict.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("suite")

P = ParamSpec("P")
ROOT = Path(__file__).parent.parent
# Real corpora, where there are any: in the folder that the configs name, or beside the project.
CORPORA = next(
    (folder for folder in (ROOT / "data", ROOT.parent / "shared" / "data") if folder.is_dir()), ROOT / "data"
)
MODEL_TESTS = Path(__file__).parent / "transformer"


@contextmanager
def true_names() -> Iterator[None]:
    """Fails where a name such as x_BTD lies about its tensor."""
    with checked_shapes("transformer") as lies:
        yield
    assert not lies, "names lie about shapes: " + "; ".join(lies)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tests run on one core: products this small are slower on two."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(autouse=True)
def true_names_of_the_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests of the model library start from one seed and watch the library's shape names."""
    if not request.path.is_relative_to(MODEL_TESTS):
        yield
        return
    torch.manual_seed(0)
    generated = getattr(request.function, "hypothesis", None)
    if generated is None:
        with true_names():
            yield
    else:
        # Each example by itself, or the search for examples would be watched too: twice the time for nothing.
        monkeypatch.setattr(generated, "inner_test", watched(generated.inner_test))
        yield


def watched(test: Callable[P, None]) -> Callable[P, None]:
    """The same test, which fails as well where a name lies."""

    @functools.wraps(test)
    def example(*args: P.args, **kwargs: P.kwargs) -> None:
        with true_names():
            test(*args, **kwargs)

    return example
