"""Which comparisons of an exchanged model with the original pass."""

import math

import pytest

from translate.errors import UserError
from translate.exchange.verification import Proof, require_equal


@pytest.mark.parametrize("proof", [Proof(3, 1e-5, 1e-6, 0.0, 3), Proof(3, 2.6e-4, 1e-6, 2e-4, 3)])
def test_equal_models_pass(proof: Proof) -> None:
    """The second one differs by more than the tolerance, as the original does from its own values in float64."""
    require_equal(proof, 1e-4, "logits")


@pytest.mark.parametrize(
    "proof",
    [
        Proof(3, 1e-3, 1e-6, 1e-6, 3),
        Proof(3, 1e-2, 1e-6, 2e-4, 3),
        Proof(3, 0.0, 0.0, 0.0, 2),
        Proof(3, math.nan, math.nan, 0.0, 3),
        Proof(3, math.nan, math.nan, math.nan, 3),
    ],
)
def test_different_models_do_not(proof: Proof) -> None:
    with pytest.raises(UserError, match="the new model is not the original"):
        require_equal(proof, 1e-4, "logits")
