"""The engines of the server, which all requests share.

`ModelPool` loads the engine of a model on first use, and again if its files change, and unloads it when it is idle.

`Scheduler` makes batches of the sentences of concurrent requests. A request submits sentences, to translate or align,
and waits for them. Worker threads take sentences in fair order, as many as a batch may have, and compute them together.
A batch has one engine and one setting. `SharedEngine` is an engine of the pool as one request sees it.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from transformer.config import Attention, Hypotheses, Request, SearchConfig, TokenIds
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.search import Engine, answers, in_order
from translate.inference.translator import open_engine, towards
from translate.machine import release_memory
from translate.models.folder import CTRANSLATE2_FILE, FILES, TranslationSpec, has_forms_of_address
from translate.models.origin import Origin
from translate.models.registry import card
from translate.serving.observing import event

RETRY_SECONDS = 30.0
# Clients that have just had an answer often send the next request; a batch of the first to arrive would be small.
_GATHER_SECONDS = 0.05
_LEAST_TOKENS = 128  # of a batch that is smaller than possible, so that another idle worker has one too

LanguagePair = tuple[str, str]  # source and target language
_Version = tuple[tuple[int, int, int], ...]  # inode, size and time of each file
T = TypeVar("T")
R = TypeVar("R", bound=Hashable)


class ModelUnavailableError(Exception):
    """The files of a model are missing or damaged, and it was not loaded before."""


@dataclass
class _Model:
    """A model folder, and its engine if it is loaded.

    Attributes:
        engines: the engine for each target language that was asked for, all of the same loaded model.
        version: of the files that were loaded.
        tried, retry_at: the version that could not be loaded, and when to try it again: the reason may have been
            another than the files, such as a lack of memory.
    """

    folder: Path
    has_forms_of_address: bool
    engine: Engine | None = None
    engines: dict[str, Engine] = field(default_factory=dict)
    version: _Version = ()
    tried: _Version = ()
    retry_at: float = 0.0
    n_users: int = 0
    last_used: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class ModelPool:
    """Engines by language pair.

    Args:
        folders: model folders; of several for one pair the first counts. UserError if one is damaged.
        unload_after: seconds after which an unused model is unloaded.
        open: loads a folder.
        retry_after: seconds after which files that could not be loaded are tried again, if they have not changed.

    Attributes:
        pairs: the language pairs, in alphabetical order.
        cards: what is known of each model, in the order of the folders.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        unload_after: float,
        open: Callable[[Path], Engine] = open_engine,
        retry_after: float = RETRY_SECONDS,
    ) -> None:
        self._models: dict[LanguagePair, _Model] = {}
        self.cards: list[dict[str, object]] = []
        for folder in folders:
            spec = TranslationSpec.load(folder)
            model = _Model(folder, _has_forms_of_address(folder, spec))
            pairs = [(spec.source, target) for target in spec.targets]
            if new := [pair for pair in pairs if pair not in self._models]:
                self._models |= dict.fromkeys(new, model)
                self.cards.append(_card(folder, spec.source, [target for _, target in new]))
        self.pairs = sorted(self._models)
        self._unload_after, self._retry_after = unload_after, retry_after
        self._open = open

    @property
    def n_loaded(self) -> int:
        """Number of models in memory."""
        return len({id(model) for model in self._models.values() if model.engine is not None})

    @property
    def with_forms_of_address(self) -> list[LanguagePair]:
        """The language pairs for which the form of address can be chosen."""
        return [pair for pair in self.pairs if self._models[pair].has_forms_of_address]

    @contextmanager
    def engine(self, pair: LanguagePair) -> Iterator[Engine]:
        """Yield the engine of a language pair, which stays loaded meanwhile; KeyError for an unknown pair.

        If the files have changed, the new model is loaded first. If they are missing or damaged, the old one is used,
        and without an old one ModelUnavailableError is raised.
        """
        model = self._models[pair]
        with model.lock:
            self._refresh(model, pair)
            engine = model.engine
            if engine is None:
                raise ModelUnavailableError(f"The model from {pair[0]} to {pair[1]} cannot be loaded")
            if pair[1] not in model.engines:
                model.engines[pair[1]] = towards(engine, pair[1])
            engine = model.engines[pair[1]]
            model.n_users += 1
        try:
            yield engine
        finally:
            with model.lock:
                model.n_users -= 1
                model.last_used = time.monotonic()

    def unload_idle(self) -> None:
        """Unload the models that have not been used for a while."""
        for pair, model in self._models.items():
            with model.lock:
                is_idle = not model.n_users and time.monotonic() - model.last_used >= self._unload_after
                if model.engine is not None and is_idle:
                    model.engine, model.engines, model.version = None, {}, ()
                    event("model unloaded", {"model": "-".join(pair)})
        release_memory()

    def _refresh(self, model: _Model, pair: LanguagePair) -> None:
        """Load the model unless the loaded one is that of the folder; the lock is held."""
        version, start = _version(model.folder), time.monotonic()
        if model.engine is not None and version == model.version:
            return
        if version == model.tried and start < model.retry_at:
            return
        fields: dict[str, object] = {"model": "-".join(pair), "folder": str(model.folder)}
        try:
            engine = self._open(model.folder)
            if not engine.spec.speaks(*pair):
                raise UserError(f"{model.folder}: has another language pair now; restart the server")
        except Exception as error:  # safetensors, SentencePiece and CTranslate2 have exceptions of their own
            problem = {"problem": str(error), "old model used": model.engine is not None}
            event("model not loaded", fields | problem, logging.WARNING)
            # A damaged folder is not read again for every request.
            model.tried, model.retry_at = version, time.monotonic() + self._retry_after
        else:
            model.engine, model.engines, model.version, model.tried = engine, {}, version, ()
            model.has_forms_of_address = has_forms_of_address(engine.tokenizer, engine.spec)
            event("model loaded", fields | {"seconds": round(time.monotonic() - start, 3)})


