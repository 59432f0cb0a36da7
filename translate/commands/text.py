"""`translate text`: translate text and keep its layout."""

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from translate.commands import sharing
from translate.commands.messages import say
from translate.commands.notes import Notes
from translate.commands.opening import ModelChoice, set_up_torch
from translate.commands.paths import Paths
from translate.commands.reading import ArrivingLines, Lines, TypedLines, ended, open_lines
from translate.commands.writing import GrowingFile, Output, writable
from translate.errors import UserError
from translate.models import registry
from translate.text import formats
from translate.text.pieces import Piece
from translate.text.wrapping import wrapped

if TYPE_CHECKING:
    from translate.inference.engine import Precision
    from translate.inference.translator import Translator
    from translate.text.translation import Translation

LINE_FORMATS = ("text", "lines")  # line n of the output is the translation of line n

_WINDOW_PIECES = 2048  # a line is two pieces: its text and its end
_WINDOW_CHARACTERS = 2**18
_WINDOWS_TO_RELEASE = 100  # often enough to keep the heap compact, seldom enough to cost no time


@dataclass(frozen=True)
class Options:
    """Options of a translation.

    Attributes:
        format: one of `formats.FORMATS`; None chooses by the name of the input file.
        column: column of a TSV file, counted from 1.
        guarded: whether the guards are on.
        as_json: write one JSON object for each line or, in other layouts, for each piece of text.
        beam_size: hypotheses kept per step; None takes the model's default.
        threads: CPU threads; None takes the engine's default.
        engine: "torch" or "ctranslate2".
        precision: of the computation; a CTranslate2 folder has its own.
    """

    format: str | None = None
    column: int = 1
    guarded: bool = True
    as_json: bool = False
    beam_size: int | None = None
    threads: int | None = None
    engine: str = "torch"
    precision: "Precision" = "fp32"

    def with_format(self, source: Path | None) -> "Options":
        """The options with a known format; UserError if the format is unknown."""
        layout = self.format or (formats.guess(source) if source else "text")
        if layout not in formats.FORMATS:
            raise UserError(f"--format {layout}: is unknown; choose one of {', '.join(formats.FORMATS)}")
        return dataclasses.replace(self, format=layout)


def text(sentences: Sequence[str], options: Options, choice: ModelChoice, paths: Paths) -> None:
    """Translate sentences, a file, stdin, or lines typed at a prompt, and keep the layout.

    Args:
        sentences: the text; if empty, `paths.source` or stdin is read.
        options: format, guards, search and machine.
        choice: the model.
        paths: input and output files.

    Raises UserError for wrong input.
    """
    options = options.with_format(paths.source)
    if sharing.n_processes() > 1:
        _text_together(sentences, options, choice, paths)
        return
    paths.check(sentences)
    lines = open_lines(sentences, paths.source)
    translator = open_translator(options, choice, sentences, paths.source)
    start = time.perf_counter()
    if paths.resume:
        assert paths.output is not None  # ensured by `Paths.check`
        settings = _settings(translator, options)
        with GrowingFile(paths.output.resolve(), settings, force=paths.force).opened() as out:
            n_lines = _translate(translator, lines, out, options, paths.source)
    else:
        with writable(paths.output) as file:
            n_lines = _translate(translator, lines, Output(file), options, paths.source)
    if paths.source is not None:
        _say_speed(n_lines, time.perf_counter() - start)


def _text_together(sentences: Sequence[str], options: Options, choice: ModelChoice, paths: Paths) -> None:
    """`text` under torchrun: each process translates its share of the windows."""
    from translate.training.distributed import joined

    with joined(say) as ranks:
        source, output = ranks.first(lambda: sharing.check(sentences, paths))
        ranks.first(lambda: paths.check(sentences))
        translator = open_translator(options, choice, sentences, source)
        ranks.watch()
        start = time.perf_counter()
        with sharing.shared(output, ranks) as out:
            bar = source if ranks.is_first else None
            n_lines = _translate(translator, open_lines([], source), out, options, bar)
        if ranks.is_first:
            _say_speed(n_lines, time.perf_counter() - start)


def _say_speed(n_lines: int, seconds: float) -> None:
    lines = "1 line" if n_lines == 1 else f"{n_lines:,} lines"
    say(f"{lines} in {seconds:,.1f} s, {n_lines / seconds:,.0f} lines/s")


