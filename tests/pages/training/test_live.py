"""Training: a run is started, paused, resumed and ended while its page, or another one, is shown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import buttons, press, texts
from tests.pages.figures import pictures_without_code
from tests.pages.training.page import PATIENCE, open_training, progress, wait
from tests.pages.views import Views
from transformer.analysis.attention_maps import MODULES
from transformer.run import encode_sentence, force
from transformer.training.live import run as job
from transformer.training.live.choices import live_plan
from transformer.training.live.run import LiveTraining, TrainingSlots, UserTraining
from viz.pages.training import live_session
from viz.pages.training.live import NOW

SMALL = {"task": "Copy", "train_layers": "1", "train_heads": "2", "train_width": "32"}
COPY = live_plan("copy", n_layers=1, n_heads=2, d_model=32, steps=200)
QUICK = "tests.transformer.training.quick_worker"


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keeps the test's training run, as a browser session would, and ends it."""
    monkeypatch.setattr(job, "_WORKER", QUICK)
    with closing(UserTraining(TrainingSlots(1))) as own:
        monkeypatch.setattr(live_session, "_user_training", lambda: own)
        yield


@pytest.fixture(scope="module")
def finished() -> Iterator[LiveTraining]:
    """A finished training run that several tests look at."""
    with pytest.MonkeyPatch.context() as patch, closing(LiveTraining(COPY, TrainingSlots(1))) as training:
        patch.setattr(job, "_WORKER", QUICK)
        training.start()
        deadline = time.monotonic() + PATIENCE
        while training.is_active:
            assert time.monotonic() < deadline, training.message
            time.sleep(0.05)
        yield training