def _card(folder: Path, source: str, targets: Sequence[str]) -> dict[str, object]:
    """Return the name of a model, the first line of its card and, of an added model, where it came from."""
    added = Origin.load(folder)
    lines = (line.strip().lstrip("#").strip() for line in (card(folder) or "").split("\n"))
    return {
        "name": folder.parent.name if folder.name == "model" else folder.name,
        "source": source,
        "targets": [*targets],
        "about": next(filter(None, lines), ""),
        "origin": added.source if added else "",
        "revision": added.revision if added else "",
        "license": added.license if added else "",
    }


def _has_forms_of_address(folder: Path, spec: TranslationSpec) -> bool:
    """Return `has_forms_of_address` of a folder, whose model is loaded later; False if that will fail."""
    try:
        return has_forms_of_address(Tokenizer.load(folder / "tokenizer.model"), spec)
    except UserError:
        return False


def _version(folder: Path) -> _Version:
    """Return a value that differs if a file of the folder was replaced."""
    found = []
    for name in (*FILES, CTRANSLATE2_FILE):
        try:
            status = os.stat(os.path.join(folder, name))  # for every request; pathlib takes twice as long
        except OSError:
            continue
        found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


class CancelledError(Exception):
    """The request was cancelled: its client has gone, its time is over, or the server stops."""


@dataclass(eq=False)
class Ticket:
    """A request; sentences of one request and of one client take turns with those of others."""

    client: str
    cancelled: bool = False

    def raise_if_cancelled(self) -> None:
        """Raise CancelledError if the request is cancelled; for long work without a search, such as blank lines."""
        if self.cancelled:
            raise CancelledError


class FairQueue(Generic[R, T]):
    """Items of requests of clients; a request with few items never waits for all items of a request with many.

    Not safe for threads; the owner holds a lock.
    """

    def __init__(self) -> None:
        # Dicts keep the order of turns: a client that had a turn moves to the end.
        self._clients: dict[str, dict[R, deque[T]]] = {}
        self._n_items = 0

    def __len__(self) -> int:
        return self._n_items

    @property
    def n_requests(self) -> int:
        """Number of requests with items."""
        return sum(map(len, self._clients.values()))

    def push(self, client: str, request: R, items: Iterable[T]) -> None:
        """Append items to a request of a client."""
        added = list(items)
        if added:
            self._clients.setdefault(client, {}).setdefault(request, deque()).extend(added)
            self._n_items += len(added)

    def take(self, fits: Callable[[T], bool]) -> T | None:
        """Remove and return the next item, in order of turns, that is the first of its request and fits.

        None if there is none; a request whose first item does not fit keeps its turn.
        """
        for client, requests in self._clients.items():
            for request, items in requests.items():
                if fits(items[0]):
                    item = items.popleft()
                    self._n_items -= 1
                    self._end_turn(client, request)
                    return item
        return None

    def drop(self, client: str, request: R) -> list[T]:
        """Remove and return all items of a request."""
        requests = self._clients.get(client, {})
        items = list(requests.pop(request, ()))
        if not requests:
            self._clients.pop(client, None)
        self._n_items -= len(items)
        return items

    def _end_turn(self, client: str, request: R) -> None:
        requests = self._clients.pop(client)
        if items := requests.pop(request):
            requests[request] = items
        if requests:
            self._clients[client] = requests


