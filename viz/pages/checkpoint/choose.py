"""Chooses the page's checkpoint: the chosen model, a path on this machine, or an upload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st

from transformer.checkpoints.places import shipped_models
from transformer.checkpoints.reading.folder_files import SUFFIXES
from transformer.errors import CheckpointError
from viz.figures.labels import visible
from viz.opened_checkpoint import OpenedCheckpoint
from viz.pages.checkpoint.session import InspectedModel, close_opened, shipped_model
from viz.pages.shared.literal_text import escaped, refused
from viz.session import MODEL, checkpoint_slot, current_choice, current_model
from viz.widgets import set_choice

_WHERE = "checkpoint_from"
OWN, PATH, UPLOAD = "The chosen model", "A path on this machine", "Upload"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ENDINGS = [suffix.removeprefix(".") for suffix in SUFFIXES] + ["json", "txt", "model", "spm", "md", "yaml"]
UPLOAD_MEGABYTES = 200
_LONGEST = 100


def choose() -> InspectedModel | None:
    """Draw the choice; returns the checkpoint to show, or None if there is none yet."""
    where = st.segmented_control(
        "What to look at",
        [OWN, PATH, UPLOAD],
        default=OWN,
        required=True,
        key=_WHERE,
        persist_state="session",
    )
    if where == OWN:
        return _chosen()
    if where == PATH:
        _path()
    else:
        _upload()
    opened = checkpoint_slot().opened
    return None if opened is None else _opened(opened)


def is_of_random() -> bool:
    """True if the page is about the chosen model, and that has random weights."""
    return st.session_state.get(_WHERE, OWN) == OWN and current_choice().random is not None


def _chosen() -> InspectedModel | None:
    """The model chosen in the sidebar, with its report."""
    choice = current_choice()
    if is_of_random():
        _instead_of_random()
        return None
    opened = checkpoint_slot().opened
    if opened is not None and opened.name == choice.name:
        return _opened(opened)
    return shipped_model(choice.name)


def _instead_of_random() -> None:
    """Say what can be done with random weights chosen: take a trained model, or open one."""
    st.info(
        "The chosen model has random weights: there is no file to check, and nothing that it has learned. "
        "Choose a trained model, or open one of your own. The random model's architecture is drawn below."
    )
    with st.container(horizontal=True):
        for place, name in enumerate(shipped_models()):
            kind: Literal["primary", "secondary"] = "secondary" if place else "primary"
            st.button(f"Choose {name}", type=kind, on_click=set_choice, args=(MODEL, name))
        st.button("Open a path", on_click=set_choice, args=(_WHERE, PATH))
        st.button("Upload files", on_click=set_choice, args=(_WHERE, UPLOAD))


def _path() -> None:
    # With a proxy in front, the server's own address says nothing: those for browsers do.
    addresses = {st.get_option("server.address"), st.get_option("browser.serverAddress")}
    if (addresses | set(st.get_option("server.allowedHosts"))) - set(_LOOPBACK):
        st.info(
            "This app is reachable from the network, so it opens no paths on the machine that it runs on. "
            "Upload the files instead, or start it for this machine alone with `make run`."
        )
        return
    with st.form("checkpoint_path_form", border=False):
        path = st.text_input(
            "File of weights, or folder of a model",
            placeholder="/home/you/model or weights.pt",
            key="checkpoint_path",
            help="safetensors, or a file by torch.save (.pt, .pth, .ckpt, .bin); or a folder by Hugging "
            "Face's save_pretrained. No code in it is ever run.",
        )
        mapping = _mapping("checkpoint_path_map")
        pressed = st.form_submit_button("Open it")
    if pressed:
        _try(lambda: checkpoint_slot().open_path(path, mapping))


def _upload() -> None:
    with st.form("checkpoint_upload_form", border=False, clear_on_submit=True):
        files = st.file_uploader(
            "One file of weights, or all files of a model's folder",
            type=_ENDINGS,
            accept_multiple_files=True,
            max_upload_size=UPLOAD_MEGABYTES,
            key="checkpoint_upload",
            help="They stay on the machine that the app runs on, visible to you alone, until you close them, "
            "or close or reload this page. No code in them is ever run.",
        )
        mapping = _mapping("checkpoint_upload_map")
        pressed = st.form_submit_button("Open it")
    if pressed:
        _try(
            lambda: checkpoint_slot().open_uploads(((file.name, file.getbuffer()) for file in files), mapping)
        )


def _mapping(key: str) -> str | None:
    """Draw the text area for a mapping that describes an unknown layout; None if it is empty."""
    with st.expander("A layout of your own"):
        st.markdown(
            "If Headlight does not know your layout, describe here which tensor is which, in a few lines of "
            "YAML or JSON. In the folder that you open, or among the files that you upload, a file "
            "`headlight-map.yaml` does the same. `docs/checkpoints.md` has an example."
        )
        text = st.text_area(
            "Mapping file",
            key=key,
            placeholder="names:\n  words.weight: tgt_embedding.weight\n  blocks.{}.ln1: "
            "decoder.layers.{}.self_attn_norm\nconfig:\n  n_heads: 4",
            height=200,
        )
    return text if text.strip() else None


def _try(open_it: Callable[[], OpenedCheckpoint]) -> None:
    try:
        with st.spinner("Opening it: a separate process reads and checks the files …", show_time=True):
            open_it()
    except CheckpointError as error:
        refused("This can't be opened.", error)
        return
    st.rerun()  # redraw the sidebar, which does not list it yet


def _opened(opened: OpenedCheckpoint) -> InspectedModel:
    """Draw the buttons for the opened checkpoint."""
    is_used = current_choice().name == opened.name
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(f"Open: {visible(opened.label, _LONGEST)}", width="stretch")
        if opened.imported.loaded is not None:
            st.button(
                "All pages use it" if is_used else "Use it on all pages",
                type="primary",
                disabled=is_used,
                on_click=set_choice,
                args=(MODEL, opened.name),
                help="It appears among the models in the sidebar, for you alone",
            )
        st.button("Close it", on_click=close_opened, help="Uploaded files are removed")
    if not is_used and opened.imported.loaded is not None:
        st.caption(
            f"So far this page alone shows it; all others use {escaped(current_model().name)}, the model "
            "chosen in the sidebar."
        )
    return InspectedModel(opened.name, opened.imported)
