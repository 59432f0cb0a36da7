"""Files and folders: atomic writes, SHA-256, locks, JSON, and the lines of plain and compressed text.

What is not complete has a hidden name beside the one that it will get. Others may have made a link of that name, in a
clone or in a folder that they share, so no hidden name is written through a link: it is random, or see `hidden`.
"""

import bz2
import contextlib
import errno
import glob
import gzip
import hashlib
import io
import json
import lzma
import math
import os
import shutil
import stat
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from translate.errors import UserError, reason

T = TypeVar("T")

_UMASK = threading.Lock()  # reading the mask of a process changes it for a moment
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "ZIP",
    b"%PDF-": "PDF",
    b"{\\rtf": "RTF",
    b"\xd0\xcf\x11\xe0": "Word or Excel",
}


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_sha256(value: object) -> str:
    """Hexadecimal SHA-256 of plain data as JSON; the order of keys and white space do not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write text to a file in UTF-8; errors as for `write_bytes`.

    Args:
        text: all of it; "\\n" stays "\\n" on every system.
    """
    write_bytes(path, text.encode("utf-8"), durable=durable)


def write_bytes(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file atomically: a reader sees the old content or the new one.

    Args:
        path: the file; its folder must exist. A link stays a link to the new file.
        durable: return only when the content is on the disk, so that a power failure cannot undo it.

    Raises OSError; the file is then unchanged.
    """
    path = Path(os.path.realpath(path))
    partial = path.with_name(f".{path.name}.{os.urandom(8).hex()}.partial")
    try:
        with naming(path), open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600), "wb") as file:
            file.write(content)
            give_mode(file.fileno(), path)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        partial.replace(path)
        if durable:
            with contextlib.suppress(OSError):  # some network file systems cannot do that
                flush(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


@contextlib.contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Give an error of the operating system in this block the name of the file, where it has none: writing has none."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


def give_mode(descriptor: int, path: Path) -> None:
    """Give an open file the permissions of the file at `path`, which it will replace, or else those of new files.

    Without effect on a file system that has no permissions.
    """
    with contextlib.suppress(OSError, AttributeError):  # AttributeError: Windows before Python 3.13
        os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode) if path.exists() else _mode_of_new_files())


def _mode_of_new_files() -> int:
    with _UMASK:
        mask = os.umask(0o077)  # what another thread makes meanwhile is private
        os.umask(mask)
    return 0o666 & ~mask


def hidden(place: Path, ending: str) -> Path:
    """Return the hidden name beside `place` that ends so; UserError if a link has it, as this program makes none."""
    path = place.with_name(f".{place.name}.{ending}")
    if path.is_symlink():
        raise _linked(path)
    return path


def open_hidden(path: Path) -> int:
    """Return the descriptor of a file with a hidden name, which is made if it is missing and then private to the user.

    UserError if it is a link, or has other names too; OSError if it cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK | getattr(os, "O_NONBLOCK", 0), 0o600)
    except OSError as error:
        if path.is_symlink():
            raise _linked(path) from error
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise _linked(path)
    return descriptor


def _linked(path: Path) -> UserError:
    return UserError(f"{path}: is a link or no file, and this program would write through it; remove it")


def leftovers(path: Path) -> list[Path]:
    """Return the unfinished files of `write_bytes` beside `path`: of a killed process, or of one that still writes."""
    return [*path.parent.glob(f".{glob.escape(path.name)}.*partial")]


