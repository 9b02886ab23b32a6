"""The other sentence to patch from: its box, and the pair of runs."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.interventions.patching import Pair, run_pair
from transformer.analysis.interventions.questions import NEXT_BEST, Question
from transformer.errors import EditError, SentenceError
from transformer.run import Run
from viz.address import as_typed, remember, remembered
from viz.pages.shared.exchanged_sentences import EXCHANGED, exchanges
from viz.pages.shared.literal_text import escaped, refused
from viz.pages.why.asked import Asked
from viz.session import ModelChoice, run_of

OTHER, _BOX = "patch_text", "patch_other"
"""The other sentence in the address, and the key of its box."""


def pick_pair(asked: Asked) -> Pair | None:
    """Draw the box of the other sentence; returns the pair, None with a note if there is none."""
    owner = _owner(asked)
    other = st.session_state[_BOX] = remembered(OTHER, _prepared(asked), owner)
    st.text_input(
        "Other sentence",
        key=_BOX,
        placeholder="Type a sentence",
        on_change=lambda: remember(OTHER, as_typed(st.session_state[_BOX]), owner),
    )
    if not other.strip():
        st.info(
            f"Type the sentence above with one word exchanged for another of as many tokens: it has "
            f"{len(asked.run.source.ids)}. An exchange that changes the word you ask about shows most."
        )
        _offer(asked)
        return None
    try:
        with st.spinner("Running the other sentence …"):
            return run_pair(asked.loaded, asked.run, other, _question(asked))
    except (SentenceError, EditError) as error:
        refused("These two can't be patched.", error)
        _offer(asked)
        return None


def _owner(asked: Asked) -> tuple[ModelChoice, str]:
    """What an exchange belongs to: with another sentence or model, the box restarts."""
    return asked.sentence.choice, asked.sentence.text


def _prepared(asked: Asked) -> str:
    """The first prepared exchange of as many tokens in this model; "" if there is none."""
    text, coder = asked.sentence.text.strip(), asked.loaded.source
    tried = [*filter(None, [EXCHANGED.get(text)]), *exchanges(text).values()]
    return next((other for other in tried if len(coder.encode(other).ids) == len(asked.run.source.ids)), "")


def _offer(asked: Asked) -> None:
    """Draw a button for each prepared exchange that can be patched in this model."""
    prepared = exchanges(asked.sentence.text)
    fitting = {label: other for label, other in prepared.items() if _can_be_patched(asked, other)}
    if not fitting:
        return
    owner = _owner(asked)
    st.markdown("Exchanges with as many tokens, which can be patched:")
    with st.container(horizontal=True):
        for label, other in fitting.items():
            st.button(escaped(label), key=f"patch_{label}", on_click=remember, args=(OTHER, other, owner))


def _can_be_patched(asked: Asked, other: str) -> bool:
    try:
        run_pair(asked.loaded, asked.run, other, _question(asked))
    except (SentenceError, EditError):
        return False
    return True


def _question(asked: Asked) -> Question:
    """The word against a typed rival; otherwise alone, to be compared with the other run's word."""
    if asked.rival not in ("", NEXT_BEST):
        return asked.question
    return next(one for one in asked.questions if asked.question.rows[0] in one.rows)


def other_sentence() -> str:
    """The other sentence as typed."""
    return str(st.session_state[OTHER])


def other_run(asked: Asked) -> Run:
    """The other sentence's own run, with the output that the model writes for it."""
    return run_of(asked.sentence.choice, other_sentence())
