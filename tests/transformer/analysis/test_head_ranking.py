"""Head scores, each against a plain row-by-row computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from transformer.analysis.head_ranking import head_scores

HEADS, QUERIES, KEYS = 3, 5, 7


def softmax_weights(n_queries: int, n_keys: int, *, causal: bool = False) -> NDArray[np.float32]:
    """Random weights (H, Q, K) whose rows sum to 1."""
    scores = np.random.default_rng(11).normal(0, 2, (HEADS, n_queries, n_keys))
    if causal:
        scores = np.where(np.tri(n_queries, n_keys, dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores)
    return (exponentials / exponentials.sum(axis=-1, keepdims=True)).astype(np.float32)


def entropy(row: list[float], query: int, n_queries: int) -> float:
    return -sum(weight * math.log2(weight) for weight in row if weight > 0)


def distance(row: list[float], query: int, n_queries: int) -> float:
    return sum(weight * abs(query - key) for key, weight in enumerate(row))


def sharpness(row: list[float], query: int, n_queries: int) -> float:
    return max(row)


def diagonal(row: list[float], query: int, n_queries: int) -> float:
    """The weight within one key of the line from the first cell to the last cell."""
    line = query / (n_queries - 1) * (len(row) - 1)
    return sum(weight for key, weight in enumerate(row) if abs(key - line) <= 1)


PLAIN = {"entropy": entropy, "sharpness": sharpness, "diagonal": diagonal, "distance": distance}


@pytest.mark.parametrize("n_keys, causal", [(KEYS, False), (QUERIES, True), (QUERIES, False)])
def test_a_score_is_the_mean_of_its_rows(n_keys: int, causal: bool) -> None:
    weights = softmax_weights(QUERIES, n_keys, causal=causal)
    is_self = n_keys == QUERIES
    allowed = np.tri(QUERIES, n_keys, dtype=bool) if causal else np.ones((QUERIES, n_keys), bool)
    found = head_scores(weights, [0, n_keys - 1], allowed, is_self_attention=is_self)
    assert set(found) == {"entropy", "special", "sharpness", "diagonal"} | (
        {"distance"} if is_self else set()
    )
    for name, plain in PLAIN.items():
        if name not in found:
            continue
        expected = [
            sum(plain(row, query, QUERIES) for query, row in enumerate(head)) / QUERIES
            for head in weights.tolist()
        ]
        np.testing.assert_allclose(found[name], expected, rtol=1e-6, err_msg=name)
    choosing = weights[:, int(causal) :].tolist()  # a causal mask leaves the first row no choice
    special = [sum(row[0] + row[-1] for row in head) / len(head) for head in choosing]
    np.testing.assert_allclose(found["special"], special, rtol=1e-6)


def test_rows_without_open_keys_do_not_count() -> None:
    """Rows of padding are all zeros and are ignored."""
    weights = softmax_weights(QUERIES, KEYS)
    padded = np.concatenate([weights, np.zeros((HEADS, 2, KEYS), np.float32)], axis=1)
    allowed = np.ones((QUERIES, KEYS), bool)
    alone = head_scores(weights, [1], allowed, is_self_attention=False)
    padding = np.concatenate([allowed, np.zeros((2, KEYS), bool)])
    found = head_scores(padded, [1], padding, is_self_attention=False)
    for name in ("entropy", "special", "sharpness"):
        np.testing.assert_array_equal(found[name], alone[name])
    nothing = head_scores(
        np.zeros((1, 2, 3), np.float32), [], np.zeros((2, 3), bool), is_self_attention=False
    )
    assert all(score.tolist() == [0] for score in nothing.values())


def test_the_ends_of_each_score() -> None:
    """One head attends along the diagonal, one uniformly, one to the first key only."""
    n = 6
    first = np.zeros((n, n), np.float32)
    first[:, 0] = 1
    weights = np.stack([np.eye(n, dtype=np.float32), np.full((n, n), 1 / n, np.float32), first])
    scores = head_scores(weights, [0], np.ones((n, n), bool), is_self_attention=True)
    np.testing.assert_allclose(scores["entropy"], [0, math.log2(n), 0], atol=1e-6)
    np.testing.assert_allclose(scores["sharpness"], [1, 1 / n, 1], atol=1e-6)
    np.testing.assert_allclose(scores["special"], [1 / n, 1 / n, 1], atol=1e-6)
    np.testing.assert_allclose(scores["distance"], [0, 35 / 18, 2.5], atol=1e-6)
    np.testing.assert_allclose(scores["diagonal"], [1, 16 / 36, 2 / n], atol=1e-6)


def test_one_query_and_one_key() -> None:
    scores = head_scores(np.ones((2, 1, 1), np.float32), [], np.ones((1, 1), bool), is_self_attention=True)
    assert {name: score.tolist() for name, score in scores.items()} == {
        "entropy": [0, 0],
        "special": [0, 0],
        "sharpness": [1, 1],
        "diagonal": [1, 1],
        "distance": [0, 0],
    }
