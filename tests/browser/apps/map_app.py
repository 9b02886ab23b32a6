"""Mounts the viewer with the map of a run; what is typed chooses which run, and what is chosen in it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import streamlit as st

from tests.browser.apps.asked import Asked
from tests.browser.apps.synthetic import attention, words
from tests.support.kinds import reader
from tests.support.models import tiny_model
from transformer.analysis.attention_maps import Attention
from transformer.loaded import LoadedModel
from transformer.run import Run, run_sentence
from viz.pages.shared.attention_view import viewer
from viz.viewer.choice import first_choice
from viz.viewer.held_run import HeldRun, hold, hold_weights

SENTENCE = "Yesterday I saw a dog."
TARGET = "ieri ho visto un cane e lo vedo ."
N_HEADS = 6
DEPTH: dict[Attention, int] = {"encoder": 1, "cross": 2, "decoder": 2}


@cache
def tiny_run() -> tuple[Run, LoadedModel]:
    """A run of two encoder layers and three decoder layers, with 7 source and 10 target tokens."""
    loaded = tiny_model(seed=3)
    return run_sentence(loaded, SENTENCE, TARGET), loaded


@cache
def long_run(n_tokens: int, n_heads: int) -> HeldRun:
    """A run of so many tokens a side, of which the browser asks for one head after another."""
    weights = {
        name: list(attention(depth, n_heads, n_tokens, n_tokens, causal=name == "decoder"))
        for name, depth in DEPTH.items()
    }
    tokens = words(n_tokens)
    return hold_weights(weights, {"encoder": tokens, "decoder": tokens})


def held_run() -> HeldRun:
    match ASKED.view:
        case "tiny":
            return hold(*tiny_run())
        case "encoder":
            loaded = reader()
            return hold(run_sentence(loaded, "the cat saw a dog"), loaded)
    return long_run(ASKED.number("tokens", 128), ASKED.number("heads", N_HEADS))


@st.fragment
def show() -> None:
    held = held_run()
    first = replace(
        first_choice(held),
        view="map",
        families=ASKED.word("families", "all"),
        special=ASKED.word("special", "keep"),
    )
    key = f"map {ASKED.text}"
    choice = viewer(held, key=key, prefix=f"{ASKED.number('call', 0)} ", first=first)
    st.text(f"heads {choice.heads}, mass {choice.mass}, families {choice.families}")


st.set_page_config(layout="wide")
ASKED = Asked()
if ASKED.view:
    show()
    ASKED.say_shown()
