"""Text in, text out; every line comes back.

`Translator.translate`, which is also what calling a translator does, translates whole texts by all stages of
`translate.inference.pipeline`; `passages` gives their translations with probabilities and flags. `translate_lines`
takes each line as one sentence and leaves it to the model alone: output line n is the translation of input line n, with
the same white space around it, and contains no "\\n".
"""

import copy
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, overload

from translate.errors import OptionError, Say, UserError
from translate.files import decode_line, read_bytes, read_lines
from translate.inference import pipeline
from translate.inference.pipeline import Rules
from translate.inference.search import Engine, SentenceSearch
from translate.machine import bf16_pays, choose_device
from translate.models.folder import CTRANSLATE2_FILE, ModelFolder, TranslationSpec, Weights, mended_by_update
from translate.models.registry import lacking_rules, locate
from translate.options import is_language_code, spelled
from translate.text import formats, languages
from translate.text.formats import TABLES, WINDOW, Paragraph, windows
from translate.text.placeholders import in_language, tagged
from translate.text.sentences import Piece
from translate.text.translation import (
    Document,
    Format,
    Opening,
    Precision,
    Search,
    Translation,
    join,
    one_line,
    require_beam,
)

if TYPE_CHECKING:
    import torch

    from translate.documents.document import ParsedDocument, Reading, Unit
    from translate.inference.ctranslate2_engine import ComputeType, CTranslate2Engine
    from translate.inference.torch_engine import TorchEngine, TorchPrecision
    from translate.text.glossary import Glossary
    from translate.text.headings import Headings

FIRST_TEXTS = 16  # of an iterator that are translated together

TranslatedPiece = tuple[Piece, Translation | None]  # None for a piece that is copied


