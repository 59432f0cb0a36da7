"""Batches of the PyTorch engine are searched side by side and leave the settings of torch as they were."""

import threading
from collections.abc import Sequence

import pytest
import torch

from tests.translate.conftest import requests
from transformer.config import Hypotheses, Request, SearchConfig
from translate.errors import UserError
from translate.inference.torch_engine import TorchEngine, TorchPrecision
from translate.models.folder import ModelFolder


def test_the_torch_engine_exposes_its_model_folder(parts: ModelFolder) -> None:
    engine = TorchEngine(parts)
    assert (engine.folder, engine.tokenizer, engine.spec) == (parts.folder, parts.tokenizer, parts.spec)
    assert engine.max_positions == parts.model.config.max_length


class Watched(TorchEngine):
    """An engine whose batches have one sentence, and that meets at a barrier where several are searched at a time."""

    def __init__(self, parts: ModelFolder, n_meeting: int = 1) -> None:
        super().__init__(parts)
        self.meeting = threading.Barrier(n_meeting, timeout=60)
        self.n_threads, self.ran = list[int](), set[int]()

    def search_batch(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        self.meeting.wait()  # passes only if as many batches are searched at the same time
        self.n_threads.append(torch.get_num_threads())
        self.ran.add(threading.get_ident())
        return super().search_batch(requests, config)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_batches_searched_in_parallel_equal_those_searched_alone(
    parts: ModelFolder, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch has a Python thread and a share of torch's threads; afterwards the number of threads is restored."""
    monkeypatch.setattr("translate.inference.search.BATCH_HYPOTHESES", 1)
    engine, before, config = Watched(parts, n_threads), torch.get_num_threads(), SearchConfig(beam_size=3, n_best=2)
    asked = requests([(5 + i, 7, 6 + i) for i in range(6)], [9] * 6)
    torch.set_num_threads(n_threads)
    try:
        found = engine.search([*asked, asked[0]], config)
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert found[6] == found[0]
    for request, hypotheses in zip(asked, found, strict=False):
        (alone,) = TorchEngine(parts).search_batch([request], config)
        assert [h.tokens for h in hypotheses] == [h.tokens for h in alone]
    assert len(engine.n_threads) == 6
    assert len(engine.ran) == n_threads
    assert set(engine.n_threads) == {1}


@pytest.mark.parametrize(
    ("n_tokens", "seconds", "expected"),
    [(30, {1: 0.3, 2: 0.2}, 2), (30, {1: 0.2, 2: 0.3}, 1), (40, {1: 0.2, 2: 0.3}, 2)],
)
def test_a_small_batch_uses_one_thread_if_more_are_slower(
    parts: ModelFolder, n_tokens: int, seconds: dict[int, float], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, engine = torch.get_num_threads(), Watched(parts)
    monkeypatch.setattr(TorchEngine, "_seconds", lambda _, n_threads: seconds[n_threads])
    monkeypatch.setattr("translate.inference.torch_engine._FEW_TOKENS", 35)
    torch.set_num_threads(2)
    try:
        engine.search(requests([(5,) * n_tokens], [3]), SearchConfig(beam_size=1))
        assert (engine.n_threads, torch.get_num_threads()) == ([expected], 2)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_time_per_thread_count_is_measured_once_a_second(
    parts: ModelFolder, precision: TorchPrecision, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, asked, now = torch.get_num_threads(), [], [100.0]
    engine, measured = TorchEngine(parts, precision), TorchEngine._seconds
    assert measured(engine, 1) > 0

    def seconds(_: TorchEngine, n_threads: int) -> float:
        asked.append(n_threads)
        return 1.0

    monkeypatch.setattr(TorchEngine, "_seconds", seconds)
    monkeypatch.setattr("translate.inference.torch_engine.perf_counter", lambda: now[0])
    try:
        for now[0], n_threads in ((100.0, 2), (100.9, 2), (100.9, 3), (101.8, 3), (102.0, 3)):
            assert engine._faster(n_threads) in (1, n_threads)
    finally:
        torch.set_num_threads(before)
    assert asked == [2, 1, 3, 1, 3, 1]


def test_searches_that_overlap_leave_the_number_of_threads_as_it_was(parts: ModelFolder) -> None:
    before, engine = torch.get_num_threads(), Watched(parts, 2)
    torch.set_num_threads(3)
    asked = requests([(5,)], [3])
    try:
        threads = [threading.Thread(target=engine.search, args=(asked, SearchConfig())) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_a_half_precision_engine_can_be_made_from_another_engine(parts: ModelFolder) -> None:
    once = TorchEngine(parts, "bf16")
    twice = TorchEngine(once.model_folder, "bf16")
    source, config = requests([(5, 7, 9)], [4]), SearchConfig(beam_size=1)
    assert twice.search(source, config) == once.search(source, config)


def test_an_error_in_one_of_the_batches_is_raised(parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def search_batch(self: TorchEngine, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        raise UserError(f"batch {requests[0].ids[0]}")

    monkeypatch.setattr("translate.inference.search.BATCH_HYPOTHESES", 1)
    monkeypatch.setattr(TorchEngine, "search_batch", search_batch)
    with pytest.raises(UserError, match="batch 5"):
        TorchEngine(parts).search(requests([(5,), (6,)], [3, 3]), SearchConfig(beam_size=1))


def test_half_precision_gives_nearly_the_same_translations(parts: ModelFolder) -> None:
    sources = [(5, 7, 9), (8, 6), (11, 4, 5, 7, 8)]
    asked = requests(sources, [4] * 3)
    exact = TorchEngine(parts).search(asked, SearchConfig(beam_size=1))
    engine = TorchEngine(parts, "bf16")
    rounded = engine.search(asked, SearchConfig(beam_size=1))
    assert (engine.model_folder.model.output_weight.dtype, parts.model.output_weight.dtype) == (
        torch.bfloat16,
        torch.float32,
    )
    for a, b in zip(exact, rounded, strict=True):
        assert a[0].log_prob != b[0].log_prob
        assert a[0].log_prob == pytest.approx(b[0].log_prob, rel=0.1)
