"""Learn: twelve lessons about what happens inside a Transformer, on the reader's own sentence."""

import streamlit as st

from viz.address import remembered
from viz.lessons import lessons
from viz.pages.learn.lesson import lesson_view
from viz.pages.learn.overview import overview
from viz.pages.learn.session import ALL, CLASS, LESSON, open_lesson, subject_of
from viz.pages.shared.sentence import sentence_box

MOST_TOKENS = 40
CLASS_NOTE = "Predictions are taken, and nothing is revealed until you press Show the answer."
ALL_NOTE = "Every answer at once, without predicting."

name = remembered(LESSON, "")
name = name if name in lessons() else ""
with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Learn", width="content")
    if name:
        st.button("All lessons", key="all_lessons", on_click=open_lesson, args=("",))
if not name:
    overview()
else:
    run = sentence_box(with_target=False)
    with st.container(horizontal=True):
        st.toggle("Show all answers", key=ALL, bind="query-params", help=ALL_NOTE)
        st.toggle("For a class", key=CLASS, bind="query-params", help=CLASS_NOTE)
    if run is not None:
        n = max(map(len, (*run.trace.src_tokens, *run.trace.tgt_tokens)))
        if n > MOST_TOKENS:
            st.info(
                f"The lessons are about sentences that one can look at as a whole, of at most {MOST_TOKENS} "
                f"tokens; this one has {n}. Type a shorter one."
            )
        else:
            lesson_view(name, subject_of(run))
