"""Information for operators: the log, the metrics, and the id of each request.

The log is one JSON object per line on stderr. It never contains text of users, query strings or names of files.
"""

import json
import logging
import os
import re
import sys
import time
import traceback
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client keeps counters of worker processes in this folder
CLIENT_GONE = 499  # nginx's status for a client that closed the connection; it is only logged
REQUEST_ID = "X-Request-ID"

_LOGGER = logging.getLogger("translate.serving")
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)  # of a request, as a reverse proxy may send it
_UNMATCHED = "other"
_QUIET = frozenset({"/health", "/metrics"})  # asked every few seconds by machines
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # a browser asks whether a file of the page has changed
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
}


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object.

    An exception is given as its type and the places in the program, since its message may quote a text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record on one line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values: dict[str, object] = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        values |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0]:
            values["exception"] = record.exc_info[0].__name__
            values["traceback"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(record.exc_info[2])
            ]
        return json.dumps(values, ensure_ascii=False, default=str)


def set_up_log() -> None:
    """Write the events of this package, and the warnings and worker messages of uvicorn, to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_is_shown)
    for name, level in (("translate.serving", logging.INFO), ("uvicorn", logging.INFO)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def _is_shown(record: logging.LogRecord) -> bool:
    """Return whether a record is shown. uvicorn logs the death of a worker with the level INFO."""
    is_own = record.name == _LOGGER.name
    return is_own or record.levelno >= logging.WARNING or record.getMessage().startswith("Child process")


def event(name: str, fields: Mapping[str, object], level: int = logging.INFO, exception: bool = False) -> None:
    """Log an event with fields, which hold no text of users, and maybe with the exception that is being handled."""
    _LOGGER.log(level, name, extra={"fields": dict(fields)}, exc_info=exception)


class Metrics:
    """Counters and histograms of one process; `exposition` adds those of the other worker processes."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        names = ("route", "status")
        self.requests = Counter("translate_requests_total", "Requests that were answered.", names, registry=registry)
        self.seconds = Histogram(
            "translate_request_seconds",
            "Seconds until a request was answered.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.characters = Counter("translate_characters_total", "Characters to translate.", registry=registry)
        self.batch_sentences = Histogram(
            "translate_batch_sentences", "Sentences of a batch.", buckets=_SIZES, registry=registry
        )
        self.batch_tokens = Counter("translate_batch_tokens_total", "Padded tokens of all batches.", registry=registry)
        self.waiting = self._gauge("translate_waiting_sentences", "Sentences that wait for a batch.", registry)
        self.active = self._gauge("translate_active_requests", "Requests in progress.", registry)
        self.models = self._gauge("translate_loaded_models", "Models in memory.", registry)
        self._registry = registry

    def observe_batch(self, n_sentences: int, n_tokens: int) -> None:
        """Count a batch."""
        self.batch_sentences.observe(n_sentences)
        self.batch_tokens.inc(n_tokens)

    def exposition(self) -> bytes:
        """Return all metrics as text."""
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        folder = Path(os.environ[SHARED])
        _forget_dead(folder)
        registry = CollectorRegistry()
        if folder.is_dir():
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    @staticmethod
    def _gauge(name: str, text: str, registry: CollectorRegistry) -> Gauge:
        return Gauge(name, text, registry=registry, multiprocess_mode="livesum")


def _forget_dead(folder: Path) -> None:
    """Remove the gauges of processes that were killed."""
    for path in folder.glob("gauge_live*.db"):
        try:
            os.kill(int(path.stem.rpartition("_")[2]), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, OSError):
            continue


class Observer:
    """Middleware that logs and counts requests, gives each an id, and adds headers for the security of browsers.

    HEAD is answered as GET, as LibreTranslate does; the HTTP server leaves the body out.

    Args:
        routes: those that requests are counted by.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Sequence[BaseRoute]) -> None:
        self._app, self._metrics, self._routes = app, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.monotonic(), CLIENT_GONE
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        # A copy: the HTTP server needs to know what was asked for.
        scope = {**scope, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}
        scope["state"] = {**scope.get("state", {}), "id": request_id}

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in (_HEADERS | {REQUEST_ID: request_id}).items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._note(scope, status, time.monotonic() - start)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = self._route(scope)
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if route in _QUIET and status == 200:
            return
        fields = {"method": scope["method"], "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        state = scope["state"]
        event("request", fields | {name: state[name] for name in ("id", "client", "characters") if name in state})

    def _route(self, scope: Scope) -> str:
        """Return the path of a route, also of a request that was refused before it was reached.

        The path that was asked for may hold the name of a file.
        """
        found = (route for route in self._routes if route.matches(scope)[0] is not Match.NONE)
        return getattr(scope.get("route") or next(found, None), "path", _UNMATCHED)
