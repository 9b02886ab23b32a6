"""A figure as a file: HTML, PNG or SVG to look at, CSV to calculate with.

Nothing here uses the network: the HTML contains plotly.js, and images are drawn by a Chromium on this machine
that opens only our page.
"""

from __future__ import annotations

import csv
import html
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.figures.chromium import OVERRIDE, find_chromium
from viz.figures.image_browser import ImageBrowser
from viz.figures.labels import DECORATION, REPEATED, axis_title

# kaleido and pandas take half a second to load, and the first page is drawn without them.
if TYPE_CHECKING:
    import pandas as pd
    from plotly.basedatatypes import BaseLayoutHierarchyType, BaseTraceType

CONFIG = {
    "showSendToCloud": False,
    "displaylogo": False,
    "typesetMath": False,
    "responsive": True,
    "displayModeBar": "hover",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
}
"""plotly.js settings of every figure: no upload button, no link, no LaTeX in labels, and a toolbar that
appears on hover, with only those tools that have no alternative."""
IMAGE_WIDTH = 1200
"""Width in pixels of a figure that sets none; PNG files have twice as many."""
_BROWSER = ImageBrowser()
"""One for all users, so that many don't fill the memory; it runs only while images are wanted."""
Column = tuple[str, NDArray[Any], str]
"""A title, the values, and the axis that they are on; "" if they are on none."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula."""


class NoChromiumError(RuntimeError):
    """PNG and SVG need a working Chromium or Chrome on this machine."""

    def __init__(self, lack: str = "none was found") -> None:
        super().__init__(
            f"Saving as PNG or SVG needs Chromium or Chrome on the machine that runs Headlight, and {lack}. "
            f"Install one (Debian: apt-get install chromium), or set {OVERRIDE} to its program, or "
            "save as HTML."
        )


def to_html(figure: go.Figure) -> bytes:
    """One HTML page that works without a network, with plotly.js (about 4 MB) inside."""
    page: str = figure.to_html(config=CONFIG, include_plotlyjs=True, include_mathjax=False, full_html=True)
    return page.encode()


def to_png(figure: go.Figure) -> bytes:
    """Draw a PNG at twice the figure's size, for a projector or a slide.

    Raises:
        NoChromiumError: there is no browser to draw it, or the browser fails.
    """
    return _image(figure, "png", scale=2)


def to_svg(figure: go.Figure) -> bytes:
    """Draw an SVG, for print.

    Raises:
        NoChromiumError: there is no browser to draw it, or the browser fails.
    """
    return _image(figure, "svg", scale=1)


def expect_images() -> bool:
    """Start the browser that draws images in the background, before one is wanted; False if there is none."""
    path = find_chromium()
    if path is not None:
        _BROWSER.start(path)
    return path is not None


def _image(figure: go.Figure, kind: str, scale: int) -> bytes:
    path = find_chromium()
    if path is None:
        raise NoChromiumError
    from kaleido import errors

    size = {"width": figure.layout.width or IMAGE_WIDTH, "height": figure.layout.height or 500}
    try:
        return _BROWSER.draw(path, figure.to_dict(), {"format": kind, "scale": scale, **size})
    except (errors.BrowserFailedError, errors.BrowserClosedError) as error:
        raise NoChromiumError(f"{path} ended before it had drawn the image") from error


def file_name(slug: str, extension: str) -> str:
    """Make a file name from a figure's name: letters, digits and dashes, never a path.

    Raises:
        ValueError: the name has no letter and no digit.
    """
    ascii_text = unicodedata.normalize("NFKD", slug).encode("ascii", "ignore").decode().lower()
    safe = re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:80]
    if not safe:
        raise ValueError("a figure needs a name of letters or digits")
    return f"headlight-{safe}.{extension}"


