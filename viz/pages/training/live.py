"""A training run that the user watches: its curves, and the attention as it forms."""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st

from transformer.errors import CheckpointError, SentenceError
from transformer.training.leaks import LEAKS
from transformer.training.live.folder import LearningCurves
from transformer.training.live.run import ACTIVE, LiveTraining, Status
from transformer.training.optimization.trainer import Trainer
from transformer.training.plan import TaskName, TrainingPlan
from viz.components.bridge import clock
from viz.figures.training import training_course
from viz.pages.shared.caution import warn_of_unknown
from viz.pages.shared.explain import computed_by
from viz.pages.shared.figure import show
from viz.pages.shared.literal_text import escaped, show_text
from viz.pages.shared.sentence import example_pills
from viz.pages.shared.tokens import show_source
from viz.pages.training.choices import TASKS, pick_plan, pick_task, what_to_look_for
from viz.pages.training.heads import heads_section
from viz.pages.training.live_session import (
    LiveRuns,
    current_training,
    end_training,
    pause_training,
    refusal,
    resume_training,
    runs_at,
    seconds_left,
    start_training,
)
from viz.pages.training.runs import mean_probability
from viz.session import current_theme
from viz.text_session import SYMBOLS, WORDS, cleaned_text, examples_of, texts_to_address
from viz.widgets import clamp_choice

LOOK_EVERY = 1.5
"""Seconds between two checks of an active run."""
SYMBOLS_NOTE = (
    "The digits 0 to 9 and the letters a to z. Capital letters are read as lowercase; spaces are ignored."
)
TARGETS = {"given": "The right answer", "own": "What it writes itself"}
NOW = "now"


Comparison = Callable[[LiveTraining], tuple[str, LearningCurves] | None]
"""Returns the name and curves of another run to compare with, or None."""


def no_comparison(_: LiveTraining) -> None:
    """Compare with no other run."""


def live_tab() -> None:
    """Draw the tab."""
    plan = pick_plan(pick_task())
    watch(plan)


@st.fragment
def watch(plan: TrainingPlan, comparison: Comparison = no_comparison) -> None:
    """Draw the training run as it is now; a clock repeats this while it runs. `plan` is the next run."""
    training = current_training()
    status = None if training is None else training.status
    _buttons(plan, status)
    if reason := refusal():
        st.warning(reason)
    clock(LOOK_EVERY if status in ACTIVE else None, key="live_clock")
    if training is None or status is None:
        st.info(
            "Nothing is being trained yet. Choose a task, press Start, and watch. The training runs in a "
            "separate process, so you can visit other pages meanwhile. It ends, and what it has learned is "
            "gone, when you close or reload this page."
        )
        return
    _state(training, status, plan)
    left, right = st.columns(2, gap="medium")
    with left:
        _course(training, comparison(training))
    with right:
        seen = _sentence(training)
    if seen is not None:
        _heads(training.task, seen)


def _buttons(plan: TrainingPlan, status: Status | None) -> None:
    """Draw the buttons that currently apply; `status` is None if there is no training run."""
    with st.container(horizontal=True):
        if status is None:
            st.button("Start", on_click=start_training, args=(plan,))
        else:
            if status in ("starting", "running"):
                st.button("Pause", on_click=pause_training)
            elif status != "finished":
                waits = status == "stopping"
                st.button("Resume", on_click=resume_training, disabled=waits)
            st.button(
                "Restart",
                on_click=start_training,
                args=(plan,),
                help="With the choices above, from the start",
            )
            st.button(
                "Stop and clear",
                on_click=end_training,
                help="Ends the training and discards what it has learned",
            )


def _state(training: LiveTraining, status: Status, plan: TrainingPlan) -> None:
    """Draw the status of the training run in a line, with a progress bar."""
    steps = training.curves().history.steps
    step = steps[-1] if steps else 0
    words = {
        "starting": "Starting the process, which takes a few seconds",
        "running": "Learning",
        "stopping": "Stopping after this update",
        "stopped": "Paused",
        "deserted": "Paused, because nobody was watching",
        "finished": "Finished",
        "failed": "Failed",
    }[status]
    left = seconds_left(training, step) if status == "running" else None
    rest = f", about {_duration(left)} left" if left is not None else ""
    st.progress(
        min(1.0, step / training.n_steps),
        text=f"{words}: {step:,} of {training.n_steps:,} updates of {TASKS[training.task]}{rest}",
    )
    if training.plan.model.leak:
        title = LEAKS[training.plan.model.leak].title
        st.caption(f"This model is trained with a mistake from the Lab: {escaped(title)}.")
    if status == "failed":
        st.warning("Training failed. The model as last saved is still there.")
        st.text(training.message)
    if status == "finished":
        st.caption("The model stays until you restart, or close or reload this page.")
    if training.plan != plan:
        st.caption("The choices above differ from those of this run. They apply when you restart it.")


