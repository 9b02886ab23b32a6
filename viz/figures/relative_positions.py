"""Pictures of positions inside attention: rotary angles, and biases by distance.

Axes: T tokens, H heads, K keys.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import bar_marker, color_bar, finish, legend_above
from viz.figures.labels import numbered, set_ticks
from viz.figures.positions import wavelengths
from viz.theme import Theme, color_scale

Array = NDArray[np.floating]


def bias_by_distance(
    distances: NDArray[np.integer], biases: Array, *, theme: Theme, marked: int | None = None, title: str = ""
) -> go.Figure:
    """Draw the bias that each head adds to a score, by the distance of the key from the query.

    Args:
        distances: (N,) key's position minus query's.
        biases: (H, N).
        marked: a distance to mark with a vertical line.
    """
    figure = go.Figure()
    for head, own in enumerate(biases):
        figure.add_scatter(
            x=distances.astype(np.int32),
            y=own.astype(np.float32),
            mode="lines",
            line={"color": theme.color(head), "dash": theme.dash(head), "width": 2, "shape": "hvh"},
            name=f"head {head}",
            xhoverformat="+d",
            yhoverformat=".4f",
            hovertemplate=f"head {head}, key %{{x}} from the query<br><b>%{{y}}</b><extra></extra>",
        )
    if marked is not None:
        figure.add_vline(x=marked, line={"color": theme.muted, "dash": "dot"})
    figure.update_xaxes(title="key's position minus query's")
    figure.update_yaxes(title="added to the score (no unit)")
    return finish(figure, theme, title, 420, legend=True)


def rotary_angles(
    turns: Array, *, theme: Theme, marked: tuple[int, int] | None = None, title: str = ""
) -> go.Figure:
    """Draw the angle by which each pair of a head's numbers is rotated at each position.

    Args:
        turns: (T, pairs), in full turns; the colour is the cosine of the angle.
        marked: a position and a pair to frame.
    """
    figure = go.Figure().add_heatmap(
        z=np.cos(2 * np.pi * turns).astype(np.float32),
        customdata=turns.astype(np.float32),
        zhoverformat=".4f",
        zmin=-1,
        zmax=1,
        colorscale=color_scale(theme.diverging),
        colorbar=color_bar("cosine of the angle"),
        hovertemplate="position %{y}, pair %{x}<br><b>%{customdata:.4f}</b> turns, cosine %{z}"
        "<extra></extra>",
        name="angles",
    )
    if marked is not None:
        position, pair = marked
        figure.add_shape(
            x0=pair - 0.5,
            x1=pair + 0.5,
            y0=position - 0.5,
            y1=position + 0.5,
            line={"color": theme.accent, "width": 2},
        )
    figure.update_xaxes(title="pair of a head's numbers (0 to d_head / 2 − 1)", showgrid=False)
    figure.update_yaxes(title="position (token index)", autorange="reversed", showgrid=False)
    return finish(figure, theme, title, 420)


def rotary_wavelengths(
    lengths: Array, trained: Array, sentence_length: int, *, theme: Theme, title: str = ""
) -> go.Figure:
    """Draw the wavelength of each pair of a head, in positions, before and after stretching.

    Args:
        lengths: (d_head / 2,) as the model uses them.
        trained: (d_head / 2,) before stretching; drawn only if they differ.
        sentence_length: positions in use.
    """
    figure = wavelengths(
        lengths, sentence_length, theme=theme, title=title, roles=("", " of the head"), width="d_head"
    )
    if np.array_equal(lengths, trained):
        return figure
    figure.data[0].name = "as the model turns"
    figure.add_scatter(
        x=np.arange(len(trained), dtype=np.int32),
        y=trained.astype(np.float32),
        customdata=lengths / trained,
        mode="lines+markers",
        line={"color": theme.color(1), "width": 2, "dash": "dot"},
        marker={"size": 7, "symbol": "circle-open"},
        name="before stretching",
        hovertemplate="pair i = %{x}<br>before stretching, every <b>%{y:.4s}</b> positions; made "
        "%{customdata:.3f} times longer<extra></extra>",
    )
    legend_above(figure)
    return figure


def rotary_products(
    before: Array, after: Array, key_tokens: Sequence[str], *, theme: Theme, title: str = ""
) -> go.Figure:
    """Draw the products of one query with every key, (K,) each, before and after both are rotated."""
    positions = np.arange(len(key_tokens), dtype=np.int32)
    figure = go.Figure()
    for index, (name, values) in enumerate((("before turning", before), ("after turning", after))):
        figure.add_bar(
            x=positions,
            y=values.astype(np.float32),
            name=name,
            marker=bar_marker(theme.color(index), theme, striped=index == 0),
            yhoverformat=".4f",
            hovertemplate=f"%{{x}}<br>q·k {name}: <b>%{{y}}</b><extra></extra>",
        )
    set_ticks(figure, "x", numbered(key_tokens), title="key, with its position")
    figure.update_yaxes(title="q·k (no unit)")
    figure.update_layout(barmode="group")
    return finish(figure, theme, title, 380, legend=True)
