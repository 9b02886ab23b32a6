"""Made-up sentences and attention of any size, the same at every call."""

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention
from viz.viewer.viewer_run import ViewerRun, view_weights

WORDS = [
    "yesterday",
    "i",
    "saw",
    "a",
    "raccoon",
    "near",
    "the",
    "house",
    "and",
    "the",
    "raccoon",
    "<b>x",
    "שלום",
]


def words(count: int) -> list[str]:
    return [WORDS[i % len(WORDS)] for i in range(count - 1)] + ["<eos>"]


def next_logits(n_tokens: int) -> NDArray[np.float32]:
    """Logits of the next token, in descending order: (V,)."""
    return -np.sort(-np.random.default_rng(2).normal(0, 3, n_tokens)).astype(np.float32)


@cache
def attention(
    n_layers: int, n_heads: int, n_queries: int, n_keys: int, *, causal: bool
) -> NDArray[np.float32]:
    """Weights (L, H, Q, K): noise with one peak per head, each in a different place."""
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(n_layers, n_heads, n_queries, n_keys)).astype(np.float32)
    diagonal = np.arange(n_queries)[:, None] * n_keys / n_queries - np.arange(n_keys)[None, :]
    for layer, head in np.ndindex(n_layers, n_heads):
        scores[layer, head] += 5 * np.exp(-((diagonal - head + layer) ** 2) / (1 + head))
    if causal:
        scores = np.where(np.tril(np.ones((n_queries, n_keys), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float32)


def cross_weights(n_queries: int, n_keys: int) -> NDArray[np.float32]:
    """Cross-attention weights (L=6, H=8, Q, K)."""
    return attention(6, 8, n_queries, n_keys, causal=False)


@cache
def held_run(
    maps: tuple[int, int],
    tokens: tuple[int, int],
    *,
    padding: int = 0,
    has_scores: bool = False,
    turned: int = 0,
) -> ViewerRun:
    """A run of made-up attention in the viewer's form.

    Args:
        maps: number of layers and of heads of each attention.
        tokens: of the decoder, which are the queries of the cross-attention, and of the encoder, its keys.
        padding: how many of the encoder's last tokens are padding.
        has_scores: True if the scores before the mask are known.
        turned: number of places by which the heads are rolled; each number gives another run.
    """
    n_queries, n_keys = tokens
    sizes: dict[Attention, tuple[int, int]] = {
        "encoder": (n_keys, n_keys),
        "decoder": (n_queries, n_queries),
        "cross": (n_queries, n_keys),
    }
    weights = {
        name: np.roll(attention(*maps, *size, causal=name == "decoder"), turned, axis=1)
        for name, size in sizes.items()
    }
    held = view_weights(
        {name: list(values) for name, values in weights.items()},
        {"encoder": words(n_keys), "decoder": words(n_queries)},
    )
    attentions = {}
    for name, view in held.attentions.items():
        allowed = view.allowed.copy()
        if view.keys == "encoder":
            allowed[:, n_keys - padding :] = False
        open_weights = np.where(allowed, weights[name], 0)
        scores = np.log(weights[name] + 1e-4) + 4
        attentions[name] = replace(
            view,
            allowed=allowed,
            weights=list(open_weights / open_weights.sum(axis=-1, keepdims=True)).__getitem__,
            scores=list(scores).__getitem__ if has_scores else None,
        )
    return replace(held, attentions=attentions)