def _duration(seconds: float) -> str:
    return f"{math.ceil(seconds)} seconds" if seconds < 90 else f"{math.ceil(seconds / 60)} minutes"


def _course(training: LiveTraining, other: tuple[str, LearningCurves] | None) -> None:
    curves = training.curves()
    found = training.model()
    n_tokens = None if found is None else len(found[1].target.vocabulary)
    show(
        training_course(
            curves.history,
            theme=current_theme(),
            n_steps=training.n_steps,
            chance=None if n_tokens is None else math.log(n_tokens),
            checks=(curves.checked_steps, curves.exact),
            beside=None
            if other is None
            else (other[0], other[1].history, (other[1].checked_steps, other[1].exact)),
        ),
        name="training",
        caption="Top: the loss of each batch before its update, in nats; the dotted line is the loss of a "
        "model to which every token is equally probable. Middle: the learning rate. Bottom: how many of 100 "
        "sentences outside its training data it gets right.",
        key="live_course",
    )
    computed_by(Trainer.update)


def _sentence(training: LiveTraining) -> LiveRuns | None:
    """Run a sentence in the current model, or in one saved at an earlier step."""
    text = _sentence_box(training.task)
    moment = _pick_moment(training)
    try:
        seen = runs_at(training, text, moment)
    except SentenceError as error:
        st.warning(str(error))
        return None
    except (OSError, CheckpointError) as error:
        st.warning("The model of this step can't be read. Choose another step.")
        st.text(str(error))
        return None
    if seen is None:
        st.caption("The model's first answer appears as soon as the process has started.")
    else:
        if any(seen.own.source.unknown):
            _unknown(seen, training.task)
        _answers(seen, training.task)
    return seen


def _unknown(seen: LiveRuns, task: TaskName) -> None:
    """Name the unknown symbols, and show their positions in the sentence."""
    source, is_translation = seen.own.source, task == "toy-en-it"
    if not is_translation:
        unknown = {token: None for token, is_so in zip(source.tokens, source.unknown, strict=True) if is_so}
        st.warning(
            "This task knows only the digits 0 to 9 and the letters a to z. Unknown to it: "
            + " ".join(map(escaped, unknown))
        )
    else:
        warn_of_unknown(seen.own, seen.loaded)
    show_source(
        seen.own,
        seen.loaded.source,
        key="live_strip",
        title="The sentence as the model reads it",
        unit="word" if is_translation else "symbol",
    )


def _heads(task: TaskName, seen: LiveRuns) -> None:
    heads_section(
        seen.loaded,
        seen.own,
        seen.given,
        TARGETS,
        unit="word",
        look_for=lambda attention: what_to_look_for(task, attention),
        note="With the correct answer the words stay the same while it learns, as in training: only the "
        "attention changes in the pictures. With its own words you see the model as it would be used.",
        key="live",
    )


def _sentence_box(task: TaskName) -> str:
    is_translation = task == "toy-en-it"
    key = WORDS.text if is_translation else SYMBOLS
    st.text_input(
        "English sentence" if is_translation else "Digits and letters",
        key=key,
        persist_state="session",
        placeholder="Type a sentence and press Enter" if is_translation else "Type a few and press Enter",
        help=None if is_translation else SYMBOLS_NOTE,
    )
    if is_translation:
        example_pills(examples_of(task), WORDS)
    texts_to_address()
    return cleaned_text(key)


def _pick_moment(training: LiveTraining) -> int | None:
    """Draw the list of saved steps; returns the chosen one, or None for the current model."""
    options = [*map(str, training.moments()), NOW]
    clamp_choice("moment", options)
    chosen = st.select_slider(
        "Updates so far",
        options,
        NOW,
        key="moment",
        help="Go back to an earlier model: it is saved at the start, and whenever the number of updates has "
        "doubled.",
    )
    return None if chosen == NOW else int(chosen)


def _answers(seen: LiveRuns, task: TaskName) -> None:
    with st.container(border=True):
        st.markdown(f"**After {seen.step:,} updates it writes**")
        show_text(seen.own.translation)
        st.markdown("**The correct answer**")
        if seen.right is None or seen.given is None:
            st.caption(
                "Unknown for this sentence. Try one of the examples."
                if task == "toy-en-it"
                else "Unknown: no training shows a model what to write for an unknown symbol."
            )
        else:
            show_text(seen.right)
            st.caption(
                f"The model gives each of its tokens {mean_probability(seen.given):.1%} on average "
                "(geometric mean), after reading the correct ones before it."
            )
