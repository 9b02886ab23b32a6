"""The receipt of an answer: a file from which the same numbers can be computed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from transformer.analysis.interventions.heads import Ablation
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.receipts.answering import answer, explain
from transformer.analysis.receipts.receipt import Inquiry, Part, Receipt
from transformer.checkpoints.places import shipped_models
from viz.figures.export import file_name
from viz.pages.shared.saved_file import save_button
from viz.pages.why.asked import Asked


def save_receipt(asked: Asked, parts: Part, how: str, **further: Any) -> None:
    """Draw a button that saves the receipt of an answer, next to the command that reads it.

    Args:
        asked: the question.
        parts, how, further: attributes of `Inquiry`.
    """
    question = asked.question
    word = next(place for place, one in enumerate(asked.questions) if question.rows[0] in one.rows)
    asked_for: dict[str, Any] = {"text": asked.sentence.text, "target": asked.sentence.target, "word": word}
    inquiry = Inquiry(parts, how, **asked_for | {"rival": asked.rival} | further)
    _button(asked, inquiry, parts, partial(explain, asked.loaded, asked.run, inquiry))


def save_receipt_over_sentences(
    asked: Asked, how: Ablation, pairs: Sequence[tuple[str, str]], reference: Sequence[str]
) -> None:
    """Draw a button that saves the receipt of the heads' effects on whole outputs.

    Args:
        asked: the question, for its model.
        how, pairs, reference: attributes of `Inquiry`.
    """
    inquiry = Inquiry("heads", how, rival="", pairs=tuple(pairs), reference=tuple(reference))
    _button(asked, inquiry, "many", partial(answer, asked.loaded, inquiry))


def _button(asked: Asked, inquiry: Inquiry, name: str, compute: Callable[[OnProgress], Receipt]) -> None:
    file = file_name(f"why-{name}", "json")
    model = "" if asked.sentence.choice.name in shipped_models() else " --model MODEL"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"`headlight why --receipt {file}{model}` computes these numbers again", width="content")
        save_button(
            "Save the receipt",
            lambda: asked.answer(("receipt", inquiry), "Writing the receipt", compute).to_json().encode(),
            file_name=file,
            mime="application/json",
            key=f"receipt_{name}",
            about="What these numbers are and depend on",
        )
