"""How few heads are enough: the answer as heads are added, those that cost most first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.interventions.heads import Ablation, HeadPlace, Switch, answers_with_k_heads
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.run import Run
from viz.figures.labels import visible
from viz.markdown import quoted
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show
from viz.pages.why.asked import Asked
from viz.run_figures.interventions import kept_heads_figure


def kept_heads(
    asked: Asked,
    how: Ablation,
    reference: Sequence[Run],
    places: Sequence[HeadPlace],
    effects: NDArray[np.float64],
) -> None:
    """Draw this part of the section.

    Args:
        asked: the question.
        how, reference: how heads are switched off.
        places, effects: the heads, and what each costs alone.
    """
    st.subheader("How few heads are enough?")
    order = [places[index] for index in np.argsort(-effects, kind="stable")]

    def compute(report: OnProgress) -> NDArray[np.float64]:
        switch = Switch(asked.loaded, how, reference)
        return answers_with_k_heads(asked.loaded, asked.run, asked.question, switch, order, report).numpy()

    answers = asked.answer(("kept heads", asked.question, how), "Keeping only some heads", compute)
    whole = float(answers[-1] - answers[0])
    enough = [k for k, answer in enumerate(answers) if answer - answers[0] >= 0.9 * whole]
    told = (
        f"With {enough[0]} of {len(places)} heads on, the answer is nine tenths of the way from that of no "
        "head to that of all."
        if whole > 0
        else "With all heads on, the answer is no higher than with none."
    )
    prose(
        f"{told}{_ahead(asked, answers)} These numbers depend on what replaces the other heads, which you "
        "choose above. Heads are added in the order of the table; all others are replaced. A head that costs "
        "nothing alone may still be needed, because another does the same; and few heads alone may do "
        "nothing, because each builds on others. Where the curve is above the dotted line, the heads that "
        "are off work against the word."
    )
    show(
        kept_heads_figure(answers, order, theme=asked.theme, quantity=asked.question.quantity),
        name="heads-kept",
        caption="The answer if only the first k heads are on. Dotted: all heads on.",
        key="why_kept",
    )
    computed_by(answers_with_k_heads)


def _ahead(asked: Asked, answers: NDArray[np.float64]) -> str:
    """Say from how many heads on the word is ahead of its rival, or as likely as not."""
    rival = asked.question.rival_id is not None
    not_ahead = np.flatnonzero(answers <= (0.0 if rival else np.log(0.5)))
    if len(not_ahead) and not_ahead[-1] == len(answers) - 1:
        return ""
    first = int(not_ahead[-1]) + 1 if len(not_ahead) else 0
    where = f"From {first} on" if first else "Even with none"
    word = visible(asked.question.label)
    if rival:
        return f" {where}, {quoted(word)} is ahead of {quoted(visible(asked.question.rival))}."
    return f" {where}, {quoted(word)} has a probability above one half."
