"""The routes of the API, and the steps that they share.

Each route admits the client by the headers, reads the parameters, and runs the work in a thread. A client whose key is
in the body is admitted when that was read. A body is JSON or a form; an empty parameter is a missing one, as in
LibreTranslate.
"""

import asyncio
import errno
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import FileResponse, JSONResponse, Response

from translate.documents.document import MODULES
from translate.documents.earlier import may_have_keys
from translate.files import naming
from translate.machine import n_cores
from translate.models.registry import language_name
from translate.serving import glossaries, schemas
from translate.serving.access import Access, Client, KeyStore, Rates, RefusedError
from translate.serving.engines import ModelPool, Scheduler, Ticket
from translate.serving.files import KEPT_SECONDS, FileStore, suffixes
from translate.serving.glossaries import Glossaries
from translate.serving.observing import Metrics, event
from translate.serving.schemas import JSON_OR_FORM, B, refusals, takes
from translate.serving.service import Requests, Service, Threads, Translated, UploadedDocument
from translate.serving.settings import ServeOptions
from translate.text import formats
from translate.text.glossary import Glossary

_UNPACKED = 5  # times the size of the largest file, of the parts of a document
_MAX_WORKERS = 4  # searches of PyTorch at a time; more would wait for each other in Python

T = TypeVar("T")

router = APIRouter()


@dataclass(frozen=True)
class State:
    """The parts of a running server."""

    options: ServeOptions
    service: Service
    requests: Requests
    access: Access
    files: FileStore
    glossaries: Glossaries
    metrics: Metrics
    rates: Rates
    threads: Threads = field(default_factory=Threads)  # for work that is not queued
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while a large body is read

    @classmethod
    def open(cls, options: ServeOptions, folder: Path) -> "State":
        """Make the parts and start the search threads; see `create_app`."""
        pool, metrics = ModelPool(options.model or [], options.unload), Metrics()
        n_workers, n_threads = _threads(options)
        scheduler = Scheduler(n_workers, options.batch_tokens, lambda: _use_threads(n_threads), metrics.observe_batch)
        rates = Rates(folder / "rates.sqlite", report=_not_shared)
        return cls(
            options,
            Service(pool, scheduler, options.search),
            Requests(scheduler, options.queue, options.timeout),
            Access(options, KeyStore(options.keys) if options.keys else None, rates),
            FileStore(folder / "files"),
            Glossaries(),
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

    def close(self, seconds: float) -> bool:
        """Wait so long for the requests in progress, whose time is over; return whether all threads have ended."""
        end = time.monotonic() + seconds
        ended = [
            close(max(0.0, end - time.monotonic()))
            for close in (self.requests.close, self.service.scheduler.close, self.threads.join)
        ]
        self.rates.close()
        return all(ended)


@router.post(
    "/translate",
    tags=["translate"],
    summary="Translate text",
    response_model=schemas.TranslateResponse,
    responses=refusals(400, 403, 413, 415, 429, 503, 504),
    openapi_extra=takes(schemas.TranslateRequest, *JSON_OR_FORM),
)
async def translate(request: Request) -> Response:
    """Translate one text or a list of texts between two languages."""
    state, given, client = await _admitted(request, schemas.TranslateRequest)
    texts, n_alternatives = _listed(given.q), given.alternatives
    if n_alternatives > (most := state.options.alternatives):
        raise RefusedError(400, f"Invalid request: alternatives parameter must be <= {most}")
    state.service.check_languages(given.source, given.target)

    def translated(ticket: Ticket) -> Translated:
        return state.service.translate(
            ticket,
            texts,
            given.source,
            given.target,
            given.format,
            n_alternatives,
            state.glossaries.get(given.glossary, ticket.raise_if_cancelled),
            given.formality,
            given.language,
        )

    done = await _done(state, request, client, texts, translated, glossaries.n_characters(given.glossary))
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
    responses=refusals(400, 403, 413, 415, 429, 503, 504),
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
        lambda ticket: state.service.attention(
            ticket, given.q, given.translation, given.source, given.target, given.format, given.formality
        ),
    )
    weights = [[round(weight, 4) for weight in row] for row in found.weights]
    return JSONResponse({"source": found.source, "target": found.target, "weights": weights})


