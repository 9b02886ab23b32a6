"""The sentence that is decoded."""

from __future__ import annotations

import streamlit as st

from transformer.decoding.request import NOT_FINITE
from transformer.errors import SentenceError
from transformer.run import Run
from viz.pages._kinds import kind_examples
from viz.pages._sentence import example_pills, source_input
from viz.session import current_choice, current_model, run_of
from viz.text_session import boxes_of, current_texts, examples


def source_box() -> Run | None:
    """Draw the box and return the greedy run of what is in it.

    None, with a sentence on the page that says why, if it can't be run.
    """
    loaded = current_model()
    source_input(loaded)
    example_pills(examples() or kind_examples(loaded), boxes_of(loaded))
    try:
        with st.spinner("Running the model …", show_time=True):
            run = run_of(current_choice(), current_texts()[0])
    except SentenceError as error:
        st.warning(str(error))
        return None
    if not run.has_numbers:
        st.warning(NOT_FINITE)
        return None
    return run
