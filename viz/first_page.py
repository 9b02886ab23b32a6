"""All that the start page needs: its modules, the model that people begin with, and its first run."""

from __future__ import annotations

# Loaded here, once: two visitors whose pages load them at the same moment can meet each other's half.
import pandas  # noqa: F401
import plotly.graph_objs  # noqa: F401
import streamlit as st

import viz.pages._attention
import viz.pages._in_and_out
import viz.pages._sentence
import viz.pages._sidebar
import viz.pages._training_note  # noqa: F401
from transformer.checkpoints.folder import default_model
from transformer.device import available_devices
from transformer.errors import CheckpointError, SentenceError
from viz.session import ModelChoice, run_of
from viz.text_session import DEFAULT_SENTENCE


@st.cache_resource(show_spinner=False)
def prepare() -> None:
    """Have the first run in everybody's cache; where that can't be, the page will say why."""
    choice = ModelChoice(name=default_model(), random=None, device=available_devices()[0])
    try:
        run_of(choice, DEFAULT_SENTENCE)
    except (CheckpointError, SentenceError):
        return