@router.post(
    "/detect",
    tags=["translate"],
    summary="Detect the language of a text",
    response_model=schemas.Detections,
    responses=refusals(400, 403, 413, 415, 429, 503, 504),
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
    responses=refusals(400, 403, 413, 415, 429),
    openapi_extra=takes(schemas.SuggestRequest, *JSON_OR_FORM),
)
async def suggest(request: Request) -> Response:
    """Store a suggestion, if the server collects suggestions."""
    options = state_of(request).options
    if options.suggestions is None:
        raise RefusedError(403, "Suggestions are disabled on this server.")
    _refuse_foreign(request, options.cors or ())
    state, given, client = await _admitted(request, schemas.SuggestRequest, queued=False)
    for code in (given.source, given.target):
        if code not in state.service.codes:
            raise RefusedError(400, f"{code} is not supported")
    _charge(state, request, [given.q, given.s], client)
    fields = {"q": given.q, "s": given.s, "source": given.source, "target": given.target}
    await state.threads.run(partial(_append, options.suggestions, fields))
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
            "supportedFilesFormat": suffixes() if options.file_size else [],
            "fileSizeLimit": options.file_size,
            "alternatives": options.alternatives,
            "alignment": options.alignment,
            "requestLimit": options.requests,
            "formality": [{"source": s, "target": t} for s, t in state.service.pool.with_forms_of_address],
            "models": state.service.pool.cards,
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
    responses=refusals(400, 403, 413, 415, 429, 503, 504),
    openapi_extra=takes(schemas.FileRequest, "multipart/form-data"),
)
async def translate_file(request: Request) -> Response:
    """Translate a file and return the address of the translated one, which is kept for half an hour."""
    if not state_of(request).options.file_size:
        raise RefusedError(403, "Files translation are disabled on this server.")
    state, given, client = await _admitted(request, schemas.FileRequest)
    (name, content), source, target = given.file, given.source, given.target
    _check_file(name, content, state.options.file_size)
    if given.earlier and not may_have_keys(name):
        raise RefusedError(400, "Invalid request: the earlier parameter belongs to a file of strings, such as de.json")
    state.service.check_languages(source, target)
    if Path(name).suffix.lower() in MODULES:
        texts, translated = await _document(state, given)
    else:
        texts = [_text(content)]

        def translated(ticket: Ticket, glossary: Glossary | None) -> bytes:
            format, form, language = formats.guess_format(Path(name)), given.formality, given.language
            done = state.service.translate(ticket, texts, source, target, format, 0, glossary, form, language)
            return done.texts[0].encode()

    def written(ticket: Ticket) -> str:
        glossary = state.glossaries.get(given.glossary, ticket.raise_if_cancelled)
        return _stored(state.files, name, target, translated(ticket, glossary))

    stored = await _done(state, request, client, texts, written, glossaries.n_characters(given.glossary))
    state.metrics.characters.inc(sum(map(len, texts)))
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


async def _admitted(request: Request, kind: type[B], *, queued: bool = True) -> tuple[State, B, Client]:
    """Return the server, the parameters and the client of a request; an exception if it is not admitted.

    What the headers can decide is decided before the body is read: the limit of requests, and whether there is a place
    in the queue. Only then does the body take time and memory.

    Args:
        queued: whether the request takes a place in the queue.
    """
    state, headers = state_of(request), request.headers
    length, content_type = headers.get("content-length", ""), headers.get("content-type", "")
    query = request.scope["query_string"]
    is_small = length.isdecimal() and int(length) <= schemas.SMALL_BODY
    client = state.access.admit_early(request, _early_key(request), is_small=is_small)
    if queued:
        state.requests.raise_if_full()
    body = await request.body()
    if len(body) <= schemas.SMALL_BODY:
        given = schemas.read_body(kind, body, content_type, query)
    else:
        async with state.reading:  # one at a time, as each takes many times the size of its body
            given = await state.threads.run(lambda: schemas.read_body(kind, body, content_type, query))
    given = given.with_codes(state.service.code)
    return state, given, client or state.access.admit(request, given.api_key)


def _early_key(request: Request) -> str:
    """Return the API key in the header Authorization or in the query; "" if the body must have it."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else schemas.query_value(request.scope["query_string"], "api_key")


def _refuse_foreign(request: Request, allowed: Sequence[str]) -> None:
    """Raise RefusedError if a browser sends the request for a page of another origin, unless --cors names it.

    Browsers send forms for any page without asking; CORS only keeps the page from reading the answer.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if origin is None or origin in allowed or "*" in allowed or site == "same-origin":
        return
    if site is not None or urlsplit(origin).netloc != request.headers.get("host", ""):
        raise RefusedError(403, "Pages of other origins may not send this; --cors allows an origin")


