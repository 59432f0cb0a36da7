"""Output of translations: stdout, a file that appears when it is complete, or a file that grows.

A growing file can be continued after any interruption. Beside NAME stands .NAME.resume, which records the number of
complete windows, their size in bytes, and the source and settings that produced them. It is written after each
window, once the window's text is on the disk. To continue, the file is cut to the recorded size, and the source is read
again up to there without translating it, so that no format has to save a state.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from translate.commands.messages import say
from translate.errors import UserError
from translate.files import read_json, write_json


class Output:
    """A destination for windows of text; this one writes all of them to an open file.

    Attributes:
        n_done: number of windows that an earlier process has written; they are skipped.
    """

    n_done = 0

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def wants(self, n: int) -> bool:
        """True if window `n`, counted from 1, must be written."""
        return True

    def write(self, text: str) -> None:
        """Add text to the window."""
        self._file.write(text)

    def end_window(self) -> None:
        """Complete the window."""
        self._file.flush()  # a reader may wait for the answer


@dataclass(frozen=True)
class Progress:
    """Content of the .resume file."""

    windows: int
    bytes: int
    settings: dict[str, object]


class GrowingFile(Output):
    """A file to which complete windows are appended.

    Args:
        place: the file.
        settings: everything that determines the text, as plain data; a file with other settings is not continued.
        force: start from the beginning and discard existing content.

    Raises UserError if the file cannot be continued.
    """

    def __init__(self, place: Path, settings: Mapping[str, object], *, force: bool) -> None:
        self.place, self.beside = place, place.with_name(f".{place.name}.resume")
        self.settings = dict(settings)
        progress = None if force else self._progress()
        self.n_done = progress.windows if progress else 0
        self._size = progress.bytes if progress else 0

    def _progress(self) -> Progress | None:
        """Return the progress of an earlier process; None if there is none."""
        size = self.place.stat().st_size if self.place.exists() else 0
        try:
            progress = Progress(**read_json(self.beside))
        except FileNotFoundError:
            if size:
                raise UserError(
                    f"{self.place}: exists already and is not an unfinished translation; name another file, or add "
                    "--force to overwrite it"
                ) from None
            return None
        except (ValueError, TypeError) as error:
            raise UserError(f"{self.beside}: damaged; start again with --force") from error
        for key, value in self.settings.items():
            if progress.settings.get(key) != value:
                raise UserError(
                    f"{self.place}: was begun with another {key}: {progress.settings.get(key)}, not {value}; use the "
                    "same, or start again with --force"
                )
        if size < progress.bytes:
            raise UserError(f"{self.place}: is shorter than it was; start again with --force")
        return progress

    @contextlib.contextmanager
    def opened(self) -> Iterator["GrowingFile"]:
        """Yield this output, cut to its complete windows; when the block ends, remove the .resume file."""
        try:
            descriptor = os.open(self.place, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise _unwritable(self.place, error) from error
        with open(descriptor, "r+", encoding="utf-8", newline="\n") as file:
            file.truncate(self._size)
            file.seek(0, os.SEEK_END)
            self._file = file
            self._save()
            yield self
        self.beside.unlink()

    def wants(self, n: int) -> bool:
        """True for windows that are not in the file yet."""
        return n > self.n_done

    def end_window(self) -> None:
        """Write the window to the disk, then record it."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._size = os.fstat(self._file.fileno()).st_size
        self.n_done += 1
        self._save()

    def _save(self) -> None:
        write_json(self.beside, asdict(Progress(self.n_done, self._size, self.settings)), durable=True)


def writable(output: Path | None) -> AbstractContextManager[TextIO]:
    """Open the output file, or stdout, in UTF-8 with "\\n" as line end on every system.

    A file is written under a temporary name and renamed when it is complete, so that a failure keeps an earlier file.
    """
    if output is None:
        if sys.stdout is None:
            raise UserError("stdout is closed; name a file with --output")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        return nullcontext(sys.stdout)
    try:
        if output.exists() and not output.is_file():  # a pipe, which may have no other name, or a device
            return output.open("w", encoding="utf-8", newline="\n")
        place = output.resolve()  # a symbolic link stays one
        if place.exists():
            place.open("ab").close()  # fails if the file is read-only, which renaming would ignore
        partial = place.with_name(f".{place.name}.partial")
        return _moved_when_complete(partial.open("w", encoding="utf-8", newline="\n"), partial, place)
    except OSError as error:
        raise _unwritable(output, error) from error


def _unwritable(output: Path, error: OSError) -> UserError:
    return UserError(f"{output}: cannot be written: {error.strerror}; name another file with --output")


@contextlib.contextmanager
def _moved_when_complete(file: TextIO, partial: Path, place: Path) -> Iterator[TextIO]:
    """Yield `file`, open at `partial`; after a failure a partial translation is kept there and named."""
    try:
        with file:
            yield file
        if place.exists():
            shutil.copymode(place, partial)
        partial.replace(place)
    except BaseException:
        if partial.stat().st_size:
            say(f"{partial} holds the translation up to the failure")
        else:
            partial.unlink()
        raise
