"""Converted models, kept between uses in $XDG_CACHE_HOME/translate (by default ~/.cache/translate).

An entry is a folder of files that is complete from the moment it has its name. Everything here may be deleted at any
time. A cache that cannot be written is no error: nothing is kept then.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from translate.files import flush

MAX_BYTES = 4 * 2**30  # of all entries; those that were not used for the longest time are removed first

_UNFINISHED = ".partial-"  # of an entry that is being written or removed
_ABANDONED_AFTER = 3600  # seconds


def place() -> Path:
    """Return the folder of the cache; RuntimeError if there is no home folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "translate"


def find(key: str) -> Path | None:
    """Return the folder of an entry, which counts as used now; None if there is none."""
    with suppress(OSError, RuntimeError):
        entry = place() / key
        if entry.is_dir():
            with suppress(OSError):  # a read-only cache
                os.utime(entry)
            return entry
    return None


@contextmanager
def new_entry() -> Iterator[Path]:
    """Yield an empty folder that `keep` makes an entry; otherwise it is removed when the block ends."""
    parent: Path | None = None  # that of temporary files
    with suppress(OSError, RuntimeError):
        place().mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(place(), os.W_OK):
            parent = place()
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def keep(folder: Path, key: str) -> None:
    """Give a folder of `new_entry` its key; without effect if the cache cannot be written or has such an entry.

    Several processes may keep the same key at the same time; the first one makes the entry. The files are on the disk
    before it has its name, so that a power failure leaves no entry of empty files.
    """
    if _n_bytes(folder) > MAX_BYTES:
        return
    with suppress(OSError, RuntimeError):
        for path in (*folder.iterdir(), folder):
            flush(path)
        folder.rename(place() / key)
        _shrink(place())


def remove(key: str) -> None:
    """Remove an entry if there is one; it loses its name first, so that no process finds half of it."""
    with suppress(OSError, RuntimeError):
        root = place()
        doomed = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
        with suppress(OSError):
            (root / key).rename(doomed / key)
        shutil.rmtree(doomed, ignore_errors=True)


def _shrink(root: Path) -> None:
    """Remove what killed processes left, and the oldest entries until the rest is small enough."""
    n_bytes = 0
    entries = filter(Path.is_dir, root.iterdir())  # some systems add files of their own, such as .DS_Store
    for entry in sorted(entries, key=lambda path: -path.stat().st_mtime):
        if entry.name.startswith(_UNFINISHED):
            if time.time() - entry.stat().st_mtime > _ABANDONED_AFTER:
                shutil.rmtree(entry, ignore_errors=True)
            continue
        n_bytes += _n_bytes(entry)
        if n_bytes > MAX_BYTES:
            remove(entry.name)


def _n_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())
