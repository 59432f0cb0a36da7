"""Position-wise feed-forward network: section 3.3.

Dimension key: B batch, T positions, D d_model, F d_ff.
"""

from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.kernels.dropout import dropout
from transformer.kernels.packed_linear import Linear


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, equation 2, at every position; the activation may also be swish."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.w_1 = Linear(config.d_model, config.d_ff, activation=config.activation)
        self.w_2 = Linear(config.d_ff, config.d_model)
        self.dropout = config.ffn_dropout
        self.init_gain = config.init_gain

    def forward(self, x_BTD: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.w_2(dropout(self.w_1(x_BTD), self.dropout, self.training))  # type: ignore[no-any-return]

    def initialise(self) -> None:
        """Xavier uniform weights with `init_gain`, zero biases."""
        for linear in (self.w_1, self.w_2):
            nn.init.xavier_uniform_(linear.weight, self.init_gain)
            nn.init.zeros_(linear.bias)
