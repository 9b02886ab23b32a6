"""Labels of a figure: users' tokens made safe and visible, and axes whose ticks are tokens.

plotly parses every label as a small HTML dialect, so a token such as `<b>` or `&lt;` would change the picture
or vanish from it. Positions on an axis are integers with the tokens as tick texts, because plotly merges
categories of the same name, and words may be repeated in a sentence.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from html import escape as escape_html
from typing import Any

import plotly.graph_objects as go

REPEATED = "repeated"
"""The `meta` of a trace whose text repeats its numbers for readers: it is left out of files of numbers."""
MAX_LABEL = 24
"""Characters after which a label cuts a token with an ellipsis."""
MAX_TICKS = 40
"""Tick labels of at least 14 px that fit on one axis."""
DECORATION = "decoration"
"""The `meta` of a trace without numbers: hatching, or a dummy that makes plotly draw an axis."""


def escape(token: str, limit: int = MAX_LABEL) -> str:
    """Write a token as a plotly label: `visible`, and with `& < >` as entities."""
    return escape_html(visible(token, limit), quote=False)


def visible(token: str, limit: int = MAX_LABEL) -> str:
    """Write a token literally, on one line, cut after `limit` characters.

    Control characters become their pictures (␛), other invisible characters (zero-width, bidirectional
    controls, unusual spaces) their codes (⟨U+200B⟩), and lone surrogates the replacement character.
    """
    if token.isprintable() and len(token) <= limit and token.strip(" "):
        return token  # `_visible` would change none of these characters
    pieces: list[str] = []
    width = 0
    for character in token:
        piece = _visible(character)
        if width + len(piece) > limit:
            pieces.append("…")
            break
        pieces.append(piece)
        width += len(piece)
    text = "".join(pieces)
    if not text.strip(" "):
        text = "␠" * len(text) if text else "⟨empty⟩"
    return text


def visible_in_full(text: str) -> str:
    """Write a text of any length literally; see `visible`."""
    return visible(text, limit=10 * len(text))  # at most ⟨U+10FFFF⟩ per character


def _visible(character: str) -> str:
    """One character, or its replacement if it is invisible or would reorder the surrounding text."""
    code = ord(character)
    category = unicodedata.category(character)
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if category in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp") or (category == "Zs" and character != " "):
        return f"⟨U+{code:04X}⟩"
    return character


def numbered(tokens: Sequence[str]) -> list[str]:
    """Prefix tokens with their positions, so that repeated words differ: "3 the"."""
    return [f"{position} {escape(token)}" for position, token in enumerate(tokens)]


def tick_step(count: int, most: int = MAX_TICKS) -> int:
    """The step between labelled ticks with which at most `most` of `count` are labelled."""
    return max(1, -(-count // most))


def set_ticks(
    figure: go.Figure,
    axis: str,
    labels: Sequence[str],
    *,
    title: str,
    drawn: Mapping[float, str] | None = None,
) -> None:
    """Put labels at 0, 1, 2, ... on one axis ("x" or "y"); the y axis starts at the top.

    Hovering always names the label, even if there are too many to draw. plotly takes both from the same list,
    so if only some are drawn, the axis keeps all labels but hides them, and a second axis over it draws the
    chosen ones. The labels must be escaped already.

    Args:
        figure: the figure to change, in its first subplot.
        axis: "x" or "y".
        labels: one label per position.
        title: title of the axis.
        drawn: the ticks to draw, position -> label; None draws every label, or every n-th if there are more
            than MAX_TICKS.
    """
    positions = range(len(labels))
    step = tick_step(len(labels))
    if drawn is None and step > 1:
        drawn = {position: labels[position] for position in positions[::step]}
    ends = [-0.5, len(labels) - 0.5]
    common: dict[str, Any] = {
        "range": ends[::-1] if axis == "y" else ends,
        "showgrid": False,
        "zeroline": False,
    }
    if axis == "x":
        common["autotickangles"] = [0, -45, -90]
    full = {**common, "tickvals": list(positions), "ticktext": list(labels)}
    if drawn is None:
        _set_axis(figure, f"{axis}axis", {**full, "title": {"text": title}})
        return
    _set_axis(figure, f"{axis}axis", {**full, "showticklabels": False, "ticks": ""})
    second = {
        "title": {"text": title},
        "tickvals": list(drawn),
        "ticktext": list(drawn.values()),
        "overlaying": axis,
        "matches": axis,
        "side": "bottom" if axis == "x" else "left",
    }
    _set_axis(figure, f"{axis}axis2", {**common, **second})
    # plotly draws an axis only if a trace uses it
    place = {f"{axis}axis": f"{axis}2"}
    figure.add_scatter(x=[None], y=[None], hoverinfo="skip", showlegend=False, meta=DECORATION, **place)


def set_token_ticks(
    figure: go.Figure, axis: str, tokens: Sequence[str], *, title: str, most: int = MAX_TICKS
) -> None:
    """Use tokens as an axis' ticks: at most `most` are drawn; hovering names each with its position."""
    positions = range(0, len(tokens), tick_step(len(tokens), most))
    drawn: dict[float, str] = {position: escape(tokens[position]) for position in positions}
    set_ticks(figure, axis, numbered(tokens), title=title, drawn=drawn)


def _set_axis(figure: go.Figure, name: str, properties: Mapping[str, object]) -> None:
    """Set an axis' properties, four times faster than plotly's own update."""
    present = figure.layout[name].to_plotly_json() if name in figure.layout else {}
    figure.layout[name] = {**present, **properties}


def axis_title(figure: go.Figure, axis: str) -> str:
    """The first title among all "x" or "y" axes: subplots and overlaid axes share it."""
    axes = figure.select_xaxes() if axis == "x" else figure.select_yaxes()
    return next((str(layout.title.text) for layout in axes if layout.title.text), "")


def pixels(rows: int, *, per_row: int, least: int = 320, most: int = 900, around: int = 150) -> int:
    """Height of a figure with rows of `per_row` pixels each, and `around` pixels for title and axes."""
    return max(least, min(most, rows * per_row + around))