@pytest.fixture
def finished_desk(finished: LiveTraining, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whose training run is finished."""
    own = UserTraining(TrainingSlots(1))
    own.training = finished
    monkeypatch.setattr(live_session, "_user_training", lambda: own)


@pytest.mark.usefixtures("desk")
def test_a_training_is_begun_paused_gone_on_with_and_ended(views: Views) -> None:
    app = open_training(**SMALL, train_steps="10,000")
    assert buttons(app) == ["Start"]
    press(app, "Start")
    wait(app, lambda: "Learning" in progress(app))
    assert buttons(app)[:3] == ["Pause", "Restart", "Stop and clear"]
    wait(app, lambda: "live_viewer" in views.frames)
    assert {(attn["layers"], attn["heads"]) for attn in attentions(views)} == {(1, 2)}
    first = views.data("live_viewer")["run"]
    wait(app, lambda: views.data("live_viewer")["run"] != first)
    press(app, "Pause")
    wait(app, lambda: "Paused" in progress(app))
    press(app, "Resume")
    wait(app, lambda: "Learning" in progress(app))
    press(app, "Stop and clear")
    assert buttons(app) == ["Start"]


@pytest.mark.usefixtures("desk")
def test_a_training_that_is_over_shows_what_it_writes_and_what_is_right() -> None:
    app = open_training(**SMALL, train_steps="200")
    press(app, "Start")
    wait(app, lambda: "Finished: 200 of 200 updates of Copy" in progress(app))
    assert "After 200 updates it writes" in texts(app)
    assert "m 7 a 3 k 2" in texts(app), "the right answer of copying the symbols"
    assert pictures_without_code(app) == []
    assert buttons(app)[:2] == ["Restart", "Stop and clear"]


@pytest.mark.usefixtures("desk")
def test_the_sidebar_names_the_training_and_leaves_its_course_to_the_page() -> None:
    """On the run's own page, a second clock could contradict the first."""
    app = open_training(**SMALL, train_steps="10,000")
    press(app, "Start")
    wait(app, lambda: "Learning" in progress(app))
    assert notes(app) == []
    assert notes_elsewhere(app) == ["**Copy** is learning. See the page Training."]
    press(app, "Pause")
    wait(app, lambda: "Paused" in progress(app))
    assert notes(app) == []
    assert notes_elsewhere(app) == ["**Copy** has stopped learning. See the page Training."]
    app.segmented_control(key="watch").set_value("snapshots").run()
    assert notes(app) == ["**Copy** has stopped learning. See the page Training."]
    app.segmented_control(key="watch").set_value("live").run()
    press(app, "Stop and clear")
    assert notes_elsewhere(app) == []


@pytest.mark.slow
@pytest.mark.usefixtures("desk")
def test_a_new_training_begins_with_its_own_easiest_head(views: Views) -> None:
    app = open_training(**{**SMALL, "train_layers": "2"}, train_steps="200")
    press(app, "Start")
    wait(app, lambda: n_layers(views) == 2)
    assert shown_head(views) == views.easiest("live_viewer")
    app.selectbox(key="train_layers").set_value(3).run()
    press(app, "Restart")
    wait(app, lambda: n_layers(views) == 3)
    assert shown_head(views) == views.easiest("live_viewer")


def shown_head(views: Views) -> tuple[int, int]:
    choice = views.choice("live_viewer")
    return choice["layer"], choice["head"]


def attentions(views: Views) -> list[dict[str, Any]]:
    own: list[dict[str, Any]] = views.data("live_viewer")["attentions"]
    return own


def n_layers(views: Views) -> int:
    return attentions(views)[0]["layers"] if "live_viewer" in views.frames else 0


@pytest.mark.slow
@pytest.mark.usefixtures("finished_desk")
def test_the_viewer_has_the_numbers_of_the_moment_that_is_looked_at(
    views: Views, finished: LiveTraining
) -> None:
    app = open_training(**SMALL, train_steps="200", symbols="k 2")
    for moment in (finished.moments()[0], None):
        app.select_slider(key="moment").set_value(NOW if moment is None else str(moment)).run()
        found = finished.model(moment)
        assert found is not None
        _, loaded = found
        target = encode_sentence(loaded, "target", "k 2", "answer")
        run = force(loaded, encode_sentence(loaded, "source", "k 2", "sentence"), target)
        for attention, (stack, module) in MODULES.items():
            weights = run.trace.attention(stack, 0, module).weights
            values = views.array("live_viewer", f"weights:{attention}/values")
            np.testing.assert_allclose(values, weights.numpy(), atol=1e-5)


@pytest.mark.usefixtures("finished_desk")
def test_a_training_that_is_over_is_said_to_be_kept_while_the_page_is_open() -> None:
    app = open_training(**SMALL, train_steps="200")
    assert "or close or reload this page" in texts(app)
    assert notes_elsewhere(app) == ["**Copy** has finished learning. See the page Training."]


@pytest.mark.parametrize("looks", [1, 2])
@pytest.mark.usefixtures("finished_desk")
def test_buttons_and_state_agree_when_a_training_ends_while_they_are_drawn(
    looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_training(**SMALL, train_steps="200")
    found = iter(["running"] * looks)
    monkeypatch.setattr(LiveTraining, "status", property(lambda _: next(found, "finished")))
    app.run()
    is_over = "Finished" in progress(app)
    assert is_over is (buttons(app)[:2] == ["Restart", "Stop and clear"])


def notes_elsewhere(app: AppTest) -> list[str]:
    """The notes on another page; the app then returns to this one."""
    found = notes(app.switch_page("viz/pages/positions/page.py").run())
    app.switch_page("viz/pages/training/page.py").run()
    return found


def notes(app: AppTest) -> list[str]:
    return [caption.value for caption in app.sidebar.caption if "Training" in caption.value]


def test_what_a_reload_takes_away_is_said_before_a_training_begins() -> None:
    assert "gone, when you close or reload this page" in open_training().info[0].value


@pytest.mark.usefixtures("finished_desk")
def test_symbols_that_a_task_does_not_know_are_named_and_shown_as_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No answer counts as right for them, and capital letters are read as small ones."""
    views = Views(monkeypatch)
    app = open_training(**SMALL, train_steps="200", symbols="A !*b*!")
    warning = app.warning[0].value
    assert "only the digits 0 to 9 and the letters a to z" in warning
    assert warning.endswith(r"Unknown to it: ! \*"), "each once, and no Markdown"
    assert views.data("live_strip")["tokens"] == [
        *(["a", 14, "word"], ["!", 3, "unknown"], ["*", 3, "unknown"], ["b", 15, "word"]),
        *(["*", 3, "unknown"], ["!", 3, "unknown"], ["<eos>", 2, "special"]),
    ]
    assert "4 symbols are not in the vocabulary" in views.data("live_strip")["note"]
    side = views.data("live_viewer")["sides"]["encoder"]
    assert side["tokens"] == ["a", "!", "*", "b", "*", "!", "<eos>"]
    assert (side["special"], side["punctuation"]) == ([6], [1, 2, 4, 5])
    assert "Unknown: no training shows a model what to write for an unknown symbol." in texts(app)


@pytest.mark.usefixtures("finished_desk")
def test_known_symbols_are_nothing_to_warn_of(monkeypatch: pytest.MonkeyPatch) -> None:
    views = Views(monkeypatch)
    app = open_training(**SMALL, train_steps="200", symbols="B 2")
    assert "live_strip" not in views.frames
    assert not app.warning
    assert "b 2" in [text.value for text in app.text], "the right answer"


@pytest.mark.usefixtures("finished_desk")
def test_too_long_a_text_is_refused_with_what_can_be_done_here() -> None:
    app = open_training(**SMALL, train_steps="200", symbols="x" * 32)
    refused = "The text has 32 tokens; the models of this training run read at most 31. Type a shorter one."
    assert app.warning[0].value == refused
    app.text_input(key="symbols").set_value("x" * 31).run()
    assert not app.exception
    assert not app.warning, "the limit is the model's own"


def test_choices_that_can_not_be_are_clamped() -> None:
    app = open_training(task="sort", train_heads="3", train_rate="nonsense", moment="77")
    assert app.selectbox(key="train_heads").value == 4
    assert app.selectbox(key="train_rate").value == 3e-3


def test_the_kinds_of_tasks_explain_themselves() -> None:
    notes = set()
    for task in ("Reverse", "Copy", "Sort", "Translate"):
        notes |= {caption.value for caption in open_training(task=task).caption}
    assert sum("cross-attention is known" in note for note in notes) == 2
    assert sum("several thousand updates" in note for note in notes) == 1


def test_the_updates_go_along_with_the_task_until_a_person_chooses_them() -> None:
    app = open_training()
    assert app.selectbox(key="train_steps").value == 1_000
    pick_task(app, "toy-en-it")
    assert app.selectbox(key="train_steps").value == 5_000
    pick_task(app, "sort")
    assert app.selectbox(key="train_steps").value == 1_000
    app.selectbox(key="train_steps").set_value(2_000).run()
    pick_task(app, "toy-en-it")
    assert app.selectbox(key="train_steps").value == 2_000


def pick_task(app: AppTest, task: str) -> None:
    app.button_group(key="task").set_value(task).run()
    assert not app.exception
