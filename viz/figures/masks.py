"""Pictures of masks: the open cells, why the others are closed, and the effect on a softmax.

Axes: B sentences of a batch, Q query position, K key position. `closed` is as in `viz.figures._closed`.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from viz.figures._closed import Closed, add_closed, any_closed
from viz.figures._style import bar_marker, finish
from viz.figures._tiles import Tiles
from viz.figures.attention import KEY_AXIS, MAX_NUMBERED
from viz.figures.labels import (
    DECORATION,
    REPEATED,
    escape,
    numbered,
    pixels,
    set_ticks,
    set_token_ticks,
    tick_step,
    visible,
)
from viz.figures.numbers import written
from viz.theme import FONT_SIZE, Theme

MAX_KEYS_LABELLED, MAX_QUERIES_LABELLED = 12, 24
"""Most tick labels of a mask; a page shows three masks side by side."""
LETTER = 8.5
"""Average width of a letter in a figure, in pixels."""
MAX_NUMBERED_BARS = 14
"""Bars up to which each has room for its number."""


def mask_matrix(
    closed: Closed,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
    marked: int | None = None,
) -> go.Figure:
    """Draw one mask: open cells in colour, closed ones grey and hatched, with the reason on hover.

    Args:
        closed: reason -> (Q, K) True where the mask closes the cell.
        query_tokens: Q tokens, as typed.
        key_tokens: K tokens, as typed.
        marked: a query whose row is framed.
    """
    shape = (len(query_tokens), len(key_tokens))
    free = ~any_closed(closed, shape)
    hover = "query: %{y}<br>key: %{x}"
    figure = go.Figure().add_heatmap(
        z=np.where(free, np.float32(1), np.float32(np.nan)),
        colorscale=[[0, theme.sequential[4]], [1, theme.sequential[4]]],
        showscale=False,
        hoverongaps=False,
        hovertemplate=f"{hover}<br><b>open</b>: this query may look at this key<extra></extra>",
        xgap=1,
        ygap=1,
        name="open (1: may attend)",
    )
    add_closed(figure, closed, theme, hover)
    figure.add_trace(Tiles(1, 1, *shape, gap_rows=0, gap_columns=0).frames(1, theme))
    if marked is not None:
        figure.add_shape(
            x0=-0.5,
            x1=shape[1] - 0.5,
            y0=marked - 0.5,
            y1=marked + 0.5,
            line={"color": theme.warning, "width": 3},
        )
    set_token_ticks(figure, "x", key_tokens, title="key (looked at)", most=MAX_KEYS_LABELLED)
    set_token_ticks(figure, "y", query_tokens, title="query (looks)", most=MAX_QUERIES_LABELLED)
    return finish(
        figure, theme, title, pixels(len(query_tokens), per_row=26, least=280, most=640, around=170)
    )


def batch_layout(
    tokens: Sequence[Sequence[str]],
    padding: NDArray[np.bool_],
    *,
    theme: Theme,
    title: str = "",
    columns: int | None = None,
) -> go.Figure:
    """Draw the batch as the model reads it: one row per sentence, padded to the length of the longest.

    Args:
        tokens: B sequences of T tokens, padding included.
        padding: (B, T), True where a token is padding.
        columns: width in tokens, to match the cell size of another batch; None for T.
    """
    hover = "%{y}, position %{x}"
    length = padding.shape[1]
    figure = go.Figure().add_heatmap(
        z=np.where(padding, np.float32(np.nan), np.float32(1)),
        text=[[escape(token) for token in sentence] for sentence in tokens],
        colorscale=[[0, theme.surface], [1, theme.surface]],
        showscale=False,
        hoverongaps=False,
        hovertemplate=f"{hover}<br><b>%{{text}}</b><extra></extra>",
        xgap=2,
        ygap=2,
        name="token (1) or padding (empty)",
    )
    add_closed(figure, {"padding: no word of the sentence": padding}, theme, hover)
    longest = 0
    if length <= MAX_NUMBERED:
        bars, longest = _written_in_cells(tokens, padding, theme)
        figure.add_trace(bars)
    set_ticks(figure, "y", [f"sentence {number}" for number in range(1, len(tokens) + 1)], title="")
    ends = [-0.5, max(length, columns or 0) - 0.5]
    figure.update_xaxes(title="position (token index)", range=ends, showgrid=False, zeroline=False)
    row = max(44, ceil(longest * LETTER) + 16)
    height = pixels(len(tokens), per_row=row, least=180, most=2400, around=110)
    return finish(figure, theme, title, height)


def _written_in_cells(
    tokens: Sequence[Sequence[str]], padding: NDArray[np.bool_], theme: Theme
) -> tuple[go.Bar, int]:
    """Write the tokens into their cells, in full: horizontally if there is room, else vertically.

    Returns:
        The trace, made of bars because plotly only rotates their text, and the length of the longest token.
    """
    rows, columns = np.nonzero(~padding)
    words = [tokens[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]
    bars = go.Bar(
        x=columns,
        y=np.ones(len(rows)),
        base=rows - 0.5,
        width=1,
        text=list(map(escape, words)),
        textposition="inside",
        insidetextanchor="middle",
        constraintext="none",
        insidetextfont={"color": theme.text, "size": FONT_SIZE - 2},
        marker={"color": "rgba(0,0,0,0)", "line": {"width": 0}},
        hoverinfo="skip",
        showlegend=False,
        meta=DECORATION,
    )
    return bars, max(len(visible(word)) for word in words)


def softmax_with_without(
    scores: NDArray[np.floating],
    with_mask: NDArray[np.floating],
    without_mask: NDArray[np.floating],
    closed: Closed,
    key_tokens: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw one query's scores before and after the mask, and the softmax with and without it.

    Args:
        scores: (K,) before the mask.
        with_mask: (K,) softmax over the open keys.
        without_mask: (K,) softmax over all keys.
        closed: reason -> (K,) True where the mask closes the key for this query.
        key_tokens: K tokens as typed.
    """
    shut = any_closed(closed, (len(key_tokens),))
    figure = make_subplots(
        rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[0.3, 0.3, 0.4]
    )
    _bars(figure, 1, scores, "score before the mask", theme.color(0), theme)
    _bars(figure, 2, np.where(shut, np.nan, scores), "score after the mask", theme.color(2), theme)
    _bars(figure, 3, without_mask, "softmax without the mask", theme.color(0), theme, striped=True)
    _bars(figure, 3, with_mask, "softmax with the mask", theme.color(2), theme)
    _minus_infinity(figure, closed, theme)
    labels = numbered(key_tokens)
    step = tick_step(len(labels))
    figure.update_xaxes(
        tickvals=list(range(0, len(labels), step)),
        ticktext=labels[::step],
        showgrid=False,
        showticklabels=False,
    )
    figure.update_xaxes(showticklabels=True, title=KEY_AXIS, row=3, col=1, autotickangles=[0, -45, -90])
    span = _span(scores)
    figure.update_yaxes(title="score before<br>the mask", range=span, row=1, col=1)
    figure.update_yaxes(title="score after<br>the mask", range=span, row=2, col=1)
    figure.update_yaxes(title="softmax<br>(share, 0 to 1)", rangemode="tozero", row=3, col=1)
    figure.update_layout(barmode="group")
    return finish(figure, theme, title, 680, legend=True)


