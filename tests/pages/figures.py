"""The figures of a page in a test: what plotly gets, as numbers."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest


def figure(app: AppTest, key: str) -> dict[str, Any]:
    """The plotly figure that was drawn under this key: {"data": [...], "layout": {...}}.

    Raises:
        KeyError: nothing was drawn under it.
    """
    for chart in app.get("plotly_chart"):
        if chart.proto.id.endswith(f"-{key}"):
            return json.loads(chart.proto.spec)
    raise KeyError(key)


def trace(app: AppTest, key: str, name: str) -> dict[str, Any]:
    """The first trace of this name in a figure.

    Raises:
        KeyError: the figure has none.
    """
    for drawn in figure(app, key)["data"]:
        if drawn.get("name") == name:
            return drawn
    raise KeyError(name)


def array(values: dict[str, str] | list[Any]) -> NDArray[Any]:
    """plotly's typed base64, or a plain list, as an array."""
    if not isinstance(values, dict):
        return np.array(values)
    flat = np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
    shape = [int(side) for side in values.get("shape", str(flat.size)).split(",")]
    return flat.reshape(shape)
