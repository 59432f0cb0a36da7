"""What all clients together may take of the server: connections, requests and memory for their bodies.

A connection takes a descriptor. Without limits, clients that connect and send nothing would soon take all of them, and
neither other clients nor files of models could be opened: there are as many as the limit of open files allows, and none
whose client does nothing. Limits of one client are in `translate.serving.access`.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from translate.serving.access import RefusedError
from translate.serving.service import busy

IDLE_SECONDS = 30.0  # after which a connection is closed whose client neither sends nor reads what it must
MOST, LEAST = 1000, 8
BURST = 64  # connections that asyncio accepts before one of them can be refused
_OTHERS = 64  # descriptors for files of models, databases and downloads
_MAX_REQUESTS = 1000  # of one process at a time, those for files of the page included
_MAX_BODIES = 2**28  # bytes of all bodies that are held at a time, unless one alone is larger
_BUSY = b'{"error":"The server is busy; try again later"}'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_BUSY), _BUSY)
)


def open_files() -> int | None:
    """Return how many files this process may open, as `ulimit -n` says; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def most_connections() -> int:
    """Return how many connections a process has at a time."""
    limit = open_files()
    return MOST if limit is None else max(LEAST, min(MOST, limit - BURST - _OTHERS))


class Connection(H11Protocol):
    """A connection that ends if it waits for its client too long, or the longest when another one needs its place."""

    since = 0.0  # its last answer
    _heard, _unsent = 0.0, 0  # its last sign of life, and how much was not sent then
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the place of the connection that has waited the longest, if there is no other; refuse without one."""
        super().connection_made(transport)
        self.since = self._heard = self.loop.time()
        self._timer = self.loop.call_later(IDLE_SECONDS, self._look)
        if len(self.connections) <= most_connections():
            return
        others = [
            connection
            for connection in self.connections
            if connection is not self and isinstance(connection, Connection)
        ]
        waiting = [connection for connection in others if connection.waits and not connection.transport.is_closing()]
        if waiting:
            longest = min(waiting, key=lambda connection: connection.since)
            self.connections.discard(longest)
            longest.transport.abort()
        else:
            transport.write(_REFUSAL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what the client sends."""
        self._heard = self.loop.time()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = self._heard = self.loop.time()
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """Whether the client must act first: send a request or the rest of one, or read an answer."""
        is_incomplete = self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        return is_incomplete or self.transport.get_write_buffer_size() > 0

    def _look(self) -> None:
        """Close the connection if its client does nothing, or look again later."""
        unsent, now = self.transport.get_write_buffer_size(), self.loop.time()
        if not self.waits or unsent != self._unsent:
            self._heard = now
        self._unsent = unsent
        if now - self._heard >= IDLE_SECONDS:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(self._heard + IDLE_SECONDS - now, self._look)


class Limits:
    """Middleware that limits bodies and the number of requests, and answers errors of the server.

    Slow clients are the business of a reverse proxy, which passes a request on when it has all of it.

    Args:
        app: the application.
        max_bytes: of one body; a larger one is answered with status 413.
        answer: returns the answer to a request that failed.
    """

    def __init__(
        self, app: ASGIApp, max_bytes: int, answer: Callable[[Request, Exception], Awaitable[Response]]
    ) -> None:
        self._app, self._max_bytes, self._answer = app, max_bytes, answer
        self._n_requests = 0
        self._n_held = 0  # bytes of all bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        n_bytes, has_begun = 0, False

        async def limited() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_new = len(message.get("body", b""))
            n_bytes += n_new
            self._n_held += n_new
            self._check(n_bytes)
            return message

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        self._n_requests += 1
        try:
            length = Headers(scope=scope).get("content-length", "")
            self._check(int(length) if length.isdecimal() else 0)
            await self._app(scope, limited, noted)
        except Exception as error:  # outside of this middleware, the answer would lack headers
            if has_begun:
                raise
            await (await self._answer(Request(scope), error))(scope, receive, send)
        finally:
            self._n_requests -= 1
            self._n_held -= n_bytes

    def _check(self, n_bytes: int) -> None:
        """Raise RefusedError if a body is too large, or the server too busy for it."""
        if n_bytes > self._max_bytes:
            raise RefusedError(413, f"Invalid request: the body exceeds {self._max_bytes} bytes")
        if self._n_requests > _MAX_REQUESTS or self._n_held > max(_MAX_BODIES, self._max_bytes):
            raise busy(1)
