"""Bodies of requests: read within limits of size and time, then parsed as JSON or as a form."""

import asyncio
import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

from python_multipart import parse_form
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from translate.serving.errors import ApiError, busy, invalid

_MAX_FIELDS = 100
_MAX_TOTAL = 2**28  # bytes of all bodies that are held at a time, unless one alone is larger
_DRAIN_SECONDS = 10  # a client reads the answer only after it has sent a body that is too large

Value = Any  # of a parameter; JSON decides its type


class BodyLimit:
    """Middleware that reads each body before the application starts.

    Args:
        app: the application.
        max_bytes: of one body; a larger one is answered with status 413.
        seconds: in which a body must arrive; a slower one is answered with status 408.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, seconds: float) -> None:
        self._app, self._max_bytes, self._seconds = app, max_bytes, seconds
        self._n_held = 0  # bytes of all bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        held: list[bytes] = []
        try:
            async with asyncio.timeout(self._seconds):
                await self._read(scope, receive, held)
        except ApiError as error:
            self._release(held)
            await _refuse(error, scope, receive, send)
            return
        except TimeoutError:
            self._release(held)
            await _refuse(ApiError(408, "The request body did not arrive in time"), scope, receive, send)
            return
        except _DisconnectedError:
            self._release(held)
            return
        body = [b"".join(held)]
        try:
            await self._app(scope, _replayed(body, receive), send)
        finally:
            self._release(held)

    async def _read(self, scope: Scope, receive: Receive, held: list[bytes]) -> None:
        """Append the parts of the body to `held`."""
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > self._max_bytes:
            await self._refuse_size(scope, receive)
        n_bytes, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _DisconnectedError
            part, more = message.get("body", b""), message.get("more_body", False)
            held.append(part)
            n_bytes += len(part)
            self._n_held += len(part)
            if n_bytes > self._max_bytes:
                await self._refuse_size(scope, receive)
            if self._n_held > max(_MAX_TOTAL, self._max_bytes):
                raise busy(1)

    async def _refuse_size(self, scope: Scope, receive: Receive) -> None:
        """Raise the error for a body that is too large, after reading the rest of it for a while."""
        if Headers(scope=scope).get("expect", "").lower() != "100-continue":
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await _drain(receive)
        raise ApiError(413, f"Invalid request: the body exceeds {self._max_bytes} bytes")

    def _release(self, held: list[bytes]) -> None:
        self._n_held -= sum(map(len, held))
        held.clear()


class _DisconnectedError(Exception):
    """The client has gone."""


async def _drain(receive: Receive) -> None:
    while (message := await receive())["type"] != "http.disconnect" and message.get("more_body", False):
        pass


async def _refuse(error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    """Send an error and close the connection, since the rest of the body was not read."""
    error.headers["Connection"] = "close"
    await error.response()(scope, receive, send)


def _replayed(body: list[bytes], receive: Receive) -> Receive:
    """Return a function that gives the body once and then what `receive` gives."""

    async def replay() -> Message:
        if body:
            return {"type": "http.request", "body": body.pop(), "more_body": False}
        return await receive()

    return replay


class Parameters:
    """The parameters of a request.

    Args:
        values: by name; a form has strings only.
        files: names and contents of uploaded files, by parameter.
        is_form: whether they come from a form.
    """

    def __init__(self, values: Mapping[str, Value], files: Mapping[str, tuple[str, bytes]], is_form: bool) -> None:
        self._values, self.files, self.is_form = values, files, is_form

    def get(self, name: str) -> Value:
        """Return a parameter, or None."""
        return self._values.get(name)

    def text(self, name: str) -> str:
        """Return a parameter that is a text, "" if it is missing; ApiError if it is something else."""
        value = self._values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise invalid(f"Invalid request: {name} parameter is not a string")
        return unicode(value, name)

    def is_true(self, name: str) -> bool:
        """Return whether a parameter is true: in JSON, or written as "true" or 1."""
        return str(self._values.get(name)).lower() in ("true", "1")


def unicode(text: str, name: str) -> str:
    """Return a text; ApiError if it has lone surrogates, which JSON can write and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise invalid(f"Invalid request: {name} parameter is not Unicode text") from error
    return text


async def parameters(request: Request) -> Parameters:
    """Parse the body of a request; ApiError if it is damaged or not UTF-8."""
    body = await request.body()
    kind, _, _ = request.headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    if kind == "application/json" or kind.endswith("+json"):
        return Parameters(_json(body), {}, is_form=False)
    values = _pairs(request.scope["query_string"])
    if kind == "multipart/form-data":
        more, files = _multipart(body, request.headers["content-type"])
        return Parameters({**values, **more}, files, is_form=True)
    return Parameters({**values, **_pairs(body)}, {}, is_form=True)


def _json(body: bytes) -> dict[str, Value]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, too many digits, too deep
        raise invalid("Invalid JSON format") from error
    if not isinstance(value, dict):
        raise invalid("Invalid JSON format")
    return value


def _pairs(text: bytes) -> dict[str, str]:
    """Parse a form or a query; the first of several values of a name counts."""
    try:
        pairs = parse_qsl(text.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise invalid("Invalid request: the form is damaged or not UTF-8") from error
    return dict(reversed(pairs))


def _multipart(body: bytes, content_type: str) -> tuple[dict[str, str], dict[str, tuple[str, bytes]]]:
    """Return the values and the files of a multipart form."""
    fields: dict[bytes, bytes] = {}
    uploads: dict[bytes, tuple[bytes, bytes]] = {}
    numbers = itertools.count(1)

    def on_field(part: Field) -> None:
        _check_count(next(numbers))
        fields.setdefault(part.field_name or b"", part.value or b"")

    def on_file(part: File) -> None:
        _check_count(next(numbers))
        part.file_object.seek(0)
        uploads.setdefault(part.field_name or b"", (part.file_name or b"", part.file_object.read()))
        part.close()

    try:
        headers = {"Content-Type": content_type.encode("latin-1"), "Content-Length": str(len(body)).encode()}
        parse_form(headers, BytesIO(body), on_field, on_file)
        values = {name.decode(): value.decode() for name, value in fields.items()}
        files = {name.decode(): (file.decode(), content) for name, (file, content) in uploads.items()}
    except (FormParserError, ValueError) as error:
        raise invalid("Invalid request: the form is damaged or not UTF-8") from error
    return values, files


def _check_count(n_parts: int) -> None:
    if n_parts > _MAX_FIELDS:
        raise ValueError("too many parts")
