"""Ray Data as this project uses it: the numbered parts of some sources, mapped anywhere and received in order.

Ray schedules, repeats what a lost worker did, and stores. A row of its tables is one part: Ray may divide and join
tables of rows at any place, and guesses the types of other values than bytes, so a part holds pickled values. Every
process checks that it has the versions of the one that connected, as others might give other results.
"""

import contextlib
import importlib.metadata
import itertools
import logging
import os
import pickle
import platform
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from translate.errors import UserError, optional_package

_READING = 0.5  # of a CPU; another share than that of other tasks, as Ray would otherwise do both in one task
_PATIENCE = 10.0  # seconds until a machine has answered
_NONE = object()
_SENTENCE = "sentence"
_LIBRARIES = ("transformer-translate", "sentencepiece", "numpy")


class PartIndex(NamedTuple):
    """The index of a part: the number of its source, its number in it, and whether it is the last one there."""

    source: int
    number: int
    is_last: bool


Read = Callable[[], Iterator[Any]]  # yields the values of the parts of a source, at least one
Work = Callable[[PartIndex, Any], tuple[Any, Any]]  # returns the value for later work and the one for `Dataset.notes`


@contextlib.contextmanager
def connected(address: str | None = None) -> Iterator[None]:
    """Connect this process to a cluster until the block ends; a connection that exists already is used and stays.

    Args:
        address: "HOST:PORT", "auto", or "local" to start a cluster on this machine; None or "" is the cluster of
            $RAY_ADDRESS, or that of this machine, which is started if there is none.

    Raises UserError if Ray is not installed, if no cluster answers, or, for the whole block, if a worker raises one or
    if Ray cannot finish its work.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    ray = optional_package("ray", "ray")
    data = optional_package("ray.data", "ray")
    with contextlib.ExitStack() as held:
        if not ray.is_initialized():
            held.callback(ray.shutdown)
            with _own_signals():
                try:
                    _require_answer(address or "")
                    ray.init(address or None, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
                except (OSError, ValueError, RuntimeError) as error:
                    raise UserError(
                        f"--ray {address or ''}: no cluster: {_first_line(error)}; start one with `ray start --head`, "
                        "or correct the address"
                    ) from error
        context = data.DataContext.get_current().copy()
        context.enable_progress_bars = context.print_on_execution_start = False
        context.execution_options.preserve_order = True
        context.raise_original_map_exception = True  # or its type is lost
        context.target_max_block_size = 1  # byte: each part is a block, and so a task, which any worker may do
        held.enter_context(data.DataContext.current(context))
        held.enter_context(_quiet(logging.getLogger("ray.data")))
        try:
            yield
        except Exception as error:
            if (sentence := _told(error)) is not None:
                raise UserError(sentence) from error
            if isinstance(error, ray.exceptions.RayError) and not isinstance(error, ray.exceptions.RayTaskError):
                raise UserError(
                    f"Ray could not finish: {_first_line(error)}; see its logs in /tmp/ray/session_latest/logs, and "
                    "give its nodes more memory if a worker was killed"
                ) from error
            raise


def _require_answer(address: str) -> None:
    """Raise OSError if nothing answers at HOST:PORT, for which Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the handler of SIGTERM, which `ray.init` replaces."""
    own = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, own)


@contextlib.contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Write what a logger reports below an error to its file alone."""
    screens = [handler for handler in logger.handlers if not isinstance(handler, logging.FileHandler)]
    levels = [handler.level for handler in screens]
    for handler in screens:
        handler.setLevel(logging.CRITICAL)
    yield
    for handler, level in zip(screens, levels, strict=True):
        handler.setLevel(level)


