"""HTTP connections on which the head of a request must arrive in time; uvicorn has no such limit."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = "head_seconds"  # key of the limit in the state of the application's lifespan

_SLOW = b'{"error": "The request did not arrive in time"}'


class TimedProtocol(H11Protocol):
    """A connection that is closed if the head of a request takes too long."""

    _deadline: asyncio.TimerHandle | None = None
    _has_begun = False  # whether a part of the head has arrived

    def connection_made(self, transport: Any) -> None:  # Any: as wide as that of uvicorn
        """Start the clock for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the clock when a head is complete; start it when the next one begins."""
        self._has_begun = True
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._has_begun = False
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.app_state[HEAD_SECONDS], self._give_up)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """Close the connection, with an answer if a request has begun."""
        if self._has_begun and self.conn.our_state is h11.IDLE and not self.transport.is_closing():
            headers = [
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(_SLOW))),
                ("Connection", "close"),
            ]
            for part in (h11.Response(status_code=408, headers=headers), h11.Data(data=_SLOW), h11.EndOfMessage()):
                self.transport.write(self.conn.send(part) or b"")
        self.transport.close()
