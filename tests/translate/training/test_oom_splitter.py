"""Batches that exceed memory are halved, with the same update; the largest is tried before training begins."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, collate, halves, largest
from translate.corpus.prepare import EncodedPairs
from translate.errors import UserError
from translate.training.optimizer import new_optimizer
from translate.training.train import preflight
from translate.training.update import UNSPLIT, OomSplitter, StepStats, Updater, read_stats

OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"),
    MemoryError(),
]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    sizes = {"d_model": 12, "n_heads": 3, "d_ff": 20, "n_encoder_layers": 2, "n_decoder_layers": 1}
    return Transformer(ModelConfig(vocab_size=29, dropout=0.0, **sizes))


def batch_of(lengths: list[int], seed: int = 7) -> Batch:
    rng = np.random.default_rng(seed)
    src, tgt = ([rng.integers(4, 29, n).tolist() for n in lengths] for _ in range(2))
    return collate(EncodedPairs.of(src, tgt), np.arange(len(lengths)), pad=0, bos=1, eos=2)


def updater_of(model: Transformer, memory: OomSplitter = UNSPLIT) -> Updater:
    optimizer = new_optimizer(model, TrainingConfig())
    return Updater(model, optimizer, label_smoothing=0.1, dtype=torch.float32, splitter=memory)


def train_step(model: Transformer, batches: list[Batch], memory: OomSplitter = UNSPLIT) -> tuple[StepStats, int]:
    update = updater_of(model, memory).step(batches, lr=0.01)
    return read_stats([update])[0], update.n_tokens


BATCHES = [batch_of([3, 4, 5], 1), batch_of([3, 5, 7, 1, 4, 2, 6], 2), batch_of([2, 2], 3), batch_of([7] * 6, 4)]


def holds_at_most(model: Transformer, n_sentences: int, error: Exception, *, forward: bool = False) -> list[int]:
    """Make backward passes over more sentences fail half-way, or forward ones; return the list of attempted sizes."""
    tried: list[int] = []

    def fail(_: torch.Tensor) -> None:
        assert model.decoder[0].feed_forward.w_1.weight.grad is not None, (
            "it should fail after some gradients are added"
        )
        raise error

    def watch(layer: torch.nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        tried.append(len(output))
        if len(output) > n_sentences and output.requires_grad:
            if forward:
                raise error
            output.register_hook(fail)

    model.encoder[0].register_forward_hook(watch)
    return tried


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["cuda", "cpu", "python"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_batches_that_do_not_fit_are_halved_and_make_the_same_update(model, error, n):
    """Also if some gradients were added before the failure; nothing of a failed pass may remain."""
    small, said = copy.deepcopy(model), []
    expected, n_tokens = train_step(model, BATCHES)
    tried, memory = holds_at_most(small, n, error), OomSplitter(said.append)
    stats, n_tokens_of_parts = train_step(small, BATCHES, memory)
    assert memory.n_splits == sum(size > n for size in tried) > 0
    assert stats.loss == pytest.approx(expected.loss, rel=1e-6)
    assert stats.grad_norm == pytest.approx(expected.grad_norm, rel=1e-5)
    assert n_tokens_of_parts == n_tokens
    for a, b in zip(small.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=2e-5)
    assert len(said) == 1, "it is said once"


def test_a_batch_size_that_failed_is_not_tried_again(model):
    tried, memory = holds_at_most(model, 2, OUT_OF_MEMORY[0]), OomSplitter(print)
    updater = updater_of(model, memory)
    updater.step(BATCHES, lr=0.01)
    tried.clear()
    updater.step(BATCHES, lr=0.01)
    assert max(tried) == 2
    assert sum(tried) == sum(len(batch.src) for batch in BATCHES)


def test_a_batch_smaller_than_one_that_failed_is_not_split(model):
    """Longer or more rows may need more memory; fewer or shorter ones might fit."""
    memory = OomSplitter(print)
    holds_at_most(model, 4, OUT_OF_MEMORY[0])
    train_step(model, [batch_of([7] * 6)], memory)
    assert memory.n_splits == 1
    for lengths, n_parts in (([7] * 5, 1), ([6] * 8, 1), ([7] * 6, 2), ([3, 8, 1, 1, 1, 1, 1], 2)):
        sizes = memory.each([batch_of(lengths)], lambda batch: [len(batch.src)], undo=lambda: None)
        assert len(sizes) == n_parts


def test_a_single_sentence_that_exceeds_memory_is_refused_with_advice(model):
    holds_at_most(model, 0, OUT_OF_MEMORY[1])
    with pytest.raises(
        UserError, match=r"4 and 4 tokens does not fit .* lower training.max_tokens, or set .*checkpoint"
    ):
        train_step(model, BATCHES, OomSplitter(print))


def test_another_error_is_not_taken_for_a_lack_of_memory(model):
    holds_at_most(model, 0, RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        train_step(model, BATCHES, OomSplitter(print))


@given(st.lists(st.integers(1, 9), min_size=2, max_size=9))
def test_halves_hold_every_sentence_and_every_token_once(lengths):
    batch = batch_of(lengths)
    a, b = halves(batch)
    assert abs(len(a.src) - len(b.src)) <= 1
    n = len(a.src)
    for name in ("src", "tgt_in", "tgt_out"):
        for half, rows in ((a, slice(n)), (b, slice(n, None))):
            ids, whole = getattr(half, name), getattr(batch, name)[rows]
            assert ids.equal(whole[:, : max(lengths[rows]) + 1])
            assert not whole[:, ids.size(1) :].any(), "only padding is left out"
    for name in ("n_src_tokens", "n_tgt_tokens"):
        assert getattr(a, name) + getattr(b, name) == getattr(batch, name)


SENTENCES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=30)


@given(SENTENCES, st.integers(0, 2**32))
def test_the_largest_batch_is_the_one_with_the_most_positions(lengths, seed):
    src, tgt = ([[5] * n for n in side] for side in zip(*lengths, strict=True))
    pairs = EncodedPairs.of(src, tgt)
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(1, len(lengths), 3)) if len(lengths) > 1 else []
    batches = [part for part in np.split(rng.permutation(len(lengths)), cuts) if len(part)]

    def positions(index: np.ndarray) -> int:
        batch = collate(pairs, index, pad=0, bos=1, eos=2)
        return batch.src.numel() + batch.tgt_in.numel()

    assert positions(largest(pairs, batches)) == max(map(positions, batches))


def test_a_warm_up_has_no_side_effects(model):
    model.train()
    model.encoder[0].residuals[0].dropout = 0.5
    updater = updater_of(model, OomSplitter(print))
    before, generator = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    updater.warm_up(BATCHES[1])
    assert torch.get_rng_state().equal(generator)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not updater.optimizer.state
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())


def test_a_memory_warm_up_changes_no_bit_of_a_run(toy, monkeypatch):
    toy.settings["model"] |= {"dropout": 0.2}
    met = []
    monkeypatch.setattr(Updater, "warm_up", lambda self, batch: met.append(batch))
    plain = toy.trainer("plain")
    preflight(plain.state, plain.parts)
    plain.train()
    monkeypatch.undo()
    warm = toy.trainer("warm")
    preflight(warm.state, warm.parts)
    warm.train()
    for a, b in zip(plain.model.parameters(), warm.model.parameters(), strict=True):
        assert torch.equal(a, b)
    (batch,) = met
    everyone = [
        plain.parts.feed.collate(plain.parts.prepared.train, index) for index in plain.parts.feed.sampler.batches(0)
    ]
    assert batch.src.numel() + batch.tgt_in.numel() == max(b.src.numel() + b.tgt_in.numel() for b in everyone)


def test_a_lack_of_memory_is_found_before_the_first_update_and_splits_are_counted(toy):
    trainer = toy.trainer("run")
    holds_at_most(trainer.model, 9, OUT_OF_MEMORY[1], forward=True)
    preflight(trainer.state, trainer.parts)
    assert trainer.parts.updater.splitter.n_splits > 0
    trainer.train()
    assert sum("does not fit into memory: batches of this size" in line for line in toy.said) == 1
    assert any(f"{trainer.parts.updater.splitter.n_splits:,} times a batch" in line for line in toy.said)


def test_a_real_out_of_memory_error_is_recognised():
    """A real error: every machine refuses a petabyte, with the message of this PyTorch version."""

    def act(batch: Batch) -> int:
        return torch.empty(2**48 if len(batch.src) > 1 else 1, dtype=torch.int64).numel()

    assert OomSplitter(print).each([batch_of([3, 4])], act, undo=lambda: None) == [1, 1]
