"""A run as one HTML file that needs no server: the app's viewer with the run's numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from transformer.files import check_place, write_bytes
from transformer.loaded import LoadedModel
from transformer.run import Run
from viz.viewer.choice import Choice, default_choice
from viz.viewer.page import Heading, page
from viz.viewer.viewer_run import view_run


def write_page(
    model: LoadedModel,
    run: Run,
    text: str,
    path: Path,
    *,
    typed: tuple[str, str] | None,
    everything: bool = False,
    **chosen: Any,
) -> None:
    """Write the page of a run.

    Args:
        model: the model that computed the run.
        run: the run.
        text: its source, as typed.
        path: path of the file; an existing one is replaced once the new one is complete.
        typed: see `viz.viewer.viewer_run.view_run`.
        everything: store all numbers exactly, whatever the size.
        chosen: fields of `viz.viewer.choice.Choice` that are valid for the run; None for the default.

    Raises:
        OSError: the file can't be written; the message says why.
    """
    check_place(path)
    viewed = view_run(run, model, typed=typed)
    given = {name: value for name, value in chosen.items() if value is not None}
    choice = default_choice(viewed)
    if "attention" in given:
        choice = Choice(given["attention"], viewed.attentions[given["attention"]].n_layers - 1)
    heading = Heading(text, run.translation, model.name)
    write_bytes(path, page(viewed, replace(choice, **given), heading, everything=everything))
