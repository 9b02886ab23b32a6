"""A user's scenes in order, and their form for the browser."""

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
_STILLS = "stills for the page"
_STEPS = "history steps"
_FULL = (
    f"There is room for {MOST_SCENES} scenes. Delete some on the page Scenes, or save them as a file and "
    "start over."
)


def kept_scenes() -> tuple[Scene, ...]:
    """The user's scenes, in order."""
    kept: tuple[Scene, ...] = st.session_state.get(_SCENES, ())
    return kept


def put_scenes(scenes: Sequence[Scene]) -> None:
    """Set the user's scenes."""
    st.session_state[_SCENES] = tuple(scenes)
    st.session_state[_REVISION] = revision() + 1
    st.session_state.pop(_NOTE, None)


def revision() -> int:
    """The number of times this session has changed the scenes."""
    changes: int = st.session_state.get(_REVISION, 0)
    return changes


def note() -> str:
    """What the last view was saved as, or why it was not, or why the last change was not made."""
    return str(st.session_state.get(_NOTE, ""))


def request_page(stills: JSON) -> None:
    """Have the page Scenes save all scenes as a page. To be called from a callback.

    Args:
        stills: one SVG per scene, "" for none, from the browser and so untrusted.
    """
    if isinstance(stills, list):
        st.session_state[_STILLS] = tuple(each if isinstance(each, str) else "" for each in stills)


def requested_stills() -> tuple[str, ...] | None:
    """The stills for a page to be made now, once; None if none was requested."""
    stills: tuple[str, ...] | None = st.session_state.pop(_STILLS, None)
    return stills


def history_steps() -> int:
    """The number of history steps in this session; to be called once per run."""
    st.session_state[_STEPS] = st.session_state.get(_STEPS, 0) + is_history_step()
    steps: int = st.session_state[_STEPS]
    return steps


def keep_moment(page: str, moment: JSON) -> None:
    """Save what the user sees now as a scene. To be called from a callback.

    Args:
        page: one of `TITLES`.
        moment: the caption and the picture's name, from the browser and so untrusted.
    """
    try:
        if not isinstance(moment, dict):
            return
        if len(kept_scenes()) >= MOST_SCENES:
            raise SceneError(_FULL)
        own = {name: moment[name] for name in ("caption", "place") if name in moment}
        scene = scene_of(_current_view(page) | own)
    except SceneError as error:
        st.session_state[_NOTE] = f"Not kept: {error}"
    else:
        put_scenes([*kept_scenes(), scene])
        # Short, because it appears at the foot of the sidebar.
        place = f"Kept as scene {len(kept_scenes())}, from {TITLES[scene.page]}."
        st.session_state[_NOTE] = f"{place} Edit or save it on the page Scenes."


def replace_scenes(changed: JSON) -> None:
    """Set the scenes after the user has changed them in the browser. To be called from a callback."""
    try:
        put_scenes(scenes_of(changed))
    except SceneError as error:
        st.session_state[_NOTE] = f"Not changed: {error}"


def restore_scenes(remembered: JSON) -> None:
    """Restore the scenes that the browser stored across a reload. To be called from a callback."""
    if revision() == 0:
        try:
            put_scenes(scenes_of(remembered))
        except SceneError:
            put_scenes(())


def scene_data(scene: Scene) -> dict[str, Any]:
    """A scene for the browser: its data, what to say of it, and the names of its picture."""
    return {
        "scene": scene.data(),
        "title": scene.title,
        "sentence": scene.sentence,
        "pictures": [*scene.pictures],
        "isStill": scene.is_still,
        "lack": lack(scene),
    }


def lack(scene: Scene) -> str:
    """The message about a scene's missing model; "" if nothing is missing."""
    opened = checkpoint_slot().opened
    if scene.checkpoint:
        if opened is not None and opened.label == scene.checkpoint:
            return ""
        return f"It needs your checkpoint {scene.checkpoint}. Open it on the page Checkpoint."
    if scene.model and scene.model not in models():
        return f"It needs the model {scene.model}, which is not available here."
    return ""


def _current_view(page: str) -> dict[str, Any]:
    """All values in the address, and those omitted from it because they are defaults or too long."""
    # A projector's large type is a setting of the room, not part of the view.
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
    """The page at a path of the address; "" if it doesn't show a model."""
    page = url_path or next(iter(TITLES))
    return page if page in TITLES else ""
