"""What `text` and `decode` share around their loop: the options, the lines that they read, their output, warnings.

The loop itself is `write` in `text.py`. Lines that are typed come from `prompt.py`; `resuming.py` continues an output.
"""

import contextlib
import os
import re
import stat
import sys
from codecs import BOM_UTF8
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from io import BufferedReader, BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, TypeAlias

from translate.errors import UserError, say
from translate.files import (
    OPENERS,
    decode_line,
    give_mode,
    hidden,
    locked,
    naming,
    open_hidden,
)
from translate.options import (
    FILES,
    MODEL,
    JsonLines,
    argument,
    file_option,
    flag,
    language_option,
    nested,
    option,
)
from translate.text.translation import Document, Opening, Search

if TYPE_CHECKING:
    from translate.commands.prompt import TypedLines
    from translate.text.translation import Translation

_SPACE = re.compile(r"\s")
_NAME_OF_A_FILE = re.compile(r"\S{1,250}\.[A-Za-z]{2,12}")
_CHUNK = 2**16  # bytes read at a time, about a thousand sentences


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How a document is written."""

    bilingual: Annotated[Path | None, option(FILES, "FILE", "Write both texts side by side, as .xlf or .tsv.")] = None
    apply: Annotated[Path | None, option(FILES, "FILE", "Use the edited translations in a file of --bilingual.")] = None
    final: Annotated[bool, flag(FILES, "--final", "Do not mark translations as machine translations.")] = False
    replace_all: Annotated[bool, flag(FILES, "--all", "Also replace translations that the file has.")] = False
    update: Annotated[bool, flag(FILES, "--update", "Keep the texts that the output file has; add new ones.")] = False


@dataclass(frozen=True, kw_only=True)
class TranslationOptions:
    """The options that both commands have: the text, where its translation goes, the model, and how it translates."""

    sentences: Annotated[list[str] | None, argument("SENTENCE", "Text to translate [default: standard input].")] = None
    from_language: Annotated[str | None, language_option(MODEL, "Language of the text; auto guesses it.", "--from")] = (
        None
    )
    to_language: Annotated[str | None, language_option(MODEL, "Language to translate into.", "--to")] = None
    input: Annotated[Path | None, file_option("--input", "Read this file.")] = None
    output: Annotated[Path | None, file_option("--output", "Write this file.")] = None
    force: Annotated[bool, flag(FILES, "--force", "Overwrite the output file.")] = False
    resume: Annotated[bool, flag(FILES, "--resume", "Write in place; continue after an interruption.")] = False
    as_json: JsonLines = False
    opening: Annotated[Opening, nested("model", "engine", "precision", "threads")] = Opening()
    search: Annotated[Search, nested("beam_size")] = Search()
    document: Annotated[Document, nested("format", "column", "checks", "terms")] = Document()


def check_paths(options: TranslationOptions) -> None:
    """Raise UserError if the files contradict each other or the sentences, or would overwrite something.

    Warns of a sentence that is or looks like the name of a file, and of single words, which may be a sentence without
    quotation marks.
    """
    source, output, resume = options.input, options.output, options.resume
    if options.sentences and source:
        raise UserError("sentences and --input exclude each other; leave one out")
    for sentence in options.sentences or ():
        if os.path.isfile(sentence):
            remedy = f"to translate the file of this name, write --input {sentence}"
            say(f"warning: {sentence}: is translated as text; {remedy}")
        elif _looks_like_a_file(sentence):
            say(f"warning: {sentence}: is translated as text, as there is no file of this name")
    if (n_words := len(options.sentences or ())) > 1 and not any(map(_SPACE.search, options.sentences or ())):
        say(f"warning: {n_words} words are translated one by one; put a sentence in quotation marks")
    if resume and (source is None or output is None):
        raise UserError("--resume works from a file to a file; name both with --input and --output")
    if output is None:
        return
    if source and output.exists() and source.exists() and os.path.samefile(source, output):
        raise UserError(f"{output}: is the input too; name another file with --output")
    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file with --output")
    if output.suffix.lower() in OPENERS:  # whatever reads it would call it damaged
        raise UserError(f"{output}: translations are not compressed; name a file that does not end in {output.suffix}")
    if resume and any(path.exists() and not path.is_file() for path in (source, output) if path):
        raise UserError("--resume needs regular files; leave it out for pipes and devices")
    if output.is_file() and not options.force and not resume:
        raise exists_already(output)


def _looks_like_a_file(sentence: str) -> bool:
    """Return whether a sentence is a word that ends as the name of a document or of a text does."""
    if _NAME_OF_A_FILE.fullmatch(sentence) is None:
        return False
    from translate.documents.document import MODULES, suffix_of
    from translate.text.formats import SUFFIXES

    return suffix_of(sentence) in (*MODULES, *SUFFIXES)


def check_output_format(options: TranslationOptions) -> None:
    """Raise UserError if the name of the output is that of another format, as a translation keeps that of its input."""
    source, output = options.input, options.output
    if source and output and not options.as_json and options.document.format is None:
        from translate.documents.document import check_suffix

        check_suffix(str(source), str(output))


def is_document(options: TranslationOptions) -> bool:
    """Return whether the input is a document; UserError for a structured file of another kind."""
    if options.input is None or options.document.format is not None:
        return False
    from translate.documents.document import has_format

    return has_format(str(options.input))


# Reading

Lines: TypeAlias = "ArrivingLines | TypedLines"  # each line ends with "\n"; only the last one may lack it


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


def _size(file: BufferedReader | BytesIO) -> int | None:
    """Return the bytes of a regular file, else None."""
    try:
        found = os.fstat(file.fileno())
    except OSError:  # an object without a file descriptor
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def open_lines(options: TranslationOptions) -> Lines:
    """Return the lines of the sentences, of the input file, or else of stdin; UserError if they cannot be read."""
    if options.sentences:
        return given_lines(options.sentences)
    if options.input:
        return ArrivingLines(open_file(options.input), str(options.input))
    if sys.stdin is None:
        raise UserError("stdin is closed; give a sentence, or a file with --input")
    if not sys.stdin.isatty():
        return ArrivingLines(binary_stdin(), "stdin")
    from translate.commands.prompt import TypedLines  # which most translations need not wait for

    return TypedLines()


def given_lines(texts: Iterable[str]) -> ArrivingLines:
    """Return texts of the command line or of the prompt as lines."""
    text = "".join(f"{text}\n" for text in texts)
    return ArrivingLines(BytesIO(text.encode("utf-8")), "the text")


def open_file(path: Path) -> BufferedReader:
    """Open a file of bytes; UserError if it cannot be read."""
    try:
        return path.open("rb")
    except IsADirectoryError as error:
        raise UserError(f"{path}: is a folder; name its files, each in a command of its own, with --input") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; name another file with --input") from error


def binary_stdin() -> BufferedReader:
    """Return the bytes of stdin, which blocks: otherwise a pause of the sender would look like the end."""
    assert sys.stdin is not None
    if os.name == "posix":
        with contextlib.suppress(OSError):  # it has no descriptor
            os.set_blocking(sys.stdin.fileno(), True)
    return sys.stdin.buffer  # type: ignore[return-value]


def ended(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with "\\n" added to the last one if it lacks it."""
    return (line if line.endswith("\n") else f"{line}\n" for line in lines)


