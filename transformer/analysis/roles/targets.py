"""Which keys count for which role: the cells of one sentence's map, for all heads alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.attention_maps import Attention
from transformer.analysis.roles.definitions import INDEX, MEASURES
from transformer.model_input import Input
from transformer.text.coder import Coder

WINDOW = 16
"""Largest distance with a mean of its own; larger ones share one at either end."""
N_BINS = 2 * WINDOW + 3


@dataclass(frozen=True)
class Links:
    """What the words of one output depend on: rows of the decoder -> positions of the source word's tokens.

    Attributes:
        writing: at the rows that write each word.
        reading: at the rows that read it.
    """

    writing: Sequence[tuple[int, Sequence[int]]] = ()
    reading: Sequence[tuple[int, Sequence[int]]] = ()


NO_LINKS = Links()


def cells(
    attention: Attention, queries: Input, keys: Input, allowed: Tensor, coder: Coder, links: Links = NO_LINKS
) -> Tensor:
    """The cells that count for each measure, in rows with a choice: (measures, Q, K) bool.

    Args:
        attention: which attention.
        queries, keys: the inputs that queries and keys are made from.
        allowed: (Q, K) bool, True = may attend.
        coder: the keys' coder.
        links: for cross-attention.
    """
    found = torch.zeros(len(MEASURES), *allowed.shape, dtype=torch.bool)
    open_cells = allowed & (allowed.sum(dim=-1, keepdim=True) > 1)
    special = special_keys(keys, coder).expand_as(allowed)
    found[INDEX["special"]] = special & (open_cells & ~special).any(dim=-1, keepdim=True)
    if attention == "cross":
        for name, rows in (("writing", links.writing), ("reading", links.reading)):
            for row, positions in rows:
                found[INDEX[name], row, list(positions)] = True
        return found & open_cells
    distance = distances(*allowed.shape)
    found[INDEX["previous"]] = distance == -1
    if attention == "encoder":
        found[INDEX["next"]] = distance == 1
    found[INDEX["same"]] = distance == 0
    ids = torch.tensor(queries.ids)
    is_equal = (ids[:, None] == ids) & ~special & (distance != 0)
    found[INDEX["duplicate"]] = is_equal
    found[INDEX["repeat"]] = after_previous(queries.ids) & ~special
    return found & open_cells


def after_previous(ids: Sequence[int]) -> Tensor:
    """The key after the latest earlier occurrence of each query's token: (T, T) bool."""
    found = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    latest: dict[int, int] = {}
    for position, token in enumerate(ids):
        if token in latest:
            found[position, latest[token] + 1] = latest[token] + 1 < position
        latest[token] = position
    return found


def special_keys(keys: Input, coder: Coder) -> Tensor:
    """True for the tokens that frame the text and for punctuation: (K,)."""
    special_tokens = coder.special_tokens
    framing = special_tokens.ids - {special_tokens.unk, special_tokens.mask}
    last = keys.first + len(keys.sentence.ids)
    return torch.tensor(
        [
            not keys.first <= position < last or token_id in framing or not any(map(str.isalnum, token))
            for position, (token_id, token) in enumerate(zip(keys.ids, keys.tokens, strict=True))
        ]
    )


def distances(n_queries: int, n_keys: int) -> Tensor:
    """How far each key is after the query on the straight line from the first pair to the last: (Q, K).

    In self-attention this is key minus query.
    """
    slope = (n_keys - 1) / max(n_queries - 1, 1)
    line = (torch.arange(n_queries, dtype=torch.float64) * slope).round().long()
    return torch.arange(n_keys) - line[:, None]


def distance_bins(n_queries: int, n_keys: int) -> Tensor:
    """The bin of each cell's distance: (Q, K); bin WINDOW + 1 is distance 0."""
    return distances(n_queries, n_keys).clamp(-WINDOW - 1, WINDOW + 1) + WINDOW + 1
