"""The weights of each layer, in the forms in which libraries return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from headlight.foreign.generated import is_generated, join_steps
from viz.viewer.viewer_run import Floats

Layers: TypeAlias = Any
"""The weights of each layer, (1, H, Q, K) or (H, Q, K): a list of tensors or arrays, or one array of all.

`generate` of transformers returns a list of these lists: one per step.
"""


def read_layers(weights: Layers, what: str, *, between: bool = False) -> list[Floats]:
    """Copy the weights of each layer as float32, (H, Q, K).

    Args:
        weights: the weights.
        what: their name in messages.
        between: True if the keys are the tokens of another text.

    Raises:
        TypeError, ValueError: the weights have a wrong type, shape or value; the message calls them `what`.
    """
    given = _listed(weights, what)
    if is_generated(given):
        steps = [
            [_array(layer, f"Layer {number} of {what} in step {index}") for number, layer in enumerate(step)]
            for index, step in enumerate(given)
        ]
        given = join_steps(steps, what, between=between)
    layers = [_read_layer(layer, f"Layer {number} of {what}") for number, layer in enumerate(given)]
    shapes = {layer.shape for layer in layers}
    if len(shapes) > 1:
        raise ValueError(
            f"The layers of {what} have different shapes (heads, queries, keys): {sorted(shapes)}."
        )
    return layers


def check_keys(layer: Floats, what: str) -> None:
    """Check that the columns are keys, not places in a window around each query.

    Those outside the text are 0: a triangle of them shows how far the window reaches.

    Args:
        layer: (H, Q, K).
        what: name of the attention in messages.

    Raises:
        ValueError: they are places in a window.
    """
    n_queries, n_columns = layer.shape[1:]
    used = np.any(layer != 0, axis=0)[::-1]  # (Q, K), the last query first
    after = np.argmax(used[:, ::-1], axis=1)  # columns after the last used one
    reach = int(after[0])
    n_global = n_columns - 1 - 2 * reach
    if reach == 0 or n_global < 0 or used[-1, n_global : n_global + reach].any():
        return
    expected = np.maximum(reach - np.arange(n_queries), 0)
    is_own = np.any(used, axis=1)  # the row of a token with global attention is 0
    if np.array_equal(after[is_own], expected[is_own]):
        raise ValueError(
            f"The columns of {what} are a window around each query, as in Longformer and LED, not keys: from "
            f"{n_global} on, column c is the key at query + c - {n_global + reach}. Move each weight to its "
            "key, (1, heads, queries, queries), and add those of global attention."
        )


def unclear_axis(weights: Layers) -> str:
    """Explain that a first axis may be a batch, which no number tells from heads; "" if it can't be one."""
    first = weights[0] if isinstance(weights, list | tuple) and weights else weights
    if getattr(first, "ndim", 0) != 3 or len(first) == 1:
        return ""
    return (
        f"The first axis was read as {len(first)} heads. nn.MultiheadAttention averages its heads, and "
        "returns (batch, queries, keys): call it with average_attn_weights=False and pass one sentence, (1, "
        "heads, queries, keys)."
    )


def _listed(weights: Layers, what: str) -> Any:
    """The layers, or the steps of `generate`, as a sequence without None."""
    if isinstance(weights, Mapping):
        raise TypeError(
            f"{what} is a whole output: pass its {what}s, or the output alone with encoder_tokens and "
            "decoder_tokens."
        )
    if weights is None or (isinstance(weights, list | tuple) and not any(map(_is_there, weights))):
        raise ValueError(
            f"There is no {what}: transformers returns none with its default attention. Load the model with "
            'attn_implementation="eager" and call it with output_attentions=True.'
        )
    ndim = getattr(weights, "ndim", 0)
    if ndim in (2, 3):  # one layer, or its only head
        return [weights if ndim == 3 else weights[None]]
    if isinstance(weights, list | tuple):
        _check_list(weights, what)
    return weights


def _check_list(weights: Sequence[Any], what: str) -> None:
    """Check that a list is one of layers, or one of steps of layers, each with weights."""
    by_step = is_generated(weights)
    if not by_step and any(isinstance(layer, list | tuple) for layer in weights):
        raise TypeError(
            f"{what} is a tuple with tuples in it, like a model's whole output: pass its attentions, such as "
            "outputs[-1]."
        )
    for number, layer in enumerate(weights[0] if by_step else weights):
        if layer is None:
            kept = "[layer for layer in {} if layer is not None]"
            rest = f"[{kept.format('step')} for step in {what}]" if by_step else kept.format(what)
            raise ValueError(
                f"Layer {number} of {what} is None: it has no attention, or LayerDrop skipped it. Leave it "
                f"out: {rest}."
            )


def _is_there(layer: Any) -> bool:
    """False for None, and for a step of `generate` without weights."""
    return any(map(_is_there, layer)) if isinstance(layer, list | tuple) else layer is not None


def _array(layer: Any, what: str) -> Floats:
    if hasattr(layer, "detach"):  # a torch tensor, on any device and of any precision
        layer = layer.detach().float().cpu().numpy()
    try:
        return np.array(layer, np.float32)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is a {type(layer).__name__}: it has to be a tensor or an array.") from None


def _read_layer(layer: Any, what: str) -> Floats:
    weights = _array(layer, what)
    if weights.ndim == 4 and len(weights) == 1:
        weights = weights[0]
    if weights.ndim == 4:
        raise ValueError(
            f"{what} has {len(weights)} sentences: pass one without its padding, such as [layer[:1, :, :n, "
            ":n] for layer in attention] and tokens[:n] for the first n tokens of the first; with padding "
            "on the left, -n: in place of :n."
        )
    if weights.ndim == 2 and weights.size:
        raise ValueError(
            f"{what} has the shape {weights.shape}, without heads. If nn.MultiheadAttention averaged them, "
            "call it with average_attn_weights=False, or show the average as one head: [layer[None] for "
            "layer in attention]."
        )
    if weights.ndim != 3 or not weights.size:
        blocks = ". Put blocks of queries, as in LongT5, together" if weights.ndim > 4 else ""
        expected = f"it has to be (heads, queries, keys), or 1 of these{blocks}."
        raise ValueError(f"{what} has the shape {weights.shape}: {expected}")
    _check_finite(weights, what)
    return weights


def _check_finite(weights: Floats, what: str) -> None:
    wrong = ~np.isfinite(weights)
    if not wrong.any():
        return
    rows = np.flatnonzero(np.isnan(weights).all(axis=(0, 2)))
    if np.isneginf(weights[wrong]).all():
        why = "-inf means scores after the mask. Pass their softmax."
    elif len(rows) == weights.shape[1]:
        why = "every row is NaN, as after an overflow in half precision. Run the model in float32."
    elif wrong.sum() == len(rows) * len(weights) * weights.shape[2]:
        why = (
            f"the row of query {rows[0]} is NaN. It may attend to no key, like padding on the left under a "
            "causal mask: cut the padding from weights and tokens, or replace NaN by 0 with "
            "torch.nan_to_num."
        )
    else:
        why = "the first one is in head {}, query {}, key {}.".format(*np.argwhere(wrong)[0])
    raise ValueError(f"{what} has numbers that are not finite: {why}")
