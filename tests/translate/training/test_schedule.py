"""The steps of a run: epochs are complete for any number of batches per update; the rate of each step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.schedule import cooldown
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Position, Sampler
from translate.corpus.prepare import Component, EncodedPairs, Mixture
from translate.errors import UserError
from translate.training.checkpoints import TrainState
from translate.training.train import Schedule


def schedule(n_batches: int, batches_per_update: int, state: TrainState | None = None, **training: object) -> Schedule:
    config = TrainingConfig(**training)
    return Schedule.of(config, 16, n_batches.__mul__, batches_per_update, state or TrainState())


def test_thirty_epochs_on_eight_ranks_are_complete():
    """Rounding down in each epoch would give 28.2."""
    assert schedule(119, 8, max_epochs=30).last_step == 447


@given(n_batches=st.integers(1, 500), n_in_update=st.integers(1, 64), epochs=st.integers(1, 40))
def test_the_last_update_is_the_one_that_completes_the_last_epoch(n_batches, n_in_update, epochs):
    last_step = schedule(n_batches, n_in_update, max_epochs=epochs).last_step
    assert last_step * n_in_update >= epochs * n_batches > (last_step - 1) * n_in_update


@given(
    n_batches=st.integers(1, 500),
    epochs=st.integers(1, 40),
    sizes=st.lists(st.integers(1, 64), min_size=2),
    data=st.data(),
)
def test_epochs_are_complete_after_resumes_with_other_numbers_of_batches(n_batches, epochs, sizes, data):
    state = TrainState()
    for size in sizes:
        run = schedule(n_batches, size, state, max_epochs=epochs)
        n_updates = data.draw(st.integers(0, run.last_step - state.step - 1))
        state.step, state.n_batches = state.step + n_updates, state.n_batches + n_updates * size
    n_left = run.last_step - state.step
    assert state.n_batches + n_left * size >= epochs * n_batches > state.n_batches + (n_left - 1) * size


def test_epochs_that_differ_in_their_batches_are_counted_one_by_one():
    """Replay draws other old pairs in each epoch. As many updates as batches end the run with its last epoch."""
    rng = np.random.default_rng(5)
    lengths = np.concatenate([rng.integers(1, 9, 40), rng.integers(1, 60, 300)])
    pairs = EncodedPairs.of(*([[4] * n for n in lengths] for _ in range(2)))
    mixture = Mixture([Component(40), Component(300, replayed=True)], replay_share=0.5)
    sampler = Sampler(pairs, 120, 64, 3, mixture)
    counts = [len(sampler.batches(epoch)) for epoch in range(8)]
    assert len(set(counts)) > 1
    assert sampler.n_batches(8) == sum(counts) != 8 * counts[0]
    steps = Schedule.of(TrainingConfig(max_epochs=8), 16, sampler.n_batches)
    positions = (position for _, position in sampler.stream(Position()))
    ends = [step for step, position in zip(range(1, sum(counts) + 9), positions, strict=False) if position == (8, 0)]
    assert ends == [steps.last_step]


@given(
    step=st.integers(1, 100),
    warmup_steps=st.integers(1, 60),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    peak=st.none() | st.just(0.01),
)
def test_the_learning_rate_is_equation_3_or_has_the_given_peak(step, warmup_steps, share, peak):
    run = schedule(10, 1, max_steps=100, warmup_steps=warmup_steps, cooldown=share, lr=peak)
    shape = min(step**-0.5, step * warmup_steps**-1.5)
    factor = 16**-0.5 if peak is None else peak * warmup_steps**0.5
    assert run.lr(step) == pytest.approx(factor * shape * cooldown(step, last_step=100, share=share))


def test_the_earlier_of_two_limits_applies_and_one_is_required():
    assert schedule(10, 2, max_epochs=3, max_steps=14).last_step == 14
    assert schedule(10, 2, max_epochs=3, max_steps=16).last_step == 15
    with pytest.raises(UserError, match="training has no end"):
        schedule(10, 2)


def test_a_run_validates_and_saves_once_an_epoch_unless_told_otherwise():
    assert (schedule(10, 3, max_steps=5).valid_every, schedule(10, 3, max_steps=5).save_every) == (3, 3)
    assert schedule(2, 3, max_steps=5).valid_every == 1
    assert schedule(10, 3, max_steps=5, valid_every=4).save_every == 4
