"""Threads of the server that the end of the process does not wait for: nothing can stop a thread that computes."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


class Threads:
    """One thread for each call, as the caller limits their number."""

    def __init__(self) -> None:
        self._running: set[threading.Thread] = set()

    def run(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """Call a function in a thread; return a future of the running event loop with its result or exception."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                give = partial(done.set_result, function())
            except BaseException as error:  # of any kind: it belongs to whoever waits
                give = partial(done.set_exception, error)
            self._running.discard(threading.current_thread())
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(lambda: None if done.done() else give())

        thread = threading.Thread(target=work, name="request", daemon=True)
        self._running.add(thread)
        thread.start()
        return done

    def join(self, seconds: float) -> bool:
        """Wait so long for all threads; return whether they have ended."""
        end = time.monotonic() + seconds
        for thread in tuple(self._running):
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in tuple(self._running))
