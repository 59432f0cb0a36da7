"""The log: one JSON object per line on stderr. It never contains text of users, query strings or names of files."""

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime

_LOGGER = logging.getLogger("translate.serving")


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


def set_up() -> None:
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
    """Log an event.

    Args:
        name: what happened.
        fields: more about it; no text of users.
        level: of `logging`.
        exception: whether to add the exception that is being handled.
    """
    _LOGGER.log(level, name, extra={"fields": dict(fields)}, exc_info=exception)
