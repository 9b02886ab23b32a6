"""A fragment and a text that the page no longer draws once their boxes are unticked, for test_waiting.py."""

import streamlit as st


@st.fragment
def counter() -> None:
    st.button("Count")


if st.checkbox("With a counter", value=True):
    counter()
if st.checkbox("With a long text", value=True):
    st.text("long enough for the browser to keep it " * 1000)
