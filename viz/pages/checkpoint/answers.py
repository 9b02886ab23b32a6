"""The effect of each answer to an open question on the model: measured once, and shown in words."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.doctor.answers import Weighing, weigh_answers
from transformer.analysis.doctor.asked import about, figure
from transformer.checkpoints.importing.report import Question
from transformer.errors import SentenceError
from viz.address import as_typed
from viz.pages.checkpoint.session import TEXT, InspectedModel, keep_answers, kept_answers
from viz.pages.shared.explain import computed_by
from viz.pages.shared.literal_text import escaped, literal, refused

PREFERRED, OTHER = "✓ ", "· "
"""Prefixes of preferred answers and of the others: lines may wrap on narrow screens."""
SMALL = 100_000_000
"""Up to this many bytes of weights, all answers are tried without asking, which takes a few seconds."""


def measured(model: InspectedModel) -> Weighing | None:
    """Run the model with every answer on the doctor's sentences, or offer to; None if it was not run."""
    text = as_typed(st.session_state.get(TEXT) or "")
    kept = kept_answers(model.name, text)
    if kept is None:
        if model.imported.loaded is None:
            return None
        if model.imported.raw.n_bytes > SMALL and not st.button("Try every answer"):
            st.caption("The model is run with each answer, which takes a while for a model of this size.")
            return None
        try:
            kept = _weigh(model, text)
        except SentenceError as error:
            refused("The answers can't be tried with this text.", error)
            return None
        if kept is None:
            return None
        keep_answers(model.name, text, kept)
    literal(f"{about(kept)} The text is that of the doctor, below.")
    computed_by(weigh_answers)
    return kept


def figures(weighing: Weighing | None, question: Question) -> None:
    """Draw the measurement for each answer to a question, one line per answer, with the picker's labels."""
    asked = None if weighing is None else weighing.of(question.name)
    if asked is not None:
        labels = {option.value: option.label for option in question.options}
        lines = [
            f"{PREFERRED if weight.value in asked.preferred else OTHER}"
            f"{labels.get(weight.value, weight.value)}: {figure(weight, asked)}"
            for weight in asked.weights
        ]
        literal("\n".join(lines))


def _weigh(model: InspectedModel, text: str) -> Weighing | None:
    bar = st.progress(0.0, text="Running the model with every answer …")

    def report(done: int, total: int, question: str) -> None:
        bar.progress(done / total, text=f"Running the model with every answer: {escaped(question)} …")

    try:
        return weigh_answers(model.imported, text, report)
    finally:
        bar.empty()
