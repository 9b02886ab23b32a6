"""What a widget sends to a browser, and attention of any model to make a widget of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight import AttentionWidget
from tests.viz.mounted import unpack_frame

HEADS, QUERIES, KEYS = 3, 5, 7


def answers(widget: AttentionWidget, content: Any) -> list[bytes]:
    """What the widget sends in answer to this message from a browser."""
    sent: list[bytes] = []
    widget.send = lambda _content, buffers: sent.extend(buffers)
    widget._handle_custom_msg(content, [])
    return sent


def shown(widget: AttentionWidget, attention: str = "encoder") -> NDArray[np.float32]:
    """The weights (L, H, Q, K) that the browser gets."""
    return unpack_frame(widget.frame)[1][f"weights:{attention}/values"]


def weights(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    """Random weights whose last axis sums to 1."""
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1]).astype(np.float32)


def tokens(count: int, name: str = "t") -> list[str]:
    return [f"{name}{position}" for position in range(count)]


def layers(n_layers: int = 2, queries: int = QUERIES, keys: int = QUERIES) -> list[NDArray[np.float32]]:
    """Weights as transformers returns them, (1, H, Q, K) per layer."""
    return [weights(1, HEADS, queries, keys, seed=seed) for seed in range(n_layers)]


ENCODER_DECODER = {
    "encoder_attention": layers(2, KEYS, KEYS),
    "decoder_attention": layers(3, QUERIES, QUERIES),
    "cross_attention": layers(3, QUERIES, KEYS),
    "encoder_tokens": tokens(KEYS, "s"),
    "decoder_tokens": tokens(QUERIES, "t"),
}
"""The three attentions of an encoder and a decoder of unequal depths and lengths, and their tokens."""
