"""What Explore is asked to show, by its pickers or by an address, and the run of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from transformer.run import Run
from viz.pages.shared.model_choice import model_said
from viz.session import ModelChoice, load_model, twin_run
from viz.text_session import texts_said
from viz.viewer.viewer_run import ViewerRun, view_run

RANDOM_SEED = 1
TWIN = "random weights"
"""What the same model is called before it has learned anything."""


class Asked(NamedTuple):
    """A model, its source, and its target; "" for the one that the model writes."""

    choice: ModelChoice
    text: str
    target: str


def asked_said(said: Mapping[str, str]) -> Asked:
    """What an address asks for.

    Raises:
        CheckpointError, ConfigError, DeviceError: when there is no such model.
    """
    choice = model_said(said)
    return Asked(choice, *texts_said(load_model(choice), said))


def held_run(
    asked: Asked, run: Run, others: Mapping[str, Callable[[], ViewerRun]] | None = None
) -> ViewerRun:
    """Hold the run of what is asked for, to be compared with random weights and with others."""
    loaded = load_model(asked.choice)
    twin = {TWIN: lambda: view_run(twin_run(*asked, RANDOM_SEED), loaded)}
    return view_run(run, loaded, {**twin, **(others or {})})
