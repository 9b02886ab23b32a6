"""The attention of one run: the viewer, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from transformer.analysis.attention_maps import attention_record, attentions, n_layers
from transformer.model.attention import scaled_dot_product_attention
from transformer.run import Run
from viz.pages.explore.asked import Asked, held_run
from viz.pages.explore.saving import figure, file_name, save_view
from viz.pages.shared.attention_view import viewer
from viz.pages.shared.attention_words import look_for, what
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import save_menu
from viz.pages.shared.model_words import goes_into_italian
from viz.session import current_choice, current_model, load_model, run_of, token_unit
from viz.text_session import current_texts
from viz.viewer.viewer_run import ViewerRun, view_run

BEFORE = "the run before"
"""What the sentence and model are called that were explored before these, where both have as many tokens."""
_EXPLORED = "explored"


@st.fragment
def attention_section(run: Run) -> None:
    """Draw the section; what is chosen in it draws only this section again."""
    loaded, unit = current_model(), token_unit()
    held = held_run(_asked(), run, _before(run))
    choice = viewer(held, key="viewer")
    with st.container(horizontal=True, horizontal_alignment="right"):
        with st.container(width="content"):
            save_view(run, held, choice)
        with st.container(width="content"):
            save_menu(lambda: figure(run, choice), name=file_name(choice), key="save_attention")
    computed_by(
        scaled_dot_product_attention, attention_record(run.trace, choice.attention, choice.layer).path
    )
    prose(what(choice.attention, unit, by_words=choice.by == "word", kind=loaded.model.config.kind))
    prose(f"**Look for** {look_for(choice.attention, unit, into_italian=goes_into_italian(loaded))}")


def _asked() -> Asked:
    return Asked(current_choice(), *current_texts())


def _before(run: Run) -> dict[str, Callable[[], ViewerRun]]:
    """The run before, if this one can be compared with it cell by cell."""
    shapes = [
        (n_layers(run.trace, name), *attention_record(run.trace, name, 0).weights.shape)
        for name in attentions(run.trace)
    ]
    before, now = st.session_state.get(_EXPLORED, (None, None))
    if now is None or now[0] != _asked():
        before, now = now, (_asked(), shapes)
        st.session_state[_EXPLORED] = before, now
    if before is None or before[1] != shapes:
        return {}
    asked: Asked = before[0]
    return {BEFORE: lambda: view_run(run_of(*asked), load_model(asked.choice))}
