"""Scores for ranking the heads of an attention, one number per head, and the head that is easiest to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

HeadScore = Literal["entropy", "distance", "special", "sharpness", "diagonal"]

MOSTLY_RESTS = 0.5
"""Share above which a head is said to rest on the tokens that frame a sentence."""


def resting_share(
    weights: NDArray[np.float32], framing: Sequence[int], allowed: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """The share of each head's attention on tokens that frame a sentence, such as <bos> and <eos>.

    It is the mean over the rows that have a choice: with a single open key, as in a decoder's first row, the
    weight is 1 whatever the head has learned. Compare it with `MOSTLY_RESTS`.

    Args:
        weights: (H, Q, K); a row sums to 1, or to 0 if every key is closed.
        framing: positions of the keys that frame the sentence; closed ones, such as padding, have no weight.
        allowed: (Q, K), True = may attend.

    Returns:
        (H,); 0 if no row has a choice.
    """
    choosing = allowed.sum(axis=-1) > 1
    given = weights[..., list(framing)][:, choosing].sum(axis=-1, dtype=np.float64)  # (H, Q)
    return (given.sum(axis=-1) / max(int(choosing.sum()), 1)).astype(np.float32)


def head_scores(
    weights: NDArray[np.float32],
    special: Sequence[int],
    allowed: NDArray[np.bool_],
    *,
    is_self_attention: bool,
) -> dict[HeadScore, NDArray[np.float32]]:
    """Score every head of a layer by its weights; each score is the mean over rows with open keys.

    Args:
        weights: (H, Q, K); a row sums to 1, or to 0 if every key is closed.
        special: positions of keys that are special tokens.
        allowed: (Q, K), True = may attend.
        is_self_attention: whether queries and keys are the same tokens; "distance" is only defined for these.

    Returns:
        (H,) each: "entropy", of the row in bits; "distance", the weighted mean distance in positions between
        the query and its keys; "special", the `resting_share`; "sharpness", the largest weight; "diagonal",
        the weight within one key of the line from the first query and key to the last.
    """
    exact = weights.astype(np.float64)
    _, n_queries, n_keys = weights.shape
    rows = exact.sum(axis=-1) > 0  # (H, Q)
    count = np.maximum(rows.sum(axis=-1), 1)
    queries, keys = np.arange(n_queries)[:, None], np.arange(n_keys)
    logarithms = np.log2(exact, where=exact > 0, out=np.zeros_like(exact))
    ideal = queries * ((n_keys - 1) / max(n_queries - 1, 1))
    per_row = {
        "entropy": -(exact * logarithms).sum(axis=-1),
        "sharpness": exact.max(axis=-1),
        "diagonal": (exact * (np.abs(keys - ideal) <= 1)).sum(axis=-1),
    }
    if is_self_attention:
        per_row["distance"] = (exact * np.abs(queries - keys)).sum(axis=-1)
    scores: dict[HeadScore, NDArray[np.float32]] = {"special": resting_share(weights, special, allowed)}
    for name, values in per_row.items():
        scores[name] = ((values * rows).sum(axis=-1) / count).astype(np.float32)  # type: ignore[index]
    return scores


def readability(weights: NDArray[np.float32], left_out: Sequence[int]) -> NDArray[np.float32]:
    """Score how easily each head of a layer can be read: sharp rows that look at different keys.

    The mean over rows of the largest weight on an ordinary key, times the share of different keys among
    these. It is low for a head that rests on special tokens, that has one favourite key, or that is uniform.

    Args:
        weights: (H, Q, K); a row sums to 1, or to 0 if every key is closed.
        left_out: positions of keys that mean little by themselves: special tokens and punctuation.

    Returns:
        (H,), from 0 to 1.
    """
    n_heads, n_queries, n_keys = weights.shape
    is_ordinary = ~np.isin(np.arange(n_keys), left_out)
    ordinary = np.flatnonzero(is_ordinary)
    if not ordinary.size:
        return np.zeros(n_heads, np.float32)
    favourites = weights.argmax(axis=-1)  # (H, Q)
    rests = ~is_ordinary[favourites]
    # Only these rows are copied: of long sentences a copy takes longer than the rest.
    favourites[rests] = ordinary[weights[rests][:, ordinary].argmax(axis=-1)]
    largest = np.take_along_axis(weights, favourites[..., None], axis=-1).mean(axis=(1, 2))
    is_favourite = np.zeros((n_heads, n_keys), bool)
    is_favourite[np.arange(n_heads)[:, None], favourites] = True
    scores: NDArray[np.float32] = largest * is_favourite.sum(axis=-1) / min(n_queries, ordinary.size)
    return scores.astype(np.float32)
