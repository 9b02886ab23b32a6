"""A run as it was when an earlier token of the target was the newest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from transformer.analysis.attention_maps import Attention
from viz.viewer.viewer_run import AttentionView, Floats, ViewerRun

_QUERY_VECTORS = ("q", "q_unrotated", "q_unnormed", "z")


def truncated(run: ViewerRun, query: int, n_keys: Mapping[Attention, int]) -> ViewerRun:
    """A run as of the time when the decoder's token `query` was the newest.

    Args:
        run: the whole run.
        query: position of the newest token.
        n_keys: the attentions to keep, with the number of keys that each had.
    """
    n_queries, decoder = query + 1, run.sides["decoder"]
    kept = replace(
        decoder,
        tokens=decoder.tokens[:n_queries],
        special=tuple(i for i in decoder.special if i < n_queries),
        words=None,
        written=decoder.written[:n_queries],
        spelled=decoder.spelled[:n_queries],
        predicted=decoder.predicted[:n_queries],
    )
    attentions = {name: _truncated(run.attentions[name], n_queries, n_keys[name]) for name in n_keys}
    sides = {**run.sides, "decoder": kept}
    return replace(run, sides=sides, attentions=attentions, others={}, receipt=None, known={})


def _truncated(whole: AttentionView, n_queries: int, n_keys: int) -> AttentionView:
    queries, keys = slice(n_queries), slice(n_keys)

    def cells(values: Callable[[int], Floats], layer: int) -> Floats:
        return values(layer)[:, queries, keys]

    def vectors(layer: int, head: int) -> Mapping[str, Floats]:
        assert whole.vectors is not None
        arrays = whole.vectors(layer, head)
        cells = {name: queries if name in _QUERY_VECTORS else keys for name in arrays}
        return {
            name: array[(queries, keys) if name == "bias" else cells[name]] for name, array in arrays.items()
        }

    def lengths(layer: int) -> Floats | None:
        all_keys = whole.lengths and whole.lengths(layer)
        return None if all_keys is None else all_keys[:, keys]

    return replace(
        whole,
        allowed=whole.allowed[queries, keys],
        narrower={layer: allowed[queries, keys] for layer, allowed in whole.narrower.items()},
        weights=partial(cells, whole.weights),
        scores=None if whole.scores is None else partial(cells, whole.scores),
        vectors=whole.vectors and vectors,
        lengths=whole.lengths and lengths,
        costs=None,
    )
