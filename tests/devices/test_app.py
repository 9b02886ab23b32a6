"""The whole app on CUDA: the device is picked in the sidebar, and every page runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st
import torch
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.testing.v1 import AppTest

import viz.pages.sidebar
from tests.devices.comparing import moved
from tests.devices.pretend import PretendCuda
from tests.pages.app import PAGES, each_section, open_app, texts
from tests.pages.offered import BATCH, TEXT, offer
from tests.support.kinds import KINDS
from transformer.loaded import LoadedModel
from transformer.training.snapshots import Snapshots
from viz.session import load_model


@pytest.fixture(autouse=True)
def _models_are_opened_anew() -> Iterator[None]:
    """The app caches models for all sessions; the next test must not get those of another device."""
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def app_device(
    device: torch.device, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> torch.device:
    """The device of the app, whose scripts run in their own threads."""
    if request.node.callspec.params["device"] == "pretend":
        mode: PretendCuda = request.getfixturevalue("pretend")
        run_script = ScriptRunner._run_script

        def run_on_device(runner: ScriptRunner, rerun_data: Any) -> None:
            with mode:
                run_script(runner, rerun_data)

        monkeypatch.setattr(ScriptRunner, "_run_script", run_on_device)
        monkeypatch.setattr(viz.pages.sidebar, "available_devices", lambda: ["cuda", "cpu"])
    return device


def place_of_the_model(app: AppTest) -> str:
    """Device of the model that the pages show."""
    loaded = load_model(app.session_state["choice"])
    return next(loaded.model.parameters()).device.type


@pytest.mark.slow
def test_the_device_is_picked_and_every_page_runs_on_it(app_device: torch.device) -> None:
    app = open_app(device="cpu", batch=BATCH)
    picker = app.selectbox(key="device")
    assert (picker.value, picker.options) == ("cpu", ["cuda", "cpu"])
    on_cpu = texts(app)
    picker.set_value("cuda").run()
    for page in (None, *PAGES[1:]):
        if page is not None:
            app.switch_page(f"viz/pages/{page}/page.py").run()
        assert not app.exception, page
        assert not app.error, page
        assert place_of_the_model(app) == "cuda"
        if page == "why":
            for section in each_section(app):
                assert not app.error, section
        if page is None:
            assert texts(app) == on_cpu


@pytest.mark.parametrize("kind, page", [("relative", "positions"), ("masked", "layer_norm")])
def test_what_a_page_reads_of_the_weights(
    kind: str, page: str, app_device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch.setattr, {kind: lambda: moved(KINDS[kind](), app_device)})
    app = open_app(page, model=kind, device="cuda", text=TEXT)
    assert not app.exception
    assert not app.error
    assert place_of_the_model(app) == "cuda"


def test_the_snapshots_of_a_training_run_on_it(
    app_device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[torch.device] = []
    open_step = Snapshots.open

    def noting(snapshots: Snapshots, step: int, device: torch.device | None = None) -> LoadedModel:
        loaded = open_step(snapshots, step, device)
        opened.append(next(loaded.model.parameters()).device)
        return loaded

    monkeypatch.setattr(Snapshots, "open", noting)
    app = open_app("training", device="cuda", watch="A finished training")
    assert not app.exception
    assert not app.error
    assert set(opened) == {app_device}