def weights_of_row(
    weights: NDArray[np.floating],
    is_closed: NDArray[np.bool_],
    key_tokens: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw one query's weights, with the keys that it must not see in a different colour.

    Args:
        weights: (K,).
        is_closed: (K,) True for a key that it must not see.
        key_tokens: K tokens as typed.
    """
    figure = go.Figure()
    for name, keys, color in (
        ("may be seen", ~is_closed, theme.color(0)),
        ("must not be seen", is_closed, theme.color(1)),
    ):
        figure.add_bar(
            x=np.flatnonzero(keys).astype(np.int32),
            y=weights[keys].astype(np.float32),
            name=name,
            marker={"color": color, "line": {"width": 0}},
            hovertemplate="key %{x}<br>weight <b>%{y}</b><extra></extra>",
            yhoverformat=".4f",
        )
    set_token_ticks(figure, "x", key_tokens, title=KEY_AXIS, most=MAX_KEYS_LABELLED)
    figure.update_yaxes(title="weight", rangemode="tozero")
    return finish(figure, theme, title, 320, legend=True)


def _bars(
    figure: go.Figure,
    row: int,
    values: NDArray[np.floating],
    name: str,
    color: str,
    theme: Theme,
    *,
    striped: bool = False,
) -> None:
    fits = len(values) <= MAX_NUMBERED_BARS
    figure.add_bar(
        x=np.arange(len(values), dtype=np.int32),
        y=values.astype(np.float32),
        name=name,
        marker=bar_marker(color, theme, striped=striped),
        showlegend=row == 3,
        text=written(values, 2) if fits else None,
        texttemplate="%{text}" if fits else None,
        textposition="outside",
        textangle=0,
        cliponaxis=False,
        yhoverformat=".4f",
        hovertemplate=f"key: %{{x}}<br>{name}: <b>%{{y}}</b><extra></extra>",
        meta=REPEATED,
        row=row,
        col=1,
    )


def _minus_infinity(figure: go.Figure, closed: Closed, theme: Theme) -> None:
    """Write −∞ where the mask closes a key, with the reason on hover."""
    for reason, where in closed.items():
        keys = np.flatnonzero(where)
        if len(keys):
            figure.add_scatter(
                x=keys.astype(np.int32),
                y=np.zeros(len(keys), dtype=np.float32),
                mode="markers+text",
                text=["−∞"] * len(keys),
                textposition="top center",
                marker={"symbol": "x", "size": 9, "color": theme.hatch},
                name=f"masked: {reason}".replace(", ", ",<br>"),  # two legend lines on a phone
                hovertemplate="key: %{x}<br>score after the mask: <b>−∞</b>"
                f"<br>masked: {reason}<extra></extra>",
                row=2,
                col=1,
            )


def _span(scores: NDArray[np.floating]) -> list[float]:
    """The range of all scores and 0, with room for the numbers at the ends of the bars."""
    finite = scores[np.isfinite(scores)]
    low, high = min(0.0, float(finite.min(initial=0))), max(0.0, float(finite.max(initial=0)))
    margin = 0.25 * ((high - low) or 1.0)
    return [low - (margin if low < 0 else 0), high + margin]
