import numpy as np
import pytest

from transformer.training.snapshots import History
from viz.figures.export import number_table
from viz.figures.training import MOST_POINTS, training_course
from viz.theme import palette

LIGHT = palette("light")
SHORT = History((1, 2, 3, 4), (4.0, 3.0, 2.5, 2.0), (1e-3, 2e-3, 1e-3, 5e-4))


def long_course(n: int) -> History:
    return History(
        tuple(range(1, n + 1)), tuple(np.linspace(8, 1, n).tolist()), tuple(np.linspace(0, 1, n).tolist())
    )


def test_a_short_course_is_drawn_update_by_update() -> None:
    figure = training_course(SHORT, theme=LIGHT, n_steps=4)
    loss, rate = figure.data
    assert loss.x.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(loss.y, SHORT.losses)
    np.testing.assert_allclose(rate.y, SHORT.learning_rates, rtol=1e-6)
    assert next(iter(loss.text)) == "update 1"
    assert "nats" in figure.layout.yaxis.title.text
    assert figure.layout.yaxis2.title.text == "learning rate"
    assert figure.layout.xaxis2.title.text == "number of the update"


@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_long_course_is_averaged_and_keeps_its_extremes(logarithmic: bool) -> None:
    course = long_course(20_000)
    table = number_table(training_course(course, theme=LIGHT, n_steps=20_000, logarithmic=logarithmic))
    parts = {name: part["loss (nats)"].to_numpy() for name, part in table.groupby("trace")}
    assert 100 < len(parts["loss"]) <= MOST_POINTS
    assert parts["loss: most"].max() == pytest.approx(8)
    assert parts["loss: least"].min() == pytest.approx(1)
    assert (parts["loss: least"] <= parts["loss"]).all()
    assert (parts["loss"] <= parts["loss: most"]).all()


def test_an_averaged_point_says_what_it_stands_for() -> None:
    figure = training_course(long_course(3_000), theme=LIGHT, n_steps=3_000)
    (loss,) = (trace for trace in figure.data if trace.name == "loss")
    assert loss.text[0] == "updates 1 to 10, their mean"


def test_a_logarithmic_axis_keeps_the_first_updates_apart() -> None:
    figure = training_course(long_course(20_000), theme=LIGHT, n_steps=20_000, logarithmic=True)
    (loss,) = (trace for trace in figure.data if trace.name == "loss")
    assert loss.x[:3].tolist() == [1, 2, 3]
    assert figure.layout.xaxis.type == "log"


def test_a_course_that_has_not_begun_has_its_axes() -> None:
    figure = training_course(History(), theme=LIGHT, n_steps=500, checks=([], []))
    assert [len(trace.y) for trace in figure.data] == [0, 0, 0]
    assert figure.layout.xaxis.range == (0, 501)


def test_marks_stand_on_the_curve_and_the_chosen_one_is_told_apart() -> None:
    figure = training_course(SHORT, theme=LIGHT, n_steps=4, marks=[0, 1, 4], chosen=1)
    (marks,) = (trace for trace in figure.data if trace.name == "snapshot")
    assert marks.x == (1, 2, 5)
    np.testing.assert_allclose(marks.y, [4, 3, 2])
    assert marks.marker.size[1] > marks.marker.size[0] == marks.marker.size[2]
    assert {shape.x0 for shape in figure.layout.shapes} == {2}


def test_chance_and_tries_have_their_places() -> None:
    checks = ([0, 4], [0.0, 0.25])
    figure = training_course(SHORT, theme=LIGHT, n_steps=4, chance=3.7, checks=checks)
    named = {trace.name: trace for trace in figure.data}
    assert list(named["mere chance"].y) == [3.7, 3.7]
    np.testing.assert_allclose(named["right"].y, [0, 25])
    assert named["right"].yaxis == "y3"
    assert figure.layout.yaxis3.title.text == "right (%)"
    assert figure.layout.xaxis3.title.text == "number of the update"


def test_another_run_is_drawn_beside_with_its_loss_and_its_checks() -> None:
    other = History((1, 2), (4.0, 0.5), (1e-3, 1e-3))
    figure = training_course(
        SHORT,
        theme=LIGHT,
        n_steps=4,
        checks=([0, 4], [0.0, 1.0]),
        beside=("with <b>", other, ([0, 2], [0.0, 0.25])),
    )
    loss, right = (trace for trace in figure.data if trace.name.endswith("with &lt;b&gt;"))
    np.testing.assert_allclose(loss.y, other.losses)
    np.testing.assert_allclose(right.y, [0, 25])
    assert (loss.yaxis, right.yaxis) == ("y", "y3")
    assert figure.layout.showlegend
