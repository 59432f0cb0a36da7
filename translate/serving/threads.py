"""Threads of the server that the end of the process does not wait for: nothing can stop a thread that computes."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class Threads:
    """One thread for each call at a time, as the caller limits their number; a thread waits for the next call."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._changed = threading.Condition()
        self._n_threads = self._n_busy = 0

    def run(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """Call a function in a thread; return a future of the running event loop with its result or exception."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def call() -> None:
            try:
                give = partial(done.set_result, function())
            except BaseException as error:  # of any kind: it belongs to whoever waits
                give = partial(done.set_exception, error)
            with self._changed:
                self._n_busy -= 1
                self._changed.notify_all()
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(lambda: None if done.done() else give())

        with self._changed:
            self._n_busy += 1
            is_new = self._n_busy > self._n_threads
            self._n_threads += is_new
        self._calls.put(call)
        if is_new:
            threading.Thread(target=self._work, name="request", daemon=True).start()
        return done

    def join(self, seconds: float) -> bool:
        """Wait so long for all calls, and end the threads; return whether the calls have ended."""
        with self._changed:
            ended = self._changed.wait_for(lambda: not self._n_busy, seconds)
            for _ in range(self._n_threads):
                self._calls.put(None)
            self._n_threads = 0
        return ended

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # it holds a request, which may be large
