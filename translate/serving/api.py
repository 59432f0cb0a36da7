"""The routes of the API, and the steps that they share.

Each route reads its parameters, admits the client, and runs the work in a thread. A body is JSON or a form; an empty
parameter is a missing one, as in LibreTranslate.
"""

import errno
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.responses import FileResponse, JSONResponse, Response

from translate.errors import UserError
from translate.machine import n_cores
from translate.models.registry import language_name
from translate.serving import schemas
from translate.serving.access import Access, Client, KeyStore, Rates, RefusedError
from translate.serving.files import SUFFIXES, FileStore
from translate.serving.models import ModelPool
from translate.serving.observing import Metrics
from translate.serving.scheduler import Scheduler, Ticket
from translate.serving.schemas import JSON_OR_FORM, B, refusals, takes
from translate.serving.service import Requests, Service
from translate.serving.settings import Serve
from translate.text import formats
from translate.text.placeholders import Glossary

_MAX_FIELDS = 100
_DAMAGED = "Invalid request: the form is damaged or not UTF-8"
_MAX_WORKERS = 4  # searches of PyTorch at a time; more would wait for each other in Python

T = TypeVar("T")

router = APIRouter()


@dataclass(frozen=True)
class State:
    """The parts of a running server."""

    options: Serve
    service: Service
    requests: Requests
    access: Access
    files: FileStore
    metrics: Metrics
    rates: Rates

    @classmethod
    def open(cls, options: Serve, folder: Path) -> "State":
        """Make the parts and start the search threads; see `create_app`."""
        pool, metrics = ModelPool(options.model or [], options.unload), Metrics()
        n_workers, n_threads = _threads(options)
        scheduler = Scheduler(n_workers, options.batch_tokens, lambda: _use_threads(n_threads), metrics.observe_batch)
        rates = Rates(folder / "rates.sqlite")
        return cls(
            options,
            Service(pool, scheduler, options.search),
            Requests(scheduler, options.queue, options.timeout),
            Access(options, KeyStore(options.keys) if options.keys else None, rates),
            FileStore(folder / "files"),
            metrics,
            rates,
        )

    def tidy(self) -> None:
        """Unload idle models and remove old files."""
        self.service.pool.unload_idle()
        self.files.sweep()

    def set_gauges(self) -> None:
        """Set the metrics that are states rather than counts."""
        self.metrics.waiting.set(self.service.scheduler.n_waiting)
        self.metrics.active.set(self.requests.n_active)
        self.metrics.models.set(self.service.pool.n_loaded)

    def close(self) -> None:
        """Finish the requests in progress and end all threads."""
        self.requests.close()
        self.service.scheduler.close()
        self.rates.close()


@router.post(
    "/translate",
    tags=["translate"],
    summary="Translate text",
    response_model=schemas.TranslateResponse,
    responses=refusals(400, 403, 413, 429, 503, 504),
    openapi_extra=takes(schemas.TranslateRequest, *JSON_OR_FORM),
)
async def translate(request: Request) -> Response:
    """Translate one text or a list of texts between two languages."""
    state, given, client = await _admitted(request, schemas.TranslateRequest)
    texts, n_alternatives = _listed(given.q), given.alternatives
    if n_alternatives > (most := state.options.alternatives):
        raise RefusedError(400, f"Invalid request: alternatives parameter must be <= {most}")
    # A large one takes seconds.
    glossary = None if given.glossary is None else await run_in_threadpool(_glossary, given.glossary)
    state.service.check(given.source, given.target)
    done = await _done(
        state,
        request,
        client,
        texts,
        lambda ticket: state.service.translate(
            ticket, texts, given.source, given.target, given.format, n_alternatives, glossary
        ),
    )
    state.metrics.characters.inc(sum(map(len, texts)))
    is_list = isinstance(given.q, list)
    answer: dict[str, object] = {"translatedText": done.texts if is_list else done.texts[0]}
    if done.detected:
        answer["detectedLanguage"] = [done.detected] * len(texts) if is_list else done.detected
    if n_alternatives:
        answer["alternatives"] = done.alternatives if is_list else done.alternatives[0]
    if given.sentences:
        answer["sentences"] = done.sentences if is_list else done.sentences[0]
    return JSONResponse(answer)


