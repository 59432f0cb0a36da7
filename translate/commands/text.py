"""`translate text`: text in, translation out, in the same layout."""

import dataclasses
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from translate.commands import sharing
from translate.commands.messages import say
from translate.commands.reading import ArrivingLines, Lines, TypedLines, ended, open_lines
from translate.commands.writing import GrowingFile, Output, Stream, writable
from translate.errors import UserError
from translate.models import registry as installed
from translate.models.folder import TranslationSpec
from translate.text import formats, identification
from translate.text.pieces import Piece
from translate.text.wrapping import wrapped

if TYPE_CHECKING:
    from transformer.search.hypothesis import LengthRule
    from translate.inference.engine import Precision
    from translate.inference.translator import Translator
    from translate.text.translation import Translation

ENGINES = ("torch", "ctranslate2")
LINE_FORMATS = ("text", "lines")  # in which line n is line n

_WINDOW_PIECES = 2048  # a line is two pieces: its text, and its end
_WINDOW_CHARACTERS = 2**18
_WINDOWS_TO_RELEASE = 100  # often enough to keep the heap compact, seldom enough to cost nothing
_LINES_NAMED = 3  # of those that have a flag

# What a person must know who reads nothing but the text; the paper's search has always been cut off silently.
_NOTES = {
    "split": "longer than the model reads well at once, so translated in parts",
    "language": "not in the source language, so left unchanged",
    "echo": "mostly copied by the model, as it does with what is not in its source language",
    "length": "the translation found no end and was cut off",
    "missing": "a number of it is not in the translation",
}


@dataclass(frozen=True)
class Options:
    """How to translate.

    Attributes:
        format: one of `formats.FORMATS`; None goes by the name of the input file.
        column: of a TSV file, counted from 1.
        guarded: whether the guards are on.
        paper: a line is a sentence, and nothing is added to the paper's search.
        as_json: write one JSON object for each line or, in other layouts, for each piece of text.
        n_best: how many translations each object holds; 0 is none but the translation itself.
        beam_size, alpha, length_penalty: of the search; None takes the model's own.
        threads: CPU threads; None leaves them to the engine.
        engine: what searches, one of ENGINES.
        precision: of the computation; CTranslate2 has that of its folder.
    """

    format: str | None = None
    column: int = 1
    guarded: bool = True
    paper: bool = False
    as_json: bool = False
    n_best: int = 0
    beam_size: int | None = None
    alpha: float | None = None
    length_penalty: "LengthRule | None" = None
    threads: int | None = None
    engine: str = "torch"
    precision: "Precision" = "fp32"


def text(
    sentences: Sequence[str],
    options: Options,
    *,
    model: Path | None,
    languages: tuple[str | None, str | None],
    source: Path | None,
    output: Path | None,
    force: bool,
    resume: bool,
) -> None:
    """Translate sentences, a file, stdin, or what is typed at a prompt; the layout stays.

    Args:
        sentences: to translate; if there are none, `source` or stdin is read.
        options: how.
        model: name or path of a model; None looks for one.
        languages: source and target that the model must have, None for any; the source "auto" is guessed.
        source, output: files to read and write instead of stdin and stdout.
        force: overwrite an existing output file.
        resume: write the output in place, and go on where it ends.

    Raises UserError for what the user can mend.
    """
    options = _settled(options, source)
    if sharing.n_processes() > 1:
        _text_together(sentences, options, model, languages, source, output, force, resume)
        return
    check_files(sentences, source, output, force, resume)
    lines = open_lines(sentences, source)
    translator = _opened(model, languages, options, sentences, source)
    start = time.perf_counter()
    if resume:
        assert output is not None  # `check_files` has seen to it
        with GrowingFile(output.resolve(), _settings(translator, options), force=force).opened() as out:
            n_lines = _translate(translator, lines, out, options, source)
    else:
        with writable(output) as file:
            n_lines = _translate(translator, lines, Stream(file), options, source)
    if source is not None:
        _say_speed(n_lines, time.perf_counter() - start)


def _text_together(
    sentences: Sequence[str],
    options: Options,
    model: Path | None,
    languages: tuple[str | None, str | None],
    source: Path | None,
    output: Path | None,
    force: bool,
    resume: bool,
) -> None:
    """`text` under torchrun: each process takes its share of the windows."""
    from translate.training.distributed import joined

    with joined(say) as ranks:
        ranks.first(lambda: sharing.check(sentences, source, output, resume))
        ranks.first(lambda: check_files(sentences, source, output, force, resume))
        assert source is not None  # `sharing.check` has seen to it
        assert output is not None
        translator = _opened(model, languages, options, sentences, source)
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


