"""Sentences and attention of any size, the same at every call, with nothing learnt."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

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
    """The logits of every token that may come next, the largest first."""
    return -np.sort(-np.random.default_rng(2).normal(0, 3, n_tokens)).astype(np.float32)


@cache
def attention(
    n_layers: int, n_heads: int, n_queries: int, n_keys: int, *, causal: bool
) -> NDArray[np.float32]:
    """Weights (L, H, Q, K): a peak that each head places differently, over noise."""
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(n_layers, n_heads, n_queries, n_keys)).astype(np.float32)
    diagonal = np.arange(n_queries)[:, None] * n_keys / n_queries - np.arange(n_keys)[None, :]
    for layer, head in np.ndindex(n_layers, n_heads):
        scores[layer, head] += 5 * np.exp(-((diagonal - head + layer) ** 2) / (1 + head))
    if causal:
        scores = np.where(np.tril(np.ones((n_queries, n_keys), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float32)
