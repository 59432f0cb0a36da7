"""One update is independent of the split into micro-batches, and a non-finite loss changes nothing."""

import copy
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.toys import scramble
from transformer.config import ModelConfig
from transformer.loss import smoothed_nll
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.batches import Batch, collate
from translate.corpus.prepare import EncodedPairs
from translate.training.distributed import Ranks
from translate.training.optimizer import new_optimizer
from translate.training.update import StepStats, Updater, batch_loss, read_stats
from translate.training.validation import mean_nll

CONFIG = TrainingConfig()


SMALL = ModelConfig(vocab_size=29, d_model=12, n_heads=3, d_ff=20, n_encoder_layers=2, n_decoder_layers=1, dropout=0.0)


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    return Transformer(SMALL)


@pytest.fixture
def pairs() -> EncodedPairs:
    rng = np.random.default_rng(7)

    def side() -> list[list[int]]:
        return [rng.integers(4, 29, n).tolist() for n in (3, 5, 7, 1, 4)]

    return EncodedPairs.of(side(), side())


def batch_of(pairs: EncodedPairs, *index: int) -> Batch:
    return collate(pairs, np.array(index), pad=0, bos=1, eos=2)


def with_dropout(model: Transformer) -> None:
    """Let the model drop parts of its states in training, whatever its configuration."""
    model.train()
    for residual in (part for part in model.modules() if hasattr(part, "dropout")):
        residual.dropout = 0.3


def step(model: Transformer, batches: list[Batch], **changes: object) -> tuple[StepStats, list[torch.Tensor]]:
    model = copy.deepcopy(model)
    updater = Updater(model, new_optimizer(model, CONFIG), label_smoothing=0.1, dtype=torch.float32, **changes)
    update = updater.step(batches, lr=0.01)
    assert not update.values_3.requires_grad, "it would hold the activations until it is read"
    assert update.n_tokens == sum(batch.n_src_tokens + batch.n_tgt_tokens for batch in batches)
    return read_stats([update])[0], [parameter.detach() for parameter in model.parameters()]


@pytest.mark.parametrize("split", [[(0, 1), (2, 3, 4)], [(0,), (1,), (2,), (3,), (4,)], [(4, 2), (3, 1, 0)]])
def test_any_split_into_micro_batches_makes_the_same_update(model, pairs, split):
    """Losses and token counts are summed, so a short micro-batch weighs no more than its tokens."""
    whole, expected = step(model, [batch_of(pairs, 0, 1, 2, 3, 4)])
    stats, parameters = step(model, [batch_of(pairs, *index) for index in split])
    assert stats.loss == pytest.approx(whole.loss, rel=1e-6)
    assert stats.grad_norm == pytest.approx(whole.grad_norm, rel=1e-5)
    # Adam divides a gradient by its own size, which amplifies rounding where a gradient is almost nothing.
    for a, b in zip(parameters, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("output_bias", [False, True])
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_the_fused_loss_equals_the_loss_over_all_logits(pairs, output_bias, r_drop):
    """The fused projection and loss over real tokens, against the definition over all logits, with their gradients.

    Without dropout, R-Drop's two passes are equal.
    """
    model = Transformer(replace(SMALL, output_bias=output_bias))
    scramble(model)
    batch = batch_of(pairs, 0, 1, 2, 3, 4)
    loss, nll = batch_loss(model, batch, 0.1, torch.float32, r_drop)
    real = batch.tgt_out != 0
    logits = model(batch.src, batch.tgt_in)[real]
    expected = smoothed_nll(logits, batch.tgt_out[real], 0.1)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, smoothed_nll(logits, batch.tgt_out[real], 0.0))
    parameters = list(model.parameters())
    gradients = (torch.autograd.grad(one, parameters) for one in (loss, expected))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_the_optimizer_is_the_papers(model):
    """Section 5.3, and one update by hand: the first step of Adam is lr * g / (|g| + epsilon)."""
    optimizer = new_optimizer(model, CONFIG)
    (group,) = optimizer.param_groups
    assert (group["betas"], group["eps"], group["weight_decay"]) == ((0.9, 0.98), 1e-9, 0.0)
    parameter = model.encoder[0].self_attn.w_o.weight
    before, gradient = parameter.detach().clone(), torch.randn_like(parameter)
    parameter.grad = gradient.clone()
    group["lr"] = 0.01
    optimizer.step()
    torch.testing.assert_close(parameter.detach(), before - 0.01 * gradient / (gradient.abs() + 1e-9))


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_an_update_changes_every_parameter_at_its_learning_rate(model, pairs, optimizer):
    """Muon has two groups of parameters."""
    before = [parameter.detach().clone() for parameter in model.parameters()]
    config = TrainingConfig(optimizer=optimizer)
    updater = Updater(model, new_optimizer(model, config), label_smoothing=0.1, dtype=torch.float32)
    updater.step([batch_of(pairs, 0, 1, 2, 3, 4)], lr=0.01)
    assert {group["lr"] for group in updater.optimizer.param_groups} == {0.01}
    for (name, parameter), old in zip(model.named_parameters(), before, strict=True):
        assert not parameter.equal(old), name


