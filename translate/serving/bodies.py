"""Bodies of requests as parameters: JSON, or a form with the query. An empty parameter is a missing one.

A large body takes seconds and many times its size, so it is read in a thread, one at a time.
"""

import gc
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic_core import from_json
from python_multipart import FormParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from translate.serving.access import RefusedError
from translate.serving.schemas import B

SMALL = 2**14  # bytes of a body that is read at once, which takes less time than starting a thread

_MAX_FIELDS = 100
_DAMAGED = "Invalid request: the form is damaged or not UTF-8"
_PIECE = 2**14  # bytes

T = TypeVar("T")


def read(kind: type[B], body: bytes, content_type: str, query: bytes) -> B:
    """Return the parameters of a request.

    Args:
        content_type: the header; "" is a form, as from programs that name no type.

    Raises RefusedError or RequestValidationError if they are wrong.
    """
    media_type = content_type.lower().partition(";")[0].strip()
    is_json = media_type == "application/json" or media_type.endswith("+json")
    values = _json(body) if is_json else _form(body, media_type, content_type, query)
    try:
        return kind.model_validate(
            {n: value for n, value in values.items() if value not in (None, "", [])}, strict=is_json or None
        )
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_context=False)) from error


def query_value(query: bytes, name: str) -> str:
    """Return a parameter of a query, "" if it is missing; RefusedError if the query is damaged."""
    return next((value for found, value in _pairs(query) if found == name), "")


def _json(body: bytes) -> dict[str, Any]:
    is_collecting = gc.isenabled()
    gc.disable()  # no other thread runs meanwhile, and looking for garbage among millions of values takes longer
    try:
        values = from_json(body)
    except ValueError as error:  # not JSON, not UTF-8, lone surrogates, too deep
        raise RefusedError(400, "Invalid JSON format") from error
    finally:
        if is_collecting:
            gc.enable()
    if not isinstance(values, dict):
        raise RefusedError(400, "Invalid JSON format")
    return values


def _form(body: bytes, media_type: str, content_type: str, query: bytes) -> dict[str, Any]:
    """Return the parameters of a form and of the query; the first of several values of a name counts."""
    if media_type == "multipart/form-data":
        pairs = _multipart(body, content_type)
    elif media_type in ("", "application/x-www-form-urlencoded") or not body:
        pairs = [*_pairs(body)]
    else:  # such as text/plain, which a browser sends for a page of any origin without asking
        raise RefusedError(415, f"Invalid request: {media_type} is not supported; send JSON or a form")
    pairs += _pairs(query)
    # Browsers send CRLF at the end of the lines of a form.
    return {n: value.replace("\r\n", "\n") if isinstance(value, str) else value for n, value in reversed(pairs)}


def _multipart(body: bytes, content_type: str) -> list[tuple[str, Any]]:
    """Return the fields of a form, a file as its name and content; nothing is written to the disk."""
    pairs: list[tuple[str, Any]] = []

    def add(name: bytes | None, value: Callable[[], Any]) -> None:
        if len(pairs) >= _MAX_FIELDS:
            raise RefusedError(400, f"Too many fields. Maximum number of fields is {_MAX_FIELDS}.")
        pairs.append((_utf8(name or b""), value()))

    def add_file(file: Any) -> None:
        if any(isinstance(value, tuple) for _, value in pairs):
            raise RefusedError(400, "Too many files. Maximum number of files is 1.")
        file.file_object.seek(0)
        add(file.field_name, lambda: (_utf8(file.file_name or b""), file.file_object.read()))

    _, options = parse_options_header(content_type)
    try:
        parser = FormParser(
            "multipart/form-data",
            lambda field: add(field.field_name, lambda: _utf8(field.value or b"")),
            add_file,
            boundary=options.get(b"boundary"),
            config={"MAX_MEMORY_FILE_SIZE": float("inf")},
        )
        parser.write(body)
        parser.finalize()
    except FormParserError as error:
        raise RefusedError(400, _DAMAGED) from error
    return pairs


def _pairs(text: bytes) -> list[tuple[str, Any]]:
    """Return the names and values of a query or of a form that is written like one."""
    if text.count(b"&") >= _MAX_FIELDS:
        raise RefusedError(400, f"Too many fields. Maximum number of fields is {_MAX_FIELDS}.")
    parts = (part.partition(b"=") for part in text.split(b"&") if part)
    return [(_unescaped(name), _unescaped(value)) for name, _, value in parts]


def _unescaped(text: bytes) -> str:
    """Return the text of a part of a form, read in pieces: `unquote_to_bytes` takes a hundred times their size."""
    text, whole, start = text.replace(b"+", b" "), bytearray(), 0
    while start < len(text):
        stop = start + _PIECE
        if (escape := text.rfind(b"%", stop - 2, stop)) >= 0:  # it may go on after the piece
            stop = escape
        whole += unquote_to_bytes(text[start:stop])
        start = stop
    return _utf8(bytes(whole))


def _utf8(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(400, _DAMAGED) from error
