"""Training: one begun, paused, gone on with and ended; and a sentence through the shipped snapshots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import HOSTILE, open_app, texts
from tests.pages.views import Views
from tests.viz.mounted import unpack_frame
from transformer.run import encode_sentence, force, run_sentence
from transformer.training.live import job
from transformer.training.live.job import Desk, LiveTraining, Places
from transformer.training.live.plan import LivePlan
from transformer.training.snapshots import open_snapshots
from viz.components.client_view import ClientView
from viz.pages.training import live_session
from viz.pages.training.snapshot_session import SnapshotRuns, snapshot_runs
from viz.text_session import DEFAULT_SENTENCE

PATIENCE = 120.0
"""Seconds that a busy machine may take for what is a matter of seconds."""
FINISHED = "A finished training"
LAST = 6_804
SMALL = {"task": "Copy", "train_layers": "1", "train_heads": "2", "train_width": "32"}
COPY = LivePlan(task="copy", n_layers=1, n_heads=2, d_model=32, steps=200)
QUICK = "tests.transformer.training.quick_worker"


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What each view in the browser was given, by its key."""
    found: dict[str, bytes] = {}
    mount = ClientView.mount

    def mounted(view: ClientView, frame: bytes, **options: Any) -> object:
        found[str(options["key"])] = frame
        return mount(view, frame, **options)

    monkeypatch.setattr(ClientView, "mount", mounted)
    return found


def open_training(**address: str) -> AppTest:
    app = open_app("training", **address)
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def wait(app: AppTest, is_so: Callable[[], bool]) -> None:
    """Look again and again, as the page's clock does."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)
        app.run()
        assert not app.exception


def progress(app: AppTest) -> str:
    return "".join(str(bar.proto.text) for bar in app.get("progress"))


# Train one now


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keeps the training of the test, as a browser session would, and ends it."""
    monkeypatch.setattr(job, "_WORKER", QUICK)
    with closing(Desk(Places(1))) as desk:
        monkeypatch.setattr(live_session, "_desk", lambda: desk)
        yield


@pytest.fixture(scope="module")
def finished() -> Iterator[LiveTraining]:
    """A training that several tests look at when it is over."""
    with pytest.MonkeyPatch.context() as patch, closing(LiveTraining(COPY, Places(1))) as training:
        patch.setattr(job, "_WORKER", QUICK)
        training.start()
        deadline = time.monotonic() + PATIENCE
        while training.is_active:
            assert time.monotonic() < deadline, training.message
            time.sleep(0.05)
        yield training


@pytest.fixture
def finished_desk(finished: LiveTraining, monkeypatch: pytest.MonkeyPatch) -> None:
    """The desk of a user whose training is over."""
    desk = Desk(Places(1))
    desk.training = finished
    monkeypatch.setattr(live_session, "_desk", lambda: desk)


@pytest.mark.usefixtures("desk")
def test_a_training_is_begun_paused_gone_on_with_and_ended(frames: dict[str, bytes]) -> None:
    app = open_training(**SMALL, train_steps="10,000")
    assert labels(app) == ["Start"]
    press(app, "Start")
    wait(app, lambda: "It learns" in progress(app))
    assert labels(app)[:3] == ["Pause", "Start anew", "Stop and clear"]
    wait(app, lambda: "live_grid" in frames)
    assert unpack_frame(frames["live_grid"])[0]["heads"] == ["head 0", "head 1"]
    press(app, "Pause")
    wait(app, lambda: "Paused" in progress(app))
    press(app, "Go on")
    wait(app, lambda: "It learns" in progress(app))
    press(app, "Stop and clear")
    assert labels(app) == ["Start"]


@pytest.mark.usefixtures("desk")
def test_a_training_that_is_over_shows_what_it_writes_and_what_is_right() -> None:
    app = open_training(**SMALL, train_steps="200")
    press(app, "Start")
    wait(app, lambda: "Finished: 200 of 200 updates of Copy" in progress(app))
    assert "After 200 updates it writes" in texts(app)
    assert "m 7 a 3 k 2" in texts(app), "the right answer of copying the symbols"
    assert labels(app)[:2] == ["Start anew", "Stop and clear"]


@pytest.mark.usefixtures("desk")
def test_the_sidebar_names_the_training_and_leaves_its_course_to_the_page() -> None:
    """Where the run itself is shown, a second clock could contradict it."""
    app = open_training(**SMALL, train_steps="10,000")
    press(app, "Start")
    wait(app, lambda: "It learns" in progress(app))
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


@pytest.mark.usefixtures("desk")
def test_a_new_training_begins_with_its_own_last_layer() -> None:
    app = open_training(**{**SMALL, "train_layers": "2"}, train_steps="200")
    press(app, "Start")
    wait(app, lambda: layers(app) == ["0", "1"])
    assert layer(app).value == 1
    app.selectbox(key="train_layers").set_value(3).run()
    press(app, "Start anew")
    wait(app, lambda: layers(app) == ["0", "1", "2"])
    assert layer(app).value == 2


