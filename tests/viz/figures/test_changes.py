from __future__ import annotations

import numpy as np

from viz.figures.changes import change_by_stage, token_matrices
from viz.theme import palette

LIGHT = palette("light")


def test_stages_stand_in_their_order_and_parts_where_they_begin() -> None:
    sizes = np.array([0.0, 0.25, 1.0])
    figure = change_by_stage(sizes, ["a", "b", "c"], ["first", "second", "second"], theme=LIGHT)
    (bars,) = figure.data
    np.testing.assert_allclose(bars.y, sizes)
    assert list(bars.customdata) == ["a", "b", "c"]
    assert figure.layout.xaxis.tickvals == (0, 1)
    assert figure.layout.xaxis.ticktext == ("first", "second")


def test_matrices_share_one_range_of_colours_and_what_is_no_number_is_empty() -> None:
    matrices = {"sound": np.array([[1.0, -4.0]]), "broken": np.array([[np.nan, 3.0]])}
    figure = token_matrices(matrices, ["<b>"], quantity="no unit", theme=LIGHT)
    sound, broken = (trace for trace in figure.data if trace.type == "heatmap")
    assert (sound.zmin, sound.zmax) == (broken.zmin, broken.zmax) == (-4, 4)
    assert np.isnan(broken.z[0][0])
    assert broken.z[0][1] == 3
    assert [sound.showscale, broken.showscale] == [False, True]
    assert sound.customdata[0][0] == "0 &lt;b&gt;"
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;",)
    assert figure.layout.yaxis2.showticklabels is False
