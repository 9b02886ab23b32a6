"""Positions: the sinusoidal encoding of the paper, and how a model knows the order of its tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from headlight.runs import Run, check_index
from transformer.analysis.attention_maps import attentions, n_layers
from transformer.analysis.positions import RotaryLayer, rotary_layer
from transformer.model.positions import sinusoidal_encoding, wavelengths
from transformer.model.trace import Stack
from viz.figures import positions as figures
from viz.run_figures.positions import (
    angles_figure,
    bias_figure,
    input_lengths_figure,
    products_figure,
    wavelengths_figure,
)
from viz.theme import ThemeName, palette


def plot_encoding(
    *, length: int = 50, d_model: int = 128, base: float = 10_000, theme: ThemeName = "light"
) -> go.Figure:
    """The sinusoidal encoding (section 3.5): one row per position, one column per dimension."""
    return figures.encoding_map(_encoding(length, d_model, base), theme=palette(theme))


def plot_encoding_curves(
    dimensions: Sequence[int] = (6, 7, 20, 32),
    *,
    length: int = 50,
    d_model: int = 128,
    base: float = 10_000,
    theme: ThemeName = "light",
) -> go.Figure:
    """The values of some dimensions of the sinusoidal encoding, by position."""
    for dimension in dimensions:
        check_index("dimension", dimension, d_model, "the encoding")
    return figures.encoding_curves(_encoding(length, d_model, base), dimensions, theme=palette(theme))


def plot_similarity_by_offset(
    *, length: int = 50, d_model: int = 128, base: float = 10_000, theme: ThemeName = "light"
) -> go.Figure:
    """Cosine similarity of the encodings of two positions by their distance."""
    return figures.similarity_by_offset(_encoding(length, d_model, base), theme=palette(theme))


def plot_position_similarity(
    *, length: int = 50, d_model: int = 128, base: float = 10_000, theme: ThemeName = "light"
) -> go.Figure:
    """Cosine similarity of the encodings of all pairs of positions."""
    return figures.position_similarity(_encoding(length, d_model, base), theme=palette(theme))


def plot_wavelengths(
    *, length: int = 50, d_model: int = 128, base: float = 10_000, theme: ThemeName = "light"
) -> go.Figure:
    """The wavelength of each pair of dimensions, in positions, with the length of a sentence marked."""
    return figures.wavelengths(wavelengths(d_model, base).numpy(), length, theme=palette(theme))


def plot_embedding_sizes(run: Run, stack: Stack, *, theme: ThemeName = "light") -> go.Figure:
    """The length of each token's embedding, and of the position vector added to it."""
    title = f"Input of the {run.check_stack(stack)}"
    _check_positions(run, "sinusoidal", "learned")
    config = run.model.model.config
    return input_lengths_figure(run.trace, stack, config, theme=palette(theme), title=title)


def plot_position_bias(run: Run, stack: Stack, layer: int = 0, *, theme: ThemeName = "light") -> go.Figure:
    """The bias by distance that each head adds to a score, in models with relative positions or ALiBi.

    It is the same in all layers unless each layer has learned its own (umT5).
    """
    _check_positions(run, "relative", "alibi")
    check_index("layer", layer, run.trace.n_layers(run.check_stack(stack)), f"the {stack}")
    own = f", layer {layer}" if run.model.model.config.relative_bias_per_layer else ""
    title = f"Position bias of the {stack}{own}"
    return bias_figure(run.model.model, stack, layer, theme=palette(theme), title=title)


def plot_rotary_angles(run: Run, layer: int = 0, *, theme: ThemeName = "light") -> go.Figure:
    """The angle by which a layer with rotary positions turns each pair of a head's numbers, by position."""
    return angles_figure(_rotary(run, layer), theme=palette(theme))


def plot_rotary_wavelengths(run: Run, layer: int = 0, *, theme: ThemeName = "light") -> go.Figure:
    """The wavelength of each rotary pair of a layer, in positions, with the length of the sentence marked."""
    return wavelengths_figure(_rotary(run, layer), theme=palette(theme))


def plot_rotary_products(
    run: Run, layer: int, head: int, query: int, *, theme: ThemeName = "light"
) -> go.Figure:
    """A query's products with every key that it may attend to, before and after both are rotated."""
    rotary, attention = _rotary(run, layer), attentions(run.trace)[0]
    run.check_head(attention, layer, head)
    check_index("query", query, len(rotary.tokens), "the sentence")
    path = f"{attention}.layers.{layer}.self_attn"
    title = f"{path}, head {head}, query {query}"
    return products_figure(run.trace, path, head, query, theme=palette(theme), title=title)


def _encoding(length: int, d_model: int, base: float) -> NDArray[np.float32]:
    encoding: NDArray[np.float32] = sinusoidal_encoding(length, d_model, base).numpy()
    return encoding


def _rotary(run: Run, layer: int) -> RotaryLayer:
    _check_positions(run, "rotary")
    check_index("layer", layer, n_layers(run.trace, attentions(run.trace)[0]), "the model")
    rotary = rotary_layer(run.model.model.config, run.trace, layer)
    if rotary is None:
        raise ValueError(f"Layer {layer} of {run.model.name} turns nothing: choose another layer.")
    return rotary


def _check_positions(run: Run, *kinds: str) -> None:
    own = run.model.model.config.positions
    if own not in kinds:
        raise ValueError(f"This is for {' or '.join(kinds)} positions; those of {run.model.name} are {own}.")
