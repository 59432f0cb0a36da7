"""Stand-ins for `translate.cluster` without Ray: the same parts, pickled on their way, in one process."""

import contextlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from translate.cluster import PartIndex


class OneProcess:
    """Dataset of sources; see `translate.cluster.Dataset`."""

    def __init__(self, parts: Callable[[], Iterator[tuple[PartIndex, Any, Any]]]) -> None:
        self._parts = parts

    @classmethod
    def read(cls, sources: Sequence[Callable[[], Iterator[Any]]]) -> "OneProcess":
        def parts() -> Iterator[tuple[PartIndex, Any, Any]]:
            for source, read in enumerate(sources):
                values = [*pickle.loads(pickle.dumps(read))()]
                for n, value in enumerate(values):
                    yield PartIndex(source, n, is_last=n == len(values) - 1), value, None

        return cls(parts)

    def map(self, work: Callable[[PartIndex, Any], tuple[Any, Any]]) -> "OneProcess":
        def parts() -> Iterator[tuple[PartIndex, Any, Any]]:
            own = pickle.loads(pickle.dumps(work))
            return ((part, *pickle.loads(pickle.dumps(own(part, value)))) for part, value, _ in self._parts())

        return OneProcess(parts)

    def materialize(self) -> "OneProcess":
        parts = [*self._parts()]
        return OneProcess(lambda: iter(parts))

    def notes(self) -> Iterator[tuple[PartIndex, Any]]:
        return ((part, note) for part, _, note in self._parts())


class ObjectRef:
    """See `translate.cluster.ObjectRef`."""

    def __init__(self, value: Any) -> None:
        self._value = pickle.dumps(value)

    def get(self) -> Any:
        return pickle.loads(self._value)


def shared(values: Iterator[tuple[PartIndex, Any]]) -> dict[PartIndex, Any]:
    """See `translate.cluster.Shared`."""
    return {part: pickle.loads(pickle.dumps(value)) for part, value in values}


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    """See `translate.cluster.connected`."""
    yield
