"""Why: what a word of the output depends on, found by changing the run."""

from functools import partial

import streamlit as st

from transformer.decoding.request import NOT_FINITE
from viz.pages.shared.explain import prose
from viz.pages.shared.sections import sections
from viz.pages.shared.sentence import sentence_box
from viz.pages.why.asked import ask
from viz.pages.why.came_from import came_from_section
from viz.pages.why.heads import heads_section
from viz.pages.why.layers import layers_section
from viz.pages.why.patching import patching_section
from viz.pages.why.sums import sums_section
from viz.pages.why.switching import NAME as SWITCH_OFF
from viz.pages.why.switching import switching_section
from viz.session import current_model

PARTS = {
    "Heads": heads_section,
    "Came from": came_from_section,
    SWITCH_OFF: switching_section,
    "Sums": sums_section,
    "Layers": layers_section,
    "Patch": patching_section,
}
"""The sections of the page: each draws its part for a question."""

st.title("Why this word?")
prose(
    "A picture of attention shows where a head looks, not whether that matters. Here the run is changed and "
    "repeated: switch off heads, take away words, exchange parts of two runs, and see what becomes of the "
    "word that you ask about."
)
if not current_model().model.config.has_generator:
    st.info(
        "The chosen model has no generator: it writes no words, so there is no word to ask about. Choose "
        "another model in the sidebar."
    )
else:
    sentence = sentence_box()
    if sentence is not None and sentence.run.has_numbers:
        asked = ask(sentence)
        if asked is not None:
            sections({name: partial(section, asked) for name, section in PARTS.items()})
    elif sentence is not None:
        st.warning(NOT_FINITE)
