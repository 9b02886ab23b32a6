"""What goes in and what comes out: tokens and ids, then the target step by step with the best next words."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.checkpoints.folder import LoadedModel
from transformer.run import Run
from transformer.text import EOS, EOS_ID
from viz.components.decoding_steps import Candidate, OutputStep, decoding_steps
from viz.components.token_strip import StripToken, token_strip
from viz.figures.labels import visible
from viz.figures.probabilities import step_probabilities
from viz.pages._figure import save_menu
from viz.session import current_model, current_theme


def in_and_out(run: Run) -> None:
    """Draw both halves of a run."""
    loaded = current_model()
    st.subheader("What goes in")
    token_strip(
        source_tokens(run),
        colors=current_theme(),
        key="source_strip",
        title="The source as the model gets it",
    )
    st.subheader("What comes out")
    _translation(run)
    decoding_steps(
        [
            OutputStep(
                text=_label(loaded, step.token_id),
                probability=step.probability,
                rank=step.rank,
                best=[
                    Candidate(_label(loaded, token), probability)
                    for token, probability in zip(step.top_ids, step.top_probabilities, strict=True)
                ],
            )
            for step in run.steps
        ],
        colors=current_theme(),
        key="steps",
        forced=not run.generated,
        title="The target, step by step",
    )
    save_menu(lambda: _steps_figure(run, loaded), name="next-words", key="save_steps")


def source_tokens(run: Run) -> list[StripToken]:
    """The source's words as typed and the <eos> behind them."""
    words = [
        StripToken(visible(word), token_id, unknown=unknown)
        for word, token_id, unknown in zip(run.source.words, run.source.ids, run.source.unknown, strict=True)
    ]
    return [*words, StripToken(EOS, EOS_ID, special=True)]


def _translation(run: Run) -> None:
    if run.generated:
        st.markdown("The model chose the most probable word at each step (greedy decoding). Its translation:")
    else:
        st.markdown(
            "You gave the target; the model was shown its words so far at each step (teacher forcing):"
        )
    with st.container(border=True):
        st.text(visible(run.translation, limit=len(run.translation)) or "(nothing)")
    if not run.finished:
        st.caption(
            "It did not come to an end by itself and was stopped at the most tokens that are generated."
        )


def _label(loaded: LoadedModel, token_id: int) -> str:
    return visible(loaded.target.token(token_id))


def _steps_figure(run: Run, loaded: LoadedModel) -> object:
    return step_probabilities(
        [[loaded.target.token(token) for token in step.top_ids] for step in run.steps],
        np.array([step.top_probabilities for step in run.steps]),
        [loaded.target.token(step.token_id) for step in run.steps],
        theme=current_theme(),
        title="Best next words at each step",
    )
