"""The way from a word on any page to the question why the model wrote it."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import streamlit as st

from transformer.analysis.interventions.questions import last_word, word_questions
from transformer.run import Run
from viz.address import remember
from viz.figures.labels import visible
from viz.pages.shared.literal_text import escaped
from viz.pages.shared.sentence import SentenceRun
from viz.session import ModelChoice

WHY = "viz/pages/why/page.py"
WORD = "word"
"""Name of the word on the page Why in the address: its index in the output."""


def word_owner(choice: ModelChoice, text: str) -> Hashable:
    """What a chosen word belongs to: with another model or source, the default is chosen again."""
    return choice, text


def why_button(
    sentence: SentenceRun, run: Run, row: int | None, *, key: str, before: Callable[[], None] = lambda: None
) -> None:
    """Draw a button that asks on the page Why about the word chosen at a row of the logits.

    Draws nothing for a model that writes no words.

    Args:
        sentence: the sentence of the page.
        run: its run, perhaps with another target.
        row: position in the last stack; None, or one where no word was chosen, for the last word.
        key: the button's key.
        before: called first when the button is clicked, for example to set the sentence.
    """
    words = word_questions(sentence.loaded, run) if run.has_numbers else []
    if not words:
        return
    at = next((index for index, one in enumerate(words) if row in one.rows), last_word(words))

    def prepare() -> None:
        before()
        remember(WORD, str(at), word_owner(sentence.choice, sentence.text))

    label = f"Why “{escaped(visible(words[at].label))}”?"
    if st.button(label, key=key, on_click=prepare, help="Which heads and which words it depends on"):
        st.switch_page(WHY, query_params={})  # keep the state that the callback has set
