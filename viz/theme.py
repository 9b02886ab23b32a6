"""Every colour of Headlight, in light and in dark, and the plotly template made from them.

The sequential and diverging scales vary in lightness and not only in hue, and the categorical colours are
those of Okabe and Ito (2008, "Color Universal Design"), so they can be distinguished without seeing red and
green. The order of the categorical colours differs between the themes: on either background the ones with
the best contrast come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

ThemeName = Literal["light", "dark"]

FONT_FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"
FONT_SIZE = 14
"""Pixels; the smallest text in a figure."""
TITLE_SIZE = 17
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Line styles that accompany the categorical colours, so that no line is identified by colour alone."""
SYMBOLS = ("circle", "diamond", "square", "triangle-up")
"""Markers, for the same purpose."""
FAINT = 0.5
"""If all weights are below this, their colour scale ends below 1, or they would look pale."""


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colours of one theme, each as #rrggbb.

    `sequential` runs from "nothing" (the page's background) to "most", `diverging` from the most negative
    over a neutral middle to the most positive; their stops are evenly spaced. `masked` fills a closed cell
    and `hatch` draws the lines over it. `muted` is for secondary text, which is still readable; `accent`
    marks what is chosen.
    """

    name: ThemeName
    background: str
    surface: str
    text: str
    muted: str
    grid: str
    accent: str
    warning: str
    masked: str
    hatch: str
    sequential: tuple[str, ...]
    diverging: tuple[str, ...]
    categorical: tuple[str, ...]

    def color(self, index: int) -> str:
        """The categorical colour of a series by its index; colours repeat."""
        return self.categorical[index % len(self.categorical)]

    def dash(self, index: int) -> str:
        """The line style of a series by its index; it changes when colours repeat."""
        return DASHES[index // len(self.categorical) % len(DASHES)]


PALETTES: Mapping[ThemeName, Theme] = {
    "light": Theme(
        name="light",
        background="#ffffff",
        surface="#f5f7fa",
        text="#111418",
        muted="#59626e",
        grid="#d8dee6",
        accent="#0a5cad",
        warning="#a63a00",
        masked="#dcdfe3",
        hatch="#9aa1ab",
        sequential=tuple("#ffffff #deebf7 #c6dbef #9ecae1 #6baed6 #4292c6 #2171b5 #08519c #08306b".split()),
        diverging=tuple("#08306b #2171b5 #6baed6 #c6dbef #f7f7f7 #fdd0a2 #fd8d3c #d94801 #7f2704".split()),
        categorical=tuple("#0072b2 #d55e00 #009e73 #cc79a7 #000000 #e69f00 #56b4e9 #f0e442".split()),
    ),
    "dark": Theme(
        name="dark",
        background="#0e1117",
        surface="#1a1f29",
        text="#f2f4f8",
        muted="#aab3c0",
        grid="#323a47",
        accent="#6cb6ff",
        warning="#ffab70",
        masked="#3b424e",
        hatch="#6d7685",
        sequential=tuple("#0e1117 #0f2440 #10396b #135196 #1f6fbf #4a94d8 #83b9ea #b8dbf7 #e0f3ff".split()),
        diverging=tuple("#cfe8ff #7ab8ee #2f7fc4 #164a7a #23272f #8a4513 #d2701e #f7a654 #ffe3c2".split()),
        categorical=tuple("#56b4e9 #e69f00 #009e73 #f0e442 #cc79a7 #d55e00 #ffffff #0072b2".split()),
    ),
}


def palette(name: ThemeName) -> Theme:
    """The theme with this name.

    Raises:
        KeyError: there is no such theme.
    """
    return PALETTES[name]


def color_scale(stops: tuple[str, ...]) -> list[list[float | str]]:
    """A plotly colour scale of evenly spaced stops."""
    return [[index / (len(stops) - 1), stop] for index, stop in enumerate(stops)]


def color_range(values: NDArray[np.floating], *, signed: bool) -> tuple[float, float]:
    """The ends of the colour scale for values shown together.

    Weights are coloured from 0 to 1; if none reaches FAINT, as in a long sentence, the scale ends at the
    largest, rounded up to a tenth. The scale of scores (`signed`) is symmetric about 0.
    """
    strongest = float(np.abs(values, where=np.isfinite(values), out=np.zeros(values.shape)).max(initial=0))
    if signed:
        return (-strongest, strongest) if strongest else (-1.0, 1.0)
    faint = 0 < strongest < FAINT
    return 0.0, ceil(strongest * 10 - 1e-6) / 10 if faint else 1.0


@cache
def template(theme: Theme) -> go.layout.Template:
    """The plotly template of a theme: fonts, backgrounds, axes, legend, hover labels and colours.

    All figures share it; each makes its own copy.
    """
    axis = {
        "gridcolor": theme.grid,
        "linecolor": theme.muted,
        "zerolinecolor": theme.muted,
        "tickcolor": theme.muted,
        "ticks": "outside",
        "automargin": True,
        "title": {"standoff": 12, "font": {"size": FONT_SIZE}},
    }
    font = {"family": FONT_FAMILY, "size": FONT_SIZE, "color": theme.text}
    return go.layout.Template(
        layout={
            "font": font,
            "title": {"font": {"size": TITLE_SIZE}, "x": 0, "xref": "paper", "xanchor": "left"},
            "paper_bgcolor": theme.background,
            "plot_bgcolor": theme.background,
            "colorway": list(theme.categorical),
            "xaxis": {**axis, "zeroline": False},
            "yaxis": axis,
            "legend": {"bgcolor": "rgba(0,0,0,0)", "title": {"font": {"size": FONT_SIZE}}},
            "hoverlabel": {
                "bgcolor": theme.surface,
                "bordercolor": theme.muted,
                "font": {**font, "size": FONT_SIZE},
                "align": "left",
            },
            "margin": {"l": 16, "r": 16, "t": 56, "b": 16},
            "colorscale": {
                "sequential": color_scale(theme.sequential),
                "diverging": color_scale(theme.diverging),
            },
        }
    )
