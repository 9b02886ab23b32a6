"""The attention of one run: the viewer, and a description of what it shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from transformer.analysis.attention_maps import attention_record, attentions, n_layers
from transformer.model.attention import scaled_dot_product_attention
from viz.pages.explore.in_and_out import output_of
from viz.pages.explore.saving import figure, file_name, save_view
from viz.pages.explore.viewed_run import viewed_run
from viz.pages.shared.attention_view import viewer
from viz.pages.shared.attention_words import look_for, what
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import save_menu
from viz.pages.shared.model_words import goes_into_italian
from viz.pages.shared.sentence import SentenceRun
from viz.pages.shared.why_button import ask_why, leave_if_asked, words_for_viewer
from viz.session import RunKey, load_model, run_of
from viz.viewer.viewer_run import ViewerRun, view_run

BEFORE = "the run before"
"""Name of the previously explored run, offered for comparison if its attentions have the same shapes."""
_EXPLORED = "explored"


@st.fragment
def attention_section(sentence: SentenceRun) -> None:
    """Draw the section; a choice in it redraws only this section."""
    run = sentence.run
    viewed = viewed_run(sentence.key, run, _before(sentence))
    into_italian = goes_into_italian(sentence.loaded)
    choice = viewer(
        viewed,
        key="viewer",
        output=output_of(sentence),
        why=words_for_viewer(sentence, run),
        on_why=partial(ask_why, sentence),
        look_for={
            name: look_for(name, sentence.unit, into_italian=into_italian) for name in viewed.attentions
        },
    )
    leave_if_asked()
    with st.container(horizontal=True, horizontal_alignment="right"):
        with st.container(width="content"):
            save_view(sentence, viewed, choice)
        with st.container(width="content"):
            save_menu(lambda: figure(sentence, choice), name=file_name(choice), key="save_attention")
        computed_by(
            scaled_dot_product_attention, attention_record(run.trace, choice.attention, choice.layer).path
        )
    prose(what(choice, viewed, sentence.unit, sentence.config.kind))


def _before(sentence: SentenceRun) -> dict[str, Callable[[], ViewerRun]]:
    """The previously explored run, if the two can be compared cell by cell."""
    trace = sentence.run.trace
    shapes = [
        (n_layers(trace, name), *attention_record(trace, name, 0).weights.shape) for name in attentions(trace)
    ]
    before, now = st.session_state.get(_EXPLORED, (None, None))
    if now is None or now[0] != sentence.key:
        before, now = now, (sentence.key, shapes)
        st.session_state[_EXPLORED] = before, now
    if before is None or before[1] != shapes:
        return {}
    key: RunKey = before[0]
    return {BEFORE: lambda: view_run(run_of(*key), load_model(key.choice))}
