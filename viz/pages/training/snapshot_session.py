"""State of the Training page for a finished training run: snapshots and their runs of a sentence, shared."""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st

from transformer.checkpoints.places import shipped_models
from transformer.device import choose_device
from transformer.errors import CheckpointError
from transformer.loaded import LoadedModel
from transformer.run import Run, encode_sentence, force, run_sentence
from transformer.training.snapshots import Snapshots, open_snapshots
from viz.session import TOP_K, current_choice, run_cache

MOST_SNAPSHOTS = 24
"""Models kept open: those of one training run."""
SECONDS_A_STEP = 1.5
"""During playback; long enough to see what has changed."""

STEP = "step"
"""Widget key of the slider over the snapshots."""
_PLAYED_AT = "time of the played snapshot"


@dataclass(frozen=True)
class SnapshotRuns:
    """The runs of a sentence in the model at one step.

    Attributes:
        own: the run with the target that the model generates.
        given: the run with the target that the finished model generates: the same at each step, so that the
            attention of two steps can be compared cell by cell.
        finished: the finished model's own run.
    """

    own: Run
    given: Run
    finished: Run


def current_snapshots() -> Snapshots | None:
    """The snapshots of the chosen model, else of the first shipped model that has any, else None."""
    choice = current_choice()
    chosen = [] if choice.random else [choice.name]
    return next(filter(None, map(_snapshots_of, (*chosen, *shipped_models()))), None)


@st.cache_resource(max_entries=8, show_spinner=False)
def _snapshots_of(name: str) -> Snapshots | None:
    """The snapshots of a shipped model; None if there are none or they can't be read."""
    try:
        return open_snapshots(name)
    except CheckpointError:
        return None


def snapshot_model(snapshots: Snapshots, step: int) -> LoadedModel:
    """The model at a step, frozen.

    Raises:
        CheckpointError: its files are missing or damaged.
        ValueError: the step has no snapshot.
    """
    return _model(snapshots, step, current_choice().device)


@st.cache_resource(
    max_entries=MOST_SNAPSHOTS,
    show_spinner=False,
    hash_funcs={Snapshots: lambda snapshots: str(snapshots.folder)},
)
def _model(snapshots: Snapshots, step: int, device: str) -> LoadedModel:
    return snapshots.open(step, choose_device(device))


def snapshot_runs(snapshots: Snapshots, step: int, text: str) -> SnapshotRuns:
    """The runs of a sentence in the model at a step, from the cache or computed now.

    Raises:
        CheckpointError: the snapshot's files are missing or damaged.
        SentenceError: the sentence can't be run; the message is for users.
    """
    finished = _own_run(snapshots, snapshots.steps[-1], text)
    loaded = snapshot_model(snapshots, step)
    given: Run = run_cache().get(
        ("snapshot, given", str(snapshots.folder), step, current_choice().device, text),
        lambda: force(loaded, encode_sentence(loaded, "source", text, "sentence"), finished.target),
    )
    return SnapshotRuns(own=_own_run(snapshots, step, text), given=given, finished=finished)


def _own_run(snapshots: Snapshots, step: int, text: str) -> Run:
    loaded = snapshot_model(snapshots, step)
    run: Run = run_cache().get(
        ("snapshot, own", str(snapshots.folder), step, current_choice().device, text),
        lambda: run_sentence(loaded, text, top_k=TOP_K),
    )
    return run


def is_playing() -> bool:
    """True while the user's snapshots are playing."""
    return _PLAYED_AT in st.session_state


def play(snapshots: Snapshots) -> None:
    """Play the snapshots from the chosen one or, after the last, from the first. For callbacks."""
    st.session_state[_PLAYED_AT] = time.monotonic()
    if st.session_state.get(STEP, snapshots.steps[-1]) == snapshots.steps[-1]:
        st.session_state[STEP] = snapshots.steps[0]


def stop_playing() -> None:
    """Stop at the current snapshot."""
    st.session_state.pop(_PLAYED_AT, None)


def play_on(snapshots: Snapshots) -> None:
    """Choose the next snapshot once the current one was shown long enough; stop after the last."""
    now = time.monotonic()
    if not is_playing() or now - st.session_state[_PLAYED_AT] < SECONDS_A_STEP / 2:
        return
    later = [step for step in snapshots.steps if step > st.session_state[STEP]]
    if later:
        st.session_state[STEP], st.session_state[_PLAYED_AT] = later[0], now
    else:
        stop_playing()
