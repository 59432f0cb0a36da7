"""Stand-ins for `translate.cluster` without Ray: the same parts, pickled on their way, in one process."""

import contextlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from translate.cluster import Place


class OneProcess:
    """Parts of sources; see `translate.cluster.Parts`."""

    def __init__(self, parts: Callable[[], Iterator[tuple[Place, Any, Any]]]) -> None:
        self._parts = parts

    @classmethod
    def read(cls, sources: Sequence[Callable[[], Iterator[Any]]]) -> "OneProcess":
        def parts() -> Iterator[tuple[Place, Any, Any]]:
            for source, read in enumerate(sources):
                values = [*pickle.loads(pickle.dumps(read))()]
                for n, value in enumerate(values):
                    yield Place(source, n, is_last=n == len(values) - 1), value, None

        return cls(parts)

    def map(self, work: Callable[[Place, Any], tuple[Any, Any]]) -> "OneProcess":
        def parts() -> Iterator[tuple[Place, Any, Any]]:
            own = pickle.loads(pickle.dumps(work))
            return ((place, *pickle.loads(pickle.dumps(own(place, value)))) for place, value, _ in self._parts())

        return OneProcess(parts)

    def stored(self) -> "OneProcess":
        parts = [*self._parts()]
        return OneProcess(lambda: iter(parts))

    def notes(self) -> Iterator[tuple[Place, Any]]:
        return ((place, note) for place, _, note in self._parts())


class Stored:
    """See `translate.cluster.Stored`."""

    def __init__(self, value: Any) -> None:
        self._value = pickle.dumps(value)

    def get(self) -> Any:
        return pickle.loads(self._value)


def shared(values: Iterator[tuple[Place, Any]]) -> dict[Place, Any]:
    """See `translate.cluster.Shared`."""
    return {place: pickle.loads(pickle.dumps(value)) for place, value in values}


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    """See `translate.cluster.connected`."""
    yield
