"""Recorded updates are those of `Updater`; here a recording runs the function itself, on a CPU."""

import copy

import numpy as np
import pytest
import torch

from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import collate
from translate.corpus.prepare import EncodedPairs
from translate.training.graphs import GraphUpdater
from translate.training.optimizer import new_optimizer
from translate.training.update import Updater, read_stats

STEPS = 5


def run_itself(run, pool):
    return run


def batches(step: int):
    """Two batches of an update; shapes return in later ones."""
    rng = np.random.default_rng(step)
    lengths = ((3, 5), (7, 2), (4, 6)), ((5, 3), (1, 7))
    for pairs in lengths:
        src, tgt = (
            [rng.integers(4, 53, n - step % 2 or 1).tolist() for n in side] for side in zip(*pairs, strict=True)
        )
        yield collate(EncodedPairs.of(src, tgt), np.arange(len(pairs)), pad=0, bos=1, eos=2)


def trained(make, model: Transformer, config: TrainingConfig, dtype=torch.float32, steps: int = STEPS, **more):
    model = copy.deepcopy(model).train()
    optimizer = new_optimizer(model, config, dtype)
    updater = make(model, optimizer, config.label_smoothing, dtype, config.clip_norm, **more)
    updates = [updater.step(list(batches(step)), 1e-3 * (step + 1)) for step in range(steps)]
    return model, optimizer, read_stats(updates)


@pytest.fixture
def model():
    torch.manual_seed(3)
    return Transformer(
        ModelConfig(vocab_size=53, d_model=12, n_heads=3, d_ff=20, n_encoder_layers=2, n_decoder_layers=1, dropout=0.0)
    )


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
@pytest.mark.parametrize("clip_norm", [None, 0.3])
def test_recorded_updates_are_the_plain_ones(model, optimizer, clip_norm):
    config = TrainingConfig(max_steps=STEPS, optimizer=optimizer, clip_norm=clip_norm, weight_decay=0.01)
    plain, plain_optimizer, expected = trained(Updater, model, config)
    recorded, recorded_optimizer, got = trained(GraphUpdater, model, config, capture=run_itself)
    for a, b in zip(got, expected, strict=True):
        assert (a.loss, a.nll, a.grad_norm) == pytest.approx((b.loss, b.nll, b.grad_norm), rel=1e-4)
    for (name, a), b in zip(recorded.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5, msg=name)
    a, b = recorded_optimizer.state_dict(), plain_optimizer.state_dict()
    assert a["param_groups"][0].keys() == b["param_groups"][0].keys()
    assert a["state"].keys() == b["state"].keys()


def test_a_checkpoint_of_recorded_updates_continues_as_plain_ones(model):
    config = TrainingConfig(max_steps=STEPS, optimizer="muon")

    def continued(make, **more):
        trained_model, optimizer, _ = trained(make, model, config, **more)
        again = new_optimizer(trained_model, config)
        again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        return read_stats([Updater(trained_model, again, 0.1, torch.float32).step(list(batches(STEPS)), 1e-3)])[0]

    recorded, plain = continued(GraphUpdater, capture=run_itself), continued(Updater)
    assert recorded.nll == pytest.approx(plain.nll, rel=1e-3)
    assert recorded.grad_norm == pytest.approx(plain.grad_norm, rel=1e-2)


def test_an_update_that_is_not_finite_changes_nothing(model):
    config = TrainingConfig(max_steps=STEPS, optimizer="muon")
    with torch.no_grad():
        next(model.parameters())[7] = torch.inf
    before = [parameter.clone() for parameter in model.parameters()]
    after, _, (stats, *_) = trained(GraphUpdater, model, config, steps=1, capture=run_itself)
    assert not stats.finite
    for a, b in zip(after.parameters(), before, strict=True):
        assert torch.equal(a, b)


def test_warming_up_changes_nothing(model):
    config = TrainingConfig(max_steps=STEPS)
    optimizer = new_optimizer(model, config)
    updater = GraphUpdater(model, optimizer, 0.1, torch.float32, capture=run_itself)
    before, generator = [parameter.clone() for parameter in model.parameters()], torch.get_rng_state()
    updater.warm_up(next(batches(0)))
    assert torch.equal(generator, torch.get_rng_state())
    for a, b in zip(model.parameters(), before, strict=True):
        assert torch.equal(a, b)


def test_in_bfloat16_the_parameters_stay_float32_and_the_loss_falls(model):
    config = TrainingConfig(max_steps=60)
    model, _, stats = trained(GraphUpdater, model, config, torch.bfloat16, steps=60, capture=run_itself)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert np.mean([s.nll for s in stats[-5:]]) < stats[0].nll
