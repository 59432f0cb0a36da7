"""`translate text`: translate text and keep its layout."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from translate.commands import sharing
from translate.commands.messages import say
from translate.commands.notes import Notes
from translate.commands.opening import find_model, set_up_torch
from translate.commands.paths import check_paths
from translate.commands.reading import ArrivingLines, Lines, TypedLines, ended, open_lines
from translate.commands.session import Session
from translate.commands.writing import GrowingFile, Output, writable
from translate.errors import UserError
from translate.files import sha256
from translate.machine import release_memory, tune_malloc
from translate.models import registry
from translate.options.translating import Text
from translate.text import formats
from translate.text.pieces import Piece

if TYPE_CHECKING:
    from translate.inference.translator import Translator
    from translate.text.translation import Translation

LINE_FORMATS = ("text", "lines")  # line n of the output is the translation of line n

_WINDOW_PIECES = 2048  # a line is two pieces: its text and its end
_WINDOW_CHARACTERS = 2**18
_WINDOWS_TO_RELEASE = 100  # often enough to keep the heap compact, seldom enough to cost no time


def run(options: Text) -> None:
    """Translate sentences, a file, stdin or typed lines, and keep the layout; UserError for wrong input."""
    options = with_format(options)
    _check_column(options)
    if sharing.n_processes() > 1:
        _run_together(options)
        return
    check_paths(options, resume=options.resume)
    lines = open_lines(options)
    if isinstance(lines, TypedLines) and options.format in LINE_FORMATS:
        with writable(options.output) as file:
            out = Output(file)
            Session(options, open_translator, lambda who, what: _translate(who, what, out, options)).hold(lines)
        return
    translator = open_translator(options)
    start = time.perf_counter()
    if options.resume:
        assert options.input is not None  # ensured by `check_paths`
        assert options.output is not None
        settings = _settings(translator, options) | {"source_sha256": sha256(options.input)}
        with GrowingFile(options.output.resolve(), settings, force=options.force).opened() as out:
            n_lines = _translate(translator, lines, out, options)
    else:
        with writable(options.output) as file:
            n_lines = _translate(translator, lines, Output(file), options)
    if options.input is not None:
        _say_speed(n_lines, time.perf_counter() - start)


def with_format(options: Text) -> Text:
    """Return the options with a known format; UserError if the format is unknown."""
    layout = options.format or (formats.guess(options.input) if options.input else "text")
    if layout not in formats.FORMATS:
        raise UserError(f"--format {layout}: is unknown; choose one of {', '.join(formats.FORMATS)}")
    return dataclasses.replace(options, format=layout)


def _check_column(options: Text) -> None:
    """Raise UserError for a column that the format or the whole input file lacks; a pipe is not read twice."""
    if options.format != "tsv" and options.column != 1:
        raise UserError(f"--column belongs to --format tsv, and this is {options.format}; leave it out, or name both")
    if options.format != "tsv" or options.input is None or not options.input.is_file():
        return
    with options.input.open("rb") as file:
        if options.input.stat().st_size and all(line.count(b"\t") < options.column - 1 for line in file):
            raise UserError(f"{options.input}: no line has a column {options.column}; choose another one with --column")


def _run_together(options: Text) -> None:
    """`run` under torchrun: each process translates its share of the windows."""
    from translate.training.distributed import joined

    with joined() as ranks:
        output = ranks.on_rank_0(lambda: sharing.check(options))
        ranks.on_rank_0(lambda: check_paths(options))
        translator = open_translator(options)
        start = time.perf_counter()
        with sharing.shared(output, ranks) as out:
            n_lines = _translate(translator, open_lines(options), out, options, shows_progress=ranks.is_first)
        if ranks.is_first:
            _say_speed(n_lines, time.perf_counter() - start)


def _say_speed(n_lines: int, seconds: float) -> None:
    lines = "1 line" if n_lines == 1 else f"{n_lines:,} lines"
    say(f"{lines} in {seconds:,.1f} s, {n_lines / seconds:,.0f} lines/s")


def open_translator(options: Text) -> "Translator":
    """Return a translator with the chosen model and engine."""
    folder = find_model(options, exported=True, layout=options.format or "lines", column=options.column)
    from translate.inference.ctranslate2_engine import CTranslate2Engine
    from translate.inference.engine import TorchEngine
    from translate.inference.opening import open_engine, open_scorer
    from translate.inference.translator import Translator

    tune_malloc()
    precision, threads = options.precision, options.threads
    engine, back = open_engine(folder, options.engine, precision=precision, threads=threads), None
    if opposite := _opposite(folder, isinstance(engine, CTranslate2Engine), options):
        back = open_scorer(opposite, options.engine, precision=precision, threads=threads)
    if isinstance(engine, TorchEngine) or isinstance(back, TorchEngine):
        set_up_torch(options.threads)
    return Translator(engine, beam_size=options.beam, two_way=back)


def _opposite(folder: Path, is_fast: bool, options: Text) -> Path | None:
    """Return the model for the two-way check; None for no check. By default it is made if CTranslate2 computes."""
    if options.one_way and options.two_way:
        raise UserError("--one-way and --two-way exclude each other; keep one of them")
    if options.two_way:
        return registry.opposite(folder, say)
    return registry.installed_opposite(folder) if is_fast and not options.one_way else None


def _translate(
    translator: "Translator", lines: Lines, out: Output, options: Text, *, shows_progress: bool = True
) -> int:
    """Write the translation of every line, window by window, and return the number of lines."""
    notes = Notes()
    n_bytes, n_lines = 0, 0
    total = options.input.stat().st_size if options.input else None
    with _progress(total if shows_progress else None) as advance:
        for n_windows, window in enumerate(windows(_pieces(lines, options), lines.at_hand), start=1):
            if out.wants(n_windows):
                if n_windows == 1 and not options.as_json:
                    out.write(lines.mark)
                for text in _translated(translator, window, options, notes, n_lines + 1):
                    out.write(text)
                out.end_window()
            n_lines += sum(piece.text.count("\n") for piece in window)
            if isinstance(lines, TypedLines):
                notes.tell()
            if isinstance(lines, ArrivingLines):
                advance(lines.n_bytes - n_bytes)
                n_bytes = lines.n_bytes
            if n_windows % _WINDOWS_TO_RELEASE == 0:
                release_memory()
    notes.tell()
    return n_lines


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
    assert options.format is not None  # set by `with_format`
    read = formats.reader(options.format, column=options.column)
    return read(ended(lines) if options.format in LINE_FORMATS else lines)


def windows(pieces: Iterable[Piece], at_hand: Callable[[], bool]) -> Iterator[list[Piece]]:
    """Group pieces into windows of bounded size.

    Args:
        pieces: the pieces of a text.
        at_hand: whether the next line can be read without waiting; if not, a window ends at the end of its line.
    """
    window: list[Piece] = []
    n_characters = 0
    for piece in pieces:
        window.append(piece)
        n_characters += len(piece.text)
        full = len(window) >= _WINDOW_PIECES or n_characters >= _WINDOW_CHARACTERS
        if full or (piece.text.endswith("\n") and not at_hand()):
            yield window
            window, n_characters = [], 0
    if window:
        yield window


def _translated(
    translator: "Translator", window: Sequence[Piece], options: Text, notes: Notes, n: int
) -> Iterator[str]:
    """The output for each piece of a window that begins in line `n`."""
    translations = _translations(translator, [piece.text for piece in window if piece.translate], options)
    for piece in window:
        if piece.translate:
            best = next(translations)
            notes.add(best, n)
            yield _as_json(piece.text, best) if options.as_json else best.text
        elif not options.as_json:
            yield piece.text
        n += piece.text.count("\n")


def _translations(translator: "Translator", texts: Sequence[str], options: Text) -> Iterator["Translation"]:
    """The translation of each text."""
    if options.format == "lines" and options.no_guards and translator.two_way is None:
        return translator.stream(texts)
    from translate.inference.documents import translate_pieces

    return translate_pieces(translator, texts, options.format or "text", guarded=not options.no_guards)


def _as_json(source: str, translation: "Translation") -> str:
    """One JSON object on one line."""
    return json.dumps({"source": source, **translation.record()}, ensure_ascii=False) + "\n"


def _settings(translator: "Translator", options: Text) -> dict[str, object]:
    """Everything that the translation of a file depends on, except the file."""
    engine, back = translator.engine, translator.two_way
    chosen = {name: getattr(options, name) for name in ("format", "column", "no_guards", "as_json", "precision")}
    return {
        "model": _digests(engine.folder),
        "two_way": None if back is None else _digests(back.folder),
        "limits": [engine.spec.max_source_tokens, engine.spec.best_source_tokens],
        "decoding": dataclasses.asdict(translator.decoding),
        "engine": type(engine).__name__,
        **chosen,
    }


def _digests(folder: Path) -> list[str]:
    """The SHA-256 of the files of a model that its translations depend on."""
    files = [folder / name for name in ("model.safetensors", "model.bin", "tokenizer.model")]
    return [sha256(file) for file in files if file.is_file()]
