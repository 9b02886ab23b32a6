"""Attention of which only the weights are known, as the viewer's runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from operator import index
from typing import SupportsIndex, cast

import numpy as np

from headlight.foreign.generated import attentions_of, is_generated
from headlight.foreign.layers import Layers, check_keys, read_layers
from headlight.foreign.tokens import Tokens, read_tokens
from transformer.analysis.attention_maps import ATTENTION_LABELS, MODULES, Attention
from transformer.model.trace import Stack
from viz.viewer.sides import foreign_side
from viz.viewer.viewer_run import AttentionView, Floats, ViewerRun, view_weights

ALMOST_1 = 0.02
"""The largest deviation from a sum of 1 for a row of weights in half precision."""


def view_attention(
    single: Layers,
    tokens: tuple[Tokens | None, Tokens | None],
    several: Mapping[Attention, Layers],
    sides: Mapping[Stack, Tokens | None],
) -> ViewerRun:
    """Prepare one attention, or the attentions of an encoder and a decoder.

    Args:
        single: one attention, or a whole output of transformers.
        tokens: its query tokens and, if they are others, its key tokens.
        several: up to three attentions; the missing ones are None.
        sides: their tokens.

    Raises:
        TypeError, ValueError: the weights are not attention weights, or the tokens don't match them.
    """
    if isinstance(single, Mapping):
        found = attentions_of(single)
        single = found.get("attentions")
        if single is None:
            several = {name: found.get(f"{name}_attentions") for name in MODULES}
    if all(layers is None for layers in several.values()):
        return view_single(single, *tokens)
    if single is not None:
        raise ValueError("Pass one attention, or those of an encoder and a decoder by their names, not both.")
    return view_several(several, sides)


def view_single(weights: Layers, queries: Tokens | None, keys: Tokens | None) -> ViewerRun:
    """Prepare one attention: within one text or, if keys are given, between two.

    Raises:
        TypeError, ValueError: the weights are not attention weights, or the tokens don't match them.
    """
    generated = is_generated(weights)
    layers = read_layers(weights, "attention", between=keys is not None)
    n_queries, n_keys = layers[0].shape[1:]
    if keys is not None:
        own = read_tokens(queries, n_queries, "query_tokens", "queries", generated=generated)
        return _view_between(layers, own, read_tokens(keys, n_keys, "key_tokens", "keys"))
    check_keys(layers[0], "attention")
    if n_queries != n_keys:
        if n_queries > n_keys or queries is None or len(queries) not in (n_keys, n_keys + generated):
            raise ValueError(
                f"The attention has {n_queries} queries and {n_keys} keys: pass the tokens of the queries, "
                "then those of the keys."
            )
        # Keys were cached: the queries are the last tokens.
        read = read_tokens(queries, n_keys, "tokens", "keys", generated=generated)
        return _view_between(layers, read[-n_queries:], read)
    tokens = read_tokens(queries, n_queries, "tokens", "queries", generated=generated)
    label = "Self-attention"
    run = view_weights({"encoder": layers}, {"encoder": tokens}, {"encoder": label})
    if run.attentions["encoder"].allowed.all():
        return run
    return view_weights({"decoder": layers}, {"decoder": tokens}, {"decoder": label})


def view_several(weights: Mapping[Attention, Layers], tokens: Mapping[Stack, Tokens | None]) -> ViewerRun:
    """Prepare up to three attentions of an encoder and a decoder; the missing ones are None.

    Raises:
        TypeError, ValueError: the weights are not attention weights, or the tokens don't match them.
    """
    read: dict[Attention, list[Floats]] = {}
    sides: dict[Stack, Tokens] = {}
    for name, layers in weights.items():
        if layers is None:
            continue
        queries, module = MODULES[name]
        keys: Stack = "encoder" if module == "cross_attn" else queries
        read[name] = read_layers(layers, f"{name}_attention", between=queries != keys)
        n_queries, n_keys = read[name][0].shape[1:]
        if queries == keys:
            check_keys(read[name][0], f"{name}_attention")
        if queries == keys and n_queries != n_keys:
            raise ValueError(
                f"The queries and keys of {name}_attention are {n_queries} and {n_keys} tokens, as in one "
                "step of generate(): pass all its steps."
            )
        for stack, count, what in ((queries, n_queries, "queries"), (keys, n_keys, "keys")):
            generated = stack == "decoder" and is_generated(layers)
            of = f"{what} of {name}_attention"
            sides[stack] = read_tokens(tokens[stack], count, f"{stack}_tokens", of, generated=generated)
    return view_weights(read, sides, ATTENTION_LABELS)


def view_pair(run: ViewerRun, start: SupportsIndex) -> ViewerRun:
    """Add the parts of a self-attention over two sentences: within each, and from each to the other.

    Args:
        run: a run with that attention only, which is kept along with its parts.
        start: the position of the second sentence's first token.

    Raises:
        ValueError: the attention can't be split there.
    """
    start = index(start)
    (whole,) = run.attentions.values()
    tokens = run.sides[whole.queries].tokens
    if whole.queries != whole.keys or not 0 < start < len(tokens):
        raise ValueError(
            f"sentence_b_start is {start}: it must be within the {len(tokens)} tokens of one self-attention."
        )
    parts = {"a": slice(start), "b": slice(start, None)}
    attentions = {whole.name: replace(whole, label="Both sentences")}
    for queries, rows in parts.items():
        for keys, columns in parts.items():
            allowed = whole.allowed[rows, columns]
            # In causal attention the first sentence never looks at the second.
            if allowed.any():
                name = cast(Attention, queries + keys)
                attentions[name] = AttentionView(
                    name=name,
                    label=f"Sentence {queries.upper()} → {keys.upper()}",
                    queries=cast(Stack, queries),
                    keys=cast(Stack, keys),
                    n_layers=whole.n_layers,
                    n_heads=whole.n_heads,
                    allowed=allowed,
                    weights=partial(_block, whole.weights, rows, columns),
                )
    sides = {cast(Stack, name): foreign_side(tokens[part]) for name, part in parts.items()}
    return replace(run, sides={**run.sides, **sides}, attentions=attentions)


def unusual_rows(run: ViewerRun) -> str:
    """Name a row that does not sum to 1; "" if none. A row of zeros is a query that attends to nothing."""
    for attention in run.attentions.values():
        for layer in range(attention.n_layers):
            sums = attention.weights(layer).sum(axis=-1, dtype=np.float64)
            farthest = sums.flat[int(np.abs(np.where(sums == 0, 1, sums) - 1).argmax())]
            if farthest and abs(farthest - 1) > ALMOST_1:
                where = f"layer {layer} of the {attention.label.lower()}"
                return (
                    f"A row of {where} sums to {farthest:.3g}, not to 1: "
                    "these may be scores, or weights after dropout (call model.eval())."
                )
    return ""


def _view_between(layers: list[Floats], queries: Tokens, keys: Tokens) -> ViewerRun:
    return view_weights({"cross": layers}, {"encoder": keys, "decoder": queries}, {"cross": "Attention"})


def _block(weights: Callable[[int], Floats], rows: slice, columns: slice, layer: int) -> Floats:
    return weights(layer)[:, rows, columns]
