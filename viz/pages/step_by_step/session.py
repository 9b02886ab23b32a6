"""The reader's position: the part of the model, the stage, and whether the stages play."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run
from viz.address import remembered
from viz.figures.labels import visible
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.walk import first_row, stages_of
from viz.pages.step_by_step.stages.way import Way
from viz.widgets import HEAD, Draw, in_a_row, pick, pick_button

STAGE, SIDE, ROW = "stage", "side", "row"
"""Query parameters: the stage, the stack whose layer is walked, the row whose next token is followed."""
SLIDER = "stage_slider"
SECONDS_A_STAGE = 3.0
"""Seconds per stage while playing: enough to see what changed and to read the formula."""
LEFT_SECONDS = 30.0
"""Playing stops after this long without a tick: the reader was on another page."""
_PLAYED_AT, _PLAYED = "time of the stage that is played", "what is played"

STACK_LABELS: dict[Stack, str] = {"encoder": "Encoder", "decoder": "Decoder"}


def pick_way(loaded: LoadedModel, run: Run) -> Way:
    """Draw the pickers of the part shown in detail; moving one stops playing."""
    config = loaded.model.config
    way = Way(loaded, run, "decoder" if config.n_decoder_layers else "encoder", 0, 0, 0)
    if config.kind == "encoder-decoder":
        stack = pick_button(
            in_a_row(), "In detail", STACK_LABELS, "encoder", key=SIDE, on_change=stop_playing
        )
        way = replace(way, stack=stack)
    layer = HEAD.pick_layer(_list(100), way.n_layers(way.stack))
    head = HEAD.pick_head(_list(100), config.n_heads)
    return replace(way, layer=layer, head=head, position=_pick_row(way))


def _list(width: int) -> Draw:
    """Make a function that draws a list of this width; moving it stops playing."""
    return partial(st.container(width=width).selectbox, on_change=stop_playing)


def _pick_row(way: Way) -> int:
    """Draw the list of rows whose next token can be followed."""
    start, tokens = first_row(way), way.tokens(way.writer)
    # The row that a masked language model predicts: its first mask or else its first token.
    steps = way.run.steps if way.writer == "encoder" else ()
    return pick(
        _list(190),
        "Row",
        range(start, len(tokens)),
        key=ROW,
        index=steps[0].position if steps else 0,
        format_func=lambda row: f"{row}: {visible(tokens[row])}",
        help=f"The row of the {way.writer} that is framed, and whose logits are looked at in the end.",
    )


def current_stage(stages: Sequence[Stage]) -> int:
    """The index of the current stage."""
    names = [stage.name for stage in stages]
    name = remembered(STAGE, names[0])
    return names.index(name) if name in names else 0


def go(name: str) -> None:
    """Go to a stage and stop playing. To be called from a callback."""
    st.session_state[STAGE] = name
    stop_playing()


def slide(names: Sequence[str]) -> None:
    """Go to the slider's stage. To be called from a callback."""
    go(names[st.session_state[SLIDER]])


def jump(way: Way, path: str) -> None:
    """Go to the first stage of a block of the drawing, switching stacks if needed. For callbacks."""
    stack = path.split(".")[0]
    if stack in STACK_LABELS and ".layers." in path and stack != way.stack:
        other: Stack = "decoder" if stack == "decoder" else "encoder"
        st.session_state[SIDE] = other
        way = replace(way, stack=other, layer=min(way.layer, way.n_layers(other) - 1))
    found = [stage for stage in stages_of(way) if stage.block == path]
    if found:
        go(min(found, key=lambda stage: stage.is_summary).name)


def is_playing() -> bool:
    """True while the stages advance automatically."""
    return _PLAYED_AT in st.session_state


def play(names: Sequence[str], subject: Hashable) -> None:
    """Play from this stage or, after the last, from the first. For callbacks."""
    st.session_state[_PLAYED_AT] = time.monotonic()
    st.session_state[_PLAYED] = subject
    if st.session_state.get(STAGE) == names[-1]:
        st.session_state[STAGE] = names[0]


def stop_playing() -> None:
    """Stop at this stage."""
    st.session_state.pop(_PLAYED_AT, None)


def play_on(names: Sequence[str], at: int, subject: Hashable) -> int:
    """The stage to show now: the next one once this one was shown long enough. Playing stops at the last.

    Args:
        at: the stage shown.
        subject: what is being walked; playing stops when it changes.
    """
    if not is_playing():
        return at
    now = time.monotonic()
    shown_for = now - st.session_state[_PLAYED_AT]
    if st.session_state[_PLAYED] != subject or shown_for > LEFT_SECONDS:
        stop_playing()
        return at
    if shown_for >= SECONDS_A_STAGE / 2:
        at = min(at + 1, len(names) - 1)
        st.session_state[STAGE], st.session_state[_PLAYED_AT] = names[at], now
    if at == len(names) - 1:
        stop_playing()
    return at
