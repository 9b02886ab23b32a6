"""The next-token distribution under temperature, top-k and top-p, and a sentence drawn with them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.decoding.beam_tree import BeamNode
from transformer.decoding.sampling import sampling_distribution
from transformer.model_input import why_stopped
from transformer.run import Run
from viz.address import remembered
from viz.components.next_tokens import (
    TEMPERATURES,
    TOP_KS,
    TOP_PS,
    NextTokensSelection,
    Reshaping,
    Stop,
    TokenChoice,
    next_tokens,
)
from viz.figures.labels import visible, visible_in_full
from viz.figures.numbers import number
from viz.pages.decode.session import drawn_target, run_of_ids, search_after
from viz.pages.shared.explain import computed_by
from viz.pages.shared.literal_text import show_text
from viz.pages.shared.sentence import run_or_warn
from viz.pages.shared.tokens import show_steps
from viz.session import current_choice, current_model, current_theme, token_unit
from viz.text_session import current_texts
from viz.widgets import LARGEST_SEED, pick_seed, set_choice

MOST_NAMED = 60
"""Tokens of the distribution that have a bar of their own."""
_SEED = "sample_seed"


def sampling_section(run: Run, path: Sequence[BeamNode], prefix: tuple[int, ...], limit: int) -> None:
    """Draw the distribution that the last node of a path was taken from, and a sentence drawn at random.

    Args:
        run: of a target that the path is part of.
        path: nodes from the root to the chosen one.
        prefix: ids that the drawn sentence begins with.
        limit: the most tokens that a search can start after.
    """
    st.header("The next token")
    before = [node.token_id for node in path[1:-1]]
    so_far = current_model().target.decode(before)
    read = ["the prompt"] if current_model().model.config.kind == "decoder-only" else []
    read += [f"“{visible_in_full(so_far)}”"] if before else []
    st.text(f"The distribution of step {len(before)}, after {' and '.join(read) or 'nothing yet'}")
    settings = _settings()
    _distribution(run.target_logits[len(before)].numpy(), before, path[-1].token_id, settings, limit)
    _drawn_sentence(settings, prefix)


def _settings() -> Reshaping:
    """Where the sliders stand, as the address has it."""
    default = Reshaping()
    return Reshaping(
        _stop("sample_temperature", TEMPERATURES, default.temperature),
        _stop("sample_top_k", TOP_KS, default.top_k),
        _stop("sample_top_p", TOP_PS, default.top_p),
    )


def _stop(name: str, stops: Sequence[Stop], default: Stop) -> Stop:
    by_text = {str(stop): stop for stop in stops}
    return by_text.get(remembered(name, str(default), None), default)


def _distribution(
    logits: NDArray[np.float32], before: Sequence[int], taken: int, settings: Reshaping, limit: int
) -> None:
    coder, unit = current_model().target, token_unit()
    possible = np.setdiff1d(np.arange(len(logits)), coder.special_tokens.suppressed)
    ranked = possible[np.argsort(-logits[possible], kind="stable")]
    named = ranked[:MOST_NAMED].tolist()

    def choose(selection: NextTokensSelection) -> None:
        if isinstance(selection, TokenChoice):
            token = named[selection.rank]
            if _can_go_on(token, before, limit):
                search_after([*before, token])
            return
        for name, value in vars(selection).items():
            set_choice(f"sample_{name}", str(value))

    next_tokens(
        logits[ranked],
        [visible(coder.token(token)) for token in named],
        open_tokens=[_can_go_on(token, before, limit) for token in named],
        chosen=named.index(taken) if taken in named else None,
        settings=settings,
        colors=current_theme(),
        key="beam_next",
        title=f"The most probable next {unit}s",
        note=f"Click a {unit} to restart the search after it. In this order: the logits are divided "
        "by the temperature, top-k cuts, top-p cuts the remainder, and what stays is renormalised.",
        on_select=choose,
    )
    computed_by(sampling_distribution)


def _can_go_on(token: int, before: Sequence[int], limit: int) -> bool:
    return token not in current_model().end_ids and len(before) < limit


def _drawn_sentence(settings: Reshaping, prefix: tuple[int, ...]) -> None:
    st.markdown("**A sentence drawn with these settings**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = pick_seed(
            st.number_input,
            "Seed of the draw",
            key=_SEED,
            help="The same seed and settings draw the same sentence.",
            width=180,
        )
        st.button("Draw another", key="sample_again", on_click=_next_seed, args=(seed,))
    choice, (text, _) = current_choice(), current_texts()
    drawn = run_or_warn(lambda: drawn_target(choice, text, prefix, settings, seed))
    if drawn is None:
        return
    run = run_of_ids(choice, text, drawn.ids, ends=drawn.ending == "end")
    with st.container(border=True):
        show_text(run.translation)
    total = sum(math.log(max(step.probability, 1e-45)) for step in run.steps)
    n_best = sum(step.rank == 1 for step in run.steps)
    stopped = why_stopped(current_model(), drawn.ending, len(drawn.ids))
    st.caption(
        f"{n_best} of its {len(run.steps)} tokens are the ones that the model holds most probable; its "
        f"log-probability as trained is {number(total)}." + (f" {stopped}" if stopped else "")
    )
    show_steps(
        run,
        current_model().target,
        key="sample_steps",
        title="The drawn sentence, step by step, with the probabilities as trained",
    )


def _next_seed(seed: int) -> None:
    set_choice(_SEED, (seed + 1) % (LARGEST_SEED + 1))
