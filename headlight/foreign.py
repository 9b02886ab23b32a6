"""Attention that another library computed: tensors or arrays, prepared for the viewer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from transformer.analysis.attention_maps import ATTENTION_LABELS, MODULES, Attention
from transformer.model.trace import Stack
from transformer.text.spelling import MARK, byte_of_character, legible
from viz.viewer.sides import foreign_side
from viz.viewer.viewer_run import AttentionView, Floats, ViewerRun, view_weights

Layers: TypeAlias = Any
"""The weights of each layer, (1, H, Q, K) or (H, Q, K): a list of tensors or arrays, or one array of all."""
Tokens: TypeAlias = Sequence[str]

ALMOST_1 = 0.02
"""The largest deviation from a sum of 1 for a row of weights in half precision."""
_SPACE = "Ġ"
"""A space in GPT-2's tokens."""


def view_single(weights: Layers, queries: Tokens | None, keys: Tokens | None) -> ViewerRun:
    """Prepare one attention: within one text or, if keys are given, between two.

    Raises:
        TypeError, ValueError: the weights are not attention weights, or the tokens don't match them.
    """
    layers = read_layers(weights, "attention")
    n_queries, n_keys = layers[0].shape[1:]
    if keys is None:
        if n_queries != n_keys:
            raise ValueError(
                f"The attention has {n_queries} queries and {n_keys} keys: pass the tokens of the queries, "
                "then those of the keys."
            )
        tokens = read_tokens(queries, n_queries, "tokens", "queries")
        label = "Self-attention"
        run = view_weights({"encoder": layers}, {"encoder": tokens}, {"encoder": label})
        if run.attentions["encoder"].allowed.all():
            return run
        return view_weights({"decoder": layers}, {"decoder": tokens}, {"decoder": label})
    sides: dict[Stack, Tokens] = {
        "encoder": read_tokens(keys, n_keys, "key_tokens", "keys"),
        "decoder": read_tokens(queries, n_queries, "query_tokens", "queries"),
    }
    return view_weights({"cross": layers}, sides, {"cross": "Attention"})


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
        read[name] = read_layers(layers, f"{name}_attention")
        queries, module = MODULES[name]
        keys: Stack = "encoder" if module == "cross_attn" else queries
        for stack, count, what in zip(
            (queries, keys), read[name][0].shape[1:], ("queries", "keys"), strict=True
        ):
            sides[stack] = read_tokens(tokens[stack], count, f"{stack}_tokens", f"{what} of {name}_attention")
    return view_weights(read, sides, ATTENTION_LABELS)


def view_pair(run: ViewerRun, start: int) -> ViewerRun:
    """Add the parts of a self-attention over two sentences: within each, and from each to the other.

    Args:
        run: a run with that attention only, which is kept along with its parts.
        start: the position of the second sentence's first token.

    Raises:
        ValueError: the attention can't be split there.
    """
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


def read_layers(weights: Layers, what: str) -> list[Floats]:
    """Copy the weights of each layer as float32, (H, Q, K).

    Raises:
        TypeError, ValueError: the weights have a wrong type, shape or value; the message calls them `what`.
    """
    is_list = isinstance(weights, list | tuple)
    if weights is None or (is_list and (not weights or any(layer is None for layer in weights))):
        raise ValueError(
            f"There is no {what}: transformers returns none with its default attention. Load the model with "
            'attn_implementation="eager" and call it with output_attentions=True.'
        )
    if getattr(weights, "ndim", 0) == 3:
        weights = [weights]
    layers = [_read_layer(layer, f"Layer {number} of {what}") for number, layer in enumerate(weights)]
    shapes = {layer.shape for layer in layers}
    if len(shapes) > 1:
        raise ValueError(
            f"The layers of {what} have different shapes (heads, queries, keys): {sorted(shapes)}."
        )
    return layers


def read_tokens(tokens: Tokens | None, count: int, what: str, of: str) -> tuple[str, ...]:
    """Check that there is one token for each query or key.

    Raises:
        TypeError: ids or a text were passed.
        ValueError: there are more or fewer tokens, or none.
    """
    if tokens is None:
        raise ValueError(f"There are no {what}: pass the {count} tokens of the {of}.")
    listed = () if isinstance(tokens, str) else tuple(tokens)
    if not listed or not all(isinstance(token, str) for token in listed):
        raise TypeError(
            f"{what} must be a list of tokens, such as tokenizer.convert_ids_to_tokens(input_ids[0]) gives."
        )
    if len(listed) != count:
        raise ValueError(f"There are {len(listed)} {what} for {count} {of}.")
    return listed


def pretty(tokens: Tokens) -> tuple[str, ...]:
    """Rewrite tokens in GPT-2's alphabet as the text that they spell, with ▁ for a space."""
    text = "".join(tokens)
    if _SPACE not in text or MARK in text:
        return tuple(tokens)
    return tuple(legible(byte_of_character(token)) for token in tokens)


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


def _read_layer(layer: Any, what: str) -> Floats:
    if isinstance(layer, list | tuple):
        raise TypeError(
            f"{what} is a {type(layer).__name__} of tensors: pass one step of the output of generate()."
        )
    if hasattr(layer, "detach"):  # a torch tensor, on any device and of any precision
        layer = layer.detach().float().cpu().numpy()
    weights = np.array(layer, np.float32)
    if weights.ndim == 4 and len(weights) == 1:
        weights = weights[0]
    if weights.ndim == 4:
        raise ValueError(
            f"{what} has {len(weights)} sentences: pass one, such as [layer[0] for layer in attention]."
        )
    if weights.ndim != 3 or not weights.size:
        raise ValueError(
            f"{what} has the shape {weights.shape}: it has to be (heads, queries, keys), or 1 of these."
        )
    if not np.isfinite(weights).all():
        raise ValueError(f"{what} has numbers that are not finite.")
    return weights


def _block(weights: Callable[[int], Floats], rows: slice, columns: slice, layer: int) -> Floats:
    return weights(layer)[:, rows, columns]
