"""A run as one HTML file that needs no server: the app's viewer with the numbers of that run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from transformer.files import check_place, write_bytes
from transformer.loaded import LoadedModel
from transformer.run import Run
from viz.viewer.choice import Choice, first_choice
from viz.viewer.held_run import hold
from viz.viewer.page import Heading, page


def write_page(
    model: LoadedModel, run: Run, text: str, path: Path, *, everything: bool = False, **chosen: Any
) -> None:
    """Write the page of a run.

    Args:
        model: that the run is of.
        run: the run.
        text: its source, as typed.
        path: of the file; one that is there is replaced, once the new one is written.
        everything: put all numbers in exactly, whatever the size.
        chosen: fields of `viz.viewer.choice.Choice` that the run allows; None is the first choice's.

    Raises:
        OSError: when the file can't be written; the message says why.
    """
    check_place(path)
    held = hold(run, model)
    told = {name: value for name, value in chosen.items() if value is not None}
    choice = first_choice(held)
    if "attention" in told:
        choice = Choice(told["attention"], held.families[told["attention"]].n_layers - 1)
    made = page(
        held, replace(choice, **told), Heading(text, run.translation, model.name), everything=everything
    )
    write_bytes(path, made)
