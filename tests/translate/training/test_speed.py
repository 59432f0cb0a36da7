"""Operations are counted per sentence, without padding."""

import dataclasses

import numpy as np
import pytest
import torch

from tests.toys import TINY
from transformer.cost import forward_flops
from translate.corpus.batches import collate
from translate.corpus.prepare import EncodedPairs
from translate.training.checkpoints import TrainState
from translate.training.run import Run
from translate.training.update import Meter, read_stats, update_flops


def flops_of(*batches):
    return update_flops(TINY, batches)


def test_padding_is_not_counted_as_work():
    pairs = EncodedPairs.of([[5], [6, 7, 8], [9] * 7], [[5, 5], [6] * 5, [7]])
    batch = collate(pairs, np.arange(3), pad=TINY.pad, bos=TINY.bos, eos=TINY.eos)
    expected = 3 * sum(forward_flops(TINY, src, tgt) for src, tgt in ((2, 3), (4, 6), (8, 2)))
    assert flops_of(batch) == expected
    wide = torch.nn.functional.pad(batch.src, (0, 5), value=TINY.pad)
    assert flops_of(dataclasses.replace(batch, src=wide), batch) == 2 * expected
    assert flops_of() == 0


def test_the_speed_is_that_of_the_updates_since_the_last_line():
    assert Meter(tokens=150, flops=5 * 10**9, seconds=10.0).speed(peak=2e9) == {
        "tokens_per_s": 15,
        "flops_per_s": pytest.approx(5e8),
        "mfu": pytest.approx(0.25),
    }
    assert Meter().speed(peak=2e9)["tokens_per_s"] == 0


def test_a_device_that_needs_longer_than_the_host_sets_the_speed(toy, monkeypatch):
    """It works while the host counts operations, so that time is not left out."""
    trainer = toy.trainer("run", log_every=12)
    host = device = 0.0

    def begin():
        nonlocal host, device
        device = max(host, device) + 10
        host += 1

    def count(*_):
        nonlocal host
        host += 2
        return 7

    def wait(updates):
        nonlocal host
        host = max(host, device)
        return read_stats(updates)

    trainer.before("updater", "step", begin)
    trainer.replace(clock=lambda: host)
    monkeypatch.setattr("translate.training.train.update_flops", count)
    monkeypatch.setattr("translate.training.update.read_stats", wait)
    trainer.train()
    (line,) = [record for record in trainer.run.records() if record["kind"] == "train"]
    assert line["tokens_per_s"] == round(trainer.state.n_tokens / (12 * 10))
    assert line["flops_per_s"] == pytest.approx(7 / 10, rel=1e-3)


def test_a_run_counts_the_operations_of_its_updates_also_when_it_was_stopped(toy):
    toy.trainer("whole").train()
    toy.trainer("run", max_steps=5).train()
    trainer = toy.trainer("run", resume=True)
    trainer.train()
    updates = trainer.parts.feed.updates(TrainState().position)
    batches = [batch for _ in range(12) for batch in next(updates)[0]]
    expected = update_flops(trainer.model.config, batches)
    assert trainer.state.n_flops == expected
    *_, final = trainer.run.records()
    *_, of_whole = Run(toy.folder / "whole").records()
    assert final["flops"] == pytest.approx(expected, rel=1e-3)
    assert (final["tokens"], final["flops"]) == (of_whole["tokens"], of_whole["flops"])
