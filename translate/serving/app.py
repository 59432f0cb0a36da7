"""The ASGI application: the routes, the page, and the one place where errors become answers."""

import asyncio
import contextlib
import logging
import multiprocessing
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from translate.serving import docs_page
from translate.serving.access import RefusedError
from translate.serving.api import State, router
from translate.serving.limits import Limits
from translate.serving.observing import CLIENT_GONE, REQUEST_ID, Observer, event
from translate.serving.service import Threads
from translate.serving.settings import ServeOptions

PAGE = Path(__file__).parent / "page"  # files of the page at /
# The style of all pages of this project.
STYLES = tuple(Path(__file__).parents[1] / "pictures" / name for name in ("colours.css", "style.css"))

_TIDY_SECONDS = 30
_GAUGE_SECONDS = 2
_END_SECONDS = 2  # for threads to notice that their requests were stopped


def create_app(options: ServeOptions, folder: Path) -> FastAPI:
    """Return the application.

    Args:
        options: of the command; its models are folders.
        folder: for files of the server, which worker processes share.

    Raises UserError if a model cannot be served.
    """
    import translate

    state = State.open(options, folder)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_tidy(state)), asyncio.create_task(_gauge(state))]
        yield
        for task in tasks:
            task.cancel()
        if not await Threads().run(lambda: state.close(_END_SECONDS)):
            event("stopped while a thread was busy", {}, logging.WARNING)
            if multiprocessing.parent_process():  # a worker would wait for the thread, and has nothing to clean up
                os._exit(0)

    app = FastAPI(
        title="translate serve",
        version=translate.__version__,
        description="Translation with the API of LibreTranslate.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.server = state
    app.include_router(router)
    app.add_api_route("/docs", _docs, include_in_schema=False)
    app.add_api_route("/spec", _spec, include_in_schema=False)  # LibreTranslate's address of the description
    app.add_api_route("/", _index, include_in_schema=False)
    app.add_api_route("/page/common.css", _style, include_in_schema=False)
    app.mount("/page", StaticFiles(directory=PAGE))
    for kind in (RefusedError, RequestValidationError, HTTPException, ClientDisconnect):
        app.add_exception_handler(kind, _answer)
    # The last one is the outermost.
    app.add_middleware(Limits, max_bytes=_max_body(options, state.access.most_characters), answer=_answer)
    if options.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=options.cors,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["Retry-After", REQUEST_ID],
        )
    app.add_middleware(Observer, metrics=state.metrics, routes=router.routes)
    if trusts_every_proxy(options):
        app.add_middleware(NearestProxy)
    return app


def trusts_every_proxy(options: ServeOptions) -> bool:
    """Return whether --proxy has a *."""
    return "*" in (part.strip() for part in (options.proxy or "").split(","))


class NearestProxy:
    """Middleware that takes the address of the client from the proxy that has passed the request on, whoever that is.

    A proxy appends the address to those that it was sent, so the last one is that of its client. The first one, which
    uvicorn takes if all proxies are trusted, is what a client has written, and limits by address would be none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = ProxyHeadersMiddleware(app, "*")  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if "headers" in scope:
            headers = scope["headers"]
            sent = [value for name, value in headers if name == b"x-forwarded-for"]
            others = [(name, value) for name, value in headers if name != b"x-forwarded-for"]
            nearest = [(b"x-forwarded-for", value.rpartition(b",")[2].strip()) for value in sent[-1:]]
            scope = {**scope, "headers": [*others, *nearest]}
        await self._app(scope, receive, send)  # type: ignore[arg-type]


async def _answer(request: Request, error: Exception) -> Response:
    """Return the answer to a request that failed, in LibreTranslate's form: {"error": "..."}."""
    headers: Mapping[str, str] | None = None
    match error:
        case ClientDisconnect():  # while it sent its body, or later
            return Response(status_code=CLIENT_GONE)
        case RequestValidationError():
            status, message = 400, _wording(error)
        case RefusedError():
            status, message, headers = error.status, error.message, error.headers
        case HTTPException():
            status, message, headers = error.status_code, str(error.detail), error.headers
            if allowed := (headers or {}).get("Allow"):
                message += f"; use {allowed}"
        case _:
            status, message = 500, "Internal error"
    if status == 500:
        problem = {"problem": str(error.__cause__)} if isinstance(error, RefusedError) else {}
        event("request failed", {"id": request.scope["state"]["id"]} | problem, logging.ERROR, exception=not problem)
    return JSONResponse({"error": message}, status, headers)


def _wording(error: RequestValidationError) -> str:
    """Return what is wrong with a request, in LibreTranslate's words where it has some."""
    problems = error.errors()
    name = problems[0]["loc"][0]
    if problems[0]["type"] == "missing":
        return f"Invalid request: missing {name} parameter"
    depth = max(len(problem["loc"]) for problem in problems)  # a text in a list rather than the list
    deepest = [problem for problem in problems if problem["loc"][0] == name and len(problem["loc"]) == depth]
    says = " or ".join(dict.fromkeys(problem["msg"].removeprefix("Input ") for problem in deepest))
    return f"Invalid request: {name} parameter {says}"


def _max_body(options: ServeOptions, n_characters: int) -> int:
    """Return the size of the largest body: JSON and forms need up to 12 bytes for a character."""
    return max(12 * n_characters, options.file_size) + 2**16


async def _tidy(state: State) -> None:
    while True:
        await asyncio.sleep(min(_TIDY_SECONDS, state.options.unload))
        try:
            await state.threads.run(state.tidy)
        except Exception:  # the next time may succeed; without a next time nothing would ever be unloaded
            event("not tidied", {}, logging.ERROR, exception=True)


async def _gauge(state: State) -> None:
    """Keep the gauges up to date: any of several processes may be asked for those of all."""
    while True:
        state.set_gauges()
        await asyncio.sleep(_GAUGE_SECONDS)


async def _index() -> Response:
    return FileResponse(PAGE / "index.html")


async def _style() -> Response:
    return Response("\n".join(path.read_text(encoding="utf-8") for path in STYLES), media_type="text/css")


async def _docs(request: Request) -> Response:
    return HTMLResponse(docs_page.page(request.app.openapi(), str(request.base_url)))


async def _spec(request: Request) -> Response:
    return JSONResponse(request.app.openapi())
