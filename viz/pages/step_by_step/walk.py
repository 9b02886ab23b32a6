"""The moving path of one token; below it the full matrices of the step, and the drawing that locates it."""

from __future__ import annotations

import streamlit as st

from viz.components.architecture import architecture_view
from viz.components.path import path_view
from viz.figures.labels import visible
from viz.pages.checkpoint.drawing import stacks_of
from viz.pages.shared.sentence import SentenceRun
from viz.pages.step_by_step.path.steps import steps_of
from viz.pages.step_by_step.session import current_stage, jump, last_move, pick_way, stopped_at
from viz.pages.step_by_step.stage import show_stage
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.walk import stages_of
from viz.pages.step_by_step.stages.way import Way
from viz.session import magnification
from viz.theme import Theme


@st.fragment
def walk(sentence: SentenceRun) -> None:
    """Draw the path and the current stage."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        way = pick_way(sentence.loaded, sentence.run)
    stages = stages_of(way)
    at = current_stage(stages, way)
    here, moves = last_move(stages[at].name)
    row = way.position if way.stack == way.writer else way.source
    path_view(
        steps_of(stages, way),
        here=here,
        moves=moves,
        subject=f"{hash(sentence.key)} {way.stack} {way.layer} {way.head} {row}",
        colors=sentence.theme,
        key="token_path",
        title=f"The path of “{visible(way.tokens(way.stack)[row])}” through the model",
        on_step=stopped_at,
    )
    st.divider()
    # In large type the pictures need the whole width.
    is_large = magnification() > 1
    left, right = (st.container(), st.container()) if is_large else st.columns([7, 3], gap="medium")
    with left:
        show_stage(stages[at], way, sentence.theme)
    with right:
        _drawing(way, stages[at], sentence.theme)


def _drawing(way: Way, stage: Stage, theme: Theme) -> None:
    architecture_view(
        stacks_of(way.config),
        colors=theme,
        key="way_architecture",
        title="Where we are in the model; a block leads to its first stage",
        here=stage.block,
        on_jump=lambda path: jump(way, path),
    )
    st.caption("The framed block is where we are. Click another to go there.")
