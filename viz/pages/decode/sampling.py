"""The next-token distribution under temperature, top-k and top-p, and a sentence sampled with them."""

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
from viz.pages.decode.session import run_of_ids, sampled_target, search_after
from viz.pages.shared.explain import computed_by
from viz.pages.shared.literal_text import show_text
from viz.pages.shared.sentence import SentenceRun, run_or_warn
from viz.pages.shared.tokens import show_steps
from viz.widgets import LARGEST_SEED, pick_seed, set_choice

MOST_NAMED = 60
"""Number of the distribution's tokens that get a bar of their own."""
_SEED = "sample_seed"


def draw_sampling(
    sentence: SentenceRun, run: Run, path: Sequence[BeamNode], prefix: tuple[int, ...], limit: int
) -> None:
    """Draw the distribution that the last node of a path was chosen from, and a sampled sentence.

    Args:
        sentence: the sentence being searched.
        run: its run with a target that contains the path.
        path: nodes from the root to the chosen one.
        prefix: ids that the sampled sentence starts with.
        limit: length of the longest prefix that a search can start from.
    """
    before = [node.token_id for node in path[1:-1]]
    so_far = sentence.loaded.target.decode(before)
    read = ["the prompt"] if sentence.config.kind == "decoder-only" else []
    read += [f"“{visible_in_full(so_far)}”"] if before else []
    st.text(f"The distribution of step {len(before)}, after {' and '.join(read) or 'nothing yet'}")
    settings = _settings()
    logits = run.target_logits[len(before)].numpy()
    _distribution(sentence, logits, before, path[-1].token_id, settings, limit)
    _sampled_sentence(sentence, settings, prefix)


def _settings() -> Reshaping:
    """The slider settings, read from the address."""
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
    sentence: SentenceRun,
    logits: NDArray[np.float32],
    before: Sequence[int],
    taken: int,
    settings: Reshaping,
    limit: int,
) -> None:
    coder, unit = sentence.loaded.target, sentence.unit
    possible = np.setdiff1d(np.arange(len(logits)), coder.special_tokens.suppressed)
    ranked = possible[np.argsort(-logits[possible], kind="stable")]
    named = ranked[:MOST_NAMED].tolist()

    def can_continue(token: int) -> bool:
        return token not in sentence.loaded.end_ids and len(before) < limit

    def choose(selection: NextTokensSelection) -> None:
        if isinstance(selection, TokenChoice):
            token = named[selection.rank]
            if can_continue(token):
                search_after([*before, token])
            return
        for name, value in vars(selection).items():
            set_choice(f"sample_{name}", str(value))

    next_tokens(
        logits[ranked],
        [visible(coder.token(token)) for token in named],
        open_tokens=list(map(can_continue, named)),
        chosen=named.index(taken) if taken in named else None,
        settings=settings,
        colors=sentence.theme,
        key="beam_next",
        title=f"The most probable next {unit}s",
        note=f"Click a {unit} to restart the search after it. The logits are divided by the temperature, "
        "then top-k cuts, then top-p cuts the remainder, and the rest is renormalised.",
        on_select=choose,
    )
    computed_by(sampling_distribution)


def _sampled_sentence(sentence: SentenceRun, settings: Reshaping, prefix: tuple[int, ...]) -> None:
    st.markdown("**A sentence sampled with these settings**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = pick_seed(
            st.number_input,
            "Seed of the sample",
            key=_SEED,
            help="The same seed and settings give the same sentence.",
            width=180,
        )
        st.button("Sample another", key="sample_again", on_click=_next_seed, args=(seed,))
    choice, text, loaded = sentence.choice, sentence.text, sentence.loaded
    sampled = run_or_warn(lambda: sampled_target(choice, text, prefix, settings, seed))
    if sampled is None:
        return
    run = run_of_ids(choice, text, sampled.ids, ends=sampled.ending == "end")
    with st.container(border=True):
        show_text(run.translation)
    total = sum(math.log(max(step.probability, 1e-45)) for step in run.steps)
    n_best = sum(step.rank == 1 for step in run.steps)
    stopped = why_stopped(loaded, sampled.ending, len(sampled.ids))
    st.caption(
        f"{n_best} of its {len(run.steps)} tokens are the model's most probable ones; without reshaping its "
        f"log-probability is {number(total)}." + (f" {stopped}" if stopped else "")
    )
    show_steps(
        run,
        loaded.target,
        key="sample_steps",
        title="The sampled sentence, step by step, with the model's own probabilities",
    )


def _next_seed(seed: int) -> None:
    set_choice(_SEED, (seed + 1) % (LARGEST_SEED + 1))
