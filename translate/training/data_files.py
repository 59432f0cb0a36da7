"""The files of the prepared corpus must stay as they are while a run reads them, and between its starts.

Sizes and times of change are compared at every validation, for microseconds; digests at every start. A digest covers
the whole of a file of up to 256 MiB, and of a larger one its size and 64 MiB, in blocks of 1 MiB spread evenly from the
first byte to the last: a start must not take minutes. There a change that keeps the size may be missed.
"""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path

from translate.errors import UserError

WHOLE, BLOCK, BLOCKS = 2**28, 2**20, 64

Digests = dict[str, str]


def digest(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, or of samples of one larger than WHOLE bytes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= WHOLE:
            return hashlib.file_digest(file, "sha256").hexdigest()
        total = hashlib.sha256(str(size).encode())
        for i in range(BLOCKS):
            file.seek(i * (size - BLOCK) // (BLOCKS - 1))
            total.update(file.read(BLOCK))
    return f"sampled:{total.hexdigest()}"


def digests(folder: Path, names: Collection[str]) -> Digests:
    """Those of the files in `folder` by name."""
    return {name: digest(folder / name) for name in sorted(names)}


def check(folder: Path, run: Path, before: Mapping[str, str], now: Mapping[str, str], otherwise: str) -> None:
    """UserError that names the first file of the prepared corpus that is not what the run began with.

    It ends with the way out that `otherwise` tells.
    """
    for name, value in before.items():
        if now.get(name) != value:
            raise UserError(
                f"{folder / name}: changed since {run} began (SHA-256 {value[:16]} then, {now.get(name, 'gone')[:16]} "
                f"now); restore it, or {otherwise}"
            )


class Watched:
    """Files that must not change from now on.

    Args:
        folder, names: where they are; one that is missing is not watched.
    """

    def __init__(self, folder: Path, names: Collection[str]) -> None:
        self._before = {folder / name: _stamp(folder / name) for name in sorted(names)}

    def changed(self) -> Path | None:
        """The first file whose size, time of change or identity is another one, or None."""
        return next((path for path, stamp in self._before.items() if _stamp(path) != stamp), None)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
