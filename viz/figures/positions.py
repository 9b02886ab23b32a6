"""Pictures of position encodings. Axes: L positions, D dimensions (d_model)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures._style import band, bar_marker, color_bar, finish
from viz.figures.labels import numbered, set_ticks
from viz.figures.numbers import written
from viz.theme import Theme, color_scale

Array = NDArray[np.floating]


def encoding_curves(
    encoding: Array, dimensions: Sequence[int], *, theme: Theme, title: str = "", marked: int | None = None
) -> go.Figure:
    """Draw the value of chosen dimensions at every position.

    Args:
        encoding: (L, D).
        dimensions: those to draw; in a sinusoidal encoding even ones are sines, odd ones cosines.
        marked: a position to mark with a vertical line.
    """
    figure = go.Figure()
    positions = np.arange(len(encoding), dtype=np.int32)
    for index, dimension in enumerate(dimensions):
        figure.add_scatter(
            x=positions,
            y=encoding[:, dimension].astype(np.float32),
            mode="lines+markers" if len(encoding) <= 64 else "lines",
            name=f"dimension {dimension}",
            line={"color": theme.color(index), "dash": theme.dash(index), "width": 2.5},
            yhoverformat=".4f",
            hovertemplate=f"position %{{x}}, dimension {dimension}<br><b>%{{y}}</b><extra></extra>",
        )
    if marked is not None:
        figure.add_vline(x=marked, line={"color": theme.muted, "dash": "dot"})
    figure.update_xaxes(title="position (token index)", range=[-0.5, len(encoding) - 0.5])
    figure.update_yaxes(title="value (no unit)", range=[-1.08, 1.08] if np.abs(encoding).max() <= 1 else None)
    return finish(figure, theme, title, 420, legend=True)


def encoding_map(encoding: Array, *, theme: Theme, title: str = "", marked: int | None = None) -> go.Figure:
    """Draw the whole encoding (L, D), one row per position; the row `marked` is framed."""
    end = float(np.abs(encoding).max()) or 1.0
    figure = go.Figure().add_heatmap(
        z=encoding.astype(np.float32),
        zmin=-end,
        zmax=end,
        colorscale=color_scale(theme.diverging),
        colorbar=color_bar("value (no unit)"),
        zhoverformat=".4f",
        hovertemplate="position %{y}, dimension %{x}<br><b>%{z}</b><extra></extra>",
        name="encoding",
    )
    if marked is not None:
        figure.add_hrect(
            y0=marked - 0.5,
            y1=marked + 0.5,
            line={"color": theme.accent, "width": 2},
            fillcolor="rgba(0,0,0,0)",
        )
    figure.update_xaxes(title="dimension of the encoding (0 to d_model − 1)", showgrid=False)
    figure.update_yaxes(title="position (token index)", autorange="reversed", showgrid=False)
    return finish(figure, theme, title, 460)


def cosine_similarity(encoding: Array) -> NDArray[np.float64]:
    """Cosine of the angle between every two positions' encodings: (L, D) -> (L, L)."""
    rows = encoding.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = rows / np.where(lengths == 0, 1, lengths)
    return units @ units.T


