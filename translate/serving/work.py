"""Work of requests in threads: a bounded number at a time, with a time limit, stopped if the client goes."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request

from translate.serving.errors import ApiError, busy
from translate.serving.scheduler import CancelledError, Scheduler, Ticket

T = TypeVar("T")

_KEPT = 32  # durations from which the time until the next free place is estimated


class ClientGoneError(Exception):
    """The client closed the connection."""


class Work:
    """The requests in progress.

    Args:
        scheduler: searches for their sentences.
        max_requests: number of requests at a time; more are refused.
        timeout: seconds for one request.
    """

    def __init__(self, scheduler: Scheduler, max_requests: int, timeout: float) -> None:
        self._scheduler, self._max_requests, self._timeout = scheduler, max_requests, timeout
        self._threads = ThreadPoolExecutor(max_requests, thread_name_prefix="request")
        self._durations: deque[float] = deque(maxlen=_KEPT)
        self.n_active = 0

    async def run(self, request: Request, client: str, function: Callable[[Ticket], T]) -> T:
        """Call a function in a thread and return what it returns.

        Args:
            request: the request; if its client goes, ClientGoneError is raised.
            client: name of the client.
            function: gets the ticket of the request.

        Raises ApiError if too many requests are in progress, or if the time is over.
        """
        if self.n_active >= self._max_requests:
            raise busy(self._seconds_to_wait())
        ticket, start = Ticket(client), time.monotonic()
        self.n_active += 1
        work = asyncio.get_running_loop().run_in_executor(self._threads, function, ticket)
        work.add_done_callback(lambda done: self._end(done, start))
        gone = asyncio.ensure_future(_disconnected(request))
        both: set[asyncio.Future[Any]] = {work, gone}
        try:
            await asyncio.wait(both, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if gone.done():
                raise ClientGoneError
            raise ApiError(504, f"The translation took more than {self._timeout:g} seconds and was stopped")
        except (CancelledError, asyncio.CancelledError) as error:  # the server stops; uvicorn cancels after --grace
            raise busy(self._seconds_to_wait()) from error
        finally:
            gone.cancel()
            if not work.done():
                self._scheduler.cancel(ticket)

    def close(self) -> None:
        """Wait for the threads."""
        self._threads.shutdown()

    def _end(self, done: "asyncio.Future[T]", start: float) -> None:
        """Free the place of a request, whose thread has ended."""
        self.n_active -= 1
        self._durations.append(time.monotonic() - start)
        if not done.cancelled():
            done.exception()  # only this client asks for it, and it has gone

    def _seconds_to_wait(self) -> int:
        """Return about how long it takes until a request ends."""
        mean = sum(self._durations) / max(1, len(self._durations))
        return min(60, max(1, round(mean)))


async def _disconnected(request: Request) -> None:
    """Return when the client closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