@dataclass(eq=False)
class _Call:
    """Sentences submitted together, and their results."""

    found: list[Any]
    n_missing: int
    future: "Future[list[Any]]" = field(default_factory=Future)


@dataclass(frozen=True)
class _Task:
    """A computation: a method of an engine and its settings; sentences of equal tasks share batches."""

    method: Callable[..., list[Any]]
    settings: tuple[object, ...] = ()
    width: int | None = None  # tokens of each sentence, where the method computes equal lengths only


@dataclass(eq=False)
class _Item:
    """A sentence that waits for its result."""

    task: _Task
    arguments: tuple[object, ...]  # of the method, for this sentence
    width: int  # tokens
    call: _Call
    index: int


class Scheduler:
    """Worker threads that compute the sentences of all requests.

    Args:
        n_workers: number of batches that are computed at a time.
        batch_tokens: maximum number of tokens of a batch, padding included, unless one sentence has more.
        prepare: called before each batch, in its thread.
        observe: receives the number of sentences and of padded tokens of each batch that was computed.
    """

    def __init__(
        self,
        n_workers: int,
        batch_tokens: int,
        prepare: Callable[[], None] = lambda: None,
        observe: Callable[[int, int], None] = lambda n_sentences, n_tokens: None,
    ) -> None:
        self.n_workers = n_workers
        self._batch_tokens = batch_tokens
        self._prepare, self._observe = prepare, observe
        self._queue: FairQueue[Ticket, _Item] = FairQueue()
        self._changed = threading.Condition()
        self._n_tokens = 0  # waiting
        self._n_computing = 0  # tokens in the batches that are computed now
        self._gather_until, self._n_expected = 0.0, 0
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"search-{i}", daemon=True) for i in range(n_workers)]
        for thread in self._threads:
            thread.start()

    @property
    def n_waiting(self) -> int:
        """Number of sentences that wait."""
        return len(self._queue)

    def search(self, ticket: Ticket, engine: Engine, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Wait for `engine.search_batch` and return its result; CancelledError, or any exception of the engine."""
        return self.compute(
            ticket,
            engine.search_batch,
            ((request,) for request in requests),
            [len(request.ids) + 1 for request in requests],
            config,
            mixes_lengths=engine.mixes_lengths,
        )

    def compute(
        self,
        ticket: Ticket,
        method: Callable[..., list[Any]],
        arguments: Iterable[tuple[object, ...]],
        widths: Sequence[int],
        *settings: object,
        mixes_lengths: bool = True,
    ) -> list[Any]:
        """Wait for the result of each sentence and return the results.

        Args:
            method: returns one result per sentence; called with one list for each of their arguments, then `settings`.
                Sentences share a batch if their method and settings are equal.
            arguments: of each sentence.
            widths: number of tokens of each sentence.
            settings: of the whole batch.
            mixes_lengths: whether sentences of unequal widths share batches.

        Raises CancelledError, or any exception of the method.
        """
        if not widths:
            return []
        call = _Call([None] * len(widths), len(widths))
        items = [
            _Item(_Task(method, settings, None if mixes_lengths else width), own, width, call, i)
            for i, (own, width) in enumerate(zip(arguments, widths, strict=True))
        ]
        with self._changed:
            ticket.raise_if_cancelled()
            if self._closed:
                raise CancelledError
            self._queue.push(ticket.client, ticket, items)
            self._n_tokens += sum(widths)
            self._changed.notify(len(items))
        return call.future.result()

    def cancel(self, ticket: Ticket) -> None:
        """Remove the sentences of a request that still wait; its waiting threads get CancelledError."""
        with self._changed:
            ticket.cancelled = True
            dropped = self._queue.drop(ticket.client, ticket)
            self._n_tokens -= sum(item.width for item in dropped)
            _fail(dropped, CancelledError())

    def close(self, seconds: float | None = None) -> bool:
        """Finish the sentences that wait and end the threads; later requests get CancelledError.

        Waits so long, without a limit for None; returns whether the threads have ended.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._queue) or self._closed)
                self._changed.wait_for(lambda: self._is_full or self._closed, self._gather_until - time.monotonic())
                self._changed.wait_for(lambda: len(self._queue) or self._closed)  # another thread may have taken all
                batch = self._next_batch()
                if not batch:
                    return  # closed
                n_tokens = sum(item.width for item in batch)
                self._n_computing += n_tokens
            try:
                self._compute(batch)
            finally:
                with self._changed:
                    self._n_computing -= n_tokens
                    n_calls = len({item.call for item in batch})
                    if n_calls > 1 and batch[0].task.width is None:
                        self._gather_until = time.monotonic() + _GATHER_SECONDS
                        self._n_expected = len(self._queue) + n_calls
            del batch  # its tasks hold a model, which may be unloaded while this thread waits

    @property
    def _is_full(self) -> bool:
        """Whether the sentences that wait fill a batch, or all clients that have had an answer are back."""
        return self._n_tokens >= self._batch_tokens or len(self._queue) >= self._n_expected

    def _next_batch(self) -> list[_Item]:
        """Return the sentences of the next batch, in order of turns; the lock is held.

        Batches of equal size are the fastest, so a worker leaves the others their shares, even those that are busy:
        clients send their next requests together, and a small batch would stay small. A batch of one length takes turns
        with requests of other lengths, which cannot join it, so it is small while they wait.
        """
        share = max(_LEAST_TOKENS, (self._n_tokens + self._n_computing) / self.n_workers)
        several = self._queue.n_requests > 1
        batch: list[_Item] = []
        width = n_tokens = 0

        def fits(item: _Item) -> bool:
            if not batch:
                return True
            return item.task == batch[0].task and (len(batch) + 1) * max(width, item.width) <= self._batch_tokens

        while n_tokens < share and (item := self._queue.take(fits)):
            batch.append(item)
            width, n_tokens = max(width, item.width), n_tokens + item.width
            if several and item.task.width is not None:
                share = _LEAST_TOKENS
        self._n_tokens -= n_tokens
        return batch

    def _compute(self, batch: list[_Item]) -> None:
        """Compute a batch; if that fails, compute the sentences of each request alone."""
        calls = dict.fromkeys(item.call for item in batch)
        try:
            self._complete(batch)
        except BaseException as error:
            if len(calls) == 1:
                with self._changed:
                    _fail(batch, error)
                return
            for call in calls:
                self._compute([item for item in batch if item.call is call])

    def _complete(self, batch: list[_Item]) -> None:
        """Compute a batch and deliver the results."""
        self._prepare()
        task = batch[0].task
        found = task.method(*map(list, zip(*(item.arguments for item in batch), strict=True)), *task.settings)
        self._observe(len(batch), len(batch) * max(item.width for item in batch))
        with self._changed:
            for item, result in zip(batch, found, strict=True):
                item.call.found[item.index] = result
                item.call.n_missing -= 1
                if not item.call.n_missing:
                    item.call.future.set_result(item.call.found)


