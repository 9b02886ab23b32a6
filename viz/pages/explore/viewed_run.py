"""The run in Explore's viewer, for the sentence on the page or for one in an address."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from transformer.run import Run
from viz.pages.shared.model_choice import model_in_address
from viz.session import RunKey, load_model, twin_run
from viz.text_session import texts_in_address
from viz.viewer.viewer_run import ViewerRun, view_run

RANDOM_SEED = 1
TWIN = "random weights"
"""Name of the same model before training, for comparison."""


def key_in_address(values: Mapping[str, str]) -> RunKey:
    """The run that an address asks for.

    Raises:
        CheckpointError, ConfigError, DeviceError: the model doesn't exist or can't be opened.
    """
    choice = model_in_address(values)
    return RunKey(choice, *texts_in_address(load_model(choice), values))


def viewed_run(
    key: RunKey, run: Run, others: Mapping[str, Callable[[], ViewerRun]] | None = None
) -> ViewerRun:
    """Prepare a run for the viewer; it can be compared with random weights and with `others`, by name."""
    loaded = load_model(key.choice)
    twin = {TWIN: lambda: view_run(twin_run(*key, RANDOM_SEED), loaded)}
    return view_run(run, loaded, {**twin, **(others or {})}, typed=(key.text, key.target))