def number_table(figure: go.Figure) -> pd.DataFrame:
    """Every number that a figure draws, one row per number.

    The columns are "trace", then the axes' titles, then the value's. An axis whose ticks are tokens gets a
    second column with the token. Cells without a number (gaps, closed cells) are left out. Text that a
    spreadsheet would read as a formula is prefixed with an apostrophe; numbers stay numbers.
    """
    import pandas as pd

    frames = [_trace_numbers(figure, trace) for trace in figure.data if trace.meta != DECORATION]
    if not frames:
        return pd.DataFrame(columns=["trace", "x", "y"])
    table = pd.concat(frames, ignore_index=True)
    if "text" in table:
        table.insert(1, "text", table.pop("text").fillna(""))
    for column in table.columns:
        if not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].map(_neutral)
    return table


def to_csv(figure: go.Figure) -> bytes:
    """Write the numbers as CSV: UTF-8 with the byte-order mark that spreadsheets need."""
    return number_table(figure).to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode("utf-8-sig")


def _trace_numbers(figure: go.Figure, trace: BaseTraceType) -> pd.DataFrame:
    import pandas as pd

    table: dict[str, Any] = {"trace": _plain(trace.name) if trace.name else trace.type}
    cells, texts = _heatmap_cells(figure, trace) if trace.type == "heatmap" else _points(figure, trace)
    if texts and trace.meta != REPEATED:
        table["text"] = [_plain(text) for text in texts]
    for title, values, axis in cells:
        column = title if title not in table else f"{title} ({axis})"
        table[column] = values
        labels = _tick_labels(figure, trace, axis) if axis else {}
        if labels:
            table[f"{column} (label)"] = [labels.get(value, "") for value in values.tolist()]
    return pd.DataFrame(table)


def _heatmap_cells(figure: go.Figure, trace: BaseTraceType) -> tuple[list[Column], list[str]]:
    """The row, column and value of each cell that has a number, and any texts."""
    values = np.asarray(trace.z, dtype=float)
    rows, columns = np.nonzero(np.isfinite(values))
    cells = [
        (_title(figure, trace, "y"), rows, "y"),
        (_title(figure, trace, "x"), columns, "x"),
        (_plain(trace.colorbar.title.text or "") or "value", values[rows, columns], ""),
    ]
    if trace.text is None:
        return cells, []
    return cells, [trace.text[row][column] for row, column in zip(rows, columns, strict=True)]


def _points(figure: go.Figure, trace: BaseTraceType) -> tuple[list[Column], list[str]]:
    """The x and y of each point or bar that has a number, and any texts."""
    y = np.asarray(trace.y)
    x = np.arange(len(y)) if trace.x is None else np.asarray(trace.x)
    if x.dtype.kind in "OU":  # categories: labels, not positions
        x = np.array([_plain(str(label)) for label in x])
    drawn = np.array([value is not None and value == value for value in y], dtype=bool)
    cells = [(_title(figure, trace, "x"), x[drawn], "x"), (_title(figure, trace, "y"), y[drawn], "y")]
    if trace.text is None or isinstance(trace.text, str):
        return cells, []
    return cells, np.asarray(trace.text)[drawn].tolist()


def _axis(figure: go.Figure, trace: BaseTraceType, axis: str) -> BaseLayoutHierarchyType:
    """Find the layout's axis on which a trace is drawn: "x2" is layout.xaxis2."""
    reference = getattr(trace, f"{axis}axis") or axis
    return figure.layout[f"{axis}axis{reference[1:]}"]


def _title(figure: go.Figure, trace: BaseTraceType, axis: str) -> str:
    return _plain(_axis(figure, trace, axis).title.text or axis_title(figure, axis)) or axis


def _tick_labels(figure: go.Figure, trace: BaseTraceType, axis: str) -> dict[float, str]:
    layout = _axis(figure, trace, axis)
    if layout.ticktext is None:
        return {}
    return dict(zip(layout.tickvals, map(_plain, layout.ticktext), strict=True))


def _plain(text: str) -> str:
    """Convert a plotly label to plain text: without tags, and with entities decoded."""
    return html.unescape(re.sub(r"<br ?/?>", " ", re.sub(r"</?(b|i|sub|sup)>", "", text)))


def _neutral(cell: object) -> object:
    """Keep a spreadsheet from reading text as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell
