"""The number that reveals a mistake, for both models, with the limit between them."""

from __future__ import annotations

import math

import streamlit as st

from transformer.analysis.doctor.findings import rounded
from viz.pages.lab.mistakes.mistake import Symptom
from viz.pages.lab.outputs import BROKEN, SOUND
from viz.pages.shared.literal_text import escaped


def written(value: float, unit: str) -> str:
    """Format a symptom's number to three digits."""
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{rounded(value, 3)} {unit}".strip()


def symptom_numbers(symptom: Symptom) -> None:
    """Draw both numbers and the limit."""
    what = escaped(symptom.what)
    st.markdown(f"{what[:1].upper()}{what[1:]}:")
    for column, name, value in zip(
        st.columns(2, gap="medium"), (SOUND, BROKEN), (symptom.sound, symptom.broken), strict=True
    ):
        column.metric(name, written(value, symptom.unit), border=True)
    limit = written(symptom.limit, symptom.unit)
    if symptom.shows:
        st.caption(f"In a trained model {limit} lies between the two, whatever the sentence.")
    else:
        st.caption(
            f"In a trained model {limit} lies between the two. Here it does not: these weights are random, "
            "or the sentence is too short for the mistake to show."
        )
