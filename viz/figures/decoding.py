"""Pictures of decoding: the best next tokens, and two targets of one source token by token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from viz.figures._style import color_bar, finish
from viz.figures.labels import escape, numbered, pixels, set_ticks, tick_step
from viz.theme import DASHES, SYMBOLS, Theme, color_scale

MOST_TICKS = 20


def next_words(
    words: Sequence[str],
    probabilities: NDArray[np.floating],
    *,
    chosen: int | None = None,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw the best k next tokens of one step, as bars.

    Args:
        words: k tokens, best first.
        probabilities: (k,) of the softmax over the whole vocabulary.
        chosen: index of the token that was taken; None if it is not among them.
    """
    colors = [theme.accent if index == chosen else theme.muted for index in range(len(words))]
    labels = [f"{escape(word)}{' ← chosen' if index == chosen else ''}" for index, word in enumerate(words)]
    figure = go.Figure().add_bar(
        x=np.asarray(probabilities, dtype=np.float32) * 100,
        y=np.arange(len(words), dtype=np.int32),
        orientation="h",
        marker={"color": colors, "line": {"width": 0}},
        texttemplate="%{x:.1f} %",
        textposition="outside",
        cliponaxis=False,
        name="next token",
        hovertemplate="%{y}<br>probability <b>%{x:.3f} %</b> (softmax over all tokens)<extra></extra>",
    )
    set_ticks(figure, "y", labels, title="next token")
    figure.update_xaxes(title="probability (%)", range=[0, 112], tickvals=[0, 25, 50, 75, 100])
    return finish(figure, theme, title, pixels(len(words), per_row=34, least=220, around=110))


def step_probabilities(
    candidates: Sequence[Sequence[str]],
    probabilities: NDArray[np.floating],
    chosen: Sequence[str],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw the best k candidates of each step as a column, the best on top, darker if more probable.

    Args:
        candidates: N steps of k tokens, best first.
        probabilities: (N, k).
        chosen: N tokens, the one taken at each step.
    """
    ranks = probabilities.shape[1]
    figure = go.Figure().add_heatmap(
        z=np.asarray(probabilities, dtype=np.float32).T * 100,
        text=[[escape(step[rank], 14) for step in candidates] for rank in range(ranks)],
        texttemplate="%{text}",
        zmin=0,
        zmax=100,
        colorscale=color_scale(theme.sequential),
        colorbar=color_bar("probability (%)"),
        hovertemplate="step %{x}, rank %{y}<br><b>%{text}</b>: %{z:.3f} %<extra></extra>",
        xgap=2,
        ygap=2,
        name="candidates",
    )
    set_ticks(figure, "x", numbered(chosen), title="step, with the token that was taken")
    set_ticks(figure, "y", [str(rank) for rank in range(1, ranks + 1)], title="rank")
    return finish(figure, theme, title, pixels(ranks, per_row=44, least=220, around=120))


@dataclass(frozen=True)
class ScoredTokens:
    """The tokens of a target and their scores.

    Attributes:
        tokens: T tokens.
        log_probabilities: (T,), in nats.
        entropies: (T,), in bits.
    """

    tokens: Sequence[str]
    log_probabilities: NDArray[np.floating]
    entropies: NDArray[np.floating]


def token_by_token(
    targets: Mapping[str, ScoredTokens], *, parting: int | None, theme: Theme, title: str = ""
) -> go.Figure:
    """Draw the log-probability of each token and, below, the entropy of the distribution at that step.

    Args:
        targets: two targets by name, drawn in the same panels.
        parting: the first step, from 0, at which they differ; None if they are equal.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.07)
    for index, (name, target) in enumerate(targets.items()):
        panels = (("log-probability", target.log_probabilities), ("entropy", target.entropies))
        for row, (quantity, values) in enumerate(panels, start=1):
            figure.add_trace(_line(name, target.tokens, values, quantity, index, theme), row=row, col=1)
    if parting is not None:
        figure.add_vline(
            x=parting, line={"color": theme.warning, "width": 2, "dash": "dot"}, row="all", col=1
        )
        figure.add_annotation(
            x=parting,
            y=0,
            yref="y domain",
            text="they part",
            showarrow=False,
            xanchor="left",
            yanchor="top",
            xshift=6,
            font={"color": theme.warning},
        )
    _axes(figure, list(targets.values()))
    return finish(figure, theme, title, 600, legend=True)


