"""The next-token distribution under temperature, top-k and top-p, and a sentence drawn with them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.decoding.beam_tree import BeamNode
from transformer.decoding.sampling import sampling_distribution
from transformer.errors import SentenceError
from transformer.run import Run
from viz.address import remembered
from viz.components.decoding_steps import decoding_steps
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
from viz.decoding_session import begin_behind, drawn_target, run_of_ids
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages._explain import computed_by
from viz.pages._in_and_out import first_tokens, output_step
from viz.session import (
    current_choice,
    current_model,
    current_theme,
    set_choice,
    token_unit,
)
from viz.text_session import current_texts

MOST_NAMED = 60
"""Tokens of the distribution that have a bar of their own."""
LARGEST_SEED = 2**31 - 1


def sampling_section(run: Run, path: Sequence[BeamNode], prefix: tuple[int, ...], limit: int) -> None:
    """Draw the distribution that the last node of a path was taken from, and a sentence drawn at random.

    Args:
        run: of a target that the path is part of.
        path: nodes from the root to the chosen one.
        prefix: ids that the drawn sentence begins with.
        limit: the most tokens that a search can begin behind.
    """
    st.header("What comes next")
    before = [node.token_id for node in path[1:-1]]
    so_far = current_model().target.decode(before)
    behind = ["the prompt"] if current_model().model.config.kind == "decoder-only" else []
    behind += [f"“{visible(so_far, len(so_far))}”"] if before else []
    st.text(f"The distribution of step {len(before)}, behind {' and '.join(behind) or 'nothing yet'}")
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
    possible = np.setdiff1d(np.arange(len(logits)), coder.specials.never)
    ranked = possible[np.argsort(-logits[possible], kind="stable")]
    named = ranked[:MOST_NAMED].tolist()

    def choose(selection: NextTokensSelection) -> None:
        if isinstance(selection, TokenChoice):
            token = named[selection.rank]
            if _can_go_on(token, before, limit):
                begin_behind([*before, token])
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
        note=f"Click a {unit} to let the search begin again behind it. In this order: the logits are divided "
        "by the temperature, top-k cuts, top-p cuts what is left, and what stays is shared out anew.",
        on_select=choose,
    )
    computed_by(sampling_distribution)


def _can_go_on(token: int, before: Sequence[int], limit: int) -> bool:
    return token not in current_model().end_ids and len(before) < limit


def _drawn_sentence(settings: Reshaping, prefix: tuple[int, ...]) -> None:
    st.markdown("**A sentence drawn with these settings**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = st.number_input(
            "Seed of the draw",
            0,
            LARGEST_SEED,
            key="sample_seed",
            bind="query-params",
            help="The same seed and settings draw the same sentence.",
            width=180,
        )
        st.button("Draw another", key="sample_again", on_click=_next_seed, args=(seed,))
    choice, (text, _) = current_choice(), current_texts()
    try:
        ids, ended = drawn_target(
            choice, text, prefix, settings.temperature, settings.top_k, settings.top_p, seed
        )
    except SentenceError as error:
        st.warning(str(error))
        return
    run = run_of_ids(choice, text, ids, ends=ended)
    with st.container(border=True):
        st.text(visible(run.translation, len(run.translation)) if run.translation else "(nothing)")
    total = sum(math.log(max(step.probability, 1e-45)) for step in run.steps)
    n_best = sum(step.rank == 1 for step in run.steps)
    st.caption(
        f"{n_best} of its {len(run.steps)} tokens are the ones that the model holds most probable; its "
        f"log-probability as trained is {number(total)}."
        + ("" if ended else " It did not come to an end by itself: it ran into the limit.")
    )
    _drawn_steps(run)


def _drawn_steps(run: Run) -> None:
    coder = current_model().target
    decoding_steps(
        [output_step(coder, step) for step in run.steps],
        colors=current_theme(),
        key="sample_steps",
        start=first_tokens(run),
        unit=coder.unit,
        title="The drawn sentence, step by step, with the probabilities as trained",
    )


def _next_seed(seed: int) -> None:
    set_choice("sample_seed", (seed + 1) % (LARGEST_SEED + 1))
