"""What the Checkpoint page keeps: shipped models with the way that they came, and the last diagnosis."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from transformer.analysis.doctor.answers import Weighing
from transformer.analysis.doctor.findings import Diagnosis
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.places import MODELS
from viz.session import checkpoint_slot

TEXT = "checkpoint_text"
"""Key of the sentences that the doctor looks with."""
_DIAGNOSIS = "what the doctor said"
_ANSWERS = "what each answer does"
_STAND_IN = "model in the place of a closed checkpoint"


@dataclass(frozen=True)
class Subject:
    """What the page is about: the name of the model, as choices have it, and the model with its report."""

    name: str
    imported: Imported


@st.cache_resource(max_entries=4, show_spinner="Opening the model …")
def shipped_subject(name: str) -> Subject:
    """A shipped model, opened as anyone's checkpoint is.

    Raises:
        CheckpointError: when its folder is broken.
    """
    return Subject(name, open_checkpoint(MODELS / name))


def close_opened() -> None:
    """Let go of what this user has opened, and of what was said about it."""
    checkpoint_slot().close()
    st.session_state.pop(_DIAGNOSIS, None)
    st.session_state.pop(_ANSWERS, None)


def reload_closed(*, was_asked_for: bool, chosen: str) -> bool:
    """Whether this visit began with the address of a checkpoint that the one before had opened.

    So it is until another model is chosen, or one is opened.

    Args:
        was_asked_for: whether the address named an opened checkpoint.
        chosen: the model that the picker stands on now.
    """
    stand_in = st.session_state.setdefault(_STAND_IN, chosen if was_asked_for else None)
    if stand_in != chosen or checkpoint_slot().opened is not None:
        st.session_state[_STAND_IN] = None
    return st.session_state[_STAND_IN] is not None


def kept_diagnosis(name: str, text: str, answers: Weighing | None) -> Diagnosis | None:
    """What the doctor said about a model with a text and weighed answers, if they said it last."""
    subject, diagnosis = st.session_state.get(_DIAGNOSIS, (None, None))
    return diagnosis if subject == (name, text) and diagnosis.answers is answers else None


def keep_diagnosis(name: str, text: str, diagnosis: Diagnosis) -> None:
    """Keep what the doctor said until they say something else."""
    st.session_state[_DIAGNOSIS] = ((name, text), diagnosis)


def kept_answers(name: str, text: str) -> Weighing | None:
    """The weighed answers about this model with this text, if they are the last that were weighed."""
    subject, weighing = st.session_state.get(_ANSWERS, (None, None))
    return weighing if subject == (name, text) else None


def keep_answers(name: str, text: str, weighing: Weighing) -> None:
    """Keep weighed answers until others are."""
    st.session_state[_ANSWERS] = ((name, text), weighing)
