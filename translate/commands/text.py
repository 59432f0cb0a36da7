"""`translate text`: translate text and keep its layout."""

import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from transformer.config import CheckpointError
from translate.commands.lines import (
    ArrivingLines,
    GrowingFile,
    Lines,
    Notes,
    Output,
    Translating,
    TypedLines,
    check_paths,
    ended,
    find_model,
    given_lines,
    is_first_session,
    open_lines,
    writable,
)
from translate.errors import UserError, say
from translate.files import json_sha256, sha256
from translate.machine import release_memory, set_up_torch, tune_malloc
from translate.models import registry
from translate.options import FILES, OUTPUT, SEARCH, Engine, Precision, Rerank, flag, option
from translate.text import formats
from translate.text.sentences import Piece
from translate.text.translation import Format, TranslationOptions

if TYPE_CHECKING:
    from translate.inference.translator import Translator

LINE_FORMATS = ("text", "lines")  # line n of the output is the translation of line n

# Pieces translated together; a line is two, its text and its end. Outside of an output file there are few at first, so
# that translations come soon; each window is twice as large as the last.
_FIRST_WINDOW_PIECES, _WINDOW_PIECES = 128, 2048
_WINDOW_CHARACTERS = 2**18
_WINDOWS_TO_RELEASE = 100  # often enough to keep the heap compact, seldom enough to cost no time

# Options whose values the record of a resumable file leaves out: they do not change the text, or the record has what
# they lead to, such as the digests of a model and the precision that "auto" has chosen.
_NO_EFFECT = frozenset({"sentences", "input", "output", "force", "resume", "threads"})
_RESOLVED = frozenset({"model", "from_language", "to_language", "beam", "rerank", "terms", "engine", "precision"})


@dataclass(frozen=True, kw_only=True)
class Text(Translating):
    """Translate sentences, a file or standard input.

    Layout and markup stay. For research options see translate decode --help.
    """

    resume: Annotated[bool, flag(FILES, "--resume", "Write in place; continue after an interruption.")] = False
    format: Annotated[
        str | None,
        option(
            FILES,
            "FORMAT",
            "text, lines (one sentence per line), markdown, html, srt, vtt or tsv [default: by the file name].",
        ),
    ] = None
    column: Annotated[int, option(FILES, "N", "Column of a TSV file, counted from 1.", min=1)] = 1
    checks: Annotated[bool, flag(OUTPUT, "--checks", "Check, and search again if a check fails [default].")] = True
    rerank: Rerank = None
    terms: Annotated[
        Path | None,
        option(
            SEARCH,
            "FILE",
            "A glossary; each line is SOURCE, a tab and TARGET, and | separates forms of SOURCE.",
        ),
    ] = None
    engine: Engine = "auto"
    precision: Precision = None


def run(options: Text) -> None:
    """Translate sentences, a file, stdin or typed lines, and keep the layout; UserError for wrong input."""
    options = dataclasses.replace(options, format=for_translation(options).format)
    _check_column(options)
    check_paths(options, resume=options.resume)
    lines = open_lines(options)
    if isinstance(lines, TypedLines) and options.format in LINE_FORMATS:
        with writable(options.output, force=options.force) as file:
            Session(options, Output(file)).hold(lines)
        return
    translator = open_translator(options)
    start = time.perf_counter()
    if options.resume:
        assert options.input is not None  # ensured by `check_paths`
        assert options.output is not None
        settings = _settings(translator, options) | {"source_sha256": sha256(options.input)}
        with GrowingFile(Path(os.path.realpath(options.output)), settings, force=options.force).opened() as out:
            n_lines = _translate(translator, lines, out, options)
    else:
        with writable(options.output, force=options.force) as file:
            n_lines = _translate(translator, lines, Output(file), options)
    if options.input is not None and n_lines:
        seconds = time.perf_counter() - start
        lines_said = "1 line" if n_lines == 1 else f"{n_lines:,} lines"
        say(f"{lines_said} in {seconds:,.1f} s, {n_lines / seconds:,.0f} lines/s")


