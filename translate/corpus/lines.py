"""Lines of text files in UTF-8, plain or compressed.

Only "\\n" ends a line. A "\\r" right before it belongs to the line end, as Windows programs write it; elsewhere it is
data, like U+2028, U+0085 and the other line breaks of Unicode. A byte order mark at the start of a file is not part of
the text.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from translate.errors import UserError
from translate.files import decode_line

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or compressed, without line ends; UserError names file and line."""
    n = 0
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            for n, line in enumerate(file, start=1):
                yield decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), path, n)
    except DAMAGED as error:
        raise UserError(f"{path}: the compressed file is damaged or cut off after line {n}: {error}") from error
    except OSError as error:
        raise UserError(cannot_read(path, error)) from error


def sample_lines(path: Path, n_lines: int | None) -> Iterator[str]:
    """Yield `n_lines` lines of a file, evenly spaced and in their order; all of them for None or if it has no more."""
    if n_lines is None:
        yield from read_lines(path)
        return
    total = sum(1 for _ in read_lines(path))
    n_lines = min(n_lines, total)
    for i, line in enumerate(read_lines(path)):
        if (i + 1) * n_lines // total > i * n_lines // total:
            yield line


def cannot_read(path: Path, error: OSError) -> str:
    """Return the message for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file; correct the path"
    return f"{path}: cannot be read: {error.strerror or error}"
