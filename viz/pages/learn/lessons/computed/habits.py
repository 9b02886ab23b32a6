"""Positional habits of heads, independent of the sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import AttentionMaps

HABITS = ("itself", "the token before", "the token after", "the first token", "the last token")
"""Positional habits that a head may have."""


NEIGHBOURS = slice(1, 3)
"""The habits of attending to the previous or next token."""
CLEAR = 0.3
"""A neighbour habit is clear if its mean weight is above this."""


class Head(NamedTuple):
    """A head with a habit.

    Attributes:
        layer, head: its indices.
        habit: index of the habit in `HABITS`.
        share: the mean weight on the habit's token, over the rows that have one.
    """

    layer: int
    head: int
    habit: int
    share: float


def habits_of(maps: AttentionMaps) -> NDArray[np.float64]:
    """(habits, L, H): the mean weight of each habit, over the rows that have such a key."""
    query = np.arange(len(maps.query_tokens))
    shares = []
    for habit in range(len(HABITS)):
        key, rows = key_of(maps, habit), rows_with(maps, habit)
        weights = maps.values[:, :, query[rows], key[rows]].astype(np.float64)  # (L, H, rows)
        shares.append(weights.mean(axis=-1) if rows.any() else np.zeros(maps.values.shape[:2]))
    return np.stack(shares)


def key_of(maps: AttentionMaps, habit: int) -> NDArray[np.int64]:
    """(Q,): the key that a habit attends to from each query; out of range if there is none."""
    query = np.arange(len(maps.query_tokens))
    return (query, query - 1, query + 1, np.zeros_like(query), np.full_like(query, len(query) - 1))[habit]


def rows_with(maps: AttentionMaps, habit: int) -> NDArray[np.bool_]:
    """(Q,): True for rows with several open keys, the habit's among them."""
    key = key_of(maps, habit)
    rows = (maps.allowed.sum(axis=1) > 1) & (key >= 0) & (key < len(key))
    rows[rows] &= maps.allowed[rows, key[rows]]
    is_there: NDArray[np.bool_] = rows
    return is_there


def clearest_of(maps: AttentionMaps) -> Head:
    """The head with the clearest neighbour habit or, if none has one, the clearest habit of any kind."""
    habits = habits_of(maps)
    among = habits[NEIGHBOURS] if habits[NEIGHBOURS].max() > CLEAR else habits
    habit, layer, head = np.unravel_index(int(among.argmax()), among.shape)
    return Head(int(layer), int(head), int(habit) + (among is not habits), float(among.max()))
