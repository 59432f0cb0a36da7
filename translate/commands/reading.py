"""Input of translations: sentences of the command line, a file, a pipe, or lines typed at a prompt."""

import contextlib
import os
import stat
import sys
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Iterable, Iterator
from io import BufferedReader, BytesIO
from pathlib import Path

from translate.commands.messages import say
from translate.corpus.lines import decode_line
from translate.errors import UserError
from translate.options.translating import Translating

HISTORY_LENGTH = 1000  # lines

_CHUNK = 2**16  # bytes read at a time, about a thousand sentences


class ArrivingLines:
    """Decoded lines of a file or pipe; UserError names the first line that is not UTF-8.

    Only "\\n" ends a line. A "\\r" before it is white space of the line, which translation keeps.

    Attributes:
        mark: the byte order mark if the text begins with one, which is not part of the first line; else "".
        n_bytes: number of bytes read so far.
        size: number of bytes of a regular file, else None.
    """

    def __init__(self, file: BufferedReader | BytesIO, name: str) -> None:
        self.mark, self.n_bytes, self.size = "", 0, _size(file)
        self._file, self._name = file, name
        self._waiting: deque[bytes] = deque()

    def __iter__(self) -> Iterator[str]:
        n = 0
        for n, line in enumerate(self._raw(), start=1):
            if n == 1 and line.startswith(BOM_UTF8):
                self.mark = "\ufeff"
            ended = line.endswith(b"\n")
            yield decode_line(line[:-1] if ended else line, self._name, n) + ("\n" if ended else "")

    def _raw(self) -> Iterator[bytes]:
        begun: list[bytes] = []  # chunks of an unfinished line; joined only once, as a line may be very long
        while data := self._file.read1(_CHUNK):
            self.n_bytes += len(data)
            *lines, rest = data.split(b"\n")
            if lines:
                lines[0] = b"".join([*begun, lines[0]])
                begun = []
                self._waiting.extend(lines)
            if rest:
                begun.append(rest)
            while self._waiting:
                yield self._waiting.popleft() + b"\n"
        if begun:
            yield b"".join(begun)

    def at_hand(self) -> bool:
        """True if a whole line is waiting, or the input is a regular file."""
        return self.size is not None or bool(self._waiting)


class TypedLines:
    """Lines typed or pasted at a prompt, until Ctrl-D; Ctrl-C discards what is typed, and ends if repeated.

    Attributes:
        mark: "", as typed text has no byte order mark.
        name: shown before the prompt's angle bracket.
    """

    mark = ""

    def __init__(self) -> None:
        self.name = ""
        self._waiting: deque[str] = deque()

    def __iter__(self) -> Iterator[str]:
        say("type a sentence and press Enter; Ctrl-D ends")
        for entry in self.entries():
            self._waiting.extend(entry)
            while self._waiting:
                yield self._waiting.popleft() + "\n"

    def entries(self) -> Iterator[list[str]]:
        """Yield the lines of each entry: one that was typed, or all that were pasted together."""
        is_interrupted = False
        # If stdout is not a terminal, the prompt would become part of the output.
        is_shown = sys.stdout.isatty()
        with _history():
            while True:
                try:
                    text = input(f"{self.name}> " if is_shown else "")
                    text.encode("utf-8")  # some locales turn undecodable bytes into surrogates
                except KeyboardInterrupt:
                    if is_interrupted:
                        raise
                    is_interrupted = True
                    print(file=sys.stderr)
                    say("Ctrl-D ends, as does Ctrl-C once more")
                    continue
                except (UnicodeDecodeError, UnicodeEncodeError) as error:
                    say(f"the typed text is not {error.encoding}; set the terminal to UTF-8")
                    continue
                except EOFError:
                    if is_shown:
                        print(file=sys.stderr)  # so that the shell's prompt begins a new line
                    return
                is_interrupted = False
                yield text.split("\n")

    def at_hand(self) -> bool:
        """True if more pasted lines are waiting."""
        return bool(self._waiting)


Lines = ArrivingLines | TypedLines  # each ends with "\n"; only the last one may lack it


def open_lines(options: Translating) -> Lines:
    """Return the lines of the sentences, of the input file, or else of stdin; UserError if they cannot be read."""
    if options.sentences:
        return given_lines(options.sentences)
    if options.input:
        return ArrivingLines(_opened(options.input), str(options.input))
    if sys.stdin is None:
        raise UserError("stdin is closed; give a sentence, or a file with --input")
    return TypedLines() if sys.stdin.isatty() else ArrivingLines(sys.stdin.buffer, "stdin")  # type: ignore[arg-type]


def given_lines(texts: Iterable[str]) -> ArrivingLines:
    """Return texts of the command line or of the prompt as lines."""
    text = "".join(f"{text}\n" for text in texts)
    # Undecodable bytes are surrogates here; encoded, they are refused like those of a file.
    return ArrivingLines(BytesIO(text.encode("utf-8", sys.getfilesystemencodeerrors())), "the text")


def ended(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with "\\n" added to the last one if it lacks it."""
    return (line if line.endswith("\n") else f"{line}\n" for line in lines)


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; name another file with --input") from error


def _size(file: BufferedReader | BytesIO) -> int | None:
    """Return the bytes of a regular file, else None."""
    try:
        found = os.fstat(file.fileno())
    except OSError:  # an object without a file descriptor
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def history_file() -> Path:
    """Return the path of the prompt's history, which follows the XDG base directory specification.

    RuntimeError if there is no home folder.
    """
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "translate" / "history"


@contextlib.contextmanager
def _history() -> Iterator[None]:
    """Line editing for `input`, with a history that is kept between sessions if it can be written."""
    try:
        import readline

        readline.parse_and_bind("set enable-bracketed-paste on")  # several pasted lines are one entry
        path = history_file()
    except (ImportError, RuntimeError):  # Windows has no readline, and some users have no home folder
        yield
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        readline.read_history_file(path)
    readline.set_history_length(HISTORY_LENGTH)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(path)
            path.chmod(0o600)  # private to the user
