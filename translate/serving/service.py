"""The work of the server, without HTTP: languages, detection, translation; and the requests in progress."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from queue import SimpleQueue
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from translate.documents import document as documents
from translate.documents.document import SignedError, Unit
from translate.documents.earlier import update
from translate.errors import UserError
from translate.inference.alignment import WordAttention, word_attention
from translate.inference.formatting import take_out
from translate.inference.search import LIMIT, Engine, tag_of, without_tag
from translate.inference.translator import TranslatedPiece, Translator, joined
from translate.models.folder import has_forms_of_address
from translate.models.registry import language_name
from translate.serving.access import RefusedError
from translate.serving.engines import (
    RETRY_SECONDS,
    CancelledError,
    ModelPool,
    ModelUnavailableError,
    Scheduler,
    SharedEngine,
    Ticket,
)
from translate.serving.schemas import Formality
from translate.text import formats, languages
from translate.text.formats import FORMATS, Paragraph
from translate.text.glossary import Glossary
from translate.text.sentences import Piece
from translate.text.translation import Document, Format, FormOfAddress, Search, Translation

T = TypeVar("T")

Detection = dict[str, object]  # the language and the confidence in percent, as LibreTranslate writes them

Sentence = dict[str, object]  # source, translation and flags

_FORMS: dict[Formality, FormOfAddress | None] = {
    "default": None,
    "formal": "formal",
    "more": "formal",
    "prefer_more": "formal",
    "informal": "informal",
    "less": "informal",
    "prefer_less": "informal",
}

UNKNOWN = "unknown"  # instead of the code of a language

_LEAST_CONFIDENCE = 1.0  # percent; less probable languages are not listed
_PIECES_AT_A_TIME = 16  # of one request for alternatives
_N_DURATIONS = 32  # from which the time until the next free place is estimated


@dataclass(frozen=True)
class Translated:
    """Translations of texts.

    Attributes:
        texts: one for each text.
        alternatives: other translations of each text.
        detected: the source language; None without detection.
        sentences: sentences of each text.
    """

    texts: list[str]
    alternatives: list[list[str]]
    detected: Detection | None
    sentences: list[list[Sentence]]


@dataclass(frozen=True)
class UploadedDocument:
    """A document to translate.

    Attributes:
        name: of the file, without its folder.
        source, target: language codes; the source may be "auto".
        limit: bytes that its parts may have together when unpacked.
        formality: the form of address.
        language: what the translation states as its language; "" for the target.
        earlier: name and content of a translation of an earlier version; None if there is none.
    """

    content: bytes
    name: str
    source: str
    target: str
    limit: int
    formality: Formality = "default"
    language: str = ""
    earlier: tuple[str, bytes] | None = None

    def reading(self, source: str) -> documents.Reading:
        """Return how the document is read when its language is known, or "" if not."""
        return documents.Reading(name=self.name, source=source, target=self.language or self.target, limit=self.limit)

    def read(self, source: str) -> documents.ParsedDocument:
        """Return the document, with what an earlier translation has; UserError if one of them cannot be read."""
        if self.earlier is None:
            return documents.read(self.content, self.reading(source))
        name, content = self.earlier
        return update(self.content, self.reading(source), content, name).document


class Service:
    """Translates with the models of a pool.

    Args:
        pool: the models.
        scheduler: searches for the sentences of all requests.
        search: how to search; None takes each model's defaults.

    Attributes:
        codes: the codes of all languages, in alphabetical order.
    """

    def __init__(self, pool: ModelPool, scheduler: Scheduler, search: Search | None = None) -> None:
        self.pool, self.scheduler = pool, scheduler
        self.codes = sorted({code for pair in pool.pairs for code in pair})
        self._search = search or Search()
        self._reading = threading.Lock()  # held while a document is read or written
        self._of_format = {format: Document(format=format) for format in FORMATS}

    def languages(self) -> list[dict[str, object]]:
        """Return the languages with their targets, as LibreTranslate lists them."""
        return [
            {"code": code, "name": language_name(code), "targets": [t for s, t in self.pool.pairs if s == code]}
            for code in self.codes
        ]

    def detect(self, texts: Iterable[str], candidates: Collection[str] | None = None) -> list[Detection]:
        """Return the languages that texts may be in, most probable first; only `UNKNOWN` if none is probable.

        The confidence of `UNKNOWN` is that of the most probable language.

        Args:
            texts: in one language.
            candidates: codes of the expected languages; None expects all languages of the server.

        Raises RefusedError if the server cannot detect languages.
        """
        ranked = self._ranking(texts, self.codes if candidates is None else candidates)
        if ranked and not languages.is_clear(ranked):
            ranked = [(UNKNOWN, ranked[0][1])]
        found = [(code, round(100 * probability, 1)) for code, probability in ranked]
        return [
            {"confidence": confidence, "language": code}
            for n, (code, confidence) in enumerate(found)
            if not n or confidence >= _LEAST_CONFIDENCE
        ]

    def _ranking(self, texts: Iterable[str], candidates: Collection[str]) -> list[tuple[str, float]]:
        try:
            return languages.ranking(texts, candidates)
        except UserError as error:  # fastText is missing
            raise RefusedError(500, "This server cannot detect languages") from error

    def code(self, given: str) -> str:
        """Return the code of a language as its model spells it, as `languages.lookup` finds it; another text stays."""
        return languages.lookup(given, ("auto", *self.codes)) or given

    def check_languages(self, source: str, target: str) -> None:
        """Raise RefusedError unless there is a model for a pair of languages, or both are the same."""
        for code in (source, target) if source != "auto" else (target,):
            if code not in self.codes:
                raise RefusedError(400, f"{code} is not supported")
        if source not in ("auto", target) and (source, target) not in self.pool.pairs:
            names = [f"{language_name(code)} ({code})" for code in (target, source)]
            raise RefusedError(400, f"{names[0]} is not available as a target language from {names[1]}")

    def translate(
        self,
        ticket: Ticket,
        texts: Sequence[str],
        source: str,
        target: str,
        format: Format,
        n_alternatives: int = 0,
        glossary: Glossary | None = None,
        formality: Formality = "default",
        language: str = "",
    ) -> Translated:
        """Translate texts; blocks until all are done.

        Args:
            source: language code; "auto" detects one language for all texts. If it is unknown, that of the models into
                `target` is taken which is most probable.
            target: language code; texts in this language are returned unchanged.
            format: one of `translate.text.formats.FORMATS`.
            n_alternatives: number of other translations of each text.
            formality: the form of address.
            language: what pages state as the language of the translation; "" for the target.

        Raises RefusedError if there is no such model, if it cannot be loaded or cannot use a glossary or choose a form
        of address, and CancelledError.
        """
        source, detected = self._source(texts, source, target, format)
        if source == target:
            same = [[_sentence(text, Translation(text))] for text in texts]
            return Translated(list(texts), [[] for _ in texts], detected, same)
        try:
            with self.pool.engine((source, target)) as engine:
                translator = self._translator(engine, ticket, format, glossary, formality)
                translator.language = language or target
                translated = translator.translate_in_pieces(texts)
                others = [_alternatives(translator, text, n_alternatives, ticket.raise_if_cancelled) for text in texts]
        except ModelUnavailableError as error:
            raise _unavailable(error) from error
        sentences = [_sentences(pieces) for pieces in translated]
        return Translated([*map(joined, translated)], others, detected, sentences)

    def _translator(
        self, engine: Engine, ticket: Ticket, format: Format, glossary: Glossary | None, formality: Formality
    ) -> Translator:
        """Return a translator for a request, with the search threads of all; RefusedError as for `translate`."""
        if glossary is not None and not engine.tokenizer.n_placeholders:
            raise RefusedError(400, "The model of this language pair has no symbols for a glossary")
        document = self._of_format[format] if glossary is None else Document(format=format, terms=glossary)
        form = _form_of_address(engine, formality)
        search = self._search if form is None else replace(self._search, formality=form)
        return Translator(
            SharedEngine(engine, self.scheduler, ticket), search, document, raise_if_cancelled=ticket.raise_if_cancelled
        )

    def _source(self, texts: Sequence[str], source: str, target: str, format: Format) -> tuple[str, Detection | None]:
        """Return the language to translate from, and what was detected; see `translate`."""
        detected = None
        if source == "auto":
            sources = {s for s, t in self.pool.pairs if t == target}
            prose = list(formats.prose(texts, format))
            found = self.detect(prose, sources | {target})
            detected = found[0] if found else {"confidence": 0.0, "language": target}
            source = str(detected["language"])
            if source == UNKNOWN:
                ranked = self._ranking(prose, sources)
                source = next((code for code, _ in ranked if code in sources), target)
        self.check_languages(source, target)
        return source, detected

    def units(self, file: UploadedDocument, source: str = "") -> list[Unit]:
        """Return the texts of a document, which may depend on its source language; RefusedError if it is damaged."""
        with self._opened(file, source) as read:
            return list(read.units)

    @contextmanager
    def _opened(self, file: UploadedDocument, source: str) -> Iterator[documents.ParsedDocument]:
        """Yield a document; RefusedError if it cannot be read, or written in this block."""
        try:
            with self._reading:
                yield file.read(source)
        except SignedError as error:
            raise RefusedError(
                400, "Invalid request: the document is signed, and its translation would not be"
            ) from error
        except UserError as error:
            raise RefusedError(400, f"Invalid request: {error}") from error

    def translate_document(
        self, ticket: Ticket, file: UploadedDocument, units: Sequence[Unit], glossary: Glossary | None = None
    ) -> bytes:
        """Return a translated document; errors as for `translate`, and RefusedError if it is damaged.

        Args:
            units: those of the document in `file.source`.
        """
        source, _ = self._source([unit.text for unit in units], file.source, file.target, "text")
        if source == file.target:
            return file.content
        if source != file.source:
            units = self.units(file, source)
        ticket.raise_if_cancelled()
        try:
            with self.pool.engine((source, file.target)) as engine:
                translator = self._translator(engine, ticket, "text", glossary, file.formality)
                texts = translator.texts(units, file.reading(source))
        except ModelUnavailableError as error:
            raise _unavailable(error) from error
        with self._opened(file, source) as read:
            return read.write(texts)

    def check_model(self, source: str, target: str) -> None:
        """Raise RefusedError unless there is a model for a pair of languages."""
        if (source, target) not in self.pool.pairs:
            raise RefusedError(400, f"There is no model from {source} to {target}")

    def attention(
        self,
        ticket: Ticket,
        text: str,
        translation: str,
        source: str,
        target: str,
        format: Format = "text",
        formality: Formality = "default",
    ) -> WordAttention:
        """Return how much each word of a translation attends to each word of its source, which is one sentence.

        Formatting, in HTML, is left out of both, as it is for the search.

        Raises RefusedError if the model cannot be loaded or cannot choose this form of address, or if a sentence is too
        long, and CancelledError.
        """
        if format != "text":
            text, translation = (take_out(side, formats.markup(format)).text for side in (text, translation))
        try:
            with self.pool.engine((source, target)) as engine:
                tag = tag_of(engine, _form_of_address(engine, formality))
                given, made = engine.tokenizer.encode(text), engine.tokenizer.target.encode(translation)
                width = max(len(tag) + len(given), len(made)) + 1
                if width > (engine.max_positions or LIMIT):
                    raise RefusedError(400, "A sentence is longer than the model's limit; an alignment needs all of it")
                (weights,) = SharedEngine(engine, self.scheduler, ticket).align([[*tag, *given]], [made])
                return word_attention(engine.tokenizer, text, translation, without_tag(weights, tag))
        except ModelUnavailableError as error:
            raise _unavailable(error) from error
        except UserError as error:  # it was exported without a layer for them
            raise RefusedError(503, "The alignments of this model cannot be computed", int(RETRY_SECONDS)) from error


class Threads:
    """One thread for each call at a time, as the caller limits their number; a thread waits for the next call.

    The end of the process does not wait for them: nothing can stop a thread that computes.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._changed = threading.Condition()
        self._n_threads = self._n_busy = 0

    def run(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """Call a function in a thread; return a future of the running event loop with its result or exception."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def call() -> None:
            try:
                give = partial(done.set_result, function())
            except BaseException as error:  # of any kind: it belongs to whoever waits
                give = partial(done.set_exception, error)
            with self._changed:
                self._n_busy -= 1
                self._changed.notify_all()
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(lambda: None if done.done() else give())

        with self._changed:
            self._n_busy += 1
            is_new = self._n_busy > self._n_threads
            self._n_threads += is_new
        self._calls.put(call)
        if is_new:
            threading.Thread(target=self._work, name="request", daemon=True).start()
        return done

    def join(self, seconds: float) -> bool:
        """Wait so long for all calls, and end the threads; return whether the calls have ended."""
        with self._changed:
            ended = self._changed.wait_for(lambda: not self._n_busy, seconds)
            for _ in range(self._n_threads):
                self._calls.put(None)
            self._n_threads = 0
        return ended

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # it holds a request, which may be large


class Requests:
    """The requests in progress.

    Args:
        scheduler: searches for their sentences.
        max_requests: number of requests at a time; more are refused.
        timeout: seconds for one request.
    """

    def __init__(self, scheduler: Scheduler, max_requests: int, timeout: float) -> None:
        self._scheduler, self._max_requests, self._timeout = scheduler, max_requests, timeout
        self._threads = Threads()
        self._durations: deque[float] = deque(maxlen=_N_DURATIONS)
        self.n_active = 0

    def raise_if_full(self) -> None:
        """Raise RefusedError if too many requests are in progress."""
        if self.n_active >= self._max_requests:
            raise self._busy()

    async def run(self, request: Request, client: str, function: Callable[[Ticket], T]) -> T:
        """Call a function in a thread and return what it returns.

        Call `raise_if_full` before. Raises RefusedError if the time is over, and ClientDisconnect if the client goes.
        """
        ticket, start = Ticket(client), time.monotonic()
        self.n_active += 1
        work = self._threads.run(lambda: function(ticket))
        work.add_done_callback(lambda done: self._end(done, start))
        gone = asyncio.ensure_future(_disconnected(request))
        both: set[asyncio.Future[Any]] = {work, gone}
        try:
            await asyncio.wait(both, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if gone.done():
                raise ClientDisconnect
            raise RefusedError(504, f"The translation took more than {self._timeout:g} seconds and was stopped")
        except (CancelledError, asyncio.CancelledError) as error:  # the server stops; uvicorn cancels after --grace
            raise self._busy() from error
        finally:
            gone.cancel()
            if not work.done():
                self._scheduler.cancel(ticket)

    def close(self, seconds: float) -> bool:
        """Wait so long for the threads; return whether they have ended."""
        return self._threads.join(seconds)

    def _end(self, done: "asyncio.Future[T]", start: float) -> None:
        """Free the place of a request, whose thread has ended."""
        self.n_active -= 1
        self._durations.append(time.monotonic() - start)
        if not done.cancelled():
            done.exception()  # only this client asks for it, and it has gone

    def _busy(self) -> RefusedError:
        """Return the error of a server that has no place left, with the time until about the next request ends."""
        mean = sum(self._durations) / max(1, len(self._durations))
        return busy(min(60, max(1, round(mean))))


def busy(seconds: int) -> RefusedError:
    """Return the error of a server that has no capacity left; `seconds` is when to try again."""
    return RefusedError(503, "The server is busy; try again later", seconds)


async def _disconnected(request: Request) -> None:
    """Return when the client closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _form_of_address(engine: Engine, formality: Formality) -> FormOfAddress | None:
    """Return the form of address that a request asks for; RefusedError if the model cannot choose it."""
    form = _FORMS[formality]
    if form is None or has_forms_of_address(engine.tokenizer, engine.spec):
        return form
    if formality.startswith("prefer"):
        return None
    raise RefusedError(
        400,
        "The model of this language pair cannot choose the form of address; leave formality out, or send prefer_more "
        "or prefer_less",
    )


def _unavailable(error: ModelUnavailableError) -> RefusedError:
    return RefusedError(503, str(error), int(RETRY_SECONDS))


def _sentences(pieces: Sequence[TranslatedPiece]) -> list[Sentence]:
    """Return the sentences of a text and the text between them, in order; joined they are the text.

    A paragraph that has line breaks within sentences is one sentence.
    """
    found = list[Sentence]()
    for piece, translation in pieces:
        whole = translation or Translation(piece.text)
        pairs = [(source, part.text) for source, part in whole.sentences]
        is_divided = ["".join(side) for side in zip(*pairs, strict=True)] == [piece.text, whole.text]
        found += [_sentence(*pair) for pair in (whole.sentences if is_divided else [(piece.text, whole)])]
    return found


def _sentence(source: str, found: Translation) -> Sentence:
    return {"source": source, "text": found.text, "suspicious": found.suspicious, "flags": list(found.flags)}


def _alternatives(translator: Translator, text: str, n: int, raise_if_cancelled: Callable[[], None]) -> list[str]:
    """Return n other translations of a text; those of each piece are joined in order of their ranks."""
    if not n:
        return []
    format = translator.document.format
    pieces = list(formats.reader(format)(StringIO(text, newline="\n")))
    different = list(dict.fromkeys(piece for piece in pieces if piece.translate))
    if not different:
        return []

    def others(piece: Piece) -> list[str]:
        raise_if_cancelled()
        paragraph = Paragraph(piece, format)
        found = [paragraph.laid_out(other) for other in translator.alternatives(paragraph.plain, n)]
        return [other for other in found if other is not None]

    def alone(piece: Piece) -> list[str]:
        raise_if_cancelled()
        return [next(translator.pieces([piece])).text] if piece.translate else [piece.text]

    with ThreadPoolExecutor(min(_PIECES_AT_A_TIME, len(different))) as threads:  # their searches share batches
        ranked = dict(zip(different, threads.map(others, different), strict=True))
    n_ranks = max(map(len, ranked.values()))
    columns = [ranked.get(piece) or alone(piece) for piece in pieces] if n_ranks else []
    wholes = ["".join(column[min(rank, len(column) - 1)] for column in columns) for rank in range(n_ranks)]
    return list(dict.fromkeys(wholes))
