"""All lessons: what each answers, and how far the reader has got."""

from __future__ import annotations

import streamlit as st

from viz.pages.learn.lessons import lessons
from viz.pages.learn.session import open_lesson, steps_read

MINUTES = 5


def overview() -> None:
    """Draw the list."""
    st.markdown(
        f"{len(lessons())} lessons of about {MINUTES} minutes, on a sentence of your own and the model that "
        "is chosen. Each asks you first: make a prediction, even a wrong one, and you will see more."
    )
    for name, lesson in lessons().items():
        read, n = steps_read(name), len(lesson.steps) + 1
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            with st.container():
                st.markdown(f"**{lesson.number}. {lesson.title}**")
                st.caption(" ".join(lesson.asks))
            state = "" if not read else "read" if read >= n else f"{read} of {n} steps"
            if state:
                st.caption(state, width="content")
            label = "Again" if read >= n else "Continue" if read else "Begin"
            st.button(label, key=f"begin {name}", on_click=open_lesson, args=(name,), help=lesson.title)
