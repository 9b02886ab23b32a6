import numpy as np
import pytest

from viz.figures.export import number_table
from viz.figures.norms import gamma_beta, growth, norm_statistics, value_distribution
from viz.theme import palette

LIGHT = palette("light")
VALUES = np.random.default_rng(6).normal(0.5, 2, size=(3, 22))


def test_statistics_of_each_stage_and_token() -> None:
    means = {"before": VALUES.mean(1), "after": np.zeros(3)}
    deviations = {"before": VALUES.std(1), "after": np.ones(3)}
    figure = norm_statistics(means, deviations, ["a", "<b>", "a"], theme=LIGHT)
    drawn = [(trace.name, trace.yaxis, trace.showlegend) for trace in figure.data]
    assert drawn == [
        ("before", "y", True),
        ("after", "y", True),
        ("before", "y2", False),
        ("after", "y2", False),
    ]
    np.testing.assert_allclose(figure.data[2].y, VALUES.std(1), rtol=1e-6)
    assert [list(trace.x) for trace in figure.data] == 4 * [["0 a", "1 &lt;b&gt;", "2 a"]]
    assert number_table(figure)["token, with its position"].tolist() == 4 * ["0 a", "1 <b>", "2 a"]
    assert "mean" in figure.layout.yaxis.title.text
    assert "deviation" in figure.layout.yaxis2.title.text


def test_distribution_shares_its_bins_and_sums_to_a_hundred_percent() -> None:
    figure = value_distribution({"before": VALUES, "after": VALUES / 4}, theme=LIGHT)
    before, after = figure.data
    np.testing.assert_array_equal(before.x, after.x)
    assert before.y.sum() == pytest.approx(100, abs=1e-3)
    assert after.y.sum() == pytest.approx(100, abs=1e-3)
    assert np.average(before.x, weights=before.y) == pytest.approx(VALUES.mean(), abs=0.1)


@pytest.mark.parametrize(
    "values", [np.zeros(0), np.full(4, np.nan), np.full((2, 2), 3.0), np.array([1.0, np.inf])]
)
def test_distribution_of_odd_values(values: np.ndarray) -> None:
    (trace,) = value_distribution({"stage": values}, theme=LIGHT).data
    assert np.isfinite(trace.y).all()


def test_gamma_and_beta_stand_against_their_starting_values() -> None:
    figure = gamma_beta(np.linspace(0.8, 1.2, 11), np.linspace(-0.1, 0.1, 11), theme=LIGHT)
    assert [shape.y0 for shape in figure.layout.shapes] == [1, 0]
    assert figure.data[0].y[-1] == pytest.approx(1.2)
    assert figure.data[1].yaxis == "y2"


def test_growth_draws_mean_and_range() -> None:
    values = np.array([[1.0, 3.0], [2.0, 6.0], [5.0, 5.0]])
    points = ["input", "layer 0 self-attention", "layer 0 feed-forward"]
    table = number_table(growth(points, {"encoder": values}, theme=LIGHT))
    parts = {name: part.iloc[:, -1].tolist() for name, part in table.groupby("trace")}
    assert parts == {
        "encoder: least": [1, 2, 5],
        "encoder: most": [3, 6, 5],
        "encoder: mean over tokens": [2, 4, 5],
    }


def test_growth_escapes_names_and_draws_tokens_when_asked() -> None:
    values = np.array([[1.0, 3.0], [2.0, 6.0]])
    figure = growth(["input", "layer 0 <end>"], {"x": values}, theme=LIGHT, tokens=["a", "%{x}"])
    assert all("layer 0 &lt;end&gt;" in trace.x for trace in figure.data if trace.x[0] is not None)
    assert "layer 0 <end>" in set(number_table(figure)["along the forward"])
    lines = next(trace for trace in figure.data if trace.name == "x: each token")
    np.testing.assert_array_equal(lines.y, [1, 2, np.nan, 3, 6, np.nan])
    assert list(lines.text) == ["0 a"] * 3 + ["1 %{x}"] * 3
    table = number_table(figure)
    assert table[table["text"] == "1 %{x}"].iloc[:, -1].tolist() == [3, 6]


def test_two_models_differ_by_more_than_color() -> None:
    values = np.ones((2, 3))
    figure = growth(["a", "b"], {"pre": values, "post": 2 * values}, theme=LIGHT)
    means = [trace for trace in figure.data if "mean" in (trace.name or "")]
    assert means[0].marker.symbol != means[1].marker.symbol
    assert means[0].line.dash != means[1].line.dash


def test_a_norm_without_shift_draws_its_scale_alone() -> None:
    figure = gamma_beta(np.arange(5.0), None, theme=LIGHT)
    assert [drawn.name for drawn in figure.data] == ["γ (gamma)"]
    means = {"before": VALUES.mean(1)}
    figure = norm_statistics(means, means, ["a", "b", "c"], theme=LIGHT, spread="root mean square")
    assert "root mean square" in figure.layout.yaxis2.title.text
