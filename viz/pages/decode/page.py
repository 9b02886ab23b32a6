"""Decode: how a target is searched for or sampled token by token, and where the heads look."""

from functools import partial

import streamlit as st

from transformer.decoding.request import NOT_FINITE
from viz.pages.decode.confidence import confidence_section
from viz.pages.decode.forcing import forcing_section
from viz.pages.decode.search import attention_section, next_token_section, search_section
from viz.pages.shared.explain import prose
from viz.pages.shared.model_words import why_no_decoding
from viz.pages.shared.sections import sections
from viz.pages.shared.sentence import sentence_box
from viz.session import current_model

st.title("Decode")
prose(
    "The model gives every possible next token a probability; decoding turns these into a sentence. Here you "
    "see a beam search branch by branch, where the heads look at each step, how temperature, top-k and top-p "
    "reshape the probabilities, and what changes when the model reads its own words instead of the correct "
    "ones."
)
why_not = why_no_decoding(current_model())
if why_not:
    st.info(why_not)
else:
    sentence = sentence_box(with_target=False)
    if sentence is not None and sentence.run.has_numbers:
        # The continuation of a language model is neither right nor wrong.
        judged = {} if sentence.run.encoder_input is None else {"Confidence": confidence_section}
        parts = {
            "Search": search_section,
            "Attention": attention_section,
            "Next token": next_token_section,
            **judged,
            "Teacher forcing": forcing_section,
        }
        sections({name: partial(section, sentence) for name, section in parts.items()})
    elif sentence is not None:
        st.warning(NOT_FINITE)