@router.post(
    "/alignment",
    tags=["translate"],
    summary="Find the words that a translation comes from",
    response_model=schemas.Alignment,
    responses=refusals(400, 403, 413, 429, 503, 504),
    openapi_extra=takes(schemas.AlignmentRequest, *JSON_OR_FORM),
)
async def alignment(request: Request) -> Response:
    """Return how much each word of a translation attends to each word of its source sentence."""
    if not state_of(request).options.alignment:
        raise RefusedError(403, "Alignment is disabled on this server.")
    state, given, client = await _admitted(request, schemas.AlignmentRequest)
    state.service.check_model(given.source, given.target)
    found = await _done(
        state,
        request,
        client,
        [given.q, given.translation],
        lambda ticket: state.service.attention(ticket, given.q, given.translation, given.source, given.target),
    )
    weights = [[round(weight, 4) for weight in row] for row in found.weights]
    return JSONResponse({"source": found.source, "target": found.target, "weights": weights})


@router.post(
    "/detect",
    tags=["translate"],
    summary="Detect the language of a text",
    response_model=schemas.Detections,
    responses=refusals(400, 403, 413, 429, 503, 504),
    openapi_extra=takes(schemas.DetectRequest, *JSON_OR_FORM),
)
async def detect(request: Request) -> Response:
    """Return the languages that a text may be in, most probable first."""
    state, given, client = await _admitted(request, schemas.DetectRequest)
    texts = _listed(given.q)
    return JSONResponse(await _done(state, request, client, texts, lambda ticket: state.service.detect(texts)))


@router.post(
    "/suggest",
    tags=["feedback"],
    summary="Suggest a better translation",
    response_model=schemas.SuggestResponse,
    responses=refusals(400, 403, 413, 429),
    openapi_extra=takes(schemas.SuggestRequest, *JSON_OR_FORM),
)
async def suggest(request: Request) -> Response:
    """Store a suggestion, if the server collects suggestions."""
    state, given, client = await _admitted(request, schemas.SuggestRequest)
    if state.options.suggestions is None:
        raise RefusedError(403, "Suggestions are disabled on this server.")
    for code in (given.source, given.target):
        if code not in state.service.codes:
            raise RefusedError(400, f"{code} is not supported")
    _charge(state, request, [given.q, given.s], client)
    fields = {"q": given.q, "s": given.s, "source": given.source, "target": given.target}
    await run_in_threadpool(_append, state.options.suggestions, fields)
    return JSONResponse({"success": True})


@router.get("/languages", tags=["translate"], summary="List the languages", response_model=schemas.Languages)
async def languages(request: Request) -> Response:
    """Return each language with those that it can be translated into."""
    return JSONResponse(state_of(request).service.languages())


@router.get(
    "/frontend/settings", tags=["frontend"], summary="Settings for a page", response_model=schemas.FrontendSettings
)
async def frontend_settings(request: Request) -> Response:
    """Return the limits and features of this server."""
    state = state_of(request)
    options = state.options
    (source, target), *_ = state.service.pool.pairs
    return JSONResponse(
        {
            "charLimit": min(options.characters, options.minute_characters or options.characters),
            "frontendTimeout": 500,
            "apiKeys": options.keys is not None,
            "keyRequired": options.require_key,
            "suggestions": options.suggestions is not None,
            "filesTranslation": options.file_size > 0,
            "supportedFilesFormat": list(SUFFIXES) if options.file_size else [],
            "alternatives": options.alternatives,
            "alignment": options.alignment,
            "requestLimit": options.requests,
            "language": {
                "source": {"code": source, "name": language_name(source)},
                "target": {"code": target, "name": language_name(target)},
            },
        }
    )


