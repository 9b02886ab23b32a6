"""Explore, the start page: a sentence goes in, words come out, and every head shows where it looked."""

import streamlit as st

from viz.pages.explore.attention import attention_section
from viz.pages.explore.in_and_out import input_section, output_line, output_section
from viz.pages.learn.session import invitation
from viz.pages.shared.model_words import introduction
from viz.pages.shared.sentence import sentence_box
from viz.session import current_model

with st.container(gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="bottom", key="introduction"):
        st.title("Explore", width="content")
        st.caption(introduction(current_model()) + invitation(), width="stretch")
    sentence = sentence_box()
    if sentence is not None:
        output_line(sentence)
        attention_section(sentence)
if sentence is not None:
    input_section(sentence)
    output_section(sentence)
