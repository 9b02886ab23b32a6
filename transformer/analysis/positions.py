"""Positional information in a run: added vectors, biases by distance, rotated queries and keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import stacks
from transformer.model.config import TransformerConfig
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.positions import LinearBias, RelativeBias, rotary_wavelengths, wavelengths
from transformer.model.trace import Stack, Trace
from transformer.model.transformer import Transformer

FARTHEST = 128
"""Farthest distance whose linear bias is listed; a table of learned biases is listed to its end."""


def input_vectors(trace: Trace, stack: Stack) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The two summands of each token's input, (T, D) each: scaled embedding and positional encoding.

    Raises:
        KeyError: when the model adds no positions to its embeddings.
    """
    embedding = "src_embedding" if stack == "encoder" else "tgt_embedding"
    return trace[f"{embedding}.tokens"][0].numpy(), trace[f"{embedding}.positions"][0].numpy()


def position_bias(model: Transformer, stack: Stack, layer: int = 0) -> RelativeBias | LinearBias:
    """The module that makes the bias of a layer's self-attention: the layer's own or the stack's."""
    part = model.encoder if stack == "encoder" else model.decoder
    own = part.layers[layer]
    assert isinstance(own, EncoderLayer | DecoderLayer)
    found = own.self_attn.relative_bias or part.relative_bias or part.linear_bias
    assert found is not None
    return found


def biases_of(
    model: Transformer, stack: Stack, layer: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The biases of a layer by distance, up to the farthest of its own: distances (N,) and biases (H, N).

    Distances are the key's position minus the query's. A decoder's query can't attend to later keys, so its
    distances are 0 or less.
    """
    bias = position_bias(model, stack, layer)
    if isinstance(bias, RelativeBias):
        distances = _distances(bias.max_distance, stack)
        buckets = bias.buckets.cpu().numpy()[: len(distances)]
        return distances, bias.weight.detach().float().cpu().numpy()[buckets].T
    distances = _distances(min(FARTHEST, model.config.max_len - 1), stack)
    return distances, -bias.slopes.float().cpu().numpy()[:, None] * np.abs(distances).astype(np.float32)


def _distances(farthest: int, stack: Stack) -> NDArray[np.int64]:
    return np.arange(-farthest, farthest + 1 if stack == "encoder" else 1)


@dataclass(frozen=True)
class RotaryLayer:
    """The rotation of one layer's queries and keys.

    Attributes:
        base: base of the wavelengths.
        lengths: (pairs,) wavelength of each pair of dimensions, in positions.
        unstretched: (pairs,) wavelengths before stretching for longer texts.
        tokens: tokens of the sentence.
    """

    base: float
    lengths: NDArray[np.float64]
    unstretched: NDArray[np.float64]
    tokens: tuple[str, ...]


def rotary_layer(config: TransformerConfig, trace: Trace, layer: int) -> RotaryLayer | None:
    """Read the rotation of a layer of the first stack, with rotary positions; None for a layer without it."""
    stack = stacks(trace)[0]
    base = config.rotary_base(stack, layer)
    if not base:
        return None
    lengths = rotary_wavelengths(config, base).numpy()
    unstretched = wavelengths(2 * len(lengths), base).numpy()
    return RotaryLayer(base, lengths, unstretched, trace.tokens(stack)[0])


def rotary_products_of(
    trace: Trace, path: str, head: int, query: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[str]]:
    """Products of a query with the N keys that it may attend to, before and after rotation.

    Args:
        trace: trace of a single sentence in a model with rotary positions.
        path: path of a self-attention.
        head: query head.
        query: position of the query.

    Returns:
        Products before (N,) and after (N,) rotation, and the tokens of the keys.
    """
    group = trace[f"{path}.q"].shape[1] // trace[f"{path}.k"].shape[1]
    before, after = (
        (trace[f"{path}.k{end}"][0, head // group] @ trace[f"{path}.q{end}"][0, head, query]).numpy()
        for end in ("_unrotated", "")
    )
    is_open = trace[f"{path}.mask"].expand(-1, -1, len(after), -1)[0, 0, query].numpy()
    tokens = trace.tokens("encoder" if path.startswith("encoder") else "decoder")[0]
    return before[is_open], after[is_open], [tokens[key] for key in np.flatnonzero(is_open)]
