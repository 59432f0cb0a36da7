"""Text in, text out; every line comes back.

`Translator.translate`, which is also what calling a translator does, translates whole texts by all stages of
`translate.inference.pipeline`; `passages` gives their translations with probabilities and flags. `translate_lines`
takes each line as one sentence and leaves it to the model alone: output line n is the translation of input line n, with
the same white space around it, and contains no "\\n".
"""

import dataclasses
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from math import isnan
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from transformer.search.hypothesis import LengthRule
from translate.errors import OptionError, Say, UserError
from translate.files import read_lines
from translate.inference import pipeline
from translate.inference.engine import Engine, Scorer
from translate.inference.opening import open_engine, open_scorer
from translate.inference.pipeline import Rules
from translate.inference.search import SentenceSearch
from translate.inference.torch_engine import TorchEngine
from translate.models.folder import ModelFolder
from translate.models.registry import locate
from translate.text import formats, markup
from translate.text.placeholders import Glossary
from translate.text.sentences import Piece, pieces
from translate.text.translation import (
    DEFAULT_OPTIONS,
    EngineName,
    Format,
    Precision,
    Translation,
    TranslationOptions,
    join,
)

if TYPE_CHECKING:
    import torch

WINDOW = 1024  # texts read ahead: enough to find sentences of equal lengths
FIRST_WINDOW = 16  # of an iterator, whose first result should come soon; each window is four times as large as the last

_WINDOW_CHARACTERS = 2**18  # of a window, unless one text alone is longer
# With the indentation of the next line. White space is tried from its beginning only, as it may be long.
_BREAK = re.compile(r"(?:(?<![ \t])[ \t]+)?\r?\n[ \t]*")
_CUT = "\v"  # stands for a line break: white space that patterns of markup may contain, unlike "\n"

TranslatedPiece = tuple[Piece, Translation | None]  # None for a piece that is copied