def _opened(
    model: Path | None,
    languages: tuple[str | None, str | None],
    options: Options,
    sentences: Sequence[str],
    source: Path | None,
) -> "Translator":
    """The translator that the options ask for."""
    if options.engine == "ctranslate2":
        return _open_ctranslate2(model, languages, options)
    return open_translator(
        _model(model, languages, sentences, source),
        beam_size=options.beam_size,
        alpha=options.alpha,
        length_penalty=options.length_penalty,
        threads=options.threads,
        precision=options.precision,
    )


def open_translator(
    folder: Path,
    *,
    beam_size: int | None,
    alpha: float | None,
    length_penalty: "LengthRule | None",
    threads: int | None,
    precision: "Precision" = "fp32",
) -> "Translator":
    """Load a model folder and set up this machine for it."""
    import torch

    from translate.inference.translator import Translator
    from translate.machine import tune_malloc

    if threads is not None:
        torch.set_num_threads(threads)
    tune_malloc()
    return Translator.load(folder, beam_size=beam_size, alpha=alpha, length_penalty=length_penalty, precision=precision)


def _open_ctranslate2(model: Path | None, languages: tuple[str | None, str | None], options: Options) -> "Translator":
    """Load a CTranslate2 folder, without torch."""
    from translate.exchange.ctranslate2_engine import CTranslate2Engine, locate
    from translate.inference.translator import Translator

    if options.precision != "fp32":
        raise UserError("--precision: the weights of a CTranslate2 folder have theirs; leave it out")
    if languages[0] == "auto":
        raise UserError("--from auto chooses among models of this project; leave it out with --engine ctranslate2")
    folder = locate(model)
    installed.require_languages(folder, *languages)
    engine = CTranslate2Engine.open(folder, options.threads)
    return Translator(engine, beam_size=options.beam_size, alpha=options.alpha, length_penalty=options.length_penalty)


def _settled(options: Options, source: Path | None) -> Options:
    """The options with a format, UserError where they contradict each other."""
    if options.paper or options.n_best:
        if options.format not in (None, "lines"):
            raise UserError(f"--format {options.format}: --paper and --n-best take a line for a sentence; leave it out")
        options = dataclasses.replace(options, format="lines", guarded=False)
    if options.n_best and not options.as_json:
        raise UserError("--n-best needs --json: line n of a plain output is the translation of line n")
    if options.format is None:
        options = dataclasses.replace(options, format=formats.guess(source) if source else "text")
    if options.format not in formats.FORMATS:
        raise UserError(f"--format {options.format}: is unknown; choose one of {', '.join(formats.FORMATS)}")
    return options


def _model(
    model: Path | None, languages: tuple[str | None, str | None], sentences: Sequence[str], source: Path | None
) -> Path:
    """The model folder to use."""
    language, target = languages
    if language != "auto":
        return installed.choose(model, say, source=language, target=target)
    folders = [folder for path in installed.installed() if (folder := installed.model_in(path))]
    tasks = [TranslationSpec.load(folder / "translation.json") for folder in folders]
    known = sorted({spec.source for spec in tasks if target in (None, spec.target)})
    guessed = identification.language_of(_sample(sentences, source), known)
    if guessed is None:
        raise UserError(f"--from auto: the text does not show its language; name one of {', '.join(known) or 'none'}")
    say(f"the text seems to be {guessed}")
    return installed.choose(model, say, source=guessed, target=target)


def _sample(sentences: Sequence[str], source: Path | None) -> list[str]:
    """Some of the text to translate; what is read of stdin stays to be read."""
    if sentences:
        return list(sentences)
    if source is not None:
        with source.open("rb") as file:
            return [file.read(2**16).decode("utf-8", errors="replace")]
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError("--from auto: nothing is there yet to guess from; name the language")
    return [sys.stdin.buffer.peek().decode("utf-8", errors="replace")]  # type: ignore[union-attr]


def _translate(translator: "Translator", lines: Lines, out: Output, options: Options, source: Path | None) -> int:
    """Write the translation of every line; each window is out before the next one is read. Returns how many lines."""
    from tqdm import tqdm

    from translate.machine import release_memory

    notes = Notes(frozenset({"split"} if options.paper else _NOTES))
    reads, n_lines = 0, 0
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
                bar.update(lines.n_bytes - reads)
                reads = lines.n_bytes
            if n_windows % _WINDOWS_TO_RELEASE == 0:
                release_memory()
    notes.tell()
    return n_lines


def _pieces(lines: Lines, options: Options) -> Iterator[Piece]:
    """What to translate, and the layout round it."""
    if options.format in LINE_FORMATS:
        return _lines_as_pieces(ended(lines))
    assert options.format is not None  # `_settled` has seen to it
    return formats.reader(options.format, column=options.column)(lines)


def _lines_as_pieces(lines: Iterable[str]) -> Iterator[Piece]:
    for line in lines:
        yield Piece(line.removesuffix("\n"), translate=True)
        yield Piece("\n", translate=False)


