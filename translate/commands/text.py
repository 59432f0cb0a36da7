"""`translate text`: translate text and keep its layout; and the loop over lines that `decode` shares."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

from transformer.config import CheckpointError
from translate.commands.lines import (
    WARNINGS,
    ArrivingLines,
    Lines,
    Notes,
    Output,
    TranslationOptions,
    Writing,
    check_output_format,
    check_paths,
    ended,
    given_lines,
    is_document,
    open_lines,
    writable,
)
from translate.commands.source_language import guess_language
from translate.errors import UserError, say
from translate.files import json_sha256, sha256
from translate.machine import release_memory, set_up_torch, tune_malloc
from translate.models import registry
from translate.models.folder import digests
from translate.options import RAY, nested
from translate.text import formats
from translate.text.formats import FIRST_WINDOW, LINE_FORMATS, WINDOW, WINDOW_CHARACTERS
from translate.text.sentences import Piece
from translate.text.translation import Search

if TYPE_CHECKING:
    from translate.commands.prompt import TypedLines
    from translate.inference.translator import Translator
    from translate.text.translation import Translation

_WINDOWS_TO_RELEASE = 100  # often enough to keep the heap compact, seldom enough to cost no time


@dataclass(frozen=True, kw_only=True)
class TextOptions(TranslationOptions):
    """Translate sentences, a file or standard input.

    Layout and markup are kept. For research options see translate decode --help.
    """

    search: Annotated[Search, nested("beam_size", "rerank", "formality")] = Search()
    writing: Annotated[Writing, nested("bilingual", "apply", "final", "replace_all", "update")] = Writing()
    ray: Annotated[str | None, RAY] = None


def run(options: TextOptions) -> None:
    """Translate sentences, a file, stdin or typed lines, and keep the layout; UserError for wrong input."""
    if options.ray is not None:
        run_rows(options, options.ray)
        return
    check_output_format(options)
    if is_document(options):
        run_document(options)
        return
    if options.writing != Writing():
        raise UserError(
            "--bilingual, --apply, --final, --all and --update belong to documents, such as report.docx; "
            "name one with --input"
        )
    format = options.document.format or (formats.guess_format(options.input) if options.input else "text")
    options = replace(options, document=replace(options.document, format=format))
    _check_column(options)
    check_paths(options)
    lines = open_lines(options)
    if not isinstance(lines, ArrivingLines) and format in LINE_FORMATS:  # typed at the prompt
        with writable(options.output, force=options.force) as file:
            Session(options, Output(file)).run(lines)
        return
    process(TextProcessor(options, open_translator(options)), lines)


def run_document(options: TextOptions) -> None:
    """Translate a document, or write it with the translations of an edited file."""
    from translate.commands import documents

    documents.check_options(options, options.writing)
    if options.writing.apply is not None:
        documents.apply(options, options.writing)
    else:
        translator = open_translator(options)
        documents.run(options, options.writing, translator, settings(options, translator))


def run_rows(options: TextOptions, address: str) -> None:
    """Translate the rows of files on a cluster of Ray."""
    from translate.commands import rows

    inputs = rows.inputs(options)
    translator = open_translator(replace(options, document=replace(options.document, column=1)))  # rows have one
    rows.run(options, inputs, translator, settings(options, translator), address)


def _check_column(options: TextOptions) -> None:
    """Raise UserError for a column that the whole input file lacks; a pipe is not read twice."""
    column = options.document.column
    if column == 1 or options.document.format not in formats.TABLES:
        return
    if options.input is None or not options.input.is_file():
        return
    with options.input.open(encoding="utf-8", errors="replace", newline="\n") as file:
        found = formats.reader(options.document.format, column=column)(file)
        if options.input.stat().st_size and not any(piece.translate for piece in found):
            raise UserError(f"{options.input}: no line has a column {column}; choose another one with --column")


def find_model(options: TranslationOptions, *, exported: bool = False) -> Path:
    """Return the model folder for a translation; UserError if there is none.

    Args:
        exported: whether a CTranslate2 folder is accepted.
    """
    asked, target = options.from_language, options.to_language
    source = guess_language(options, exported=exported) if asked == "auto" else asked
    return registry.find_model(options.opening.model, say, source=source, target=target, exported=exported)


def open_translator(options: TranslationOptions) -> "Translator":
    """Return a translator with the chosen model and engine."""
    folder = find_model(options, exported=True)
    from translate.inference.translator import Translator

    tune_malloc()
    opening = replace(options.opening, model=None, target=options.to_language)
    translator = Translator.load(folder, options.search, options.document, opening, say=say)
    if "torch" in sys.modules:  # one of the engines has imported it
        set_up_torch(options.opening.threads)
    return translator


class Processor(Protocol):
    """What a command makes of its lines: pieces, and an answer to each; `process` reads and writes them."""

    @property
    def options(self) -> TranslationOptions:
        """The options of the command."""

    @property
    def flags(self) -> Sequence[str]:
        """Flags of translations that are reported."""

    def pieces(self, lines: Lines) -> Iterator[Piece]:
        """Yield the text as pieces to translate, and the layout between them."""

    def answers(self, wanted: Sequence[Piece]) -> Iterator[tuple["Translation", str]]:
        """Yield the translation of each piece to translate, and what is written for it."""

    def settings(self) -> dict[str, object]:
        """Return everything that the output depends on, except the text, as plain data."""


class TextProcessor:
    """Translates pieces by all stages, and keeps their layout; see `Processor`."""

    flags = tuple(WARNINGS)

    def __init__(self, options: TextOptions, translator: "Translator") -> None:
        self.options, self._translator = options, translator

    def pieces(self, lines: Lines) -> Iterator[Piece]:
        """Yield the pieces of the format."""
        document = self._translator.document
        read = formats.reader(document.format, column=document.column)
        return read(ended(lines) if document.format in LINE_FORMATS else lines)

    def answers(self, wanted: Sequence[Piece]) -> Iterator[tuple["Translation", str]]:
        """Yield the translation of each piece, and its text or its JSON object."""
        for piece, best in zip(wanted, self._translator.pieces(wanted), strict=True):
            record = {"source": piece.text, **best.record()}
            yield best, json.dumps(record, ensure_ascii=False) if self.options.as_json else best.text

    def settings(self) -> dict[str, object]:
        """Return everything that the output depends on, except the text."""
        return settings(self.options, self._translator)


def settings(options: TranslationOptions, translator: "Translator") -> dict[str, object]:
    """Return everything that translations depend on, except the text: what the options have led to."""
    from translate import __version__

    engine, reranker, document = translator.engine, translator.reranker, translator.document
    return {
        "version": __version__,  # of the program, which decides how a text is split
        "model": digests(engine.folder),
        **engine.spec.record(),
        "language": translator.language,
        "search": asdict(translator.sentence_search.config),
        "formality": options.search.formality,
        "reranker": None if reranker is None else digests(reranker.folder),
        "engine": type(engine).__name__,
        "precision": engine.precision,
        "terms": None if (glossary := translator.glossary) is None else json_sha256([*glossary.items()]),
        "format": document.format,
        "column": document.column,
        "checks": document.checks,
        "json": options.as_json,
        "windows": [_first_window(options), WINDOW, WINDOW_CHARACTERS],
    }


def process(processor: Processor, lines: Lines) -> None:
    """Write the answers to all lines to the output of the options, or continue it, and say how long it took."""
    options, start = processor.options, time.perf_counter()
    if options.resume:
        assert options.input is not None  # ensured by `check_paths`
        assert options.output is not None
        from translate.commands.resuming import GrowingFile

        known = processor.settings() | {"source_sha256": sha256(options.input)}
        with GrowingFile(Path(os.path.realpath(options.output)), known, force=options.force).opened() as out:
            n_lines = write(processor, lines, out)
    else:
        with writable(options.output, force=options.force) as file:
            n_lines = write(processor, lines, Output(file))
    if options.input is not None and n_lines:
        seconds = time.perf_counter() - start
        lines_said = "1 line" if n_lines == 1 else f"{n_lines:,} lines"
        say(f"{lines_said} in {seconds:,.1f} s, {n_lines / seconds:,.0f} lines/s")


def write(processor: Processor, lines: Lines, out: Output) -> int:
    """Write the answers to all lines, window by window; return the number of lines that were translated now."""
    options, notes = processor.options, Notes(processor.flags)
    n_bytes, n_lines, n_new, n_windows = 0, 0, 0, 0
    with _progress(options.input.stat().st_size if options.input else None) as advance:
        windows = formats.windows(processor.pieces(lines), lines.is_ready, _first_window(options))
        for n_windows, window in enumerate(windows, start=1):
            n_window = sum(piece.text.count("\n") for piece in window)
            if out.wants(n_windows):
                n_new += n_window
                if n_windows == 1 and not options.as_json:
                    out.write(lines.mark)
                for text in _written(processor, window, notes, n_lines + 1):
                    out.write(text)
                out.end_window()
            n_lines += n_window
            if isinstance(lines, ArrivingLines):
                advance(lines.n_bytes - n_bytes)
                n_bytes = lines.n_bytes
            else:  # who types sees the warnings at once
                notes.tell()
            if n_windows % _WINDOWS_TO_RELEASE == 0:
                release_memory()
    if n_windows == 0 and lines.mark and not options.as_json and out.wants(1):  # no text, but the mark stays
        out.write(lines.mark)
        out.end_window()
    notes.tell()
    return n_new


def _written(processor: Processor, window: Sequence[Piece], notes: Notes, n: int) -> Iterator[str]:
    """Yield the output for each piece of a window that begins in line `n`; JSON has a line for each answer."""
    answers = processor.answers([piece for piece in window if piece.translate])
    for piece in window:
        if piece.translate:
            best, text = next(answers)
            notes.add(best, n)
            yield f"{text}\n" if processor.options.as_json else text
        elif not processor.options.as_json:
            yield piece.text
        n += piece.text.count("\n")


@contextmanager
def _progress(n_bytes: int | None) -> Iterator[Callable[[int], object]]:
    """Show a progress bar at a terminal; yields a function that advances it. None shows nothing."""
    if n_bytes is None:
        yield lambda n: None
        return
    from tqdm import tqdm

    with tqdm(total=n_bytes, unit="B", unit_scale=True, disable=None, leave=False) as bar:
        yield bar.update


def _first_window(options: TranslationOptions) -> int:
    """Return the number of pieces of the first window."""
    return FIRST_WINDOW if options.output is None else WINDOW


SWITCH = "/switch"  # typed at the prompt


class Session:
    """Translates typed lines, in both directions; Ctrl-C stops a translation and not the session."""

    def __init__(self, options: TextOptions, out: Output) -> None:
        self._options, self._out = options, out
        self._opposites: dict[Path, Translator] = {}  # by the folder of the model

    def run(self, typed: "TypedLines") -> None:
        """Translate each entry until Ctrl-D."""
        translator = open_translator(self._options)
        say(f"type a sentence and press Enter; {SWITCH} changes the direction, Ctrl-D ends")
        typed.name = _pair(translator)
        for entry in typed.entries():
            try:
                if entry == [SWITCH]:
                    translator = self._opposite(translator)
                    typed.name = _pair(translator)
                    say(f"translating {typed.name}")
                else:
                    write(TextProcessor(self._options, translator), given_lines(entry), self._out)
            except KeyboardInterrupt:
                say("stopped")

    def _opposite(self, translator: "Translator") -> "Translator":
        """Return a translator for the other direction, or the same one if there is no model for it."""
        here = translator.engine.folder
        if here in self._opposites:
            return self._opposites[here]
        try:
            opening = replace(self._options.opening, model=registry.opposite(here, say))
            search, document = self._options.search, self._options.document
            if search.rerank is not None:
                search = replace(search, rerank=here)
            if search.formality is not None:  # of a model into German, so this one is from German
                search = replace(search, formality=None)
                say("the form of address is for the other direction; here there is none")
            if document.terms is not None:  # its source terms are in the other language
                document = replace(document, terms=None)
                say("the glossary is for the other direction; here there is none")
            other = replace(
                self._options,
                opening=opening,
                search=search,
                document=document,
                from_language=None,
                to_language=None,
            )
            self._opposites[here] = open_translator(other)
            self._opposites[self._opposites[here].engine.folder] = translator
            return self._opposites[here]
        except (UserError, CheckpointError) as error:
            say(str(error))
            return translator


def _pair(translator: "Translator") -> str:
    return f"{translator.engine.spec.source}-{translator.engine.spec.target}"
