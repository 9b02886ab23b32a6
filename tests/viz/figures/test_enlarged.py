"""Figures in large type: sizes in pixels grow, the data stay the same."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from viz.figures._style import finish
from viz.figures.enlarged import enlarged
from viz.theme import FONT_SIZE, TITLE_SIZE, palette


def figure() -> go.Figure:
    drawn = go.Figure(
        go.Scatter(
            x=[1, 2], y=np.array([3.0, 4.0]), line={"width": 2}, marker={"size": [4, 6]}, hovertext=["<b>"]
        ),
        layout={"annotations": [{"text": "a", "x": 1, "y": 3, "yshift": 10, "font": {"size": 12}}]},
    )
    return finish(drawn, palette("light"), "A title", 400)


def test_type_lines_and_height_grow_and_the_numbers_stay() -> None:
    before, after = figure(), enlarged(figure(), 1.75)
    assert after.layout.height == 700
    assert after.layout.template.layout.font.size == FONT_SIZE * 1.75
    assert after.layout.template.layout.title.font.size == TITLE_SIZE * 1.75
    assert after.layout.margin.t == before.layout.margin.t * 1.75
    assert after.layout.annotations[0].yshift == 17.5
    assert after.layout.annotations[0].font.size == 21
    assert after.layout.annotations[0].x == 1
    assert after.data[0].line.width == 3.5
    assert list(after.data[0].marker.size) == [7, 10.5]
    assert list(after.data[0].x) == [1, 2]
    np.testing.assert_array_equal(after.data[0].y, before.data[0].y)


def test_of_the_usual_size_it_is_the_same_figure() -> None:
    drawn = figure()
    assert enlarged(drawn, 1) is drawn
