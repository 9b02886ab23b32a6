"""Two pages and the theme switch, for test_theme_switch.py."""

import streamlit as st

from viz.components.theme_switch import theme_choice


def first() -> None:
    st.text_input("Sentence", key="sentence")


def second() -> None:
    st.text("the second page")


page = st.navigation([st.Page(first, title="First"), st.Page(second, title="Second", url_path="second")])
with st.sidebar:
    theme = theme_choice("theme")
st.text(f"theme in Python: {theme}")
page.run()