class Translator:
    """A model that translates text.

    Args:
        model: an open model folder, or another engine; `Translator.load` opens one.
        options: how to translate; those that belong to opening a model are not read.
        reranker: an open folder with a model of the opposite direction, or its engine, that reranks the hypotheses of
            the beam. UserError if it is for other languages.
        check: called before the work on each sentence; may raise an exception to give up.

    UserError for a glossary with a model that has no placeholder symbols.

    Attributes:
        limit: tokens of the longest sentence that is translated as a whole.
    """

    def __init__(
        self,
        model: ModelFolder | Engine,
        options: TranslationOptions = DEFAULT_OPTIONS,
        *,
        reranker: ModelFolder | Scorer | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        if isinstance(model, str | Path):
            raise TypeError(f"expected an open model, not {str(model)!r}; Translator.load({str(model)!r}) opens it")
        self.engine: Engine = TorchEngine(model) if isinstance(model, ModelFolder) else model
        self.options, self._check = options, check
        if options.terms is not None and not self.engine.tokenizer.n_placeholders:
            raise UserError(
                f"{self.engine.folder}: the model has no placeholder symbols to hold the terms of a glossary with; "
                "leave the glossary out or choose another model"
            )
        self.decoding = options.decoding(self.engine.spec.decoding)
        self.reranker: Scorer | None = TorchEngine(reranker) if isinstance(reranker, ModelFolder) else reranker
        self.sentences = SentenceSearch(self.engine, self.decoding, self.reranker)
        self.limit = self.sentences.limit

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        beam_size: int | None = None,
        alpha: float | None = None,
        length_penalty: LengthRule | None = None,
        rerank: Path | str | None = None,
        checks: bool = True,
        terms: Path | str | Mapping[str, str] | None = None,
        format: Format = "text",
        column: int = 1,
        engine: EngineName = "auto",
        precision: Precision | None = None,
        device: "torch.device | str | None" = None,
        threads: int | None = None,
        say: Say | None = None,
    ) -> "Translator":
        """Open an installed model, a model folder or the model of a run directory.

        Args:
            path: the name or the folder.
            beam_size, alpha, length_penalty, rerank, checks, format, column, engine, precision, device, threads: see
                `TranslationOptions`.
            terms: a glossary: the path of a file, or a mapping with the same forms; see `translate.text.placeholders`.
            say: receives a note on which model of a run is used; None writes it to stderr.

        Raises UserError or CheckpointError, one sentence, if the folder cannot be used.
        """
        options = TranslationOptions(
            beam_size=beam_size,
            alpha=alpha,
            length_penalty=length_penalty,
            rerank=None if rerank is None else str(rerank),
            checks=checks,
            terms=open_glossary(terms),
            format=format,
            column=column,
            engine=engine,
            precision=precision,
            device=None if device is None else str(device),
            threads=threads,
        )
        return cls.open(path, options, say)

    @classmethod
    def open(cls, path: Path | str, options: TranslationOptions, say: Say | None = None) -> "Translator":
        """Open a model as `load` does, with options as one value."""
        say = say or (lambda message: print(message, file=sys.stderr))
        engine = open_engine(locate(Path(path), say, exported=True), options)
        if not engine.can_align:
            say(
                f"{engine.folder}: was exported without a layer for alignments, so formatting stays within sentences "
                "and may change their words; export it again"
            )
        reranker = open_scorer(locate(Path(options.rerank), say), options) if options.rerank else None
        return cls(engine, options, reranker=reranker)

    @overload
    def __call__(self, text: str) -> str: ...

    @overload
    def __call__(self, text: list[str] | tuple[str, ...]) -> list[str]: ...

    @overload
    def __call__(self, text: Iterable[str]) -> Iterable[str]: ...

    def __call__(self, text: str | Iterable[str]) -> str | list[str] | Iterator[str]:
        """Translate a whole text, each text of a list, or lazily each text of an iterable, as documents of the format.

        TypeError for anything else. Line n of a text is line n of its translation.
        """
        if isinstance(text, bytes) or not isinstance(text, Iterable):  # now, not at the first use of the iterator
            raise TypeError(f"expected a text or an iterable of texts, not {type(text).__name__}")
        if isinstance(text, str):
            return next(self._texts([text]))
        return list(self._texts(text)) if isinstance(text, list | tuple) else self._texts(text)

    translate = __call__

    def _texts(self, texts: Iterable[str]) -> Iterator[str]:
        for window in _windows(texts, str):
            yield from (joined(document) for document in self.documents(window))

    def translate_lines(self, lines: Iterable[str]) -> Iterator[Translation]:
        """Translate each line as one sentence, by the model alone; see `n_best`."""
        return (best[0] for best in self.n_best(lines, 1))

    def n_best(self, lines: Iterable[str], n: int) -> Iterator[list[Translation]]:
        """Return up to n translations of each line as one sentence, best first; n is at most the beam size.

        The beam size also bounds the number of samples. The lines may end with "\\n"; one within a line counts as a
        space. At most WINDOW lines are read ahead. A line that is translated in parts joins the second best
        translations of its parts in its second, and so on. OptionError unless n is at least 1 and at most the beam
        size, UserError for text that is not Unicode.
        """
        if n < 1:
            raise OptionError("n_best", n, "must be at least 1")
        if n > (size := self.decoding.beam_size):  # a wider beam may have another best translation
            raise OptionError("n_best", n, f"a beam of {size} has fewer translations; choose a beam of at least {n}")
        return self._n_best(lines, n)

    def _n_best(self, lines: Iterable[str], n: int) -> Iterator[list[Translation]]:
        for window in _windows(lines, _one_line):
            found = self.sentences.translate(window, n_best=n)
            for line in window:
                yield [self.sentences.scored(translation) for translation in found[line]]

    def passages(self, texts: Iterable[str]) -> Iterator[Translation]:
        """Translate each text by all stages, with probabilities and flags; a "\\n" within a text counts as a space.

        At most WINDOW texts are read ahead. UserError for text that is not Unicode.
        """
        for window in _windows(texts, _one_line):
            yield from map(self._finished, pipeline.translate(window, self._search, self._rules))

    @property
    def _rules(self) -> Rules:
        spec, options = self.engine.spec, self.options
        return Rules(
            source=spec.source,
            target=spec.target,
            n_symbols=self.engine.tokenizer.n_placeholders,
            segments=options.format != "lines",
            checks=options.checks,
            markup=formats.markup(options.format),
            glossary=options.terms,
            knows=self.engine.tokenizer.knows,
            align=self.sentences.align if self.engine.can_align else None,
            look=self._check,
        )

    def _search(self, lines: Sequence[str], no_repeat: int) -> dict[str, Translation]:
        """Return the best translation of each sentence."""
        found = self.sentences.translate(lines, no_repeat=no_repeat, divides=self._divides)
        return {line: translations[0] for line, translations in found.items()}

    @property
    def _divides(self) -> bool:
        """Whether a long sentence is divided; it is not if the model is left alone."""
        return self.options.checks or self.options.format != "lines"

    def _finished(self, translation: Translation) -> Translation:
        """Return a translation with its score and, with checks, the flag of a low probability."""
        if self.options.checks:
            spec = self.engine.spec
            translation = translation.with_confidence_flag(spec.low_confidence, spec.low_rerank_score)
        return self.sentences.scored(translation)

    def alternatives(self, text: str, n: int) -> list[str]:
        """Return up to n other translations of a passage, best first; all differ from each other and from the best one.

        They are made of the second best translations of its sentences, the third best, and so on. If the beam is too
        narrow, it is widened for them, but not for the best translation. OptionError if n is negative.
        """
        if n < 0:
            raise OptionError("n", n, "must be at least 0")
        found: dict[tuple[str, int], list[Translation]] = {}

        def ranked(rank: int) -> pipeline.Search:
            def search(lines: Sequence[str], no_repeat: int) -> dict[str, Translation]:
                new = [line for line in lines if (line, no_repeat) not in found]
                results = self.sentences.translate(new, n_best=n + 1, no_repeat=no_repeat, divides=self._divides)
                found.update({(line, no_repeat): translations for line, translations in results.items()})
                several = {line: found[line, no_repeat] for line in lines}
                return {line: ranking[min(rank, len(ranking) - 1)] for line, ranking in several.items()}

            return search

        (best,) = self.passages([text])
        texts = dict.fromkeys(
            translation.text
            for rank in range(n + 1)
            for translation in pipeline.translate([_one_line(text)], ranked(rank), self._rules)
        )
        return [other for other in texts if other != best.text][:n]

    def documents(self, texts: Sequence[str], check: Callable[[], None] = lambda: None) -> list[list[TranslatedPiece]]:
        """Return the pieces of each document with their translations; the pieces of all are translated together.

        Args:
            check: called for each piece; may raise an exception to give up.
        """
        read = formats.reader(self.options.format, column=self.options.column)
        documents = [list(read(StringIO(text, newline="\n"))) for text in texts]
        wanted = [piece for document in documents for piece in document if piece.translate]
        found = self.pieces(wanted, check)
        return [[(piece, next(found) if piece.translate else None) for piece in document] for document in documents]

    def pieces(self, wanted: Sequence[Piece], check: Callable[[], None] = lambda: None) -> Iterator[Translation]:
        """Yield the translation of each piece of documents of the format, as the format writes it.

        A piece keeps its number of lines.

        Args:
            check: as for `documents`.
        """
        indent, pattern = formats.indent(self.options.format), formats.markup(self.options.format)
        texts = [_held_breaks(formats.content(piece), pattern) for piece in wanted]
        plain = [_one_line(re.sub(rf"\n{indent.pattern}", "\n", text)) if "\n" in text else text for text in texts]
        for piece, source, line, translation in zip(wanted, texts, plain, self.passages(plain), strict=True):
            check()
            if "\n" not in piece.text:
                text = formats.written(translation.text, piece)
                yield translation if text == translation.text else dataclasses.replace(translation, text=text)
                continue
            is_copied = translation.text == line
            lines = source if is_copied else markup.wrapped(translation.text, source, indent, pattern)
            if lines is None:  # too few words for this many lines
                parts = pieces(source, [match.span() for match in re.finditer(r"[^\n]+", source)])
                found = self.passages([part.text for part in parts if part.translate])
                alone = [next(found) if part.translate else Translation(part.text) for part in parts]
                # A line that is not blank must not become blank, which would begin a new paragraph.
                lines = "".join(one.text.strip() or part.text for part, one in zip(parts, alone, strict=True))
                translation = self.sentences.scored(join(alone))
            yield dataclasses.replace(translation, text=lines if _CUT in piece.text else lines.replace(_CUT, "\n"))


