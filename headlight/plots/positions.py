"""Positions: the sinusoidal encoding of the paper, and how a model knows where its tokens stand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from headlight.runs import Run, check_index
from transformer.analysis.attention_maps import attentions, n_layers, stacks
from transformer.analysis.positions import biases_of, rotary_products_of
from transformer.model.positions import RelativeBias, rotary_wavelengths, sinusoidal_encoding, wavelengths
from transformer.model.trace import Stack
from viz.figures import positions as figures
from viz.figures import relative_positions as relative_figures
from viz.theme import ThemeName, palette


def plot_encoding(
    *, length: int = 50, d_model: int = 128, base: float = 10_000, theme: ThemeName = "light"
) -> go.Figure:
    """The sinusoidal encoding (section 3.5): a row is a position, a column is a dimension."""
    return figures.encoding_map(_encoding(length, d_model, base), theme=palette(theme))


def plot_encoding_curves(
    dimensions: Sequence[int] = (6, 7, 20, 32),
    *,
    length: int = 50,
    d_model: int = 128,
    base: float = 10_000,
    theme: ThemeName = "light",
) -> go.Figure:
    """Some dimensions of the sinusoidal encoding along the positions."""
    for dimension in dimensions:
        check_index("dimension", dimension, d_model, "the encoding")
    return figures.encoding_curves(_encoding(length, d_model, base), dimensions, theme=palette(theme))


def plot_similarity_by_offset(
    *, length: int = 50, d_model: int = 128, base: float = 10_000, theme: ThemeName = "light"
) -> go.Figure:
    """Cosine similarity of the encodings of two positions by how far they are apart."""
    return figures.similarity_by_offset(_encoding(length, d_model, base), theme=palette(theme))


def plot_position_similarity(
    *, length: int = 50, d_model: int = 128, base: float = 10_000, theme: ThemeName = "light"
) -> go.Figure:
    """Cosine similarity of the encodings of every two positions."""
    return figures.position_similarity(_encoding(length, d_model, base), theme=palette(theme))


def plot_wavelengths(
    *, length: int = 50, d_model: int = 128, base: float = 10_000, theme: ThemeName = "light"
) -> go.Figure:
    """After how many positions each pair of dimensions repeats, beside a sentence of this length."""
    return figures.wavelengths(wavelengths(d_model, base).numpy(), length, theme=palette(theme))


def plot_embedding_sizes(run: Run, stack: Stack, *, theme: ThemeName = "light") -> go.Figure:
    """The length of each token's embedding beside that of the encoding that is added to it."""
    side = "src_embedding" if run.check_stack(stack) == "encoder" else "tgt_embedding"
    config = run.model.model.config
    _check_positions(run, "sinusoidal", "learned")
    tokens, positions = (
        np.linalg.norm(run.trace[f"{side}.{name}"][0].numpy(), axis=1) for name in ("tokens", "positions")
    )
    return figures.embedding_vs_position_norms(
        tokens,
        positions,
        run.trace.tokens(stack)[0],
        theme=palette(theme),
        scale=config.embedding_scale,
        title=f"Input of the {stack}",
    )


def plot_position_bias(run: Run, stack: Stack, *, theme: ThemeName = "light") -> go.Figure:
    """What each head of a model with relative positions adds to a score for the distance (T5)."""
    _check_positions(run, "relative")
    table = run.model.model.get_submodule(f"{run.check_stack(stack)}.relative_bias")
    assert isinstance(table, RelativeBias)
    distances, _, biases = biases_of(table, both_ways=stack == "encoder")
    return relative_figures.bias_by_distance(
        distances, biases, theme=palette(theme), title=f"Position bias of the {stack}"
    )


def plot_rotary_angles(run: Run, layer: int = 0, *, theme: ThemeName = "light") -> go.Figure:
    """How far a layer with rotary positions turns each pair of a head's numbers at each position."""
    lengths, n_tokens = _rotary(run, layer)
    return relative_figures.rotary_angles(np.arange(n_tokens)[:, None] / lengths, theme=palette(theme))


def plot_rotary_wavelengths(run: Run, layer: int = 0, *, theme: ThemeName = "light") -> go.Figure:
    """After how many positions each pair of a layer has turned once, beside the length of the sentence."""
    lengths, n_tokens = _rotary(run, layer)
    base = run.model.model.config.rotary_base(stacks(run.trace)[0], layer)
    trained = wavelengths(2 * len(lengths), base).numpy()
    return relative_figures.rotary_wavelengths(lengths, trained, n_tokens, theme=palette(theme))


def plot_rotary_products(
    run: Run, layer: int, head: int, query: int, *, theme: ThemeName = "light"
) -> go.Figure:
    """A query's products with every key that it may look at, before and after both are turned."""
    _, n_tokens = _rotary(run, layer)
    attention = attentions(run.trace)[0]
    run.check_head(attention, layer, head)
    check_index("query", query, n_tokens, "the sentence")
    path = f"{attention}.layers.{layer}.self_attn"
    before, after, tokens = rotary_products_of(run.trace, path, head, query)
    title = f"{path}, head {head}, query {query}"
    return relative_figures.rotary_products(before, after, tokens, theme=palette(theme), title=title)


def _encoding(length: int, d_model: int, base: float) -> NDArray[np.float32]:
    encoding: NDArray[np.float32] = sinusoidal_encoding(length, d_model, base).numpy()
    return encoding


def _rotary(run: Run, layer: int) -> tuple[NDArray[np.float32], int]:
    """The wavelengths of a layer's pairs, and the tokens of the sentence."""
    _check_positions(run, "rotary")
    attention, config = attentions(run.trace)[0], run.model.model.config
    check_index("layer", layer, n_layers(run.trace, attention), "the model")
    base = config.rotary_base(stacks(run.trace)[0], layer)
    if not base:
        raise ValueError(f"Layer {layer} of {run.model.name} turns nothing: choose another layer.")
    tokens = (run.trace.tgt_tokens or run.trace.src_tokens)[0]
    return rotary_wavelengths(config, base).numpy(), len(tokens)


def _check_positions(run: Run, *kinds: str) -> None:
    own = run.model.model.config.positions
    if own not in kinds:
        raise ValueError(f"This is for {' or '.join(kinds)} positions; those of {run.model.name} are {own}.")
