"""The way from a word on any page to the question why the model wrote it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from transformer.analysis.interventions.questions import Question, last_word, word_questions
from transformer.analysis.ledgers.logit import output_stack
from transformer.run import Run
from viz.address import remember
from viz.components.shared.client_view import JSON
from viz.components.shared.frame import brief
from viz.figures.labels import visible
from viz.pages.shared.literal_text import escaped
from viz.pages.shared.sentence import SentenceRun
from viz.session import ModelChoice

WHY = "viz/pages/why/page.py"
WORD = "word"
"""Name of the word on the page Why in the address: its index in the output."""
_ASKED = "asked in a view"


def word_owner(choice: ModelChoice, text: str) -> Hashable:
    """What a chosen word belongs to: with another model or source, the default is chosen again."""
    return choice, text


def words_of_output(sentence: SentenceRun, run: Run) -> list[Question]:
    """The words of a run that can be asked about; empty for a model that writes none."""
    return word_questions(sentence.loaded, run) if run.has_numbers else []


def word_at(words: list[Question], row: int) -> int | None:
    """The index of the word with a token that is chosen at a row of the logits; None if there is none."""
    return next((index for index, one in enumerate(words) if row in one.rows), None)


def words_for_viewer(sentence: SentenceRun, run: Run) -> dict[str, Any] | None:
    """The viewer's option "why": the words that it offers to ask about; None if there are none."""
    words = words_of_output(sentence, run)
    if not words:
        return None
    return {
        "stack": output_stack(sentence.config),
        "words": [(brief(visible(one.label)), one.rows) for one in words],
        "unchosen": last_word(words),
    }


def ask_why(sentence: SentenceRun, word: JSON) -> None:
    """Ask about the word of this index, which a browser may have sent. To be called from a callback."""
    if isinstance(word, int):  # the page takes the default in place of a word that the output lacks
        remember(WORD, str(word), word_owner(sentence.choice, sentence.text))
        st.session_state[_ASKED] = True


def leave_if_asked() -> None:
    """Go to the page Why if a view of this page has just asked."""
    if st.session_state.pop(_ASKED, False):
        st.switch_page(WHY, query_params={})  # keep the state that the callback has set


def why_button(word: str, ask: Callable[[], None], *, key: str) -> None:
    """Draw a button that asks about a word, as shown; nothing for "". `ask` calls `ask_why`."""
    if word:
        label = f"Why “{escaped(word)}”?"
        st.button(label, key=key, on_click=ask, help="Which heads and which words it depends on")
        leave_if_asked()
