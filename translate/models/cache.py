"""Converted models, kept between uses in $XDG_CACHE_HOME/translate (by default ~/.cache/translate).

An entry is a folder of files that is complete from the moment it has its name. Everything here may be deleted at any
time. A cache that cannot be written is no error: nothing is kept then.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

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


def store(key: str, files: Mapping[str, bytes]) -> None:
    """Keep files under a key; without effect if they cannot be written, or if there is such an entry.

    Several processes may store the same key at the same time; the first one makes the entry.
    """
    if sum(map(len, files.values())) > MAX_BYTES:
        return
    with suppress(OSError, RuntimeError):
        root = place()
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
        try:
            for name, content in files.items():
                (partial / name).write_bytes(content)
            partial.rename(root / key)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        _shrink(root)


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
        n_bytes += sum(file.stat().st_size for file in entry.iterdir())
        if n_bytes > MAX_BYTES:
            remove(entry.name)
