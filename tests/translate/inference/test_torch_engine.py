"""Batches of the PyTorch engine are searched side by side and leave the settings of torch as they were."""

import threading

import pytest
import torch

from transformer.search.hypothesis import SearchConfig
from translate.errors import UserError
from translate.inference.engine import Batch, Found
from translate.inference.torch_engine import TorchEngine, TorchPrecision
from translate.models.folder import ModelFolder


def test_the_torch_engine_exposes_its_model_folder(parts: ModelFolder) -> None:
    engine = TorchEngine(parts)
    assert (engine.folder, engine.tokenizer, engine.spec) == (parts.folder, parts.tokenizer, parts.spec)
    assert engine.max_positions == parts.model.config.max_length


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_batches_searched_in_parallel_equal_those_searched_in_sequence(
    parts: ModelFolder, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch has a Python thread and a share of torch's threads; afterwards the number of threads is restored."""
    engine, before = TorchEngine(parts), torch.get_num_threads()
    batches = [[(5 + i, 7, 6 + i), (9,)] for i in range(7)]
    inner, ran = set(), set()
    meeting = threading.Barrier(n_threads, timeout=60)

    def search(batch: Batch) -> Found:
        if batch in batches[-n_threads:]:
            meeting.wait()  # passes only if n_threads batches are searched at the same time
        inner.add(torch.get_num_threads())
        ran.add(threading.get_ident())
        return engine.search(batch, [9] * len(batch), SearchConfig(beam_size=3, n_best=2))

    expected = [search(batch) for batch in batches] if n_threads == 1 else None
    torch.set_num_threads(n_threads)
    try:
        found = engine.each(search, batches)
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert expected is None or found == expected
    meeting = threading.Barrier(1)
    for batch, hypotheses in zip(batches, found, strict=True):
        alone = search(batch)
        assert [[h.tokens for h in n_best] for n_best in hypotheses] == [[h.tokens for h in n_best] for n_best in alone]
    assert len(ran) == (1 if n_threads == 1 else n_threads + 1)
    assert 1 in inner


@pytest.mark.parametrize(
    ("n_tokens", "seconds", "expected"),
    [(100, {1: 0.3, 2: 0.2}, 2), (100, {1: 0.2, 2: 0.3}, 1), (200, {1: 0.2, 2: 0.3}, 2)],
)
def test_a_small_batch_uses_one_thread_if_more_are_slower(
    parts: ModelFolder, n_tokens: int, seconds: dict[int, float], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, inner = torch.get_num_threads(), []

    def search(batch: Batch) -> Found:
        inner.append(torch.get_num_threads())
        return []

    monkeypatch.setattr(TorchEngine, "_seconds", lambda _, n_threads: seconds[n_threads])
    torch.set_num_threads(2)
    try:
        TorchEngine(parts).each(search, [[(5,) * n_tokens]])
        assert (inner, torch.get_num_threads()) == ([expected], 2)
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
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    meeting = threading.Barrier(2, timeout=60)

    def search(batch: Batch) -> Found:
        meeting.wait()
        return [[] for _ in batch]

    try:
        threads = [threading.Thread(target=TorchEngine(parts).each, args=(search, [[(5,)]])) for _ in range(2)]
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
    source, config = [(5, 7, 9)], SearchConfig(beam_size=1)
    assert twice.search(source, [4], config) == once.search(source, [4], config)


def test_an_error_in_one_of_the_batches_is_raised(parts: ModelFolder) -> None:
    def search(batch: Batch) -> Found:
        raise UserError(f"batch {batch[0][0]}")

    with pytest.raises(UserError, match="batch 5"):
        TorchEngine(parts).each(search, [[(5,)], [(5,)]])


def test_half_precision_gives_nearly_the_same_translations(parts: ModelFolder) -> None:
    sources = [(5, 7, 9), (8, 6), (11, 4, 5, 7, 8)]
    exact = TorchEngine(parts).search(sources, [4] * 3, SearchConfig(beam_size=1))
    engine = TorchEngine(parts, "bf16")
    rounded = engine.search(sources, [4] * 3, SearchConfig(beam_size=1))
    assert (engine.model_folder.model.output_weight.dtype, parts.model.output_weight.dtype) == (
        torch.bfloat16,
        torch.float32,
    )
    for a, b in zip(exact, rounded, strict=True):
        assert a[0].log_prob != b[0].log_prob
        assert a[0].log_prob == pytest.approx(b[0].log_prob, rel=0.1)
