"""The receipt of an answer: a file from which the same numbers can be computed again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.receipts.answering import explain
from transformer.analysis.receipts.receipt import Inquiry, Part, Receipt
from viz.figures.export import file_name
from viz.pages.shared.saved_file import save_button
from viz.pages.why.asked import Asked


def save_receipt(asked: Asked, parts: Part, how: str, **further: Any) -> None:
    """Draw a button that saves the receipt of an answer.

    Args:
        asked: the question.
        parts, how, further: attributes of `Inquiry`.
    """
    question = asked.question
    word = next(place for place, one in enumerate(asked.questions) if question.rows[0] in one.rows)
    asked_for: dict[str, Any] = {"text": asked.sentence.text, "target": asked.sentence.target, "word": word}
    inquiry = Inquiry(parts, how, **asked_for | {"rival": asked.rival} | further)

    def compute(report: OnProgress) -> Receipt:
        return explain(asked.loaded, asked.run, inquiry, report)

    with st.container(horizontal=True, horizontal_alignment="right"):
        save_button(
            "Save the receipt",
            lambda: asked.answer(("receipt", inquiry), "Writing the receipt", compute).to_json().encode(),
            file_name=file_name(f"why-{parts}", "json"),
            mime="application/json",
            key=f"receipt_{parts}",
            about="What these numbers are and depend on: `headlight why --receipt` computes them again",
        )
