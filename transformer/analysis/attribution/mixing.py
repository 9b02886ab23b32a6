"""From one layer's shares to shares of the input: what rollout and ALTI+ have in common.

Each layer says which part of a token's new vector comes from which old vectors; the layers are multiplied
(Abnar and Zuidema 2020, arXiv:2005.00928, section 3). A decoder's vectors come from the source, by way of the
encoder, and from the target prefix (Ferrando et al. 2022, arXiv:2205.11631, section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention
from transformer.model.trace import Stack, Trace

Layer = NDArray[np.float64]
LayerShares = Callable[[Attention, int], Layer]
"""Shares of one attention block by layer; each row sums to 1.

(Q, K) for self-attention, whose diagonal includes the token's own stream; (Q, K + 1) for cross-attention,
whose last column is the stream.
"""


@dataclass(frozen=True)
class InputShares:
    """Shares of the input tokens in each position's last vector; a row's shares sum to 1 over both stacks.

    Attributes:
        by_stack: (T, tokens) for each stack that the model has; T positions of the last stack.
    """

    by_stack: dict[Stack, NDArray[np.float64]]

    def of(self, rows: tuple[int, ...]) -> dict[Stack, NDArray[np.float64]]:
        """The mean shares of some positions, by stack: (tokens,)."""
        return {stack: shares[list(rows)].mean(axis=0) for stack, shares in self.by_stack.items()}


def input_shares(trace: Trace, layer_shares: LayerShares) -> InputShares:
    """Multiply the layers' shares, the encoder's first."""
    encoder = decoder = None
    for layer in range(trace.n_layers("encoder")):
        own = layer_shares("encoder", layer)
        encoder = own if encoder is None else own @ encoder
    for layer in range(trace.n_layers("decoder")):
        own = layer_shares("decoder", layer)
        before = np.hstack([np.zeros((len(own), 0 if encoder is None else len(encoder))), np.eye(len(own))])
        decoder = own @ (before if decoder is None else decoder)  # (T, S + T)
        if encoder is not None:
            cross = layer_shares("cross", layer)
            decoder = cross[:, -1:] * decoder
            decoder[:, : len(encoder)] += cross[:, :-1] @ encoder
    by_stack: dict[Stack, NDArray[np.float64]] = {}
    if decoder is None:
        assert encoder is not None
        by_stack["encoder"] = encoder
    else:
        n_source = 0 if encoder is None else len(encoder)
        if n_source:
            by_stack["encoder"] = decoder[:, :n_source]
        by_stack["decoder"] = decoder[:, n_source:]
    return InputShares(by_stack)
