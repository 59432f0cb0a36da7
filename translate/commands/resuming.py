"""Continuing a translation (`--resume`): a file that grows by complete windows, after any interruption.

Beside NAME stands .NAME.resume, which records the number of complete windows, their size in bytes, and the source and
settings that produced them. It is written after each window, once the window's text is on the disk. To continue, the
source is read again up to there without translating it, so that no format has to save a state, and the next window
replaces what follows the recorded size; other text there is moved to another file. The record stays when NAME is
complete, so that the same command can tell a finished translation from another file. NAME is locked while a process
writes it.
"""

import hashlib
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from translate.commands.lines import Output, open_locked
from translate.errors import UserError, say
from translate.files import hidden, naming, read_json, write_bytes, write_json

_CHUNK = 2**16  # bytes read at a time
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


@dataclass(frozen=True)
class Progress:
    """Content of the .resume file.

    Attributes:
        windows, bytes, sha256: what was written: the number of windows, their size and their digest.
        settings: everything that determines the text.
        complete: whether these are all windows.
    """

    windows: int
    bytes: int
    settings: dict[str, object]
    sha256: str
    complete: bool = False

    @classmethod
    def load(cls, path: Path) -> "Progress":
        """Return the content of a file; ValueError or TypeError if it is damaged."""
        progress = cls(**read_json(path))
        for value, kind in (
            (progress.windows, int),
            (progress.bytes, int),
            (progress.settings, dict),
            (progress.sha256, str),
            (progress.complete, bool),
        ):
            if type(value) is not kind:
                raise TypeError(f"{value!r} is no {kind.__name__}")
        if progress.windows < 0 or progress.bytes < 0:
            raise ValueError(f"{progress}: sizes are at least 0")
        return progress


def begun_otherwise(place: Path, key: str, old: object, new: object) -> UserError:
    """Return the error of an output that was begun with another setting; digests say nothing to a user."""
    if isinstance(old, dict) and isinstance(new, dict):
        changed = next(name for name in {**old, **new} if old.get(name) != new.get(name))
        values = f" ({changed} = {old.get(changed)}, not {new.get(changed)})"
    else:
        is_digest = any(_DIGEST.search(str(value)) for value in (old, new))
        values = "" if is_digest else f" ({old}, not {new})"
    name = "input" if key == "source_sha256" else key.removesuffix("_sha256")
    return UserError(f"{place}: was begun with another {name}{values}; use the same, or start again with --force")


class GrowingFile(Output):
    """A file to which complete windows are appended.

    Args:
        settings: everything that determines the text, as plain data; a file with other settings is not continued.
        force: start from the beginning and discard existing content.
    """

    def __init__(self, place: Path, settings: Mapping[str, object], *, force: bool) -> None:
        self.place, self.beside = place, hidden(place, "resume")
        self.settings = dict(settings)
        self._force = force
        self._size = 0
        self._digest = hashlib.sha256()  # of what was written
        self._torn, self._n_repeated = b"", 0  # what follows the last complete window, and how much was written again

    def _progress(self) -> Progress | None:
        """Return the progress of an earlier process, whose text begins the file; None if there is none."""
        size = self.place.stat().st_size if self.place.exists() else 0
        try:
            progress = Progress.load(self.beside) if self.beside.exists() else None
        except (ValueError, TypeError) as error:
            raise UserError(f"{self.beside}: damaged; start again with --force") from error
        if progress is None or (progress.complete and size != progress.bytes):  # another program wrote it since
            if size:
                raise UserError(
                    f"{self.place}: exists already and is not an unfinished translation; name another file, or add "
                    "--force to overwrite it"
                )
            return None
        for key, value in self.settings.items():
            if progress.settings.get(key) != value:
                raise begun_otherwise(self.place, key, progress.settings.get(key), value)
        if size < progress.bytes:
            raise UserError(f"{self.place}: is shorter than it was; start again with --force")
        with self.place.open("rb") as file:
            for start in range(0, progress.bytes, _CHUNK):
                self._digest.update(file.read(min(_CHUNK, progress.bytes - start)))
            self._torn = file.read()
        if self._digest.hexdigest() != progress.sha256:
            raise self._changed()
        return progress

    def _changed(self) -> UserError:
        return UserError(
            f"{self.place}: was changed since its translation stopped; name another file, or add --force to overwrite "
            "it"
        )

    @contextmanager
    def opened(self) -> Iterator["GrowingFile"]:
        """Yield this output after its complete windows; record that it is complete when the block ends.

        Other processes are kept from writing the file until then. What follows its complete windows, and is not the
        beginning of the next one, is kept in another file. UserError if it cannot be continued.
        """
        existed = self.place.exists()
        with naming(self.place), open_locked(self.place, self.place) as self._file:
            try:
                progress = None if self._force else self._progress()
            except UserError:
                if not existed:
                    self.place.unlink()
                raise
            if progress:
                self.n_done, self._size = progress.windows, progress.bytes
                if progress.complete:
                    say(f"{self.place}: is complete already")
            else:
                self._file.truncate(0)
            self._file.seek(self._size)
            self._save(complete=bool(progress and progress.complete))
            yield self
            if self._n_repeated < len(self._torn):
                self._keep_torn()
            self._save(complete=True)

    def wants(self, n: int) -> bool:
        """True for windows that are not in the file yet."""
        return n > self.n_done

    def write(self, text: str) -> None:
        """Add text to the window; UserError if the file has other text there, and nothing of this translation."""
        content = text.encode("utf-8")
        known = self._torn[self._n_repeated : self._n_repeated + len(content)]
        self._n_repeated += len(known)
        if not content.startswith(known):
            self._keep_torn()
        self._digest.update(content)
        super().write(text)

    def _keep_torn(self) -> None:
        """Move text that this translation has not written out of the way."""
        if not self.n_done:
            raise self._changed()
        names = (self.place.with_name(f"{self.place.name}.rest{n}") for n in itertools.count(1))
        rest = next(path for path in names if not path.exists())
        write_bytes(rest, self._torn, durable=True)
        say(f"{self.place}: after its last complete part it had other text, which is now in {rest}")
        self._file.flush()
        self._file.buffer.truncate()
        self._torn = b""

    def end_window(self) -> None:
        """Write the window to the disk, then record it."""
        self._file.flush()
        os.fsync(self._file.fileno())
        # Not the file's size: without locks, another process may have written beyond this window.
        self._size = self._file.buffer.tell()
        self.n_done += 1
        self._save()

    def _save(self, *, complete: bool = False) -> None:
        progress = Progress(self.n_done, self._size, self.settings, self._digest.hexdigest(), complete)
        write_json(self.beside, asdict(progress), durable=True)
