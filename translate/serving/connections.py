"""Connections of the HTTP server: as many as the limit of open files allows, and none whose client does nothing.

Each takes a descriptor. Without limits, clients that connect and send nothing would soon take all of them, and neither
other clients nor files of models could be opened.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE_SECONDS = 30.0  # after which a connection is closed whose client neither sends nor reads what it must
MOST, LEAST = 1000, 8
BURST = 64  # connections that asyncio accepts before one of them can be refused
_OTHERS = 64  # descriptors for files of models, databases and downloads
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
        others = [one for one in self.connections if one is not self and isinstance(one, Connection)]
        waiting = [one for one in others if one.waits and not one.transport.is_closing()]
        if waiting:
            longest = min(waiting, key=lambda one: one.since)
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