class Translator:
    """A model that translates text.

    Args:
        model: an open model folder, or another engine; `Translator.load` opens one.
        search: how to search; its `rerank` is not read, as it belongs to opening models.
        document: what the texts are.
        reranker: an open folder with a model of the opposite direction, or its engine, that reranks the hypotheses of
            the beam. UserError if it is for other languages.
        raise_if_cancelled: called before the work on each sentence and on each piece; may raise an exception to give
            up.

    UserError for a glossary with a model that has no placeholder symbols, and for values that the model cannot follow.

    Attributes:
        document: what the texts are, with a format.
        markup: matches the placeholders of texts; None is the pattern of the format.
        language: what pages and documents state as that of the translation: the target of the model, in the region that
            was asked for.
        glossary: the terms of the document; None has none.
        sentence_search: translates sentences with the model.
        limit: tokens of the longest sentence that is translated as a whole.
    """

    def __init__(
        self,
        model: ModelFolder | Engine,
        search: Search | None = None,
        document: Document | None = None,
        *,
        reranker: ModelFolder | Engine | None = None,
        raise_if_cancelled: Callable[[], None] = pipeline.never_cancelled,
    ) -> None:
        if isinstance(model, str | Path):
            raise TypeError(f"expected an open model, not {str(model)!r}; Translator.load({str(model)!r}) opens it")
        _check_options(search, document)
        self.engine: Engine = _torch(model) if isinstance(model, ModelFolder) else model
        search, document = search or Search(), document or Document()
        self._raise_if_cancelled = raise_if_cancelled
        self._given = document
        self.document = document if document.format else replace(document, format="text", column=1)
        self.markup: re.Pattern[str] | None = None
        self.language = self.engine.spec.target
        self.glossary = open_glossary(document.terms, self.engine.spec.source, self.engine.spec.target)
        if self.glossary is not None and not self.engine.tokenizer.n_placeholders:
            raise UserError(
                f"{self.engine.folder}: the model has no placeholder symbols to hold the terms of a glossary with; "
                "leave the glossary out or choose another model"
            )
        self.reranker: Engine | None = _torch(reranker) if isinstance(reranker, ModelFolder) else reranker
        config = search.config(self.engine.spec.decoding, reranks=self.reranker is not None)
        phrases = None
        if search.constrain is not None:
            from translate.inference.constraints import Constraints

            phrases = Constraints.read(search.constrain, self.engine).phrases
        self.sentence_search = SentenceSearch(self.engine, config, self.reranker, phrases, search.formality)
        self.limit = self.sentence_search.limit

    @classmethod
    def load(
        cls,
        path: Path | str,
        search: Search | None = None,
        document: Document | None = None,
        opening: Opening | None = None,
        *,
        say: Say | None = None,
    ) -> "Translator":
        """Open an installed model, a model folder or the model of a run directory.

        Args:
            path: the name or the folder; of a folder whose name an installed model has too, text such as "./NAME".
            search, document, opening: how to search, what the texts are, and where to compute; the model of `opening`
                must be None, since `path` names it.
            say: receives a note on which model of a run is used; None writes it to stderr.

        Raises UserError or CheckpointError, one sentence, if the folder cannot be used.
        """
        say = say or (lambda message: print(message, file=sys.stderr))
        _check_options(search, document, opening)
        opening, search = opening or Opening(), search or Search()
        if opening.model is not None:
            named = f"{str(path)!r} and model={str(opening.model)!r}"
            raise TypeError(f"two models are named, {named}; leave the latter out")
        engine = open_engine(locate(path, say, exported=True), opening)
        reranker = None
        if search.rerank:
            reranker = open_scorer(locate(search.rerank, say, exported=True), opening, engine.spec.source)
        translator = cls(engine, search, document, reranker=reranker)  # before the notes, which an error makes useless
        if opening.target:
            translator.language = stated_language(opening.target, engine.spec.target)
        if not engine.can_align:
            say(
                f"{engine.folder}: was exported without a layer for alignments, so formatting stays within sentences "
                "and may change their words; export it again"
            )
        if not (document and document.is_bare):
            for note in lacking_rules(engine.spec):
                say(note)
        return translator

    def __repr__(self) -> str:
        spec = self.engine.spec
        return f"<Translator from {spec.source} to {spec.target}, {self.engine.folder}>"

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
        # Now, not at the first use of the iterator.
        if isinstance(text, bytes | Mapping) or not isinstance(text, Iterable):
            raise TypeError(f"expected a text or an iterable of texts, not {type(text).__name__}")
        self._check_column(self.document.format)
        if isinstance(text, str):
            return next(self._texts([text]))
        return list(self._texts(text)) if isinstance(text, list | tuple) else self._texts(text)

    translate = __call__

    def _check_column(self, format: Format | None) -> None:
        """Raise OptionError if a column of any table was asked for, and the format of a text is not that of a table."""
        if self._given.format is None:
            replace(self._given, format=format)

    def _texts(self, texts: Iterable[str]) -> Iterator[str]:
        for window in _windows(texts, str):
            yield from map(joined, self.translate_in_pieces(window))

    def translate_in_pieces(self, texts: Sequence[str]) -> list[list[TranslatedPiece]]:
        """Return the pieces of each text with their translations; the pieces of all texts are translated together."""
        read = formats.reader(self.document.format, column=self.document.column)
        divided = [list(read(StringIO(text, newline="\n"))) for text in texts]
        found = self.pieces([piece for pieces in divided for piece in pieces if piece.translate])
        return [[(piece, next(found) if piece.translate else None) for piece in pieces] for pieces in divided]

    def pieces(self, wanted: Sequence[Piece]) -> Iterator[Translation]:
        """Yield the translation of each piece of texts in the format, as the format writes it.

        A piece keeps its number of lines.
        """
        paragraphs = [Paragraph(piece, self.document.format) for piece in wanted]
        found = self.passages([paragraph.plain for paragraph in paragraphs])
        for paragraph, translation in zip(paragraphs, found, strict=True):
            self._raise_if_cancelled()
            text = paragraph.laid_out(translation.text)
            if text is not None and paragraph.piece.form in ("language", "code"):
                from translate.text.markup import with_language  # which only pages need

                text = with_language(text, self.engine.spec.source, self.language)
            if text is None:
                whole = self._line_by_line(paragraph)
            else:
                whole = translation if text == translation.text else replace(translation, text=text)
            headings = paragraph.piece.headings
            yield whole if headings is None else self._linked(whole, headings)

    def _linked(self, translation: Translation, headings: "Headings") -> Translation:
        """Return a translation whose links name the translated headings, which are translated alike in their places."""
        if not headings.are_translated:
            found = self.pieces([Piece(text, translate=True) for text in headings.texts])
            headings.translate([heading.text for heading in found])
        return replace(translation, text=headings.linked(translation.text))

    def _line_by_line(self, paragraph: Paragraph) -> Translation:
        """Return a translation with a line for each line, where that of the whole has too few words."""
        parts = paragraph.lines()
        found = self.passages([part.text for part in parts if part.translate])
        alone = [next(found) if part.translate else Translation(part.text) for part in parts]
        text = paragraph.joined(parts, [translation.text for translation in alone])
        return replace(self.sentence_search.scored(join(alone)), text=text)

    def passages(self, texts: Iterable[str]) -> Iterator[Translation]:
        """Translate each text by all stages, with probabilities and flags; a "\\n" within a text counts as a space.

        At most WINDOW texts are read ahead. UserError for text that is not Unicode.
        """
        for window in _windows(texts, one_line):
            yield from map(self._finished, pipeline.translate(window, self._model, self._rules))

    @property
    def _rules(self) -> Rules:
        """The settings of the pipeline."""
        spec, document = self.engine.spec, self.document
        return Rules(
            source=spec.source,
            target=spec.target,
            n_symbols=self.engine.tokenizer.n_placeholders,
            segments=document.format != "lines",
            checks=document.checks,
            markup=in_language(self.markup or formats.markup(document.format), spec.source),
            glossary=self.glossary,
            knows=self.engine.tokenizer.knows,
            aligner=self.sentence_search if self.engine.can_align else None,
            raise_if_cancelled=self._raise_if_cancelled,
        )

    def _model(self, sentences: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
        """Return the best translation of each sentence; see `pipeline.Model`."""
        found = self.sentence_search.translate(sentences, no_repeat=no_repeat, divides=not self.document.is_bare)
        return {sentence: translations[0] for sentence, translations in zip(sentences, found, strict=True)}

    def _finished(self, translation: Translation) -> Translation:
        """Return a translation with its score and, with checks, the flag of a low probability."""
        if self.document.checks:
            spec = self.engine.spec
            translation = translation.with_confidence_flag(spec.low_confidence, spec.low_rerank_score)
        return self.sentence_search.scored(translation)

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
        require_beam(n, self.sentence_search.config)
        return self._n_best(lines, n)

    def _n_best(self, lines: Iterable[str], n: int) -> Iterator[list[Translation]]:
        for window in _windows(lines, one_line):
            for translations in self.sentence_search.translate(window, n_best=n):
                yield [self.sentence_search.scored(translation) for translation in translations]

    def alternatives(self, text: str, n: int) -> list[str]:
        """Return up to n other translations of a passage, best first; all differ from each other and from the best one.

        They are made of the second best translations of its sentences, the third best, and so on. If the beam is too
        narrow, it is widened for them, but not for the best translation. OptionError if n is negative.
        """
        if n < 0:
            raise OptionError("n", n, "must be at least 0")
        found: dict[tuple[str, int], list[Translation]] = {}

        def model(rank: int, lines: Sequence[str], no_repeat: int = 0) -> dict[str, Translation]:
            new = [line for line in lines if (line, no_repeat) not in found]
            results = self.sentence_search.translate(
                new, n_best=n + 1, no_repeat=no_repeat, divides=not self.document.is_bare
            )
            found.update(zip(((line, no_repeat) for line in new), results, strict=True))
            several = {line: found[line, no_repeat] for line in lines}
            return {line: ranking[min(rank, len(ranking) - 1)] for line, ranking in several.items()}

        (best,) = self.passages([text])
        texts = dict.fromkeys(
            translation.text
            for rank in range(n + 1)
            for translation in pipeline.translate([one_line(text)], partial(model, rank), self._rules)
        )
        return [other for other in texts if other != best.text][:n]

    def for_format(self, format: Format, markup: re.Pattern[str] | None = None) -> "Translator":
        """Return this translator for another format; `markup` as in the attributes."""
        other = copy.copy(self)
        other.document = replace(self.document, format=format, column=self._given.column if format in TABLES else 1)
        other.markup = markup
        return other

    def translate_file(
        self,
        file: Path | str | bytes,
        name: str | None = None,
        *,
        final: bool = False,
        replace_all: bool = False,
        force: bool = False,
        earlier: Path | str | bytes | None = None,
    ) -> bytes:
        """Return a translated file: a document, or text in a format that the name says, in UTF-8.

        Args:
            file: its path, or its content with a `name`.
            final: whether machine translations are not marked as such, in formats that can.
            replace_all: whether translations that the file has already are replaced.
            force: whether a signed document is translated, which makes its signature invalid.
            earlier: a translation of an earlier version of a file of strings, such as "de.json", which keeps what it
                has for the keys of this one; the path of that, or its content.

        UserError, one sentence, for a file that cannot be read, or is damaged or of an unknown format.
        """
        from translate.documents import document
        from translate.documents.earlier import update

        name = name or (None if isinstance(file, bytes) else str(file))
        if name is None:
            raise TypeError('the content of a file needs a name, such as name="letter.docx"')
        data = file if isinstance(file, bytes) else read_bytes(Path(file))
        if document.has_format(name):
            self._check_column("text")
            source, target = self.engine.spec.source, self.language
            reading = document.Reading(
                name=name, source=source, target=target, final=final, replace=replace_all, force=force
            )
            if earlier is None:
                return self.translate_document(data, reading)
            old, old_name = (earlier, name) if isinstance(earlier, bytes) else (read_bytes(Path(earlier)), str(earlier))
            return self._written(update(data, reading, old, old_name).document, reading)
        if earlier is not None:
            raise UserError(f"{name}: is no file of strings, whose translation can be updated; leave out `earlier`")
        lines = "\n".join(decode_line(line, name, n) for n, line in enumerate(data.split(b"\n"), start=1))
        mark = "\ufeff" if data.startswith(BOM_UTF8) else ""
        return self.for_format(formats.guess_format(Path(name)))(mark + lines).encode()

    def translate_document(self, data: bytes, reading: "Reading") -> bytes:
        """Return a translated document."""
        from translate.documents import document

        return self._written(document.read(data, reading), reading)

    def _written(self, document: "ParsedDocument", reading: "Reading") -> bytes:
        return document.write(self.texts(document.units, reading))

    def texts(self, units: Sequence["Unit"], reading: "Reading") -> list[str | None]:
        """Return what is written for each text of a document; None where the document keeps its own."""
        from translate.inference.documents import unit_windows, written

        texts: list[str | None] = [None] * len(units)
        for window in unit_windows(units, reading):
            found = self.units([units[n] for n in window])
            for n, translation in zip(window, found, strict=True):
                texts[n] = written(translation)
        return texts

    def units(self, wanted: Sequence["Unit"]) -> Iterator[Translation]:
        """Yield the translation of each text of a document; see `translate.inference.documents`."""
        from translate.inference.documents import keeps_tags, pieces

        divided = [pieces(unit) for unit in wanted]
        found = self.for_format("text", tagged()).pieces([one for own in divided for one in own if one.translate])
        for unit, own in zip(wanted, divided, strict=True):
            parts = [next(found) if piece.translate else Translation(piece.text) for piece in own]
            whole = parts[0] if parts else Translation(unit.text)
            if len(parts) > 1:
                translated = join([part for part, piece in zip(parts, own, strict=True) if piece.translate])
                whole = replace(self.sentence_search.scored(translated), text="".join(part.text for part in parts))
            if not keeps_tags(unit.text, whole.text):
                whole = replace(whole, text=unit.text).flagged("tags")
            yield whole


def _check_options(search: object, document: object, opening: object = None) -> None:
    """Raise TypeError for options in the place of others."""
    options = ("search", search, Search), ("document", document, Document), ("opening", opening, Opening)
    for name, value, kind in options:
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name} is of the type {type(value).__name__}; expected {name}={kind.__name__}(...)")


