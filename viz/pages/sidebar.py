"""The sidebar: which model, on which device, in which theme, and the scenes."""

from __future__ import annotations

import streamlit as st

from transformer.checkpoints.places import shipped_models
from transformer.device import available_devices
from transformer.errors import CheckpointError
from transformer.loaded import LoadedModel
from viz.components.theme_switch import theme_choice
from viz.glossary import linked
from viz.opened_checkpoint import is_opened
from viz.pages.checkpoint.session import reload_closed
from viz.pages.large_type import large_type_switch
from viz.pages.scenes.panel import panel as scenes_panel
from viz.pages.shared.model_choice import D_MODELS, FIRST_SIZES, HEADS, LAYERS
from viz.pages.shared.model_words import describe, in_words
from viz.session import (
    MODEL,
    RANDOM,
    ModelChoice,
    RandomSizes,
    checkpoint_slot,
    choose_model,
    current_model,
    model_summary,
    models,
    take_next,
)
from viz.text_session import fill_boxes
from viz.widgets import pick, pick_seed

OPENED = "your checkpoint"
CLOSED_NOTE = "Your checkpoint was closed when the page was reloaded. Open it again on the page Checkpoint."
RANDOM_NOTE = "Random weights, in sizes of your choice"
VOCABULARY_NOTE = "The trained model whose words or sub-words it reads and writes."
WIDTH_NOTE = "Width of the residual stream."
DEVICE_NOTE = "Where the model runs; the fastest comes first."
MODEL_NOTE = "Trained, to see what training found; or random, to see what the architecture does alone."


def sidebar(url_path: str) -> None:
    """Draw the pickers and store the user's choice.

    Args:
        url_path: path of the current page.
    """
    asked = st.query_params.get(MODEL)  # before the picker removes a model that it does not offer
    with st.sidebar:
        name = chosen = _pick_model()
        sizes = None
        if chosen == RANDOM:
            sizes = _random_sizes()
            name = pick(
                st.selectbox, "Vocabulary of", shipped_models(), key="vocabulary", help=VOCABULARY_NOTE
            )
        device = pick(st.selectbox, "Device", available_devices(), key="device", help=DEVICE_NOTE)
        choose_model(ModelChoice(name=name, random=sizes, device=device))
        loaded = _open()
        fill_boxes(loaded)
        model = loaded.model
        st.caption(linked(describe(model.config, sum(p.numel() for p in model.parameters()))))
        theme_choice(key="theme")
        large_type_switch()
        scenes_panel(url_path)
    if reload_closed(was_asked_for=asked == OPENED, chosen=chosen):
        st.info(CLOSED_NOTE)


def _pick_model() -> str:
    take_next()
    options = models()
    captions = [_caption(name) for name in options]
    return pick(st.radio, "Model", options, key=MODEL, captions=captions, format_func=_label, help=MODEL_NOTE)


def _label(name: str) -> str:
    return OPENED if is_opened(name) else name


def _open() -> LoadedModel:
    """The chosen model; if it can't be opened, the page stops with the reason."""
    try:
        return current_model()
    except CheckpointError as error:
        st.error(str(error))
        st.stop()


def _caption(name: str) -> str:
    if name == RANDOM:
        return RANDOM_NOTE
    try:
        if is_opened(name):
            used = "in use on all pages" if name == st.session_state.get(MODEL) else "not in use"
            return f"{checkpoint_slot().own(name).imported.report.family_label}, opened on Checkpoint: {used}"
        return in_words(model_summary(name))
    except CheckpointError:
        return "Can't be opened."


def _random_sizes() -> RandomSizes:
    left, right = st.columns(2)
    first = FIRST_SIZES
    return RandomSizes(
        encoder_layers=pick(
            left.selectbox, "Encoder layers", LAYERS, key="enc", index=LAYERS.index(first.encoder_layers)
        ),
        n_heads=pick(left.selectbox, "Heads", HEADS, key="heads", index=HEADS.index(first.n_heads)),
        decoder_layers=pick(
            right.selectbox, "Decoder layers", LAYERS, key="dec", index=LAYERS.index(first.decoder_layers)
        ),
        d_model=pick(
            right.selectbox,
            "d_model",
            D_MODELS,
            key="d_model",
            index=D_MODELS.index(first.d_model),
            help=WIDTH_NOTE,
        ),
        seed=pick_seed(
            st.number_input, "Seed", key="seed", value=first.seed, help="Another seed gives other weights."
        ),
    )
