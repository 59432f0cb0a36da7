"""Around the loop that `text` and `decode` share: reading text, choosing a model for it, output, and warnings.

The loop itself is `write` in `text.py`.

Text comes from the command line, files, pipes or a prompt.

A growing file (`--resume`) can be continued after any interruption. Beside NAME stands .NAME.resume, which records the
number of complete windows, their size in bytes, and the source and settings that produced them. It is written after
each window, once the window's text is on the disk. To continue, the source is read again up to there without
translating it, so that no format has to save a state, and the next window replaces what follows the recorded size;
other text there is moved to another file. The record stays when NAME is complete, so that the same command can tell a
finished translation from another file. NAME is locked while a process writes it.
"""

import contextlib
import hashlib
import itertools
import os
import stat
import sys
from codecs import BOM_UTF8
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from io import BufferedReader, BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

from translate.errors import UserError, say
from translate.files import (
    decode_line,
    give_mode,
    hidden,
    locked,
    naming,
    open_hidden,
    read_bytes,
    read_json,
    sha256,
    write_bytes,
    write_json,
)
from translate.models import registry
from translate.models.folder import TranslationSpec
from translate.options import FILES, MODEL, JsonLines, argument, file_option, flag, model_path, nested, option
from translate.text import formats, languages
from translate.text.translation import Document, Opening, Search

if TYPE_CHECKING:
    from translate.text.translation import Translation

HISTORY_LENGTH = 1000  # lines

_CHUNK = 2**16  # bytes read at a time, about a thousand sentences
_LINES_NAMED = 3  # line numbers listed per warning
_BEGINNING = 2**20  # bytes of a file that are read to guess its language; the head of a web page may be long

