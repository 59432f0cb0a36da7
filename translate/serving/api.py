"""Routes for texts: /translate, /alignment, /detect, /suggest, /languages, /frontend/settings, /health, /metrics."""

import json
from datetime import UTC, datetime
from pathlib import Path

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from translate.serving import schemas
from translate.serving.admission import check_size, opened, required, state_of
from translate.serving.bodies import Parameters, unicode
from translate.serving.errors import ApiError, invalid, missing
from translate.serving.file_store import SUFFIXES
from translate.serving.language_names import name_of
from translate.serving.schemas import JSON_OR_FORM, refusals, takes

router = APIRouter()


@router.post(
    "/translate",
    tags=["translate"],
    summary="Translate text",
    response_model=schemas.TranslateResponse,
    responses=refusals(400, 403, 408, 413, 429, 503, 504),
    openapi_extra=takes(schemas.TranslateRequest, *JSON_OR_FORM),
)
async def translate(request: Request) -> Response:
    """Translate one text or a list of texts between two languages."""
    state, given, client = await opened(request)
    texts, is_list = _texts(given)
    source, target = required(given, "source"), required(given, "target")
    layout = given.text("format") or "text"
    n_alternatives = _n_alternatives(given, state.options.alternatives)
    check_size(request, texts, client)
    state.service.check(source, target)
    if layout not in ("text", "html"):
        raise invalid(f"{layout} format is not supported")
    state.metrics.characters.inc(sum(map(len, texts)))
    done = await state.work.run(
        request,
        client.name,
        lambda ticket: state.service.translate(ticket, texts, source, target, layout, n_alternatives),
    )
    answer: dict[str, object] = {"translatedText": done.texts if is_list else done.texts[0]}
    if done.detected:
        answer["detectedLanguage"] = [done.detected] * len(texts) if is_list else done.detected
    if n_alternatives:
        answer["alternatives"] = done.alternatives if is_list else done.alternatives[0]
    if given.is_true("sentences"):
        answer["sentences"] = done.sentences if is_list else done.sentences[0]
    return JSONResponse(answer)


@router.post(
    "/alignment",
    tags=["translate"],
    summary="Find the words that a translation comes from",
    response_model=schemas.Alignment,
    responses=refusals(400, 403, 408, 413, 429, 503, 504),
    openapi_extra=takes(schemas.AlignmentRequest, *JSON_OR_FORM),
)
async def alignment(request: Request) -> Response:
    """Return how much each word of a translation attends to each word of its source sentence."""
    state, given, client = await opened(request)
    text, translation, source, target = (required(given, name) for name in ("q", "translation", "source", "target"))
    check_size(request, [text, translation], client)
    found = await state.work.run(
        request, client.name, lambda ticket: state.service.attention(text, translation, source, target)
    )
    weights = [[round(weight, 4) for weight in row] for row in found.weights]
    return JSONResponse({"source": found.source, "target": found.target, "weights": weights})


@router.post(
    "/detect",
    tags=["translate"],
    summary="Detect the language of a text",
    response_model=list[schemas.Detection],
    responses=refusals(400, 403, 408, 413, 429, 503),
    openapi_extra=takes(schemas.DetectRequest, *JSON_OR_FORM),
)
async def detect(request: Request) -> Response:
    """Return the languages that a text may be in, most probable first."""
    state, given, client = await opened(request)
    texts, _ = _texts(given)
    check_size(request, texts, client)
    return JSONResponse(await state.work.run(request, client.name, lambda ticket: state.service.detect(texts)))


@router.post(
    "/suggest",
    tags=["feedback"],
    summary="Suggest a better translation",
    response_model=schemas.SuggestResponse,
    responses=refusals(400, 403, 408, 413, 429),
    openapi_extra=takes(schemas.SuggestRequest, *JSON_OR_FORM),
)
async def suggest(request: Request) -> Response:
    """Store a suggestion, if the server collects suggestions."""
    state, given, client = await opened(request)
    if state.options.suggestions is None:
        raise ApiError(403, "Suggestions are disabled on this server.")
    fields = {name: required(given, name) for name in ("q", "s", "source", "target")}
    check_size(request, [fields["q"], fields["s"]], client)
    for name in ("source", "target"):
        if fields[name] not in state.service.codes:
            raise invalid(f"{fields[name]} is not supported")
    await run_in_threadpool(_append, state.options.suggestions, fields)
    return JSONResponse({"success": True})


@router.get("/languages", tags=["translate"], summary="List the languages", response_model=list[schemas.Language])
async def languages(request: Request) -> Response:
    """Return each language with those that it can be translated into."""
    return JSONResponse(state_of(request).service.languages())


@router.get("/frontend/settings", tags=["frontend"], summary="Settings for a page")
async def frontend_settings(request: Request) -> Response:
    """Return the limits and features of this server."""
    state = state_of(request)
    options = state.options
    (source, target), *_ = state.service.pool.pairs
    return JSONResponse(
        {
            "charLimit": options.characters,
            "frontendTimeout": 500,
            "apiKeys": options.keys is not None,
            "keyRequired": options.require_key,
            "suggestions": options.suggestions is not None,
            "filesTranslation": options.file_size > 0,
            "supportedFilesFormat": list(SUFFIXES) if options.file_size else [],
            "alternatives": options.alternatives,
            "language": {
                "source": {"code": source, "name": name_of(source)},
                "target": {"code": target, "name": name_of(target)},
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


def _texts(given: Parameters) -> tuple[list[str], bool]:
    """Return the texts of parameter q, and whether it is a list."""
    q = given.get("q")
    if not isinstance(q, list):
        text = required(given, "q")
        # Browsers send CRLF at the end of the lines of a form.
        return [text.replace("\r\n", "\n") if given.is_form else text], False
    if not q:
        raise missing("q")
    if not all(isinstance(text, str) for text in q):
        raise invalid("Invalid request: q parameter is not a list of strings")
    return [unicode(text, "q") for text in q], True


def _n_alternatives(given: Parameters, most: int) -> int:
    value = given.get("alternatives") or 0
    try:
        n = max(0, int(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise invalid("Invalid request: alternatives parameter is not a number") from error
    if n > most:
        raise invalid(f"Invalid request: alternatives parameter must be <= {most}")
    return n


def _append(path: Path, fields: dict[str, str]) -> None:
    """Append a suggestion to a JSON lines file, in one write."""
    line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds"), **fields}, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())
