"""`translate text`: sentences in, translations out, line by line."""

import contextlib
import dataclasses
import itertools
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from translate import installed
from translate.commands.messages import say
from translate.corpus.sources import decode_line
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translator import Translation, Translator

_CHUNK = 2**16  # bytes read at a time, about a thousand sentences
_WINDOWS_TO_RELEASE = 100  # often enough to keep the heap compact, seldom enough to cost nothing


def text(
    sentences: Sequence[str],
    *,
    model: Path | None,
    beam_size: int | None,
    alpha: float | None,
    as_json: bool,
    source: Path | None,
    output: Path | None,
    force: bool,
    threads: int | None,
) -> None:
    """Translate sentences, a file, stdin, or what is typed at a prompt; line n in is line n out.

    Args:
        sentences: to translate; if there are none, `source` or stdin is read.
        model: run directory or model folder; None looks for one.
        beam_size, alpha: of the search; None takes the model's own.
        as_json: write one JSON object a line instead of text.
        source, output: files to read and write instead of stdin and stdout.
        force: overwrite an existing output file.
        threads: CPU threads; None leaves them to torch.

    Raises UserError for what the user can mend.
    """
    _check_files(sentences, source, output, force)
    folder = installed.choose(model, say)
    windows = _windows(sentences, source)
    translator = open_translator(folder, beam_size=beam_size, alpha=alpha, threads=threads)
    with _writable(output) as out:
        _translate(translator, windows, out, as_json)


def open_translator(folder: Path, *, beam_size: int | None, alpha: float | None, threads: int | None) -> "Translator":
    """Load a model folder and set up this machine for it."""
    import torch

    from translate.training.machine import tune_malloc
    from translate.translator import Translator

    if threads is not None:
        torch.set_num_threads(threads)
    tune_malloc()
    return Translator.load(folder, beam_size=beam_size, alpha=alpha)


def _translate(translator: "Translator", windows: Iterator[list[str]], out: TextIO, as_json: bool) -> None:
    """Write the translation of every line; each window is out before the next one is read."""
    from translate.training.machine import release_memory

    numbers = itertools.count(1)
    for n_windows, window in enumerate(windows, start=1):
        for line, translation, n in zip(window, translator.stream(window), numbers, strict=False):
            if translation.split:
                say(f"warning: line {n} is longer than the model's {translator.limit} tokens; translated in parts")
            out.write((_record(line, translation) if as_json else translation.text) + "\n")
        out.flush()
        if n_windows % _WINDOWS_TO_RELEASE == 0:
            release_memory()


def _record(line: str, translation: "Translation") -> str:
    """One JSON object; it holds no line break."""
    return json.dumps({"source": line, **dataclasses.asdict(translation)}, ensure_ascii=False)


def _check_files(sentences: Sequence[str], source: Path | None, output: Path | None, force: bool) -> None:
    """UserError for a choice of files that could lose something."""
    if sentences and source:
        raise UserError("sentences and --input exclude each other; leave one out")
    if output is None:
        return
    if source and output.exists() and source.exists() and os.path.samefile(source, output):
        raise UserError(f"{output}: is the input too; name another file with --output")
    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file with --output")
    if output.is_file() and not force:
        raise UserError(f"{output}: exists already; name another file, or add --force to overwrite it")


def _windows(sentences: Sequence[str], source: Path | None) -> Iterator[list[str]]:
    """The lines to translate, in the portions in which they are at hand."""
    if sentences:
        return iter([[line for sentence in sentences for line in sentence.split("\n")]])
    if source:
        return _arriving(_opened(source), str(source))
    if sys.stdin is None:
        raise UserError("stdin is closed; give a sentence, or a file with --input")
    if sys.stdin.isatty():
        return _typed()
    return _arriving(sys.stdin.buffer, "stdin")  # type: ignore[arg-type]


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; name another file with --input") from error


def _arriving(file: BufferedReader, name: str) -> Iterator[list[str]]:
    """The lines of a file or pipe, each time all that has arrived: who waits for an answer gets it.

    Only "\\n" ends a line. A "\\r" before it is white space of the line, which translation keeps.
    """
    n = 0
    begun: list[bytes] = []  # the parts of a line whose end has not arrived; joined once, however long it grows
    while data := file.read1(_CHUNK):
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*begun, lines[0]])
            begun = []
            yield [decode_line(line, name, n) for n, line in enumerate(lines, start=n + 1)]
            n += len(lines)
        if rest:
            begun.append(rest)
    if begun:
        yield [decode_line(b"".join(begun), name, n + 1)]


def _typed() -> Iterator[list[str]]:
    """Lines typed at a prompt, until its end."""
    with contextlib.suppress(ImportError):  # Windows has none
        import readline  # noqa: F401 -- gives `input` line editing and a history
    say("type a sentence and press Enter; Ctrl-D ends")
    # Without a terminal for output the prompt would become part of it.
    prompt = "> " if sys.stdout.isatty() else ""
    while True:
        try:
            yield [input(prompt)]
        except UnicodeDecodeError as error:
            raise UserError(f"what was typed is no {error.encoding} text; set the terminal to UTF-8") from error
        except EOFError:
            if prompt:
                print(file=sys.stderr)  # the shell's own prompt begins a line
            return


def _writable(output: Path | None) -> AbstractContextManager[TextIO]:
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
        raise UserError(f"{output}: cannot be written: {error.strerror}; name another file with --output") from error


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
