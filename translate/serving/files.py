"""Translated files that wait for their download: each has a name that cannot be guessed, and is kept for a while."""

import os
import re
import time
import uuid
from pathlib import Path

from translate.documents.document import MODULES
from translate.text.formats import SUFFIXES

KEPT_SECONDS = 30 * 60
_MAX_BYTES = 2**30  # of all files; the oldest give way
_MAX_PART = 80  # bytes of the name and of the ending of a file
_NAME = re.compile(r"[0-9a-f]{32}\.[\w.-]{1,200}")
_UNSAFE = re.compile(r"[^\w.-]+")


def suffixes() -> list[str]:
    """Return the suffixes of files that can be translated: of text, and of documents."""
    return [*SUFFIXES, *MODULES]


class FileStore:
    """Files in a folder, which is made again if it was deleted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._n_new = 0  # bytes since the last sweep

    def add(self, file_name: str, target: str, content: bytes) -> str:
        """Store a file and return its name.

        Args:
            file_name: name of the original file; only its last part counts, and only safe characters of it.
            target: language code, which is added to the name.
        """
        path = Path(file_name.replace("\\", "/").rpartition("/")[2])
        stem, suffix = (_cut(_UNSAFE.sub("_", part)).strip(".") for part in (path.stem, path.suffix))
        name = f"{uuid.uuid4().hex}.{stem or 'file'}_{target}" + (f".{suffix}" if suffix else "")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            (self._folder / name).write_bytes(content)
        except OSError:  # a full disk must not keep what nobody can ask for
            (self._folder / name).unlink(missing_ok=True)
            raise
        self._n_new += (self._folder / name).stat().st_size
        if self._n_new > _MAX_BYTES // 8:  # do not wait for the next regular sweep
            self.sweep()
        return name

    def find(self, name: str) -> Path | None:
        """Return the path of a stored file, None if there is none; ValueError if the name cannot be one."""
        if not _NAME.fullmatch(name):
            raise ValueError(name)
        path = self._folder / name
        return path if os.path.isfile(path) else None  # not path.is_file(), which refuses long names with OSError

    def sweep(self) -> None:
        """Remove files that are too old, and the oldest ones if all are too large."""
        self._n_new = 0
        found = []
        for path in self._folder.glob("*"):
            try:
                status = path.stat()
            except FileNotFoundError:  # another worker process removed it
                continue
            found.append((status.st_mtime, status.st_size, path))
        n_bytes = 0
        for modified, size, path in sorted(found, reverse=True):
            n_bytes += size
            if time.time() - modified > KEPT_SECONDS or n_bytes > _MAX_BYTES:
                path.unlink(missing_ok=True)


def _cut(part: str) -> str:
    """Return the part of a name, shortened if file systems would refuse it for its number of bytes."""
    return part.encode()[:_MAX_PART].decode(errors="ignore")
