"""Processes of this machine that share work, as Python computes on one core in each.

A worker is a plain process that reads calls from its standard input and writes their results to its standard output. So
it ends when the process that started it has ended, however that was killed. The user's script needs no guard against
being run again, as for `multiprocessing`, and a worker imports only what it calls.
"""

import gc
import os
import pickle
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from translate.errors import UserError, reason
from translate.machine import share_heap

V = TypeVar("V")
R = TypeVar("R")

_LOST = EOFError, BrokenPipeError, pickle.UnpicklingError  # of a pipe whose other end was closed


class Workers:
    """Some processes that call functions; as a context manager, they end with its block.

    Args:
        n: their number; with 0, this process calls.
        state: the first argument of every call; each process receives it once.
    """

    def __init__(self, n: int, state: Any) -> None:
        self._state = state
        self._processes = [_start() for _ in range(n)]
        self._threads = ThreadPoolExecutor(max(n, 1), thread_name_prefix="workers")  # each waits for one process
        self._idle = SimpleQueue[tuple[subprocess.Popen[bytes], bool]]()  # and whether it has the state
        for process in self._processes:
            self._idle.put((process, False))

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.communicate()  # closes the pipes

    def map(self, function: Callable[[Any, V], R], values: Iterable[V]) -> Iterator[R]:
        """Yield `function(state, value)` for each value, in order; only a few values are taken in advance.

        Raises what a call raises, and UserError if a process was killed.
        """
        if not self._processes:
            yield from (function(self._state, value) for value in values)
            return
        waiting = deque[Future[R]]()
        for value in values:
            waiting.append(self._threads.submit(self._call, function, value))
            if len(waiting) > len(self._processes) + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _call(self, function: Callable[[Any, V], R], value: V) -> R:
        process, has_state = self._idle.get()
        calls, results = process.stdin, process.stdout
        assert calls is not None
        assert results is not None
        try:
            if not has_state:
                pickle.dump(self._state, calls, pickle.HIGHEST_PROTOCOL)
            pickle.dump((function, value), calls, pickle.HIGHEST_PROTOCOL)
            calls.flush()
            result, error = pickle.load(results)
        except _LOST as lost:
            raise UserError(
                f"a worker process was lost (exit code {process.wait()}), as when the system kills one for lack of "
                "memory: end other programs, or set OMP_NUM_THREADS=1, which starts no workers"
            ) from lost
        finally:
            self._idle.put((process, True))
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]


def _start() -> "subprocess.Popen[bytes]":
    """Start a worker in a session of its own: Ctrl-C reaches the process that started it, which ends it."""
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "translate.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
    except OSError as error:
        raise UserError(f"cannot start a worker process: {reason(error)}; or set OMP_NUM_THREADS=1") from error


def work() -> None:
    """Be a worker: call functions until standard input ends."""
    share_heap()
    gc.set_threshold(10_000)  # as in the program
    calls, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no result
    try:
        state = pickle.load(calls)
        while True:
            function, value = pickle.load(calls)
            result, raised = None, None
            try:
                result = function(state, value)
            except Exception as error:
                error.add_note(traceback.format_exc())
                raised = error
            pickle.dump((result, raised), results, pickle.HIGHEST_PROTOCOL)
            results.flush()
    except _LOST:
        os._exit(0)  # without writing the rest of a result, which nobody reads


if __name__ == "__main__":
    work()