def stated_language(asked: str, target: str) -> str:
    """Return what a translation states as its language: the code that was asked for if it is one in a region.

    Args:
        target: the language of the model that was found for it.
    """
    is_in_region = asked != target and is_language_code(asked) and languages.region(asked)
    return spelled(asked).replace("_", "-") if is_in_region else target


def open_engine(folder: Path, opening: Opening | None = None) -> "CTranslate2Engine | TorchEngine":
    """Load a model folder, or a CTranslate2 folder of `translate export`, which is found already.

    CTranslate2 on CPUs; PyTorch on GPUs, for bf16, and for models that CTranslate2 cannot load.

    Raises UserError or CheckpointError if the folder cannot be used, or if the engine has no such precision or device.
    """
    with mended_by_update(folder):
        return _opened(folder, opening or Opening())


def _opened(folder: Path, opening: Opening) -> "CTranslate2Engine | TorchEngine":
    from translate.inference.ctranslate2_engine import CTranslate2Engine, package

    name, precision, device, threads = opening.engine, opening.precision, opening.device, opening.threads
    if (folder / CTRANSLATE2_FILE).is_file():
        engine = None if name == "torch" else CTranslate2Engine.open(folder, threads, device or "auto", opening.target)
        if engine is None or (precision not in (None, "auto") and precision != engine.precision):
            raise UserError(f"{folder}: a CTranslate2 folder has an engine and a precision of its own; leave them out")
        return engine
    if name == "ctranslate2" and device not in (None, "cpu"):
        raise UserError(f"the engine ctranslate2 computes on the CPU, not on {device}; leave one of them out")
    if name == "ctranslate2" or (name == "auto" and precision != "bf16" and _on_cpu(device)):
        try:
            chosen = precision or ("int8" if Weights.read(folder).precision == "int8" else "fp32")
            kind: ComputeType = "float32" if chosen == "fp32" else "int8"
            return CTranslate2Engine.convert(folder, threads, kind, opening.target)
        except UserError:  # PyTorch says better what is wrong with a folder
            if name == "ctranslate2" or precision == "int8":
                raise
    if precision == "int8":
        package()  # names the package if it is missing
        raise UserError("int8 needs CTranslate2, which computes on the CPU; leave the device out, or use bf16")
    return open_members([folder], opening)


