"""A model drawn as the paper draws it (figure 1): its stacks from the bottom up, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import plotly.graph_objects as go

from viz.figures._finish import finish
from viz.figures.labels import escape
from viz.theme import Theme

Kind = Literal["embedding", "attention", "feed-forward", "norm", "output"]
COLORS: dict[Kind, int] = {"embedding": 0, "attention": 1, "feed-forward": 2, "norm": 3, "output": 4}
"""The categorical colour of each kind of block."""

_WIDTH, _GAP, _BLOCK, _SPACE = 1.0, 0.24, 0.8, 0.3
_LONGEST = 60


@dataclass(frozen=True)
class Block:
    """A part of a model.

    Attributes:
        kind: which colour it has.
        label: in the block; short.
        detail: under the label; short.
        notes: what hovering says, a line each.
        reads: whether the other stack's output comes in here.
    """

    kind: Kind
    label: str
    detail: str = ""
    notes: Sequence[str] = ()
    reads: bool = False


@dataclass(frozen=True)
class Stack:
    """A column of the drawing.

    Attributes:
        title: over the column.
        below: blocks before the layers, from the bottom up.
        layer: the blocks of one layer, from the bottom up.
        times: how many layers there are.
        above: blocks behind the layers.
    """

    title: str
    below: Sequence[Block]
    layer: Sequence[Block]
    times: int
    above: Sequence[Block] = field(default_factory=tuple)


@dataclass(frozen=True)
class _Placed:
    block: Block
    x: float
    y: float


def architecture(stacks: Sequence[Stack], *, theme: Theme) -> go.Figure:
    """Draw one column a stack; an arrow leads from the top of the first to the block that reads it.

    Args:
        stacks: from left to right: encoder, decoder.
        theme: the look.
    """
    figure = go.Figure()
    placed: list[_Placed] = []
    heights = []
    for column, stack in enumerate(stacks):
        blocks, height = _place(figure, stack, column * (_WIDTH + _GAP), theme)
        placed += blocks
        heights.append(height)
    for one in placed:
        _draw(figure, one, theme)
    if len(stacks) > 1:
        _lead_over(figure, heights[0], [one for one in placed if one.block.reads], theme)
    _hover(figure, placed)
    top = max(heights) + 0.7
    right = len(stacks) * (_WIDTH + _GAP) - _GAP
    figure.update_xaxes(visible=False, range=[-0.12, right + 0.16], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-0.2, top], fixedrange=True)
    figure = finish(figure, theme, "", round(80 + 62 * top))
    return figure.update_layout(
        showlegend=False, margin={"l": 4, "r": 4, "t": 8, "b": 8}, hovermode="closest"
    )


def _place(figure: go.Figure, stack: Stack, x: float, theme: Theme) -> tuple[list[_Placed], float]:
    """Where each block of a stack stands; draws the frame around the layer and the title."""
    placed = []
    y = 0.0
    for block in stack.below:
        placed.append(_Placed(block, x, y))
        y += _BLOCK + _SPACE
    begin = y
    y += _SPACE
    for block in stack.layer:
        placed.append(_Placed(block, x, y))
        y += _BLOCK + _SPACE / 2
    figure.add_shape(
        type="rect", x0=x - 0.07, x1=x + _WIDTH + 0.07, y0=begin, y1=y + _SPACE / 2,
        line={"color": theme.muted, "width": 1.5, "dash": "dot"}, layer="below",
    )  # fmt: skip
    figure.add_annotation(
        x=x + _WIDTH + 0.05, y=begin + 0.02, text=f"<b>{stack.times} ×</b>", showarrow=False, xanchor="right",
        yanchor="bottom", font={"color": theme.muted, "size": 14},
    )  # fmt: skip
    y += _SPACE
    for block in stack.above:
        placed.append(_Placed(block, x, y))
        y += _BLOCK + _SPACE
    figure.add_annotation(
        x=x + _WIDTH / 2, y=y + 0.1, text=f"<b>{escape(stack.title, _LONGEST)}</b>", showarrow=False,
        yanchor="bottom", font={"color": theme.text, "size": 16},
    )  # fmt: skip
    figure.add_shape(
        type="line", x0=x + _WIDTH / 2, x1=x + _WIDTH / 2, y0=-0.15, y1=y - _SPACE,
        line={"color": theme.muted, "width": 2}, layer="below",
    )  # fmt: skip
    return placed, y


def _draw(figure: go.Figure, placed: _Placed, theme: Theme) -> None:
    block, x, y = placed.block, placed.x, placed.y
    figure.add_shape(
        type="rect", x0=x, x1=x + _WIDTH, y0=y, y1=y + _BLOCK, fillcolor=theme.surface,
        line={"color": theme.color(COLORS[block.kind]), "width": 3},
    )  # fmt: skip
    text = f"<b>{escape(block.label, _LONGEST)}</b>"
    if block.detail:
        text += f"<br><span style='font-size:11px'>{escape(block.detail, _LONGEST)}</span>"
    figure.add_annotation(
        x=x + _WIDTH / 2, y=y + _BLOCK / 2, text=text, showarrow=False, font={"color": theme.text, "size": 13}
    )


def _lead_over(figure: go.Figure, top: float, readers: Sequence[_Placed], theme: Theme) -> None:
    """The way of the encoder's output into the decoder's cross-attention."""
    middle = _WIDTH + _GAP / 2
    line = {"color": theme.accent, "width": 2.5}
    for reader in readers:
        y = reader.y + _BLOCK / 2
        figure.add_shape(type="line", x0=_WIDTH / 2, x1=middle, y0=top - _SPACE, y1=top - _SPACE, line=line)
        figure.add_shape(type="line", x0=middle, x1=middle, y0=top - _SPACE, y1=y, line=line)
        figure.add_annotation(
            x=reader.x, y=y, ax=middle, ay=y, xref="x", yref="y", axref="x", ayref="y", showarrow=True,
            arrowhead=2, arrowwidth=2.5, arrowcolor=theme.accent, text="",
        )  # fmt: skip


def _hover(figure: go.Figure, placed: Sequence[_Placed]) -> None:
    """An invisible point in each block that says what the block has."""
    figure.add_trace(
        go.Scatter(
            x=[one.x + _WIDTH / 2 for one in placed],
            y=[one.y + _BLOCK / 2 for one in placed],
            text=[
                "<br>".join([f"<b>{escape(one.block.label, _LONGEST)}</b>", *_lines(one.block)])
                for one in placed
            ],
            mode="markers",
            marker={"size": 46, "opacity": 0},
            hovertemplate="%{text}<extra></extra>",
        )
    )


def _lines(block: Block) -> list[str]:
    return [escape(note, _LONGEST) for note in block.notes]
