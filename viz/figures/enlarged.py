"""A figure in large type: as if drawn for a narrower page that is then magnified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

_AXIS = ("ticklen", "tickwidth", "linewidth", "gridwidth", "zerolinewidth")
_LENGTHS: Mapping[str, tuple[str, ...]] = {
    "layout": ("height", "width"),
    "margin": ("l", "r", "t", "b", "pad"),
    "pad": ("l", "r", "t", "b"),
    "font": ("size",),
    "line": ("width",),
    "marker": ("size",),
    "title": ("standoff",),
    "axis": _AXIS,
    "colorbar": (*_AXIS, "thickness", "xpad", "ypad"),
    "annotations": ("xshift", "yshift", "ax", "ay", "standoff", "width", "height"),
}
"""Properties in pixels that our figures set, by part of a figure."""


def enlarged(figure: go.Figure, factor: float) -> go.Figure:
    """Magnify the type, the lines and the height of a figure; its width remains that of the page."""
    if factor == 1:
        return figure
    # Part by part, since `figure.to_plotly_json` would encode arrays in base64.
    return go.Figure(
        data=[_scaled("trace", trace.to_plotly_json(), factor) for trace in figure.data],
        layout=_scaled("layout", figure.layout.to_plotly_json(), factor),
    )


def _scaled(part: str, value: Any, factor: float) -> Any:
    if isinstance(value, Mapping):
        lengths = _LENGTHS.get(_kind(part), ())
        return {
            name: _times(inner, factor) if name in lengths else _scaled(name, inner, factor)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple) and any(isinstance(inner, Mapping) for inner in value):
        return [_scaled(part, inner, factor) for inner in value]
    return value


def _times(value: Any, factor: float) -> Any:
    return [_times(each, factor) for each in value] if isinstance(value, list | tuple) else value * factor


def _kind(part: str) -> str:
    """The name in `_LENGTHS` of a part: `tickfont` is a font, `xaxis2` an axis."""
    bare = part.rstrip("0123456789")
    return next((kind for kind in ("font", "axis") if bare.endswith(kind)), bare)