def _fail(items: Iterable[_Item], error: BaseException) -> None:
    """Give an exception to the requests that wait for the sentences; the lock is held."""
    for call in dict.fromkeys(item.call for item in items):
        if not call.future.done():
            call.future.set_exception(error)


class SharedEngine:
    """A `translate.inference.search.Engine` that leaves the searches of one request to the scheduler."""

    def __init__(self, engine: Engine, scheduler: Scheduler, ticket: Ticket) -> None:
        self.folder, self.tokenizer, self.spec = engine.folder, engine.tokenizer, engine.spec
        self.max_positions, self.mixes_lengths = engine.max_positions, engine.mixes_lengths
        self.precision, self.can_align = engine.precision, engine.can_align
        self._engine, self._scheduler, self._ticket = engine, scheduler, ticket

    def search(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the n best hypotheses of each request; they are searched in batches with those of other clients."""
        ordered = in_order(requests)
        return answers(requests, [ordered], [self._scheduler.search(self._ticket, self._engine, ordered, config)])

    def search_batch(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return the result of `search`."""
        return self.search(requests, config)

    def align(self, sources: TokenIds, targets: TokenIds) -> list[Attention]:
        """Return the attention of each pair; they are computed with those of other requests."""
        widths = [max(map(len, pair)) + 1 for pair in zip(sources, targets, strict=True)]
        pairs = list(zip(sources, targets, strict=True))
        return self._scheduler.compute(self._ticket, self._engine.align, pairs, widths)

    def score(self, sources: TokenIds, targets: TokenIds) -> list[float]:
        """Return the log-probability of each target; they are computed with those of other requests."""
        widths = [max(map(len, pair)) + 1 for pair in zip(sources, targets, strict=True)]
        pairs = list(zip(sources, targets, strict=True))
        return self._scheduler.compute(self._ticket, self._engine.score, pairs, widths)