def towards(engine: Engine, target: str) -> Engine:
    """Return an engine of the same loaded model for one of its target languages; UserError if it lacks the language."""
    from translate.inference.ctranslate2_engine import CTranslate2Engine

    spec = engine.spec.towards(target)
    if spec is engine.spec:
        return engine
    if isinstance(engine, CTranslate2Engine):
        return replace(engine, spec=spec)
    other = copy.copy(engine)
    other.spec = spec
    return other


def open_members(folders: Sequence[Path], opening: Opening) -> "TorchEngine":
    """Load the model folders of an ensemble in PyTorch, which also draws, forces words and lists other tokens."""
    from translate.inference.torch_engine import TorchEngine

    device = choose_device(opening.device)
    first, *others = (ModelFolder.open(folder, device, opening.target) for folder in folders)
    return TorchEngine(first, _torch_precision(opening.precision, device), others)


def _torch_precision(precision: Precision | None, device: "torch.device") -> "TorchPrecision":
    return "bf16" if precision == "bf16" or (precision == "auto" and bf16_pays(device)) else "fp32"


def open_scorer(folder: Path, opening: Opening, target: str | None = None) -> "CTranslate2Engine | TorchEngine":
    """Load a model that scores given translations, into the language `target`, as `open_engine`.

    Scores are never in bf16, whose rounding would change which sentences are flagged; so "auto", which may be bf16, is
    the precision of the stored weights.
    """
    target = target if TranslationSpec.load(folder).speaks(None, target) else None
    exact: dict[Precision | None, Precision | None] = {"bf16": "fp32", "auto": None}
    precision = exact.get(opening.precision, opening.precision)
    return open_engine(folder, replace(opening, precision=precision, target=target))


