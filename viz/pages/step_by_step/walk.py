"""The controls, the current stage, and the drawing that locates it in the model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import streamlit as st

from viz.components.architecture import architecture_view
from viz.components.bridge import clock
from viz.pages.checkpoint.drawing import stacks_of
from viz.pages.shared.sentence import SentenceRun
from viz.pages.step_by_step.session import (
    SECONDS_A_STAGE,
    SLIDER,
    current_stage,
    go,
    is_playing,
    jump,
    pick_way,
    play,
    play_on,
    slide,
    stop_playing,
)
from viz.pages.step_by_step.stage import show_stage
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.walk import stages_of
from viz.pages.step_by_step.stages.way import Way
from viz.session import magnification
from viz.theme import Theme


@st.fragment
def walk(sentence: SentenceRun) -> None:
    """Draw the current stage; while it plays, a clock calls this repeatedly."""
    bar = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with bar:
        way = pick_way(sentence.loaded, sentence.run)
    stages = stages_of(way)
    at = play_on([stage.name for stage in stages], current_stage(stages), sentence.key)
    clock(SECONDS_A_STAGE if is_playing() else None, key="stage_clock")
    with bar:
        _buttons(stages, at, sentence.key)
    _slider(stages, at)
    # In large type the pictures need the whole width.
    is_large = magnification() > 1
    left, right = (st.container(), st.container()) if is_large else st.columns([7, 3], gap="medium")
    with left:
        show_stage(stages[at], at, len(stages), way, sentence.theme)
    with right:
        _drawing(way, stages[at], sentence.theme)


def _buttons(stages: Sequence[Stage], at: int, subject: Hashable) -> None:
    names = [stage.name for stage in stages]
    last = len(stages) - 1
    before, after = names[max(0, at - 1)], names[min(last, at + 1)]
    st.button("Back", key="stage_back", on_click=go, args=(before,), disabled=at == 0)
    st.button("Next", key="stage_next", on_click=go, args=(after,), disabled=at == last, type="primary")
    if is_playing():
        st.button("Stop", key="stage_stop", on_click=stop_playing)
    else:
        st.button("Play", key="stage_play", on_click=play, args=(names, subject))


def _slider(stages: Sequence[Stage], at: int) -> None:
    st.session_state[SLIDER] = at
    st.select_slider(
        "Stage",
        range(len(stages)),
        key=SLIDER,
        format_func=lambda number: f"{number + 1}. {stages[number].title}",
        on_change=slide,
        args=([stage.name for stage in stages],),
        label_visibility="collapsed",
    )


def _drawing(way: Way, stage: Stage, theme: Theme) -> None:
    architecture_view(
        stacks_of(way.config),
        colors=theme,
        key="way_architecture",
        title="Where we are in the model; a block leads to its first stage",
        here=stage.block,
        on_jump=lambda path: jump(way, path),
    )
    st.caption(
        "The framed block is where we are. Click another to go there; Back and Next go stage by stage."
    )
