"""CUDA kernels give the same results as CPU kernels; needs a CUDA device."""

import copy
import time

import numpy as np
import pytest
import torch

from transformer.attention import attend, attend_fast
from transformer.config import ModelConfig
from transformer.loss import linear_smoothed_nll, smoothed_nll
from transformer.model import Transformer
from transformer.search.model_step import translate_ids
from translate.config.schema import TrainingConfig
from translate.corpus.batches import collate
from translate.corpus.prepare import EncodedPairs
from translate.training.graphs import GraphUpdater
from translate.training.optimizer import new_optimizer
from translate.training.update import Updater, batch_loss, read_stats

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]

CUDA = torch.device("cuda")


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(5)
    return Transformer(ModelConfig(vocab_size=301, d_model=64, n_heads=4, d_ff=96, n_encoder_layers=2, dropout=0.0))


@pytest.fixture
def batch():
    rng = np.random.default_rng(3)
    src, tgt = ([rng.integers(4, 301, n).tolist() for n in (3, 5, 7, 11, 13)] for _ in range(2))
    return collate(EncodedPairs.of(src, tgt), np.arange(5), pad=0, bos=1, eos=2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_fused_kernel_is_equation_1(dtype):
    torch.manual_seed(7)
    q, k, v = (torch.randn(3, 4, n, 16, device=CUDA, dtype=dtype) for n in (5, 7, 7))
    allowed = torch.rand(3, 1, 5, 7, device=CUDA) > 0.3
    allowed[..., 0] = True
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(attend_fast(q, k, v, allowed), attend(q, k, v, allowed), rtol=0, atol=tolerance)


def test_loss_and_gradients_are_those_of_the_cpu(model, batch):
    loss, nll = batch_loss(model, batch, 0.1, torch.float32)
    loss.backward()
    expected = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    on_device = model.to(CUDA)
    got, got_nll = batch_loss(on_device, batch.to(CUDA), 0.1, torch.float32)
    got.backward()
    torch.testing.assert_close(got.cpu(), loss, rtol=1e-4, atol=0)
    torch.testing.assert_close(got_nll.cpu(), nll, rtol=1e-4, atol=0)
    for name, parameter in on_device.named_parameters():
        torch.testing.assert_close(parameter.grad.cpu(), expected[name], rtol=1e-3, atol=1e-3)


def test_the_chunked_loss_equals_its_definition():
    torch.manual_seed(11)
    states, weight = torch.randn(1500, 64, device=CUDA), torch.randn(301, 64, device=CUDA)
    target = torch.randint(301, (1500,), device=CUDA)
    torch.testing.assert_close(
        linear_smoothed_nll(states, weight, target, 0.1)[0], smoothed_nll(states @ weight.T, target, 0.1)
    )


def test_bfloat16_training_learns(model, batch):
    model, batch = model.to(CUDA).train(), batch.to(CUDA)
    updater = Updater(model, new_optimizer(model, TrainingConfig()), label_smoothing=0.1, dtype=torch.bfloat16)
    losses = [stats.loss for stats in read_stats([updater.step([batch], lr=0.003) for _ in range(60)])]
    assert losses[-1] < 0.5 * losses[0]


def test_translations_are_those_of_the_cpu(model):
    sources = [[5, 9, 200], [17] * 11, [300, 4]]
    expected = translate_ids(model.eval(), sources)
    got = translate_ids(model.to(CUDA), sources)
    assert [h[0].tokens for h in got] == [h[0].tokens for h in expected]


def test_recorded_updates_are_the_plain_ones(model, batch):
    config, others = TrainingConfig(max_steps=5, optimizer="muon"), batch.to(CUDA)
    first = collate(EncodedPairs.of([[5, 6, 7]], [[8, 9]]), np.arange(1), pad=0, bos=1, eos=2).to(CUDA)

    def trained(make):
        torch.manual_seed(11)
        own = copy.deepcopy(model).to(CUDA).train()
        updater = make(own, new_optimizer(own, config), 0.1, torch.float32)
        updater.warm_up(others)
        return read_stats([updater.step([others, first][: 1 + step % 2], 1e-3) for step in range(5)])

    for a, b in zip(trained(GraphUpdater), trained(Updater), strict=True):
        assert (a.loss, a.nll, a.grad_norm) == pytest.approx((b.loss, b.nll, b.grad_norm), rel=1e-2)


def test_a_search_in_half_precision_meets_no_shape_that_takes_long(model):
    own = copy.deepcopy(model).to(CUDA).to(torch.bfloat16).eval()
    translate_ids(own, [[5, 6, 7]])
    start = time.monotonic()
    translate_ids(own, [list(range(4, 4 + n)) for n in range(3, 60, 7)])
    assert time.monotonic() - start < 5  # a kernel prepared for each number of keys took 0.1 s and more