def _on_cpu(device: str | None) -> bool:
    """Return whether the device is a CPU; torch is imported only if there is a GPU that it might use."""
    if device is not None:
        return device == "cpu"
    from translate.inference.ctranslate2_engine import package

    try:
        has_gpu = package().get_cuda_device_count() > 0
    except (UserError, RuntimeError):  # CTranslate2 is missing or broken, so PyTorch is used anyway
        return False
    return not has_gpu or choose_device().type == "cpu"


def _torch(model_folder: ModelFolder) -> "TorchEngine":
    from translate.inference.torch_engine import TorchEngine

    return TorchEngine(model_folder)


def open_glossary(
    terms: Path | str | Mapping[str, str] | None, source: str = "", target: str = ""
) -> "Glossary | None":
    """Return the glossary of a file or a mapping; UserError, one sentence with the line, if it is wrong.

    Args:
        terms: of a translation memory (.tmx), each source segment is a term with its first translation.
        source, target: languages of the memory's pairs.
    """
    if terms is None:
        return None
    from translate.text.glossary import Glossary  # most texts need none

    if isinstance(terms, Mapping):
        return terms if isinstance(terms, Glossary) else Glossary.of(terms)
    if Path(terms).suffix.lower() != ".tmx":
        return Glossary.read(read_lines(Path(terms)), str(terms))
    from translate.documents import tmx  # imports a parser of XML

    found = dict[str, str]()
    for term, translation in tmx.pairs(Path(terms), source, target):
        if any(map(str.isalnum, term)) and "|" not in term:  # which would divide forms
            found.setdefault(term, translation)
    if not found:
        raise UserError(f"{terms}: has no unit in {source!r} and {target!r}; export the memory with both languages")
    return Glossary.of(found)


