"""Training: a sentence through the shipped snapshots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.pages.app import buttons, press, texts
from tests.pages.training.page import open_training
from tests.pages.views import Views
from transformer.analysis.attention_maps import MODULES
from transformer.run import encode_sentence, force, run_sentence
from transformer.training.snapshots import open_snapshots
from viz.pages.training.snapshot_session import SnapshotRuns, snapshot_runs
from viz.text_session import first_sentence

FINISHED = "A finished training"
LAST = 6_804
FIRST_SENTENCE = first_sentence("toy-en-it")


def test_each_snapshot_runs_the_sentence(views: Views) -> None:
    """The views have the numbers of that step's own model; the target is the finished model's translation."""
    app = open_training(watch=FINISHED, step="0")
    snapshots = open_snapshots("toy-en-it")
    assert (snapshots.steps[0], snapshots.steps[-1]) == (0, LAST)
    finished = snapshots.open(LAST)
    written = run_sentence(finished, FIRST_SENTENCE)
    for step in (0, 106, LAST):
        app.select_slider(key="step").set_value(step).run()
        loaded = snapshots.open(step)
        source = encode_sentence(loaded, "source", FIRST_SENTENCE, "sentence")
        expected = force(loaded, source, written.target)
        for attention, (stack, module) in MODULES.items():
            values = views.array("snapshot_viewer", f"weights:{attention}/values")
            for layer in (0, 1):
                weights = expected.trace.attention(stack, layer, module).weights[0]
                np.testing.assert_allclose(values[layer], weights.numpy(), atol=1e-5)
        tokens = views.data("snapshot_viewer")["sides"]["decoder"]["tokens"]
        assert tokens == list(expected.trace.tgt_tokens[0])
        shown = texts(app)
        assert written.translation in shown
        assert f"After {step:,} updates it writes" in shown


def test_another_snapshot_is_another_run_in_which_the_same_is_chosen(views: Views) -> None:
    app = open_training(watch=FINISHED, step="0")
    views.choose(app, "snapshot_viewer", attention="encoder", layer=0, head=3, cell=[1, 2])
    runs, maps = [], []
    for step in (0, LAST):
        app.select_slider(key="step").set_value(step).run()
        runs.append(views.data("snapshot_viewer")["run"])
        maps.append(views.array("snapshot_viewer", "weights:encoder/values")[0, 3])
        choice = views.choice("snapshot_viewer")
        chosen = [choice[name] for name in ("attention", "layer", "head", "cell")]
        assert chosen == ["encoder", 0, 3, [1, 2]]
    assert runs[0] != runs[1]
    assert not np.allclose(maps[0], maps[1], atol=1e-2)
    own = views.held["snapshot_viewer"]
    app.segmented_control(key="snapshot_target").set_value("own").run()
    assert views.data("snapshot_viewer")["run"] == runs[1], "the finished model writes what it is given"
    assert views.held["snapshot_viewer"].keys() == own.keys()


def test_what_is_chosen_of_the_snapshots_is_no_choice_of_another_page(views: Views) -> None:
    app = open_training(watch=FINISHED, layer="2", model="en-it")
    assert views.choice("snapshot_viewer")["layer"] == 1
    views.choose(app, "snapshot_viewer", layer=0, head=1, view="map")
    assert app.query_params["watched_layer"] == "0"
    app.switch_page("viz/pages/explore/page.py").run()
    assert not app.exception
    choice = views.choice("viewer")
    assert [choice[name] for name in ("layer", "head", "view")] == [2, views.easiest("viewer")[1], "head"]


def test_an_address_that_makes_no_sense_shows_what_there_is(views: Views) -> None:
    nonsense = {"view": "token", "layer": "9", "head": "-1", "cell": "1", "attention": "<b>"}
    open_training(watch=FINISHED, **{f"watched_{name}": value for name, value in nonsense.items()})
    assert views.data("snapshot_viewer")["views"] == ["head", "map"]
    choice = views.choice("snapshot_viewer")
    chosen = [choice[name] for name in ("view", "attention", "layer", "head", "cell")]
    assert chosen == ["head", "cross", 1, views.easiest("snapshot_viewer")[1], None]


def test_a_model_that_writes_nothing_is_said_to_and_the_model_of_the_snapshots_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def silent(*asked: Any) -> SnapshotRuns:
        runs = snapshot_runs(*asked)
        return replace(runs, own=replace(runs.own, translation=""))

    monkeypatch.setattr("viz.pages.training.snapshots.snapshot_runs", silent)
    app = open_training(watch=FINISHED, model="en-it")
    assert "(nothing)" in [text.value for text in app.text]
    assert "en-it has no snapshots of its training, so this is the training run of toy-en-it." in texts(app)


def test_playing_goes_from_step_to_step_and_stops_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("viz.pages.training.snapshot_session.time.monotonic", lambda: clock[0])
    app = open_training(watch=FINISHED)
    press(app, "Play")
    steps = open_snapshots("toy-en-it").steps
    assert app.session_state["step"] == 0, "from the last one it begins again"
    for step in steps[1:]:
        clock[0] += 1.5
        app.run()
        assert app.session_state["step"] == step
    clock[0] += 1.5
    app.run()
    assert "Play" in buttons(app)


def test_too_long_a_sentence_for_the_snapshots_is_refused_with_what_can_be_done_here() -> None:
    """Whichever model is chosen in the sidebar, the snapshots come from the same training run."""
    app = open_training(watch=FINISHED, text="cat " * 200)
    read = open_snapshots("toy-en-it").open(0).model.config.max_len - 1
    refused = (
        f"The text has 200 tokens; the models of this training run read at most {read}. Type a shorter one."
    )
    assert [warning.value for warning in app.warning] == [refused]
