"""Muon against singular value decomposition and PyTorch's own; all else follows Adam, which is PyTorch's."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests import forks
from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.training.optimizer import MOMENTUM, ahead_of_momentum, matrices, new_optimizer, orthogonalised

CONFIG = TrainingConfig(optimizer="muon", weight_decay=0.3)
LR = 0.01


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(5)
    config = ModelConfig(
        vocab_size=29, d_model=12, n_heads=3, d_ff=20, d_v=3, n_encoder_layers=2, n_decoder_layers=1, dropout=0.0
    )
    return Transformer(config)


def gradients(model: Transformer, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(parameter.shape, generator=generator) for parameter in model.parameters()]


def updated(model: Transformer, n_steps: int = 3, config: TrainingConfig = CONFIG) -> Transformer:
    """A copy of the model after some updates with random gradients."""
    model = copy.deepcopy(model)
    optimizer = new_optimizer(model, config)
    for group in optimizer.param_groups:
        group["lr"] = LR
    for step in range(n_steps):
        for parameter, gradient in zip(model.parameters(), gradients(model, step), strict=True):
            parameter.grad = gradient
        optimizer.step()
    return model


@given(n=st.integers(1, 3), a=st.integers(1, 7), extra=st.integers(0, 5), seed=st.integers(0, 2**32))
def test_singular_vectors_stay_and_singular_values_come_near_1(n: int, a: int, extra: int, seed: int) -> None:
    torch.manual_seed(seed)
    u, values, vh = torch.linalg.svd(torch.randn(n, a, a + extra, dtype=torch.float64), full_matrices=False)
    values = values.clamp(min=0.01 * values.norm(dim=1, keepdim=True))
    new = u.mT @ orthogonalised(u @ values.diag_embed() @ vh) @ vh.mT
    diagonal = new.diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(new, diagonal.diag_embed(), rtol=0, atol=1e-8)
    assert diagonal.min() >= 0.7
    assert diagonal.max() <= 1.28


@given(power=st.integers(-12, 12), seed=st.integers(0, 2**32))
def test_bf16_keeps_singular_values_bounded_at_any_scale_and_rank(power: int, seed: int) -> None:
    """Beyond 1 the polynomials grow fast, so that rounding alone could make an update explode."""
    generator = torch.Generator().manual_seed(seed)
    rank = 1 + seed % 8
    left, right = (torch.randn(16, rank, generator=generator) for _ in range(2))
    matrix = (left @ right.mT * 10.0**power).bfloat16()
    assert torch.linalg.svdvals(orthogonalised(matrix[None]).float()).max() <= 1.35


@pytest.mark.parametrize("n_columns", [13, 39])
def test_bf16_brings_small_singular_values_near_1_too(n_columns: int) -> None:
    """Also of wide matrices, where rounding of x x^T would hide their squares."""
    torch.manual_seed(0)
    u, _, vh = torch.linalg.svd(torch.randn(3, 13, n_columns), full_matrices=False)
    matrices = u @ torch.logspace(0, -2, 13).diag_embed() @ vh
    values = torch.linalg.svdvals(orthogonalised(matrices.bfloat16()).float())
    assert values.min() >= 0.6
    assert values.max() <= 1.3


def test_a_matrix_of_zeros_stays_zero() -> None:
    assert not orthogonalised(torch.zeros(1, 3, 5)).any()


@pytest.mark.parametrize("lost", [0.0, math.inf, math.nan])
def test_a_skipped_step_leaves_the_momentum_whatever_the_gradient(lost: float) -> None:
    """`skipped` stands on the device; the CPU, whose host knows it, takes the path without it."""
    generator = torch.Generator().manual_seed(3)
    gradient, momentum = torch.randn(2, 5, 7, generator=generator)
    plain, masked = momentum.clone(), momentum.clone()
    assert torch.equal(
        ahead_of_momentum(gradient, plain), ahead_of_momentum(gradient, masked, skipped=torch.tensor(0.0))
    )
    assert torch.equal(plain, masked)
    assert not torch.equal(plain, momentum)
    gradient[3, 5] += lost
    assert not ahead_of_momentum(gradient, masked, skipped=torch.tensor(1.0)).any()
    assert torch.equal(plain, masked)


def test_matrices_of_layers_move_as_with_the_muon_of_pytorch(model: Transformer) -> None:
    """W^Q, W^K and W^V are given to PyTorch's as matrices of their own, with coefficients that converge to U V^T."""
    converging = {"ns_coefficients": (1.875, -1.25, 0.375), "ns_steps": 12}
    after = updated(model)
    for name, heights in named_matrices(model).items():
        parts = [torch.nn.Parameter(part.clone()) for part in model.get_parameter(name).detach().split(heights)]
        reference = torch.optim.Muon(
            parts, lr=LR, weight_decay=0.3, momentum=MOMENTUM, adjust_lr_fn="match_rms_adamw", **converging
        )
        position = [key for key, _ in model.named_parameters()].index(name)
        for step in range(3):
            for part, gradient in zip(parts, gradients(model, step)[position].split(heights), strict=True):
                part.grad = gradient
            reference.step()
        moved = torch.cat([part.detach() for part in parts]) - model.get_parameter(name).detach()
        mine = after.get_parameter(name).detach() - model.get_parameter(name).detach()
        assert torch.cosine_similarity(mine.flatten(), moved.flatten(), dim=0) > 0.98, name
        assert float(mine.norm() / moved.norm()) == pytest.approx(1, abs=0.08), name


