"""State of the Checkpoint page: shipped models with their reports, and the user's last diagnosis."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from transformer.analysis.doctor.answers import Weighing
from transformer.analysis.doctor.examine import examine
from transformer.analysis.doctor.findings import Diagnosis
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.places import MODELS
from viz.session import checkpoint_slot

TEXT = "checkpoint_text"
"""Widget key of the text area for the doctor's sentences."""
_DIAGNOSIS = "diagnosis"
_ANSWERS = "effects of the answers"
_STAND_IN = "model instead of a closed checkpoint"


@dataclass(frozen=True)
class InspectedModel:
    """The model that the page shows: its name in choices, and the model with its report."""

    name: str
    imported: Imported


@st.cache_resource(max_entries=4, show_spinner="Opening the model …")
def shipped_model(name: str) -> InspectedModel:
    """A shipped model, opened like any checkpoint.

    Raises:
        CheckpointError: its folder is broken.
    """
    return InspectedModel(name, open_checkpoint(MODELS / name))


@st.cache_resource(max_entries=4, show_spinner=False)
def shipped_diagnosis(name: str) -> Diagnosis:
    """The examination of a shipped model on the doctor's own sentences, for all users.

    Raises:
        CheckpointError: its folder is broken.
    """
    return examine(shipped_model(name).imported)


def close_opened() -> None:
    """Close this user's checkpoint and drop its diagnosis."""
    checkpoint_slot().close()
    st.session_state.pop(_DIAGNOSIS, None)
    st.session_state.pop(_ANSWERS, None)


def reload_closed(*, was_asked_for: bool, chosen: str) -> bool:
    """True while a checkpoint in the address is missing because the page was reloaded.

    False again once the user chooses another model or opens a checkpoint.

    Args:
        was_asked_for: True if the address names an opened checkpoint.
        chosen: the picker's current model.
    """
    stand_in = st.session_state.setdefault(_STAND_IN, chosen if was_asked_for else None)
    if stand_in != chosen or checkpoint_slot().opened is not None:
        st.session_state[_STAND_IN] = None
    return st.session_state[_STAND_IN] is not None


def kept_diagnosis(name: str, text: str, answers: Weighing | None) -> Diagnosis | None:
    """The latest diagnosis, if it is of this model, with this text and these measured answers."""
    key, diagnosis = st.session_state.get(_DIAGNOSIS, (None, None))
    return diagnosis if key == (name, text) and diagnosis.answers is answers else None


def keep_diagnosis(name: str, text: str, diagnosis: Diagnosis) -> None:
    """Store a diagnosis until the next one."""
    st.session_state[_DIAGNOSIS] = ((name, text), diagnosis)


def kept_answers(name: str, text: str) -> Weighing | None:
    """The latest measured answers, if they are of this model with this text."""
    key, weighing = st.session_state.get(_ANSWERS, (None, None))
    return weighing if key == (name, text) else None


def keep_answers(name: str, text: str, weighing: Weighing) -> None:
    """Store measured answers until the next ones."""
    st.session_state[_ANSWERS] = ((name, text), weighing)
