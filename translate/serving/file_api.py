"""Routes for files: /translate_file and /download_file."""

from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, JSONResponse, Response

from translate.serving import schemas
from translate.serving.admission import check_size, opened, required, state_of
from translate.serving.errors import ApiError, invalid, missing
from translate.serving.file_store import SUFFIXES
from translate.serving.scheduler import Ticket
from translate.serving.schemas import refusals, takes
from translate.text import formats

router = APIRouter()


@router.post(
    "/translate_file",
    tags=["translate"],
    summary="Translate a file",
    response_model=schemas.FileResponse,
    responses=refusals(400, 403, 408, 413, 429, 503, 504),
    openapi_extra=takes(schemas.FileRequest, "multipart/form-data"),
)
async def translate_file(request: Request) -> Response:
    """Translate a file and return the address of the translated one, which is kept for half an hour."""
    state, given, client = await opened(request)
    if not state.options.file_size:
        raise ApiError(403, "Files translation are disabled on this server.")
    if "file" not in given.files:
        raise missing("file")
    source, target = required(given, "source"), required(given, "target")
    name, content = given.files["file"]
    text = _text(name, content, state.options.file_size)
    check_size(request, [text], client)
    state.service.check(source, target)
    state.metrics.characters.inc(len(text))

    def translated(ticket: Ticket) -> str:
        mark = "\ufeff" if text.startswith("\ufeff") else ""  # it would hide front matter
        done = state.service.translate(ticket, [text.removeprefix(mark)], source, target, formats.guess(Path(name)))
        return state.files.add(name, target, mark + done.texts[0])

    stored = await state.work.run(request, client.name, translated)
    return JSONResponse({"translatedFileUrl": f"{request.base_url}download_file/{quote(stored)}"})


@router.get("/download_file/{name:path}", tags=["translate"], summary="Download a file", responses=refusals(400, 404))
async def download_file(request: Request, name: str) -> Response:
    """Return a translated file."""
    try:
        path = state_of(request).files.find(name)
    except ValueError as error:
        raise invalid("Invalid filename") from error
    if path is None:
        raise ApiError(404, "There is no such file; translated files are kept for half an hour")
    # A browser saves the file and never shows it, so that scripts in it cannot act as this server's.
    return FileResponse(path, filename=name.partition(".")[2], headers={"Content-Security-Policy": "sandbox"})


def _text(name: str, content: bytes, max_bytes: int) -> str:
    """Return the text of an uploaded file; ApiError if its format is unknown, or if it is too large or not UTF-8."""
    if Path(name).suffix.lower() not in SUFFIXES:
        raise invalid("Invalid request: file format not supported")
    if not content:
        raise invalid("Invalid request: empty file")
    if len(content) > max_bytes:
        raise ApiError(413, f"Invalid request: file ({len(content)}) exceeds size limit ({max_bytes})")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise invalid(f"Invalid request: the file is not UTF-8 text (line {line}); save it as UTF-8") from error
