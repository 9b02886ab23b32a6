"""What the Training page keeps of a finished training: snapshots and their runs of a sentence, shared."""

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
"""Models that are kept open: those of one training run."""
SECONDS_A_STEP = 1.5
"""While snapshots are played: long enough to see what has changed."""

STEP = "step"
"""The key of the slider over the snapshots."""
_PLAYED_AT = "time of the snapshot that is played"


@dataclass(frozen=True)
class SnapshotRuns:
    """The runs of a sentence in the model of one step.

    Attributes:
        own: the run with the target that it writes itself.
        given: the run with the target that the finished model writes: the same at each step, so that the
            attention of two steps can be compared cell by cell.
        finished: the finished model's own run.
    """

    own: Run
    given: Run
    finished: Run


def current_snapshots() -> Snapshots | None:
    """Those of the chosen model if it has any, else of the first shipped one that has; None without one."""
    choice = current_choice()
    chosen = [] if choice.random else [choice.name]
    return next(filter(None, map(_snapshots_of, (*chosen, *shipped_models()))), None)


@st.cache_resource(max_entries=8, show_spinner=False)
def _snapshots_of(name: str) -> Snapshots | None:
    """The snapshots of a shipped model, if it has any that can be read."""
    try:
        return open_snapshots(name)
    except CheckpointError:
        return None


def snapshot_model(snapshots: Snapshots, step: int) -> LoadedModel:
    """The model of a step, frozen.

    Raises:
        CheckpointError: when its files are missing or damaged.
        ValueError: for a step without a snapshot.
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
    """The runs of a sentence in the model of a step, from the cache or computed now.

    Raises:
        CheckpointError: when the snapshot's files are missing or damaged.
        SentenceError: for a sentence that can't be run; the message is for users.
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
    """Whether the snapshots of this user pass by themselves."""
    return _PLAYED_AT in st.session_state


def play(snapshots: Snapshots) -> None:
    """Let the snapshots pass, from the chosen one on or, after the last, from the first. For callbacks."""
    st.session_state[_PLAYED_AT] = time.monotonic()
    if st.session_state.get(STEP, snapshots.steps[-1]) == snapshots.steps[-1]:
        st.session_state[STEP] = snapshots.steps[0]


def stop_playing() -> None:
    """Let the snapshot stay that is shown."""
    st.session_state.pop(_PLAYED_AT, None)


def play_on(snapshots: Snapshots) -> None:
    """Choose the next snapshot if this one has been shown long enough; after the last one it stops."""
    now = time.monotonic()
    if not is_playing() or now - st.session_state[_PLAYED_AT] < SECONDS_A_STEP / 2:
        return
    later = [step for step in snapshots.steps if step > st.session_state[STEP]]
    if later:
        st.session_state[STEP], st.session_state[_PLAYED_AT] = later[0], now
    else:
        stop_playing()
