"""Answers other than 200, in LibreTranslate's form: {"error": "..."}."""

from collections.abc import Mapping

from starlette.responses import JSONResponse


class ApiError(Exception):
    """A request that is refused.

    Args:
        status: HTTP status.
        message: for the client.
        headers: more headers of the response.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def response(self) -> JSONResponse:
        """Return the response."""
        return JSONResponse({"error": self.message}, self.status, self.headers)


def invalid(message: str) -> ApiError:
    """Return the error for a request that the client must correct."""
    return ApiError(400, message)


def missing(name: str) -> ApiError:
    """Return the error for a missing parameter."""
    return invalid(f"Invalid request: missing {name} parameter")


def busy(seconds: int) -> ApiError:
    """Return the error for a server that has no capacity left; `seconds` is when to try again."""
    return ApiError(503, "The server is busy; try again later", {"Retry-After": str(seconds)})
