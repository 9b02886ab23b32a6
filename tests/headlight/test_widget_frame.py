"""What a notebook receives of an attention before it asks: little, but all that is painted first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headlight
from headlight.widget import AT_ONCE
from tests.viz.mounted import unpack_frame

BERTVIZ_BYTES = {64: 8_600_000, 256: 141_000_000}
"""Size of the page of bertviz.model_view for 6 layers of 8 heads, by number of tokens."""


def attention(n_tokens: int, n_layers: int = 6, n_heads: int = 8) -> NDArray[np.float32]:
    """Random weights (L, H, Q, K)."""
    random = np.random.default_rng(0)
    scores = random.standard_normal((n_layers, n_heads, n_tokens, n_tokens), np.float32)
    weights = np.exp(scores)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float32)


def frame_of(weights: NDArray[np.float32], **options: Any) -> bytes:
    n_tokens = weights.shape[-1]
    return headlight.show_attention(weights, [f"t{i}" for i in range(n_tokens)], **options).frame


@pytest.mark.parametrize("n_tokens", BERTVIZ_BYTES)
def test_it_is_a_thirtieth_of_bertviz_and_has_what_is_painted_first(n_tokens: int) -> None:
    weights = attention(n_tokens)
    frame = frame_of(weights, layer=2, head=3)
    assert len(frame) <= BERTVIZ_BYTES[n_tokens] / 30
    _, arrays = unpack_frame(frame)
    np.testing.assert_array_equal(arrays["head:encoder:2:3/weights"], weights[2, 3])
    np.testing.assert_array_equal(arrays["pooled:encoder/high"], weights.max(axis=(2, 3)))
    assert "weights:encoder/values" not in arrays


def test_a_small_attention_comes_at_once() -> None:
    weights = attention(64, n_layers=3, n_heads=5)
    assert weights.nbytes <= AT_ONCE
    _, arrays = unpack_frame(frame_of(weights))
    np.testing.assert_array_equal(arrays["weights:encoder/values"], weights)
    assert not any(name.startswith(("pooled", "head")) for name in arrays)