def _check_column(options: Text) -> None:
    """Raise UserError for a column that the whole input file lacks; a pipe is not read twice."""
    if options.format != "tsv" or options.input is None or not options.input.is_file():
        return
    with options.input.open("rb") as file:
        if options.input.stat().st_size and all(line.count(b"\t") < options.column - 1 for line in file):
            raise UserError(f"{options.input}: no line has a column {options.column}; choose another one with --column")


def open_translator(options: Text) -> "Translator":
    """Return a translator with the chosen model and engine."""
    from translate.inference.translator import Translator, open_glossary

    how = dataclasses.replace(for_translation(options), terms=open_glossary(options.terms))
    folder = find_model(options, exported=True, layout=how.format, column=how.column)
    from translate.inference.torch_engine import TorchEngine

    tune_malloc()
    translator = Translator.open(folder, how, say)
    if isinstance(translator.engine, TorchEngine) or isinstance(translator.reranker, TorchEngine):
        set_up_torch(options.threads)
    return translator


def for_translation(options: Text) -> TranslationOptions:
    """Return the options of the translation, except for the glossary; UserError if they are impossible."""
    layout = options.format or (formats.guess(options.input) if options.input else "text")
    if layout not in formats.FORMATS:
        raise UserError(f"--format {layout}: is unknown; choose one of {', '.join(formats.FORMATS)}")
    return TranslationOptions(
        beam_size=options.beam,
        rerank=None if options.rerank is None else str(options.rerank),
        checks=options.checks,
        format=cast(Format, layout),
        column=options.column,
        engine=options.engine,
        precision=options.precision,
        threads=options.threads,
    )


def _translate(translator: "Translator", lines: Lines, out: Output, options: Text) -> int:
    """Write the translation of every line, window by window; return the number of lines that were translated now."""
    notes = Notes()
    n_bytes, n_lines, n_new, n_windows = 0, 0, 0, 0
    with _progress(options.input.stat().st_size if options.input else None) as advance:
        found = windows(_pieces(lines, options), lines.at_hand, _first_window(options))
        for n_windows, window in enumerate(found, start=1):
            n_window = sum(piece.text.count("\n") for piece in window)
            if out.wants(n_windows):
                n_new += n_window
                if n_windows == 1 and not options.as_json:
                    out.write(lines.mark)
                for text in _translated(translator, window, options, notes, n_lines + 1):
                    out.write(text)
                out.end_window()
            n_lines += n_window
            if isinstance(lines, TypedLines):
                notes.tell()
            if isinstance(lines, ArrivingLines):
                advance(lines.n_bytes - n_bytes)
                n_bytes = lines.n_bytes
            if n_windows % _WINDOWS_TO_RELEASE == 0:
                release_memory()
    if n_windows == 0 and lines.mark and not options.as_json and out.wants(1):  # no text, but the mark stays
        out.write(lines.mark)
        out.end_window()
    notes.tell()
    return n_new


@contextmanager
def _progress(n_bytes: int | None) -> Iterator[Callable[[int], object]]:
    """Show a progress bar at a terminal; yields a function that advances it. None shows nothing."""
    if n_bytes is None:
        yield lambda n: None
        return
    from tqdm import tqdm

    with tqdm(total=n_bytes, unit="B", unit_scale=True, disable=None, leave=False) as bar:
        yield bar.update


def _pieces(lines: Lines, options: Text) -> Iterator[Piece]:
    """Pieces to translate, and the layout between them."""
    assert options.format is not None  # set by `run`
    read = formats.reader(options.format, column=options.column)
    return read(ended(lines) if options.format in LINE_FORMATS else lines)


def _first_window(options: Text) -> int:
    """Return the number of pieces of the first window."""
    return _FIRST_WINDOW_PIECES if options.output is None else _WINDOW_PIECES