def _told(error: BaseException | None) -> str | None:
    """Return what a worker tells the user, from the errors that Ray makes of it; None if it is no such error."""
    while error is not None:
        if _SENTENCE in error.__dict__:
            return str(error.__dict__[_SENTENCE])
        error = getattr(error, "cause", None) or error.__cause__
    return None


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Let an error keep its sentence: Ray adds advice of its own to its arguments, but keeps its attributes."""
    try:
        yield
    except UserError as error:
        error.__dict__[_SENTENCE] = str(error)
        raise


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class Dataset:
    """The parts of some sources on the cluster, each with a value for later work and one for this process.

    Nothing is computed before `materialize` or `notes`.
    """

    def __init__(self, rows: Any, n_sources: int) -> None:
        self._rows, self._n_sources = rows, n_sources

    @classmethod
    def read(cls, sources: Sequence[Read]) -> "Dataset":
        """Return the parts of sources, each of which one worker reads; what they read must be there on every node."""
        from ray import data
        from ray.data.block import BlockMetadata

        class Sources(data.Datasource):  # type: ignore[misc]
            def get_read_tasks(
                self, parallelism: int, per_task_row_limit: int | None = None, data_context: object = None
            ) -> list[Any]:
                unknown = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None)
                return [data.ReadTask(_reading(n, read), unknown) for n, read in enumerate(sources)]

            def estimate_inmemory_data_size(self) -> None:
                return None

        rows = data.read_datasource(Sources(), num_cpus=_READING, override_num_blocks=len(sources))
        return cls(rows, len(sources))

    def map(self, work: Work) -> "Dataset":
        """Return the parts with the values that `work` returns."""
        return Dataset(self._rows.map(_Apply(work, versions()).row), self._n_sources)

    def materialize(self) -> "Dataset":
        """Compute the values and keep them in the cluster as long as a dataset needs them."""
        return Dataset(self._rows.materialize(), self._n_sources)

    def notes(self) -> Iterator[tuple[PartIndex, Any]]:
        """Yield the values for this process, in the order of sources and parts."""
        expected = PartIndex(0, 0, is_last=False)
        for row in self._rows.select_columns([*PartIndex._fields, "note"]).iter_rows():
            part = PartIndex(*(row[name] for name in PartIndex._fields))
            if part[:2] != expected[:2]:
                raise RuntimeError(f"Ray gave {part} where part {expected.number} of {expected.source} was to follow")
            yield part, pickle.loads(row["note"])
            expected = (
                PartIndex(part.source + 1, 0, False) if part.is_last else PartIndex(part.source, part.number + 1, False)
            )
        if expected[:2] != (self._n_sources, 0):
            raise RuntimeError(f"Ray gave no part {expected.number} of {expected.source}")


@dataclass(frozen=True)
class _Apply:
    work: Work
    versions: dict[str, str]

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        part = PartIndex(*(row[name] for name in PartIndex._fields))
        with _sentences():
            require_versions(self.versions)
            value, note = self.work(part, pickle.loads(row["value"]))
        return _row(part, value, note)


def _row(part: PartIndex, value: Any, note: Any) -> dict[str, Any]:
    return {**part._asdict(), "value": pickle.dumps(value), "note": pickle.dumps(note)}


def _reading(source: int, read: Read) -> Callable[[], Iterator[Any]]:
    """Return a function that yields a table for each part of a source."""
    known = versions()

    def tables() -> Iterator[Any]:
        import pyarrow

        with _sentences():
            require_versions(known)
            values = read()
            value = next(values)
            for number in itertools.count():
                following = next(values, _NONE)
                part = PartIndex(source, number, is_last=following is _NONE)
                yield pyarrow.Table.from_pylist([_row(part, value, None)])
                if part.is_last:
                    return
                value = following

    return tables


class ObjectRef:
    """A value in the object store of the cluster, which workers read when they need it."""

    def __init__(self, value: Any) -> None:
        import ray

        self._reference = ray.put(value)

    def get(self) -> Any:
        """Return the value."""
        import ray

        return ray.get(self._reference)


class Shared:
    """A value for each part in the object store, of which a worker reads only its own.

    Args:
        values: by part.
    """

    def __init__(self, values: Iterable[tuple[PartIndex, Any]]) -> None:
        spans, content = {}, bytearray()
        for part, value in values:
            start = len(content)
            content += pickle.dumps(value)
            spans[part] = start, len(content)
        self._stored = ObjectRef((spans, np.frombuffer(content, dtype=np.uint8)))

    def __getitem__(self, part: PartIndex) -> Any:
        spans, content = self._stored.get()
        start, stop = spans[part]
        return pickle.loads(memoryview(content)[start:stop])


@cache
def versions() -> dict[str, str]:
    """Return the versions of this process that results may depend on."""
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in _LIBRARIES}}


def require_versions(known: dict[str, str]) -> None:
    """Raise UserError if this process has other versions than the one that connected."""
    for name, version in known.items():
        if (found := versions()[name]) != version:
            raise UserError(
                f"node {platform.node()}: has {name} {found}, not {version}, and might give other results; install the "
                "same versions on all nodes"
            )
