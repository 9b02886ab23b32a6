"""Heads: what every head does over many sentences, and what changed between two checkpoints."""

from functools import partial

import streamlit as st

from viz.pages.heads.changes import changes_section
from viz.pages.heads.roles import roles_section
from viz.pages.heads.session import choose_report
from viz.pages.shared.explain import prose
from viz.pages.shared.sections import sections

st.title("Heads")
prose(
    "One sentence may mislead: a head that looks at the previous word there may do so by chance. Here every "
    "head is measured over many sentences, next to heads with random weights, which have learned nothing. "
    "Many heads turn out to have no role at all."
)
report = choose_report()
if report is not None:
    sections(
        {
            "Roles": partial(roles_section, report),
            "What changed": partial(changes_section, report),
        }
    )
