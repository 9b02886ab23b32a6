"""State on the server: models and runs, shared by all users and immutable; and each user's own choices.

`st.cache_resource` and `st.session_state` are used here; `viz.text_session` has the texts that users type,
and pages have sessions of their own. The sidebar writes a user's choice; `viz.pages.shared.sentence` reads it
once per run of a page and passes model, text and theme to the sections as one value.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import streamlit as st
import torch

from transformer.analysis.coverage import untranslated
from transformer.checkpoints.folder import ModelSummary, open_saved, summarize
from transformer.checkpoints.places import shipped_models
from transformer.checkpoints.random_model import random_model, with_norms
from transformer.device import choose_device
from transformer.errors import CheckpointError, SentenceError
from transformer.loaded import LoadedModel
from transformer.model.config import NormPosition, TransformerConfig
from transformer.model.trace import Trace
from transformer.model.transformer import Transformer
from transformer.run import OnStep, Run, encode_sentence, run_again, run_sentence
from transformer.tracing import trace_batch
from viz.opened_checkpoint import CheckpointSlot, is_opened
from viz.run_cache import RunCache
from viz.theme import Theme, palette
from viz.turns import Turns

RANDOM = "random"
"""The choice of a randomly initialised model instead of a trained one."""
RANDOM_MAX_LEN = 512
RUN_CACHE_BYTES, LEAST_RUN_CACHE_BYTES = 2**30, 2**28
"""Size of the cache of runs: of all processes of `headlight serve` together, and the least of each."""
LONGEST_TURN_SECONDS = 1.0
"""How long a run keeps those of others waiting: most take a tenth, long ones in large models much more."""
TOP_K = 8
MODEL = "model"
"""The key of the model picker."""
_NEXT = "next model"
LARGE = "large"
"""The key of the large-type switch."""
MAGNIFICATIONS = (1.375, 1.75, 2.25)
"""Factors of large type: in a window of usual width, on a projector, on a very wide screen."""
_MAGNIFICATION = "magnification"
BATCH_LIMIT = 16
"""Most sentences per batch: more would cost memory on the server for every user and show nothing new."""


@dataclass(frozen=True)
class RandomSizes:
    """The sizes and seed of a randomly initialised model."""

    encoder_layers: int
    decoder_layers: int
    n_heads: int
    d_model: int
    seed: int


@dataclass(frozen=True)
class ModelChoice:
    """Which model, on which device: hashable, and so the model's key in every cache.

    Attributes:
        name: a shipped or opened model; for a random one, the model whose vocabularies it uses.
        random: the sizes of a random model; None for a trained one.
        device: "cpu", "cuda" or "mps".
    """

    name: str
    random: RandomSizes | None
    device: str


class RunKey(NamedTuple):
    """Everything that determines a run: hashable, and so the run's key in every cache.

    Attributes:
        choice: the model.
        text: the source or prompt, as typed.
        target: the target as typed; "" if the model generates it.
    """

    choice: ModelChoice
    text: str
    target: str


def _forget(model: str) -> None:
    """Drop the runs of every model with this name."""

    def is_about(key: Any) -> bool:
        return any(isinstance(part, ModelChoice) and part.name == model for part in key)

    run_cache().forget(is_about)


@st.cache_resource(show_spinner=False)
def run_cache() -> RunCache:
    """The latest runs of all users."""
    return RunCache(max(LEAST_RUN_CACHE_BYTES, RUN_CACHE_BYTES // n_workers()))


@st.cache_resource(show_spinner=False)
def _turns() -> Turns:
    """The turns of all users' runs."""
    return Turns(LONGEST_TURN_SECONDS)


def n_workers() -> int:
    """Number of processes that serve the app on this machine; `headlight serve` sets it."""
    return int(os.environ.get("HEADLIGHT_WORKERS", "1"))


