"""What a user has kept: their scenes, in order; and what the browser is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from viz.components.shared.client_view import JSON
from viz.opened_checkpoint import is_opened
from viz.page_titles import TITLES
from viz.scenes import MOST_SCENES, Scene, SceneError, scene_of, scenes_of
from viz.session import LARGE, MODEL, checkpoint_slot, current_model, models
from viz.streamlit_private import is_history_step
from viz.text_session import SYMBOLS, WORDS, boxes_of

_SCENES = "scenes"
_REVISION = "revision of the scenes"
_NOTE = "note on the scenes"
_STEPS = "history steps"
_FULL = (
    f"There is room for {MOST_SCENES} scenes: delete some on the page Scenes, or save them as a file and "
    "begin again."
)


def kept_scenes() -> tuple[Scene, ...]:
    """What this user has kept, in order."""
    kept: tuple[Scene, ...] = st.session_state.get(_SCENES, ())
    return kept


def put_scenes(scenes: Sequence[Scene]) -> None:
    """Make these the user's scenes."""
    st.session_state[_SCENES] = tuple(scenes)
    st.session_state[_REVISION] = revision() + 1
    st.session_state.pop(_NOTE, None)


def revision() -> int:
    """How often this session has changed the scenes: 0 before anything was kept or brought back."""
    changes: int = st.session_state.get(_REVISION, 0)
    return changes


def note() -> str:
    """Say why the last moment was not kept; "" if it was."""
    return str(st.session_state.get(_NOTE, ""))


def history_steps() -> int:
    """How often the address has decided on everything in this session; to be asked once in each run."""
    st.session_state[_STEPS] = st.session_state.get(_STEPS, 0) + is_history_step()
    steps: int = st.session_state[_STEPS]
    return steps


def keep_moment(page: str, told: JSON) -> None:
    """Keep what the user sees now. To be called from a callback.

    Args:
        page: one of `TITLES`.
        told: as the browser sent it: the caption, and where the page is scrolled to.
    """
    try:
        if not isinstance(told, dict):
            return
        if len(kept_scenes()) >= MOST_SCENES:
            raise SceneError(_FULL)
        scene = scene_of(_moment(page) | {name: told[name] for name in ("caption", "place") if name in told})
    except SceneError as error:
        st.session_state[_NOTE] = f"Not kept: {error}"
    else:
        put_scenes([*kept_scenes(), scene])


def replace_scenes(told: JSON) -> None:
    """Take the scenes as the user has changed them in the browser. To be called from a callback."""
    try:
        put_scenes(scenes_of(told))
    except SceneError as error:
        st.session_state[_NOTE] = f"Not changed: {error}"


def bring_back(told: JSON) -> None:
    """Take what the browser remembers from before the page was loaded again. To be called from a callback."""
    if revision() == 0:
        try:
            put_scenes(scenes_of(told))
        except SceneError:
            put_scenes(())


def scene_data(scene: Scene) -> dict[str, Any]:
    """Tell the browser of a scene: what it is, what it is called, and what it lacks here."""
    return {"scene": scene.data(), "title": scene.title, "lack": lack(scene)}


def lack(scene: Scene) -> str:
    """Say which model a scene needs that is not here; "" where there is nothing to say."""
    opened = checkpoint_slot().opened
    if scene.checkpoint:
        if opened is not None and opened.label == scene.checkpoint:
            return ""
        return f"It needs your checkpoint {scene.checkpoint}: open that on the page Checkpoint."
    if scene.model and scene.model not in models():
        return f"It needs the model {scene.model}, which is not here."
    return ""


def _moment(page: str) -> dict[str, Any]:
    """Everything that the address says; and what it leaves out as the default, or for its length."""
    # A projector's large type belongs to the room, not to the moment.
    choices: dict[str, Any] = {
        name: st.query_params.get_all(name) for name in st.query_params if name != LARGE
    }
    model = st.session_state[MODEL]
    opened = checkpoint_slot().opened
    if not is_opened(model):
        choices[MODEL] = model
    texts = {name: st.session_state[name] for name in _texts_of(page)}
    choices |= {name: text for name, text in texts.items() if text}
    label = opened.label if opened is not None and opened.name == model else ""
    return {"page": page, "choices": choices, "checkpoint": label}


def _texts_of(page: str) -> tuple[str, ...]:
    boxes = boxes_of(current_model())
    return {"masks": (boxes.batch,), "training": (WORDS.text, SYMBOLS)}.get(page, (boxes.text, boxes.target))


def page_of(url_path: str) -> str:
    """The page that a path of the address leads to; "" for one that shows no model."""
    page = url_path or next(iter(TITLES))
    return page if page in TITLES else ""
