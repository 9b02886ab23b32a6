"""Learn: lessons about what happens inside a Transformer, on the reader's own sentence."""

import streamlit as st

from viz.address import remembered
from viz.pages.learn.files import come_back
from viz.pages.learn.glossary import glossary
from viz.pages.learn.lesson import lesson_view
from viz.pages.learn.lessons import lessons
from viz.pages.learn.overview import overview
from viz.pages.learn.session import ALL, CLASS, LESSON, open_lesson, subject_of
from viz.pages.shared.sentence import sentence_box
from viz.session import LARGE
from viz.widgets import set_choice

MOST_TOKENS = 40
CLASS_NOTE = (
    "Predictions are taken, and nothing is revealed until you press Show the answer. The type is large; Page "
    "Down and Page Up, which presenters send too, or the arrow keys go from step to step."
)
ALL_NOTE = "Every answer at once, without predicting."


def _enlarge() -> None:
    """Large type switches on and off with class mode."""
    set_choice(LARGE, st.session_state[CLASS])


name = remembered(LESSON, "")
name = name if name in lessons() else ""
with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Learn", width="content")
    if name:
        st.button("All lessons", key="all_lessons", on_click=open_lesson, args=("",))
if not name:
    overview()
    glossary()
    come_back()
else:
    sentence = sentence_box(with_target=False, most_tokens=MOST_TOKENS)
    with st.container(horizontal=True):
        st.toggle("Show all answers", key=ALL, bind="query-params", help=ALL_NOTE)
        st.toggle("For a class", key=CLASS, bind="query-params", help=CLASS_NOTE, on_change=_enlarge)
    if sentence is not None:
        lesson_view(name, subject_of(sentence))
