"""The position-wise feed-forward network (paper, section 3.3), plain or gated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn
from torch.nn import functional

from transformer.model.trace import NO_TAP, Tap

ACTIVATION_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "silu": functional.silu,
}


class FeedForward(nn.Module):
    """FFN(x) = activation(x W_1 + b_1) W_2 + b_2 for each token (equation 2).

    Gated: (activation(x W_1 + b_1) * (x W_3 + b_3)) W_2 + b_2 (Shazeer 2020, arXiv:2002.05202).
    """

    def __init__(self, d_model: int, d_ff: int, *, activation: str, bias: bool, gated: bool = False) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.w_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.w_3 = nn.Linear(d_model, d_ff, bias=bias) if gated else None
        self.activation = ACTIVATION_FUNCTIONS[activation]

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D).

        The tap sees gate (B, T, d_ff: after the activation) if gated, hidden (B, T, d_ff: W_2's input) and
        out.
        """
        hidden = self.activation(self.w_1(x))
        if self.w_3 is not None:
            hidden = tap("gate", hidden) * self.w_3(x)
        return tap("out", self.w_2(tap("hidden", hidden)))
