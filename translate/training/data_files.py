"""Detection of changes to the prepared corpus during a run and between its starts.

Every validation compares sizes and modification times, which takes microseconds; every start compares digests. The
digest of a file of up to 256 MiB covers all of it. A start must not take minutes, so the digest of a larger file covers
its size and 64 blocks of 1 MiB, spread evenly from the first byte to the last; it may miss a change in between.
"""

import hashlib
from collections.abc import Collection
from pathlib import Path

from translate.files import sha256

WHOLE, BLOCK, BLOCKS = 2**28, 2**20, 64


def digest(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file, or of samples of a file larger than WHOLE bytes."""
    size = path.stat().st_size
    if size <= WHOLE:
        return sha256(path)
    total = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for i in range(BLOCKS):
            file.seek(i * (size - BLOCK) // (BLOCKS - 1))
            total.update(file.read(BLOCK))
    return f"sampled:{total.hexdigest()}"


def digests(folder: Path, names: Collection[str]) -> dict[str, str]:
    """Return the digest of each named file in `folder`."""
    return {name: digest(folder / name) for name in sorted(names)}


class Watched:
    """Files that must not change from now on.

    Args:
        folder: the folder that holds them.
        names: their names; missing files are ignored.
    """

    def __init__(self, folder: Path, names: Collection[str]) -> None:
        self._before = {folder / name: _stamp(folder / name) for name in sorted(names)}

    def changed(self) -> Path | None:
        """Return the first file whose size, modification time or inode has changed, or None."""
        return next((path for path, stamp in self._before.items() if _stamp(path) != stamp), None)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
