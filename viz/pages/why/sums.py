"""What a logit is the sum of."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.ledgers.logit import LogitLedger, ledger_notes, logit_ledger, output_stack
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show
from viz.pages.why.asked import Asked, asked_in_words
from viz.pages.why.receipt import save_receipt
from viz.pages.why.scores import score_part
from viz.run_figures.ledgers import (
    DIVISIONS,
    Division,
    difference,
    logit_figure,
    logit_sums,
    sublayer_name,
)
from viz.widgets import pick, pick_button

EVERYTHING = "everything"


def sums_section(asked: Asked) -> None:
    """Draw the section."""
    _logit_part(asked)
    score_part(asked)


@st.fragment
def _logit_part(asked: Asked) -> None:
    st.header("What adds up to it?")
    ledger = logit_ledger(asked.loaded, asked.run, asked.question)
    _explain(asked, ledger)
    _bars(asked, ledger)
    computed_by(logit_ledger)
    save_receipt(asked, "sums", "terms")


def _explain(asked: Asked, ledger: LogitLedger) -> None:
    question = asked.question
    prose(
        "Every sublayer adds its output to the residual stream, and the generator multiplies the last stream "
        "by each word's vector. So with the scales of the norms as recorded, a logit is an exact sum: one "
        "term for each head and token that it reads, feed-forward, embedding and bias. A term is what the "
        "part says to the output **directly**; what later layers make of it is in their terms."
    )
    quantity = asked_in_words(asked) if question.rival_id is not None else _own_logit(asked)
    st.markdown(
        f"The {len(ledger.values):,} terms sum to **{number(ledger.total, 4)}**. The model computed "
        f"**{number(ledger.recorded, 4)}** as {quantity}. Difference: "
        f"{difference(ledger.total, ledger.recorded)}."
    )
    for note in ledger_notes(asked.loaded.model.config):
        st.caption(note)


def _own_logit(asked: Asked) -> str:
    """Name the logit of a word that is asked for alone, by its log-probability in other sections."""
    coder = asked.loaded.source if asked.run.decoder_input is None else asked.loaded.target
    token = quoted(coder.token(asked.question.ids[0]))
    return (
        f"the logit of the token {token} (its log-probability depends on all other logits and is no such "
        "sum; choose a rival above to divide the answer itself)"
    )


def _bars(asked: Asked, ledger: LogitLedger) -> None:
    names = dict.fromkeys(sublayer_name(part) for part in ledger.parts if part.head is not None)
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    opened = pick(left.selectbox, "Terms of", [EVERYTHING, *names], key="sum_of")
    divisions: list[Division] = ["sublayer", "head", "word"] if opened == EVERYTHING else ["head", "word"]
    division = pick_button(
        right.segmented_control, "One bar per", {one: DIVISIONS[one] for one in divisions}, key="sum_by"
    )
    stack, row = output_stack(asked.loaded.model.config), asked.question.rows[0]
    sublayer = "" if opened == EVERYTHING else opened
    labels, sums = logit_sums(ledger, asked.run, stack, row, division, sublayer)
    best = int(np.abs(sums).argmax())
    st.markdown(
        f"The longest bar is {quoted(labels[best])} ({number(float(sums[best]), 2)}). "
        f"All bars together: {number(float(sums.sum()), 4)}."
    )
    show(
        logit_figure(labels, sums, division, theme=asked.theme),
        name=f"sum-by-{division}",
        caption="To the right (orange): for the word. To the left (blue): against it, or for its rival. "
        "Heads are named by attention, layer and head; all biases are one bar.",
        key="why_sum",
    )