def write_json(path: Path, value: object, *, durable: bool = False) -> None:
    """Write a value to a file as indented JSON; errors as for `write_bytes`.

    Names of files that are not UTF-8 read back unchanged: JSON may escape the surrogates that stand for their bytes.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    write_bytes(path, text.encode("utf-8", "backslashreplace"), durable=durable)


def as_unicode(name: str) -> str:
    """Return the name of a file as text that can be written in UTF-8: other bytes are escaped, such as "\\xff"."""
    return os.fsencode(name).decode(errors="backslashreplace")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; OSError if it cannot be read, ValueError if it holds anything else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError(f"{path}: is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path}: does not contain a JSON object")
    return value


@contextlib.contextmanager
def new_folder(place: Path, *, replace: bool = False, durable: bool = False) -> Iterator[Path]:
    """Yield an empty folder beside `place` that takes its name when the block ends without an exception.

    Args:
        place: the folder to make; missing parents are made too. A link stays a link to the new folder.
        replace: whether to replace an existing folder, which is unchanged if the block fails.
        durable: return only when the files are on the disk, so that a power failure cannot undo it.

    Raises FileExistsError if `place` exists and `replace` is off, BlockingIOError if another process is making it,
    UserError if a link has one of the hidden names, and OSError if the folder cannot be written. First cleans up after
    a killed process; see `recover_folder`.
    """
    place = Path(os.path.realpath(place))
    partial, old = _beside(place)
    partial.mkdir(parents=True, exist_ok=True)
    with naming(place), _claimed(partial, place):
        _empty(partial)
        _restore_old(place)
        try:
            if place.exists() and not replace:
                raise FileExistsError(f"{place} exists")
            yield partial
            _make_readable(partial)
            if durable:
                for path in (*partial.rglob("*"), partial):
                    flush(path)
            if place.exists():
                if not replace:
                    raise FileExistsError(f"{place} exists")
                place.rename(old)
            partial.rename(place)
            if durable:
                flush(place.parent)
        except BaseException:
            recover_folder(place)
            raise
        _restore_old(place)


def recover_folder(place: Path) -> None:
    """Remove what an unfinished `new_folder` left beside `place`, and put the old folder back if there is no new one.

    Must not run while another process makes the same folder. UserError if a link has one of the hidden names.
    """
    shutil.rmtree(_beside(place)[0], ignore_errors=True)
    _restore_old(place)


def recover_folders(parent: Path) -> None:
    """Remove what killed `new_folder`s left in a folder, except what another process may still be making."""
    for partial in parent.glob(".*.partial"):
        # An empty one may be that of a process that does not hold its lock yet.
        if partial.is_dir() and not partial.is_symlink() and any(partial.iterdir()):
            with contextlib.suppress(OSError, UserError), locked(partial, certain=True):
                recover_folder(parent / partial.name.removeprefix(".").removesuffix(".partial"))
    for old in parent.glob(".*.old"):
        with contextlib.suppress(OSError, UserError):
            place = parent / old.name.removeprefix(".").removesuffix(".old")
            if not _beside(place)[0].exists():
                _restore_old(place)


def _restore_old(place: Path) -> None:
    """Put the old folder back if there is no new one, or else remove it."""
    _, old = _beside(place)
    if old.exists() and not place.exists():
        old.rename(place)
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _claimed(partial: Path, place: Path) -> Iterator[None]:
    """Hold the lock of the unfinished folder, or two processes would mix their files in it."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(partial))
        except BlockingIOError as error:
            said = "another process is writing it; wait until it is done"
            raise BlockingIOError(error.errno, said, str(place)) from error
        yield