def layer(app: AppTest) -> Any:
    return next(select for select in app.selectbox if select.label == "Layer")


def layers(app: AppTest) -> list[str]:
    return [option for select in app.selectbox if select.label == "Layer" for option in select.options]


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
    assert is_over is (labels(app)[:2] == ["Start anew", "Stop and clear"])


def notes_elsewhere(app: AppTest) -> list[str]:
    """The notes on another page; afterwards the app is back on this one."""
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
    """Nothing is called right for them, and a capital letter is the small one."""
    views = Views(monkeypatch)
    app = open_training(**SMALL, train_steps="200", symbols="A !*b*!")
    warning = app.warning[0].value
    assert "the digits 0 to 9 and the letters a to z only" in warning
    assert warning.endswith(r"Unknown to it: ! \*"), "each once, and no Markdown"
    assert views.data("live_strip")["tokens"] == [
        *(["a", 14, "word"], ["!", 3, "unknown"], ["*", 3, "unknown"], ["b", 15, "word"]),
        *(["*", 3, "unknown"], ["!", 3, "unknown"], ["<eos>", 2, "special"]),
    ]
    assert "4 symbols are not in the vocabulary" in views.data("live_strip")["note"]
    assert views.data("live_head")["keys"] == ["a", "!", "*", "b", "*", "!", "<eos>"]
    assert "Not known: no training shows a model what to write for an unknown symbol." in texts(app)


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
    refused = "The text has 32 tokens; the models of this training read at most 31. Type a shorter one."
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


# A finished training


@pytest.mark.parametrize("step", [0, 106, LAST])
def test_each_snapshot_runs_the_sentence(frames: dict[str, bytes], step: int) -> None:
    """The views hold the numbers of that step's own model, over the finished model's words."""
    app = open_training(watch=FINISHED, step=f"{step:,}")
    snapshots = open_snapshots("toy-en-it")
    assert (snapshots.steps[0], snapshots.steps[-1]) == (0, LAST)
    loaded, finished = snapshots.open(step), snapshots.open(LAST)
    source = encode_sentence(loaded, "source", DEFAULT_SENTENCE, "sentence")
    expected = force(loaded, source, run_sentence(finished, DEFAULT_SENTENCE).target)
    weights = expected.trace.attention("decoder", 1, "cross_attn").weights[0]
    drawn = unpack_frame(frames["snapshots_head"])[1]["values"]
    np.testing.assert_allclose(drawn.reshape(weights[0].shape), weights[0].numpy(), atol=1 / 255)
    shown = texts(app)
    assert run_sentence(finished, DEFAULT_SENTENCE).translation in shown
    assert f"After {step:,} updates it writes" in shown


def test_a_layer_of_the_snapshots_is_no_layer_of_another_page() -> None:
    app = open_training(watch=FINISHED, layer="2", model="en-it")
    layer(app).set_value(0).run()
    app.switch_page("viz/pages/explore/page.py").run()
    assert not app.exception
    assert layer(app).value == 2


def test_a_model_that_writes_nothing_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*asked: Any) -> SnapshotRuns:
        runs = snapshot_runs(*asked)
        return replace(runs, own=replace(runs.own, translation=""))

    monkeypatch.setattr("viz.pages.training.snapshots.snapshot_runs", silent)
    app = open_training(watch=FINISHED)
    assert "(nothing)" in [text.value for text in app.text]


def test_the_model_of_the_snapshots_is_named_when_another_is_chosen() -> None:
    shown = texts(open_training(watch=FINISHED, model="en-it"))
    assert "en-it came without snapshots of its training, so this is that of toy-en-it." in shown


def test_playing_goes_from_step_to_step_and_stops_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("viz.pages.training.snapshot_session.time.monotonic", lambda: clock[0])
    app = open_training(watch=FINISHED)
    press(app, "Play")
    steps = open_snapshots("toy-en-it").steps
    assert app.session_state["step"] == 0, "from the last one it begins anew"
    for step in steps[1:]:
        clock[0] += 1.5
        app.run()
        assert app.session_state["step"] == step
    clock[0] += 1.5
    app.run()
    assert "Play" in labels(app)


def test_too_long_a_sentence_for_the_snapshots_is_refused_with_what_can_be_done_here() -> None:
    """Whichever model is chosen in the sidebar, the snapshots are those of the same training."""
    app = open_training(watch=FINISHED, text="cat " * 200)
    read = open_snapshots("toy-en-it").open(0).model.config.max_len - 1
    refused = f"The text has 200 tokens; the models of this training read at most {read}. Type a shorter one."
    assert [warning.value for warning in app.warning] == [refused]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_sentence_breaks_the_page(name: str) -> None:
    app = open_training(watch=FINISHED, step="0")
    app.text_input(key="text").set_value(HOSTILE[name]).run()
    assert not app.exception