def named_matrices(model: Transformer) -> dict[str, list[int]]:
    heights = matrices(model)
    return {name: heights[parameter] for name, parameter in model.named_parameters() if parameter in heights}


def test_everything_else_moves_as_with_adam(model: Transformer) -> None:
    adam = updated(model, config=CONFIG.model_copy(update={"optimizer": "adam"}))
    muon = updated(model)
    own = named_matrices(model)
    assert set(own) == {name for name, p in model.named_parameters() if p.ndim == 2 and "embedding" not in name}
    assert own["encoder.1.self_attn.w_qkv.weight"] == [12, 12, 9]
    for name, parameter in muon.named_parameters():
        assert torch.equal(parameter, adam.get_parameter(name)) == (name not in own), name


def test_a_parameter_without_gradient_is_left_alone(model: Transformer) -> None:
    before = copy.deepcopy(model.state_dict())
    optimizer = new_optimizer(model, CONFIG)
    optimizer.param_groups[0]["lr"] = LR
    weight = model.encoder[0].feed_forward.w_1.weight
    weight.grad = torch.randn_like(weight)
    optimizer.step()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"encoder.0.feed_forward.w_1.weight"}


def test_adam_is_that_of_pytorch_to_the_last_bit(model: Transformer) -> None:
    reference = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(
        reference.parameters(), lr=LR, betas=CONFIG.adam_betas, eps=CONFIG.adam_eps, weight_decay=0.3, fused=True
    )
    for step in range(3):
        for parameter, gradient in zip(reference.parameters(), gradients(reference, step), strict=True):
            parameter.grad = gradient
        optimizer.step()
    after = updated(model, config=CONFIG.model_copy(update={"optimizer": "adam"}))
    assert all(torch.equal(a, b) for a, b in zip(after.parameters(), reference.parameters(), strict=True))


def test_neither_an_update_nor_a_network_on_the_meta_device_imports_the_compiler() -> None:
    """That takes longer than an import of a small model, whose sizes are compared on that device."""
    program = """
import sys, torch
from transformer.model import Transformer
from transformer.config import model_config
from translate.config.schema import TrainingConfig
from translate.training.optimizer import new_optimizer
for kind in ("adam", "muon"):
    model = Transformer(model_config("tiny", vocab_size=9))
    optimizer = new_optimizer(model, TrainingConfig(optimizer=kind))
    optimizer.zero_grad()
    sum(parameter.sum() for parameter in model.parameters()).backward()
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    print(kind, "torch._dynamo" in sys.modules)
with torch.device("meta"):
    Transformer(model_config("tiny", vocab_size=9))
print("meta", "torch._dynamo" in sys.modules)
"""
    done = forks.run(["-c", program])  # where a part of the toolkit that imports it has been imported, too
    assert done.stdout == "adam False\nmuon False\nmeta False\n", done.stderr