def windows(pieces: Iterable[Piece], at_hand: Callable[[], bool]) -> Iterator[list[Piece]]:
    """The pieces in portions of bounded size; one ends early with its line where the next line must be waited for."""
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
    translator: "Translator", window: Sequence[Piece], options: Options, notes: "Notes", n: int
) -> Iterator[str]:
    """The text to write for each piece, the first of which stands in line `n`."""
    translations = _translations(translator, [piece.text for piece in window if piece.translate], options)
    for piece in window:
        if piece.translate:
            best = next(translations)
            notes.add(best[0], n)
            yield _record(piece.text, best, options) if options.as_json else best[0].text
        elif not options.as_json:
            yield piece.text
        n += piece.text.count("\n")


def _translations(translator: "Translator", texts: Sequence[str], options: Options) -> Iterator[list["Translation"]]:
    """For each text its translations, best first; one alone unless more are asked for."""
    if options.n_best:
        yield from translator.n_best(texts, options.n_best)
    elif options.format == "lines" and not options.guarded:
        yield from ([translation] for translation in translator.stream(texts))
    else:
        for source, translation in zip(texts, _passages(translator, texts, options), strict=True):
            yield [translation if "\n" not in source else _in_lines(translator, source, translation, options)]


def _passages(translator: "Translator", texts: Sequence[str], options: Options) -> Iterator["Translation"]:
    markup, splits = formats.markup(options.format or "text"), options.format != "lines"
    return translator.passages(texts, guarded=options.guarded, splits=splits, markup=markup)


def _in_lines(translator: "Translator", source: str, translation: "Translation", options: Options) -> "Translation":
    """The translation in as many lines as its source; line by line where there are too few words."""
    text = wrapped(translation.text, source)
    if text is None:
        lines = source.split("\n")
        own = [t.text for t in _passages(translator, lines, options)]
        text = "\n".join(new if new.strip() else old for new, old in zip(own, lines, strict=True))
    return dataclasses.replace(translation, text=text)


def _record(source: str, best: Sequence["Translation"], options: Options) -> str:
    """One JSON object and the end of its line; it holds no other line break."""
    record: dict[str, object] = {"source": source, **best[0].record()}
    if options.n_best:
        record["alternatives"] = [{"text": t.text, "score": t.score, "log_prob": t.log_prob} for t in best]
    return json.dumps(record, ensure_ascii=False) + "\n"


@dataclass
class Notes:
    """Lines of which a person must know, told once each; `flags` are those that are told."""

    flags: frozenset[str]
    lines: dict[str, list[int]] = field(default_factory=dict)
    n_lines: dict[str, int] = field(default_factory=dict)

    def add(self, translation: "Translation", n: int) -> None:
        """Note the flags of line `n`."""
        for flag in translation.flags:
            if flag in self.flags:
                self.n_lines[flag] = self.n_lines.get(flag, 0) + 1
                self.lines.setdefault(flag, []).extend([n] if self.n_lines[flag] <= _LINES_NAMED else [])

    def tell(self) -> None:
        """Say what was noted since the last time."""
        for flag, numbers in self.lines.items():
            more = self.n_lines[flag] - len(numbers)
            named = ", ".join(map(str, numbers)) + (f" and {more:,} more" if more else "")
            say(f"warning: line{'s' if len(numbers) > 1 else ''} {named}: {_NOTES[flag]}")
        self.lines, self.n_lines = {}, {}


def _digest(lines: Lines) -> str:
    return lines.digest.hexdigest() if isinstance(lines, ArrivingLines) else ""


def _settings(translator: "Translator", options: Options) -> dict[str, object]:
    """What a translation depends on beside its source."""
    folder = translator.engine.folder
    model = hashlib.sha256()
    for name in ("model.safetensors", "model.bin", "tokenizer.model"):
        if (folder / name).is_file():
            model.update((folder / name).read_bytes())
    names = ("format", "column", "guarded", "as_json", "n_best", "precision")
    chosen = {name: getattr(options, name) for name in names}
    return {"model": model.hexdigest(), "decoding": translator.decoding.model_dump(), **chosen}


def check_files(sentences: Sequence[str], source: Path | None, output: Path | None, force: bool, resume: bool) -> None:
    """UserError for a choice of files that could lose something."""
    if sentences and source:
        raise UserError("sentences and --input exclude each other; leave one out")
    if resume and (source is None or output is None):
        raise UserError("--resume goes on with a file that comes from a file; name both with --input and --output")
    if output is None:
        return
    if source and output.exists() and source.exists() and os.path.samefile(source, output):
        raise UserError(f"{output}: is the input too; name another file with --output")
    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file with --output")
    if resume and ((output.exists() and not output.is_file()) or (source and not source.is_file())):
        raise UserError("--resume needs plain files; leave it out for pipes and devices")
    if output.is_file() and not force and not resume:
        raise UserError(f"{output}: exists already; name another file, or add --force to overwrite it")
