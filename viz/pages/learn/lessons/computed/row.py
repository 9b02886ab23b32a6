"""The row of one head that lessons 3 and 4 follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import (
    MODULES,
    Attention,
    AttentionMaps,
    attention_maps,
    attention_record,
    attentions,
)
from viz.pages.learn.lessons.format.subject import Subject

Array = NDArray[np.float32]


class Row(NamedTuple):
    """One query of one head of the first layer.

    Attributes:
        attention, head, query: its indices.
        q: (d_head,).
        k, v: (K, d_head), for all keys.
        scores, weights: (K,), the scores before the mask.
        is_open: (K,), True for keys that it may attend to.
        z: (d_head,), the head's output for the query.
        product: q·k for the key with the largest weight, undivided and without any bias.
        product_back: the same with the two tokens' roles swapped: that token's query, this token's key.
        tokens: the K keys.
        token: the query's own.
    """

    attention: Attention
    head: int
    query: int
    q: Array
    k: Array
    v: Array
    scores: Array
    weights: Array
    is_open: NDArray[np.bool_]
    z: Array
    product: float
    product_back: float
    tokens: tuple[str, ...]
    token: str

    @property
    def first(self) -> int:
        """The key with the largest weight."""
        return int(self.weights.argmax())

    @property
    def second(self) -> int:
        """The key with the second largest weight."""
        return int(np.argsort(self.weights)[-2])


def row_of(subject: Subject) -> Row:
    """The most focused row of the first layer; from a later turn, the next ones of that head."""
    return subject.kept(f"one head {subject.turn}", lambda: _row(subject))


def _row(subject: Subject) -> Row:
    trace = subject.run.trace
    attention = attentions(trace)[0]
    maps = attention_maps(trace, attention, "weights", layer=0)
    # For each kind of cell (H, Q): the row's largest weight in such a cell, -1 if it has none.
    largest = [np.where(cells, maps.values[0], -1).max(axis=2) for cells in _worth_asking(subject, maps)]
    sharpest = int(largest[0].max(axis=1).argmax())
    queries = list(
        dict.fromkeys(
            int(query)
            for of_kind in largest
            for query in np.argsort(-of_kind[sharpest], kind="stable")
            if of_kind[sharpest, query] >= 0
        )
    )
    query = queries[subject.turn % len(queries)]
    record = attention_record(trace, attention, 0)
    shared = record.q.shape[1] // record.k.shape[1]
    q, k = record.q[0, sharpest].double().numpy(), record.k[0, sharpest // shared].double().numpy()
    first = int(record.weights[0, sharpest, query].argmax())
    return Row(
        attention=attention,
        head=int(sharpest),
        query=query,
        q=record.q[0, sharpest, query].numpy(),
        k=record.k[0, sharpest // shared].numpy(),
        v=record.v[0, sharpest // shared].numpy(),
        scores=record.scores[0, sharpest, query].numpy(),
        weights=record.weights[0, sharpest, query].numpy(),
        is_open=maps.allowed[query],
        z=record.z[0, sharpest, query].numpy(),
        product=float(q[query] @ k[first]),
        product_back=float(q[first] @ k[query]),
        tokens=maps.key_tokens,
        token=maps.query_tokens[query],
    )


def _worth_asking(subject: Subject, maps: AttentionMaps) -> list[NDArray[np.bool_]]:
    """The kinds of open cells that there are, (Q, K) each, from the best to ask about to the least.

    Between whole words, between words, and in rows with a choice; all of them if there are none of these.
    """
    stack = MODULES[attentions(subject.run.trace)[0]][0]
    others = maps.allowed & ~np.eye(*maps.allowed.shape, dtype=np.bool_)
    between = [
        others & words[:, None] & words for words in (subject.is_whole_word(stack), subject.is_word(stack))
    ]
    has_choice = maps.allowed & (maps.allowed.sum(axis=1, keepdims=True) > 1)
    return [cells for cells in (*between, has_choice) if cells.any()] or [maps.allowed]