def test_a_step_moves_against_the_gradient(model, pairs):
    batch = batch_of(pairs, 0, 1, 2)
    before = batch_loss(model, batch, 0.1, torch.float32)[0].item()
    updater = Updater(model, new_optimizer(model, CONFIG), label_smoothing=0.1, dtype=torch.float32)
    for _ in range(20):
        updater.step([batch], lr=0.01)
    assert batch_loss(model, batch, 0.1, torch.float32)[0].item() < 0.7 * before


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_an_update_that_is_not_finite_changes_nothing(model, pairs, optimizer, poison):
    """Neither parameters nor the state of the optimizer: later updates are those of a run without it, to the bit."""
    config = TrainingConfig(optimizer=optimizer, weight_decay=0.1)

    def run(poisoned: bool) -> tuple[list[StepStats], list[torch.Tensor]]:
        trained, updates = copy.deepcopy(model), []
        updater = Updater(trained, new_optimizer(trained, config), label_smoothing=0.1, dtype=torch.float32)
        for i in range(4):
            if i == 2 and poisoned:
                bias = trained.encoder[0].feed_forward.w_2.bias.detach()
                sound = bias[0].item()
                bias[0] = poison
                updates.append(updater.step([batch_of(pairs, 0, 1)], lr=0.01))
                bias[0] = sound
            updates.append(updater.step([batch_of(pairs, i, i + 1)], lr=0.01))
        values = [value for state in updater.optimizer.state.values() for value in state.values()]
        return read_stats(updates), [*trained.parameters(), *values]

    (stats, found), (_, expected) = run(poisoned=True), run(poisoned=False)
    assert [one.finite for one in stats] == [True, True, False, True, True]
    assert all(a.equal(b) for a, b in zip(found, expected, strict=True))


def test_clipping_bounds_the_gradient_and_reports_the_norm_before_clipping(model, pairs):
    """The size of Adam's first step does not depend on the gradient, so the first moments are compared."""
    batches = [batch_of(pairs, 0, 1, 2)]
    free, _ = step(model, batches)
    optimizer = new_optimizer(model, CONFIG)
    limit = free.grad_norm / 3
    updater = Updater(model, optimizer, label_smoothing=0.1, dtype=torch.float32, clip_norm=limit)
    (stats,) = read_stats([updater.step(batches, lr=0.01)])
    assert stats.grad_norm == pytest.approx(free.grad_norm, rel=1e-6)
    squares = sum(float(state["exp_avg"].square().sum()) for state in optimizer.state.values())
    assert (squares**0.5) / (1 - CONFIG.adam_betas[0]) == pytest.approx(limit, rel=1e-3)


def test_the_fast_path_follows_the_plain_one(model, pairs):
    """bf16 products change a loss only by rounding, about 2^-8 relative."""
    batch = batch_of(pairs, 0, 1, 2, 3, 4)
    fast, plain = (batch_loss(model, batch, 0.1, dtype)[0].item() for dtype in (torch.bfloat16, torch.float32))
    assert fast == pytest.approx(plain, rel=0.01)


def test_held_out_loss_is_a_mean_over_tokens_however_they_are_batched(model, pairs):
    with_dropout(model)
    one = mean_nll(model, [batch_of(pairs, 0, 1, 2, 3, 4)], torch.float32)
    many = mean_nll(model, [batch_of(pairs, i) for i in range(5)], torch.float32)
    assert one == pytest.approx(many, rel=1e-6)