def _listed(q: str | list[str]) -> list[str]:
    return [q] if isinstance(q, str) else q


def _charge(
    state: State, request: Request, texts: Sequence[str], client: Client, n_more: int = 0
) -> Callable[[], None]:
    """Count the characters of a request; RefusedError if they, or its lines, are too many.

    An empty text counts as one character.

    Args:
        n_more: characters that are no text to translate, such as those of a glossary.

    Returns a function that takes them back.
    """
    n_characters = sum(max(1, len(text)) for text in texts) + n_more
    request.state.characters = n_characters  # for the log
    if (n_lines := sum(text.count("\n") for text in texts)) > schemas.MOST_TEXTS:  # a line costs as much as a text
        most = schemas.MOST_TEXTS
        raise RefusedError(400, f"Invalid request: request has {n_lines} lines; send at most {most} at a time")
    return state.access.charge(client, n_characters)


async def _done(
    state: State,
    request: Request,
    client: Client,
    texts: Sequence[str],
    work: Callable[[Ticket], T],
    n_more: int = 0,
) -> T:
    """Return what `work` returns, whose texts are charged; `n_more` is as for `_charge`.

    Raises RefusedError; only after a timeout does the charge stay.
    """
    state.requests.raise_if_full()
    refund = _charge(state, request, texts, client, n_more)
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
    with naming(path), open(append_only(path), "a+b", buffering=0) as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
        # A suggestion that a full disk has cut does not spoil the next.
        content = (b"\n" if file.read(1).strip() else b"") + f"{line}\n".encode()
        if file.write(content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def append_only(path: Path) -> int:
    """Return the descriptor of a file to append to; a new one is private to the user, as it holds texts of others."""
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)


def _not_shared(problem: Exception) -> None:
    """Log that the limits of requests are counted in memory."""
    event("requests counted in memory", {"problem": str(problem)}, logging.WARNING)


def _stored(files: FileStore, name: str, target: str, content: bytes) -> str:
    """Store a translated file and return its name; RefusedError while it cannot be written, as on a full disk."""
    try:
        return files.add(name, target, content)
    except OSError as error:
        event("translated file not stored", {"problem": str(error)}, logging.ERROR)
        message = "The server has no room for the translated file; send its text to /translate, or try again later"
        raise RefusedError(503, message, KEPT_SECONDS) from error


async def _document(
    state: State, given: schemas.FileRequest
) -> tuple[list[str], Callable[[Ticket, Glossary | None], bytes]]:
    """Return the texts of an uploaded document, and the function that translates it.

    Only the texts are kept while they are translated, as a document takes many times the size of its file; it is read
    again to be written. One document is read at a time.
    """
    (name, content), limit = given.file, _UNPACKED * state.options.file_size
    name = Path(name.replace("\\", "/")).name
    file = UploadedDocument(
        content, name, given.source, given.target, limit, given.formality, given.language, given.earlier
    )
    known = "" if file.source == "auto" else file.source
    async with state.reading:
        units = await state.threads.run(lambda: state.service.units(file, known))
    texts = [unit.text for unit in units if unit.done is None]
    return texts, lambda ticket, glossary: state.service.translate_document(ticket, file, units, glossary)


def _check_file(name: str, content: bytes, max_bytes: int) -> None:
    """Raise RefusedError if the format or the size of an uploaded file is wrong."""
    if Path(name).suffix.lower() not in suffixes():
        raise RefusedError(400, "Invalid request: file format not supported")
    if not content:
        raise RefusedError(400, "Invalid request: empty file")
    if len(content) > max_bytes:
        raise RefusedError(413, f"Invalid request: file ({len(content)}) exceeds size limit ({max_bytes})")


def _text(content: bytes) -> str:
    """Return the text of an uploaded file; RefusedError if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RefusedError(
            400, f"Invalid request: the file is not UTF-8 text (line {line}); save it as UTF-8"
        ) from error


def _threads(options: ServeOptions) -> tuple[int, int]:
    """Return the number of searches at a time and the number of CPU threads of each."""
    n_available = options.opening.threads or max(1, n_cores() // options.workers)
    n_workers = min(_MAX_WORKERS, n_available)
    return n_workers, n_available // n_workers


def _use_threads(n_threads: int) -> None:
    """Set the number of PyTorch's threads for this thread, if a model of PyTorch is loaded."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(n_threads)