def windows(
    pieces: Iterable[Piece], at_hand: Callable[[], bool], first: int = _FIRST_WINDOW_PIECES
) -> Iterator[list[Piece]]:
    """Group pieces into windows of bounded size.

    Args:
        at_hand: whether the next line can be read without waiting; if not, a window ends at the end of its line.
        first: number of pieces of the first window.
    """
    window: list[Piece] = []
    n_characters = 0
    size = min(first, _WINDOW_PIECES)
    for piece in pieces:
        window.append(piece)
        n_characters += len(piece.text)
        full = len(window) >= size or n_characters >= _WINDOW_CHARACTERS
        if full or (piece.text.endswith("\n") and not at_hand()):
            yield window
            window, n_characters, size = [], 0, min(2 * size, _WINDOW_PIECES)
    if window:
        yield window


def _translated(
    translator: "Translator", window: Sequence[Piece], options: Text, notes: Notes, n: int
) -> Iterator[str]:
    """The output for each piece of a window that begins in line `n`."""
    translations = translator.pieces([piece for piece in window if piece.translate])
    for piece in window:
        if piece.translate:
            best = next(translations)
            notes.add(best, n)
            record = {"source": piece.text, **best.record()}
            yield json.dumps(record, ensure_ascii=False) + "\n" if options.as_json else best.text
        elif not options.as_json:
            yield piece.text
        n += piece.text.count("\n")


def _settings(translator: "Translator", options: Text) -> dict[str, object]:
    """Everything that the translation of a file depends on, except the file."""
    from translate import __version__

    engine, reranker = translator.engine, translator.reranker
    chosen = {name: value for name, value in vars(options).items() if name not in _NO_EFFECT | _RESOLVED}
    return {
        "version": __version__,  # of the program, which decides how a text is split
        "model": _digests(engine.folder),
        **dataclasses.asdict(dataclasses.replace(engine.spec, decoding=translator.decoding)),
        "reranker": None if reranker is None else _digests(reranker.folder),
        "engine": type(engine).__name__,
        "precision": engine.precision,
        "terms": None if (glossary := translator.options.terms) is None else json_sha256(glossary.terms),
        "windows": [_first_window(options), _WINDOW_PIECES, _WINDOW_CHARACTERS],
        **chosen,
    }


def _digests(folder: Path) -> list[str]:
    """The SHA-256 of the files of a model that its translations depend on."""
    files = [folder / name for name in ("model.safetensors", "model.bin", "tokenizer.model")]
    return [sha256(file) for file in files if file.is_file()]


SWITCH = "/switch"  # typed at the prompt


class Session:
    """Translates typed lines, in both directions; Ctrl-C stops a translation and not the session."""

    def __init__(self, options: Text, out: Output) -> None:
        self._options, self._out = options, out
        self._opposites: dict[Path, Translator] = {}  # by the folder of the model

    def hold(self, typed: TypedLines) -> None:
        """Translate each entry until Ctrl-D."""
        translator = open_translator(self._options)
        if is_first_session():
            say(
                "translates what you type, and files with --input; `translate serve` opens a page for the browser, and "
                "`translate --help` lists what else it can do"
            )
        say(f"type a sentence and press Enter; {SWITCH} changes the direction, Ctrl-D ends")
        typed.name = _pair(translator)
        for entry in typed.entries():
            try:
                if entry == [SWITCH]:
                    translator = self._opposite(translator)
                    typed.name = _pair(translator)
                    say(f"translating {typed.name}")
                else:
                    _translate(translator, given_lines(entry), self._out, self._options)
            except KeyboardInterrupt:
                say("stopped")

    def _opposite(self, translator: "Translator") -> "Translator":
        """Return a translator for the other direction, or the same one if there is no model for it."""
        here = translator.engine.folder
        if here in self._opposites:
            return self._opposites[here]
        try:
            other = dataclasses.replace(
                self._options, model=registry.opposite(here, say), from_language=None, to_language=None
            )
            if other.rerank is not None:
                other = dataclasses.replace(other, rerank=here)
            if other.terms is not None:  # its source terms are in the other language
                other = dataclasses.replace(other, terms=None)
                say("the glossary is for the other direction; here there is none")
            self._opposites[here] = open_translator(other)
            self._opposites[self._opposites[here].engine.folder] = translator
            return self._opposites[here]
        except (UserError, CheckpointError) as error:
            say(str(error))
            return translator


def _pair(translator: "Translator") -> str:
    return f"{translator.engine.spec.source}-{translator.engine.spec.target}"
