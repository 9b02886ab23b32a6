import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from viz.figures import export
from viz.figures.attention import attention_heatmap, side_by_side
from viz.figures.chromium import OVERRIDE
from viz.theme import palette

LIGHT = palette("light")


def small_figure() -> go.Figure:
    values = np.array([[0.25, 0.75], [0.5, 0.5]])
    closed = {"future": np.array([[False, True], [False, False]])}
    return attention_heatmap(values, ["=cmd()", "il"], ["<b>", "the"], theme=LIGHT, closed=closed)


def test_numbers_of_a_heatmap_are_long_form_with_tokens() -> None:
    table = export.number_table(small_figure())
    assert list(table.columns) == [
        "trace",
        "query: the token that looks",
        "query: the token that looks (label)",
        "key: the token that is looked at",
        "key: the token that is looked at (label)",
        "attention weight (share of the row, 0 to 1)",
    ]
    assert table.iloc[:, 1].tolist() == [0, 1, 1]
    assert table.iloc[:, 2].tolist() == ["0 =cmd()", "1 il", "1 il"]
    assert table.iloc[:, 4].tolist() == ["0 <b>", "0 <b>", "1 the"]
    assert table.iloc[:, 5].tolist() == [0.25, 0.5, 0.5]


def test_numbers_of_tiles_leave_gaps_out() -> None:
    values = np.random.default_rng(1).random((3, 2, 2))
    table = export.number_table(side_by_side(values, ["a", "b"], ["c", "d"], theme=LIGHT))
    np.testing.assert_allclose(np.sort(table.iloc[:, -1]), np.sort(values.ravel()), rtol=1e-6)


def test_numbers_of_lines_and_bars() -> None:
    figure = go.Figure()
    figure.add_scatter(x=[1, 2, 3], y=[-0.5, None, 0.25], name="PE<sub>2i</sub>")
    figure.add_bar(x=["+a", "b"], y=[1.0, -2.0], name="bars")
    figure.update_layout(xaxis_title="position", yaxis_title="value")
    table = export.number_table(figure)
    assert list(table.columns) == ["trace", "position", "value"]
    assert table["trace"].tolist() == ["PE2i", "PE2i", "bars", "bars"]
    assert table["position"].tolist() == [1, 3, "'+a", "b"]
    assert table["value"].tolist() == [-0.5, 0.25, 1.0, -2.0]


def test_axes_of_the_same_title_get_their_own_columns() -> None:
    figure = go.Figure(go.Heatmap(z=[[1.0, 2.0]]))
    figure.update_layout(xaxis_title="position", yaxis_title="position")
    assert list(export.number_table(figure).columns) == ["trace", "position", "position (x)", "value"]


def test_figure_without_numbers() -> None:
    assert export.number_table(go.Figure()).empty


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_neutralised_in_csv_and_negative_numbers_are_not(start: str) -> None:
    figure = go.Figure(go.Bar(x=[f"{start}1+1", "plain"], y=[-1.5, 2.0]))
    content = export.to_csv(figure)
    assert content.startswith(b"\xef\xbb\xbf")
    table = pd.read_csv(io.BytesIO(content))
    assert table["y"].tolist() == [-1.5, 2.0]
    assert table["x"].tolist()[0].startswith("'")
    assert table["x"].tolist()[1] == "plain"


def test_html_stands_alone() -> None:
    page = export.to_html(small_figure()).decode()
    outside_library = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.S)
    assert "http" not in outside_library
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)
    assert '"showSendToCloud": false' in page
    assert "Plotly.newPlot" in page


@pytest.mark.parametrize(
    "slug, name",
    [
        ("encoder self-attention, layer 0", "headlight-encoder-self-attention-layer-0.csv"),
        ("../../etc/passwd", "headlight-etc-passwd.csv"),
        ("è perché", "headlight-e-perche.csv"),
        ("x" * 300, f"headlight-{'x' * 80}.csv"),
    ],
)
def test_file_name_is_never_a_path(slug: str, name: str) -> None:
    assert export.file_name(slug, "csv") == name


def test_file_name_needs_something() -> None:
    with pytest.raises(ValueError, match="name"):
        export.file_name("///", "csv")


def test_without_a_browser_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(OVERRIDE, str(tmp_path / "none"))
    with pytest.raises(export.NoChromiumError, match="apt-get install chromium"):
        export.to_png(small_figure())


def test_a_browser_that_does_not_start_is_told_like_none(
    monkeypatch: pytest.MonkeyPatch, broken_browser: Path
) -> None:
    monkeypatch.setenv(OVERRIDE, str(broken_browser))
    with pytest.raises(export.NoChromiumError, match=re.escape(f"{broken_browser} ended before")):
        export.to_svg(small_figure())