def joined(pieces: Iterable[TranslatedPiece]) -> str:
    """Return the text that translated pieces make up."""
    return "".join(piece.text if translation is None else translation.text for piece, translation in pieces)


def _windows(texts: Iterable[str], clean: Callable[[str], str]) -> Iterator[list[str]]:
    """Divide texts into windows; those of an iterator, whose first result should come soon, are small at first.

    A wrong text raises its error after the window of those before it: UserError for text that is not Unicode, TypeError
    for a value that is not text.
    """
    if isinstance(texts, str):
        raise TypeError("a list of texts is expected; one text is translated by calling the translator itself")
    mistakes: list[Exception] = []

    def pieces() -> Iterator[Piece]:
        try:
            for n, text in enumerate(texts, start=1):
                yield Piece(clean(_required(text, n)), translate=True)
        except Exception as error:
            mistakes.append(error)

    for window in windows(pieces(), first=WINDOW if isinstance(texts, Sequence) else FIRST_TEXTS):
        yield [piece.text for piece in window]
    for mistake in mistakes:
        raise mistake


def _required(text: object, n: int) -> str:
    """Return text number n; raise an error if it is none."""
    if not isinstance(text, str):
        raise TypeError(f"text {n} is {text!r}, which is no text; leave it out, or pass an empty text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"line {n}: not UTF-8 text (at character {error.start + 1}); save it as UTF-8") from error
    return text
