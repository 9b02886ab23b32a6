"""Buttons that open other pages in the state that the lesson discussed."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz.page_titles import PAGES
from viz.pages.learn.lessons.format.parts import Onward
from viz.pages.learn.lessons.format.subject import Subject
from viz.pages.shared.attention_view import keep
from viz.viewer.choice import read_choice
from viz.viewer.viewer_run import view_run
from viz.widgets import set_choice

VIEWED = ("explore",)
"""Pages whose state is the attention viewer's choice."""


def onward_links(ways: Sequence[Onward], subject: Subject) -> None:
    """Draw a button for each suggestion."""
    for number, way in enumerate(ways):
        clicked = st.button(way.label, key=f"onward {number}", on_click=_prepare, args=(way, subject))
        if clicked:
            page = PAGES / way.page.replace("-", "_") / "page.py"
            st.switch_page(page, query_params={})  # keep the state that the callback has set


def _prepare(way: Onward, subject: Subject) -> None:
    """Set the other page's state."""
    told = way.said(subject)
    if way.page in VIEWED:
        keep(read_choice(told, view_run(subject.run, subject.loaded, typed=(subject.text, ""))))
    else:
        for name, value in told.items():
            set_choice(name, value)