WARNINGS = {
    "split": "longer than the model reads well at once, so translated in parts",
    "language": "not in the source language, so left unchanged",
    "echo": "mostly copied by the model, as it does with text that is not in its source language",
    "length": "the translation did not end and was cut off",
    "missing": "a number, a name or a sign of the source is missing or wrong",
    "term": "a target term of the glossary is missing",
    "tags": "formatting would be lost, so the text was left unchanged",
    "symbol": "the model wrote a symbol that stands for a placeholder",
    "empty": "the model gave no translation, so another was searched",
    "repetition": "the model repeated itself, so the translation may be wrong",
    "confidence": "the translation has a low probability and may be wrong",
}


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How a document is written."""

    bilingual: Annotated[Path | None, option(FILES, "FILE", "Write both texts side by side, as .xlf or .tsv.")] = None
    apply: Annotated[Path | None, option(FILES, "FILE", "Use the translations of such a file, edited.")] = None
    final: Annotated[bool, flag(FILES, "--final", "Do not mark translations as a machine's.")] = False
    replace_all: Annotated[bool, flag(FILES, "--all", "Replace translations that the file has.")] = False


@dataclass(frozen=True, kw_only=True)
class Translating:
    """The options that both commands have: the text, where its translation goes, the model, and how it translates."""

    sentences: Annotated[list[str] | None, argument("SENTENCE", "Text to translate [default: standard input].")] = None
    from_language: Annotated[
        str | None, option(MODEL, "LANGUAGE", "Language of the text; auto guesses it.", "--from")
    ] = None
    to_language: Annotated[str | None, option(MODEL, "LANGUAGE", "Language to translate into.", "--to")] = None
    input: Annotated[Path | None, file_option("--input", "Read this file.")] = None
    output: Annotated[Path | None, file_option("--output", "Write this file.")] = None
    force: Annotated[bool, flag(FILES, "--force", "Overwrite the output file.")] = False
    resume: Annotated[bool, flag(FILES, "--resume", "Write in place; continue after an interruption.")] = False
    as_json: JsonLines = False
    opening: Annotated[Opening, nested("model", "engine", "precision", "threads")] = Opening()
    search: Annotated[Search, nested("beam_size")] = Search()
    document: Annotated[Document, nested("format", "column", "checks", "terms")] = Document()


def check_page(page: Path, *, force: bool) -> None:
    """Raise UserError unless a page or a picture can be written to this file; an existing one needs `force`."""
    if page.is_dir():
        raise UserError(f"{page}: is a folder; name a file")
    if page.exists() and not force:
        raise UserError(f"{page}: exists already; name another file, or add --force to overwrite it")
    if not page.parent.is_dir():
        raise UserError(f"{page}: its folder does not exist; make {page.parent} first")
    if not os.access(page.parent, os.W_OK):  # now, and not after the work
        raise UserError(f"{page}: you may not write into its folder; name a file in another one")


def check_paths(options: Translating) -> None:
    """Raise UserError if the files contradict each other or the sentences, or would overwrite something.

    Warns of a sentence that is the name of a file.
    """
    source, output, resume = options.input, options.output, options.resume
    if options.sentences and source:
        raise UserError("sentences and --input exclude each other; leave one out")
    for sentence in filter(os.path.isfile, options.sentences or ()):
        say(f"warning: {sentence}: is translated as text; to translate the file of this name, write --input {sentence}")
    if resume and (source is None or output is None):
        raise UserError("--resume works from a file to a file; name both with --input and --output")
    if output is None:
        return
    if source and output.exists() and source.exists() and os.path.samefile(source, output):
        raise UserError(f"{output}: is the input too; name another file with --output")
    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file with --output")
    if resume and any(path.exists() and not path.is_file() for path in (source, output) if path):
        raise UserError("--resume needs regular files; leave it out for pipes and devices")
    if output.is_file() and not options.force and not resume:
        raise existing(output)


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

    def is_ready(self) -> bool:
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
        is_shown = sys.stdout is not None and sys.stdout.isatty()
        keep = _history()
        while True:
            try:
                text = input(f"{self.name}> " if is_shown else "")
                keep()
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

    def is_ready(self) -> bool:
        """True if more pasted lines are waiting."""
        return bool(self._waiting)


Lines = ArrivingLines | TypedLines  # each ends with "\n"; only the last one may lack it


def open_lines(options: Translating) -> Lines:
    """Return the lines of the sentences, of the input file, or else of stdin; UserError if they cannot be read."""
    if options.sentences:
        return given_lines(options.sentences)
    if options.input:
        return ArrivingLines(open_file(options.input), str(options.input))
    if sys.stdin is None:
        raise UserError("stdin is closed; give a sentence, or a file with --input")
    return TypedLines() if sys.stdin.isatty() else ArrivingLines(_stdin(), "stdin")


def check_format(options: Translating) -> None:
    """Raise UserError if the name of the output is that of another format, as a translation keeps that of its input."""
    source, output = options.input, options.output
    if source and output and not options.as_json and options.document.format is None:
        from translate.documents.document import check_suffix

        check_suffix(str(source), str(output))


def is_document(options: Translating) -> bool:
    """Return whether the input is a document; UserError for a structured file of another kind."""
    if options.input is None or options.document.format is not None:
        return False
    from translate.documents.document import has_format

    return has_format(str(options.input))


def document_texts(options: Translating) -> list[str]:
    """Return the texts of a document, from which its language is guessed; none for another file."""
    if not is_document(options):
        return []
    from translate.documents import document

    assert options.input is not None
    name = str(options.input)
    reading = document.Reading(name=name, source="", target=options.to_language or "", replace=True, force=True)
    return [unit.text for unit in document.read(read_bytes(options.input), reading).units]


def _stdin() -> BufferedReader:
    """Return the bytes of stdin, which blocks: otherwise a pause of the sender would look like the end."""
    assert sys.stdin is not None
    if os.name == "posix":
        with contextlib.suppress(OSError):  # it has no descriptor
            os.set_blocking(sys.stdin.fileno(), True)
    return sys.stdin.buffer  # type: ignore[return-value]


def given_lines(texts: Iterable[str]) -> ArrivingLines:
    """Return texts of the command line or of the prompt as lines."""
    text = "".join(f"{text}\n" for text in texts)
    return ArrivingLines(BytesIO(text.encode("utf-8")), "the text")


def ended(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with "\\n" added to the last one if it lacks it."""
    return (line if line.endswith("\n") else f"{line}\n" for line in lines)


def open_file(path: Path) -> BufferedReader:
    """Open a file of bytes; UserError if it cannot be read."""
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


