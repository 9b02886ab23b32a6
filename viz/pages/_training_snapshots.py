"""The snapshots of a finished training: one sentence, from the first random weights to the finished model."""

from __future__ import annotations

import streamlit as st

from transformer.errors import CheckpointError, SentenceError
from transformer.run import Run
from transformer.training.snapshots import Snapshots
from viz.components.clock import clock
from viz.figures.labels import visible
from viz.figures.training import Course, Marks, training_course
from viz.live_session import check_length
from viz.pages._attention_words import look_for
from viz.pages._figure import show
from viz.pages._sentence import example_pills, source_input
from viz.pages._training_heads import heads_section, pick_attention
from viz.session import clamp_choice, current_choice, current_theme
from viz.text_session import WORDS, current_sentence, examples_of
from viz.training_session import (
    SECONDS_A_STEP,
    SnapshotRuns,
    is_playing,
    mean_probability,
    model_with_snapshots,
    play,
    play_on,
    snapshot_model,
    snapshot_runs,
    snapshots_of,
    stop_playing,
)

TARGETS = {"given": "The finished model's translation", "own": "What it writes at this step"}


def snapshots_tab() -> None:
    """Draw the tab."""
    name = model_with_snapshots()
    snapshots = None if name is None else snapshots_of(name)
    if name is None or snapshots is None:
        st.info(
            "None of the models here came with snapshots of its training. Train one with `python -m "
            "transformer train --snapshots 12` into a folder of `assets/models`, or watch a small model "
            "learn under “Train one now”."
        )
        return
    _which(name, snapshots)
    _sentence(name)
    _moment(name, snapshots)


def _which(name: str, snapshots: Snapshots) -> None:
    choice = current_choice()
    st.markdown(
        f"**{name}** was kept at {len(snapshots.steps)} moments of its {snapshots.steps[-1]:,} updates, from "
        "its first random weights to the finished model. Each of them runs your sentence: move the slider, "
        "or press Play, and see the attention form while the loss falls."
    )
    if choice.random:
        st.caption(f"A random model has learned nothing, so this is the training of {name}.")
    elif choice.name != name:
        st.caption(f"{choice.name} came without snapshots of its training, so this is that of {name}.")


def _sentence(name: str) -> None:
    source_input(snapshot_model(name, 0, current_choice().device))
    example_pills(examples_of(name), WORDS)


@st.fragment
def _moment(name: str, snapshots: Snapshots) -> None:
    """One moment; while it plays, a clock calls this again and again, for one moment after the other."""
    play_on(snapshots)
    clock(SECONDS_A_STEP if is_playing() else None, key="snapshot_clock")
    chart = st.container()
    step = _pick_step(snapshots)
    try:
        with st.spinner("Running the model of this step …", show_time=True):
            text = current_sentence()
            check_length(snapshot_model(name, step, current_choice().device), text)
            runs = snapshot_runs(name, snapshots, step, text)
    except SentenceError as error:
        stop_playing()
        st.warning(str(error))
        return
    except CheckpointError as error:
        stop_playing()
        st.warning("This snapshot can't be opened. Choose another step.")
        st.text(str(error))
        return
    with chart:
        _curve(name, snapshots, step)
    _translations(runs, step, snapshots.steps[-1])
    with st.container(horizontal=True, gap="medium"):
        attention = pick_attention()
        with st.container(width="content"):
            run = runs.given if _pick_target() == "given" else runs.own
    unit = snapshot_model(name, step, current_choice().device).target.unit
    heads_section(run.trace, attention, unit, look_for(attention, unit), "snapshots")


def _pick_step(snapshots: Snapshots) -> int:
    clamp_choice("step", snapshots.steps)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        step: int = st.select_slider(
            "Updates so far",
            snapshots.steps,
            snapshots.steps[-1],
            key="step",
            bind="query-params",
            format_func="{:,}".format,
            help="Each stop has half as many updates as the next one: in the beginning a model changes fast.",
            width="stretch",
        )
        if is_playing():
            st.button("Stop", key="snapshots_stop", on_click=stop_playing)
        else:
            st.button("Play", key="snapshots_play", on_click=play, args=(snapshots,))
    return step


def _curve(name: str, snapshots: Snapshots, step: int) -> None:
    history = snapshots.history
    figure = training_course(
        Course(history.steps, history.losses, history.learning_rates),
        theme=current_theme(),
        n_steps=snapshots.steps[-1],
        marks=Marks(snapshots.steps, step),
        logarithmic=True,
    )
    show(
        figure,
        name=f"training-of-{name}",
        caption="Above: the loss of each batch before its update, in nats: how surprised the model was by "
        "the right next words. Diamonds are the snapshots, the dotted line is the chosen one. Below: how far "
        "an update went.",
        key="snapshot_course",
    )


def _translations(runs: SnapshotRuns, step: int, last: int) -> None:
    left, right = st.columns(2)
    with left, st.container(border=True, height="stretch"):
        st.markdown(f"**After {step:,} updates it writes**")
        st.text(_text(runs.own))
    with right, st.container(border=True, height="stretch"):
        st.markdown(f"**After all {last:,} updates it writes**")
        st.text(_text(runs.finished))
        st.caption(
            f"At the chosen step the model gives each word of it {mean_probability(runs.given):.1%} on "
            "average (geometric mean), when it has read the right words before it."
        )


def _text(run: Run) -> str:
    return visible(run.translation, len(run.translation)) if run.translation else "(nothing)"


def _pick_target() -> str:
    target: str = st.segmented_control(
        "The target that the decoder reads",
        list(TARGETS),
        default="given",
        required=True,
        format_func=TARGETS.__getitem__,
        key="snapshot_target",
        bind="query-params",
        help="With the finished model's translation, each step reads the same words: what changes in the "
        "pictures is the attention alone. With its own words, you see the model as it would have been used.",
    )
    return target