@router.get("/health", tags=["misc"], summary="Health check", response_model=schemas.Health)
async def health() -> Response:
    """Return "ok" while the server answers."""
    return JSONResponse({"status": "ok"})


@router.get("/metrics", tags=["misc"], summary="Metrics for Prometheus")
async def metrics(request: Request) -> Response:
    """Return counters and histograms."""
    state = state_of(request)
    state.set_gauges()
    return Response(state.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)


@router.post(
    "/translate_file",
    tags=["translate"],
    summary="Translate a file",
    response_model=schemas.FileResponse,
    responses=refusals(400, 403, 413, 429, 503, 504),
    openapi_extra=takes(schemas.FileRequest, "multipart/form-data"),
)
async def translate_file(request: Request) -> Response:
    """Translate a file and return the address of the translated one, which is kept for half an hour."""
    if not state_of(request).options.file_size:
        raise RefusedError(403, "Files translation are disabled on this server.")
    state, given, client = await _admitted(request, schemas.FileRequest)
    (name, content), source, target = given.file, given.source, given.target
    text = _text(name, content, state.options.file_size)
    state.service.check(source, target)

    def translated(ticket: Ticket) -> str:
        done = state.service.translate(ticket, [text], source, target, formats.guess(Path(name)))
        return state.files.add(name, target, done.texts[0])

    stored = await _done(state, request, client, [text], translated)
    state.metrics.characters.inc(len(text))
    return JSONResponse({"translatedFileUrl": f"{request.base_url}download_file/{quote(stored)}"})


@router.get("/download_file/{name:path}", tags=["translate"], summary="Download a file", responses=refusals(400, 404))
async def download_file(request: Request) -> Response:
    """Return a translated file."""
    name = request.path_params["name"]
    try:
        path = state_of(request).files.find(name)
    except ValueError as error:
        raise RefusedError(400, "Invalid filename") from error
    if path is None:
        raise RefusedError(404, "There is no such file; translated files are kept for half an hour")
    # A browser saves the file and never shows it, so that scripts in it cannot act as this server's.
    return FileResponse(path, filename=name.partition(".")[2], headers={"Content-Security-Policy": "sandbox"})


def state_of(request: Request) -> State:
    """Return the parts of the server that answers a request."""
    state: State = request.app.state.server
    return state


async def _admitted(request: Request, kind: type[B]) -> tuple[State, B, Client]:
    """Return the server, the parameters and the client of a request; an exception if it is not admitted."""
    state, given = state_of(request), await _read(request, kind)
    return state, given, state.access.admit(request, given.api_key)


async def _read(request: Request, kind: type[B]) -> B:
    """Return the parameters of a request; RefusedError or RequestValidationError if they are wrong."""
    media_type = request.headers.get("content-type", "").lower().partition(";")[0].strip()
    is_json = media_type == "application/json" or media_type.endswith("+json")
    values = _json(await request.body()) if is_json else await _form(request, media_type)
    try:
        return kind.model_validate(
            {n: value for n, value in values.items() if value not in (None, "", [])}, strict=is_json or None
        )
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_context=False)) from error


def _json(body: bytes) -> dict[str, Any]:
    try:
        values = from_json(body)
    except ValueError as error:  # not JSON, not UTF-8, lone surrogates, too deep
        raise RefusedError(400, "Invalid JSON format") from error
    if not isinstance(values, dict):
        raise RefusedError(400, "Invalid JSON format")
    return values