def _history() -> Callable[[], None]:
    """Edit the lines of `input`, with a history; return a function that keeps a new line for the next session.

    It is kept at once, since a closed terminal ends the process, and added to those of other sessions.
    """
    try:
        import readline

        readline.parse_and_bind("set enable-bracketed-paste on")  # several pasted lines are one entry
        path = history_file()
    except (ImportError, RuntimeError):  # Windows has no readline, and some users have no home folder
        return lambda: None
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        readline.read_history_file(path)
    readline.set_history_length(HISTORY_LENGTH)
    n_kept = readline.get_current_history_length()

    def keep() -> None:
        nonlocal n_kept
        n_new = readline.get_current_history_length() - n_kept  # 0 for a line that repeats the last one
        n_kept += n_new
        with contextlib.suppress(OSError):
            path.touch(mode=0o600)  # private to the user
            if hasattr(readline, "append_history_file"):
                readline.append_history_file(n_new, path)
            else:  # libedit
                readline.write_history_file(path)

    return keep


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
                raise UserError(
                    f"{self.place}: was begun with another {key}: {progress.settings.get(key)}, not {value}; use the "
                    "same, or start again with --force"
                )
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

    @contextlib.contextmanager
    def opened(self) -> Iterator["GrowingFile"]:
        """Yield this output after its complete windows; record that it is complete when the block ends.

        Other processes are kept from writing the file until then. What follows its complete windows, and is not the
        beginning of the next one, is kept in another file. UserError if it cannot be continued.
        """
        existed = self.place.exists()
        with naming(self.place), _held(self.place, self.place) as self._file:
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


@contextlib.contextmanager
def _held(file: Path, output: Path) -> Iterator[TextIO]:
    """Open a file for reading and writing, and hold its lock; UserError, about `output`, if that is impossible now.

    The file is `output` itself, or one with a hidden name, which is private to the user.
    """
    with contextlib.ExitStack() as held:
        while True:
            with _explained(output):
                descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666) if file == output else open_hidden(file)
            opened = held.enter_context(open(descriptor, "r+", encoding="utf-8", newline="\n"))
            _lock(held, Path(os.path.realpath(file)) if file == output else file, output)
            if file == output or _is_at(descriptor, file):
                break
            held.close()  # another process has just completed the file, which has its final name now
        yield opened