def similarity_by_offset(encoding: Array, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw the similarity of the encodings of two positions by their distance.

    For each offset: the mean over all pairs of positions, and a band from the least to the most similar pair.
    For a sinusoidal encoding the band has no width: the similarity depends on the distance alone.
    """
    similarity = cosine_similarity(encoding)
    offsets = np.arange(len(encoding), dtype=np.int32)
    diagonals = [np.diagonal(similarity, offset) for offset in offsets]
    low, mean, high = (
        np.array([reduce(diagonal) for diagonal in diagonals], dtype=np.float32)
        for reduce in (np.min, np.mean, np.max)
    )
    figure = go.Figure()
    band(figure, offsets, low, high, theme.color(0), "all pairs")
    figure.add_scatter(
        x=offsets,
        y=mean,
        customdata=written(np.column_stack([low, high])),
        mode="lines+markers" if len(encoding) <= 64 else "lines",
        line={"color": theme.color(0), "width": 2.5},
        name="all pairs: mean",
        yhoverformat=".4f",
        hovertemplate="%{x} positions apart<br>cosine <b>%{y}</b><br>"
        "(pairs range from %{customdata[0]} to %{customdata[1]})<extra></extra>",
    )
    figure.update_xaxes(title="offset (positions apart)")
    figure.update_yaxes(
        title="cosine similarity (1: the same direction)", range=[min(0, low.min()) - 0.02, 1.05]
    )
    return finish(figure, theme, title, 400, legend=True)


def position_similarity(encoding: Array, *, theme: Theme, title: str = "") -> go.Figure:
    """Draw the cosine similarity of all pairs of positions, (L, L), from an encoding (L, D)."""
    figure = go.Figure().add_heatmap(
        z=cosine_similarity(encoding).astype(np.float32),
        zhoverformat=".4f",
        zmin=-1,
        zmax=1,
        colorscale=color_scale(theme.diverging),
        colorbar=color_bar("cosine similarity"),
        hovertemplate="positions %{y} and %{x}<br>cosine <b>%{z}</b><extra></extra>",
        name="similarity",
    )
    figure.update_xaxes(title="position (token index)", showgrid=False)
    figure.update_yaxes(title="position (token index)", autorange="reversed", showgrid=False)
    return finish(figure, theme, title, 460)


def wavelengths(
    lengths: Array,
    sentence_length: int,
    *,
    theme: Theme,
    title: str = "",
    roles: tuple[str, str] = (" (sine)", " (cosine)"),
    width: str = "d_model",
) -> go.Figure:
    """Draw the wavelength of each pair of dimensions, with the sentence's length marked.

    Args:
        lengths: (D / 2,) in positions.
        sentence_length: positions in use; pairs above the line turn less than once in the whole sentence.
        roles: descriptions of the first and the second dimension of a pair.
        width: the name of D.
    """
    pairs = np.arange(len(lengths), dtype=np.int32)
    turns = sentence_length / lengths
    figure = go.Figure().add_scatter(
        x=pairs,
        y=lengths.astype(np.float32),
        customdata=np.column_stack([turns, 2 * pairs, 2 * pairs + 1]),
        mode="lines+markers",
        line={"color": theme.color(0), "width": 2},
        marker={"size": 7},
        name="wavelength",
        hovertemplate=f"pair i = %{{x}}: dimensions %{{customdata[1]}}{roles[0]}, "
        f"%{{customdata[2]}}{roles[1]}<br>"
        "repeats every <b>%{y:.4s}</b> positions<br>turns %{customdata[0]:.3f} times within the sentence"
        "<extra></extra>",
    )
    figure.add_hline(y=sentence_length, line={"color": theme.warning, "dash": "dash", "width": 2})
    figure.add_annotation(
        x=0,
        xref="paper",
        xanchor="left",
        y=np.log10(sentence_length),  # plotly places annotations on a logarithmic axis by their exponent
        yanchor="bottom",
        text=f"length {sentence_length}",
        font={"color": theme.warning},
        showarrow=False,
    )
    figure.update_xaxes(title=f"pair of dimensions i (0 to {width} / 2 − 1)")
    figure.update_yaxes(title="wavelength (positions, logarithmic)", type="log", dtick=1)
    return finish(figure, theme, title, 400)


def embedding_vs_position_norms(
    token_norms: Array,
    position_norms: Array,
    tokens: Sequence[str],
    *,
    theme: Theme,
    scale: bool | float = True,
    title: str = "",
) -> go.Figure:
    """Draw the length of each token's embedding and of the encoding added to it.

    Args:
        token_norms: (T,) Euclidean length of the embedding.
        position_norms: (T,) Euclidean length of the position encoding.
        tokens: T tokens as typed.
        scale: True if the embedding was multiplied by sqrt(d_model), False if by nothing, or another factor.
    """
    figure = go.Figure()
    embedding = "embedding" + (" · √d_model" if scale is True else f" · {scale:g}" if scale else "")
    series = ((embedding, token_norms, False), ("position encoding", position_norms, True))
    for index, (name, norms, striped) in enumerate(series):
        figure.add_bar(
            x=np.arange(len(tokens), dtype=np.int32),
            y=norms.astype(np.float32),
            name=name,
            marker=bar_marker(theme.color(index), theme, striped=striped),
            hovertemplate=f"%{{x}}<br>length of the {name}: <b>%{{y:.3f}}</b><extra></extra>",
        )
    set_ticks(figure, "x", numbered(tokens), title="token, with its position")
    figure.update_yaxes(title="Euclidean length (no unit)", rangemode="tozero")
    figure.update_layout(barmode="group")
    return finish(figure, theme, title, 420, legend=True)
