"""What positions do to the scores of a run: biases by distance, and products of turned vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from transformer.model.positions import RelativeBias
from transformer.model.trace import Trace


def biases_of(
    table: RelativeBias, *, both_ways: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Of every distance that a stack can meet: distances (N,), their buckets (N,) and biases (H, N).

    Unless keys after the query are met too (both ways), distances are 0 or less.
    """
    distances = np.arange(-table.max_distance, table.max_distance + 1)
    buckets = table.buckets.cpu().numpy()
    biases = table.weight.detach().cpu().numpy()[buckets].T  # (H, N)
    met = slice(None) if both_ways else distances <= 0
    return distances[met], buckets[met], biases[:, met]


def rotary_products_of(
    trace: Trace, path: str, head: int, query: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[str]]:
    """The products of a query with the N keys that it may look at, before and after both are turned.

    Args:
        trace: of a single sentence in a model with rotary positions.
        path: of a self-attention.
        head: of the queries.
        query: its position.

    Returns:
        (N,) before, (N,) after, and the tokens of those keys.
    """
    group = trace[f"{path}.q"].shape[1] // trace[f"{path}.k"].shape[1]
    before, after = (
        (trace[f"{path}.k{end}"][0, head // group] @ trace[f"{path}.q{end}"][0, head, query]).numpy()
        for end in ("_unrotated", "")
    )
    is_open = trace[f"{path}.mask"][0, 0].expand(-1, len(after))[query].numpy()
    tokens = (trace.tgt_tokens or trace.src_tokens)[0]
    return before[is_open], after[is_open], [tokens[key] for key in np.flatnonzero(is_open)]
