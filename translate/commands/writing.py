"""Where `translate text` puts translations: stdout, a file that appears when it is complete, or one that grows.

A file that grows can be taken up again after any end of the process. Beside NAME stands .NAME.resume, which says how
many windows of the source are in it, how many bytes they have, which lines of the source they come from, and what made
them. It is written after each window, when the window's text is on the disk. Whatever the file holds beyond those bytes
is cut off, and the source is read again up to there without being translated: no format needs a state of its own.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Protocol, TextIO

from translate.commands.messages import say
from translate.errors import UserError


class Output(Protocol):
    """What windows of text are written to.

    Attributes:
        n_done: windows that an earlier process has written; they are to be left out.
    """

    n_done: int

    def wants(self, n: int) -> bool:
        """Whether window `n`, counted from 1, is to be written here."""

    def write(self, text: str) -> object:
        """Add text to the window."""

    def end_window(self, digest: str) -> None:
        """The window is complete; `digest` names the lines that were read so far."""

    def check(self, digest: str) -> None:
        """UserError if the windows that are left out come from other lines."""


class Stream:
    """Text for whoever reads it now."""

    n_done = 0

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.write = file.write

    def wants(self, n: int) -> bool:
        """All are."""
        return True

    def end_window(self, digest: str) -> None:
        """What waits for an answer gets it."""
        self._file.flush()

    def check(self, digest: str) -> None:
        """Nothing is left out."""


@dataclass(frozen=True)
class Progress:
    """What the file beside a growing file says."""

    windows: int
    bytes: int
    source_sha256: str
    settings: dict[str, object]


class GrowingFile:
    """A file to which each window is added for good.

    Args:
        place: the file.
        settings: what decides the text, as plain data; a file that other settings made is not taken up.
        force: begin anew whatever is there.

    Raises UserError if the file cannot be taken up.
    """

    def __init__(self, place: Path, settings: Mapping[str, object], *, force: bool) -> None:
        self.place, self.beside = place, place.with_name(f".{place.name}.resume")
        self.settings = dict(settings)
        progress = None if force else self._progress()
        self.n_done = progress.windows if progress else 0
        self._digest = progress.source_sha256 if progress else ""
        self._size = progress.bytes if progress else 0

    def _progress(self) -> Progress | None:
        """Where an earlier process stopped; None at the beginning."""
        size = self.place.stat().st_size if self.place.exists() else 0
        try:
            progress = Progress(**json.loads(self.beside.read_text(encoding="utf-8")))
        except FileNotFoundError:
            if size:
                raise UserError(
                    f"{self.place}: exists already, and no unfinished translation with --resume made it; name another "
                    "file, or add --force to overwrite it"
                ) from None
            return None
        except (ValueError, TypeError) as error:
            raise UserError(f"{self.beside}: damaged; begin anew with --force") from error
        for key, value in self.settings.items():
            if progress.settings.get(key) != value:
                raise UserError(
                    f"{self.place}: was begun with another {key}: {progress.settings.get(key)}, not {value}; use the "
                    "same, or begin anew with --force"
                )
        if size < progress.bytes:
            raise UserError(f"{self.place}: is shorter than it was; begin anew with --force")
        return progress

    @contextlib.contextmanager
    def opened(self) -> Iterator["GrowingFile"]:
        """The file, cut to its complete windows; when all is written, the note beside it goes."""
        try:
            descriptor = os.open(self.place, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise _unwritable(self.place, error) from error
        with open(descriptor, "r+", encoding="utf-8", newline="\n") as file:
            file.truncate(self._size)
            file.seek(0, os.SEEK_END)
            self._file = file
            self._note("" if not self.n_done else self._digest)
            yield self
        self.beside.unlink()

    def wants(self, n: int) -> bool:
        """All but those that are there."""
        return n > self.n_done

    def write(self, text: str) -> object:
        """Add text to the window."""
        return self._file.write(text)

    def end_window(self, digest: str) -> None:
        """Put the window on the disk, then say so."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._size = os.fstat(self._file.fileno()).st_size
        self.n_done += 1
        self._note(digest)

    def _note(self, digest: str) -> None:
        partial = self.beside.with_name(f"{self.beside.name}.partial")
        progress = Progress(self.n_done, self._size, digest, self.settings)
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(asdict(progress), indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.beside)

    def check(self, digest: str) -> None:
        """UserError if the source is another one, or shorter, than that of the windows in the file."""
        if digest != self._digest:
            raise UserError(
                f"{self.place}: its source has changed since it was begun; restore it, or begin anew with --force"
            )


def writable(output: Path | None) -> AbstractContextManager[TextIO]:
    """The output file, or stdout, in UTF-8 with plain line ends on every system.

    A file is written beside its place and moved there when complete, so that a failure costs no earlier one.
    """
    if output is None:
        if sys.stdout is None:
            raise UserError("stdout is closed; name a file with --output")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        return nullcontext(sys.stdout)
    place = output.resolve()  # a link stays a link
    try:
        if place.exists() and not place.is_file():  # a pipe or a device
            return place.open("w", encoding="utf-8", newline="\n")
        if place.exists():
            place.open("ab").close()  # a file that may not be written may not be replaced either
        partial = place.with_name(f".{place.name}.partial")
        return _moved_when_complete(partial.open("w", encoding="utf-8", newline="\n"), partial, place)
    except OSError as error:
        raise _unwritable(output, error) from error


def _unwritable(output: Path, error: OSError) -> UserError:
    return UserError(f"{output}: cannot be written: {error.strerror}; name another file with --output")


@contextlib.contextmanager
def _moved_when_complete(file: TextIO, partial: Path, place: Path) -> Iterator[TextIO]:
    """`file`, which is open at `partial`; what a failure leaves of it stays there and is named, unless it is empty."""
    try:
        with file:
            yield file
        if place.exists():
            shutil.copymode(place, partial)
        partial.replace(place)
    except BaseException:
        if partial.stat().st_size:
            say(f"{partial} holds what was translated before the failure")
        else:
            partial.unlink()
        raise
