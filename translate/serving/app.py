"""The ASGI application."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from translate.serving import api, docs_page, file_api
from translate.serving.bodies import BodyLimit
from translate.serving.errors import ApiError
from translate.serving.events import event
from translate.serving.protocol import HEAD_SECONDS
from translate.serving.request_log import CLIENT_GONE, RequestLog
from translate.serving.settings import Serve
from translate.serving.state import State
from translate.serving.work import ClientGoneError

PAGE = Path(__file__).parent / "page"  # files of the page at /

_TIDY_SECONDS = 30


def create_app(options: Serve, folder: Path) -> FastAPI:
    """Return the application.

    Args:
        options: of the command; its models are folders.
        folder: for files of the server, which worker processes share.

    Raises UserError if a model cannot be served.
    """
    import translate

    state = State.open(options, folder)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, float]]:
        tidying = asyncio.create_task(_tidy(state))
        yield {HEAD_SECONDS: options.read_timeout}
        tidying.cancel()
        await asyncio.to_thread(state.close)

    app = FastAPI(
        title="translate serve",
        version=translate.__version__,
        description="Translation with the API of LibreTranslate.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.server = state
    app.include_router(api.router)
    app.include_router(file_api.router)
    app.add_api_route("/docs", _docs, include_in_schema=False)
    app.add_api_route("/spec", _spec, include_in_schema=False)  # LibreTranslate's address of the description
    app.add_api_route("/", _index, include_in_schema=False)
    app.mount("/page", StaticFiles(directory=PAGE))
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientGoneError, _client_gone)
    # The last one is the outermost.
    app.add_middleware(
        BodyLimit, max_bytes=_max_body(options, state.access.most_characters), seconds=options.read_timeout
    )
    if options.cors:
        app.add_middleware(CORSMiddleware, allow_origins=options.cors, allow_methods=["*"], allow_headers=["*"])
    app.add_middleware(RequestLog, metrics=state.metrics)
    app.add_middleware(HeadAsGet)
    return app


class HeadAsGet:
    """Middleware that answers HEAD as GET, as LibreTranslate does; the HTTP server leaves the body out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}  # a copy: the server needs to know what was asked for
        await self._app(scope, receive, send)


def _max_body(options: Serve, n_characters: int) -> int:
    """Return the size of the largest body: JSON and forms need up to 12 bytes for a character."""
    return max(12 * n_characters, options.file_size) + 2**16


async def _tidy(state: State) -> None:
    while True:
        await asyncio.sleep(min(_TIDY_SECONDS, state.options.unload))
        try:
            await asyncio.to_thread(state.tidy)
        except Exception:  # the next time may succeed; without a next time nothing would ever be unloaded
            event("not tidied", {}, logging.ERROR, exception=True)


async def _index() -> Response:
    return FileResponse(PAGE / "index.html")


async def _docs(request: Request) -> Response:
    return HTMLResponse(docs_page.page(request.app.openapi()))


async def _spec(request: Request) -> Response:
    return JSONResponse(request.app.openapi())


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error.response()


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)


async def _client_gone(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_GONE)
