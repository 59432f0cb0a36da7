"""Middleware that logs and counts requests and adds headers for the security of browsers."""

import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from translate.serving.errors import ApiError
from translate.serving.events import event
from translate.serving.metrics import Metrics

CLIENT_GONE = 499  # nginx's status for a client that closed the connection; it is only logged

_UNMATCHED = "other"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # a browser asks whether a file of the page has changed
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
}
_QUIET = frozenset({"/health", "/metrics"})  # asked every few seconds by machines


class RequestLog:
    """Logs route, status, time, client and number of characters of each request.

    Args:
        app: the application.
        metrics: the counters.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.monotonic(), CLIENT_GONE

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            if status == CLIENT_GONE:  # nothing was sent; outside of this middleware the answer would not be counted
                # After the exception uvicorn closes the connection, so the client must not send another request.
                refusal = ApiError(500, "Internal error", {"Connection": "close"})
                await refusal.response()(scope, receive, noted)
            raise
        finally:
            self._note(scope, status, time.monotonic() - start)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", _UNMATCHED)  # the path itself may hold the name of a file
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if route in _QUIET and status == 200:
            return
        fields = {"method": scope["method"], "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        state = scope.get("state", {})
        event("request", fields | {name: state[name] for name in ("client", "characters") if name in state})