def _line(
    name: str, tokens: Sequence[str], values: NDArray[np.floating], quantity: str, index: int, theme: Theme
) -> go.Scatter:
    unit = "nats" if quantity == "log-probability" else "bits"
    return go.Scatter(
        x=np.arange(len(tokens), dtype=np.int32),
        y=values.astype(np.float32),
        text=[escape(token) for token in tokens],
        mode="lines+markers",
        name=name,
        legendgroup=name,
        showlegend=quantity == "log-probability",
        marker={"symbol": SYMBOLS[index], "size": 10},
        line={"color": theme.color(index), "width": 2, "dash": DASHES[index]},
        hovertemplate=f"step %{{x}}, {name}<br><b>%{{text}}</b><br>"
        f"{quantity} <b>%{{y}}</b> {unit}<extra></extra>",
        yhoverformat=".3f",
    )


def _axes(figure: go.Figure, targets: Sequence[ScoredTokens]) -> None:
    longest = max(len(target.tokens) for target in targets)
    positions = range(0, longest, tick_step(longest, MOST_TICKS))
    labels = [f"{i} {_tokens(targets, i)}" for i in positions]
    # Vertical at any width: on a narrow screen plotly would turn multi-line labels upside down.
    figure.update_xaxes(
        tickvals=list(positions), ticktext=labels, tickangle=-90, showgrid=False, range=[-0.5, longest - 0.5]
    )
    figure.update_xaxes(title="step and token (given | free)", row=2, col=1)
    figure.update_yaxes(title="log-probability (nats)", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="entropy (bits)", rangemode="tozero", row=2, col=1)


def _tokens(targets: Sequence[ScoredTokens], position: int) -> str:
    """The token of a step, or both targets' tokens if they differ."""
    tokens = [
        escape(target.tokens[position], 12) if position < len(target.tokens) else "–" for target in targets
    ]
    return tokens[0] if len(set(tokens)) == 1 else " | ".join(tokens)


def word_confidence(
    words: Sequence[str],
    probabilities: Sequence[float],
    new: Sequence[bool],
    *,
    theme: Theme,
    title: str = "",
) -> go.Figure:
    """Draw the probability that each word of a translation is right, as bars, the first word on top.

    Args:
        words: in the translation's order.
        probabilities: of each word being right.
        new: which words are invented: their pieces never occurred together in training; they get a star.
    """
    shares = 100 * np.asarray(probabilities, dtype=np.float32)
    figure = go.Figure().add_bar(
        x=shares,
        y=np.arange(len(words), dtype=np.int32),
        orientation="h",
        marker={"color": [theme.warning if share < 50 else theme.accent for share in shares]},
        texttemplate="%{x:.0f} %",
        textposition="outside",
        cliponaxis=False,
        name="words",
        hovertemplate="<b>%{y}</b><br>right with a probability of <b>%{x:.1f} %</b><extra></extra>",
    )
    figure.add_vline(x=50, line={"color": theme.muted, "width": 2, "dash": "dot"})
    labels = [f"{escape(word)}{' ✱' if is_new else ''}" for word, is_new in zip(words, new, strict=True)]
    set_ticks(figure, "y", labels, title="word of the translation")
    figure.update_xaxes(title="probability of being right (%)", range=[0, 112], tickvals=[0, 25, 50, 75, 100])
    return finish(figure, theme, title, pixels(len(words), per_row=30, least=220, around=110))


def reliability(measured: Mapping[str, NDArray[np.floating]], *, theme: Theme, title: str = "") -> go.Figure:
    """Draw a reliability diagram (Guo et al. 2017, figure 1): predicted probability against share right.

    Args:
        measured: name -> (n, 3), one row per bin: predicted probability, share that was right, count.
    """
    figure = go.Figure().add_scatter(
        x=[0, 100],
        y=[0, 100],
        mode="lines",
        name="claimed is right",
        line={"color": theme.muted, "width": 2, "dash": "dot"},
        hoverinfo="skip",
    )
    for index, (name, bins) in enumerate(measured.items()):
        figure.add_scatter(
            x=100 * bins[:, 0],
            y=100 * bins[:, 1],
            customdata=bins[:, 2],
            mode="lines+markers",
            name=name,
            marker={"symbol": SYMBOLS[index], "size": 11},
            line={"color": theme.color(index), "width": 2, "dash": DASHES[index]},
            hovertemplate=f"{name}: %{{customdata:,}} of them<br>claimed <b>%{{x:.1f}} %</b>, "
            "right <b>%{y:.1f} %</b><extra></extra>",
        )
    figure.update_xaxes(title="probability of being right, as claimed (%)", range=[0, 102])
    figure.update_yaxes(title="share that was right (%)", range=[0, 102])
    return finish(figure, theme, title, 460, legend=True)