def load_model(choice: ModelChoice) -> LoadedModel:
    """The model of a choice, frozen: shared by all users, or opened by this user.

    Raises:
        CheckpointError: a shipped model's folder is broken, a checkpoint is no longer open, or the device's
            memory is too small.
        ConfigError: the sizes are not those of a valid model.
        DeviceError: there is no such device.
    """
    try:
        if is_opened(choice.name):
            return checkpoint_slot().own(choice.name).model(choose_device(choice.device))
        return _load_shared(choice)
    except torch.OutOfMemoryError as error:
        raise CheckpointError(
            f"The memory of {choice.device} is too small for this model. Choose another device or model."
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
    return opened.with_weights(random_model(config, sizes.seed, device), RANDOM)


@st.cache_resource(max_entries=8, show_spinner="Drawing random weights …")
def _twin(
    config: TransformerConfig, seed: int, device: str, norm_position: NormPosition | None
) -> Transformer:
    if norm_position is not None:
        config = with_norms(config, norm_position)
    return random_model(config, seed, choose_device(device))


def models() -> list[str]:
    """The options of the model picker: shipped models, this user's opened checkpoint, and `RANDOM`."""
    opened = checkpoint_slot().opened
    own_models = [opened.name] if opened is not None and opened.imported.loaded is not None else []
    return [*shipped_models(), *own_models, RANDOM]


@st.cache_resource(scope="session", on_release=CheckpointSlot.close, show_spinner=False)
def checkpoint_slot() -> CheckpointSlot:
    """The slot of this user's checkpoint, which is closed when their browser disconnects."""
    return CheckpointSlot(forget=_forget)


@st.cache_resource(show_spinner=False)
def model_summary(name: str) -> ModelSummary:
    """A shipped model's languages, units and sizes, read without its weights.

    Raises:
        CheckpointError: its folder is broken.
    """
    return summarize(name)


def use_next(model: str) -> None:
    """Select this model in the next run, since the model picker is already drawn in this one."""
    st.session_state[_NEXT] = model


def take_next() -> None:
    """Move the model picker to the model of `use_next`; to be called before it is drawn."""
    if _NEXT in st.session_state:
        st.session_state[MODEL] = st.session_state.pop(_NEXT)


def choose_model(choice: ModelChoice) -> None:
    """Set the user's model, for every page."""
    st.session_state["choice"] = choice


def current_choice() -> ModelChoice:
    """The model chosen in the sidebar."""
    return st.session_state["choice"]


def current_model() -> LoadedModel:
    """The model of `current_choice`, loaded."""
    return load_model(current_choice())


def current_theme() -> Theme:
    """The colours that this user's browser shows."""
    return palette("dark" if st.context.theme.type == "dark" else "light")


def magnification() -> float:
    """The factor by which this user's browser enlarges everything."""
    return window_magnification() if st.session_state.get(LARGE) else 1.0


def window_magnification() -> float:
    """The factor of large type in this user's window; the smallest until the browser reports it."""
    known: float = st.session_state.get(_MAGNIFICATION, MAGNIFICATIONS[0])
    return known


def keep_magnification(reported: object) -> None:
    """Store the factor reported by a browser. To be called from a callback."""
    if reported in MAGNIFICATIONS:
        st.session_state[_MAGNIFICATION] = reported


def run_of(choice: ModelChoice, text: str, target: str = "", on_step: OnStep | None = None) -> Run:
    """The run of a sentence in a model, from the cache or computed now.

    Raises:
        SentenceError: the sentence can't be run; the message is for users.
    """
    loaded = load_model(choice)

    def compute(report: OnStep) -> Run:
        with _turns().turn():
            return run_sentence(loaded, text, target, top_k=TOP_K, on_step=report)

    return run_cache().get_by_steps(("run", choice, text, target), compute, on_step)


@st.cache_resource(max_entries=64, show_spinner=False)
def untranslated_of(key: RunKey) -> tuple[str, ...]:
    """The clauses of a run's source that its translation probably leaves out; see `untranslated`."""
    return untranslated(load_model(key.choice), run_of(*key))


def twin_run(
    choice: ModelChoice, text: str, target: str, seed: int, norm_position: NormPosition | None = None
) -> Run:
    """The run of `run_of`, with its target forced, in a random model of the same configuration.

    A `norm_position` replaces the model's own.
    """
    original, loaded = run_of(choice, text, target), load_model(choice)
    twin = loaded.with_weights(_twin(loaded.model.config, seed, choice.device, norm_position), RANDOM)
    return run_cache().get(
        ("twin", choice, text, target, seed, norm_position), lambda: run_again(twin, original, top_k=TOP_K)
    )


def batch_of(choice: ModelChoice, texts: Sequence[str]) -> Trace:
    """Several sentences as one padded batch, each with the target that the model generates for it.

    Raises:
        SentenceError: a sentence can't be run; the message names it.
    """
    if len(texts) > BATCH_LIMIT:
        raise SentenceError(
            f"There are {len(texts):,} sentences; a batch takes at most {BATCH_LIMIT}. Remove some."
        )
    loaded = load_model(choice)
    named = ((text, f"sentence {number}") for number, text in enumerate(texts, start=1))
    sources = [encode_sentence(loaded, "source", text, name) for text, name in named]
    if not sources:
        raise SentenceError("Type at least one sentence.")
    return run_cache().get(("batch", choice, tuple(texts)), lambda: trace_batch(loaded, sources))
