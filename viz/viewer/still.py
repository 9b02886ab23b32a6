"""One head as a table of numbers, which a saved notebook shows without a kernel, and so without the viewer.

Plain HTML only, without scripts or images: GitHub, nbviewer and untrusted notebooks remove everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from viz.components.shared.frame import brief
from viz.figures.labels import visible
from viz.theme import Theme, color_range
from viz.viewer.choice import Choice
from viz.viewer.viewer_run import ViewerRun

MAX_TOKENS = 24
"""Most rows and columns of the table, which is stored in the notebook file."""
_DARK = 0.45
"""Brightness of a background, 0 to 1, above which its text is black."""


def still_table(run: ViewerRun, choice: Choice, theme: Theme) -> str:
    """Write the chosen head's weights as an HTML table: one row per query, one column per key."""
    attention = run.attentions[choice.attention]
    weights = attention.weights(choice.layer)[choice.head]
    sides = run.sides[attention.queries].tokens, run.sides[attention.keys].tokens
    queries, keys = (side[:MAX_TOKENS] for side in sides)
    title = (
        f"{attention.label}, layer {choice.layer}, head {choice.head}: a row is a query, a column is a key"
    )
    if (queries, keys) != sides:
        title += (
            f" (the first {len(queries)} of {len(sides[0])} queries, {len(keys)} of {len(sides[1])} keys)"
        )
    top = color_range(weights, signed=False)[1]
    rows = [_row("", [_head(key, "col") for key in keys])]
    for query, own, is_open in zip(queries, weights, attention.allowed_in(choice.layer), strict=False):
        cells = [
            _cell(weight, top, theme) if can else "<td></td>"
            for weight, can, _ in zip(own.tolist(), is_open, keys, strict=False)
        ]
        rows.append(_row(_head(query, "row"), cells))
    look = f"background:{theme.background};color:{theme.text}"
    return (
        f'<table cellpadding="3" style="{look};border-collapse:collapse;font-size:12px">'
        f'<caption style="{look};text-align:left">{escape(title)}. Run the cell to see every head.</caption>'
        f"{''.join(rows)}</table>"
    )


def _row(head: str, cells: Sequence[str]) -> str:
    return f"<tr>{head or '<td></td>'}{''.join(cells)}</tr>"


def _head(token: str, scope: str) -> str:
    look = ' style="writing-mode:vertical-rl"' if scope == "col" else ""
    return f'<th scope="{scope}"{look}>{escape(visible(brief(token)))}</th>'


def _cell(weight: float, top: float, theme: Theme) -> str:
    stops = theme.sequential
    background = stops[round(min(max(float(weight) / top, 0), 1) * (len(stops) - 1))]
    red, green, blue = (int(background[i : i + 2], 16) / 255 for i in (1, 3, 5))
    ink = "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > _DARK else "#fff"
    number = f"{weight:.2f}".replace("-", "−")
    return f'<td style="background:{background};color:{ink}">{number}</td>'
