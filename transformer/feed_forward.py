"""The position-wise feed-forward network (paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

from transformer.trace import NO_TAP, Tap

ACTIVATION_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
}


class FeedForward(nn.Module):
    """FFN(x) = activation(x W_1 + b_1) W_2 + b_2, each token by itself (equation 2)."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str, bias: bool) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.w_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = ACTIVATION_FUNCTIONS[activation]

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D). The tap sees hidden (B, T, d_ff: after the activation) and out."""
        hidden = tap("hidden", self.activation(self.w_1(x)))
        return tap("out", self.w_2(hidden))