@pytest.mark.parametrize("n_ranks", [2, 3, 5])
def test_ranks_share_held_out_batches_without_skipping_or_repeating_one(model, pairs, n_ranks):
    class Share(Ranks):
        """Records what a rank adds to the sum."""

        def sum(self, *values: float) -> list[float]:
            shares.append(values)
            return [values[0], max(values[1], 1)]

    batches = [batch_of(pairs, *index) for index in ((0,), (1, 2), (3,), (4, 0), (2,), (1,), (0, 3, 4))]
    for n in range(1, len(batches) + 1):
        shares: list[tuple[float, ...]] = []
        for rank in range(n_ranks):
            mean_nll(model, batches[:n], torch.float32, Share(rank, n_ranks))
        n_tokens = sum(batch.n_tgt_tokens for batch in batches[:n])
        assert sum(tokens for _, tokens in shares) == n_tokens
        whole = mean_nll(model, batches[:n], torch.float32)
        assert sum(loss for loss, _ in shares) == pytest.approx(whole * n_tokens)


@pytest.mark.parametrize("changes", [{"optimizer": "adam", "ema": 0.9}, {"optimizer": "muon", "clip_norm": 1.0}])
def test_the_host_reads_values_of_the_device_once_in_a_report_and_never_in_an_update(toy, monkeypatch, changes):
    """Each read waits for a GPU. A thread makes batches; `transformer` and Muon read in branches for the CPU."""
    trainer = toy.trainer("run", accumulate=3, max_steps=13, log_every=4, valid_every=100, **changes)
    reads = []

    def counted(name):
        read = getattr(torch.Tensor, name)

        def count(self, *arguments, **options):
            on_the_way = threading.current_thread() is threading.main_thread()
            caller = sys._getframe(1).f_code
            for_the_cpu = "/transformer/" in caller.co_filename or caller.co_qualname == "Muon.step"
            if on_the_way and not for_the_cpu:
                reads.append((trainer.state.step, name))
            return read(self, *arguments, **options)

        return count

    for name in ("item", "tolist", "cpu", "numpy", "__bool__", "__int__", "__float__", "__index__"):
        monkeypatch.setattr(torch.Tensor, name, counted(name))
    trainer.train()
    monkeypatch.undo()
    assert [read for read in reads if read[0] < 13] == [(4, "tolist"), (8, "tolist"), (12, "tolist")]  # the last saves


@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_the_loss_of_a_batch_needs_no_value_of_the_device(pairs, r_drop):
    """Tensors on the "meta" device have none. A GPU would have to be waited for, as to select tokens by a mask."""
    device = torch.device("meta")
    model = Transformer(SMALL).to(device)
    loss, _ = batch_loss(model, batch_of(pairs, 0, 1, 2).to(device), 0.1, torch.float32, r_drop)
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_r_drop_without_dropout_changes_nothing_and_with_dropout_adds_the_divergence(model, pairs):
    batch = batch_of(pairs, 0, 1, 2)
    plain, nll = batch_loss(model, batch, 0.1, torch.float32)
    for found, expected in zip(batch_loss(model, batch, 0.1, torch.float32, r_drop=5.0), (plain, nll), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    with_dropout(model)
    losses = []
    for weight in (1e-9, 1.0, 2.0):
        torch.manual_seed(1)
        losses.append(batch_loss(model, batch, 0.1, torch.float32, r_drop=weight)[0].item())
    assert losses[1] > losses[0]
    assert losses[2] - losses[1] == pytest.approx(losses[1] - losses[0], rel=1e-3)
    torch.manual_seed(1)
    log_probs = model(torch.cat([batch.src] * 2), torch.cat([batch.tgt_in] * 2)).log_softmax(-1)
    first, second = log_probs[torch.cat([batch.tgt_out] * 2) != 0].chunk(2)
    equation_3 = sum(
        F.kl_div(p, q, reduction="sum", log_target=True) / 2 for p, q in ((first, second), (second, first))
    )
    assert losses[2] - losses[0] == pytest.approx(2.0 * equation_3.item() / 2, rel=1e-3)


def test_an_update_with_r_drop_counts_each_token_once(model, pairs):
    stats, _ = step(model, [batch_of(pairs, 0, 1, 2, 3, 4)], r_drop=5.0)
    plain, _ = step(model, [batch_of(pairs, 0, 1, 2, 3, 4)])
    assert stats.loss == pytest.approx(plain.loss, rel=1e-5)  # the model has no dropout