# Writing


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
def _moved_when_complete(place: Path, output: Path, *, force: bool) -> Iterator[TextIO]:
    """Yield a file beside `place` that takes its name at the end; after a failure a partial one is kept and named."""
    partial = hidden(place, "partial")
    with contextlib.ExitStack() as held:
        if existed := place.exists():  # another process may write it in place, with --resume
            _lock(held, place, output)
        file = held.enter_context(open_locked(partial, output))
        try:
            with naming(output), file:
                file.truncate()  # what an earlier failure left
                yield file
                file.flush()
                if place.exists():
                    if not force:
                        raise exists_already(output)
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


@contextlib.contextmanager
def _device(output: Path, file: TextIO) -> Iterator[TextIO]:
    with naming(output), file:
        yield file


@contextlib.contextmanager
def open_locked(file: Path, output: Path) -> Iterator[TextIO]:
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


def exists_already(output: Path) -> UserError:
    """Return the error for a file that would be overwritten."""
    return UserError(f"{output}: exists already; name another file, or add --force to overwrite it")


def _unwritable(output: Path, error: OSError) -> UserError:
    return UserError(f"{output}: cannot be written: {error.strerror}; name another file with --output")


def check_page(page: Path, *, force: bool) -> None:
    """Raise UserError unless a page or a picture can be written to this file; an existing one needs `force`."""
    if page.is_dir():
        raise UserError(f"{page}: is a folder; name a file")
    if page.exists() and not force:
        raise exists_already(page)
    if not page.parent.is_dir():
        raise UserError(f"{page}: its folder does not exist; make {page.parent} first")
    if not os.access(page.parent, os.W_OK):  # now, and not after the work
        raise UserError(f"{page}: you may not write into its folder; name a file in another one")


# Warnings

_LINES_NAMED = 3  # line numbers listed per warning

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
        for kind in filter(self._flags.__contains__, translation.flags):  # in their order, unlike those of a set
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