def _is_at(descriptor: int, file: Path) -> bool:
    """Return whether an open file has a name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(file))
    except FileNotFoundError:
        return False


def _lock(held: contextlib.ExitStack, file: Path, output: Path) -> None:
    """Lock a file until `held` ends; UserError, about `output`, if another process holds the lock."""
    with _explained(output):
        held.enter_context(locked(file))


@contextlib.contextmanager
def _explained(output: Path) -> Iterator[None]:
    """Raise UserError if the output, or its unfinished file, cannot be opened or locked in this block."""
    try:
        yield
    except BlockingIOError as error:
        raise UserError(
            f"{output}: another process is writing it; wait for it, or name another file with --output"
        ) from error
    except OSError as error:
        raise _unwritable(output, error) from error


def writable(output: Path | None, *, force: bool = False) -> AbstractContextManager[TextIO]:
    """Open the output file, or stdout, in UTF-8 with "\\n" as line end on every system.

    A file is written under a temporary name and renamed when it is complete, so that a failure keeps an earlier file.
    Without `force` no file is replaced, not even one that appears meanwhile.
    """
    if output is None:
        if sys.stdout is None:
            raise UserError("stdout is closed; name a file with --output")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        return nullcontext(sys.stdout)
    try:
        if output.exists() and not output.is_file():  # a pipe, which may have no other name, or a device
            return _device(output, output.open("w", encoding="utf-8", newline="\n"))
        place = Path(os.path.realpath(output))  # a symbolic link stays one
        with contextlib.suppress(FileNotFoundError):
            # Fails for a read-only file and for links in a circle, which renaming would replace.
            place.open("r+b").close()
    except OSError as error:
        raise _unwritable(output, error) from error
    return _moved_when_complete(place, output, force=force)


@contextlib.contextmanager
def _device(output: Path, file: TextIO) -> Iterator[TextIO]:
    with naming(output), file:
        yield file


def _unwritable(output: Path, error: OSError) -> UserError:
    return UserError(f"{output}: cannot be written: {error.strerror}; name another file with --output")


def existing(output: Path) -> UserError:
    """Return the error for a file that would be overwritten."""
    return UserError(f"{output}: exists already; name another file, or add --force to overwrite it")


@contextlib.contextmanager
def _moved_when_complete(place: Path, output: Path, *, force: bool) -> Iterator[TextIO]:
    """Yield a file beside `place` that takes its name at the end; after a failure a partial one is kept and named."""
    partial = hidden(place, "partial")
    with contextlib.ExitStack() as held:
        if existed := place.exists():  # another process may write it in place, with --resume
            _lock(held, place, output)
        file = held.enter_context(_held(partial, output))
        try:
            with naming(output), file:
                file.truncate()  # what an earlier failure left
                yield file
                file.flush()
                if place.exists():
                    if not force:
                        raise existing(output)
                    if not existed:
                        _lock(held, place, output)
                give_mode(file.fileno(), place)
            partial.replace(place)
            place.with_name(f".{place.name}.resume").unlink(missing_ok=True)  # of a file that was here before
        except BaseException:
            with contextlib.suppress(OSError):  # it may be gone; the failure itself is what the user must see
                if partial.stat().st_size:
                    say(f"{partial} holds the translation up to the failure")
                else:
                    partial.unlink()
            raise


class Notes:
    """Flagged lines, collected and reported as one warning per flag.

    Args:
        noun: what is counted.
    """

    def __init__(self, flags: Collection[str] = tuple(WARNINGS), noun: str = "line") -> None:
        self._flags, self._noun = frozenset(flags), noun
        self._counts: Counter[str] = Counter()
        self._first: defaultdict[str, list[int | str]] = defaultdict(list)  # few, as a file may have many lines

    def add(self, translation: "Translation", n: int | str) -> None:
        """Record the flags of line `n`, counted from 1."""
        for kind in self._flags.intersection(translation.flags):
            self._counts[kind] += 1
            if self._counts[kind] <= _LINES_NAMED:
                self._first[kind].append(n)

    def tell(self) -> None:
        """Report the lines recorded since the last call."""
        for kind, n_lines in self._counts.items():
            more = f" and {n_lines - _LINES_NAMED:,} more" if n_lines > _LINES_NAMED else ""
            named = ", ".join(map(str, self._first[kind])) + more
            say(f"warning: {self._noun}{'s' if n_lines > 1 else ''} {named}: {WARNINGS[kind]}")
        self._counts.clear()
        self._first.clear()


def digests(folder: Path) -> list[str]:
    """Return the SHA-256 of the files of a model that its translations depend on."""
    files = [folder / name for name in ("model.safetensors", "model.bin", "tokenizer.model")]
    return [sha256(file) for file in files if file.is_file()]


def find_model(options: Translating, *, exported: bool = False) -> Path:
    """Return the model folder for a translation; UserError if there is none.

    The text is read only to guess its language, of which the parts that are translated count.

    Args:
        exported: whether a CTranslate2 folder is accepted.
    """
    source = _guess(options, exported) if options.from_language == "auto" else options.from_language
    return registry.find_model(_named(options), say, source=source, target=options.to_language, exported=exported)


def _named(options: Translating) -> Path | None:
    return None if options.opening.model is None else model_path(options.opening.model)


def _guess(options: Translating, exported: bool) -> str | None:
    """Return the source language of a model that the text seems to be in; None if no model has the target language."""
    folders = registry.fitting([folder for _, folder in registry.installed()], None, options.to_language, say)
    specs = [TranslationSpec.load(folder) for folder in folders]
    if chosen := registry.chosen_model(_named(options), lambda _: None, exported=exported):
        specs.append(TranslationSpec.load(chosen))
    known = sorted({spec.source for spec in specs if spec.speaks(None, options.to_language)})
    if not known:
        return None
    sample = _sample(options)
    if not any(text.strip() for text in sample):  # nothing to translate, so any model will do
        return None
    prose = list(formats.prose(sample, options.document.format, options.document.column))
    guessed = languages.language_of(prose, known)
    if guessed is None:
        ranked = languages.ranking(prose, known)
        best = f" ({ranked[0][0]} with {ranked[0][1]:.0%})" if ranked else ""
        raise UserError(f"--from auto: the language of the text is unknown{best}; name one of {', '.join(known)}")
    say(f"guessed the source language: {guessed}")
    return guessed


def _sample(options: Translating) -> list[str]:
    """The beginning of the text to translate; peeks at stdin without consuming it."""
    if options.sentences:
        return options.sentences
    if options.input is not None:
        if not options.input.is_file():
            raise UserError(f"--from auto: {options.input} can be read only once; name the language")
        if texts := document_texts(options):
            return texts
        with options.input.open("rb") as file:
            return [file.read(_BEGINNING).decode("utf-8", errors="replace")]
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError("--from auto: there is no text yet to guess from; name the language")
    return [_stdin().peek().decode("utf-8", errors="replace")]
