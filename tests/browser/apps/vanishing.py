"""A fragment that the page no longer draws once its box is unticked, for test_waiting.py."""

import streamlit as st


@st.fragment
def counter() -> None:
    st.button("Count")


if st.checkbox("With a counter", value=True):
    counter()
