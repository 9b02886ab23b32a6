"""A button in a fragment, and reruns of the whole page, for test_run_all.py."""

import streamlit as st

from viz.components.bridge import run_all


def note_click() -> None:
    st.session_state.clicks = st.session_state.get("clicks", 0) + 1


@st.fragment
def counter() -> None:
    st.button("Count", on_click=note_click)
    st.text(f"{st.session_state.get('clicks', 0)} clicks")


run_all("run_all")
st.session_state.runs = st.session_state.get("runs", 0) + 1
st.text(f"{st.session_state.runs} runs of the whole page")
counter()
