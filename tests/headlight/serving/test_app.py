"""What is loaded before a fork, and what after it."""

from __future__ import annotations

import inspect

import pytest
import torch

import transformer.device
from headlight.serving import app
from viz import session, warm_up
from viz.pages.training import live_session


@pytest.mark.parametrize(
    "devices, before",
    [(["cpu"], ["model", "pages"]), (["cuda", "cpu"], ["modules"]), (["mps", "cpu"], ["modules"])],
)
def test_a_gpu_is_first_used_in_the_forks(
    devices: list[str], before: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(transformer.device, "available_devices", lambda: devices)
    monkeypatch.setattr(warm_up, "warm_up", lambda: loaded.append("model"))
    monkeypatch.setattr(warm_up, "prepare_pages", lambda: loaded.append("pages"))
    monkeypatch.setattr(warm_up, "import_pages", lambda: loaded.append("modules"))
    monkeypatch.setattr(app, "run_streamlit", lambda options: loaded.append(" ".join(options)))
    n_threads = torch.get_num_threads()
    app.load_for_forks()
    assert loaded == before
    assert torch.get_num_threads() == 1
    app.run_fork(["--server.port", "1"], n_threads)
    assert loaded == [*before, "model", "--server.port 1"]
    assert torch.get_num_threads() == n_threads


@pytest.mark.parametrize("n_workers, cache, slots", [(1, 2**30, 4), (2, 2**29, 2), (8, 2**28, 1)])
def test_workers_share_what_one_process_may_use(
    n_workers: int, cache: int, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADLIGHT_WORKERS", str(n_workers))
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert inspect.unwrap(session.run_cache)()._runs.maxsize == cache
    assert inspect.unwrap(live_session._slots)().count == slots