async def _form(request: Request, media_type: str) -> dict[str, Any]:
    """Return the parameters of a form and of the query; the first of several values of a name counts."""
    pairs: list[tuple[str, Any]] = []
    if media_type == "multipart/form-data":
        # Starlette would guess that text is Latin-1 if it is not UTF-8; reading all as Latin-1 keeps the bytes.
        headers = [(n, v + b"; charset=latin-1" if n == b"content-type" else v) for n, v in request.scope["headers"]]
        latin = Request({**request.scope, "headers": headers}, request.receive)
        # The middleware limits the size of the whole body.
        async with latin.form(max_files=1, max_fields=_MAX_FIELDS, max_part_size=2**31) as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    pairs.append((_utf8(name), (_utf8(value.filename or ""), await value.read())))
                else:
                    pairs.append((_utf8(name), _utf8(value)))
    else:  # Starlette would read bytes that are not escaped, as curl sends them, as Latin-1
        pairs = _pairs(await request.body())
    pairs += _pairs(request.scope["query_string"])
    # Browsers send CRLF at the end of the lines of a form.
    return {n: value.replace("\r\n", "\n") if isinstance(value, str) else value for n, value in reversed(pairs)}


def _utf8(text: str) -> str:
    """Return a text that was read as Latin-1; RefusedError if it is not UTF-8."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise RefusedError(400, _DAMAGED) from error


def _pairs(text: bytes) -> list[tuple[str, Any]]:
    try:
        return [*parse_qsl(text.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)]
    except ValueError as error:
        raise RefusedError(400, _DAMAGED) from error


def _listed(q: str | list[str]) -> list[str]:
    return [q] if isinstance(q, str) else q


def _glossary(terms: dict[str, str] | str) -> Glossary:
    """Return the glossary of a request; RefusedError if it is wrong."""
    try:
        if isinstance(terms, str):  # maybe a file with a byte order mark, which would belong to the first term
            return Glossary.read(terms.removeprefix("\ufeff").split("\n"), "glossary")
        return Glossary.of(terms)
    except UserError as error:
        raise RefusedError(400, f"Invalid request: {error}") from error


def _charge(state: State, request: Request, texts: Sequence[str], client: Client) -> Callable[[], None]:
    """Count the characters of a request; RefusedError if they are too many. An empty text counts as one character.

    Returns a function that takes them back.
    """
    n_characters = sum(max(1, len(text)) for text in texts)
    request.state.characters = n_characters  # for the log
    return state.access.charge(client, n_characters)


async def _done(state: State, request: Request, client: Client, texts: Sequence[str], work: Callable[[Ticket], T]) -> T:
    """Return what `work` returns, whose texts are charged.

    Raises RefusedError; only after a timeout does the charge stay.
    """
    state.requests.check()
    refund = _charge(state, request, texts, client)
    try:
        return await state.requests.run(request, client.name, work)
    except RefusedError as error:
        if error.status != 504:
            refund()
        raise


def _append(path: Path, fields: dict[str, str]) -> None:
    """Append a suggestion to a JSON lines file, in one write."""
    line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds"), **fields}, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b", buffering=0) as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
        # A suggestion that a full disk has cut does not spoil the next.
        content = (b"\n" if file.read(1).strip() else b"") + f"{line}\n".encode()
        if file.write(content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def _text(name: str, content: bytes, max_bytes: int) -> str:
    """Return the text of an uploaded file; RefusedError if its format, size or encoding is wrong."""
    if Path(name).suffix.lower() not in SUFFIXES:
        raise RefusedError(400, "Invalid request: file format not supported")
    if not content:
        raise RefusedError(400, "Invalid request: empty file")
    if len(content) > max_bytes:
        raise RefusedError(413, f"Invalid request: file ({len(content)}) exceeds size limit ({max_bytes})")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RefusedError(
            400, f"Invalid request: the file is not UTF-8 text (line {line}); save it as UTF-8"
        ) from error


def _threads(options: Serve) -> tuple[int, int]:
    """Return the number of searches at a time and the number of CPU threads of each."""
    n_available = options.opening.threads or max(1, n_cores() // options.workers)
    n_workers = min(_MAX_WORKERS, n_available)
    return n_workers, n_available // n_workers


def _use_threads(n_threads: int) -> None:
    """Set the number of PyTorch's threads for this thread, if a model of PyTorch is loaded."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(n_threads)