def open_glossary(terms: Path | str | Mapping[str, str] | None) -> Glossary | None:
    """Return the glossary of a file or a mapping; UserError, one sentence with the line, if it is wrong."""
    if terms is None:
        return None
    if isinstance(terms, Mapping):
        return Glossary.of(terms)
    return Glossary.read(read_lines(Path(terms)), str(terms))


def joined(document: Iterable[TranslatedPiece]) -> str:
    """Return the translated text of a document."""
    return "".join(piece.text if translation is None else translation.text for piece, translation in document)


def _held_breaks(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text with _CUT for each line break within markup, which is copied and needs no other place.

    A text that has _CUT of its own stays as it is.
    """
    if "\n" not in text or _CUT in text:
        return text
    return re.sub(
        f"{pattern.pattern}|{_CUT}",
        lambda match: "\n" if match[0] == _CUT else match[0],
        text.replace("\n", _CUT),
        flags=pattern.flags,
    )


def _one_line(text: str) -> str:
    """Return a text without its line breaks."""
    return _BREAK.sub(" ", text.removesuffix("\n"))


def _windows(texts: Iterable[str], clean: Callable[[str], str]) -> Iterator[list[str]]:
    """Divide texts into windows of at most WINDOW texts and about _WINDOW_CHARACTERS characters.

    The first windows of an iterator are smaller. A wrong text raises its error after the window of those before it:
    UserError for text that is not Unicode, TypeError for a value that is not text.
    """
    if isinstance(texts, str):
        raise TypeError("a list of texts is expected; one text is translated by calling the translator itself")
    size = WINDOW if isinstance(texts, Sequence) else min(FIRST_WINDOW, WINDOW)
    window, n_characters = list[str](), 0
    try:
        for n, text in enumerate(texts, start=1):
            _require_text(text, n)
            window.append(clean(text))
            n_characters += len(text)
            if len(window) >= size or n_characters >= _WINDOW_CHARACTERS:
                yield window
                window, n_characters, size = [], 0, min(WINDOW, 4 * size)
    except Exception:
        if window:
            yield window
        raise
    if window:
        yield window


def _require_text(text: object, n: int) -> None:
    """Raise an error if text number n is none."""
    if not isinstance(text, str):
        raise TypeError(f"text {n} is {text!r}, which is no text; leave it out, or pass an empty text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"line {n}: not UTF-8 text (at character {error.start + 1}); save it as UTF-8") from error


class ColumnTranslator:
    """A function on batches of rows that adds a column of translations and keeps every row.

    Ray Data (`Dataset.map_batches`) and Hugging Face `datasets` (`Dataset.map` with `batched=True`) call it the same
    way.

    Args:
        model: name of an installed model, a model folder or a run.
        column: name of the column of texts, which may have several lines each; missing values (None, NaN, pandas.NA,
            null) become None.
        beam_size, device, precision: as for `Translator.load`.
    """

    def __init__(
        self,
        model: Path | str,
        column: str,
        into: str,
        *,
        beam_size: int | None = None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        self.translator = Translator.load(model, beam_size=beam_size, device=device, precision=precision)
        self.column, self.into = column, into

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the new column, in its own form: a mapping of columns, or a table of pandas or Arrow.

        The new column is text even if all its values are missing, as a library would otherwise guess another type.

        UserError if the column is missing or holds other values than text, if the new column exists already, or if
        the argument is one row instead of a batch.
        """
        names = getattr(batch, "column_names", None) or list(batch)
        if self.column not in names:
            raise UserError(f'no column "{self.column}" among {", ".join(names)}; name one of them')
        if self.into in names:
            raise UserError(f'a column "{self.into}" exists already and would be lost; choose another name')
        if isinstance(batch[self.column], str):
            raise UserError("one row was given instead of a batch; map over batches, in datasets with batched=True")
        texts = _Texts(None if _is_missing(cell) else _plain(cell) for cell in batch[self.column])
        for text in texts:
            if text is not None and not isinstance(text, str):
                raise UserError(f'column "{self.column}" holds {text!r}, which is not text; name a column of texts')
        translations = iter(self.translator([text for text in texts if text is not None]))
        column = _Texts(None if text is None else next(translations) for text in texts)
        if hasattr(batch, "append_column"):  # Arrow
            return batch.append_column(self.into, column.__arrow_array__())
        if hasattr(batch, "iloc"):  # pandas
            return batch.assign(**{self.into: column.series(batch.index)})
        if hasattr(batch[self.column], "dtype") and all(text is None for text in texts):
            # Ray gives a block without a text as NaN, and guesses types of what it gets back: both columns are text.
            return {**batch, self.column: texts.__arrow_array__(), self.into: column.__arrow_array__()}
        return {**batch, self.into: column}


class _Texts(list[str | None]):
    """Texts that Arrow takes for text, where it would take a list of None for a column without a type."""

    def __arrow_array__(self, type: Any = None) -> Any:
        import pyarrow

        return pyarrow.array(list(self), type or pyarrow.string())

    def series(self, index: Any) -> Any:
        """Return the texts as a column of pandas."""
        import pyarrow

        pandas = sys.modules["pandas"]  # the table comes from it
        return pandas.Series(list(self), index, pandas.ArrowDtype(pyarrow.string()))


def _plain(cell: Any) -> Any:
    """Return the Python value of a cell of Arrow, and other cells unchanged."""
    return cell.as_py() if hasattr(cell, "as_py") else cell


def _is_missing(cell: object) -> bool:
    """Return whether a cell of a table marks a missing value: None, NaN of any width, pandas.NA or NaT, or null."""
    value, pandas = _plain(cell), sys.modules.get("pandas")  # a table with its missing values has imported it
    if value is None or (pandas is not None and (value is pandas.NA or value is pandas.NaT)):
        return True
    return isinstance(value, Real) and isnan(value)
