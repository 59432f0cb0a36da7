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
from translate.training.update import Meter, update_flops


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
