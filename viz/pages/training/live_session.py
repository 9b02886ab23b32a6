"""The training run that a user watches; it belongs to their browser session and ends with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from transformer.data.tasks import TASKS, SymbolTask
from transformer.loaded import LoadedModel
from transformer.run import Run, encode_sentence, force, run_sentence
from transformer.text.coder import EncodedSentence
from transformer.text.words import clean
from transformer.training.live.run import FullError, LiveTraining, TrainingSlots, UserTraining
from transformer.training.plan import TaskName, TrainingPlan
from viz.pages.training.runs import check_length
from viz.session import TOP_K, n_workers
from viz.text_session import right_answers_of

LEAST_SLOTS = 2
_REFUSAL, _RUNS, _PACE = "why no training started", "latest runs of the training", "pace of the training"


@dataclass(frozen=True)
class LiveRuns:
    """The runs of a sentence in the model at one step.

    Attributes:
        step: updates so far.
        loaded: the model.
        right: the correct answer as text, if known.
        own: the run with the target that the model generates.
        given: the run with the correct target, if known.
    """

    step: int
    loaded: LoadedModel
    right: str | None
    own: Run
    given: Run | None


@st.cache_resource(show_spinner=False)
def _slots() -> TrainingSlots:
    """The slots for active training runs of this process: half of the processors are left for the pages."""
    on_machine = max(LEAST_SLOTS, (os.cpu_count() or 1) // 2)
    return TrainingSlots(max(1, on_machine // n_workers()))


@st.cache_resource(scope="session", on_release=UserTraining.close, show_spinner=False)
def _user_training() -> UserTraining:
    """The user's training run, which ends when their browser disconnects."""
    return UserTraining(_slots())


def current_training() -> LiveTraining | None:
    """The user's training run; None before the first. Each call keeps it alive."""
    training = _user_training().training
    if training is not None:
        training.keep_alive()
    return training


def start_training(plan: TrainingPlan) -> None:
    """Start a training run, replacing the current one. To be called from a callback."""
    _try(lambda: _user_training().begin(plan))


def resume_training() -> None:
    """Resume the training run. To be called from a callback."""
    training = _user_training().training
    if training is not None:
        _try(training.start)


def pause_training() -> None:
    """Pause the training run after its current update. To be called from a callback."""
    training = _user_training().training
    if training is not None:
        training.stop()


def end_training() -> None:
    """End the training run and remove its files. To be called from a callback."""
    _user_training().close()
    st.session_state.pop(_REFUSAL, None)


def _try(start: Callable[[], None]) -> None:
    st.session_state.pop(_REFUSAL, None)
    try:
        start()
    except FullError as error:
        st.session_state[_REFUSAL] = str(error)
    except OSError as error:
        st.session_state[_REFUSAL] = (
            f"The training could not be started ({error}). Free some disk space or memory, then try again."
        )


def refusal() -> str:
    """Why the user's last training run did not start; "" if it did."""
    return str(st.session_state.get(_REFUSAL, ""))


def runs_at(training: LiveTraining, text: str, moment: int | None) -> LiveRuns | None:
    """The runs of a sentence in the current model (`moment` None), or in one saved at an earlier step.

    None if there is no model yet. The latest runs are cached, so that nothing is computed twice in a row.

    Raises:
        SentenceError: the sentence can't be run; the message is for users.
        OSError: the saved weights can't be read.
    """
    found = training.model(moment)
    if found is None:
        return None
    step, loaded = found
    key = (str(training.folder.out), step, text)
    kept: tuple[object, LiveRuns] | None = st.session_state.get(_RUNS)
    if kept is not None and kept[0] == key:
        return kept[1]
    spelled = TASKS[training.task].spell(text)
    check_length(loaded, spelled)
    own = run_sentence(loaded, spelled, top_k=TOP_K)
    right = right_answer(training.task, text, own.source)
    given = None
    if right is not None:
        target = encode_sentence(loaded, "target", right, "correct answer")
        given = force(loaded, own.source, target, top_k=TOP_K)
    runs = LiveRuns(step, loaded, right, own, given)
    st.session_state[_RUNS] = (key, runs)
    return runs


def right_answer(name: TaskName, text: str, source: EncodedSentence) -> str | None:
    """The correct answer of a task to a sentence, as typed (`text`) and as the model reads it (`source`).

    None if it is unknown: for unknown symbols, or if the sentence is not one of the examples.
    """
    task = TASKS[name]
    if isinstance(task, SymbolTask):
        if any(source.unknown):
            return None  # sort can't order them, and no training teaches a model what to write
        return " ".join(task.solve(source.tokens).target)
    known = right_answers_of(name)
    return next(iter(known.get(clean(text), ())), None)


def seconds_left(training: LiveTraining, step: int) -> float | None:
    """The remaining seconds at the pace since this process was first seen; None until that is known."""
    process = (str(training.folder.out), training.process_id)
    now = time.monotonic()
    known, since, first = st.session_state.get(_PACE, (None, now, step))
    if known != process:
        st.session_state[_PACE] = (process, now, step)
        return None
    done = step - first
    return (now - since) / done * (training.n_steps - step) if done > 0 else None
