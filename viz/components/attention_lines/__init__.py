"""All heads of one layer as lines between the tokens that look and the tokens looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viz.components.shared.client_view import ClientView
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme

WINDOW = 64
"""The most tokens shown on either side: more lines than that cannot be told apart."""
FULL_WEIGHT = 65535
"""A weight of 1 as a 16-bit level; weights are precise to 1 / 65535."""

_VIEW = ClientView("attention_lines")


def attention_lines(
    weights: NDArray[np.float32],
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    head_labels: Sequence[str],
    colors: Theme,
    key: str,
    title: str = "All heads of a layer",
    first_query: int = 0,
    first_key: int = 0,
) -> None:
    """Draw one layer's attention as lines from the queries (left) to the keys (right), one colour per head.

    A line is as opaque as its weight. Clicking a head's button shows or hides it, double-clicking shows it
    alone. A slider leaves, for every query of every head, the fewest keys that hold so much of its attention.
    Hovering a token (or clicking it, or the arrow keys) shows only its lines, with a number beside each token
    it looks at or is looked at by: the mean over the heads shown, so the very weight when one head is shown
    (numbers below 0.005 are left out). All of it happens in the browser; nothing is sent back.

    Args:
        weights: (H, Q, K), from 0 to 1; each row sums to 1.
        query_tokens: Q tokens, with invisible characters already made visible.
        key_tokens: K tokens, likewise.
        head_labels: H labels such as "head 0".
        title: what the view is, for screen readers.
        first_query: where the window of ``WINDOW`` queries begins in a longer sentence.
        first_key: where the window of ``WINDOW`` keys begins in a longer sentence.

    Raises:
        ValueError: if weights, tokens and labels do not belong together, or a window lies outside.
    """
    shape = (len(head_labels), len(query_tokens), len(key_tokens))
    if weights.shape != shape or 0 in shape:
        raise ValueError(f"weights of shape {weights.shape} for {shape} heads, queries and keys")
    if not (0 <= first_query < shape[1] and 0 <= first_key < shape[2]):
        raise ValueError(f"no window at query {first_query}, key {first_key} of {shape[1]} x {shape[2]}")
    queries = slice(first_query, first_query + WINDOW)
    keys = slice(first_key, first_key + WINDOW)
    data = {
        "colors": color_data(colors),
        "title": title,
        "heads": list(head_labels),
        "queries": list(map(brief, query_tokens[queries])),
        "keys": list(map(brief, key_tokens[keys])),
        "note": _note(shape[1:], (first_query, first_key)),
    }
    levels = np.rint(np.clip(weights[:, queries, keys], 0, 1) * FULL_WEIGHT).astype(np.uint16)
    _VIEW.show(pack_frame(data, {"weights": levels}), key=key)


def _note(lengths: Sequence[int], firsts: Sequence[int]) -> str:
    """Say how to use the view and, where a sentence is too long for it, which part is shown."""
    use = "Hover a token for its numbers. Click a head to show or hide it, double-click to see it alone."
    parts = [
        f"{side} {first} to {min(first + WINDOW, length) - 1} of {length}"
        for side, length, first in zip(("queries", "keys"), lengths, firsts, strict=True)
        if length > WINDOW
    ]
    if not parts:
        return use
    return (
        f"{use} Too long to tell all lines apart: shown are {' and '.join(parts)}; "
        "the slider counts the attention inside this window."
    )