def _empty(folder: Path) -> None:
    """Remove all that is in a folder; the folder itself stays, with its lock."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _beside(place: Path) -> tuple[Path, Path]:
    """Return the names of the unfinished and of the old folder."""
    return hidden(place, "partial"), hidden(place, "old")


def _make_readable(folder: Path) -> None:
    """Let everyone read the files who may read the folder; safetensors 0.8 makes files that only their owner reads.

    Without effect on a file system that refuses to change permissions.
    """
    readers = folder.stat().st_mode & 0o444
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_mode & readers != readers:
            with contextlib.suppress(OSError):
                path.chmod(path.stat().st_mode | readers)


def flush(path: Path) -> None:
    """Wait until a file's content or a folder's entries are on the disk; without effect on Windows."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path, on_wait: Callable[[], None] | None = None, *, certain: bool = False) -> Iterator[None]:
    """Hold the lock of a file or folder; the operating system releases it when the process ends.

    Args:
        path: an existing folder, or a file, which is made if it is missing and must not be a link.
        on_wait: called once before waiting for another process; None does not wait.
        certain: whether to raise BlockingIOError also where there are no locks.

    Raises BlockingIOError if another process holds the lock and `on_wait` is None. Has no effect on Windows and on file
    systems without locks, unless `certain` is set.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        if certain:
            raise BlockingIOError(errno.EWOULDBLOCK, "there are no locks", str(path)) from None
        yield
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if on_wait is None:
                raise
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:  # some network file systems have no locks
            if certain:
                raise BlockingIOError(errno.EWOULDBLOCK, "there are no locks", str(path)) from error
        yield
    finally:
        os.close(descriptor)


def decode_line(line: bytes, name: Path | str, n: int) -> str:
    """Decode a line of UTF-8.

    Args:
        n: number of the line, from 1; a byte order mark is removed from the first.

    Raises UserError, with file, line and byte, if it is not UTF-8; it names the format of a compressed file or a
    document, whose first line may be text.
    """
    if n == 1 and (kind := next((_MAGIC[start] for start in _MAGIC if line.startswith(start)), None)):
        is_piped = name == "stdin"
        advice = "give a document by its name, as in --input report.docx" if is_piped else "save a document as text"
        raise UserError(f"{name}: a {kind} file, not text; unpack it, or {advice}")
    try:
        return line.decode("utf-8-sig" if n == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]  # unlike `line`, without the byte order mark
        raise UserError(
            f"{name}, line {n}: not UTF-8 text (byte 0x{byte:02x} at {error.start}); save it as UTF-8"
        ) from error


OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or compressed, without line ends; UserError names file and line."""
    n = 0
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            # The readers of compressed files return lines by Python code, this one does not.
            for n, line in enumerate(io.BufferedReader(file), start=1):
                yield decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), path, n)
    except (OSError, *DAMAGED) as error:
        raise UserError(cannot_unpack(path, error, f" after line {n}")) from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; UserError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(cannot_read(path, error)) from error


def strict_json(text: str) -> object:
    """Return the value of JSON; ValueError if it is none or an object has a key twice, RecursionError if it is deep.

    An integer that no double can hold is infinite, as in other readers; Python reads none of over 4300 digits.
    """
    return json.loads(text, object_pairs_hook=_object, parse_int=_integer)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"an object has the key {twice!r} twice")
    return values


def _integer(digits: str) -> int | float:
    value = float(digits)
    return value if math.isinf(value) else int(digits)


def sample_lines(path: Path, n_lines: int | None) -> Iterator[str]:
    """Yield `n_lines` lines of a file, evenly spaced and in their order; all of them for None or if it has no more."""
    if n_lines is None:
        yield from read_lines(path)
        return
    yield from evenly(read_lines(path), sum(1 for _ in read_lines(path)), n_lines)


def evenly(items: Iterable[T], total: int, n: int) -> Iterator[T]:
    """Yield `n` of `total` items, evenly spaced and in their order; all of them if there are no more."""
    n = min(n, total)
    for i, item in enumerate(items):
        if (i + 1) * n // max(1, total) > i * n // max(1, total):
            yield item


def cannot_read(path: Path, error: OSError) -> str:
    """Return the message for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file; correct the path"
    return f"{path}: cannot be read: {reason(error)}"


def cannot_unpack(path: Path, error: Exception, place: str = "") -> str:
    """Return the message for a file that cannot be read, or unpacked from `place` on; `error` is OSError or DAMAGED."""
    if isinstance(error, OSError) and (error.errno or path.suffix.lower() not in OPENERS):
        return cannot_read(path, error)
    return (  # also of bz2, which raises OSError for what is no bz2 file
        f"{path}: the compressed file is damaged or cut off{place}: {error}; copy it again, or rename it if it is not "
        "compressed"
    )
