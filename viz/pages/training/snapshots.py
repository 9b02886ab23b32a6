"""The snapshots of a finished training run: one sentence, from random weights to the finished model."""

from __future__ import annotations

import streamlit as st

from transformer.errors import CheckpointError, SentenceError
from transformer.training.optimization.trainer import Trainer
from transformer.training.snapshots import Snapshots
from viz.components.bridge import clock
from viz.pages.shared.attention_words import look_for
from viz.pages.shared.caution import warn_of_unknown
from viz.pages.shared.explain import computed_by
from viz.pages.shared.figure import show
from viz.pages.shared.literal_text import show_text
from viz.pages.shared.sentence import example_pills, source_input
from viz.pages.training.heads import heads_section
from viz.pages.training.runs import check_length, mean_probability
from viz.pages.training.snapshot_session import (
    SECONDS_A_STEP,
    STEP,
    SnapshotRuns,
    current_snapshots,
    is_playing,
    play,
    play_on,
    snapshot_model,
    snapshot_runs,
    stop_playing,
)
from viz.run_figures.training import snapshots_figure
from viz.session import current_choice, current_theme
from viz.text_session import WORDS, cleaned_text, examples_of
from viz.widgets import pick

TARGETS = {"given": "The finished model's translation", "own": "What it writes at this step"}


def snapshots_tab() -> None:
    """Draw the tab."""
    snapshots = current_snapshots()
    if snapshots is None:
        st.info(
            "None of the models here has snapshots of its training. Train one with `python -m "
            "transformer train --snapshots 12` into a folder of `assets/models`, or watch a small model "
            "learn under “Train one now”."
        )
        return
    _which(snapshots)
    source_input(snapshot_model(snapshots, 0))
    example_pills(examples_of(snapshots.folder.name), WORDS)
    _moment(snapshots)


def _which(snapshots: Snapshots) -> None:
    choice, name = current_choice(), snapshots.folder.name
    st.markdown(
        f"**{name}** was saved at {len(snapshots.steps)} of its {snapshots.steps[-1]:,} updates, from "
        "random weights to the finished model. Each snapshot runs your sentence: move the slider, "
        "or press Play, and see the attention form while the loss falls."
    )
    if choice.random:
        st.caption(f"A random model has learned nothing, so this is the training run of {name}.")
    elif choice.name != name:
        st.caption(f"{choice.name} has no snapshots of its training, so this is the training run of {name}.")


@st.fragment
def _moment(snapshots: Snapshots) -> None:
    """Draw one snapshot; during playback a clock calls this repeatedly."""
    play_on(snapshots)
    clock(SECONDS_A_STEP if is_playing() else None, key="snapshot_clock")
    chart = st.container()
    step = _pick_step(snapshots)
    try:
        with st.spinner("Running the model of this step …", show_time=True):
            text = cleaned_text(WORDS.text)
            check_length(snapshot_model(snapshots, step), text)
            runs = snapshot_runs(snapshots, step, text)
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
        _curve(snapshots, step)
    loaded = snapshot_model(snapshots, step)
    warn_of_unknown(runs.own, loaded)
    _translations(runs, step, snapshots.steps[-1])
    unit = loaded.target.unit
    heads_section(
        loaded,
        runs.own,
        runs.given,
        TARGETS,
        unit=unit,
        look_for=lambda attention: look_for(attention, unit),
        note="With the finished model's translation each step reads the same words: only the attention "
        "changes in the pictures. With its own words you see the model as it would have been used.",
        key="snapshot",
    )


def _pick_step(snapshots: Snapshots) -> int:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        step = pick(
            st.select_slider,
            "Updates so far",
            snapshots.steps,
            value=snapshots.steps[-1],
            key=STEP,
            format_func="{:,}".format,
            help="Each stop has half as many updates as the next: early on, a model changes fast.",
            width="stretch",
        )
        if is_playing():
            st.button("Stop", key="snapshots_stop", on_click=stop_playing)
        else:
            st.button("Play", key="snapshots_play", on_click=play, args=(snapshots,))
    return step


def _curve(snapshots: Snapshots, step: int) -> None:
    show(
        snapshots_figure(snapshots, step, theme=current_theme()),
        name=f"training-of-{snapshots.folder.name}",
        caption="Above: the loss of each batch before its update, in nats: how surprised the model was by "
        "the correct next words. Diamonds mark the snapshots, the dotted line the chosen one. Below: the "
        "learning rate.",
        key="snapshot_course",
    )
    computed_by(Trainer.update)


def _translations(runs: SnapshotRuns, step: int, last: int) -> None:
    left, right = st.columns(2)
    with left, st.container(border=True, height="stretch"):
        st.markdown(f"**After {step:,} updates it writes**")
        show_text(runs.own.translation)
    with right, st.container(border=True, height="stretch"):
        st.markdown(f"**After all {last:,} updates it writes**")
        show_text(runs.finished.translation)
        st.caption(
            f"At the chosen step the model gives each of its words {mean_probability(runs.given):.1%} on "
            "average (geometric mean), after reading the correct words before it."
        )
