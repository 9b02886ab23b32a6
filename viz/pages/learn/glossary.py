"""The glossary: all terms in one list, with the explanations that pages show."""

from __future__ import annotations

import streamlit as st

from viz.pages.learn.lessons import lessons
from viz.pages.shared.literal_text import escaped
from viz.terms import TERMS, Term

NOTE = "On the pages each of them is underlined with dots: point at it, or reach it with the Tab key."


def glossary() -> None:
    """Draw the list, in alphabetical order."""
    with st.expander(f"Glossary: {len(TERMS)} terms", key="glossary"):
        st.caption(NOTE)
        st.markdown("\n".join(map(_entry, sorted(TERMS, key=lambda term: term.name.lower()))))


def _entry(term: Term) -> str:
    lesson = lessons()[term.lesson]
    link = f'[Lesson {lesson.number}](#lesson-{term.lesson} "{lesson.title}")'
    return f"- **{term.name}**: {escaped(term.text)} {link}"
