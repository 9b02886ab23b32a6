"""What goes in and what comes out: tokens and ids, then the target step by step with the best next tokens."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.checkpoints.folder import LoadedModel
from transformer.run import Run
from transformer.text import EOS, EOS_ID, Unit
from viz.components.decoding_steps import Candidate, OutputStep, decoding_steps
from viz.components.token_strip import StripToken, token_strip
from viz.figures.labels import visible
from viz.figures.probabilities import step_probabilities
from viz.pages._figure import save_menu
from viz.session import current_model, current_theme

SUBWORDS_NOTE = (
    "The sub-words of one word are framed together; ▁ is the space before a word. Nothing typed is unknown "
    "to this model: a character that it has no piece for is spelled by its bytes, such as <0xE2>."
)


def in_and_out(run: Run) -> None:
    """Draw both halves of a run."""
    loaded = current_model()
    st.subheader("What goes in")
    token_strip(
        source_tokens(run),
        colors=current_theme(),
        key="source_strip",
        title="The source as the model gets it",
        words=list(map(visible, run.source.words)),
        note=SUBWORDS_NOTE if loaded.source.unit == "sub-word" else "",
    )
    st.subheader("What comes out")
    _translation(run, loaded.target.unit)
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
        unit=loaded.target.unit,
        title="The target, step by step",
    )
    save_menu(lambda: _steps_figure(run, loaded), name=f"next-{loaded.target.unit}s", key="save_steps")


def source_tokens(run: Run) -> list[StripToken]:
    """The source's tokens, each with its word, and the <eos> behind them."""
    sentence = run.source
    tokens = [
        StripToken(visible(token), token_id, unknown=unknown, word=word)
        for token, token_id, unknown, word in zip(
            sentence.tokens, sentence.ids, sentence.unknown, sentence.word_of, strict=True
        )
    ]
    return [*tokens, StripToken(EOS, EOS_ID, special=True)]


def _translation(run: Run, unit: Unit) -> None:
    if run.generated:
        st.markdown(
            f"The model chose the most probable {unit} at each step (greedy decoding). Its translation:"
        )
    else:
        st.markdown(
            f"You gave the target; the model was shown its {unit}s so far at each step (teacher forcing):"
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
        title=f"Best next {loaded.target.unit}s at each step",
    )