def open_translator(
    options: Options, choice: ModelChoice, sentences: Sequence[str] = (), source: Path | None = None
) -> "Translator":
    """Return a translator with the chosen model.

    Args:
        options: options of the translation.
        choice: the model.
        sentences, source: the text, or its file, whose language is guessed if `choice` asks for that.
    """
    if options.engine == "ctranslate2":
        return _open_ctranslate2(options, choice)
    folder = choice.find(sentences, source)
    set_up_torch(options.threads)
    from translate.inference.translator import Translator

    return Translator.load(folder, beam_size=options.beam_size, precision=options.precision)


def _open_ctranslate2(options: Options, choice: ModelChoice) -> "Translator":
    """Load a CTranslate2 folder without importing torch."""
    from translate.exchange.ctranslate2_engine import CTranslate2Engine, locate
    from translate.inference.translator import Translator

    if options.precision != "fp32":
        raise UserError("--precision: a CTranslate2 folder has a precision of its own; leave it out")
    if choice.source == "auto":
        raise UserError("--from auto chooses among models of this project; leave it out with --engine ctranslate2")
    folder = locate(choice.name, say)
    registry.require_languages(folder, choice.source, choice.target)
    return Translator(CTranslate2Engine.open(folder, options.threads), beam_size=options.beam_size)


def _translate(translator: "Translator", lines: Lines, out: Output, options: Options, source: Path | None) -> int:
    """Write the translation of every line, window by window, and return the number of lines."""
    from tqdm import tqdm

    from translate.machine import release_memory

    notes = Notes()
    n_bytes, n_lines = 0, 0
    total = source.stat().st_size if source is not None else None
    with tqdm(total=total, unit="B", unit_scale=True, disable=True if source is None else None, leave=False) as bar:
        for n_windows, window in enumerate(windows(_pieces(lines, options), lines.at_hand), start=1):
            if out.wants(n_windows):
                for text in _translated(translator, window, options, notes, n_lines + 1):
                    out.write(text)
                out.end_window(_digest(lines))
            elif n_windows == out.n_done:
                out.check(_digest(lines))
            n_lines += sum(piece.text.count("\n") for piece in window)
            if isinstance(lines, TypedLines):
                notes.tell()
            if isinstance(lines, ArrivingLines):
                bar.update(lines.n_bytes - n_bytes)
                n_bytes = lines.n_bytes
            if n_windows % _WINDOWS_TO_RELEASE == 0:
                release_memory()
    notes.tell()
    return n_lines


def _pieces(lines: Lines, options: Options) -> Iterator[Piece]:
    """Pieces to translate, and the layout between them."""
    assert options.format is not None  # set by `Options.with_format`
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
    translator: "Translator", window: Sequence[Piece], options: Options, notes: Notes, n: int
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


def _translations(translator: "Translator", texts: Sequence[str], options: Options) -> Iterator["Translation"]:
    """The translation of each text."""
    if options.format == "lines" and not options.guarded:
        yield from translator.stream(texts)
    else:
        for source, translation in zip(texts, _passages(translator, texts, options), strict=True):
            yield translation if "\n" not in source else _in_lines(translator, source, translation, options)


def _passages(translator: "Translator", texts: Sequence[str], options: Options) -> Iterator["Translation"]:
    markup, splits = formats.markup(options.format or "text"), options.format != "lines"
    return translator.passages(texts, guarded=options.guarded, splits=splits, markup=markup)


def _in_lines(translator: "Translator", source: str, translation: "Translation", options: Options) -> "Translation":
    """The translation broken into as many lines as its source, or translated line by line if it is too short."""
    text = wrapped(translation.text, source)
    if text is None:
        lines = source.split("\n")
        translated = [t.text for t in _passages(translator, lines, options)]
        text = "\n".join(new if new.strip() else old for new, old in zip(translated, lines, strict=True))
    return dataclasses.replace(translation, text=text)


def _as_json(source: str, translation: "Translation") -> str:
    """One JSON object on one line."""
    return json.dumps({"source": source, **translation.record()}, ensure_ascii=False) + "\n"


def _digest(lines: Lines) -> str:
    return lines.digest.hexdigest() if isinstance(lines, ArrivingLines) else ""


def _settings(translator: "Translator", options: Options) -> dict[str, object]:
    """Everything that the translation of a file depends on, except the file."""
    folder = translator.engine.folder
    model = hashlib.sha256()
    for name in ("model.safetensors", "model.bin", "tokenizer.model"):
        if (folder / name).is_file():
            model.update((folder / name).read_bytes())
    chosen = {name: getattr(options, name) for name in ("format", "column", "guarded", "as_json", "precision")}
    return {"model": model.hexdigest(), "decoding": translator.decoding.model_dump(), **chosen}
