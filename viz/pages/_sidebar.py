"""The sidebar: which model, on which device, in which theme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from transformer.checkpoints.folder import LoadedModel, ModelSummary, shipped_models
from transformer.device import available_devices
from transformer.errors import CheckpointError
from transformer.model.config import TransformerConfig
from viz.checkpoint_session import reload_closed
from viz.components.theme_switch import theme_choice
from viz.opened_models import is_opened
from viz.pages._languages import language
from viz.session import (
    RANDOM,
    ModelChoice,
    RandomSizes,
    choose_model,
    clamp_choice,
    current_model,
    model_summary,
    models,
    shelf,
    take_next,
)
from viz.text_session import begin_numbers

LAYERS = (1, 2, 3, 4, 5, 6)
HEADS = (1, 2, 4, 8, 16)
D_MODELS = (32, 64, 128, 256, 512)

OPENED = "your checkpoint"
CLOSED_NOTE = (
    "Your checkpoint was closed when the page was loaded again: open it once more on the page Checkpoint."
)
NORMS = {"layer": "", "rms": " (RMS)", "layer_unbiased": " (unbiased)"}
RANDOM_NOTE = "Random weights, in the sizes you choose"
VOCABULARY_NOTE = "Which words or sub-words it reads and writes: those of this trained model."
MODEL_NOTE = "Trained, to see what training found; or random, to see what the architecture does by itself."


def sidebar() -> None:
    """Draw the pickers, and make what they say this person's choice."""
    asked = st.query_params.get("model")  # before the picker takes out what is none of its models
    with st.sidebar:
        name = chosen = _pick_model()
        is_random = name == RANDOM
        sizes = _random_sizes() if is_random else None
        name = _pick("Vocabulary of", shipped_models(), "vocabulary", VOCABULARY_NOTE) if is_random else name
        device = _pick(
            "Device", available_devices(), "device", "Where the model runs. The fastest stands first."
        )
        choose_model(ModelChoice(name=name, random=sizes, device=device))
        loaded = _open()
        begin_numbers(loaded)
        model = loaded.model
        st.caption(describe(model.config, sum(p.numel() for p in model.parameters())))
        theme_choice(key="theme")
    if reload_closed(was_asked_for=asked == OPENED, chosen=chosen):
        st.info(CLOSED_NOTE)


def describe(config: TransformerConfig, n_parameters: int) -> str:
    """A model in one line."""
    sides = {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers}
    layers = " and ".join(f"{n} {side}" for side, n in sides.items() if n)
    heads = f"{config.n_heads} heads"
    if config.n_kv_heads != config.n_heads:
        heads += f" ({config.n_kv_heads} of keys and values)"
    return (
        f"{count(n_parameters)} parameters, {layers} layers of {heads}, d_model {config.d_model}, "
        f"{config.norm_position}-norm{NORMS[config.norm]}, {config.positions} positions, at most "
        f"{config.max_len} tokens"
    )


def count(n_parameters: int) -> str:
    """Parameters, large numbers in millions."""
    return f"{n_parameters / 1e6:.1f} M" if n_parameters >= 100_000 else f"{n_parameters:,}"


def in_words(summary: ModelSummary) -> str:
    """Say what a model reads and writes, and how large it is."""
    source, target = summary.languages
    between = f"{language(source)} to {language(target)} " if source and target else ""
    if summary.units == ("word", "word"):
        known = " and ".join(f"{size:,}" for size in summary.vocabulary_sizes)
        what = f"by whole words: {known} of them, no others"
    else:
        what = "by sub-words: whatever you type"
    said = between + what
    return f"{said[0].upper()}{said[1:]}. {count(summary.n_parameters)} parameters"


def _pick_model() -> str:
    take_next()
    options = models()
    clamp_choice("model", options)
    captions = [_caption(name) for name in options]
    return st.radio(
        "Model",
        options,
        captions=captions,
        format_func=_label,
        key="model",
        help=MODEL_NOTE,
        bind="query-params",
    )


def _label(name: str) -> str:
    return OPENED if is_opened(name) else name


def _open() -> LoadedModel:
    """The chosen model; without one there is no page, only the reason."""
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
            return f"{shelf().own(name).imported.report.family_label}, opened on the page Checkpoint"
        return in_words(model_summary(name))
    except CheckpointError:
        return "It can't be opened."


def _random_sizes() -> RandomSizes:
    left, right = st.columns(2)
    with left:
        encoder_layers = _pick("Encoder layers", LAYERS, "enc", default=2)
        n_heads = _pick("Heads", HEADS, "heads", default=4)
    with right:
        decoder_layers = _pick("Decoder layers", LAYERS, "dec", default=2)
        d_model = _pick("d_model", D_MODELS, "d_model", "Width of the residual stream.", 128)
    seed = st.number_input(
        "Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params", help="Other seed, other weights."
    )
    return RandomSizes(encoder_layers, decoder_layers, n_heads, d_model, seed)


def _pick(label: str, options: Sequence[Any], key: str, note: str | None = None, default: Any = None) -> Any:
    clamp_choice(key, options)
    index = 0 if default is None else options.index(default)
    return st.selectbox(label, options, index=index, key=key, help=note, bind="query-params")
