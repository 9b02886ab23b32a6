"""Two pages, and a fragment on both of them, for test_waiting.py."""

import streamlit as st

from viz.streamlit_private import ignore_requests_of_left_pages

ignore_requests_of_left_pages()


@st.fragment
def counter() -> None:
    st.button("Count")


def first() -> None:
    st.text("the first page")


def second() -> None:
    st.text("the second page")


page = st.navigation([st.Page(first, title="First"), st.Page(second, title="Second", url_path="second")])
counter()
page.run()
