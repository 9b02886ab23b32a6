"""What the server keeps: models and runs, shared and never changed; and what a user has chosen, theirs.

The home of `st.cache_resource` and `st.session_state`; `viz.text_session` holds what users type, and other
sessions the parts of single pages. Pages read `current_model()` and `current_theme()`; the sidebar writes
what these read under the keys named here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
import torch

from transformer.checkpoints.folder import ModelSummary, open_saved, summarize
from transformer.checkpoints.places import shipped_models
from transformer.checkpoints.random_model import random_model, with_norms
from transformer.device import choose_device
from transformer.errors import CheckpointError, SentenceError
from transformer.loaded import LoadedModel
from transformer.model.config import NormPosition, TransformerConfig
from transformer.model.trace import Trace
from transformer.model.transformer import Transformer
from transformer.run import OnStep, Run, encode_sentence, run_again, run_sentence, trace_batch
from transformer.text.coder import Unit
from viz.opened_checkpoint import CheckpointSlot, is_opened
from viz.run_cache import RunCache
from viz.theme import Theme, palette

RANDOM = "random"
"""The model choice that is freshly initialised instead of opened."""
RANDOM_MAX_LEN = 512
RUN_CACHE_BYTES = 2**30
TOP_K = 8
MODEL = "model"
"""The key of the model picker."""
_NEXT = "next model"
LARGE = "large"
"""The key of the switch for large type."""
MAGNIFICATIONS = (1.375, 1.75, 2.25)
"""How much larger large type is, in a window of usual width, of a projector's, of a very wide screen's."""
_MAGNIFICATION = "magnification"
BATCH_LIMIT = 16
"""Sentences of a batch: more would cost every user of the server memory and be no clearer."""


@dataclass(frozen=True)
class RandomSizes:
    """What can be chosen of a freshly initialised model."""

    encoder_layers: int
    decoder_layers: int
    n_heads: int
    d_model: int
    seed: int


@dataclass(frozen=True)
class ModelChoice:
    """Which model, where: hashable, so that it names the model in every cache.

    Attributes:
        name: a shipped model; of a random one, the model whose vocabularies it has.
        random: its sizes, or None for the trained model.
        device: "cpu", "cuda" or "mps".
    """

    name: str
    random: RandomSizes | None
    device: str


def _forget(model: str) -> None:
    """Drop the runs of the model that choices call so."""

    def is_about(key: Any) -> bool:
        return any(isinstance(part, ModelChoice) and part.name == model for part in key)

    run_cache().forget(is_about)


@st.cache_resource(show_spinner=False)
def run_cache() -> RunCache:
    """Keep the latest runs of all users."""
    return RunCache(RUN_CACHE_BYTES)


def load_model(choice: ModelChoice) -> LoadedModel:
    """The model of a choice, frozen: one for all users, or what this user has opened.

    Raises:
        CheckpointError: when a shipped model's folder is broken, a checkpoint is no longer open, or the
            device's memory is too small.
        ConfigError: when sizes make no model.
        DeviceError: when there is no such device.
    """
    try:
        if is_opened(choice.name):
            return checkpoint_slot().own(choice.name).model(choose_device(choice.device))
        return _load_shared(choice)
    except torch.OutOfMemoryError as error:
        raise CheckpointError(
            f"The memory of {choice.device} is too small for this model: choose another device or model."
        ) from error


@st.cache_resource(max_entries=8, show_spinner="Opening the model …")
def _load_shared(choice: ModelChoice) -> LoadedModel:
    device = choose_device(choice.device)
    opened = open_saved(choice.name, device)
    if choice.random is None:
        return opened
    sizes = choice.random
    config = replace(
        opened.model.config,
        n_encoder_layers=sizes.encoder_layers,
        n_decoder_layers=sizes.decoder_layers,
        n_heads=sizes.n_heads,
        n_kv_heads=0,
        d_head=0,
        d_model=sizes.d_model,
        d_ff=4 * sizes.d_model,
        max_len=RANDOM_MAX_LEN,
    )
    return replace(opened, name=RANDOM, model=random_model(config, sizes.seed, device))


@st.cache_resource(max_entries=8, show_spinner="Drawing random weights …")
def _twin(
    config: TransformerConfig, seed: int, device: str, norm_position: NormPosition | None
) -> Transformer:
    if norm_position is not None:
        config = with_norms(config, norm_position)
    return random_model(config, seed, choose_device(device))


def models() -> list[str]:
    """What the model picker offers: the shipped models first, what this user has opened, and `RANDOM`."""
    opened = checkpoint_slot().opened
    own_models = [opened.name] if opened is not None and opened.imported.loaded is not None else []
    return [*shipped_models(), *own_models, RANDOM]


@st.cache_resource(scope="session", on_release=CheckpointSlot.close, show_spinner=False)
def checkpoint_slot() -> CheckpointSlot:
    """Give each user their own; when their browser goes away, what they opened goes with it."""
    return CheckpointSlot(forget=_forget)


@st.cache_resource(show_spinner=False)
def model_summary(name: str) -> ModelSummary:
    """What a shipped model is, read without its weights.

    Raises:
        CheckpointError: when its folder is broken.
    """
    return summarize(name)


def use_next(model: str) -> None:
    """Let the model picker, which has been drawn already, stand on this model the next time."""
    st.session_state[_NEXT] = model


def take_next() -> None:
    """Move the model picker to where `use_next` said; before it is drawn."""
    if _NEXT in st.session_state:
        st.session_state[MODEL] = st.session_state.pop(_NEXT)


def choose_model(choice: ModelChoice) -> None:
    """Make this the user's model, for every page."""
    st.session_state["choice"] = choice


