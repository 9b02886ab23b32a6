"""What each answer to an open question does to the model: measured once, and told in words."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.doctor.answers import Weighing, weigh_answers
from transformer.analysis.doctor.asked import about, figure
from transformer.checkpoints.importing.report import Question
from transformer.errors import SentenceError
from viz.address import as_typed
from viz.pages.checkpoint.session import TEXT, Subject, keep_answers, kept_answers
from viz.pages.shared.explain import computed_by
from viz.pages.shared.literal_text import literal, refused

PREFERRED, OTHER = "✓ ", "· "
"""Before an answer that the model prefers, and before others: where lines are short each takes several."""
SMALL = 100_000_000
"""Bytes of weights up to which all answers are tried unasked: some seconds."""


def measured(subject: Subject) -> Weighing | None:
    """Try all answers with the sentences of the doctor, or offer it; None where that was not done."""
    text = as_typed(st.session_state.get(TEXT) or "")
    kept = kept_answers(subject.name, text)
    if kept is None:
        if subject.imported.loaded is None:
            return None
        if subject.imported.raw.n_bytes > SMALL and not st.button("Try every answer"):
            st.caption("The model is run with each answer, which takes a while with one of this size.")
            return None
        try:
            kept = _weigh(subject, text)
        except SentenceError as error:
            refused("The answers can't be tried with this text.", error)
            return None
        if kept is None:
            return None
        keep_answers(subject.name, text, kept)
    literal(f"{about(kept)} You choose the text with the doctor's, below.")
    computed_by(weigh_answers)
    return kept


def figures(weighing: Weighing | None, question: Question) -> None:
    """Draw what was measured with each answer to a question, one line per answer, as the picker calls it."""
    asked = None if weighing is None else weighing.of(question.name)
    if asked is not None:
        labels = {option.value: option.label for option in question.options}
        lines = [
            f"{PREFERRED if weight.value in asked.preferred else OTHER}"
            f"{labels.get(weight.value, weight.value)}: {figure(weight, asked)}"
            for weight in asked.weights
        ]
        literal("\n".join(lines))


def _weigh(subject: Subject, text: str) -> Weighing | None:
    bar = st.progress(0.0, text="The model is run with every answer …")

    def tell(done: int, total: int, question: str) -> None:
        bar.progress(done / total, text=f"The model is run with every answer: {question} …")

    try:
        return weigh_answers(subject.imported, text, tell)
    finally:
        bar.empty()
