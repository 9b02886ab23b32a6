"""The outputs of the sound and the broken model, side by side."""

from __future__ import annotations

import streamlit as st

from transformer.loaded import LoadedModel
from transformer.model_input import why_stopped
from transformer.run import Run
from viz.pages.lab.session import Broke
from viz.pages.shared.literal_text import show_text
from viz.pages.shared.tokens import show_steps

SOUND, BROKEN = "As it should be", "With the mistake"
NO_NUMBERS = "Nothing: its scores are not numbers (NaN), so that no token can be chosen."
FORCED = (
    "Both are given the target of the model as it should be, token by token (teacher forcing), so that their "
    "steps can be compared."
)


def outputs(broke: Broke, *, key: str, names: tuple[str, str] = (SOUND, BROKEN)) -> None:
    """Draw both outputs and, step by step, their best next tokens."""
    sound, broken = broke.case.run, broke.broken
    for column, name, written in zip(
        st.columns(2, gap="medium"), names, (sound, broken.free or broken.run), strict=True
    ):
        with column, st.container(border=True):
            st.markdown(f"**{name}**")
            _written(written, broke.case.loaded)
    if not sound.steps:
        how_far = broke.changes[-1].size
        st.caption(f"The numbers of the two are {how_far:.2f} apart: 0 is equal, 1 nothing in common.")
        return
    in_place = sound.decoder_input is None
    st.caption("What both expect at each position." if in_place else FORCED)
    for column, name, run in zip(st.columns(2, gap="medium"), names, (broken.sound, broken.run), strict=True):
        with column:
            st.markdown(f"**{name}**")
            _steps(
                run,
                broke.case.loaded,
                key=f"{key} {names.index(name)}",
                title=f"{name}: position by position",
            )


def _written(run: Run, loaded: LoadedModel) -> None:
    if not run.steps:
        st.caption(
            f"Nothing, in words: this model has no generator. It puts out {loaded.model.config.d_model} "
            "numbers for each token."
        )
    elif not run.has_numbers:
        st.warning(NO_NUMBERS)
    else:
        show_text(run.translation)
        if stopped := why_stopped(loaded, run.ending, len(run.steps)):
            st.caption(stopped)


def _steps(run: Run, loaded: LoadedModel, *, key: str, title: str) -> None:
    if not run.has_numbers:
        st.caption("No step has a probability: the scores are not numbers.")
        return
    show_steps(run, loaded.target, key=key, title=title, forced=run.decoder_input is not None)