def current_choice() -> ModelChoice:
    """The model that this user has chosen in the sidebar."""
    return st.session_state["choice"]


def current_model() -> LoadedModel:
    """The model of `current_choice`, loaded."""
    return load_model(current_choice())


def token_unit() -> Unit:
    """What a token of the current model is; one of sub-words on either side counts as such."""
    loaded = current_model()
    return loaded.source.unit if loaded.source.unit == loaded.target.unit else "sub-word"


def current_theme() -> Theme:
    """The colours of what this user's browser shows now."""
    return palette("dark" if st.context.theme.type == "dark" else "light")


def magnification() -> float:
    """How much larger than usual this user's browser shows everything."""
    return window_magnification() if st.session_state.get(LARGE) else 1.0


def window_magnification() -> float:
    """How much larger large type is in the window of this user's browser, as far as it has said."""
    known: float = st.session_state.get(_MAGNIFICATION, MAGNIFICATIONS[0])
    return known


def keep_magnification(told: object) -> None:
    """Keep what a browser says that it magnifies by. To be called from a callback."""
    if told in MAGNIFICATIONS:
        st.session_state[_MAGNIFICATION] = told


def run_of(choice: ModelChoice, text: str, target: str = "", on_step: OnStep | None = None) -> Run:
    """The run of a sentence in a model, from the cache or computed now.

    Raises:
        SentenceError: for a sentence that can't be run; the message is for users.
    """
    loaded = load_model(choice)
    return run_cache().get_by_steps(
        ("run", choice, text, target),
        lambda tell: run_sentence(loaded, text, target, top_k=TOP_K, on_step=tell),
        on_step,
    )


def twin_run(
    choice: ModelChoice, text: str, target: str, seed: int, norm_position: NormPosition | None = None
) -> Run:
    """The same input as in `run_of`, its target forced, in a random model of the same configuration.

    Its norms are at another place if one is given.
    """
    original, loaded = run_of(choice, text, target), load_model(choice)
    twin = replace(loaded, name=RANDOM, model=_twin(loaded.model.config, seed, choice.device, norm_position))
    return run_cache().get(
        ("twin", choice, text, target, seed, norm_position), lambda: run_again(twin, original, top_k=TOP_K)
    )


def batch_of(choice: ModelChoice, texts: Sequence[str]) -> Trace:
    """Several sentences as one padded batch, each with the target that the model generates for it.

    Raises:
        SentenceError: naming the sentence that can't be run.
    """
    if len(texts) > BATCH_LIMIT:
        raise SentenceError(
            f"These are {len(texts):,} sentences; a batch here takes at most {BATCH_LIMIT}. Remove some."
        )
    loaded = load_model(choice)
    named = ((text, f"sentence {number}") for number, text in enumerate(texts, start=1))
    sources = [encode_sentence(loaded, "source", text, name) for text, name in named]
    if not sources:
        raise SentenceError("Type at least one sentence.")
    return run_cache().get(("batch", choice, tuple(texts)), lambda: trace_batch(loaded, sources))
