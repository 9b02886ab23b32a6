"""What positions add to a run's inputs and scores, as figures."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from transformer.analysis.positions import RotaryLayer, biases_of, input_vectors, rotary_products_of
from transformer.model.config import TransformerConfig
from transformer.model.trace import Stack, Trace
from transformer.model.transformer import Transformer
from viz.figures import positions as figures
from viz.figures import relative_positions as relative_figures
from viz.theme import Theme


def input_lengths_figure(
    trace: Trace, stack: Stack, config: TransformerConfig, *, theme: Theme, title: str = ""
) -> go.Figure:
    """Draw the length of each token's embedding and of the position vector added to it."""
    tokens, positions = (np.linalg.norm(rows, axis=1) for rows in input_vectors(trace, stack))
    return figures.embedding_vs_position_norms(
        tokens, positions, trace.tokens(stack)[0], theme=theme, scale=config.embedding_scale, title=title
    )


def bias_figure(
    model: Transformer,
    stack: Stack,
    layer: int = 0,
    *,
    theme: Theme,
    title: str = "",
    marked: int | None = None,
) -> go.Figure:
    """Draw the bias by distance that each head of a layer adds to a score; `marked` is a distance."""
    distances, biases = biases_of(model, stack, layer)
    return relative_figures.bias_by_distance(distances, biases, theme=theme, marked=marked, title=title)


def angles_figure(rotary: RotaryLayer, *, theme: Theme, marked: tuple[int, int] | None = None) -> go.Figure:
    """Draw the angle of each pair at each position; `marked` is a position and a pair."""
    turns = np.arange(len(rotary.tokens))[:, None] / rotary.lengths
    return relative_figures.rotary_angles(turns, theme=theme, marked=marked)


def wavelengths_figure(rotary: RotaryLayer, *, theme: Theme) -> go.Figure:
    """Draw the wavelength of each pair, in positions, with the length of the sentence marked."""
    return relative_figures.rotary_wavelengths(
        rotary.lengths, rotary.unstretched, len(rotary.tokens), theme=theme
    )


def products_figure(
    trace: Trace, path: str, head: int, query: int, *, theme: Theme, title: str = ""
) -> go.Figure:
    """Draw a query's products with the keys that it may attend to, before and after both are rotated."""
    before, after, tokens = rotary_products_of(trace, path, head, query)
    return relative_figures.rotary_products(before, after, tokens, theme=theme, title=title)
