"""A mistake that shows in training is trained on its page, next to the curves of training without it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import press, texts
from tests.pages.lab.page import opened
from tests.pages.training.page import progress, wait
from transformer.training.live.choices import live_plan
from viz.pages.lab import training

pytestmark = pytest.mark.usefixtures("kinds")


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use runs of a few seconds."""

    def small(task: str, *, steps: int, leak: str) -> object:
        assert (task, steps) == ("reverse", training.STEPS)
        return live_plan("reverse", n_layers=1, n_heads=2, d_model=8, steps=20, leak=leak)

    monkeypatch.setattr(training, "live_plan", small)


@pytest.fixture
def app() -> Iterator[AppTest]:
    """The page of a mistake that leaks."""
    page = opened("toy-en-it", mistake="no-shift")
    yield page
    press(page, "Stop and clear")


def curves(app: AppTest) -> dict[str, list[float]]:
    """The losses and shares drawn, by name."""
    (figure,) = (
        json.loads(chart.proto.spec)
        for chart in app.get("plotly_chart")
        if "learning rate" in chart.proto.spec
    )
    return {trace.get("name", ""): trace["y"] for trace in figure["data"]}


@pytest.mark.slow
def test_the_course_without_the_mistake_stands_beside_that_with_it(app: AppTest) -> None:
    press(app, "Start")
    wait(app, lambda: "Finished" in progress(app))
    assert "loss" in curves(app)
    assert "This model is trained with a mistake from the Lab: Target not shifted." in texts(app)
    assert not any("as it should be" in name for name in curves(app))
    app.segmented_control(key="leak_trained").set_value("without").run()
    press(app, "Restart")
    wait(app, lambda: "Finished" in progress(app))
    assert "This model is trained with a mistake" not in texts(app)
    assert {"loss, with the mistake", "right, with the mistake"} <= set(curves(app))


def test_a_mistake_that_shows_nothing_new_in_training_offers_no_run() -> None:
    app = opened("toy-en-it", mistake="base-1000")
    assert "Start" not in [button.label for button in app.button]
