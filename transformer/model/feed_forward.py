"""The position-wise feed-forward network (paper, section 3.3), plain or gated, or a mixture of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.trace import NO_TAP, Tap


def _relu_squared(x: Tensor) -> Tensor:
    return functional.relu(x).square()


ACTIVATION_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "silu": functional.silu,
    "relu_squared": _relu_squared,
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


class MixtureOfExperts(nn.Module):
    """The weighted sum of a few feed-forwards, which a router chooses for each token.

    The weights are the softmax over the logits of the chosen experts (Jiang et al. 2024, arXiv:2401.04088,
    section 2.1).

    Args:
        d_model: D.
        experts: E feed-forwards.
        n_active: experts chosen for a token.
    """

    def __init__(self, d_model: int, experts: Sequence[FeedForward], n_active: int) -> None:
        super().__init__()
        self.router = nn.Linear(d_model, len(experts), bias=False)
        self.experts = nn.ModuleList(experts)
        self.n_active = n_active

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D).

        The tap sees router_logits and routing (B, T, E: the weights, 0 for experts not chosen), each expert's
        tensors at all tokens, and out. Without a tap, an expert computes only the tokens that chose it.
        """
        logits = tap("router_logits", self.router(x))
        weights = tap("routing", self._weights(logits))
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            weight = weights[..., i, None]
            if tap is NO_TAP:
                tokens = weight[..., 0].nonzero(as_tuple=True)
                out = out.index_put(tokens, weight[tokens] * expert(x[tokens]), accumulate=True)
            else:
                added = weight * expert(x, tap.at("experts").at(i))
                out = out + added.masked_fill(weight == 0, 0)
        return tap("out", out)

    def _weights(self, logits: Tensor) -> Tensor:
        """Softmax over the largest logits of each token, 0 elsewhere: (B, T, E)."""
        largest, chosen = logits.topk(self.n_active, dim=-1)
        return torch.zeros_like(logits).scatter(-1, chosen, largest.softmax(dim=-1))
