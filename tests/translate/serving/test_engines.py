"""Sentences of several requests share batches in fair order, and each request gets its own results."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.conftest import requests
from transformer.config import Hypothesis, Request, SearchConfig
from translate.inference.search import Engine
from translate.serving.engines import CancelledError, FairQueue, Scheduler, Ticket

CONFIG = SearchConfig(beam_size=1)
BAD = 13  # the engine below fails at this token


class Recorder:
    """An engine that returns its sources and records its batches; it can be paused."""

    def __init__(self, mixes_lengths: bool = True) -> None:
        self.mixes_lengths = mixes_lengths
        self.batches: list[list[tuple[int, ...]]] = []
        self.free = threading.Event()
        self.free.set()

    def search_batch(self, requests: Sequence[Request], config: SearchConfig) -> list[Any]:
        self.free.wait(10)
        self.batches.append([request.ids for request in requests])
        if any(BAD in request.ids for request in requests):
            raise ValueError(BAD)
        return [[Hypothesis(request.ids, 0.0, 0.0)] for request in requests]

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
        self.free.wait(10)
        self.batches.append([(*source, *target) for source, target in zip(sources, targets, strict=True)])
        return [len(source) + len(target) / 10 for source, target in zip(sources, targets, strict=True)]


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    running = Scheduler(1, batch_tokens=12)
    yield running
    running.close()


def search(scheduler: Scheduler, ticket: Ticket, engine: Recorder, sources: Sequence[Sequence[int]]) -> list[Any]:
    return scheduler.search(ticket, cast(Engine, engine), requests(sources, [5] * len(sources)), CONFIG)


def score(scheduler: Scheduler, ticket: Ticket, engine: Recorder, *pairs: tuple[Sequence[int], Sequence[int]]) -> Any:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    widths = [max(map(len, pair)) + 1 for pair in pairs]
    return scheduler.compute(ticket, engine.score, zip(sources, targets, strict=True), widths)


def tokens(found: list[list[Hypothesis]]) -> list[tuple[int, ...]]:
    return [tuple(hypotheses[0].tokens) for hypotheses in found]


def wait_for(scheduler: Scheduler, n: int) -> None:
    while scheduler.n_waiting != n:
        threading.Event().wait(0.001)


def wait_for_search(scheduler: Scheduler, n_tokens: int) -> None:
    while scheduler._n_computing < n_tokens:
        threading.Event().wait(0.001)


def test_a_batch_starts_as_soon_as_the_clients_of_the_last_one_are_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.serving.engines._GATHER_SECONDS", 30.0)
    engine, running = Recorder(), Scheduler(1, batch_tokens=99)
    engine.free.clear()
    with ThreadPoolExecutor(3) as pool:
        alone = pool.submit(search, running, Ticket("c"), engine, [[9]])
        wait_for_search(running, 2)
        both = [pool.submit(search, running, Ticket(client), engine, [[5]]) for client in "ab"]
        wait_for(running, 2)
        engine.free.set()
        for answered in (alone, *both):
            answered.result(9)
        for answered in [pool.submit(search, running, Ticket(client), engine, [[7]]) for client in "ab"]:
            answered.result(9)
    running.close()
    assert engine.batches == [[(9,)], [(5,)] * 2, [(7,)] * 2]


def test_a_worker_leaves_the_other_its_share_although_it_still_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.serving.engines._LEAST_TOKENS", 1)
    engine, running = Recorder(), Scheduler(2, batch_tokens=99)
    engine.free.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(search, running, Ticket("a"), engine, [(1, 2, 3)])
        wait_for_search(running, 4)
        book = pool.submit(search, running, Ticket("b"), engine, [(5, 6, 7)] * 5)
        wait_for_search(running, 5)
        engine.free.set()
        assert len(first.result()) == 1
        assert len(book.result()) == 5
    running.close()
    assert sorted(map(len, engine.batches)) == [1, 2, 3]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("12"), st.integers(1, 5)), max_size=12))
def test_every_sentence_is_returned_once_and_each_request_in_order(pushes: list[tuple[str, str, int]]) -> None:
    queue: FairQueue[str, tuple[str, str, int]] = FairQueue()
    pushed: dict[tuple[str, str], int] = {}
    for client, request, n in pushes:
        first = pushed.setdefault((client, request), 0)
        queue.push(client, request, [(client, request, i) for i in range(first, first + n)])
        pushed[client, request] += n
    assert len(queue) == sum(pushed.values())
    taken = [item for _ in range(len(queue)) if (item := queue.take(lambda _: True))]
    assert queue.take(lambda _: True) is None
    for key, n in pushed.items():
        assert [item for item in taken if item[:2] == key] == [(*key, i) for i in range(n)]


def test_clients_take_turns_and_so_do_their_requests() -> None:
    queue: FairQueue[str, str] = FairQueue()
    queue.push("anna", "book", ["b"] * 4)
    queue.push("anna", "note", ["n"])
    queue.push("bert", "page", ["p"] * 3)
    assert "".join(queue.take(lambda _: True) or "" for _ in range(8)) == "bpnpbpbb"
    queue.push("anna", "book", ["b"])
    queue.push("bert", "page", ["p"])
    assert queue.take(lambda item: item == "p") == "p"
    assert queue.drop("anna", "book") == ["b"]
    assert queue.drop("anna", "book") == []
    assert len(queue) == 0


def test_requests_share_batches_within_the_budget(scheduler: Scheduler) -> None:
    engine = Recorder()
    engine.free.clear()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(search, scheduler, Ticket("a"), engine, [(1,)])
        wait_for(scheduler, 0)  # it is being searched
        book = pool.submit(search, scheduler, Ticket("b"), engine, [(2, i) for i in range(20, 27)])
        wait_for(scheduler, 7)
        note = pool.submit(search, scheduler, Ticket("c"), engine, [(3,)])
        wait_for(scheduler, 8)
        engine.free.set()
        assert tokens(note.result()) == [(3,)]
        assert tokens(book.result()) == [(2, i) for i in range(20, 27)]
        assert tokens(first.result()) == [(1,)]
    assert (3,) in engine.batches[1]
    for batch in engine.batches:
        assert len(batch) * max(len(ids) + 1 for ids in batch) <= 12


def test_a_sentence_that_fails_does_not_harm_other_requests(scheduler: Scheduler) -> None:
    engine = Recorder()
    engine.free.clear()
    with ThreadPoolExecutor(3) as pool:
        pool.submit(search, scheduler, Ticket("a"), engine, [(1,)])
        wait_for(scheduler, 0)
        bad = pool.submit(search, scheduler, Ticket("b"), engine, [(BAD,)])
        good = pool.submit(search, scheduler, Ticket("c"), engine, [(3,)])
        wait_for(scheduler, 2)
        engine.free.set()
        assert tokens(good.result()) == [(3,)]
        with pytest.raises(ValueError, match="13"):
            bad.result()
    assert tokens(search(scheduler, Ticket("a"), engine, [(4,)])) == [(4,)]


def test_sentences_are_counted_once_although_their_batch_failed_first() -> None:
    observed: list[tuple[int, int]] = []
    running = Scheduler(1, batch_tokens=12, observe=lambda *counts: observed.append(counts))
    engine = Recorder()
    engine.free.clear()
    with ThreadPoolExecutor(3) as pool:
        pool.submit(search, running, Ticket("a"), engine, [(1,)])
        wait_for(running, 0)
        bad = pool.submit(search, running, Ticket("b"), engine, [(BAD,)])
        good = pool.submit(search, running, Ticket("c"), engine, [(3, 4)])
        wait_for(running, 2)
        engine.free.set()
        assert tokens(good.result()) == [(3, 4)]
        assert isinstance(bad.exception(), ValueError)
    running.close()
    assert {len(batch) for batch in engine.batches} == {1, 2}  # the two were searched together first
    assert observed == [(1, 2), (1, 3)]


def test_a_cancelled_request_leaves_the_queue(scheduler: Scheduler) -> None:
    engine, ticket = Recorder(), Ticket("b")
    engine.free.clear()
    with ThreadPoolExecutor(2) as pool:
        pool.submit(search, scheduler, Ticket("a"), engine, [(1,)])
        wait_for(scheduler, 0)
        gone = pool.submit(search, scheduler, ticket, engine, [(2,), (3,)])
        wait_for(scheduler, 2)
        scheduler.cancel(ticket)
        with pytest.raises(CancelledError):
            gone.result()
        engine.free.set()
    with pytest.raises(CancelledError):
        search(scheduler, ticket, engine, [(4,)])
    assert sum(engine.batches, []) == [(1,)]


def test_two_engines_never_share_a_batch(scheduler: Scheduler) -> None:
    one, other = Recorder(), Recorder()
    one.free.clear()
    with ThreadPoolExecutor(3) as pool:
        for ticket, engine, source in (("a", one, (1,)), ("b", one, (2,)), ("c", other, (3,))):
            pool.submit(search, scheduler, Ticket(ticket), engine, [source])
        one.free.set()
    assert sorted(sum(one.batches, [])) == [(1,), (2,)]
    assert other.batches == [[(3,)]]


def test_an_engine_that_does_not_mix_lengths_gets_batches_of_one_length(scheduler: Scheduler) -> None:
    """The first in order of turns takes those of its length with it, of whatever request."""
    engine = Recorder(mixes_lengths=False)
    engine.free.clear()
    with ThreadPoolExecutor(4) as threads:
        threads.submit(search, scheduler, Ticket("first"), engine, [(9,)])
        wait_for_search(scheduler, 2)
        requests = {"a": [(1, 2), (3,)], "b": [(4,), (5, 6)], "c": [(7, 8)]}
        found = {}
        for n, (client, sources) in zip((2, 4, 5), requests.items(), strict=True):
            found[client] = threads.submit(search, scheduler, Ticket(client), engine, sources)
            wait_for(scheduler, n)
        engine.free.set()
        assert {client: tokens(future.result()) for client, future in found.items()} == requests
    assert engine.batches == [[(9,)], [(1, 2), (7, 8)], [(4,), (3,)], [(5, 6)]]


@pytest.mark.parametrize("n_requests", [1, 2])
def test_a_long_request_of_one_length_leaves_turns_to_others(monkeypatch: pytest.MonkeyPatch, n_requests: int) -> None:
    monkeypatch.setattr("translate.serving.engines._LEAST_TOKENS", 6)
    scheduler, engine = Scheduler(1, batch_tokens=100), Recorder(mixes_lengths=False)
    engine.free.clear()
    with ThreadPoolExecutor(3) as threads:
        threads.submit(search, scheduler, Ticket("first"), engine, [(9,)])
        wait_for_search(scheduler, 2)
        threads.submit(search, scheduler, Ticket("book"), engine, [(i, i) for i in range(20, 29)])
        wait_for(scheduler, 9)
        if n_requests == 2:
            threads.submit(search, scheduler, Ticket("note"), engine, [(3,)])
            wait_for(scheduler, 10)
        engine.free.set()
    scheduler.close()
    assert [len(batch) for batch in engine.batches] == ([1, 9] if n_requests == 1 else [1, 2, 1, 7])


def test_scores_share_batches_with_scores_only(scheduler: Scheduler) -> None:
    engine = Recorder()
    engine.free.clear()
    with ThreadPoolExecutor(4) as pool:
        pool.submit(search, scheduler, Ticket("a"), engine, [(1,)])
        wait_for(scheduler, 0)
        one = pool.submit(score, scheduler, Ticket("b"), engine, ((2, 2, 2), (4,)), ((3,), (5, 5)))
        wait_for(scheduler, 2)
        other = pool.submit(score, scheduler, Ticket("c"), engine, ((6,), (7, 7, 7)))
        wait_for(scheduler, 3)
        found = pool.submit(search, scheduler, Ticket("d"), engine, [(8,)])
        wait_for(scheduler, 4)
        engine.free.set()
        assert one.result() == [3.1, 1.2]
        assert other.result() == [1.3]
        assert tokens(found.result()) == [(8,)]
    # Within 12 tokens, of which each pair has as many as its longer side and its end.
    assert engine.batches == [[(1,)], [(2, 2, 2, 4), (6, 7, 7, 7), (3, 5, 5)], [(8,)]]
    assert score(scheduler, Ticket("a"), engine) == []


def test_each_worker_prepares_its_thread_before_a_batch() -> None:
    prepared: list[int] = []
    running = Scheduler(1, 12, lambda: prepared.append(threading.get_ident()))
    search(running, Ticket("a"), Recorder(), [(3, 4)])
    running.close()
    assert len(prepared) == 1
    assert prepared != [threading.get_ident()]


def test_closing_finishes_waiting_requests() -> None:
    scheduler, engine = Scheduler(2, batch_tokens=4), Recorder()
    engine.free.clear()
    with ThreadPoolExecutor(2) as pool:
        found = pool.submit(search, scheduler, Ticket("a"), engine, [(i,) for i in range(20, 29)])
        while not scheduler.n_waiting:
            threading.Event().wait(0.001)
        closing = pool.submit(scheduler.close)
        engine.free.set()
        closing.result()
        assert tokens(found.result()) == [(i,) for i in range(20, 29)]
    with pytest.raises(CancelledError):
        search(scheduler, Ticket("a"), engine, [(1,)])
